"""A fit as tables for a terminal: per behavior its weights, then how good they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from voirdire._validation import shorten
from voirdire.reporting.narrow_tables import NarrowTable
from voirdire.rewards.against_demands import paid_against_demands, said_of_demands

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions, RenderableType

    from voirdire.rewards.fitting.behavior_fitting import BehaviorFit
    from voirdire.rewards.fitting.fit import RewardFit
    from voirdire.rewards.fitting.weight_problem import Estimate

__all__ = ["RewardFitTables"]

_NAME_WIDTH = 36
_ORIGINS = {
    "fitted": "",
    "fixed": "given",
    "ignored": "ignored",
    "undetermined": "no comparison tells",
    "veto": "veto",
}


class RewardFitTables:
    """A fit laid out for `rich`: print it with `rich.print` or a `Console`.

    Per behavior the weights with their intervals, propositions first; then, in words, how often
    the reward ranks comparisons the wrong way, and what the reader should know; last, what is to
    be known of several behaviors, and which weights pay against demands. Fits eighty columns,
    and fewer by stacking rows.

    Parameters
    ----------
    fit : RewardFit
        What was found.
    """

    def __init__(self, fit: RewardFit) -> None:
        self._fit = fit

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield a table and some sentences for each behavior."""
        level = self._fit.model.settings["confidence_level"]
        several = _notes_on_several(self._fit)
        for row in self._fit.behaviors:
            yield Text(_title(row), style="bold")
            yield NarrowTable(_weights(row, level=level))
            yield ""
            for sentence in _sentences(row, level=level):
                yield Text(sentence)
            if row.cycles.n_pairs:
                yield Text(f"cycles: {row.cycles.in_words()}", style="yellow")
            for note in [note for note in row.notes if note not in several]:
                yield Text(f"note: {note}", style="yellow")
            yield ""
        if several:
            said = "\n".join(f"note: {names}: {note}" for note, names in several.items())
            yield Text(f"{said}\n", style="yellow")
        if said := said_of_demands(paid_against_demands(self._fit.model)):
            yield Text(f"{said}\n", style="yellow")


def _notes_on_several(fit: RewardFit) -> dict[str, str]:
    """Find the notes that several behaviors have, with the names of these."""
    found: dict[str, list[str]] = {}
    for row in fit.behaviors:
        for note in row.notes:
            found.setdefault(note, []).append(shorten(row.behavior, width=30))
    return {note: ", ".join(names) for note, names in found.items() if len(names) > 1}


def _weights(row: BehaviorFit, *, level: float) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("feature", overflow="ellipsis", max_width=_NAME_WIDTH)
    table.add_column("weight", justify="right", no_wrap=True)
    has_intervals = any(math.isfinite(one.weight.low) for one in row.weights)
    if has_intervals:
        table.add_column(f"{level:.0%} interval", justify="right", no_wrap=True)
    table.add_column("")
    first_class = _first_class(row)
    for place, one in enumerate(row.weights):
        cells = [shorten(one.feature, width=_NAME_WIDTH), _number(one.weight.value)]
        cells += [_interval(one.weight)] if has_intervals else []
        style = "" if one.origin == "fitted" else "dim"
        table.add_row(*map(Text, (*cells, _ORIGINS[one.origin])), style=style)
        if place + 1 == first_class:
            table.add_section()
    return table


def _first_class(row: BehaviorFit) -> int:
    """Find where the classes begin: they are named after the behavior."""
    names = [one.feature.startswith(f"{row.behavior}.") for one in row.weights]
    return names.index(True) if True in names else len(names)


def _title(row: BehaviorFit) -> str:
    counted = f"{row.n_pairs:,} comparisons of {row.n_items:,} completions"
    return f"{shorten(row.behavior, width=30)}: {counted}, {row.n_prompts:,} prompts"


def _sentences(row: BehaviorFit, *, level: float) -> Iterator[str]:
    if math.isfinite(row.error_rate.value):
        yield (
            f"ranked the wrong way: {_rate(row.error_rate, level=level)} on prompts outside the "
            f"fit; not tested: {_share(row.error_rate_fitted)} in it"
        )
    else:
        yield f"not tested: {_share(row.error_rate_fitted)} ranked the wrong way in the fit"
    if math.isfinite(row.error_rate_base.value):
        yield f"by the base reward alone: {_rate(row.error_rate_base, level=level)}"
    chosen = " by cross-validation" if row.l2_path else ""
    # The bound is met up to rounding: 1e-12 says no more than 1e-9.
    gap = max(row.objective - row.bound, 1e-9)
    yield (
        f"λ {row.l2:g}{chosen}; objective {row.objective:.6g}, at most {gap:.0e} above the least"
    )


def _rate(estimate: Estimate, *, level: float) -> str:
    if not math.isfinite(estimate.low):
        return _share(estimate.value)
    ends = f"{_share(estimate.low)} to {_share(estimate.high)}"
    return f"{_share(estimate.value)} ({level:.0%}: {ends})"


def _interval(estimate: Estimate) -> str:
    if not math.isfinite(estimate.low):
        return ""
    return f"{_number(estimate.low)} to {_number(estimate.high)}"


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1_000 else f"{value:.3f}"


def _share(value: float) -> str:
    return f"{value:.1%}"
