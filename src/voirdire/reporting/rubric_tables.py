"""A rubric as it is read by people: questions, demands and classes, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.reporting.number_formats import counted
from voirdire.reporting.plain_tables import plain_table
from voirdire.rubrics.expressions import GROUP_WORDS
from voirdire.rubrics.rubric import write_demand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

    from voirdire._types import Language
    from voirdire.rubrics.rubric import Behavior, Demand, Question, Rubric

__all__ = ["RubricList", "RubricTables", "check_lines", "rubric_summary"]

_ALL = 1_000_000
"""Width at which nothing is cut: a rubric is bounded, and its text must be read whole."""

_HASH_DIGITS = 12


class RubricList:
    """Several rubrics, one on a line, laid out for `rich`.

    Parameters
    ----------
    rubrics : sequence of Rubric
        What to list.
    """

    def __init__(self, rubrics: Sequence[Rubric]) -> None:
        self._rubrics = rubrics

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield the table."""
        heads = ("name", "version", "questions", "behaviors", "languages", "hash")
        table = plain_table(heads, words=heads)
        for row in self._rubrics:
            digits = row.content_hash.partition(":")[2][:_HASH_DIGITS]
            cells = (row.name, row.version, f"{len(row.questions)}", f"{len(row.behaviors)}")
            table.add_row(*map(_inert, cells), " ".join(row.languages), digits)
        yield table


class RubricTables:
    """A whole rubric in one language, laid out for `rich`.

    Parameters
    ----------
    rubric : Rubric
        What to show.
    language : {"en", "zh"}, optional
        In which of its languages; by default English, or else the one it has.

    Raises
    ------
    InputError
        If its questions are not in that language.
    """

    def __init__(self, rubric: Rubric, *, language: Language | None = None) -> None:
        if language is not None and language not in rubric.languages:
            words = ", ".join(repr(each) for each in rubric.languages)
            msg = f"`language` must be one of rubric {rubric.name!r} ({words}), got {language!r}."
            raise InputError(msg)
        self._rubric = rubric
        known: tuple[Language, ...] = rubric.languages or ("en",)
        self._language: Language = known[0] if language is None else language

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield headings, texts and tables."""
        rubric = self._rubric
        yield Text.assemble((shorten(rubric.name), "bold"), f" {shorten(rubric.version)}")
        yield Text(rubric.content_hash, style="dim")
        if rubric.description:
            yield self._text(rubric.description)
        yield from self._questions()
        if rubric.behaviors:
            yield _heading("What behaviors demand")
            yield self._demands()
        for behavior in rubric.behaviors:
            yield from self._behavior(behavior)
        yield from self._rest()

    def _text(self, texts: Mapping[Language, str]) -> Text:
        """Show a text in the wanted language, or in the one it has."""
        text = texts.get(self._language) or next(iter(texts.values()), "")
        return Text("\n").join(_inert(line) for line in text.split("\n"))

    def _questions(self) -> Iterator[RenderableType]:
        yield _heading("Questions")
        for row in self._rubric.questions:
            yield Text.assemble((shorten(row.id), "bold"), "  ", (_sort(row), "dim"))
            yield Padding(self._text(row.text), (0, 0, 0, 2))
            yield Padding(self._details(row), (0, 0, 0, 4))
            yield ""

    def _details(self, row: Question) -> Table:
        """List examples, labels and levels, the words that tell them apart in a column."""
        table = _grid()
        for word, examples in (("yes", row.yes_examples), ("no", row.no_examples)):
            for example in examples.get(self._language, ()):
                table.add_row(Text(word, style="dim"), _inert(example))
        for label, text in row.labels.items():
            table.add_row(Text(shorten(label), style="bold"), self._text(text))
        for level, text in sorted(row.levels.items()):
            table.add_row(Text(f"{level:g}", style="bold"), self._text(text))
        return table

    def _demands(self) -> Table:
        behaviors = self._rubric.behaviors
        heads = ("proposition", *(row.id for row in behaviors))
        table = plain_table(heads, words=heads)
        for name in self._rubric.propositions:
            table.add_row(name, *(_demand(row.demands.get(name)) for row in behaviors))
        counts = (f"{len(row.propositions)} / {len(row.features)}" for row in behaviors)
        table.add_section()
        table.add_row("propositions / features", *counts)
        return table

    def _behavior(self, row: Behavior) -> Iterator[RenderableType]:
        """Classes in order of precedence, then who is in the groups that they speak of."""
        yield _heading(f"Classes of {row.id}, the first that holds")
        if row.description:
            yield self._text(row.description)
        table = _grid()
        for each in row.classes:
            table.add_row(Text(each.name, style="bold"), _inert(each.when))
        spoken = " ".join(each.when for each in row.classes)
        for group in GROUP_WORDS:
            members = _members(row, group)
            if f"({group}" in spoken and members:
                table.add_row(Text(f"  {group}", style="dim"), Text(members, style="dim"))
        yield table

    def _rest(self) -> Iterator[RenderableType]:
        rubric = self._rubric
        if rubric.expressions:
            yield _heading("Named expressions")
            table = _grid()
            for name, text in rubric.expressions.items():
                table.add_row(Text(name, style="bold"), _inert(text))
            yield table
        if rubric.behaviors or rubric.propositions:
            yield ""
            rule = f"; class probabilities by the {rubric.class_rule} rule" * bool(rubric.behaviors)
            limit = "1/2" if rubric.threshold is None else f"{rubric.threshold:g}"
            own = ", or from where the judge says" * (rubric.threshold is None)
            yield Text(f"A proposition is true from {limit} on{own}{rule}.", style="dim")


def _heading(words: str) -> RenderableType:
    return Padding(Text(words, style="bold underline"), (1, 0, 0, 0))


def _grid() -> Table:
    """Lay out names with what they stand for, without headings or lines."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    return table


def _inert(text: str) -> Text:
    """Show a text whole, with nothing in it that could act on the terminal."""
    return Text(shorten(text, width=_ALL))


def _sort(row: Question) -> str:
    if row.minimum is None or row.maximum is None:
        return row.kind
    return f"{row.kind} from {row.minimum:g} to {row.maximum:g}"


def _demand(demand: Demand | None) -> str:
    return "" if demand is None else write_demand(demand)


def _members(row: Behavior, group: str) -> str:
    """List a group; `required false` is a demand for the absence."""
    return ", ".join(
        f"not {name}" if write_demand(demand).endswith(" false") else name
        for name, demand in row.demands.items()
        if (demand.core if group == "core" else demand.word == group)
    )


def rubric_summary(rubric: Rubric) -> dict[str, Any]:
    """Sum up a rubric, for JSON."""
    return {
        "name": rubric.name,
        "version": rubric.version,
        "description": dict(rubric.description),
        "languages": list(rubric.languages),
        "n_questions": len(rubric.questions),
        "behaviors": {
            row.id: {"propositions": len(row.propositions), "features": len(row.features)}
            for row in rubric.behaviors
        },
        "content_hash": rubric.content_hash,
    }


def check_lines(checked: Mapping[str, Any]) -> list[str]:
    """Say what a file holds that was checked, or what is wrong with it."""
    if not checked["valid"]:
        return [problem["text"] for problem in checked["problems"]]
    file, name, version = (shorten(checked[key]) for key in ("file", "name", "version"))
    title = f"{name} {version}, {counted(checked['n_questions'], 'question')}"
    lines = [f"{file}: {title}, in {', '.join(checked['languages'])}"]
    for behavior, counts in checked["behaviors"].items():
        numbers = [counted(n, word.removesuffix("s")) for word, n in counts.items()]
        lines.append(f"  {behavior}: {', '.join(numbers)}")
    return [*lines, f"  {checked['content_hash']}"]
