"""Compares raters pair by pair, and estimates Cohen's κ of two."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import check_choice, check_fraction
from voirdire.errors import InputError
from voirdire.stats.agreement.labels import Weights, code_labels
from voirdire.stats.agreement.pairs import (
    COHEN,
    PairedLabels,
    PairMeans,
    PairSums,
)
from voirdire.stats.intervals import check_units
from voirdire.stats.label_arrays import pack_slots

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.agreement.coefficient import AgreementResult
    from voirdire.stats.agreement.labels import CodedLabels, Disagreement
    from voirdire.stats.agreement.pairs import ItemSums
    from voirdire.stats.label_arrays import LabelSets

__all__ = ["RaterPairs", "cohen_kappa"]

_MAX_COMPARISONS = 2_000_000_000
"""Most items times pairs, on few labels: some ten seconds."""

_FEW_LABELS = 63

_MAX_LISTED = 100_000_000
"""Most items times pairs, in a crowd or on many labels: about ten seconds."""

_MAX_SETS = 2_048
_MAX_PAIRS_OF_MANY_SETS = 20

_LISTED_AT_ONCE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class RaterPairs:
    """Labels of annotators and judges to compare, annotators first."""

    labels: CodedLabels
    n_humans: int

    @property
    def humans(self) -> NDArray[Any]:
        """Codes of the annotators' labels, shape (n_humans, n_items)."""
        return self.labels.codes[: self.n_humans]

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return int(self.labels.codes.shape[1])

    @cached_property
    def slots(self) -> NDArray[np.intp] | None:
        """Annotators of each item in a crowd, shape (n_items, n_slots); None otherwise."""
        slots = pack_slots(self.humans >= 0)
        return None if slots is None else np.ascontiguousarray(slots.T)

    @cached_property
    def slot_codes(self) -> NDArray[Any]:
        """Codes of the labels in the slots, shape (n_items, n_slots)."""
        if self.slots is None:
            return np.ascontiguousarray(self.humans.T)
        return np.take_along_axis(self.humans.T, self.slots, axis=1)

    def among_humans(self, disagreement: Disagreement) -> ItemSums | str:
        """Compare every annotator with every other.

        Return a reason where this would take too long.
        """
        raters = range(self.n_humans)
        if self.slots is None:
            return self.of_columns([(a, b) for a in raters for b in raters if a < b], disagreement)
        n_labels = np.count_nonzero(self.humans >= 0, axis=0)
        too_many = self._refuse(int((n_labels * (n_labels - 1) // 2).sum()), self.n_humans)
        return too_many or self.sum(self._crowd_pairs(self.slots), disagreement)

    def with_judge(self, judge: int, disagreement: Disagreement) -> ItemSums | str:
        """Compare a judge, given by its number among all raters, with every annotator."""
        if self.slots is None:
            pairs = [(judge, human) for human in range(self.n_humans)]
            return self.of_columns(pairs, disagreement)
        n_labels = np.count_nonzero(self.humans >= 0)
        too_many = self._refuse(int(n_labels), self.n_humans)
        return too_many or self.sum(self._crowd_with_judge(judge), disagreement)

    def of_columns(
        self, pairs: Sequence[tuple[int, int]], disagreement: Disagreement
    ) -> ItemSums | str:
        """Compare raters given by their numbers; return a reason where this would take too long."""
        work = len(pairs) * self.n_items
        if self.labels.n_labels > _FEW_LABELS or work > _MAX_COMPARISONS:
            too_many = self._refuse(work, len(pairs))
            if too_many:
                return too_many
        return self.sum(self._columns(pairs), disagreement)

    def label_chunks(self) -> Iterator[tuple[range, NDArray[np.intp], NDArray[np.intp]]]:
        """Return the annotators' labels in chunks of whole annotators: who, rater, item."""
        raters, items = np.nonzero(self.humans >= 0)
        bounds = np.searchsorted(raters, np.arange(self.n_humans + 1))
        most = max(1, _LISTED_AT_ONCE // max(self.slot_codes.shape[1], 1))
        start = 0
        while start < self.n_humans:
            stop = int(np.searchsorted(bounds, bounds[start] + most, side="right")) - 1
            stop = min(max(stop, start + 1), self.n_humans)
            chunk = slice(bounds[start], bounds[stop])
            yield range(start, stop), raters[chunk], items[chunk]
            start = stop

    def _refuse(self, work: int, n_pairs: int) -> str | None:
        if work > _MAX_LISTED:
            return f"{work:,} comparisons of two labels would take too long"
        many_sets = self.labels.weights == "jaccard" and self.labels.n_labels > _MAX_SETS
        if many_sets and n_pairs > _MAX_PAIRS_OF_MANY_SETS:
            return f"{self.labels.n_labels:,} distinct label sets are too many for every pair"
        return None

    def sum(self, chunks: Iterable[PairedLabels], disagreement: Disagreement) -> ItemSums:
        """Sum over pairs that come in chunks."""
        sums = PairSums(disagreement, n_labels=self.labels.n_labels, n_items=self.n_items)
        for chunk in chunks:
            sums.add(chunk)
        return sums.finish()

    def _columns(self, pairs: Sequence[tuple[int, int]]) -> Iterator[PairedLabels]:
        step = max(1, _LISTED_AT_ONCE // max(self.n_items, 1))
        for start in range(0, len(pairs), step):
            raters = np.array(pairs[start : start + step])
            first, second = (self.labels.codes[column] for column in raters.T)
            group, item = np.nonzero((first >= 0) & (second >= 0))
            yield PairedLabels(
                item=item,
                group=group,
                first=first[group, item],
                second=second[group, item],
                raters=raters,
            )

    def _crowd_pairs(self, slots: NDArray[np.intp]) -> Iterator[PairedLabels]:
        slot_codes = self.slot_codes
        for _, raters, items in self.label_chunks():
            others = slots[items]
            row, slot = np.nonzero((others > raters[:, np.newaxis]) & (slot_codes[items] >= 0))
            keys = raters[row] * self.n_humans + others[row, slot]
            distinct, group = np.unique(keys, return_inverse=True)
            item = items[row]
            yield PairedLabels(
                item=item,
                group=group,
                first=self.humans[raters[row], item],
                second=slot_codes[item, slot],
                raters=np.stack([distinct // self.n_humans, distinct % self.n_humans], axis=1),
            )

    def _crowd_with_judge(self, judge: int) -> Iterator[PairedLabels]:
        own = self.labels.codes[judge]
        for who, raters, items in self.label_chunks():
            known = own[items] >= 0
            rater, item = raters[known], items[known]
            yield PairedLabels(
                item=item,
                group=rater - who.start,
                first=own[item],
                second=self.humans[rater, item],
                raters=np.stack([np.full(len(who), judge), np.array(who)], axis=1),
            )


# Cohen's κ of two raters ----------------------------------------------------------------------


def cohen_kappa(
    first: ArrayLike,
    second: ArrayLike,
    *,
    weights: Weights | None = None,
    label_sets: ArrayLike | LabelSets | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> AgreementResult:
    r"""Measure how far two raters agree beyond chance.

    Chance is what two raters with these raters' own shares of labels would agree on by guessing
    [1]_; weights let unequal labels agree in part [2]_. The interval takes the items, or the
    clusters, as the random sample.

    Parameters
    ----------
    first, second : array_like, shape (n_items,)
        Labels of the same items in the same order: integer codes with -1 for missing or, for
        ``"linear"`` and ``"quadratic"``, also numbers with nan for missing.
    weights : {"linear", "quadratic", "jaccard"}, optional
        Unequal labels agree by one minus the difference of the numbers (the codes, where labels
        are integers), or its square, over its largest value; or by the Jaccard index of label
        sets. None: not at all.
    label_sets : array_like of bool, shape (n_sets, n_labels), or LabelSets, optional
        For ``"jaccard"``: which labels the set of each code holds.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to. Omit it only when items were drawn
        independently.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).

    Returns
    -------
    AgreementResult
        κ is nan without common items, or where all labels are equal; its interval is nan with
        fewer than two items or clusters, and closes on 1 under perfect agreement.

    Raises
    ------
    InputError
        If shapes or types are wrong, or `confidence_level` is outside (0, 1).

    Warns
    -----
    DegenerateDataWarning
        If κ or its interval is undefined.

    Notes
    -----
    With the mean disagreement :math:`D_o` of the two labels of an item and :math:`D_e` that of all
    labels of one rater with all labels of the other, :math:`\kappa = 1 - D_o / D_e`. Quadratic
    weights need no list of categories, so that continuous scales are allowed.

    The interval is symmetric in Fisher's z of κ, with the standard error of the delta method
    corrected towards the jackknife and a quantile of the t distribution; see
    `voirdire.stats.intervals`. Two raters who know the truth 7 times in 10 and guess otherwise, two
    labels, independent items;
    coverage at .95 in 10,000 samples:

    ========================= ===== ===== =====
    share of the rarer label  n=50  n=100 n=200
    ========================= ===== ===== =====
    .5                        .963  .959  .955
    .3                        .959  .958  .951
    .1                        .921  .960  .954
    ========================= ===== ===== =====

    Few items with rare labels make the interval too narrow. Reference values in the tests come
    from scikit-learn and statsmodels.

    References
    ----------
    .. [1] J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological
       Measurement 20(1), pages 37-46, 1960. :doi:`10.1177/001316446002000104`
    .. [2] J. Cohen, "Weighted Kappa", Psychological Bulletin 70(4), pages 213-220, 1968.
       :doi:`10.1037/h0026256`

    Examples
    --------
    Two people agree on 8 of 10 items, and both say "yes" (1) half of the time:

    >>> result = cohen_kappa([1, 1, 1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 1, 0, 0, 0, 0])
    >>> round(result.estimate, 3), result.n_items
    (0.6, 10)
    """
    if weights is not None:
        check_choice("weights", weights, Weights)
    check_fraction("confidence_level", confidence_level)
    columns = [np.asarray(first), np.asarray(second)]
    if columns[0].ndim != 1 or columns[0].shape != columns[1].shape:
        msg = (
            "`first`, `second` must be of the same shape (n_items,), "
            f"got {columns[0].shape} and {columns[1].shape}."
        )
        raise InputError(msg)
    labels = code_labels(np.column_stack(columns), weights=weights, label_sets=label_sets)
    units = check_units(clusters, len(columns[0]))
    pairs = RaterPairs(labels=labels, n_humans=2)
    means = PairMeans(units=units, confidence_level=confidence_level, weights=weights)
    sums = pairs.of_columns([(0, 1)], labels.disagreement(slice(None)))
    result = means.measure(sums, COHEN, "cohen_kappa")
    result.warn_if_undefined("κ")
    return result
