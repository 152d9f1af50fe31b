r"""Sums outcomes over the independent units of an examination, for every figure of the test.

The difference :math:`d = W^h - W^f` (or :math:`W^h - W^f/(1-\varepsilon)`) takes one value per
outcome, so the means, variances and cluster-robust errors of *every* ε and ε mode follow from the
weight of each outcome and from the second moments of those weights over independent units:

.. math:: w = \sum_g u_g, \qquad S = \sum_g u_g u_g^\top, \qquad u_g \in \mathbb{R}^3,

where :math:`u_g` is the weight that unit :math:`g` (an item, or a cluster of items) puts on each
outcome of an annotator. A resample that draws unit :math:`g` :math:`c_g` times has the sums
:math:`\sum_g c_g u_g` and :math:`\sum_g c_g u_g u_g^\top`. Units with the same outcomes are one row
with its number of copies: an examination of a million items has a few thousand of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.label_arrays import count_items

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

NO_OUTCOME = -1
"""Annotator and item were not compared: a label is missing."""
JUDGE_WINS = 0
"""W^f = 1, W^h = 0, d = -1."""
TIE = 1
"""W^f = W^h = 1, d = 0."""
HUMAN_WINS = 2
"""W^f = 0, W^h = 1, d = +1."""
_OUTCOMES = (JUDGE_WINS, TIE, HUMAN_WINS)

_MOST_ROWS = 4_096
"""With more rows, random rows are added up, which keeps the variances."""

_MANY_COLUMNS = 100
"""With more annotators a quarter as many, to bound memory."""

_PER_WORD = 32

_DECIMALS = 9
"""Rows that are equal to this many decimals are equal, since sums of weights are rounded."""


@dataclass(frozen=True, kw_only=True)
class OutcomeSums:
    """How often each outcome occurred.

    Attributes
    ----------
    counts : ndarray of int, shape (..., n_annotators, 3)
        Items per outcome: the judge wins, tie, the human wins.
    weights : ndarray of float, shape (..., n_annotators, 3)
        Total weight per outcome; equals `counts` without weights.
    squares : ndarray of float, shape (..., n_annotators, 3, 3)
        Second moments of the units' weights.
    n_units : ndarray of int, shape (..., n_annotators)
        Independent units: items, or clusters.
    """

    counts: NDArray[np.int64]
    weights: NDArray[np.float64]
    squares: NDArray[np.float64]
    n_units: NDArray[np.int64]

    @property
    def n_items(self) -> NDArray[np.int64]:
        """Items compared, shape (..., n_annotators)."""
        return self.counts.sum(axis=-1)

    def rows(self, chosen: Any) -> OutcomeSums:
        """Return the sums of some judges, the first axis kept."""
        return OutcomeSums(**{name: array[chosen] for name, array in vars(self).items()})

    @staticmethod
    def join(
        parts: Sequence[OutcomeSums], how: Callable[..., NDArray[Any]] = np.stack
    ) -> OutcomeSums:
        """Stack the sums of judges along a new first axis, or concatenate those of several each."""
        return OutcomeSums(**{name: how([vars(x)[name] for x in parts]) for name in vars(parts[0])})


def sum_outcomes(
    outcomes: NDArray[np.int8],
    *,
    weights: NDArray[np.float64] | None = None,
    clusters: NDArray[np.intp] | None = None,
    copies: NDArray[np.int64] | None = None,
) -> OutcomeSums:
    """Sum outcomes, whose last axis is items, each so many times; clusters are ascending."""
    counts = np.stack([count_items(outcomes == kind, copies) for kind in _OUTCOMES], axis=-1)
    total, n_units = counts.astype(np.float64), counts.sum(axis=-1)
    squares = total[..., np.newaxis] * np.eye(3)
    if weights is not None or clusters is not None:
        units, copies = _weigh_units(outcomes, weights, clusters, copies)
        times = units if copies is None else units * copies
        total, n_units = times.sum(axis=-1), count_items(units.any(axis=-2), copies)
        squares = times @ units.swapaxes(-1, -2)
    return OutcomeSums(counts=counts, weights=total, squares=squares, n_units=n_units)


def _weigh_units(
    outcomes: NDArray[np.int8],
    weights: NDArray[np.float64] | None,
    clusters: NDArray[np.intp] | None,
    copies: NDArray[np.int64] | None,
) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    """Find the weight of each unit on each outcome, shape (..., n_annotators, 3, n_units).

    With the number of copies of the units, which clusters have no longer.
    """
    mass: Any = 1.0 if weights is None else weights
    if copies is not None and clusters is not None:
        mass, copies = mass * copies, None
    each = np.stack([mass * (outcomes == kind) for kind in _OUTCOMES], axis=-2)
    return sum_clusters(each, clusters), copies


def sum_clusters(
    values: NDArray[np.float64], clusters: NDArray[np.intp] | None
) -> NDArray[np.float64]:
    """Sum the values of items, the last axis, over ascending clusters, where there are any."""
    if clusters is None or not len(clusters):
        return values
    starts = np.flatnonzero(np.diff(clusters, prepend=clusters[0] - 1))
    return np.add.reduceat(values, starts, axis=-1)


@dataclass(frozen=True, kw_only=True)
class OutcomeUnits:
    """Distinct units with their contribution to the sums and their number.

    Arrays over rows and annotators: the weight per outcome, the second moments of the units in the
    row, and the number of units with the annotator; `n_independent` counts the compared items or
    clusters, before any were added up.
    """

    weights: NDArray[np.float64]
    squares: NDArray[np.float64]
    n_units: NDArray[np.float64]
    copies: NDArray[np.int64]
    n_independent: int

    def drawn(self, times: NDArray[np.float64]) -> OutcomeSums:
        """Sum resamples that draw each row so many times, shape (n_resamples, n_rows).

        The `counts` of the sums, shape (n_resamples, n_annotators), hold the number of units.
        """
        weights = np.tensordot(times, self.weights, axes=1)
        if self._weigh_one:
            units, squares = weights.sum(axis=-1), weights[..., np.newaxis] * np.eye(3)
        else:
            units, squares = times @ self.n_units, np.tensordot(times, self.squares, axes=1)
        n_units = np.rint(units).astype(np.int64)
        counts = n_units[..., np.newaxis] * np.array([1, 0, 0])
        return OutcomeSums(counts=counts, weights=weights, squares=squares, n_units=n_units)

    @cached_property
    def _weigh_one(self) -> bool:
        """Whether every unit is one outcome of weight 1, whose square is itself."""
        apart = np.array_equal(self.squares, self.weights[..., np.newaxis] * np.eye(3))
        return apart and np.array_equal(self.n_units, self.weights.sum(axis=-1))


def find_units(
    outcomes: NDArray[np.int8],
    *,
    weights: NDArray[np.float64] | None,
    clusters: NDArray[np.intp] | None,
    copies: NDArray[np.int64] | None = None,
    seed: int,
) -> OutcomeUnits:
    """Find the distinct units of outcomes of shape (n_columns, n_items); clusters are ascending.

    Items or clusters without a comparison are left out. Where there are too many rows, units are
    added up in random groups of equal size.
    """
    n_columns = len(outcomes)
    most = _MOST_ROWS if n_columns <= _MANY_COLUMNS else _MOST_ROWS // 4
    if weights is None and clusters is None:
        words = _pack_outcomes(outcomes)
        _, first, places, times = np.unique(
            words, return_index=True, return_inverse=True, return_counts=True
        )
        if copies is not None:
            times = np.bincount(places, copies).astype(np.int64)
        kinds = outcomes[:, first].T[..., np.newaxis]
        rows = kinds == np.array(_OUTCOMES, dtype=np.int8)
        met = rows.any(axis=(1, 2))
        rows, times = rows[met], times[met]
    else:
        units, copies = _weigh_units(outcomes, weights, clusters, copies)
        rows = units.transpose(2, 0, 1)
        met = rows.any(axis=(1, 2))
        rows, times = rows[met], (np.ones(len(rows), np.int64) if copies is None else copies)[met]
        flat = rows.reshape(len(rows), 3 * n_columns)
        # sorted, so that the order and names of clusters decide nothing
        if len(rows) <= most:
            _, order, places = np.unique(
                flat.round(_DECIMALS), axis=0, return_index=True, return_inverse=True
            )
            times = np.bincount(places.ravel(), times).astype(np.int64)
        else:
            key = flat @ np.random.default_rng(seed).random(flat.shape[1])
            order = np.argsort(key.round(_DECIMALS), kind="stable")
            times = times[order]
        rows = rows[order]
    if len(rows) > most:
        return _group_units(rows, times, most, seed)
    each = rows.astype(np.float64, order="C")
    return OutcomeUnits(
        weights=each,
        squares=each[..., :, np.newaxis] * each[..., np.newaxis, :],
        n_units=np.asarray(rows.any(axis=-1), dtype=np.float64),
        copies=times,
        n_independent=int(times.sum()),
    )


def _group_units(
    rows: NDArray[Any], copies: NDArray[np.int64], n_groups: int, seed: int
) -> OutcomeUnits:
    """Add up units in random groups of equal size, which keeps their variance."""
    from scipy.sparse import csr_array

    n_units, n_columns = int(copies.sum()), rows.shape[1]
    group = np.random.default_rng(seed).permutation(n_units) % n_groups
    row = np.repeat(np.arange(len(rows)), copies)
    times: Any = csr_array((np.ones(n_units), (group, row)), shape=(n_groups, len(rows)))
    weights = np.empty((n_groups, n_columns, 3))
    squares, n_met = np.empty((*weights.shape, 3)), np.empty(weights.shape[:2])
    for column in range(n_columns):  # one by one, to bound memory
        here = rows[:, column].astype(np.float64)
        products = here[:, :, np.newaxis] * here[:, np.newaxis]
        weights[:, column] = times @ here
        squares[:, column] = (times @ products.reshape(-1, 9)).reshape(-1, 3, 3)
        n_met[:, column] = times @ here.any(axis=1)
    return OutcomeUnits(
        weights=weights,
        squares=squares,
        n_units=n_met,
        copies=np.ones(n_groups, dtype=np.int64),
        n_independent=n_units,
    )


def _pack_outcomes(outcomes: NDArray[np.int8]) -> NDArray[Any]:
    """Write the outcomes of each item as one number, or as one string of bytes if they are many."""
    n_columns, n_items = outcomes.shape
    if n_columns <= _PER_WORD:
        words = np.zeros(n_items, dtype=np.uint64)
        for column, row in enumerate(outcomes):
            words |= (row + 1).astype(np.uint64) << np.uint64(2 * column)
        return words
    rows = np.ascontiguousarray(outcomes.T + 1).astype(np.uint8)
    return rows.view(np.dtype((np.void, n_columns)))[:, 0]
