r"""Annotators who agree with the others less than the others agree among themselves.

With :math:`s(a, b) \in [0, 1]` the agreement of two labels, and :math:`H_{ij}` the labels of item i
other than annotator j's, each item with at least three labels gives a pair of means,

.. math:: a_{ij} = \operatorname{mean}_{k \in H_{ij}} s(h_j, h_k), \qquad
          o_{ij} = \operatorname{mean}_{k < l \in H_{ij}} s(h_k, h_l),

whose difference :math:`a_{ij} - o_{ij}` has mean 0 where annotators are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr

from voirdire._validation import check_choice, check_count, check_fraction
from voirdire.errors import InputError
from voirdire.stats.agreement.coefficient import check_units
from voirdire.stats.diagnosis.panel_items import DiagnosisLevel, is_present, panel_blocks
from voirdire.stats.diagnosis.slices import ROUNDING, above_rounding
from voirdire.stats.fdr import benjamini_yekutieli
from voirdire.stats.label_arrays import check_humans
from voirdire.stats.label_sets import LabelSets, intersection_and_union

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.diagnosis.panel_items import PanelBlock

__all__ = ["OutlierAnnotators", "outlier_annotators"]


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
    agreement = _agreement(matrix, level, label_sets)
    sums = np.zeros((8, matrix.shape[1]))
    for block in panel_blocks(matrix, clusters=units):
        sums += _sum_differences(
            block,
            agreement(block),
            units=None if units is None else units[block.rows],
            n_annotators=matrix.shape[1],
        )
    return _tested(sums, min_items=min_items, effect=effect, rate=rate)


def _agreement(
    labels: NDArray[Any], level: DiagnosisLevel, label_sets: ArrayLike | LabelSets | None
) -> Callable[[PanelBlock], NDArray[Any]]:
    """Make what sums, for each label of a block, its agreement with the others of its item."""
    if level == "nominal":
        return lambda block: block.count_same() - block.present
    if level == "interval":
        known = [column[is_present(column)] for column in labels.T]
        low = min((float(column.min()) for column in known if column.size), default=0.0)
        high = max((float(column.max()) for column in known if column.size), default=0.0)
        # halves, since the range of the largest numbers is beyond every float
        return partial(_of_numbers, low=low, half_range=high / 2 - low / 2)
    if label_sets is None:
        msg = "`label_sets` must be given for 'sets', got None."
        raise InputError(msg)
    sets = label_sets
    if not isinstance(sets, LabelSets):
        sets = LabelSets.from_membership(sets)
    if int(labels.max(initial=-1)) >= len(sets):
        msg = f"`label_sets` must hold a set for every code, got {len(sets)}."
        raise InputError(msg)
    return partial(_of_sets, words=sets.words)


def _of_numbers(block: PanelBlock, *, low: float, half_range: float) -> NDArray[np.float64]:
    filled = np.where(block.present, block.labels, low)
    scaled = (filled / 2 - low / 2) / (half_range or 1.0)
    # around the item's first label: where all are equal, every difference is 0 to the digit
    first = np.take_along_axis(scaled, block.present.argmax(axis=0)[np.newaxis], axis=0)
    scaled = (scaled - first) * block.present
    total, squares = scaled.sum(axis=0), (scaled**2).sum(axis=0)
    apart = block.n_labels * scaled**2 - 2 * scaled * total + squares
    return np.where(block.present, block.n_labels - 1 - apart, 0.0)


def _of_sets(block: PanelBlock, *, words: NDArray[Any]) -> NDArray[np.float64]:
    held = words[np.where(block.present, block.labels, 0)]
    total = np.zeros(block.present.shape)
    for a, b in combinations(range(len(held)), 2):
        both, either = intersection_and_union(held[a], held[b])
        index = np.where(either > 0, both / np.maximum(either, 1), 1.0)
        index *= block.present[a] & block.present[b]
        total[a] += index
        total[b] += index
    return total


def _sum_differences(
    block: PanelBlock,
    pairs: NDArray[Any],
    *,
    units: NDArray[np.intp] | None,
    n_annotators: int,
) -> NDArray[np.float64]:
    """Sum, per annotator: items, own agreement, that of the others, squared differences.

    Then, with d the differences of a unit (an item, or a cluster) added up and n their number,
    units, Σd², Σdn and Σn².
    """
    used = block.present & (block.n_labels >= 3)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = pairs / (block.n_labels - 1)
        others = (pairs.sum(axis=0) / 2 - pairs) / ((block.n_labels - 1) * (block.n_labels - 2) / 2)
    who, mine, theirs = block.raters[used], own[used], others[used]
    difference = mine - theirs
    sums = [
        np.bincount(who, weights, n_annotators) for weights in (None, mine, theirs, difference**2)
    ]
    if units is None:
        return np.stack([*sums, sums[0], sums[3], sums[1] - sums[2], sums[0]])
    place = np.broadcast_to(np.unique(units, return_inverse=True)[1], used.shape)[used]
    shape = (int(place.max(initial=-1)) + 1, n_annotators)
    cells = place * n_annotators + who
    n = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    d = np.bincount(cells, difference, shape[0] * shape[1]).reshape(shape)
    return np.stack([*sums, *(x.sum(axis=0) for x in (n > 0, d**2, d * n, n**2))])


def _tested(
    sums: NDArray[np.float64], *, min_items: int, effect: float, rate: float
) -> OutlierAnnotators:
    n, own, others, item_squares, units, squares, products, sizes = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (own - others) / n
        variance = above_rounding(squares - 2 * mean * products + mean**2 * sizes, n)
        item_variance = above_rounding(item_squares - n * mean**2, n)
        error = np.sqrt(variance * units / (units - 1)) / n
        certain = np.where(mean < -ROUNDING, 0.0, 1.0)
        p_value = np.where(error > 0, stdtr(units - 1, mean / error), certain)
        own, others = own / n, others / n
    reasons = np.select(
        [n == 0, n < min_items, units < 2, (variance == 0) & (item_variance > 0)],
        [
            "no item has three labels",
            f"fewer than {min_items} items with three labels",
            "fewer than two clusters",
            "the clusters leave no variance to test with",
        ],
        default="",
    )
    p_value = np.where(reasons == "", p_value, np.nan)
    return OutlierAnnotators(
        n_items=n.astype(np.int64),
        agreement=own,
        agreement_of_others=others,
        difference=mean,
        p_value=p_value,
        outlier=benjamini_yekutieli(p_value, false_discovery_rate=rate) & (mean <= -effect),
        reasons=tuple(reason or None for reason in reasons.tolist()),
    )
