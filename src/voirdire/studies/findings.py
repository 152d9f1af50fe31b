"""Computes what stands around the test of one question: agreement, diagnosis, items in dispute."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire import stats
from voirdire._messages import shorten
from voirdire._types import QuestionKind, Share  # noqa: TC001  # what reads the JSON looks at the types
from voirdire.errors import DegenerateDataWarning
from voirdire.io.cells import label_text
from voirdire.records.items import IS_MET
from voirdire.stats import JudgeDifference, PairwiseF1, PanelAgreement  # noqa: TC001  # as above
from voirdire.stats.label_arrays import is_present
from voirdire.studies.diagnosis import Diagnosis, SliceReliability, diagnose
from voirdire.studies.gold import GoldResult, measure_matrix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from voirdire._types import AlignmentName
    from voirdire.io import LabelTable
    from voirdire.stats.plan import TestPlan
    from voirdire.studies.label_matrix import LabelMatrix

_MOST_LABELS = 30
_MOST_COMPARED = 60
"""Most judges that are compared pair by pair."""
_MOST_OF_A_JUDGE, _MOST_DISPUTED = 50, 200
_MOST_CHARACTERS, _MOST_COLUMNS = 2_000, 20


@dataclass(frozen=True, kw_only=True)
class LabelShare:
    """Frequency of one label among annotators.

    Attributes
    ----------
    label : str
        The label.
    n_human : int
        Annotations with it (or, for sets, that hold it).
    share : float
        Of all annotations, in [0, 1].
    """

    label: str
    n_human: int
    share: Share


@dataclass(frozen=True, kw_only=True)
class DisputedItem:
    """An item on which a judge and the annotators disagree.

    Attributes
    ----------
    item : str
        Its id.
    telling : float
        How much further the judge is from the annotators than they are from each other, from 0 to
        1: its mean distance to them less their own, of the judge for which that is most. A distance
        is 0 or 1 for labels and sets, and a share of the range of all labels for numbers.
    judges : tuple of str
        Judges that are further from the annotators than they are from each other.
    labels, answers : dict of str to str
        Labels of annotators and of judges, by name; raters without one are left out.
    texts : dict of str to str
        Metadata of the item, such as `prompt` and `response`: at most 2,000 characters each, of at
        most 20 columns. Without metadata prompt and response of the tables of labels.
    reasons : dict of str to str
        Reasons of judges, by name, where the tables of their labels have them.
    """

    item: str
    telling: float
    judges: tuple[str, ...]
    labels: dict[str, str]
    answers: dict[str, str]
    texts: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class QuestionFindings:
    """Findings on one question beside the test.

    Attributes
    ----------
    question, kind : str
        Name and kind of the question.
    n_items : int
        Items with an annotation.
    annotators, judges : tuple of str
        Names.
    labels : tuple of LabelShare
        The most frequent labels of annotators, at most 30; empty for texts and numbers.
    n_labels : int
        Distinct labels of annotators.
    agreement : PanelAgreement or None
        Among annotators, and of each judge with them beside the human ceiling; None for texts.
    comparisons : tuple of JudgeDifference
        Pairs of judges, per alignment; empty with one judge, or more than 60.
    diagnosis : Diagnosis or None
        Outlier annotators, sure and split items, slices.
    reliability : tuple of SliceReliability
        For booleans with probabilities and metadata: how well calibrated each judge is in every
        slice with at least 10 items, beside the annotators' majority.
    against_majority : tuple of GoldResult
        For booleans and choices: each judge beside the annotators' majority, as if it were the
        truth; tied items are left out.
    disputed : tuple of DisputedItem
        Items on which a judge and the annotators disagree most, with their texts where the metadata
        have them; empty for labels that are texts.
    pairwise_f1 : mapping of str to PairwiseF1
        Of criteria: by judge the figure of HealthBench's meta-evaluation; else empty.
    """

    question: str
    kind: QuestionKind = "choice"
    n_items: int = 0
    annotators: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    labels: tuple[LabelShare, ...] = field(default=(), repr=False)
    n_labels: int = 0
    agreement: PanelAgreement | None = field(default=None, repr=False)
    comparisons: tuple[JudgeDifference, ...] = field(default=(), repr=False)
    diagnosis: Diagnosis | None = field(default=None, repr=False)
    reliability: tuple[SliceReliability, ...] = field(default=(), repr=False)
    against_majority: tuple[GoldResult, ...] = field(default=(), repr=False)
    disputed: tuple[DisputedItem, ...] = field(default=(), repr=False)
    pairwise_f1: Mapping[str, PairwiseF1] = field(default_factory=dict, repr=False)


def find_around(
    matrices: Sequence[tuple[AlignmentName, LabelMatrix]],
    plan: TestPlan,
    tables: Sequence[LabelTable],
    metadata: pl.DataFrame | None = None,
) -> QuestionFindings:
    """Compute the findings on one question beside the test.

    Labels have the form that each alignment needs, the main one first; `tables` are those of
    annotators and judges on this question.
    """
    alignment, matrix = matrices[0]
    if matrix.kind == "scale":  # whose labels are numbers under one of them
        numeric = [each for each in matrices if each[1].is_numeric]
        alignment, matrix = numeric[0] if numeric else ("neg_rmse", matrix.as_numbers())
    level = plan.confidence_level
    comparisons: list[JudgeDifference] = []
    for name, labelled in matrices if 1 < len(matrix.judges) <= _MOST_COMPARED else ():
        comparisons += stats.compare_judges(
            labelled.answers,
            labelled.humans,
            names=labelled.judges,
            annotators=labelled.annotators,
            plan=plan,
            **labelled.arrays(name),
        )
    agreement, disputed, by_majority = None, tuple[DisputedItem, ...](), list[GoldResult]()
    if matrix.kind != "text":
        disputed = _find_disputed(matrix, tables, metadata)
        agreement = stats.measure_panel(
            matrix.humans,
            matrix.answers,
            level=matrix.level,
            label_sets=matrix.label_sets,
            categories=_declared_categories(matrix),
            clusters=matrix.clusters,
            confidence_level=level,
            judge_names=matrix.judges,
        )
    if matrix.kind in ("boolean", "choice", "pairwise") and not matrix.is_numeric:
        by_majority = measure_matrix(
            matrix, matrix.majority, confidence_level=level, seed=plan.seed
        )
    labels, n_labels = _label_shares(matrix)
    diagnosis, reliability = diagnose(matrix, plan, alignment=alignment, metadata=metadata)
    return QuestionFindings(
        question=matrix.question,
        kind=matrix.kind,
        n_items=len(matrix.items),
        annotators=matrix.annotators,
        judges=matrix.judges,
        labels=labels,
        n_labels=n_labels,
        agreement=agreement,
        comparisons=tuple(comparisons),
        diagnosis=diagnosis,
        reliability=reliability,
        against_majority=tuple(by_majority),
        disputed=disputed,
        pairwise_f1=_compute_pairwise_f1(matrix, level),
    )


def _compute_pairwise_f1(matrix: LabelMatrix, level: float) -> dict[str, PairwiseF1]:
    """Compute macro F1 of judges of criteria against every label of people."""
    if matrix.question != IS_MET or matrix.kind != "boolean":
        return {}
    code_of = np.array([[False, True].index(label) for label in matrix.categories] + [-1])
    humans, answers = code_of[matrix.humans], code_of[matrix.answers]
    about: dict[str, Any] = {"clusters": matrix.clusters, "confidence_level": level}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return {
            judge: stats.pairwise_f1(answers[:, column], humans, **about)
            for column, judge in enumerate(matrix.judges)
        }


def _declared_categories(matrix: LabelMatrix) -> list[Any] | None:
    """Return all possible labels, where they were declared, since chance depends on them."""
    kind = matrix.kind
    universe = ("false", "true") if kind == "boolean" else matrix.universe
    if universe is None or kind == "multilabel" or not (matrix.declared or kind == "boolean"):
        return None
    if kind == "scale":
        return [float(label) for label in universe]
    code_of = {label_text(label): code for code, label in enumerate(matrix.categories)}
    unused = iter(range(len(matrix.categories), len(matrix.categories) + len(universe)))
    texts = (label_text(label) for label in universe)
    return sorted({code_of[label] if label in code_of else next(unused) for label in texts})


def _label_shares(matrix: LabelMatrix) -> tuple[tuple[LabelShare, ...], int]:
    """Count annotators' labels; for a set every label in it."""
    if matrix.kind == "text" or not matrix.categories:
        numbers = matrix.humans[~np.isnan(matrix.humans)] if not matrix.categories else []
        return (), len(np.unique(numbers))
    codes = matrix.humans[matrix.humans >= 0]
    counts = np.bincount(codes, minlength=len(matrix.categories)).tolist()
    counter: Counter[str] = Counter()
    for label, count in zip(matrix.categories, counts, strict=True):
        for word in sorted(label) if isinstance(label, frozenset) else [label_text(label)]:
            counter[word] += count
    frequent = [(label, count) for label, count in counter.most_common() if count]
    shares = (
        LabelShare(label=shorten(label), n_human=count, share=count / max(len(codes), 1))
        for label, count in frequent[:_MOST_LABELS]
    )
    return tuple(shares), len(frequent)


# Items in dispute -----------------------------------------------------------------------------


def _find_disputed(
    matrix: LabelMatrix, tables: Sequence[LabelTable], metadata: pl.DataFrame | None
) -> tuple[DisputedItem, ...]:
    """Find items on which judges and annotators disagree most: 50 of each judge, 200 in all."""
    further = _measure_distances(matrix)
    chosen = {
        place
        for column in further.T
        for place in np.argsort(-column, kind="stable")[:_MOST_OF_A_JUDGE].tolist()
        if column[place] > 0
    }
    ranked = sorted(chosen, key=lambda place: (-further[place].max(), place))[:_MOST_DISPUTED]
    texts, reasons = _find_texts([matrix.items[place] for place in ranked], tables, metadata)

    def name_labels(names: Sequence[str], codes: NDArray[Any]) -> dict[str, str]:
        present = is_present(codes).tolist()
        rows = zip(names, codes, present, strict=True)
        return {name: matrix.label_of(code) for name, code, is_there in rows if is_there}

    return tuple(
        DisputedItem(
            item=(item := matrix.items[place]),
            telling=float(further[place].max()),
            judges=tuple(
                name for name, x in zip(matrix.judges, further[place], strict=True) if x > 0
            ),
            labels=name_labels(matrix.annotators, matrix.humans[place]),
            answers=name_labels(matrix.judges, matrix.answers[place]),
            texts=texts[item],
            reasons=reasons[item],
        )
        for place in ranked
    )


def _measure_distances(matrix: LabelMatrix) -> NDArray[np.float64]:
    """Measure how much further each judge is from annotators than they are from each other.

    Where only one annotator labelled an item, that is the judge's distance to it; -1 where there
    is nothing to compare a judge with.
    """
    span = None
    if matrix.is_numeric:
        labels = np.concatenate([matrix.humans.ravel(), matrix.answers.ravel()])
        span = np.nanmax(labels) - np.nanmin(labels) if is_present(labels).any() else 0.0

    def average(pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> NDArray[Any]:
        total, count = np.zeros(len(matrix.items)), np.zeros(len(matrix.items))
        for one, other in pairs:
            both = is_present(one) & is_present(other)
            distances = one != other if span is None else np.abs(one - other) / (span or 1.0)
            total += np.where(both, distances, 0.0)
            count += both
        with np.errstate(invalid="ignore"):
            return total / count

    humans = matrix.humans.T
    among = np.nan_to_num(average(combinations(humans, 2)))
    further = np.full(matrix.answers.shape, -1.0)
    for column, answers in enumerate(matrix.answers.T):
        further[:, column] = average((answers, human) for human in humans) - among
    further[np.isnan(further)] = -1.0
    return further


def _find_texts(
    items: Sequence[str], tables: Sequence[LabelTable], metadata: pl.DataFrame | None
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Find the texts of items, by name, and the reasons of their judges."""
    texts: dict[str, dict[str, str]] = {item: {} for item in items}
    reasons: dict[str, dict[str, str]] = {item: {} for item in items}
    for table in tables:
        columns = {name: getattr(table, name) for name in ("reason", "prompt", "response")}
        filled = {name: column for name, column in columns.items() if column is not None}
        codes = [code for code, item in enumerate(table.item.values) if item in texts]
        for row in np.flatnonzero(np.isin(table.item.codes, codes)).tolist() if filled else ():
            item = table.item.value(row)
            for name, column in filled.items():
                if (text := column.value(row)) is None:
                    continue
                if name == "reason":
                    reasons[item][table.rater.value(row)] = text
                else:
                    texts[item].setdefault(name, text)
    if metadata is not None:
        known = metadata.filter(metadata["item"].is_in([*texts]))
        for values in known.iter_rows(named=True):
            texts[values["item"]] |= {
                name: str(value)[:_MOST_CHARACTERS]
                for name, value in list(values.items())[: _MOST_COLUMNS + 1]
                if name != "item" and value is not None
            }
    return texts, reasons
