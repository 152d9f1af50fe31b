"""Results that are no examination on a terminal: what their page says, without its folds."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.markup import escape
from rich.text import Text

from voirdire.reporting.narrow_tables import NarrowTable, plain_table
from voirdire.reporting.pages.results import view_of
from voirdire.reporting.pages.speech import Speaker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console, ConsoleOptions, RenderableType

    from voirdire.records import Certificate
    from voirdire.reporting.pages.frame import Table
    from voirdire.stats.power_analysis import PowerResult
    from voirdire.studies import GoldExamination, ProbeReport, RateReport

__all__ = ["PowerTables", "ProbeTables", "ResultTables"]

_LEAST_HEAD = 12


class ResultTables:
    """A result laid out for `rich`: print it with `rich.print` or a `Console`.

    The same sentences and figures as on the page of `results_report`. Fits eighty columns, and
    fewer by stacking rows.

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
        self._view = view_of(result)
        self._details = details
        self._speaker = Speaker("en", "results")
        self._speaker.phrases["cell.figure"] = "{value} ({ends})"  # a page writes the ends smaller

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield sentences and tables in the order of the page; what to do comes last."""
        view = self._view
        yield Text(self._words(view.meta), style="bold")
        yield from self._lines(view.lead)
        yield ""
        yield from self._table(view.table)
        for part in view.parts:
            if self._details or part.is_open or not part.is_detail:
                yield Text(f"\n{self._words(f'{part.name}.title')}", style="bold")
                yield from self._lines(part.lead)
                yield from self._table(part.table)
        yield ""
        yield from self._lines(view.notes, before="note: ")
        yield from self._lines(view.todo[:1], before=f"{self._words('next.title')} ")
        yield from self._lines(view.todo[1:])

    def _words(self, thing: Any) -> str:
        """Say something as plain text on one line; names in it were made harmless."""
        return self._speaker(thing).striptags()

    def _lines(self, things: Iterable[Any], *, before: str = "") -> Iterator[Text]:
        for thing in things:
            yield Text(f"{before}{self._words(thing)}")

    def _table(self, found: Table | None) -> Iterator[RenderableType]:
        """Lay out a table; a word that is the same in all of its rows is no column."""
        if found is None or not found.rows:
            return
        rows = [[self._words(cell) for cell in row] for row in found.rows]
        heads = [self._words(column) for column in found.columns]
        columns = list(zip(*rows, strict=True))
        alike = [place for place in range(found.n_texts) if len({*columns[place]}) == 1]
        alike = alike[1:] if len(alike) == found.n_texts else alike  # something names the rows
        kept = [place for place in range(len(heads)) if place not in alike]
        texts = [_folded(heads[place], columns[place]) for place in kept]
        for place in alike:
            yield Text(f"{heads[place]}: {rows[0][place]}")
        words = {head for head, place in zip(texts, kept, strict=True) if place < found.n_texts}
        cells = ([escape(row[place]) for place in kept] for row in rows)
        yield NarrowTable(plain_table(texts, cells, words=words))
        yield Text(self._words(found.caption), style="dim")
        if len(rows) < found.n_rows:
            yield Text(self._speaker.attribute("table.cut", shown=len(rows), n=found.n_rows))


class ProbeTables(ResultTables):
    """What probes found: `ResultTables` of a `ProbeReport`."""


class PowerTables(ResultTables):
    """A power simulation: `ResultTables` of a `PowerResult`."""


def _folded(head: str, cells: Iterable[str]) -> str:
    """Break a heading that is wider than its column, between words."""
    return "\n".join(wrap(head, max(_LEAST_HEAD, *map(cell_len, (*head.split(), *cells)))))
