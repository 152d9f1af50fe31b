"""Computes agreement, differences of judges and a diagnosis of one question, beside the test."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire import stats
from voirdire._messages import shorten
from voirdire._types import QuestionKind, Share  # noqa: TC001  # what reads the JSON looks at the types
from voirdire.io.cells import label_text
from voirdire.stats import JudgeDifference, PanelAgreement  # noqa: TC001  # as above
from voirdire.studies.diagnosis import Diagnosis, diagnose, find_level, find_majority
from voirdire.studies.disputed_items import DisputedItem, find_disputed
from voirdire.studies.examination import label_arrays
from voirdire.studies.gold import GoldResult, measure_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from voirdire._types import AlignmentName
    from voirdire.stats.plan import TestPlan
    from voirdire.studies.label_matrix import LabelMatrix

__all__ = ["LabelShare", "QuestionFindings", "find_around"]

MOST_LABELS = 30
MOST_COMPARED = 60
"""Most judges that are compared pair by pair."""


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
    against_majority : tuple of GoldResult
        For booleans and choices: each judge beside the annotators' majority, as if it were the
        truth; tied items are left out.
    disputed : tuple of DisputedItem
        Items on which a judge and the annotators disagree most, with their texts where the metadata
        have them; empty for labels that are texts.
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
    against_majority: tuple[GoldResult, ...] = field(default=(), repr=False)
    disputed: tuple[DisputedItem, ...] = field(default=(), repr=False)


def find_around(
    matrices: Sequence[tuple[AlignmentName, LabelMatrix]],
    plan: TestPlan,
    *,
    question: str,
    metadata: pl.DataFrame | None = None,
    slices: Sequence[str] | None = None,
) -> QuestionFindings:
    """Compute the findings on one question beside the test.

    Labels have the form that each alignment needs, the main one first; slices use the columns of
    the metadata, by default all.
    """
    alignment, matrix = _main_matrix(matrices)
    labels, n_labels = _label_shares(matrix)
    return QuestionFindings(
        question=question,
        kind=matrix.kind,
        n_items=len(matrix.items),
        annotators=matrix.annotators,
        judges=matrix.judges,
        labels=labels,
        n_labels=n_labels,
        agreement=_agreement(matrix, plan),
        comparisons=tuple(
            pair for name, labelled in matrices for pair in _comparisons(labelled, plan, name)
        ),
        diagnosis=diagnose(
            matrix, alignment=alignment, plan=plan, metadata=metadata, columns=slices
        ),
        against_majority=_against_majority(matrix, plan, question),
        disputed=() if matrix.kind == "text" else find_disputed(matrix, metadata),
    )


def _against_majority(matrix: LabelMatrix, plan: TestPlan, question: str) -> tuple[GoldResult, ...]:
    """Measure judges against the majority of annotators, where labels are names."""
    if matrix.kind not in ("boolean", "choice", "pairwise") or matrix.humans.dtype.kind == "f":
        return ()
    return tuple(
        measure_matrix(
            matrix,
            find_majority(matrix),
            question,
            confidence_level=plan.confidence_level,
            seed=plan.seed,
        )
    )


def _main_matrix(
    matrices: Sequence[tuple[AlignmentName, LabelMatrix]],
) -> tuple[AlignmentName, LabelMatrix]:
    """Return the first matrix; for a scale that with numbers."""
    if matrices[0][1].kind != "scale":
        return matrices[0]
    numeric = [(name, matrix) for name, matrix in matrices if matrix.is_numeric]
    return numeric[0] if numeric else ("neg_rmse", matrices[0][1].as_numbers())


def _agreement(matrix: LabelMatrix, plan: TestPlan) -> PanelAgreement | None:
    if matrix.kind == "text":
        return None
    return stats.measure_panel(
        matrix.humans,
        matrix.answers,
        level=find_level(matrix),
        label_sets=matrix.label_sets,
        categories=_declared_categories(matrix),
        clusters=matrix.clusters,
        confidence_level=plan.confidence_level,
        judge_names=matrix.judges,
    )


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


def _comparisons(
    matrix: LabelMatrix, plan: TestPlan, alignment: AlignmentName
) -> list[JudgeDifference]:
    if not 1 < len(matrix.judges) <= MOST_COMPARED:
        return []
    return stats.compare_judges(
        matrix.answers,
        matrix.humans,
        names=matrix.judges,
        annotators=matrix.annotators,
        plan=plan,
        **label_arrays(matrix, alignment),
    )


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
        for label, count in frequent[:MOST_LABELS]
    )
    return tuple(shares), len(frequent)
