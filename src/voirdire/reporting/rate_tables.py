"""Corrected rates as a table for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from voirdire._validation import shorten
from voirdire.reporting.narrow_tables import NarrowTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions, RenderableType

    from voirdire.stats import Estimate, RateResult
    from voirdire.studies import RateReport

__all__ = ["RateTables"]

_NAME_WIDTH = 40
_METHODS = {
    "human": "labels alone",
    "efficient": "strata of verdicts",
    "ppi": "PPI++",
    "rogan_gladen": "Rogan-Gladen",
}


class RateTables:
    """Rates laid out for `rich`: print it with `rich.print` or a `Console`.

    Parameters
    ----------
    report : RateReport
        What was found.
    """

    def __init__(self, report: RateReport) -> None:
        self._report = report

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield a table, differences of groups, and what to mind."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for head in ("question", "judge", "items"):
            table.add_column(head, overflow="ellipsis", no_wrap=True)
        for head in ("labelled", "rate", "labels alone", "uncorrected", "by"):
            table.add_column(head, justify="right", no_wrap=True)
        for row in self._report.results:
            names = shorten(row.question, width=_NAME_WIDTH), shorten(row.judge, width=_NAME_WIDTH)
            for group, found in ((None, row.result), *row.groups.items()):
                table.add_row(*names, *_cells(group, found))
        yield NarrowTable(table)
        first = self._report.results[0].result
        yield Text(
            f"{first.confidence_level:.0%} intervals. Report the rate; uncorrected verdicts count "
            "the judge's errors as truth.",
            style="dim",
        )
        for row in self._report.results:
            if row.difference is not None:
                first_group, second_group = row.groups
                gap = row.difference.difference
                yield Text(
                    f"{shorten(row.question)}, {shorten(row.judge)}: {shorten(second_group)} less "
                    f"{shorten(first_group)} {gap.estimate:+.1%} ({gap.low:+.1%} to "
                    f"{gap.high:+.1%}, p = {row.difference.p_value:.2g})"
                )
            if row.result.reason is not None:
                yield Text(
                    f"note: {shorten(row.question)}, {shorten(row.judge)}: {row.result.reason}"
                )


def _cells(group: str | None, found: RateResult) -> list[str]:
    items = (
        f"{found.n_items:,}" if group is None else f"{shorten(group, width=20)} {found.n_items:,}"
    )
    return [
        items,
        f"{found.n_labelled:,}",
        _shown(found.rate),
        _shown(found.human),
        _shown(found.naive),
        _METHODS[found.method],
    ]


def _shown(rate: Estimate) -> str:
    if math.isnan(rate.estimate):
        return "–"
    if math.isnan(rate.low):
        return f"{rate.estimate:.1%}"
    return f"{rate.estimate:.1%} ({100 * rate.low:.1f}–{100 * rate.high:.1f})"
