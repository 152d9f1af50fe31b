r"""Tests which of two judges is closer to the annotators, by a paired test of their ρ.

On the items that both judges answered, :math:`\rho_a - \rho_b` is the mean over annotators of the
mean difference :math:`W^a_{ij} - W^b_{ij}`. Its standard error follows from what each item (or
cluster) contributes, summed over annotators: the same item is never counted as several.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr, stdtrit

from voirdire._types import Share  # noqa: TC001  # what reads the JSON looks at the types
from voirdire._validation import change_fields, check_names
from voirdire.errors import InputError
from voirdire.stats.intervals import sum_units, take_units
from voirdire.stats.outcome_sums import HUMAN_WINS
from voirdire.stats.plan import TestPlan
from voirdire.stats.preparation import LabelArrays, prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.preparation import Prepared

__all__ = ["JudgeDifference", "compare_judges"]

_OF_PLAN = (
    "similarity",
    "weights",
    "quality",
    "expert",
    "min_items",
    "min_annotators",
    "confidence_level",
)
_OF_LABELS = [row.name for row in fields(LabelArrays) if row.name not in ("judges", "humans")]


@dataclass(frozen=True, kw_only=True)
class JudgeDifference:
    """Two judges on the items that both answered.

    Attributes
    ----------
    judge_a, judge_b : str
        Who is compared.
    alignment : str
        Under which alignment.
    advantage_a, advantage_b : float
        ρ of each on the common items, in [0, 1].
    difference : float
        ρ_a - ρ_b, in [-1, 1]; nan where undefined.
    low, high : float
        Ends of its interval.
    p_value : float
        Two-sided, of no difference.
    p_adjusted : float
        The same after Holm's correction over all pairs.
    confidence_level : float
        Nominal coverage of the interval of this pair, in (0, 1).
    n_items : int
        Items that both answered.
    reason : str or None
        Why figures are nan.
    """

    judge_a: str
    judge_b: str
    alignment: str
    advantage_a: Share
    advantage_b: Share
    difference: float
    low: float
    high: float
    p_value: Share
    p_adjusted: Share
    confidence_level: Share
    n_items: int
    reason: str | None = None


def compare_judges(
    judges: ArrayLike,
    humans: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    plan: TestPlan | None = None,
    **settings: Any,
) -> list[JudgeDifference]:
    r"""Test every pair of judges for a difference in ρ on the items that both answered.

    Parameters
    ----------
    judges : array_like, shape (n_items, n_judges)
        Labels of the judges, in the form of `humans`.
    humans : array_like, shape (n_items, n_annotators)
        As in `voirdire.stats.alt_test`.
    names : sequence of str, optional
        Names of the judges; positions otherwise.
    plan : TestPlan, optional
        As in `voirdire.stats.alt_test`; of it the settings below count.
    **settings
        The arguments of `voirdire.stats.alt_test` that say how labels are compared: `alignment`,
        `label_sets`, `values`, `n_codes`, `failed`, `gold`, `clusters`, and of the plan
        `similarity`, `weights`, `quality`, `expert`, `min_items`, `min_annotators` and
        `confidence_level`; nothing else is known. `annotators` are their names.

    Returns
    -------
    list of JudgeDifference
        One per pair, in the order of the columns; empty with one judge.

    Raises
    ------
    InputError
        If shapes, codes or settings break a rule of `voirdire.stats.alt_test`, or `names` does
        not name every judge.

    Notes
    -----
    A judge's failures are left out. Annotators count if both judges share `min_items` items with
    them. With :math:`c_{ij}` the weight of a comparison and :math:`\delta_j` annotator j's mean
    difference, item i contributes
    :math:`z_i = \frac1m \sum_j c_{ij} (W^a_{ij} - W^b_{ij} - \delta_j) / \sum_i c_{ij}`, summed
    within clusters; the t distribution has one degree of freedom less than there are units.
    Memory is O(n_judges * n_annotators * n_items) bytes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 200)
    >>> humans = np.where(rng.random((200, 3)) < 0.8, truth[:, None], 1 - truth[:, None])
    >>> guesses = rng.integers(0, 2, 200)
    >>> [pair] = compare_judges(np.stack([truth, guesses], axis=1), humans)
    >>> pair.difference > 0.2, pair.p_value < 0.001
    (True, True)
    """
    check_names(settings, [*_OF_LABELS, *_OF_PLAN], of="compare_judges")
    about = {name: settings.pop(name) for name in _OF_LABELS if name in settings}
    plan = change_fields(plan or TestPlan(), settings)
    labels = LabelArrays(judges=judges, humans=humans, **about)
    prepared = prepare(labels, plan)
    n_judges = prepared.raters.judges.shape[1]
    shown = [str(number) for number in range(n_judges)] if names is None else list(names)
    if isinstance(names, str) or not len(shown) == len(set(shown)) == n_judges:
        msg = f"`names` must name all {n_judges} judges, each once, got {len(set(shown))} names."
        raise InputError(msg)
    pairs = list(combinations(range(n_judges), 2))
    outcomes = prepared.comparison.outcomes(prepared.raters) if pairs else []
    figures = [
        _figures(outcomes[a], outcomes[b], prepared, plan.confidence_level) for a, b in pairs
    ]
    adjusted = _holm(np.array([row["p_value"] for row in figures]))
    return [
        JudgeDifference(
            judge_a=shown[a],
            judge_b=shown[b],
            alignment=labels.alignment_name,
            confidence_level=plan.confidence_level,
            p_adjusted=float(p_value),
            **row,
        )
        for (a, b), row, p_value in zip(pairs, figures, adjusted, strict=True)
    ]


def _figures(
    first: NDArray[np.int8],
    second: NDArray[np.int8],
    prepared: Prepared,
    confidence_level: float,
) -> dict[str, Any]:
    """Compare the outcomes of two judges, each of shape (n_annotators, n_items)."""
    settings, clusters = prepared.settings, prepared.raters.clusters
    both = (first >= 0) & (second >= 0)
    tested = np.count_nonzero(both, axis=1) >= settings.min_items
    if settings.excluded is not None:
        tested[settings.excluded] = False
    met = both[tested].any(axis=0)
    names = ("advantage_a", "advantage_b", "difference", "low", "high", "p_value")
    figures: dict[str, Any] = dict.fromkeys(names, float("nan"))
    figures["n_items"] = int(np.count_nonzero(met))
    if not tested.any():
        return figures | {"reason": f"no annotator has {settings.min_items} items to compare"}
    weights = prepared.comparison.weights(np.where(both, first, -1), prepared.raters)
    mass = both[tested] if weights is None else weights[tested] * both[tested]
    total = mass.sum(axis=1)
    won = [((labels[tested] < HUMAN_WINS) * mass).sum(axis=1) / total for labels in (first, second)]
    gap = (first[tested] < HUMAN_WINS).astype(np.int8) - (second[tested] < HUMAN_WINS)
    share = 1 / (total * len(total))
    of_items = share @ (gap * mass) - (share * (won[0] - won[1])) @ mass
    units = sum_units(of_items[met], take_units(clusters, met))
    a, b = (float(rates.mean()) for rates in won)
    difference, n_units = a - b, len(units)
    figures |= {"advantage_a": a, "advantage_b": b, "difference": difference}
    if n_units < 2:
        return figures | {"reason": "a standard error needs two items, or two clusters"}
    error = float(np.sqrt(n_units / (n_units - 1) * (units**2).sum()))
    if error < 1e-12:
        if abs(difference) < 1e-12:
            return figures | {"reason": "the judges have the same outcome on every item"}
        # as in the test of one judge: without variance the sign of the difference is certain
        reason = "all items are alike: the interval is undefined"
        return figures | {"reason": reason, "p_value": 0.0}
    half = float(stdtrit(n_units - 1, (1 + confidence_level) / 2)) * error
    return figures | {
        "low": max(difference - half, -1.0),
        "high": min(difference + half, 1.0),
        "p_value": float(2 * stdtr(n_units - 1, -abs(difference) / error)),
    }


def _holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust by Holm's step-down procedure; undefined p-values stay nan and do not count."""
    adjusted = p_values.copy()
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    steps = p_values[order] * (len(order) - np.arange(len(order)))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
