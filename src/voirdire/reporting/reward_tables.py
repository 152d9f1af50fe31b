"""Rewards as tables: their fits and examinations for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.text import Text

from voirdire._messages import shorten
from voirdire.reporting.notes import dropped_note
from voirdire.reporting.number_formats import counted, share
from voirdire.reporting.pages.reward_sections import reward_view
from voirdire.reporting.plain_tables import plain_table
from voirdire.reporting.result_tables import TerminalSpeaker, ViewTables
from voirdire.rewards.against_demands import (
    describe_paid_against_demands,
    find_paid_against_demands,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

    from voirdire.rewards.fitting.behavior_fitting import BehaviorFit
    from voirdire.rewards.fitting.fit import RewardFit
    from voirdire.rewards.fitting.weight_problem import Estimate
    from voirdire.studies.reward.result import RewardExamination

__all__ = ["RewardExaminationTables", "RewardFitTables"]

_FEATURE_WIDTH = 36
_ORIGINS = {
    "fitted": "",
    "fixed": "given",
    "ignored": "ignored",
    "undetermined": "no comparison tells",
    "veto": "veto",
}


class RewardExaminationTables(ViewTables):
    """The examination of a reward laid out for `rich`: print it with `rich.print` or a `Console`.

    The sentences and figures of the page of `reward_report`: how often the reward ranks
    comparisons the wrong way, what drives it, the benchmark, and what the reader should know.
    A narrow terminal folds them.

    Parameters
    ----------
    examination : RewardExamination
        What was found.
    details : bool, optional
        Whether to print every table and every note.
    """

    def __init__(self, examination: RewardExamination, *, details: bool = False) -> None:
        speaker = TerminalSpeaker("reward")
        super().__init__(reward_view(examination, speaker), speaker, details=details)
        self._dropped = examination.dropped

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield what the page says, then what was set aside."""
        yield from super().__rich_console__(console, options)
        if self._dropped:
            yield dropped_note(self._dropped)


class RewardFitTables:
    """A fit laid out for `rich`: print it with `rich.print` or a `Console`.

    Per behavior the weights with their intervals, propositions first; then, in words, how often
    the reward ranks comparisons the wrong way, and what the reader should know; last, what is to
    be known of several behaviors, and which weights pay against demands. A narrow
    terminal folds them.

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
            yield Text(_fit_title(row), style="bold")
            yield _weights(row, level=level)
            yield ""
            for sentence in _sentences(row, level=level):
                yield Text(sentence)
            if row.n_cyclic_pairs:
                yield Text(f"{row.n_cyclic_pairs:,} comparisons go in cycles", style="yellow")
            for note in [note for note in row.notes if note not in several]:
                yield Text(f"note: {note}", style="yellow")
            yield ""
        if several:
            said = "\n".join(f"note: {names}: {note}" for note, names in several.items())
            yield Text(f"{said}\n", style="yellow")
        if said := describe_paid_against_demands(find_paid_against_demands(self._fit.model)):
            yield Text(f"{said}\n", style="yellow")


def _notes_on_several(fit: RewardFit) -> dict[str, str]:
    """Find the notes that several behaviors have, with the names of these."""
    behaviors: dict[str, list[str]] = {}
    for row in fit.behaviors:
        for note in row.notes:
            behaviors.setdefault(note, []).append(shorten(row.behavior, width=30))
    return {note: ", ".join(names) for note, names in behaviors.items() if len(names) > 1}


def _weights(row: BehaviorFit, *, level: float) -> Table:
    has_intervals = any(math.isfinite(one.weight.low) for one in row.weights)
    heads = ("feature", "weight", *([f"{level:.0%} interval"] * has_intervals), "")
    table = plain_table(heads, words=("feature", ""))
    first_class = _first_class(row)
    for place, one in enumerate(row.weights):
        cells = [shorten(one.feature, width=_FEATURE_WIDTH), _fit_number(one.weight.value)]
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


def _fit_title(row: BehaviorFit) -> str:
    pairs, items = counted(row.n_pairs, "comparison"), counted(row.n_items, "completion")
    prompts = counted(row.n_prompts, "prompt")
    return f"{shorten(row.behavior, width=30)}: {pairs} of {items}, {prompts}"


def _sentences(row: BehaviorFit, *, level: float) -> Iterator[str]:
    if math.isfinite(row.error_rate.value):
        rate = _fit_rate(row.error_rate, level=level, of=" of held-out comparisons")
        yield f"ranked the wrong way: {rate}"
    if math.isfinite(row.error_rate_base.value):
        yield f"by the base reward alone: {_fit_rate(row.error_rate_base, level=level)}"
    if row.n_test_prompts:
        test, seen = counted(row.n_test_prompts, "prompt"), counted(row.n_prompts, "prompt")
        yield f"held out: {test} marked test; never held out: {seen} of the fit"
    elif row.n_prompts > 1:
        yield f"held out: each of the {row.n_prompts:,} prompts once, from the fit that ranked it"
    else:
        yield "never held out: the only prompt"
    fitted = share(row.error_rate_fitted)
    yield f"not tested: the comparisons of the fit, of which {fitted} are ranked the wrong way"
    chosen = " by cross-validation" if row.l2_path else ""
    # The bound is met up to rounding: 1e-12 says no more than 1e-9.
    gap = max(row.objective - row.bound, 1e-9)
    yield (
        f"λ {row.l2:g}{chosen}; objective {row.objective:.6g}, at most {gap:.0e} above the least"
    )


def _fit_rate(estimate: Estimate, *, level: float, of: str = "") -> str:
    if not math.isfinite(estimate.low):
        return share(estimate.value) + of
    ends = f"{share(estimate.low)} to {share(estimate.high)}"
    return f"{share(estimate.value)}{of} ({level:.0%}: {ends})"


def _interval(estimate: Estimate) -> str:
    if not math.isfinite(estimate.low):
        return ""
    return f"{_fit_number(estimate.low)} to {_fit_number(estimate.high)}"


def _fit_number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1_000 else f"{value:.3f}"
