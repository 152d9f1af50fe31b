"""Whether passing would mean anything, and what a reader should know before trusting figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.results import Caution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire._types import Outcome
    from voirdire.stats.krippendorff import KrippendorffResult
    from voirdire.stats.results import AnnotatorResult, ControlResult, WorstCase

__all__ = ["Panel", "decide_outcome", "find_cautions", "listed", "sides_by_majority"]

MIN_ITEMS_PER_SIDE = 10
MIN_ALPHA = 0.2
MANY_TIES = 0.6
FEW_ANNOTATORS = 3
WEAK_ALPHA = 0.4


@dataclass(frozen=True, kw_only=True)
class Panel:
    """What the annotators alone say about the evidence.

    Attributes
    ----------
    sides : tuple of int or None
        Items on either side by majority (or by the reference), for questions with two labels;
        None for others.
    agreement : KrippendorffResult or None
        α among the annotators.
    has_reference : bool
        Whether an expert's or gold labels stand for the others: then it is they, and not the
        annotators' agreement, that carry the evidence.
    """

    sides: tuple[int, int] | None
    agreement: KrippendorffResult | None
    has_reference: bool = False


def sides_by_majority(
    codes: NDArray[Any], used: Sequence[int] | NDArray[Any] = (0, 1), *, min_annotators: int
) -> tuple[int, int]:
    """Count items by which of two labels has the majority; a tied item is on neither side.

    Parameters
    ----------
    codes : ndarray of int, shape (n_items, n_annotators)
        Label codes, or -1 for missing.
    used : sequence of int, optional
        The one or two codes that occur.
    min_annotators : int
        Fewest labels of an item that counts.
    """
    one, other = [*used, -2, -2][:2]
    lean = np.zeros(len(codes), dtype=np.int32)
    known = np.zeros(len(codes), dtype=np.int32)
    for column in codes.T:
        lean += (column == other).astype(np.int32) - (column == one)
        known += column >= 0
    enough = known >= min_annotators
    return int(np.count_nonzero(enough & (lean < 0))), int(np.count_nonzero(enough & (lean > 0)))


def decide_outcome(
    panel: Panel,
    annotators: Sequence[AnnotatorResult],
    *,
    passed: bool,
    worst_case: WorstCase,
    controls: Sequence[ControlResult],
    min_items: int,
) -> tuple[Outcome, tuple[str, ...]]:
    """Decide between passed, failed and no evidence; the reasons go with the last.

    A pass must hold with the judge's failures left out and with them lost. There is no evidence
    when no annotator could be tested, a constant control passes, a two-label question has fewer
    than ten items on a side, or the interval of the annotators' α reaches down to .2.
    """
    reasons = []
    if not annotators:
        reasons.append(f"no annotator has {min_items} items to compare")
    elif all(math.isnan(row.p_value) for row in annotators):
        reasons.append("no p-value is defined: a standard error needs two clusters")
    reasons += [
        f"a judge that always answers {control.label!r} passes too"
        for control in controls
        if control.control == "constant" and control.passed
    ]
    if panel.sides is not None and min(panel.sides) < MIN_ITEMS_PER_SIDE:
        reasons.append(
            f"the majority puts {panel.sides[0]} and {panel.sides[1]} items on the two "
            f"sides; {MIN_ITEMS_PER_SIDE} on each are needed"
        )
    agreement = None if panel.has_reference else panel.agreement
    if agreement is not None and not agreement.low > MIN_ALPHA:
        reasons.append(_weak_agreement(agreement))
    if reasons:
        return "no_evidence", tuple(reasons)
    return ("passed" if passed and worst_case.passed else "failed"), ()


def find_cautions(
    panel: Panel,
    annotators: Sequence[AnnotatorResult],
    *,
    untested: Sequence[str],
    winning_rate: float,
    winning_rate_bh: float,
    worst_case: WorstCase,
    has_controls: bool,
    method: str,
    min_items: int,
) -> tuple[Caution, ...]:
    """Say in sentences what weakens the figures."""
    found = []
    if len(annotators) < FEW_ANNOTATORS:
        sentence = (
            f"{len(annotators)} annotators were tested; with fewer than {FEW_ANNOTATORS} the "
            "winning rate says little"
        )
        found.append(Caution(code="few_annotators", sentence=sentence))
    if untested:
        sentence = f"not tested, fewer than {min_items} items each: {listed(untested)}"
        found.append(Caution(code="untested_annotators", sentence=sentence))
    tied = [row.annotator for row in annotators if row.tie_share > MANY_TIES]
    if tied and method == "t":
        way_out = (
            "compare the exact p-values, or use method='exact'"
            if annotators[0].has_exact_p_value
            else "take p-values near the limit with care"
        )
        sentence = (
            f"more than {MANY_TIES:.0%} of the items are ties for {listed(tied)}: with few items "
            f"the t-test rejects too often there; {way_out}"
        )
        found.append(Caution(code="many_ties", sentence=sentence))
    if (winning_rate >= 0.5) != (winning_rate_bh >= 0.5):
        sentence = (
            f"the result depends on the correction: winning rate {winning_rate:.2f} under "
            f"Benjamini-Yekutieli, {winning_rate_bh:.2f} under Benjamini-Hochberg"
        )
        found.append(Caution(code="correction", sentence=sentence))
    if not has_controls:
        sentence = "no controls were run: whether a constant judge passes too is not known"
        found.append(Caution(code="no_controls", sentence=sentence))
    if worst_case.n_failures:
        sentence = (
            f"the judge failed on {worst_case.n_failures} items; counted as lost the winning rate "
            f"is {worst_case.winning_rate:.2f}, and the outcome uses that"
        )
        found.append(Caution(code="failures", sentence=sentence))
    if panel.agreement is not None and panel.agreement.alpha < WEAK_ALPHA:
        sentence = (
            f"the annotators agree weakly (α = {panel.agreement.alpha:.2f}); weak annotators let "
            "weak judges pass"
        )
        found.append(Caution(code="weak_annotators", sentence=sentence))
    return tuple(found)


def _weak_agreement(agreement: KrippendorffResult) -> str:
    if agreement.reason is not None:
        return f"how far the annotators agree is undefined: {agreement.reason}"
    return (
        f"agreement among the annotators may be as low as α = {agreement.low:.2f}; "
        f"its lower bound must exceed {MIN_ALPHA}"
    )


def listed(names: Sequence[str], *, most: int = 5) -> str:
    """Name the first few, and count the rest."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
