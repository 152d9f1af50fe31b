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
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._validation import check_choice
from voirdire.errors import InputError
from voirdire.stats.agreement.coefficients import WEIGHTS, AgreementResult, measure_items
from voirdire.stats.agreement.labels import code_labels
from voirdire.stats.agreement.pairs import COHEN, GWET, RAW, PairSums
from voirdire.stats.label_arrays import judge_columns, name_columns, pack_labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.agreement.labels import Labels
    from voirdire.stats.label_arrays import LabelSets

_MAX_COMPARISONS = 500_000_000
"""Most comparisons of two labels; they take some ten seconds."""

_SETS_OF_ONE_COST = 64
"""Comparing label sets takes the longer the more distinct ones there are."""

_MAX_NUMBERS = 64
"""A scale with more distinct numbers counts as continuous: it has no majority."""

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
        clusters=clusters,
        confidence_level=confidence_level,
    )
    ceiling, *rows = _compare(labels, people.shape[1])
    among_people = replace(labels, codes=labels.codes[: people.shape[1]])
    raw, fleiss, alpha, gwet = measure_items(
        among_people.among(range(people.shape[1])),
        ["raw_agreement", "fleiss_kappa", "krippendorff_alpha", "gwet_ac"],
    )
    return PanelAgreement(
        confidence_level=confidence_level,
        panel=(raw, ceiling[1], fleiss, alpha, gwet),
        ceiling=ceiling,
        judges=tuple(
            JudgeAgreement(judge=name, coefficients=row)
            for name, row in zip(names, rows, strict=True)
        ),
    )


def _compare(labels: Labels, n_people: int) -> list[tuple[AgreementResult, ...]]:
    """Compare annotators with each other, then each judge with them, in pairs and by majorities.

    A majority is that of all annotators but one; the sums have one pair for each who is left out,
    on the items of that annotator.
    """
    people, n_raters = labels.codes[:n_people], len(labels.codes)
    their, slots = (np.ascontiguousarray(each.T) for each in pack_labels(people))

    n_labels, n_distinct = np.count_nonzero(people >= 0, axis=0), len(labels.values)
    n_all = int(n_labels.sum())
    costly = 1 + n_distinct // _SETS_OF_ONE_COST if labels.weights == "jaccard" else 1
    n_of_pairs = int((n_labels * (n_labels - 1)).sum()) // 2 * costly
    no_majority = _too_many(n_all * their.shape[1])
    if labels.weights == "quadratic" and n_distinct > _MAX_NUMBERS:
        no_majority = f"a scale of {n_distinct:,} distinct numbers has no majority"
    everyone = labels.among(range(n_people))
    ceiling = PairSums(everyone, refusal=_too_many(n_of_pairs))
    sums = {-1: (ceiling, PairSums(everyone, refusal=no_majority))}
    for judge in range(n_people, n_raters):
        own = labels.among([*range(n_people), judge])
        pairs = PairSums(own, refusal=_too_many(n_all * costly))
        sums[judge] = (pairs, PairSums(own, refusal=no_majority))

    for who, item in _list_labels(people, their.shape[1]):
        label, alone = people[who, item], who * (n_raters + 1)
        others, of_others = slots[item], their[item]
        if ceiling.refusal is None:
            row, slot = np.nonzero((others > who[:, np.newaxis]) & (of_others >= 0))
            pair = who[row] * n_raters + others[row, slot]
            ceiling.add(item[row], pair, label[row], of_others[row, slot])
        for judge, (pairs, _) in sums.items():
            if judge >= 0 and pairs.refusal is None:
                pairs.add(item, alone, labels.codes[judge, item], label)
        if no_majority is None:
            row, vote, share = _list_votes(others, of_others, left_out=who)
            for judge, (_, majority) in sums.items():
                own_label = label if judge < 0 else labels.codes[judge, item]
                majority.add(item[row], alone[row], own_label[row], vote, share)
    return [
        (
            pairs.mean(RAW, "raw_agreement"),
            pairs.mean(COHEN, "cohen_kappa"),
            pairs.mean(GWET, "gwet_ac"),
            majority.mean(RAW, "majority_agreement"),
            majority.mean(COHEN, "majority_kappa"),
            *([] if judge < 0 else [_compare_with_vote(majority.labels, judge, slots, their)]),
        )
        for judge, (pairs, majority) in sums.items()
    ]


def _too_many(n_comparisons: int) -> str | None:
    """Say why so many labels are not compared; None where they are."""
    if n_comparisons <= _MAX_COMPARISONS:
        return None
    return f"{n_comparisons:,} comparisons of two labels would take too long"


def _compare_with_vote(
    labels: Labels, judge: int, slots: NDArray[np.intp], their: NDArray[Any]
) -> AgreementResult:
    """Compare a judge with the majority of all annotators."""
    own, refusal = labels.codes[judge], None
    if labels.weights is not None:
        refusal = "labels that agree in part have no majority vote"
    sums = PairSums(labels, refusal=refusal)
    if refusal is None:
        row, vote, share = _list_votes(slots, their, left_out=np.full(len(own), -1))
        sums.add(row, np.zeros_like(row), own[row], vote, share)
    there = (their >= 0) & (own >= 0)[:, np.newaxis]
    return replace(
        sums.mean(COHEN, "panel_majority_kappa"),
        weights=None,
        n_items=int(np.count_nonzero(there.any(axis=1))),
        n_raters=len(np.unique(slots[there])),
    )


def _list_labels(
    people: NDArray[Any], n_slots: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """List the annotators' labels by annotator and item, in chunks of whole annotators."""
    by_annotator = int(np.count_nonzero(people >= 0)) * n_slots // max(len(people), 1)
    step = max(1, _LISTED_AT_ONCE // max(by_annotator, 1))
    for start in range(0, len(people), step):
        who, item = np.nonzero(people[start : start + step] >= 0)
        yield who + start, item


def _list_votes(
    slots: NDArray[np.intp], codes: NDArray[Any], *, left_out: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[np.float64]]:
    """List, for each row, the majority labels of its slots without one annotator, with shares."""
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
