r"""Compares how a controlled change of items and asking twice move a judge's answers.

Under the null hypothesis the two versions of an item are answered alike, so that before and after
may be swapped within each item, or within each cluster of items. The test draws such swaps: a swap
turns the sign of a unit's differences, for all questions at once, so that no assumption about their
dependence is made. With the sum :math:`S_{uq}` of the differences of unit u and question q, one
question is tested by :math:`|\sum_u S_{uq}|` and all of them together by

.. math:: T = \sum_q \frac{(\sum_u S_{uq})^2}{\sum_u S_{uq}^2},

whose denominators no swap changes. A p-value is (1 + the swaps at least as extreme) / (1 + the
swaps), which is valid for any number of them [1]_.

A change may also move answers up for some items and down for others. Then labels flip more often
than between two askings of the same item: the items that flip only under the change are compared
with those that flip only between the askings [2]_.

References
----------
.. [1] B. Phipson and G. K. Smyth, "Permutation P-values Should Never Be Zero", Statistical
   Applications in Genetics and Molecular Biology 9(1), 2010. :doi:`10.2202/1544-6115.1585`
.. [2] Q. McNemar, "Note on the Sampling Error of the Difference Between Correlated Proportions or
   Percentages", Psychometrika 12(2), 1947. :doi:`10.1007/BF02295996`
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import bdtrc

from voirdire._validation import check_count, check_fraction
from voirdire.errors import InputError
from voirdire.stats.intervals import (
    UNDEFINED,
    Estimate,
    check_units,
    clopper_pearson,
    estimate_mean,
    estimate_share,
    sum_units,
    take_units,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_SWAPS_AT_ONCE = 1 << 22


@dataclass(frozen=True, kw_only=True)
class PairedChange:
    """What a change did to the answers to one question.

    Attributes
    ----------
    n_items : int
        Items with an answer to both versions.
    shift : Estimate
        Mean of after minus before, with its interval; nan where answers have no order.
    p_value : float
        Of no shift, two-sided, in (0, 1]; nan without two units.
    flip_rate : Estimate
        Share of items whose labels differ.
    noise_rate : Estimate
        The same between two askings of one version; nan where nothing was asked twice.
    excess_p_value : float
        One-sided, of flips under the change being no likelier than between two askings; nan where
        nothing was asked twice.
    """

    n_items: int
    shift: Estimate
    p_value: float
    flip_rate: Estimate
    noise_rate: Estimate
    excess_p_value: float


@dataclass(frozen=True, kw_only=True)
class ChangeResult:
    """What a change did to the answers to several questions.

    Attributes
    ----------
    questions : tuple of PairedChange
        One entry per question.
    n_items : int
        Items with an answer to both versions of at least one question.
    p_value : float
        Of no shift of any question, in (0, 1]; nan without two units.
    excess_p_value : float
        One-sided, of flips of all questions being no likelier than between two askings.
    """

    questions: tuple[PairedChange, ...] = field(repr=False)
    n_items: int
    p_value: float
    excess_p_value: float


def measure_change(
    before: ArrayLike,
    after: ArrayLike,
    *,
    labels: tuple[ArrayLike, ArrayLike] | None = None,
    noise: tuple[ArrayLike, ArrayLike] | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_swaps: int = 9_999,
    rng: np.random.Generator | int | None = None,
) -> ChangeResult:
    r"""Measure how a controlled change of items moves a judge's answers.

    Parameters
    ----------
    before, after : array_like of float, shape (n_items, n_questions)
        Answers to the items without and with the change, such as probabilities in [0, 1]; nan where
        the judge failed, and where answers have no order.
    labels : pair of array_like of int, shape (n_items, n_questions), optional
        Labels before and after, as codes of at least 0; -1 where the judge failed. By default 1
        where a value is at least one half and 0 below it.
    noise : pair of array_like of int, shape (n_items, n_questions), optional
        Labels of two askings of the same version of each item.
    clusters : array_like, shape (n_items,), optional
        Which independent unit each item belongs to. Omit it only when items were drawn
        independently.
    confidence_level : float, optional
        Nominal coverage of the intervals, a fraction in (0, 1).
    n_swaps : int, optional
        Random swaps for the p-values, at least 99. Memory is O(n_units * n_questions).
    rng : numpy.random.Generator or int, optional
        Passed to `numpy.random.default_rng`. Pass an int to reproduce a run.

    Returns
    -------
    ChangeResult
        Shifts, flips, intervals and p-values per question, and p-values of all together.

    Raises
    ------
    InputError
        If shapes do not fit, or an argument breaks its rule.

    Examples
    --------
    A judge that a citation moves by .1, at 30 items, one question:

    >>> import numpy as np
    >>> before = np.linspace(0.2, 0.7, 30)[:, None]
    >>> found = measure_change(before, before + 0.1, rng=0)
    >>> round(found.questions[0].shift.estimate, 3), found.p_value < 0.001
    (0.1, True)
    >>> found.questions[0].flip_rate.estimate
    0.2
    """
    check_fraction("confidence_level", confidence_level)
    check_count("n_swaps", n_swaps, minimum=99)
    first, second = (np.asarray(values, dtype=np.float64) for values in (before, after))
    for name, table in (("before", first), ("after", second)):
        if table.ndim != 2:
            msg = f"`{name}` must have the shape (n_items, n_questions), got {table.shape}."
            raise InputError(msg)
    if first.shape != second.shape:
        msg = f"`before` and `after` must have the same shape, got {first.shape}, {second.shape}."
        raise InputError(msg)
    units = check_units(clusters, len(first))
    if labels is None:
        cut = [np.where(np.isnan(values), -1, values >= 0.5) for values in (first, second)]
        labels = cut[0], cut[1]
    flips = _find_flips(labels, shape=first.shape, name="labels")
    twice = np.full(first.shape, -1, dtype=np.int8)
    if noise is not None:
        twice = _find_flips(noise, shape=first.shape, name="noise")
    # flips under the change less those between two askings, over all questions of an item
    both = (flips >= 0) & (twice >= 0)
    excess = np.where(both, flips.astype(np.float64) - twice, 0.0).sum(axis=1, keepdims=True)
    difference = np.where(np.isnan(second - first), 0.0, second - first)
    moved, surplus = (
        np.stack([sum_units(column, units) for column in table.T], axis=1)
        for table in (difference, excess)
    )
    by_question, together, extra = _swap_p_values(moved, surplus, n_swaps, rng)
    questions = []
    for k, p_value in enumerate(by_question.tolist()):
        moves, flipped, noisy = second[:, k] - first[:, k], flips[:, k], twice[:, k]
        valued, shift = ~np.isnan(moves), UNDEFINED
        if valued.any():
            kept = take_units(units, valued)
            shift = estimate_mean(moves[valued], kept, confidence_level=confidence_level)
            if np.abs(moves[valued]).max() <= 1:  # probabilities move by one at most
                shift = replace(shift, low=max(shift.low, -1.0), high=min(shift.high, 1.0))
        only_change = int(((flipped == 1) & (noisy == 0)).sum())
        only_noise = int(((flipped == 0) & (noisy == 1)).sum())
        exceeds = float(bdtrc(only_change - 1, only_change + only_noise, 0.5))
        change = PairedChange(
            n_items=int((flipped >= 0).sum()),
            shift=shift,
            p_value=p_value if valued.any() else float("nan"),
            flip_rate=_share(flipped, units, confidence_level),
            noise_rate=_share(noisy, units, confidence_level),
            excess_p_value=exceeds if both[:, k].any() else float("nan"),
        )
        questions.append(change)
    return ChangeResult(
        questions=tuple(questions),
        n_items=int((flips >= 0).any(axis=1).sum()),
        p_value=together,
        excess_p_value=float("nan") if noise is None else extra,
    )


def _find_flips(
    labels: tuple[ArrayLike, ArrayLike], *, shape: tuple[int, ...], name: str
) -> NDArray[np.int8]:
    """1 where labels differ, 0 where they are the same, -1 where one is missing."""
    first, second = (np.asarray(table, dtype=np.int64) for table in labels)
    if first.shape != shape or second.shape != shape:
        msg = f"`{name}` must be two tables of shape {shape}, got {first.shape}, {second.shape}."
        raise InputError(msg)
    return np.where((first < 0) | (second < 0), -1, first != second).astype(np.int8)


def _swap_p_values(
    sums: NDArray[np.float64],
    excess: NDArray[np.float64],
    n_swaps: int,
    rng: np.random.Generator | int | None,
) -> tuple[NDArray[np.float64], float, float]:
    """Draw swaps of units; p-values by question, of all questions, and of the excess of flips."""
    n_units, n_questions = sums.shape
    if n_units < 2:
        return np.full(n_questions, np.nan), float("nan"), float("nan")
    squares = (sums * sums).sum(axis=0)
    weight = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0)
    observed = np.abs(sums.sum(axis=0))
    total, surplus = float(weight @ observed**2), float(excess.sum())
    n_above = np.ones(n_questions + 2)
    draws = np.random.default_rng(rng)
    at_once = max(1, _SWAPS_AT_ONCE // n_units)
    just_below = 1 - 1e-12  # a swap of everything gives the same figure, but for rounding
    for start in range(0, n_swaps, at_once):
        signs = draws.integers(0, 2, (min(at_once, n_swaps - start), n_units), dtype=np.int8)
        turned = signs.astype(np.float64) * 2 - 1
        found = np.abs(turned @ sums)
        n_above[:-2] += (found >= observed * just_below).sum(axis=0)
        n_above[-2] += (found**2 @ weight >= total * just_below).sum()
        n_above[-1] += (turned @ excess[:, 0] >= surplus - 1e-9).sum()
    p_values = n_above / (n_swaps + 1)
    return p_values[:-2], float(p_values[-2]), float(p_values[-1])


def _share(flips: NDArray[np.int8], units: NDArray[np.intp] | None, level: float) -> Estimate:
    known = flips >= 0
    if not known.any():
        return UNDEFINED
    values: NDArray[Any] = flips[known].astype(np.float64)
    if units is not None:
        return estimate_share(values, take_units(units, known), confidence_level=level)
    low, high = clopper_pearson(values.sum(), len(values), level)
    return Estimate(estimate=float(values.mean()), low=low, high=high)
