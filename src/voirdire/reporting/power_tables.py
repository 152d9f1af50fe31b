"""A power simulation as tables for a terminal: sizes down, annotators and margins across."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from rich import box
from rich.table import Table
from rich.text import Text

from voirdire._validation import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

    from voirdire.stats.power_analysis import PowerResult, PowerRow, SmallestSize

__all__ = ["PowerTables"]

_ITEMS_WIDTH = 12
_CELL_WIDTH = 8
_NOTABLE_GAP = 0.02

Column: TypeAlias = "tuple[int, float]"
"""Number of annotators, and ε."""


class PowerTables:
    """A power simulation laid out for `rich`: print it with `rich.print` or a `Console`.

    As many columns stand side by side as fit; then, in words, the smallest plans and what the
    figures rest on.

    Parameters
    ----------
    result : PowerResult
        What was found.
    """

    def __init__(self, result: PowerResult) -> None:
        self._result = result

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield tables and sentences that fit the width of the console."""
        result = self._result
        yield Text(_title(result), style="bold")
        yield Text(_basis(result), style="dim")
        yield ""
        for columns in _columns_that_fit(result, options.max_width):
            yield self._table(columns)
            yield ""
        for plan in result.smallest_plans:
            yield Text(_sentence(plan, result))
        yield ""
        for note in _notes(result):
            yield Text(note, style="dim")

    def _table(self, columns: Sequence[Column]) -> Table:
        result = self._result
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("annotators\nitems", justify="right", no_wrap=True)
        for place, (m, epsilon) in enumerate(columns):
            first = place == 0 or columns[place - 1][0] != m
            head = f"{m if first else ''}\nε {_share(epsilon)}"
            table.add_column(head, no_wrap=True)
        rows = {(row.n_items, row.n_annotators, row.epsilon): row for row in result.rows}
        for size in result.sizes:
            found = [rows[size, *column] for column in columns]
            table.add_row(f"{size:,}", *[_cell(row, result.wanted_power) for row in found])
        return table


def _columns_that_fit(result: PowerResult, width: int) -> list[list[Column]]:
    """Put the columns of one number of annotators together, and as many of these as fit."""
    most = max(1, (width - _ITEMS_WIDTH) // _CELL_WIDTH)
    tables: list[list[Column]] = [[]]
    for m in result.annotators:
        group = [(m, epsilon) for epsilon in result.epsilons]
        if tables[-1] and len(tables[-1]) + len(group) > most:
            tables.append([])
        for column in group:
            if len(tables[-1]) == most:
                tables.append([])
            tables[-1].append(column)
    return tables


def _cell(row: PowerRow, wanted: float) -> Text:
    """Show a power so that the points stand under each other."""
    if row.reason is not None:
        return Text(" –", style="dim")
    if row.power >= wanted:
        return Text(f"{_power(row.power):>4} ✓", style="green")
    return Text(f"{_not_quite(row.power):>4}")


def _title(result: PowerResult) -> str:
    wanted = _share(result.wanted_power)
    return f"Probability that the outcome is a pass; ✓ from {wanted} on"


def _basis(result: PowerResult) -> str:
    """Say in one line on what the simulation rests."""
    settings = result.settings
    noise = (
        f"noise {result.human_noise:.2g} of annotators (kappa {result.human_kappa:.2f}), "
        f"{result.judge_noise:.2g} of the judge (kappa {result.judge_kappa:.2f})"
    )
    if "pilot_items" not in settings:
        shares = "given" if settings["prevalences"] else "drawn anew for every study"
        return f"assumed: {noise}, {settings['n_categories']} labels, their shares {shares}"
    units = (
        "" if settings["pilot_clusters"] is None else f" in {settings['pilot_clusters']} clusters"
    )
    pilot = (
        f"pilot of {shorten(settings['judge'], width=40)}: {settings['pilot_items']} items{units}, "
        f"{settings['pilot_annotators']} annotators, {settings['alignment']}"
    )
    return pilot if math.isnan(result.human_noise) else f"{pilot}; {noise}"


def _sentence(plan: SmallestSize, result: PowerResult) -> str:
    margin = f"At ε = {_share(plan.epsilon)}"
    if plan.n_items is None:
        last = result.sizes[-1]
        best = max(
            (row for row in result.rows if (row.n_items, row.epsilon) == (last, plan.epsilon)),
            key=lambda row: row.power,
        )
        return (
            f"{margin} no plan reaches {_share(result.wanted_power)}: {last:,} items by "
            f"{best.n_annotators} annotators have {_not_quite(best.power)}."
        )
    return (
        f"{margin} the smallest plan is {plan.n_items:,} items by {plan.n_annotators} annotators, "
        f"{plan.n_labels:,} labels."
    )


def _notes(result: PowerResult) -> Iterator[str]:
    worst = max(row.standard_error for row in result.rows)
    test = result.settings
    method = {"t": "t-test", "exact": "exact test"}[test["method"]]
    yield (
        f"{test['epsilon_mode']} ε, {method}, {test['n_simulations']:,} simulated studies, "
        f"seed {test['seed']}: standard errors up to {_power(worst, digits=3)}."
    )
    if any(row.reason is not None for row in result.rows):
        yield f"–: fewer than {test['min_items']} items, so that nobody is tested: never passed."
    routes = {row.n_annotators: row.route for row in result.rows}
    drawn = [str(m) for m, route in routes.items() if route == "resampling"]
    fitted = [str(m) for m, route in routes.items() if route == "noise_model"]
    if drawn:
        yield f"With {' or '.join(drawn)} annotators: drawn from the pilot's labels."
    if fitted:
        yield f"With {' or '.join(fitted)} annotators: simulated from noise fitted to the pilot."
    for caution in result.cautions:
        yield f"Note: {caution}."
    gap = max((row.winning_rate_power - row.power for row in result.rows), default=0.0)
    if gap >= _NOTABLE_GAP:
        yield (
            f"ω alone reaches .5 up to {_power(gap)} more often: the outcome also asks that the "
            "judge be closer to the annotators than a constant answer."
        )
    if "pilot_items" not in test and test["prevalences"] is None:
        yield "Where labels are mostly alike nobody passes: give their shares, if they are known."


def _power(share: float, *, digits: int = 2) -> str:
    return f"{share:.{digits}f}".removeprefix("0")


def _not_quite(share: float) -> str:
    """Round down, so that no cell without a mark shows the power that was wanted."""
    return _power(math.floor(share * 100) / 100)


def _share(number: float) -> str:
    return f"{number:g}".removeprefix("0") or "0"
