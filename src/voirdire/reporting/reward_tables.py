"""Rewards as tables: their fits and examinations for a terminal, and error rates for a paper."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from rich.text import Text

from voirdire._validation import shorten
from voirdire.reporting.narrow_tables import NarrowTable, plain_table
from voirdire.reporting.notes import dropped_note
from voirdire.reporting.number_formats import counted, decimal, share
from voirdire.reporting.pages.reward_facts import SIGNALS, group_by_signal, name_rules
from voirdire.reporting.pages.reward_sections import reward_view
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
    from voirdire.studies.reward.result import RateEstimate, RewardExamination

__all__ = ["RewardExaminationTables", "RewardFitTables", "paper_table"]

_SIGNALS = {"base": "Base", "total": "Base + rules", "rules": "Rules"}
_SUBSETS = {None: "all pairs", "*": "mean over subsets"}
_FEATURE_WIDTH = 36
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#])")
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
    comparisons the wrong way, what drives it, the policy and the benchmark, and what the reader
    should know. Fits eighty columns, and fewer by stacking rows.

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


def paper_table(examination: RewardExamination) -> str:
    """Write error rates, hard cases and the benchmark as one Markdown table.

    Parameters
    ----------
    examination : RewardExamination
        What was found.

    Returns
    -------
    str
        The table with a caption that says what the figures are, ready to paste.

    Examples
    --------
    >>> from voirdire.studies import ErrorRate, RateEstimate, RewardExamination
    >>> rate = RateEstimate(value=0.25, low=0.1, high=0.4, n=8, n_prompts=4)
    >>> row = ErrorRate(behavior=None, signal="total", against="all", rate=rate, tie_share=0.0)
    >>> found = RewardExamination(
    ...     reward={"name": "mine"}, n_items=9, n_prompts=4, n_comparisons=8, is_held_out=True,
    ...     error_rates=(row,),
    ... )
    >>> print(paper_table(found).splitlines()[2])
    | all | all comparisons | 8 | .250 [.100, .400] |
    """
    cases = _gather_cases(name_rules(examination))
    signals = [signal for signal in SIGNALS if any(signal in rates for rates in cases.values())]
    names = ["Reward"] if len(signals) == 1 else [_SIGNALS[signal] for signal in signals]
    heads = ["Behavior", "Case", "n", *names]
    table = [heads, ["---", "---", *("--:" for _ in heads[2:])]]
    for case, rates in cases.items():  # names are escaped; figures are ours
        n = f"{next(iter(rates.values())).n:,}"
        table.append([*map(_escape, case), n, *(_paper_rate(rates.get(x)) for x in signals)])
    lines = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([*lines, "", _escape(_caption(examination)), ""])


def _gather_cases(report: RewardExamination) -> dict[tuple[str, str], dict[str, RateEstimate]]:
    """Gather the cases of each behavior, then the benchmark, each with the rate of each reward."""
    sources: tuple[tuple[Any, tuple[str, ...], Any, Any], ...] = (
        (report.error_rates, ("behavior", "against"), "rate", lambda behavior, against: (
            behavior or "all", {"all": "all comparisons", "best": "against the best"}[against])),
        (report.near_ideal, ("behavior", "best", "next"), "error_rate",
         lambda behavior, best, other: (behavior, f"{best} against {other}")),
        (report.refusals, ("behavior", "kind", "by"), "rate",
         lambda behavior, kind, by: (behavior, f"{kind.replace('_', ' ')}, by {by}")),
        (report.bench, ("subset",), "accuracy",
         lambda subset: ("benchmark", f"accuracy: {_SUBSETS.get(subset, subset)}")),
    )  # fmt: skip
    cases = {
        name(*row.key): {signal: getattr(x, rate) for signal, x in row.by_signal.items()}
        for rows, keys, rate, name in sources
        for row in group_by_signal(rows, keys, lambda _: 0)
    }
    places = {name: place for place, name in enumerate(dict.fromkeys(name for name, _ in cases))}
    return dict(sorted(cases.items(), key=lambda row: places[row[0][0]]))


def _caption(examination: RewardExamination) -> str:
    level = examination.settings.get("confidence_level", 0.95)
    held = "held-out prompts" if examination.is_held_out else "prompts that may be those of the fit"
    seen = (row.figures["n_seen"] for row in examination.notes if row.code == "seen_prompts")
    if n_seen := next(seen, 0):
        held = f"prompts, not tested on {n_seen:,} of them, which are of the fit"
    sizes = f"{examination.n_prompts:,} {held}, {examination.n_items:,} completions"
    return (
        f"Reward {shorten(examination.reward.get('name', ''))}: share of comparisons ranked the "
        f"wrong way (a tie counts half) on {sizes}; accuracy where it says so. Brackets: "
        f"{level:.0%} intervals from resampling prompts."
    )


def _paper_rate(rate: RateEstimate | None) -> str:
    if rate is None:
        return "–"
    value, low, high = (decimal(x, digits=3) for x in (rate.value, rate.low, rate.high))
    return value if math.isnan(rate.low) else f"{value} [{low}, {high}]"


def _escape(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", shorten(text, width=400))


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
            yield Text(_fit_title(row), style="bold")
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
