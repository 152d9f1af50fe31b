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
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._validation import check_choice, check_fraction
from voirdire.errors import InputError
from voirdire.stats.agreement.coefficient import AgreementResult  # noqa: TC001  # for the JSON
from voirdire.stats.agreement.labels import Weights, code_labels
from voirdire.stats.agreement.many_raters import ItemAgreement
from voirdire.stats.agreement.pairs import (
    COHEN,
    GWET,
    RAW,
    PairedLabels,
    PairMeans,
    PairSums,
)
from voirdire.stats.agreement.two_raters import RaterPairs
from voirdire.stats.intervals import check_units
from voirdire.stats.label_arrays import check_names, judge_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.agreement.labels import Disagreement
    from voirdire.stats.agreement.pairs import ItemSums
    from voirdire.stats.label_arrays import LabelSets

__all__ = [
    "JudgeAgreement",
    "PanelAgreement",
    "PanelLevel",
    "measure_panel",
]


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

_WEIGHTS: dict[PanelLevel, Weights | None] = {
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
    weights = _WEIGHTS[level]
    labels = code_labels(
        _join(people, machines), weights=weights, label_sets=label_sets, categories=categories
    )
    units = check_units(clusters, len(people))
    return _Measuring(
        pairs=RaterPairs(labels=labels, n_humans=people.shape[1]),
        means=PairMeans(units=units, confidence_level=confidence_level, weights=weights),
        level=level,
        judges=check_names("judge_names", judge_names, machines.shape[1]),
    ).run()


def _join(people: NDArray[Any], machines: NDArray[Any]) -> NDArray[Any]:
    """Append judges to annotators; codes become numbers where the others are numbers."""
    kinds = {people.dtype.kind, machines.dtype.kind}
    if "f" in kinds and kinds - {"f"}:
        people, machines = (
            np.where(labels < 0, np.nan, labels) if labels.dtype.kind in "iu" else labels
            for labels in (people, machines)
        )
    return np.concatenate([people, machines], axis=1)


@dataclass(frozen=True, kw_only=True)
class _Measuring:
    pairs: RaterPairs
    means: PairMeans
    level: PanelLevel
    judges: list[str]

    def run(self) -> PanelAgreement:
        n_humans = self.pairs.n_humans
        everyone = [None, *range(n_humans, n_humans + len(self.judges))]
        among = [self._disagreement(rater) for rater in everyone]
        why_not = _majority_reason(self.pairs)
        votes: Iterator[ItemSums | str] = (
            repeat(why_not, len(everyone))
            if why_not
            else _compare_with_majority(self.pairs, everyone, among)
        )
        if self.means.weights is not None:
            why_not = "labels that agree in part have no majority vote"
        panel_votes: Iterator[ItemSums | str] = (
            repeat(why_not, len(self.judges))
            if why_not
            else _compare_with_panel_vote(self.pairs, everyone[1:], among[1:])
        )
        # One rater at a time: the sums of an item need more memory than its labels.
        rows = []
        for rater, disagreement, majority in zip(everyone, among, votes, strict=True):
            compared = self._compare(rater, disagreement)
            row = self._ceiling(compared, majority, besides=rater is not None)
            rows.append(
                row if rater is None else (*row, self._compare_with_vote(rater, next(panel_votes)))
            )
        return PanelAgreement(
            confidence_level=self.means.confidence_level,
            panel=self._panel(among[0], rows[0]),
            ceiling=rows[0],
            judges=tuple(
                JudgeAgreement(judge=name, coefficients=row)
                for name, row in zip(self.judges, rows[1:], strict=True)
            ),
        )

    def _compare(self, rater: int | None, disagreement: Disagreement) -> ItemSums | str:
        if rater is None:
            return self.pairs.among_humans(disagreement)
        return self.pairs.with_judge(rater, disagreement)

    def _disagreement(self, rater: int | None) -> Disagreement:
        humans = list(range(self.pairs.n_humans))
        return self.pairs.labels.disagreement(humans if rater is None else [*humans, rater])

    def _ceiling(
        self, pairs: ItemSums | str, majority: ItemSums | str, *, besides: bool
    ) -> tuple[AgreementResult, ...]:
        figures: tuple[tuple[ItemSums | str, int, str], ...] = (
            (pairs, RAW, "raw_agreement"),
            (pairs, COHEN, "cohen_kappa"),
            (pairs, GWET, "gwet_ac"),
            (majority, RAW, "majority_agreement"),
            (majority, COHEN, "majority_kappa"),
        )
        return tuple(
            self.means.measure(sums, column, name, besides=besides)
            for sums, column, name in figures
        )

    def _compare_with_vote(self, judge: int, sums: ItemSums | str) -> AgreementResult:
        """Compare a judge with the vote of all annotators."""
        there = (self.pairs.humans >= 0) & (self.pairs.labels.codes[judge] >= 0)
        return replace(
            self.means.measure(sums, COHEN, "panel_majority_kappa"),
            weights=None,
            n_items=int(np.count_nonzero(there.any(axis=0))),
            n_raters=int(np.count_nonzero(there.any(axis=1))),
        )

    def _panel(
        self, disagreement: Disagreement, ceiling: tuple[AgreementResult, ...]
    ) -> tuple[AgreementResult, ...]:
        items = ItemAgreement(
            replace(self.pairs.labels, codes=self.pairs.humans),
            disagreement,
            units=self.means.units,
            confidence_level=self.means.confidence_level,
        )
        return (
            items.raw_agreement(),
            ceiling[1],
            items.fleiss_kappa(),
            items.krippendorff_alpha(),
            items.gwet_ac(),
        )


# With the majority of the others --------------------------------------------------------------

_ROWS_AT_ONCE = 1 << 20

_MAX_NUMBERS = 64
"""A scale with more distinct numbers counts as continuous: it has no majority."""

_MAX_COMPARISONS = 500_000_000


def _majority_reason(pairs: RaterPairs) -> str | None:
    """Return why there is no majority vote; None where there is one."""
    labels = pairs.labels
    if labels.weights in ("linear", "quadratic") and labels.n_labels > _MAX_NUMBERS:
        return f"a scale of {labels.n_labels:,} distinct numbers has no majority"
    n_present = np.count_nonzero(pairs.humans >= 0, axis=0)
    if int(n_present.sum()) * int(n_present.max(initial=0)) > _MAX_COMPARISONS:
        return "counting the votes of so many annotators on so many labels would take too long"
    return None


def _compare_with_majority(
    pairs: RaterPairs, raters: Sequence[int | None], disagreements: Sequence[Disagreement]
) -> Iterator[ItemSums]:
    """Compare raters with the majority of all annotators but one, for every one.

    A rater is the number of a judge, or None for the annotator who is left out. Its sums have one
    pair per annotator, on the items of that annotator.
    """
    sums = [
        PairSums(disagreement, n_labels=pairs.labels.n_labels, n_items=pairs.n_items)
        for disagreement in disagreements
    ]
    for who, left_out, item in pairs.label_chunks():
        row, label, weight = _list_votes(pairs, left_out, item)
        for number, each in zip(raters, sums, strict=True):
            whose = left_out if number is None else np.full(len(left_out), number)
            place = (whose[row], left_out[row], item[row])
            each.add(_pair_with_vote(pairs, who, place, (label, weight)))
    yield from (each.finish() for each in sums)


def _list_votes(
    pairs: RaterPairs, raters: NDArray[np.intp], items: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[np.float64]]:
    """Return, for each label, the item's majority labels among the others, with weights."""
    n_slots = max(pairs.slot_codes.shape[1], 1)
    step = max(1, _ROWS_AT_ONCE // n_slots)
    parts = [
        _votes_of_others(pairs, raters[k : k + step], items[k : k + step], k)
        for k in range(0, len(raters), step)
    ]
    if not parts:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0)
    rows, labels, weights = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(labels), np.concatenate(weights)


def _votes_of_others(
    pairs: RaterPairs, raters: NDArray[np.intp], items: NDArray[np.intp], offset: int
) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[np.float64]]:
    codes = pairs.slot_codes[items]
    slots = np.arange(codes.shape[1]) if pairs.slots is None else pairs.slots[items]
    counted = (codes >= 0) & (slots != raters[:, np.newaxis])
    votes = np.zeros(codes.shape, dtype=np.int32)
    repeated = np.zeros(codes.shape, dtype=np.bool_)
    for slot in range(codes.shape[1]):
        same = (codes == codes[:, slot, np.newaxis]) & counted[:, slot, np.newaxis]
        votes += same
        repeated[:, slot + 1 :] |= same[:, slot + 1 :]
    votes[~counted] = 0
    top = counted & ~repeated & (votes == votes.max(axis=1, initial=1, keepdims=True))
    row, place = np.nonzero(top)
    return row + offset, codes[row, place], 1 / np.count_nonzero(top, axis=1)[row]


def _pair_with_vote(
    pairs: RaterPairs,
    who: range,
    place: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]],
    vote: tuple[NDArray[Any], NDArray[np.float64]],
) -> PairedLabels:
    whose, left_out, item = place
    own = pairs.labels.codes[whose, item]
    kept = own >= 0
    raters = np.array(who)
    return PairedLabels(
        item=item[kept],
        group=left_out[kept] - who.start,
        first=own[kept],
        second=vote[0][kept],
        raters=np.stack([raters, raters], axis=1),
        weight=vote[1][kept],
    )


# With the majority of the panel ---------------------------------------------------------------


def _compare_with_panel_vote(
    pairs: RaterPairs, judges: Sequence[int | None], disagreements: Sequence[Disagreement]
) -> Iterator[ItemSums]:
    """Compare judges with the majority of all annotators: one pair each."""
    nobody = np.full(pairs.n_items, -1)
    item, label, weight = _list_votes(pairs, nobody, np.arange(pairs.n_items))
    for judge, disagreement in zip(judges, disagreements, strict=True):
        place = (np.full(len(item), judge), np.zeros(len(item), dtype=np.intp), item)
        yield pairs.sum([_pair_with_vote(pairs, range(1), place, (label, weight))], disagreement)
