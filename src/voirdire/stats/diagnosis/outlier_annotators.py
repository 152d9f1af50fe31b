r"""Annotators who agree with the others less than the others agree among themselves.

With :math:`s(a, b) \in [0, 1]` the agreement of two labels, and :math:`H_{ij}` the labels of item i
other than annotator j's, each item with at least three labels gives a pair of means,

.. math:: a_{ij} = \operatorname{mean}_{k \in H_{ij}} s(h_j, h_k), \qquad
          o_{ij} = \operatorname{mean}_{k < l \in H_{ij}} s(h_k, h_l),

whose difference :math:`a_{ij} - o_{ij}` has mean 0 where annotators are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr

from voirdire._validation import check_choice, check_count, check_fraction
from voirdire.errors import InputError
from voirdire.stats.agreement.coefficient import check_units
from voirdire.stats.diagnosis.panel_items import (
    DiagnosisLevel,
    count_same,
    is_present,
    panel_blocks,
)
from voirdire.stats.fdr import benjamini_yekutieli
from voirdire.stats.label_arrays import check_humans
from voirdire.stats.label_sets import LabelSets, intersection_and_union

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.diagnosis.panel_items import PanelBlock

__all__ = ["OutlierAnnotators", "outlier_annotators"]

_ROUNDING = 1e-13
"""Squared differences below it, relative to their number, are rounding."""


@dataclass(frozen=True, kw_only=True)
class OutlierAnnotators:
    """Each annotator beside the others; every array has the shape (n_annotators,).

    Attributes
    ----------
    n_items : ndarray of int
        Items of the annotator with at least three labels.
    agreement : ndarray of float
        Mean agreement of the annotator with the others, in [0, 1]; nan without such items.
    agreement_of_others : ndarray of float
        Mean agreement among the others on the same items, in [0, 1].
    difference : ndarray of float
        `agreement` - `agreement_of_others`; negative where the annotator stands apart.
    p_value : ndarray of float
        Of the null hypothesis that the mean difference is not below 0; nan where not tested.
    outlier : ndarray of bool
        Whether that falls, and `difference` is at most minus the least effect.
    reasons : tuple of str or None
        Why an annotator was not tested.
    """

    n_items: NDArray[np.int64]
    agreement: NDArray[np.float64]
    agreement_of_others: NDArray[np.float64]
    difference: NDArray[np.float64]
    p_value: NDArray[np.float64]
    outlier: NDArray[np.bool_]
    reasons: tuple[str | None, ...]


def outlier_annotators(
    labels: ArrayLike,
    *,
    level: DiagnosisLevel = "nominal",
    label_sets: ArrayLike | LabelSets | None = None,
    clusters: ArrayLike | None = None,
    min_items: int = 10,
    least_effect: float = 0.1,
    false_discovery_rate: float = 0.05,
) -> OutlierAnnotators:
    """Find annotators who agree with the others less than the others agree among themselves.

    Parameters
    ----------
    labels : array_like, shape (n_items, n_annotators)
        Integer codes with -1 for missing; for ``"interval"`` numbers with nan for missing.
    level : {"nominal", "interval", "sets"}, optional
        The agreement of two labels: 1 if equal, else 0; 1 - (a - b)²/range², the range being that
        of all labels; the Jaccard index.
    label_sets : array_like of bool, shape (n_sets, n_labels), or LabelSets, optional
        For ``"sets"``: which labels the set of each code holds.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    min_items : int, optional
        Fewest items with three labels for an annotator to be tested; at least 2.
    least_effect : float, optional
        Smallest shortfall of agreement that counts, a fraction in (0, 1).
    false_discovery_rate : float, optional
        q of Benjamini-Yekutieli over annotators, in (0, 1).

    Returns
    -------
    OutlierAnnotators
        Figures are nan, with a reason, for an annotator with no item that three annotators
        labelled: of two labels that differ nobody can say whose is odd.

    Raises
    ------
    InputError
        If shapes, codes or settings break a rule above.

    Notes
    -----
    The t-test of the paired differences is one-sided; its errors come from clusters where there
    are any. It compares people with each other: where most are careless, the careful one is odd.
    Time is O(labels) per item, for ``"sets"`` the square of that; memory is bounded. Reference
    values in the tests come from plain loops over pairs and from `scipy.stats.ttest_rel`.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.arange(60) % 3
    >>> labels = np.stack([truth, truth, truth, (truth + 1) % 3], axis=1)
    >>> labels[::7, 0] = 0
    >>> outlier_annotators(labels).outlier.tolist()
    [False, False, False, True]
    """
    check_choice("level", level, DiagnosisLevel)
    rate = check_fraction("false_discovery_rate", false_discovery_rate)
    effect = check_fraction("least_effect", least_effect)
    min_items = check_count("min_items", min_items, minimum=2)
    matrix = check_humans(labels, numeric=level == "interval")
    units = check_units(clusters, len(matrix))
    sums = _Sums.of(matrix, _Agreement(matrix, level, label_sets), units)
    return _tested(sums, min_items=min_items, effect=effect, rate=rate)


class _Agreement:
    """Sums, for each label of a block, its agreement with the other labels of its item."""

    def __init__(
        self,
        labels: NDArray[np.generic],
        level: DiagnosisLevel,
        label_sets: ArrayLike | LabelSets | None,
    ) -> None:
        self._level = level
        if level == "sets":
            if label_sets is None:
                msg = "`label_sets` must be given for 'sets', got None."
                raise InputError(msg)
            sets = label_sets
            if not isinstance(sets, LabelSets):
                sets = LabelSets.from_membership(sets)
            if int(labels.max(initial=-1)) >= len(sets):
                msg = f"`label_sets` must hold a set for every code, got {len(sets)}."
                raise InputError(msg)
            self._words = sets.words
        elif level == "interval":
            known = [column[is_present(column)] for column in labels.T]
            ends = [(column.min(), column.max()) for column in known if column.size]
            self._low = min((float(low) for low, _ in ends), default=0.0)
            self._half_range = max((high / 2 for _, high in ends), default=0.0) - self._low / 2

    def sums(self, block: PanelBlock) -> NDArray[np.float64]:
        """Sum over the other labels of the item; 0 where missing."""
        if self._level == "nominal":
            return (count_same(block) - block.present).astype(np.float64)
        return self._of_numbers(block) if self._level == "interval" else self._of_sets(block)

    def _of_numbers(self, block: PanelBlock) -> NDArray[np.float64]:
        filled = np.where(block.present, block.labels, self._low)
        # Halves, since the range of the largest numbers is beyond every float.
        scaled = (filled / 2 - self._low / 2) / (self._half_range or 1.0)
        # Around the item's first label: where all are equal, every difference is 0 to the digit.
        first = np.take_along_axis(scaled, block.present.argmax(axis=0)[np.newaxis], axis=0)
        scaled = (scaled - first) * block.present
        total, squares = scaled.sum(axis=0), (scaled**2).sum(axis=0)
        apart = block.n_labels * scaled**2 - 2 * scaled * total + squares
        return np.where(block.present, block.n_labels - 1 - apart, 0.0)

    def _of_sets(self, block: PanelBlock) -> NDArray[np.float64]:
        words = self._words[np.where(block.present, block.labels, 0)]
        total = np.zeros(block.present.shape)
        for a in range(len(words)):
            for b in range(a + 1, len(words)):
                both, either = intersection_and_union(words[a], words[b])
                index = np.where(either > 0, both / np.maximum(either, 1), 1.0)
                index *= block.present[a] & block.present[b]
                total[a] += index
                total[b] += index
        return total


@dataclass
class _Sums:
    """Running sums per annotator; units are items, or clusters of items.

    With d the differences of a unit added up and n their number, `spread` holds Σd², Σdn and Σn²
    over units.
    """

    n_items: NDArray[np.int64]
    own: NDArray[np.float64]
    others: NDArray[np.float64]
    squares: NDArray[np.float64]
    n_units: NDArray[np.int64]
    spread: NDArray[np.float64]

    @staticmethod
    def of(
        labels: NDArray[np.generic], agreement: _Agreement, units: NDArray[np.intp] | None
    ) -> _Sums:
        n = labels.shape[1]
        whole, parts = np.int64, np.float64
        sums = _Sums(
            n_items=np.zeros(n, whole),
            own=np.zeros(n, parts),
            others=np.zeros(n, parts),
            squares=np.zeros(n, parts),
            n_units=np.zeros(n, whole),
            spread=np.zeros((3, n), parts),
        )
        for block in panel_blocks(labels, clusters=units):
            sums.add(block, agreement.sums(block), None if units is None else units[block.rows])
        return sums

    def add(
        self, block: PanelBlock, pairs: NDArray[np.float64], units: NDArray[np.intp] | None
    ) -> None:
        n_labels = block.n_labels
        used = block.present & (n_labels >= 3)
        with np.errstate(divide="ignore", invalid="ignore"):
            own = pairs / (n_labels - 1)
            others = (pairs.sum(axis=0) / 2 - pairs) / ((n_labels - 1) * (n_labels - 2) / 2)
        slot = np.arange(len(used))[:, np.newaxis]
        raters = np.broadcast_to(slot, used.shape) if block.raters is None else block.raters
        who, mine, theirs = raters[used], own[used], others[used]
        difference = mine - theirs
        n = len(self.own)
        self.n_items += np.bincount(who, minlength=n)
        self.own += np.bincount(who, mine, n)
        self.others += np.bincount(who, theirs, n)
        squares = np.bincount(who, difference**2, n)
        self.squares += squares
        if units is None:
            count = np.bincount(who, minlength=n)
            self.n_units += count
            self.spread += [squares, np.bincount(who, difference, n), count]
            return
        place = np.broadcast_to(np.unique(units, return_inverse=True)[1], used.shape)[used]
        size = (int(place.max(initial=-1)) + 1, n)
        total = np.bincount(place * n + who, difference, size[0] * n).reshape(size)
        count = np.bincount(place * n + who, minlength=size[0] * n).reshape(size)
        self.n_units += np.count_nonzero(count, axis=0)
        self.spread += [(total**2).sum(axis=0), (total * count).sum(axis=0), (count**2).sum(axis=0)]


def _tested(sums: _Sums, *, min_items: int, effect: float, rate: float) -> OutlierAnnotators:
    n, units = sums.n_items, sums.n_units
    with np.errstate(divide="ignore", invalid="ignore"):
        own, others = sums.own / n, sums.others / n
        mean = (sums.own - sums.others) / n
        variance = _above_rounding(
            sums.spread[0] - 2 * mean * sums.spread[1] + mean**2 * sums.spread[2], n
        )
        item_variance = _above_rounding(sums.squares - n * mean**2, n)
        error = np.sqrt(variance * units / (units - 1)) / n
        p_value = np.where(
            error > 0, stdtr(units - 1, mean / error), np.where(mean < -_ROUNDING, 0.0, 1.0)
        )
    reasons = [
        "no item has three labels"
        if not n[j]
        else f"fewer than {min_items} items with three labels"
        if n[j] < min_items
        else "fewer than two clusters"
        if units[j] < 2
        else "the clusters leave no variance to test with"
        if variance[j] == 0 < item_variance[j]
        else None
        for j in range(len(n))
    ]
    p_value[[reason is not None for reason in reasons]] = np.nan
    found = benjamini_yekutieli(p_value, false_discovery_rate=rate)
    return OutlierAnnotators(
        n_items=n,
        agreement=own,
        agreement_of_others=others,
        difference=mean,
        p_value=p_value,
        outlier=found & (mean <= -effect),
        reasons=tuple(reasons),
    )


def _above_rounding(squares: NDArray[np.float64], n: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(squares <= _ROUNDING * n, 0.0, squares)
