"""A rubric as it is read by people: questions, demands and classes, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from voirdire._messages import shorten
from voirdire.reporting.number_formats import counted
from voirdire.reporting.plain_tables import plain_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

    from voirdire.rubrics.rubric import Rubric

__all__ = ["RubricList", "check_lines", "rubric_summary"]

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


def _inert(text: str) -> Text:
    """Show a text whole, with nothing in it that could act on the terminal."""
    return Text(shorten(text, width=_ALL))


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
