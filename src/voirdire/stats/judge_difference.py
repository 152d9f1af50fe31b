r"""Tests which of two judges is closer to the annotators, by a paired test of their ρ.

On the items that both answered, :math:`\rho_a - \rho_b` is the mean over annotators of the mean
difference :math:`W^a_{ij} - W^b_{ij}`. Its standard error follows from what each item (or cluster)
contributes, summed over annotators: the same item is never counted as several. With :math:`c_{ij}`
the weight of a comparison and :math:`\delta_j` annotator j's mean difference, item i contributes

.. math:: z_i = \frac1m \sum_j \frac{c_{ij} (W^a_{ij} - W^b_{ij} - \delta_j)}{\sum_i c_{ij}},

summed within clusters; where all annotators labelled all items this is the paired t-test of the
items' means.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr, stdtrit

from voirdire._types import Share  # noqa: TC001  # what reads the JSON looks at the types
from voirdire._validation import change_fields, check_names
from voirdire.errors import InputError
from voirdire.stats.comparison import compare_labels
from voirdire.stats.intervals import sum_copies, sum_units, take_units
from voirdire.stats.label_arrays import count_items
from voirdire.stats.outcome_sums import HUMAN_WINS, NO_OUTCOME
from voirdire.stats.plan import TestPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.comparison import Comparison

MOST_FLIPPED = 10
"""Most differing items of a near-constant judge that are tested by their signs too."""

_OF_LABELS = (
    "alignment",
    "label_sets",
    "values",
    "n_codes",
    "failed",
    "gold",
    "clusters",
    "copies",
)
_OF_PLAN = ("similarity", "weights", "quality", "expert", "min_items", "min_annotators")


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
        `label_sets`, `values`, `n_codes`, `failed`, `gold`, `clusters`, `copies`, and of the plan
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
    them. The t distribution has one degree of freedom less than there are units. Memory is
    O(n_judges * n_annotators * n_items) bytes.

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
    of_labels, of_plan = (*_OF_LABELS, "annotators"), (*_OF_PLAN, "confidence_level")
    check_names(settings, [*of_labels, *of_plan], of="compare_judges")
    about = {name: settings.pop(name) for name in of_labels if name in settings}
    plan = change_fields(plan or TestPlan(), settings)
    labels = compare_labels(judges, humans, plan=plan, **about)
    n_judges = labels.judges.shape[1]
    shown = [str(number) for number in range(n_judges)] if names is None else list(names)
    if isinstance(names, str) or not len(shown) == len(set(shown)) == n_judges:
        msg = f"`names` must name all {n_judges} judges, each once, got {len(set(shown))} names."
        raise InputError(msg)

    pairs = list(combinations(range(n_judges), 2))
    outcomes = list(labels.outcomes(labels.judges)) if pairs else []
    figures = [
        _test_two_sided(PairedGap.between(outcomes[a], outcomes[b], labels), labels, plan)
        for a, b in pairs
    ]
    # Holm's step-down procedure; undefined p-values stay nan and do not count
    p_values = np.array([row["p_value"] for row in figures])
    adjusted, known = p_values.copy(), np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    steps = p_values[order] * (len(order) - np.arange(len(order)))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
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


def _test_two_sided(gap: PairedGap, labels: Comparison, plan: TestPlan) -> dict[str, Any]:
    names = ("advantage_a", "advantage_b", "difference", "low", "high", "p_value")
    figures: dict[str, Any] = dict.fromkeys(names, np.nan) | {"n_items": gap.n_items}
    if np.isnan(gap.advantage):
        min_items = labels.settings.min_items
        return figures | {"reason": f"no annotator has {min_items} items to compare"}
    difference = gap.advantage - gap.other
    figures |= {"advantage_a": gap.advantage, "advantage_b": gap.other, "difference": difference}
    if gap.n_units < 2:
        return figures | {"reason": "a standard error needs two items, or two clusters"}
    if gap.error < _NO_ERROR:
        if abs(difference) < _NO_ERROR:
            return figures | {"reason": "the judges have the same outcome on every item"}
        # as in the test of one judge: without variance the sign of the difference is certain
        reason = "all items are alike: the interval is undefined"
        return figures | {"reason": reason, "p_value": 0.0}
    half = float(stdtrit(gap.n_units - 1, (1 + plan.confidence_level) / 2)) * gap.error
    return figures | {
        "low": max(difference - half, -1.0),
        "high": min(difference + half, 1.0),
        "p_value": float(2 * stdtr(gap.n_units - 1, -abs(difference) / gap.error)),
    }


_NO_ERROR = 1e-12
_ITEMS_AT_ONCE = 1 << 15


@dataclass(frozen=True, kw_only=True)
class PairedGap:
    """How much closer to the annotators one judge is than another, on items that both answered.

    `advantage` and `other` are ρ of the two, `error` the standard error of their difference;
    `n_differ` counts the items (or clusters) on which the two fare differently, and `differing` are
    their differences, where they are few. Figures are nan where no annotator can be tested.
    """

    advantage: float
    other: float
    error: float
    n_units: int
    n_items: int
    n_differ: int
    differing: NDArray[np.float64]

    @staticmethod
    def between(first: NDArray[np.int8], second: NDArray[np.int8], labels: Comparison) -> PairedGap:
        """Compare the outcomes of two judges, each of shape (n_annotators, n_items)."""
        n_annotators, n_items = first.shape
        weights = None
        if labels.codes is not None:
            weights = labels.weights(np.where(second >= 0, first, NO_OUTCOME))
        blocks = [slice(n, n + _ITEMS_AT_ONCE) for n in range(0, n_items, _ITEMS_AT_ONCE)]

        def weigh(part: slice) -> NDArray[Any]:
            both = (first[:, part] >= 0) & (second[:, part] >= 0)
            return both if weights is None else weights[:, part]

        copies = labels.copies
        n_compared, sums = np.zeros(n_annotators, np.int64), np.zeros((3, n_annotators))
        for part in blocks:
            mass: Any = weigh(part)
            n_compared += count_items(mass != 0, None if copies is None else copies[part])
            mass = mass if copies is None else mass * copies[part]
            wins = (np.ones_like(mass), *(x[:, part] < HUMAN_WINS for x in (first, second)))
            sums += [(mass * won).sum(axis=1) for won in wins]
        tested = n_compared >= labels.settings.min_items
        if labels.settings.excluded is not None:
            tested[labels.settings.excluded] = False
        total = np.where(tested, sums[0], 1.0)
        rates = sums[1:] / total
        share = tested / (total * max(int(tested.sum()), 1))
        offset = share * (rates[0] - rates[1])
        gains, rest = np.empty((2, n_items))
        met = np.empty(n_items, dtype=np.bool_)
        for part in blocks:
            mass, ahead = weigh(part), (first[:, part] < HUMAN_WINS).view(np.int8)
            gains[part] = share @ ((ahead - (second[:, part] < HUMAN_WINS)) * mass)
            rest[part] = gains[part] - offset @ mass
            met[part] = (mass[tested] > 0).any(axis=0)
        units = take_units(labels.clusters, met)
        if not met.all():
            gains, rest = gains[met], rest[met]
            copies = None if copies is None else copies[met]
        of_units, times = sum_copies(rest, units, copies)
        of_gains, _ = sum_copies(gains, units, copies)
        differs = np.abs(gains) > _NO_ERROR
        if units is not None:
            differs = sum_units(differs.astype(np.float64), units) > 0
        n_differ = int(count_items(differs, times))
        n_units = len(of_units) if times is None else int(times.sum())
        shown: Any = np.flatnonzero(differs) if n_differ <= MOST_FLIPPED else []
        correction = n_units / (n_units - 1) if n_units > 1 else np.nan
        weighed = of_units if times is None else times * of_units
        advantages = [float(x[tested].mean()) if tested.any() else np.nan for x in rates]
        return PairedGap(
            advantage=advantages[0],
            other=advantages[1],
            error=float(np.sqrt(correction * (weighed @ of_units))),
            n_units=n_units,
            n_items=int(labels.count(met)),
            n_differ=n_differ,
            differing=np.repeat(of_gains[shown], 1 if times is None else times[shown]),
        )

    @cached_property
    def p_value(self) -> float:
        """One-sided, for the first judge being closer; nan with fewer than two units.

        Where at most ten items (or clusters) differ, the larger one of the t-test's and of the
        exact sign flip's, the share of the sign patterns of these differences whose sum is as
        large: a few lucky items have no normal mean, and five won are needed at .05.
        """
        difference = self.advantage - self.other
        if self.n_units < 2:
            return np.nan
        if self.error < _NO_ERROR:
            p_value = 0.0 if difference > _NO_ERROR else 1.0
        else:
            p_value = float(stdtr(self.n_units - 1, -difference / self.error))
        if 0 < self.n_differ <= MOST_FLIPPED:
            p_value = max(p_value, float(flip_signs(self.differing)[-1]))
        return p_value


def flip_signs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the sign patterns of the first k values whose sum is as large as theirs.

    Of values of shape (..., n) the shares for k = 0 to n, shape (..., n + 1). A value of 0 changes
    no share.
    """
    sums = np.zeros((*values.shape[:-1], 1))
    shares = [np.ones(values.shape[:-1])]
    for k in range(values.shape[-1]):
        value = values[..., k, np.newaxis]
        sums = np.concatenate([sums + value, sums - value], axis=-1)
        theirs = sums[..., :1]  # all signs as they are
        shares.append((sums >= theirs - 1e-12).mean(axis=-1))
    return np.stack(shares, axis=-1)
