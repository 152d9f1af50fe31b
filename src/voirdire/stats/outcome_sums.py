r"""Sums over the independent units of an examination: what every figure of the test follows from.

The difference :math:`d = W^h - W^f` (or :math:`W^h - W^f/(1-\varepsilon)`) takes one value per
outcome, so the means, variances and cluster-robust errors of *every* ε and ε mode follow from the
weight of each outcome and from the second moments of those weights over independent units:

.. math:: w = \sum_g u_g, \qquad S = \sum_g u_g u_g^\top, \qquad u_g \in \mathbb{R}^3,

where :math:`u_g` is the weight that unit :math:`g` (an item, or a cluster of items) puts on each
outcome of an annotator. Partitions that keep every cluster whole can be added, and a resample that
draws unit :math:`g` :math:`c_g` times has the sums :math:`\sum_g c_g u_g` and
:math:`\sum_g c_g u_g u_g^\top`. Units with the same outcomes are one row with its number of
copies: an examination of a million items has a few thousand of them.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = [
    "HUMAN_WINS",
    "JUDGE_WINS",
    "NO_OUTCOME",
    "TIE",
    "OutcomeSums",
    "OutcomeUnits",
    "UnitCollector",
    "sum_outcomes",
]

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
"""Above it rows are added up at random, which leaves variances what they are."""

_MANY_COLUMNS = 100
"""With more annotators a quarter as many, to bound memory."""

_PER_WORD = 32

_DECIMALS = 9
"""Rows that are the same to so many decimals are the same: sums of weights are rounded."""


@dataclass(frozen=True, kw_only=True)
class OutcomeSums:
    """How often each outcome occurred; `a + b` are the sums of both partitions together.

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

    def __add__(self, other: OutcomeSums) -> OutcomeSums:
        if not isinstance(other, OutcomeSums):
            return NotImplemented
        return OutcomeSums(
            counts=self.counts + other.counts,
            weights=self.weights + other.weights,
            squares=self.squares + other.squares,
            n_units=self.n_units + other.n_units,
        )

    @property
    def n_items(self) -> NDArray[np.int64]:
        """Items compared, shape (..., n_annotators)."""
        return self.counts.sum(axis=-1)

    def columns(self, kept: slice) -> OutcomeSums:
        """Return the sums of some annotators only."""
        return OutcomeSums(
            counts=self.counts[..., kept, :],
            weights=self.weights[..., kept, :],
            squares=self.squares[..., kept, :, :],
            n_units=self.n_units[..., kept],
        )

    def rows(self, chosen: Any) -> OutcomeSums:
        """Return the sums of some judges, the first axis kept."""
        return OutcomeSums(
            counts=self.counts[chosen],
            weights=self.weights[chosen],
            squares=self.squares[chosen],
            n_units=self.n_units[chosen],
        )

    @staticmethod
    def add(parts: Iterable[OutcomeSums]) -> OutcomeSums:
        """Add the sums of partitions of the items; there is at least one."""
        return reduce(operator.add, parts)

    @staticmethod
    def join(parts: Iterable[OutcomeSums]) -> OutcomeSums:
        """Put the sums of judges behind those of others, along the first axis."""
        listed = list(parts)
        return OutcomeSums(
            counts=np.concatenate([part.counts for part in listed]),
            weights=np.concatenate([part.weights for part in listed]),
            squares=np.concatenate([part.squares for part in listed]),
            n_units=np.concatenate([part.n_units for part in listed]),
        )

    @staticmethod
    def stack(parts: Iterable[OutcomeSums]) -> OutcomeSums:
        """Put the sums of several judges along a new first axis."""
        listed = list(parts)
        return OutcomeSums(
            counts=np.stack([part.counts for part in listed]),
            weights=np.stack([part.weights for part in listed]),
            squares=np.stack([part.squares for part in listed]),
            n_units=np.stack([part.n_units for part in listed]),
        )


def sum_outcomes(
    outcomes: NDArray[np.int8],
    *,
    weights: NDArray[np.float64] | None = None,
    clusters: NDArray[np.intp] | None = None,
) -> OutcomeSums:
    """Sum the outcomes of a block of items.

    Parameters
    ----------
    outcomes : ndarray of int8, shape (n_annotators, n_items)
        As `HumanBlock.outcomes` gives them.
    weights : ndarray of float, shape (n_annotators, n_items), optional
        The weight of each comparison.
    clusters : ndarray of int, shape (n_items,), optional
        The independent unit of each item, ascending.

    Returns
    -------
    OutcomeSums
    """
    counts = np.stack([np.count_nonzero(outcomes == kind, axis=1) for kind in _OUTCOMES], axis=-1)
    if clusters is not None:
        return _sum_by_cluster(outcomes, counts, weights=weights, clusters=clusters)
    if weights is None:
        total, squared = counts.astype(np.float64), counts.astype(np.float64)
    else:
        total = np.stack([(weights * (outcomes == kind)).sum(axis=1) for kind in _OUTCOMES], -1)
        square = weights * weights
        squared = np.stack([(square * (outcomes == kind)).sum(axis=1) for kind in _OUTCOMES], -1)
    return OutcomeSums(
        counts=counts,
        weights=total,
        squares=squared[..., np.newaxis] * np.eye(3),
        n_units=counts.sum(axis=-1),
    )


def _sum_by_cluster(
    outcomes: NDArray[np.int8],
    counts: NDArray[np.int64],
    *,
    weights: NDArray[np.float64] | None,
    clusters: NDArray[np.intp],
) -> OutcomeSums:
    if not clusters.size:
        zeros = np.zeros((len(counts), 3, 3))
        n_units = np.zeros(len(counts), dtype=np.int64)
        return OutcomeSums(counts=counts, weights=zeros[..., 0], squares=zeros, n_units=n_units)
    starts = np.flatnonzero(np.concatenate([[True], clusters[1:] != clusters[:-1]]))
    mass = np.ones(outcomes.shape) if weights is None else weights
    units = np.stack(
        [np.add.reduceat(mass * (outcomes == kind), starts, axis=1) for kind in _OUTCOMES], axis=-1
    )
    compared = np.add.reduceat((outcomes >= 0).astype(np.int64), starts, axis=1) > 0
    return OutcomeSums(
        counts=counts,
        weights=units.sum(axis=1),
        squares=np.einsum("jgr,jgs->jrs", units, units),
        n_units=np.count_nonzero(compared, axis=1),
    )


@dataclass(frozen=True, kw_only=True)
class OutcomeUnits:
    """Distinct units, what each adds to the sums, and how often it occurs.

    Attributes
    ----------
    weights : ndarray of float, shape (n_rows, n_annotators, 3)
        Weight per outcome: the judge wins, tie, the human wins.
    squares : ndarray of float, shape (n_rows, n_annotators, 3, 3)
        Second moments of the units in the row.
    n_units : ndarray of float, shape (n_rows, n_annotators)
        Units in the row in which the annotator takes part.
    copies : ndarray of int, shape (n_rows,)
        How often the row occurs.
    n_independent : int
        Items or clusters that somebody meets, before any were added up.
    """

    weights: NDArray[np.float64]
    squares: NDArray[np.float64]
    n_units: NDArray[np.float64]
    copies: NDArray[np.int64]
    n_independent: int

    def columns(self, kept: NDArray[np.bool_]) -> OutcomeUnits:
        """Return the units of some annotators only; units that none of them meets are left out."""
        met = self.n_units[:, kept].any(axis=1)
        share = self.copies[met].sum() / max(int(self.copies.sum()), 1)
        return OutcomeUnits(
            weights=self.weights[:, kept][met],
            squares=self.squares[:, kept][met],
            n_units=self.n_units[:, kept][met],
            copies=self.copies[met],
            n_independent=round(self.n_independent * share),  # exact unless units were added up
        )

    def drawn(self, times: NDArray[np.float64]) -> OutcomeSums:
        """Sum resamples.

        Parameters
        ----------
        times : ndarray of float, shape (n_resamples, n_rows)
            How often each row is drawn.

        Returns
        -------
        OutcomeSums
            Of shape (n_resamples, n_annotators); its `counts` hold the number of units.
        """
        shape = (len(times), self.weights.shape[1])
        weights = (times @ _flat(self.weights)).reshape(*shape, 3)
        if self._weigh_one:
            units, squares = weights.sum(axis=-1), weights[..., np.newaxis] * np.eye(3)
        else:
            units = times @ self.n_units
            squares = (times @ _flat(self.squares)).reshape(*shape, 3, 3)
        n_units = np.rint(units).astype(np.int64)
        counts = np.zeros((*shape, 3), dtype=np.int64)
        counts[..., 0] = n_units
        return OutcomeSums(counts=counts, weights=weights, squares=squares, n_units=n_units)

    @cached_property
    def _weigh_one(self) -> bool:
        """Whether every unit is one outcome that weighs 1: its square is then itself."""
        apart = np.array_equal(self.squares, self.weights[..., np.newaxis] * np.eye(3))
        return apart and np.array_equal(self.n_units, self.weights.sum(axis=-1))


class UnitCollector:
    """Gathers the units of one judge, a block of items at a time.

    Parameters
    ----------
    seed : int
        Of the random sums where there are too many distinct units.
    lost : bool
        Whether the judge failed anywhere: then every block comes twice side by side, with the
        failures left out and with them lost.
    """

    def __init__(self, *, seed: int = 0, lost: bool = False) -> None:
        self.lost = lost
        self._seed = seed
        self._n_columns = 0
        self._words: list[NDArray[Any]] = []
        self._copies: list[NDArray[np.int64]] = []
        self._rows: list[NDArray[np.float64]] = []

    def add(
        self,
        outcomes: NDArray[np.int8],
        *,
        weights: NDArray[np.float64] | None,
        clusters: NDArray[np.intp] | None,
    ) -> None:
        """Take a block, shape (n_columns, n_items); its clusters are whole and ascending."""
        self._n_columns = len(outcomes)
        if weights is None and clusters is None:
            words, copies = _distinct(_packed(outcomes))
            self._words.append(words)
            self._copies.append(copies)
            return
        mass = np.ones(outcomes.shape) if weights is None else weights
        rows = np.stack([mass * (outcomes == kind) for kind in range(3)], axis=-1)
        if clusters is not None and clusters.size:
            starts = np.flatnonzero(np.concatenate([[True], clusters[1:] != clusters[:-1]]))
            rows = np.add.reduceat(rows, starts, axis=1)
        self._rows.append(np.swapaxes(rows, 0, 1))

    def units(self) -> OutcomeUnits:
        """Return what was gathered, without the items or clusters that nobody meets."""
        if not self._words:
            rows = np.concatenate(self._rows or [np.zeros((0, self._n_columns, 3))])
            rows = rows[rows.any(axis=(1, 2))]
            if len(rows) > self._most_rows:
                return self._grouped(rows)
            # sorted, so that the order and names of clusters decide nothing
            flat = _flat(rows).round(_DECIMALS)
            _, first, copies = np.unique(flat, axis=0, return_index=True, return_counts=True)
            return _units(rows[first], copies)
        words, copies = _distinct(np.concatenate(self._words), np.concatenate(self._copies))
        outcomes = _unpacked(words, self._n_columns)
        met = (outcomes >= 0).any(axis=1)
        outcomes, copies = outcomes[met], copies[met]
        if len(outcomes) > self._most_rows:
            return self._grouped_items(outcomes, copies)
        return _units((outcomes[..., np.newaxis] == np.arange(3)).astype(np.float64), copies)

    @property
    def _most_rows(self) -> int:
        return _MOST_ROWS if self._n_columns <= _MANY_COLUMNS else _MOST_ROWS // 4

    def _deal(self, n_units: int) -> NDArray[np.int64]:
        """Deal units into equal groups at random: sums of groups vary as their units do."""
        return np.random.default_rng(self._seed).permutation(n_units) % self._most_rows

    def _grouped(self, rows: NDArray[np.float64]) -> OutcomeUnits:
        # dealt in the order of a random projection: the order of items and clusters decides nothing
        flat = _flat(rows)
        key = flat @ np.random.default_rng(self._seed).random(flat.shape[1])
        group = np.empty(len(rows), dtype=np.int64)
        group[np.argsort(key.round(_DECIMALS), kind="stable")] = self._deal(len(rows))
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(self._most_rows))
        single = _units(rows[order])
        return OutcomeUnits(
            weights=np.add.reduceat(single.weights, starts, axis=0),
            squares=np.add.reduceat(single.squares, starts, axis=0),
            n_units=np.add.reduceat(single.n_units, starts, axis=0),
            copies=np.ones(self._most_rows, dtype=np.int64),
            n_independent=len(rows),
        )

    def _grouped_items(self, outcomes: NDArray[np.int8], copies: NDArray[np.int64]) -> OutcomeUnits:
        """Group items that weigh 1 by counting, without a row of floats for each."""
        rows = np.repeat(np.arange(len(copies)), copies)
        group = self._deal(len(rows))
        shape = (self._most_rows, self._n_columns, 3)
        weights = np.zeros(shape)
        for column in range(self._n_columns):
            kind = outcomes[rows, column]
            here = kind >= 0
            cell = group[here] * 3 + kind[here]
            weights[:, column] = np.bincount(cell, minlength=shape[0] * 3).reshape(shape[0], 3)
        return OutcomeUnits(
            weights=weights,
            squares=weights[..., np.newaxis] * np.eye(3),
            n_units=weights.sum(axis=-1),
            copies=np.ones(self._most_rows, dtype=np.int64),
            n_independent=len(rows),
        )


def _flat(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows.reshape(len(rows), int(np.prod(rows.shape[1:])))  # -1 fails without rows


def _units(rows: NDArray[np.float64], copies: NDArray[np.int64] | None = None) -> OutcomeUnits:
    copies = np.ones(len(rows), dtype=np.int64) if copies is None else copies
    return OutcomeUnits(
        weights=rows,
        squares=rows[..., :, np.newaxis] * rows[..., np.newaxis, :],
        n_units=(rows.sum(axis=-1) > 0).astype(np.float64),
        copies=copies,
        n_independent=int(copies.sum()),
    )


def _packed(outcomes: NDArray[np.int8]) -> NDArray[Any]:
    """Write the outcomes of each item as one number, or as one string of bytes if they are many."""
    n_columns, n_items = outcomes.shape
    if n_columns <= _PER_WORD:
        words = np.zeros(n_items, dtype=np.uint64)
        for column, row in enumerate(outcomes):
            words |= (row + 1).astype(np.uint64) << np.uint64(2 * column)
        return words
    rows = np.ascontiguousarray(outcomes.T + 1).astype(np.uint8)
    return rows.view(np.dtype((np.void, n_columns)))[:, 0]


def _unpacked(words: NDArray[Any], n_columns: int) -> NDArray[np.int8]:
    if words.dtype.kind == "V":
        return words.view(np.uint8).reshape(len(words), n_columns).astype(np.int8) - 1
    shifts = np.arange(n_columns, dtype=np.uint64) * np.uint64(2)
    return ((words[:, np.newaxis] >> shifts) & np.uint64(3)).astype(np.int8) - 1


def _distinct(
    words: NDArray[Any], copies: NDArray[np.int64] | None = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return distinct words and how often each occurs."""
    if copies is None:
        return np.unique(words, return_counts=True)
    distinct, where = np.unique(words, return_inverse=True)
    return distinct, np.bincount(where, weights=copies, minlength=len(distinct)).astype(np.int64)
