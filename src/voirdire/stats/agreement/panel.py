r"""Measures every agreement figure of a panel of annotators and its judges in one pass.

Raters are also compared with the majority of an annotator's peers. For annotator j the majority of
the *others* on an item is the label that most of them gave. Labels that tie share it: each counts
as an equal fraction of the majority's answer, so that no item is left out and no tie is broken by
the order of the labels.

The κ of a judge with the majority vote of all annotators is what is often published. With
:math:`s_{il}` the share of label l in the vote on item i (labels that tie share it) and :math:`j_i`
the judge's label, :math:`p_o = \frac1n \sum_i s_{i j_i}` and :math:`p_e = \sum_l \bar s_l \bar
j_l`. Every annotator is part of this vote, so that no annotator can be compared with it: it has no
human ceiling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._validation import check_choice, check_fraction
from voirdire.errors import InputError
from voirdire.stats.agreement.coefficient import AgreementResult, undefined
from voirdire.stats.agreement.labels import Weights, code_labels
from voirdire.stats.agreement.many_raters import ItemAgreement
from voirdire.stats.agreement.pairs import COHEN, GWET, RAW, PairSums
from voirdire.stats.intervals import check_units
from voirdire.stats.label_arrays import judge_columns, name_columns, pack_slots

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.agreement.labels import CodedLabels, Disagreement
    from voirdire.stats.label_arrays import LabelSets

__all__ = ["JudgeAgreement", "PanelAgreement", "PanelLevel", "measure_panel"]

_FEW_LABELS = 63
_MAX_COMPARISONS = 2_000_000_000
_MAX_LISTED = 100_000_000
"""Most comparisons on few labels; in a crowd, or on many labels. Either takes some ten seconds."""

_MAX_SETS = 2_048
_MAX_PAIRS_OF_MANY_SETS = 20

_MAX_NUMBERS = 64
"""A scale with more distinct numbers counts as continuous: it has no majority."""

_MAX_VOTES = 500_000_000

_LISTED_AT_ONCE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class JudgeAgreement:
    """Agreement of a judge with the annotators.

    Attributes
    ----------
    judge : str
        Its name.
    coefficients : tuple of AgreementResult
        Those of the ceiling, in the same order: the judge in the annotators' place.
    """

    judge: str
    coefficients: tuple[AgreementResult, ...]


@dataclass(frozen=True, kw_only=True)
class PanelAgreement:
    """Agreement of annotators with each other, and of judges with annotators.

    Attributes
    ----------
    confidence_level : float
        Nominal coverage of all intervals, in (0, 1).
    panel : tuple of AgreementResult
        Among all annotators: raw agreement, Cohen's κ (mean over pairs), Fleiss' κ,
        Krippendorff's α, Gwet's coefficient.
    ceiling : tuple of AgreementResult
        Each annotator against the others, averaged: raw agreement, Cohen's κ and Gwet's
        coefficient over pairs; agreement and κ with the majority of the others.
    judges : tuple of JudgeAgreement
        The same for every judge in the place of each annotator.
    """

    confidence_level: float
    panel: tuple[AgreementResult, ...]
    ceiling: tuple[AgreementResult, ...]
    judges: tuple[JudgeAgreement, ...]


PanelLevel: TypeAlias = Literal["nominal", "interval", "sets"]
"""Comparison of labels: equal or not; by difference; by common labels of sets."""

WEIGHTS: dict[PanelLevel, Weights | None] = {
    "nominal": None,
    "interval": "quadratic",
    "sets": "jaccard",
}


def measure_panel(
    humans: ArrayLike,
    judges: ArrayLike,
    *,
    level: PanelLevel,
    label_sets: ArrayLike | LabelSets | None = None,
    categories: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
    judge_names: Sequence[str] | None = None,
) -> PanelAgreement:
    r"""Measure how far annotators agree with each other, and judges with annotators.

    Compare a judge with the ceiling, which is the same measure among the annotators. All intervals
    take the items, or clusters, as the sample; the raters are taken as given.

    Parameters
    ----------
    humans : array_like, shape (n_items, n_annotators)
        Integer codes with -1 for missing or, for ``"interval"``, also numbers with nan.
    judges : array_like, shape (n_items, n_judges) or (n_items,)
        The judges' answers to the same items, in the same form; missing where not asked.
    level : {"nominal", "interval", "sets"}
        Labels are equal or not; numbers under quadratic weights; sets under Jaccard weights.
    label_sets : array_like of bool, shape (n_sets, n_labels), or LabelSets, optional
        For ``"sets"``: which labels the set of each code holds.
    categories : array_like, shape (n_categories,), optional
        All codes or numbers that could have been given; not for ``"sets"``. None: those that the
        annotators use and, beside a judge, that judge.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).
    judge_names : sequence of str, optional
        Names by column; the column numbers where None.

    Returns
    -------
    PanelAgreement
        Undefined figures are nan with a reason: no items in common, all labels equal, or a
        computation that would take too long (pairs of hundreds of annotators who all labelled
        nearly everything).

    Raises
    ------
    InputError
        If shapes or types are wrong, or `confidence_level` is outside (0, 1).

    Notes
    -----
    *Means over pairs* weight a pair by its common items; pairs whose κ is undefined are left out
    and counted in `reason`. With 100 items or more, of which two raters have fewer than ten in
    common on average, the means of κ and of Gwet's coefficient are nan; Fleiss' κ, α and Gwet's
    coefficient of the panel as a whole have no such need.

    *Majority*: for each annotator j, the most frequent label of the others, shared equally among
    labels that tie, against j (the ceiling) or the judge, on the items of j; then the mean over j,
    weighted by items. Leaving j out makes the two comparable: a majority in which j had a vote
    would flatter j. With three annotators the others are two, and all they disagree on is shared.

    *Panel majority*: each judge, and no annotator, also against the vote of all annotators
    (``"panel_majority_kappa"``, for unordered labels): the figure that is often published.

    *Categories*: Gwet's coefficient depends on how many there are, and raw agreement and Gwet's
    coefficient under quadratic weights on their range. On a scale whose ends are rare, declare
    them: otherwise these two depend on which ends happened to occur, which no interval accounts
    for.

    No warning is given: every result carries its reason.

    Memory is O(n_items) beside the codes; time is linear in items times pairs of labels of an
    item.

    Examples
    --------
    >>> humans = [[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]]
    >>> result = measure_panel(humans, [0, 1, 0, 1, 0, 0], level="nominal")
    >>> [(row.coefficient, round(row.estimate, 2)) for row in result.ceiling][:2]
    [('raw_agreement', 0.78), ('cohen_kappa', 0.56)]
    """
    check_choice("level", level, PanelLevel)
    check_fraction("confidence_level", confidence_level)
    people = np.asarray(humans)
    if people.ndim != 2:
        msg = f"`humans` must have the shape (n_items, n_annotators), got {people.shape}."
        raise InputError(msg)
    machines = judge_columns(judges, len(people))
    names = name_columns("judge_names", judge_names, machines.shape[1])
    # Codes become numbers where the others are numbers.
    kinds = {people.dtype.kind, machines.dtype.kind}
    if "f" in kinds and kinds != {"f"}:
        people, machines = (
            np.where(labels < 0, np.nan, labels) if labels.dtype.kind in "iu" else labels
            for labels in (people, machines)
        )
    labels = code_labels(
        np.concatenate([people, machines], axis=1),
        weights=WEIGHTS[level],
        label_sets=label_sets,
        categories=categories,
    )
    units = check_units(clusters, len(people))
    panel = _Panel(
        labels=labels,
        n_humans=people.shape[1],
        units=units,
        confidence_level=confidence_level,
    )
    # One rater at a time: the sums of an item need more memory than its labels.
    raters = [None, *range(people.shape[1], people.shape[1] + len(names))]
    among = [panel.disagreement(rater) for rater in raters]
    majorities = panel.compare_with_majorities(raters, among)
    rows = [
        panel.compare(rater, disagreement, majority)
        for rater, disagreement, majority in zip(raters, among, majorities, strict=True)
    ]
    items = ItemAgreement(
        replace(labels, codes=panel.humans),
        among[0],
        units=units,
        confidence_level=confidence_level,
    )
    return PanelAgreement(
        confidence_level=confidence_level,
        panel=(
            items.measure("raw_agreement"),
            rows[0][1],
            items.measure("fleiss_kappa"),
            items.measure("krippendorff_alpha"),
            items.measure("gwet_ac"),
        ),
        ceiling=rows[0],
        judges=tuple(
            JudgeAgreement(judge=name, coefficients=row)
            for name, row in zip(names, rows[1:], strict=True)
        ),
    )


@dataclass(frozen=True, kw_only=True)
class _Panel:
    """Coded labels of annotators and judges, annotators first; a rater is a judge's number."""

    labels: CodedLabels
    n_humans: int
    units: NDArray[np.intp] | None
    confidence_level: float

    @property
    def humans(self) -> NDArray[Any]:
        return self.labels.codes[: self.n_humans]

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

    def disagreement(self, rater: int | None) -> Disagreement:
        humans = list(range(self.n_humans))
        return self.labels.disagreement(humans if rater is None else [*humans, rater])

    def new_sums(self, disagreement: Disagreement) -> PairSums:
        return PairSums(
            disagreement,
            n_items=self.labels.codes.shape[1],
            units=self.units,
            confidence_level=self.confidence_level,
        )

    def label_chunks(self) -> Iterator[tuple[range, NDArray[np.intp], NDArray[np.intp]]]:
        """Return the annotators' labels in chunks of whole annotators: who, rater, item."""
        n_labels = np.count_nonzero(self.humans >= 0, axis=1)
        bounds = np.append(0, np.cumsum(n_labels))
        most = max(1, _LISTED_AT_ONCE // max(self.slot_codes.shape[1], 1))
        start = 0
        while start < self.n_humans:
            stop = int(np.searchsorted(bounds, bounds[start] + most, side="right")) - 1
            stop = min(max(stop, start + 1), self.n_humans)
            raters, items = np.nonzero(self.humans[start:stop] >= 0)
            yield range(start, stop), raters + start, items
            start = stop

    def compare(
        self, rater: int | None, disagreement: Disagreement, majority: PairSums | str
    ) -> tuple[AgreementResult, ...]:
        """Measure a judge, or the ceiling: over pairs, and with majorities."""
        pairs = self.compare_pairs(rater, disagreement)
        figures: tuple[tuple[PairSums | str, int, str], ...] = (
            (pairs, RAW, "raw_agreement"),
            (pairs, COHEN, "cohen_kappa"),
            (pairs, GWET, "gwet_ac"),
            (majority, RAW, "majority_agreement"),
            (majority, COHEN, "majority_kappa"),
        )
        row = [
            undefined(name, self.labels.weights, self.confidence_level, sums)
            if isinstance(sums, str)
            else sums.mean(column, name, besides=rater is not None)
            for sums, column, name in figures
        ]
        return (*row,) if rater is None else (*row, self.compare_with_vote(rater, disagreement))

    def compare_pairs(self, rater: int | None, disagreement: Disagreement) -> PairSums | str:
        """Compare a judge with every annotator, or annotators with each other.

        Return a reason where this would take too long.
        """
        n_labels = np.count_nonzero(self.humans >= 0, axis=0)
        work = int((n_labels if rater is not None else n_labels * (n_labels - 1) // 2).sum())
        is_quick = self.slots is None and self.labels.n_labels <= _FEW_LABELS
        if work > (_MAX_COMPARISONS if is_quick else _MAX_LISTED):
            return f"{work:,} comparisons of two labels would take too long"
        many_sets = self.labels.weights == "jaccard" and self.labels.n_labels > _MAX_SETS
        n_pairs = self.n_humans
        if rater is None and self.slots is None:
            n_pairs = n_pairs * (n_pairs - 1) // 2
        if many_sets and n_pairs > _MAX_PAIRS_OF_MANY_SETS:
            return f"{self.labels.n_labels:,} distinct label sets are too many for every pair"
        sums = self.new_sums(disagreement)
        if rater is not None:
            self._add_judge(rater, sums)
        elif self.slots is None:
            self._add_columns(sums)
        else:
            self._add_crowd(self.slots, sums)
        return sums

    def _add_judge(self, judge: int, sums: PairSums) -> None:
        own = self.labels.codes[judge]
        for who, raters, items in self.label_chunks():
            known = own[items] >= 0
            human, item = raters[known], items[known]
            both = np.stack([np.full(len(who), judge), np.array(who)], axis=1)
            sums.add(item, human - who.start, (own[item], self.humans[human, item]), raters=both)

    def _add_columns(self, sums: PairSums) -> None:
        pairs = np.stack(np.triu_indices(self.n_humans, 1), axis=1)
        step = max(1, _LISTED_AT_ONCE // max(self.humans.shape[1], 1))
        for start in range(0, len(pairs), step):
            raters = pairs[start : start + step]
            first, second = (self.humans[column] for column in raters.T)
            group, item = np.nonzero((first >= 0) & (second >= 0))
            sums.add(item, group, (first[group, item], second[group, item]), raters=raters)

    def _add_crowd(self, slots: NDArray[np.intp], sums: PairSums) -> None:
        slot_codes = self.slot_codes
        for _, raters, items in self.label_chunks():
            others = slots[items]
            row, slot = np.nonzero((others > raters[:, np.newaxis]) & (slot_codes[items] >= 0))
            item, human = items[row], raters[row]
            distinct, group = np.unique(
                human * self.n_humans + others[row, slot], return_inverse=True
            )
            both = np.stack([distinct // self.n_humans, distinct % self.n_humans], axis=1)
            labels = (self.humans[human, item], slot_codes[item, slot])
            sums.add(item, group, labels, raters=both)

    def compare_with_majorities(
        self, raters: Sequence[int | None], disagreements: Sequence[Disagreement]
    ) -> Sequence[PairSums | str]:
        """Compare raters with the majority of all annotators but one, for every one.

        None is the annotator who is left out. The sums have one pair per annotator, on the items
        of that annotator. Return a reason where there is no majority.
        """
        labels, n_present = self.labels, np.count_nonzero(self.humans >= 0, axis=0)
        if labels.weights == "quadratic" and labels.n_labels > _MAX_NUMBERS:
            reason = f"a scale of {labels.n_labels:,} distinct numbers has no majority"
            return [reason] * len(raters)
        if int(n_present.sum()) * int(n_present.max(initial=0)) > _MAX_VOTES:
            reason = (
                "counting the votes of so many annotators on so many labels would take too long"
            )
            return [reason] * len(raters)
        sums = [self.new_sums(disagreement) for disagreement in disagreements]
        for who, left_out, item in self.label_chunks():
            votes = self._list_votes(left_out, item)
            for rater, each in zip(raters, sums, strict=True):
                self._add_votes(each, who, left_out, item, rater, votes)
        return sums

    def compare_with_vote(self, judge: int, disagreement: Disagreement) -> AgreementResult:
        """Compare a judge with the majority of all annotators."""
        name = "panel_majority_kappa"
        if self.labels.weights is not None:
            reason = "labels that agree in part have no majority vote"
            result = undefined(name, self.labels.weights, self.confidence_level, reason)
        else:
            items = np.arange(self.humans.shape[1])
            sums, nobody = self.new_sums(disagreement), np.full(len(items), -1)
            votes = self._list_votes(nobody, items)
            self._add_votes(sums, range(1), np.zeros_like(items), items, judge, votes)
            result = sums.mean(COHEN, name)
        there = (self.humans >= 0) & (self.labels.codes[judge] >= 0)
        return replace(
            result,
            weights=None,
            n_items=int(np.count_nonzero(there.any(axis=0))),
            n_raters=int(np.count_nonzero(there.any(axis=1))),
        )

    def _list_votes(
        self, left_out: NDArray[np.intp], items: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[np.float64]]:
        """Return, for each row, the item's majority labels among the others, with weights."""
        codes = self.slot_codes[items]
        slots = np.arange(codes.shape[1]) if self.slots is None else self.slots[items]
        counted = (codes >= 0) & (slots != left_out[:, np.newaxis])
        votes = np.zeros(codes.shape, dtype=np.int32)
        repeated = np.zeros(codes.shape, dtype=np.bool_)
        for slot in range(codes.shape[1]):
            same = (codes == codes[:, slot, np.newaxis]) & counted[:, slot, np.newaxis]
            votes += same
            repeated[:, slot + 1 :] |= same[:, slot + 1 :]
        votes[~counted] = 0
        top = counted & ~repeated & (votes == votes.max(axis=1, initial=1, keepdims=True))
        row, place = np.nonzero(top)
        return row, codes[row, place], 1 / np.count_nonzero(top, axis=1)[row]

    def _add_votes(
        self,
        sums: PairSums,
        who: range,
        left_out: NDArray[np.intp],
        items: NDArray[np.intp],
        rater: int | None,
        votes: tuple[NDArray[np.intp], NDArray[Any], NDArray[np.float64]],
    ) -> None:
        row, label, weight = votes
        item = items[row]
        own = self.labels.codes[left_out[row] if rater is None else rater, item]
        kept = own >= 0
        sums.add(
            item[kept],
            left_out[row[kept]] - who.start,
            (own[kept], label[kept]),
            raters=np.stack([np.array(who)] * 2, axis=1),
            weight=weight[kept],
        )
