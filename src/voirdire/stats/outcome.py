r"""Decides whether a judge passed, failed, or could not be distinguished from a useless one.

Failures count as lost, and ω is from the exact test:

1. ``no_evidence`` where no annotator can be tested.
2. Where ω is below .5, ``failed``; but ``no_evidence`` where the judge's estimate is within ε for
   at least half of the annotators and their majority vote (with an expert or gold: those labels)
   fails too, since no judge could pass on these labels.
3. Otherwise ``passed`` if the judge is shown closer to the annotators than the constant answer
   with the largest ρ (see `Comparison.gain`; one-sided p at most .05), else ``no_evidence``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._messages import shorten
from voirdire.stats.agreement import measure_alpha
from voirdire.stats.comparison import MOST_FLIPPED
from voirdire.stats.exact_test import cached_p_value
from voirdire.stats.figures import Figures, passes
from voirdire.stats.results import format_p, make_caution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire._types import AlignmentName, Outcome
    from voirdire.stats.agreement import KrippendorffResult, Level
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.stats.comparison import Comparison, Control, PairedGain, Raters
    from voirdire.stats.figures import TestSettings
    from voirdire.stats.outcome_sums import OutcomeSums
    from voirdire.stats.preparation import Prepared
    from voirdire.stats.results import Caution

__all__ = ["Panel", "Yardsticks", "decide_outcome", "describe_panel"]

CONSTANT_LEVEL = 0.05
_MOST_TRIED = 20


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Facts about the annotators' labels.

    For two labels the items of each by majority (or by the reference); α among the annotators;
    their most frequent label with its share, nan where labels are not words; whether there is a
    reference (an expert or gold); and the number of clusters.
    """

    sides: tuple[int, int] | None
    agreement: KrippendorffResult | None
    has_reference: bool
    n_clusters: int | None
    top_share: float
    top_label: str | None


class Yardsticks:
    """References for judges of the same items.

    The constant answer with the largest ρ, the figures of the majority vote (or the reference) and
    of that constant, and the gain of each judge, failures lost, over it; None without labels.
    """

    def __init__(
        self,
        raters: Raters,
        comparison: Comparison,
        controls: Sequence[Control],
        figures: Figures | None,
        *,
        lost: OutcomeSums,
        label: Callable[[Any], str],
    ) -> None:
        self.constant: str | None = None
        self.figures: Figures | None = None
        self.gains: Sequence[PairedGain | None] = [None] * len(lost.n_units)
        constants = [n for n, control in enumerate(controls) if control.control == "constant"]
        if figures is None or np.isnan(figures.advantage_probability[constants]).all():
            return
        best = constants[int(np.nanargmax(figures.advantage_probability[constants]))]
        kind = "reference" if raters.reference is not None else "majority_vote"
        ceiling = next(n for n, control in enumerate(controls) if control.control == kind)
        self.constant = label(controls[best].constant)
        self.figures = Figures(figures.sums.rows([ceiling, best]), figures.settings)
        self.gains = comparison.gains(
            raters,
            controls[best].constant,
            judges=lost,
            other=figures.sums.rows([best]),
            settings=figures.settings,
        )


def decide_outcome(
    yardsticks: Yardsticks,
    gain: PairedGain | None,
    lost: Figures,
    *,
    judge: int,
    number: int,
    has_reference: bool,
) -> tuple[Outcome, Caution]:
    """Decide the outcome of one judge at one ε, with the reason."""
    tested, settings = lost.tested[judge], lost.settings
    n_tested = int(np.count_nonzero(tested))
    if not n_tested or gain is None or yardsticks.figures is None:
        other = "the reference" if has_reference else "another annotator"
        sentence = f"No annotator has {settings.min_items} items that it and {other} labelled too."
        return "no_evidence", make_caution("untestable", sentence, min_items=settings.min_items)
    if np.isnan(lost.exact_p_values[judge, number][tested]).all():
        sentence = "No p-value is defined: a standard error needs two clusters."
        return "no_evidence", make_caution("no_p_values", sentence)
    epsilon = float(settings.epsilons[number])
    rate = float(lost.exact_winning_rate[judge, number])
    facts: dict[str, Any] = {
        "epsilon": epsilon,
        "winning_rate": rate,
        "n_shown": int(np.count_nonzero(lost.exact_rejected[judge, number])),
        "n_annotators": n_tested,
    }
    if passes(rate):
        return _compare_with_constant(yardsticks, gain, facts)
    within = lost.within[judge, number]
    is_close = bool(passes(lost.within_rate[judge, number]))
    ceiling, constant = yardsticks.figures.exact_winning_rate[:, number].tolist()
    facts |= {"n_within": int(np.count_nonzero(within))}
    if is_close and not passes(ceiling):
        facts |= {"n_items": int(lost.sums.n_items[judge][tested].max()), "ceiling": ceiling}
        return "no_evidence", _unpassable(facts, settings, has_reference=has_reference)
    facts |= {"constant": yardsticks.constant, "constant_winning_rate": constant}
    return "failed", _explain_failure(facts, is_close=is_close)


def _compare_with_constant(
    yardsticks: Yardsticks, gain: PairedGain, facts: dict[str, Any]
) -> tuple[Outcome, Caution]:
    facts |= {
        "constant": yardsticks.constant,
        "advantage_probability": gain.advantage,
        "constant_advantage": gain.other,
        "p_value": gain.p_value,
    }
    advantage, other = round(gain.advantage, 12), round(gain.other, 12)  # as tables write them
    p_value = format_p(gain.p_value)
    compared = f"always {shorten(yardsticks.constant)!r} (ρ {advantage:.2f} against "
    if 0 < gain.n_differ <= MOST_FLIPPED:
        facts |= {"n_differ": gain.n_differ}
        p_value += f"; {gain.n_differ} item{' differs' if gain.n_differ == 1 else 's differ'}"
    compared += f"{other:.2f}, {p_value})."
    if gain.p_value <= CONSTANT_LEVEL:
        sentence = f"{_describe_wins(facts)}, and closer to them than {compared}"
        return "passed", make_caution("shown", sentence, **facts)
    sentence = f"ω = {facts['winning_rate']:.2f} by the exact test, but not shown closer to the "
    sentence += "annotators than "
    return "no_evidence", make_caution("like_constant", sentence + compared, **facts)


def _describe_wins(facts: dict[str, Any]) -> str:
    return (
        f"Shown within ε = {facts['epsilon']:g} for {facts['n_shown']} of "
        f"{facts['n_annotators']} annotators by the exact test"
    )


def _explain_failure(facts: dict[str, Any], *, is_close: bool) -> Caution:
    n_annotators = facts["n_annotators"]
    sentence = f"{_describe_wins(facts)}; half are needed. "
    if is_close:
        sentence += (
            f"Its estimate is within ε for {facts['n_within']} of {n_annotators} annotators: more "
            "items may change this."
        )
    else:
        n_missed = n_annotators - facts["n_within"]
        sentence += f"Its estimate misses ε for {n_missed} of {n_annotators} annotators."
    if passes(rate := facts["constant_winning_rate"]):
        sentence += f" Always {shorten(facts['constant'])!r} has ω = {rate:.2f}, no evidence."
    return make_caution("not_shown" if is_close else "missed", sentence, **facts)


def _unpassable(facts: dict[str, Any], settings: TestSettings, *, has_reference: bool) -> Caution:
    epsilon, n_annotators = facts["epsilon"], facts["n_annotators"]
    who = (
        "even a judge that gives the reference labels"
        if has_reference
        else "even the majority vote"
    )
    sentence = f"With {facts['n_items']} items and ε = {epsilon:g} {who} is not shown within ε"
    needed = _items_needed(settings, epsilon, n_annotators)
    if needed is not None and needed > facts["n_items"]:
        sentence += f"; a judge that always ties needs {needed}"
    return make_caution("unpassable", f"{sentence}.", n_needed=needed, **facts)


def _items_needed(settings: TestSettings, epsilon: float, n_annotators: int) -> int | None:
    """Find the fewest items on which a judge that always ties is shown within ε.

    Under the null hypothesis all n items are ties with a probability of at most (1 - ε)^n.
    """
    if epsilon <= 0:
        return None
    harmonic = sum(1 / rank for rank in range(1, n_annotators + 1))
    level = settings.false_discovery_rate / harmonic
    fewest = math.ceil(math.log(level) / math.log1p(-epsilon))
    for n_ties in range(fewest, 2 * fewest + _MOST_TRIED):
        if cached_p_value(0, n_ties, 0, epsilon, settings.mode) <= level:
            return n_ties
    return None


def describe_panel(
    prepared: Prepared, alignment: AlignmentName | VectorizedScore, *, label: Callable[[Any], str]
) -> Panel:
    """Compute the facts about the annotators; `label` returns the name of a label code."""
    raters, humans, n_codes = prepared.raters, prepared.raters.humans, prepared.n_codes
    level: Level | None = None
    if prepared.label_sets is not None:
        level = "sets"
    elif alignment == "neg_rmse":
        level = "interval"
    elif alignment == "accuracy" or (
        # free text has many labels, and exact agreement on it means nothing
        callable(alignment) and n_codes <= np.count_nonzero(humans >= 0) / 2
    ):
        level = "nominal"
    agreement = sides = None
    top_share, top_label = math.nan, None
    if level is not None:
        agreement = measure_alpha(
            humans, level=level, label_sets=prepared.label_sets, clusters=raters.clusters
        )
    if level == "nominal":
        counts = _count_labels(humans, n_codes)
        sides = _sides(prepared, counts)
        if counts.any():
            top = int(counts.argmax())
            top_share, top_label = float(counts[top] / counts.sum()), label(top)
    return Panel(
        sides=sides,
        agreement=agreement,
        has_reference=raters.reference is not None,
        n_clusters=None if raters.clusters is None else len(np.unique(raters.clusters)),
        top_share=top_share,
        top_label=top_label,
    )


def _count_labels(labels: NDArray[Any], n_codes: int) -> NDArray[np.int64]:
    counts = np.zeros(n_codes + 1, dtype=np.int64)
    for column in labels.T:  # code -1 comes first and is left out
        counts += np.bincount(column.astype(np.int64) + 1, minlength=len(counts))
    return counts[1:]


def _sides(prepared: Prepared, counts: NDArray[np.int64]) -> tuple[int, int] | None:
    """Count the items by which of two labels has the majority.

    A tied item counts for neither; None for questions with more labels.
    """
    raters, fewest = prepared.raters, prepared.comparison.min_annotators
    labels = raters.humans
    if raters.reference is not None:
        labels, fewest = raters.reference[:, np.newaxis], 1
        counts = _count_labels(labels, prepared.n_codes)
    if prepared.is_declared and prepared.n_codes != 2:
        return None
    used = np.flatnonzero(counts)
    if len(used) > 2:
        return None
    one, other = [*used, -2, -2][:2]
    lean = np.zeros(len(labels), dtype=np.int32)
    known = np.zeros(len(labels), dtype=np.int32)
    for column in labels.T:
        lean += (column == other).astype(np.int32) - (column == one)
        known += column >= 0
    enough = known >= fewest
    return int(np.count_nonzero(enough & (lean < 0))), int(np.count_nonzero(enough & (lean > 0)))
