"""Whether passing would mean anything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import shorten
from voirdire.stats.cautions import caution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire._types import Outcome
    from voirdire.stats.krippendorff import KrippendorffResult
    from voirdire.stats.results import AnnotatorResult, Caution, ControlResult, WorstCase

__all__ = ["Panel", "decide_outcome", "sides_by_majority"]

MIN_ITEMS_PER_SIDE = 10
MIN_ALPHA = 0.2


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
    n_clusters : int or None
        Independent units, where items are clustered.
    top_share : float
        Share of the most frequent label among all of the annotators'; nan where labels are not
        words.
    top_label : str or None
        That label.
    """

    sides: tuple[int, int] | None
    agreement: KrippendorffResult | None
    has_reference: bool = False
    n_clusters: int | None = None
    top_share: float = math.nan
    top_label: str | None = None


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
) -> tuple[Outcome, tuple[Caution, ...]]:
    """Decide between passed, failed and no evidence; the reasons go with the last.

    A pass must hold with the judge's failures left out and with them lost. There is no evidence
    when no annotator could be tested, a constant control passes, a two-label question has fewer
    than ten items on a side, or the interval of the annotators' α reaches down to .2.
    """
    reasons = []
    if not annotators:
        sentence = f"no annotator has {min_items} items to compare"
        reasons.append(caution("untestable", sentence, min_items=min_items))
    elif all(math.isnan(row.p_value) for row in annotators):
        sentence = "no p-value is defined: a standard error needs two clusters"
        reasons.append(caution("no_p_values", sentence))
    reasons += [
        caution(
            "constant_passes",
            f"a judge that always answers {shorten(control.label)!r} passes too",
            label=shorten(control.label),
        )
        for control in controls
        if control.control == "constant" and control.passed
    ]
    if panel.sides is not None and min(panel.sides) < MIN_ITEMS_PER_SIDE:
        one, other = panel.sides
        sentence = (
            f"the majority puts {one} and {other} items on the two "
            f"sides; {MIN_ITEMS_PER_SIDE} on each are needed"
        )
        reasons.append(
            caution("one_sided", sentence, one=one, other=other, needed=MIN_ITEMS_PER_SIDE)
        )
    agreement = None if panel.has_reference else panel.agreement
    if agreement is not None and not agreement.low > MIN_ALPHA:
        reasons.append(_weak_agreement(agreement))
    if reasons:
        return "no_evidence", tuple(reasons)
    return ("passed" if passed and worst_case.passed else "failed"), ()


def _weak_agreement(agreement: KrippendorffResult) -> Caution:
    if agreement.reason is not None:
        sentence = f"how far the annotators agree is undefined: {agreement.reason}"
        return caution("undefined_agreement", sentence, reason=agreement.reason)
    sentence = (
        f"agreement among the annotators may be as low as α = {agreement.low:.2f}; "
        f"its lower bound must exceed {MIN_ALPHA}"
    )
    return caution("weak_agreement", sentence, low=agreement.low, needed=MIN_ALPHA)
