r"""The κ of a judge with the majority vote of all annotators: what is often published.

With :math:`s_{il}` the share of label l in the vote on item i (labels that tie share it) and
:math:`j_i` the judge's label, :math:`p_o = \frac1n \sum_i s_{i j_i}` and
:math:`p_e = \sum_l \bar s_l \bar j_l`. No annotator can be held against this vote, in which each of
them has a say: it has no human ceiling, and stands beside the figures that do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.agreement.interval import make_interval
from voirdire.stats.agreement.result import AgreementResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PANEL_MAJORITY_KAPPA", "kappa_with_panel_vote"]

PANEL_MAJORITY_KAPPA = "panel_majority_kappa"

_MOST_LABELS = 64
_ITEMS_AT_ONCE = 1 << 15


def kappa_with_panel_vote(
    humans: NDArray[Any],
    judge: NDArray[Any],
    *,
    n_labels: int,
    weights: Any,
    units: NDArray[np.intp] | None,
    confidence_level: float,
) -> AgreementResult:
    """Measure how far a judge agrees with the vote of all annotators.

    Parameters
    ----------
    humans : ndarray of int, shape (n_humans, n_items)
        Label codes, -1 for missing.
    judge : ndarray of int, shape (n_items,)
        The judge's, in the same codes.
    n_labels : int
        How many codes there are.
    weights : str or None
        Anything but None: labels agree in part, and there is no vote.
    units : ndarray of int, shape (n_items,), or None
        Clusters.
    confidence_level : float
        Nominal coverage, in (0, 1).
    """
    known = (judge >= 0) & (humans >= 0).any(axis=0)
    figures: dict[str, Any] = {
        "coefficient": PANEL_MAJORITY_KAPPA,
        "weights": None,
        "confidence_level": confidence_level,
        "n_items": int(np.count_nonzero(known)),
        "n_raters": int(np.count_nonzero((humans[:, known] >= 0).any(axis=1))),
    }
    reason = _why_not(known, n_labels=n_labels, weights=weights)
    if reason is not None:
        return _undefined(figures, reason)
    answers = judge[known]
    votes = _votes(humans[:, known], n_labels)
    agreed = votes[np.arange(len(answers)), answers]
    of_votes = votes.mean(axis=0)
    of_judge = np.bincount(answers, minlength=n_labels) / len(answers)
    by_chance = float(of_votes @ of_judge)
    if by_chance >= 1 - 1e-12:
        return _undefined(figures, "all labels are equal")
    apart = (1 - float(agreed.mean())) / (1 - by_chance)
    # d log(1 - κ) = d(1 - p_o) / (1 - p_o) - d(1 - p_e) / (1 - p_e), item by item
    chance = votes @ of_judge + of_votes[answers] - 2 * by_chance
    influence = ((agreed - agreed.mean()) - apart * chance) / (1 - by_chance) / len(answers)
    every = np.zeros(len(judge))
    every[known] = influence
    reach = np.zeros(len(judge))
    reach[known] = -chance / (1 - by_chance) / len(answers)
    interval = make_interval(
        1 - apart,
        every,
        reach=reach,
        compared=known,
        units=units,
        confidence_level=confidence_level,
        least=-1.0,
    )
    few = "an interval needs at least two items, or two clusters" if interval.n_units < 2 else None
    return AgreementResult(
        **figures,
        estimate=1 - apart,
        low=interval.low,
        high=interval.high,
        n_clusters=interval.n_units,
        reason=few,
    )


def _why_not(known: NDArray[np.bool_], *, n_labels: int, weights: Any) -> str | None:
    if weights is not None:
        return "labels that agree in part have no majority vote"
    if n_labels > _MOST_LABELS:
        return f"the vote is not taken on more than {_MOST_LABELS} labels"
    return None if known.any() else "no items in common"


def _undefined(figures: dict[str, Any], reason: str) -> AgreementResult:
    undefined = float("nan")
    return AgreementResult(
        **figures, estimate=undefined, low=undefined, high=undefined, n_clusters=0, reason=reason
    )


def _votes(humans: NDArray[Any], n_labels: int) -> NDArray[np.float64]:
    """Share each item's vote among the labels that most annotators gave it."""
    shares = np.empty((humans.shape[1], n_labels))
    for start in range(0, len(shares), _ITEMS_AT_ONCE):
        block = humans[:, start : start + _ITEMS_AT_ONCE]
        counts = np.zeros((n_labels, block.shape[1]), dtype=np.int32)
        for label in range(n_labels):
            for column in block:
                counts[label] += column == label
        top = counts == counts.max(axis=0)
        shares[start : start + _ITEMS_AT_ONCE] = (top / np.count_nonzero(top, axis=0)).T
    return shares
