"""Results that are no examination on a terminal: what their page says, without its folds."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.markup import escape
from rich.text import Text

from voirdire.reporting.number_formats import is_defined, percent
from voirdire.reporting.pages.results import view_of
from voirdire.reporting.pages.speech import Speaker
from voirdire.reporting.pages.view import Advice, Table, Words
from voirdire.reporting.plain_tables import plain_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console, ConsoleOptions, RenderableType

    from voirdire.records import Certificate
    from voirdire.reporting.pages.speech import PageKind
    from voirdire.reporting.pages.view import Block, View
    from voirdire.stats.power_analysis import PowerResult
    from voirdire.studies import GoldExamination, ProbeReport, RateReport

__all__ = ["ResultTables", "TerminalSpeaker", "ViewTables"]

_LEAST_HEAD = 8


class TerminalSpeaker(Speaker):
    """Says what a page says, ends of intervals without decimals, and all on one line."""

    def __init__(self, page: PageKind) -> None:
        super().__init__("en", page)
        self.phrases["cell.figure"] = "{value} ({ends})"  # a page writes the ends smaller

    def ends(self, low: float | None, high: float | None) -> str:
        """Write the interval of a share; nothing where there is none."""
        if not (is_defined(low) and is_defined(high)):
            return ""
        low_end, high_end = (
            percent(end).replace("-0%", "0%").removesuffix("%") for end in (low, high)
        )
        key = "interval.negative" if "-" in low_end + high_end else "interval"
        ends = self.phrases[key].format(low=low_end, high=high_end)
        return f"{ends.replace('-', '−')}%"


class ViewTables:
    """What a page says, laid out for `rich`: print it with `rich.print` or a `Console`.

    A narrow terminal folds them.
    """

    def __init__(self, view: View, speaker: TerminalSpeaker, *, details: bool) -> None:
        self._view, self._speaker, self._details = view, speaker, details

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield sentences and tables in the order of the page; what to do comes last."""
        view = self._view
        yield Text(self._words(view.meta), style="bold")
        yield from self._lines(view.lead)
        yield ""
        yield from self._blocks(view.blocks if view.brief is None else view.brief)
        for part in view.parts:
            blocks: Iterable[Block] = part.blocks
            if part.shown_in == "page" or (part.shown_in == "details" and not self._details):
                kept = part.is_open and part.shown_in == "details"
                blocks = [x for x in blocks if kept and isinstance(x, Words)]
            if lines := [*self._blocks(blocks)]:
                yield Text(f"\n{self._words(part.title or f'{part.name}.title')}", style="bold")
                yield from lines
        yield ""
        notes = (*(note for note, _ in view.cautions), *view.notes)
        yield from self._lines(notes, before="note: ")
        if view.more is not None and not self._details:
            yield Text(self._words(view.more), style="dim")
        yield from self._lines(view.todo[:1], before=f"{self._words('next.title')} ")
        yield from self._lines(view.todo[1:])

    def _blocks(self, blocks: Iterable[Block]) -> Iterator[RenderableType]:
        """Lay out words, tables and notes; figures and texts are for a page."""
        for block in blocks:
            if isinstance(block, Table):
                yield from self._table(block)
            elif isinstance(block, Advice):
                yield from self._lines((note for note, _ in block.rows), before="note: ")
            elif isinstance(block, Words) and block.form == "list":
                yield from self._lines(block.sentences, before="  ")
            elif isinstance(block, Words) and block.sentences:
                style = {"heading": "bold", "note": "dim"}.get(block.form, "")
                before = "\n" if block.form == "heading" else ""
                yield Text(before + " ".join(map(self._words, block.sentences)), style=style)

    def _words(self, thing: Any) -> str:
        """Say something as plain text on one line; names in it were made harmless."""
        return self._speaker(thing).striptags()

    def _lines(self, things: Iterable[Any], *, before: str = "") -> Iterator[Text]:
        for thing in things:
            yield Text(f"{before}{self._words(thing)}")

    def _table(self, table: Table) -> Iterator[RenderableType]:
        """Lay out a table; a word that is the same in all of its rows is no column."""
        if not table.rows:
            return
        rows = [[self._words(cell) for cell in row] for row in table.rows]
        heads = [self._words(column) for column in table.columns]
        columns = list(zip(*rows, strict=True))
        words = [place for place, is_text in enumerate(table.texts) if is_text]
        alike = [place for place in words if len({*columns[place]}) == 1]
        alike = alike[1:] if len(alike) == len(words) else alike  # something names the rows
        kept = [place for place in range(len(heads)) if place not in alike]
        texts = [_folded(heads[place], columns[place]) for place in kept]
        for place in alike:
            yield Text(f"{heads[place]}: {rows[0][place]}")
        named = {head for head, place in zip(texts, kept, strict=True) if place in words}
        cells = ([escape(row[place]) for place in kept] for row in rows)
        yield plain_table(texts, cells, words=named)
        for said in (table.caption, table.cut_note):
            if said is not None:
                yield Text(self._words(said), style="dim")


class ResultTables(ViewTables):
    """A result laid out for `rich`: print it with `rich.print` or a `Console`.

    The same sentences and figures as on the page of `results_report`. A narrow terminal folds them.

    Parameters
    ----------
    result : GoldExamination, RateReport, ProbeReport, PowerResult or Certificate
        What was found.
    details : bool, optional
        Whether to print every figure.
    """

    def __init__(
        self,
        result: GoldExamination | RateReport | ProbeReport | PowerResult | Certificate,
        *,
        details: bool = False,
    ) -> None:
        super().__init__(view_of(result), TerminalSpeaker("results"), details=details)


def _folded(head: str, cells: Iterable[str]) -> str:
    """Break a heading that is wider than its column, between words."""
    return "\n".join(wrap(head, max(_LEAST_HEAD, *map(cell_len, (*head.split(), *cells)))))
