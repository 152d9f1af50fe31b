"""Look behind the figures of one question: odd annotators, sure items, confusions and slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats import compare_slices, outlier_annotators, panel_items
from voirdire.stats.diagnosis.gaps import item_gaps
from voirdire.stats.preparation import prepare
from voirdire.studies.confusion_tables import ConfusionTable, confusion_tables, label_namer
from voirdire.studies.examination import comparison_settings
from voirdire.studies.plan import TestPlan
from voirdire.studies.slice_columns import SkippedColumn, Slicing, slice_items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import AlignmentName, QuestionKind
    from voirdire.stats import PanelCounts, PanelItems
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.stats.diagnosis.panel_blocks import DiagnosisLevel
    from voirdire.studies.aligning import LabelMatrix

__all__ = [
    "AnnotatorDiagnosis",
    "Diagnosis",
    "JudgeDiagnosis",
    "OpposedItemDiagnosis",
    "SliceDiagnosis",
    "diagnose",
]

_FREE_TEXT = "labels are free text, which nobody repeats"


@dataclass(frozen=True, kw_only=True)
class AnnotatorDiagnosis:
    """One annotator beside the others.

    Attributes
    ----------
    annotator : str
        Who.
    n_items : int
        Items of the annotator with at least three labels.
    agreement, agreement_of_others : float
        Mean agreement with the others, and among them, in [0, 1]; nan without such items.
    difference : float
        The one less the other; negative where the annotator stands apart.
    p_value : float
        One-sided; nan where not tested.
    outlier : bool
        Whether the annotator agrees less than the others do, by .1 or more.
    reason : str or None
        Why a figure is nan.
    """

    annotator: str
    n_items: int
    agreement: float
    agreement_of_others: float
    difference: float
    p_value: float
    outlier: bool
    reason: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Give the fields under the names of the JSON."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class OpposedItemDiagnosis:
    """An item on which the judge opposes a unanimous panel."""

    item: str
    panel_label: str
    judge_label: str
    n_annotators: int

    def as_dict(self) -> dict[str, Any]:
        """Give the fields under the names of the JSON."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class SliceDiagnosis:
    """One slice of the items against the items elsewhere; see `SliceResult` for the figures."""

    column: str
    value: str
    n_items: int
    n_elsewhere: int
    gap: float
    gap_elsewhere: float
    difference: float
    low: float
    high: float
    confidence_level: float
    p_value: float
    p_adjusted: float
    worse: bool
    reason: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Give the fields under the names of the JSON."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class JudgeDiagnosis:
    """One judge: on sure and split items, label by label, slice by slice.

    Attributes
    ----------
    judge : str
        Who.
    panel : PanelCounts or None
        Unanimous and split items; None for free text.
    opposed : tuple of OpposedItemDiagnosis
        Unanimous items that the judge opposes: at most 50, those with most annotators first.
    confusion : ConfusionTable or None
        Annotators' labels by the judge's; None for free text.
    slices : tuple of SliceDiagnosis
        Column by column.
    reason : str or None
        Why a part is missing.
    """

    judge: str
    panel: PanelCounts | None
    opposed: tuple[OpposedItemDiagnosis, ...] = ()
    confusion: ConfusionTable | None = None
    slices: tuple[SliceDiagnosis, ...] = ()
    reason: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Give everything under the names of the JSON."""
        return {
            "judge": self.judge,
            "panel": None if self.panel is None else self.panel.as_dict(),
            "opposed": [row.as_dict() for row in self.opposed],
            "n_opposed": 0 if self.panel is None else self.panel.n_opposed,
            "confusion": None if self.confusion is None else self.confusion.as_dict(),
            "slices": [row.as_dict() for row in self.slices],
            "reason": self.reason,
        }


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What lies behind the figures of one question.

    Attributes
    ----------
    annotators : tuple of AnnotatorDiagnosis
        In the order of the matrix; empty for free text.
    judges : tuple of JudgeDiagnosis
        In the order of the matrix.
    slices_skipped : tuple of SkippedColumn
        Columns of the metadata by which the items were not cut.
    n_items_unknown : int
        Items that the metadata do not name; 0 without metadata.
    """

    annotators: tuple[AnnotatorDiagnosis, ...]
    judges: tuple[JudgeDiagnosis, ...]
    slices_skipped: tuple[SkippedColumn, ...] = ()
    n_items_unknown: int = 0

    @property
    def outliers(self) -> tuple[str, ...]:
        """Names of the outlier annotators."""
        return tuple(row.annotator for row in self.annotators if row.outlier)

    def as_dict(self) -> dict[str, Any]:
        """Give everything under the names of the JSON; undefined figures are nan."""
        return {
            "annotators": [row.as_dict() for row in self.annotators],
            "judges": [row.as_dict() for row in self.judges],
            "slices_skipped": [row.as_dict() for row in self.slices_skipped],
            "n_items_unknown": self.n_items_unknown,
        }


def diagnose(
    matrix: LabelMatrix,
    *,
    alignment: AlignmentName | VectorizedScore = "accuracy",
    plan: TestPlan | None = None,
    kind: QuestionKind | None = None,
    metadata: Any = None,
    columns: Sequence[str] | None = None,
) -> Diagnosis:
    """Diagnose the annotators and the judges of one question.

    Parameters
    ----------
    matrix : LabelMatrix
        The aligned labels.
    alignment : str or callable, optional
        How the slices tell who is closer; see `voirdire.alt_test`.
    plan : TestPlan, optional
        Says who takes part (`min_annotators`), how the slices compare (quality, expert,
        similarity, normalisation), and the false discovery rate and confidence level.
    kind : str, optional
        What the question asks for; by default the labels and the alignment tell.
    metadata : data frame, optional
        A column `item` and one column per property, as `voirdire.io.read_metadata` gives it.
        Without it there are no slices.
    columns : sequence of str, optional
        The properties to slice by; by default all.

    Returns
    -------
    Diagnosis

    Raises
    ------
    InputError
        If the metadata lack a column or contradict themselves, or a setting breaks a rule.

    Notes
    -----
    A judge's failures take part in nothing here, and neither do imbalance weights. Outside the
    slices labels count as they are, not normalised.

    Examples
    --------
    >>> import numpy as np
    >>> from voirdire.studies.aligning import LabelMatrix
    >>> truth = np.arange(60) % 2
    >>> matrix = LabelMatrix(
    ...     kind="choice",
    ...     items=tuple(f"t{i}" for i in range(60)),
    ...     annotators=("ann", "bob", "eve"),
    ...     judges=("mine",),
    ...     humans=np.stack([truth, truth, np.where(np.arange(60) % 9, truth, 0)], axis=1),
    ...     answers=np.where(np.arange(60) < 3, 1 - truth, truth)[:, np.newaxis],
    ...     failed=np.zeros((60, 1), bool),
    ...     categories=("no", "yes"),
    ... )
    >>> [judge] = diagnose(matrix).judges
    >>> judge.panel.n_unanimous, [row.item for row in judge.opposed]
    (57, ['t0', 't1', 't2'])
    """
    from voirdire.io.metadata import metadata_from_frame

    plan = plan or TestPlan()
    level = _level(matrix, alignment, kind)
    slicing = Slicing()
    if metadata is not None:
        known = metadata_from_frame(metadata, columns=columns)
        slicing = slice_items(known, matrix.items)
    slices: Sequence[tuple[SliceDiagnosis, ...]] = [()] * len(matrix.judges)
    if slicing.columns:
        slices = _slices(matrix, slicing, plan, alignment)
    if level is None:
        judges = [
            JudgeDiagnosis(judge=judge, panel=None, slices=rows, reason=_FREE_TEXT)
            for judge, rows in zip(matrix.judges, slices, strict=True)
        ]
    else:
        judges = _judges(matrix, slices, min_annotators=plan.min_annotators)
    return Diagnosis(
        annotators=() if level is None else _annotators(matrix, level, plan.false_discovery_rate),
        judges=tuple(judges),
        slices_skipped=slicing.skipped,
        n_items_unknown=slicing.n_unknown,
    )


def _level(
    matrix: LabelMatrix,
    alignment: AlignmentName | VectorizedScore,
    kind: QuestionKind | None,
) -> DiagnosisLevel | None:
    """Tell how labels compare; None for free text, told by its many labels where nothing else."""
    if matrix.label_sets is not None:
        return "sets"
    if matrix.humans.dtype.kind == "f":
        return "interval"
    if kind == "text" or (kind is None and alignment == "similarity"):
        return None
    n_labels = np.count_nonzero(matrix.humans >= 0)
    mostly_distinct = callable(alignment) and len(matrix.categories) > n_labels / 2
    return None if kind is None and mostly_distinct else "nominal"


def _judges(
    matrix: LabelMatrix, slices: Sequence[tuple[SliceDiagnosis, ...]], *, min_annotators: int
) -> list[JudgeDiagnosis]:
    panels = panel_items(matrix.answers, matrix.humans, min_annotators=min_annotators)
    tables = confusion_tables(matrix)
    return [
        JudgeDiagnosis(
            judge=judge,
            panel=panel.counts,
            opposed=_opposed(panel, matrix),
            confusion=table,
            slices=rows,
        )
        for judge, panel, table, rows in zip(matrix.judges, panels, tables, slices, strict=True)
    ]


def _annotators(
    matrix: LabelMatrix, level: DiagnosisLevel | None, rate: float
) -> tuple[AnnotatorDiagnosis, ...]:
    if level is None:
        return ()
    found = outlier_annotators(
        matrix.humans,
        level=level,
        label_sets=matrix.label_sets,
        clusters=matrix.clusters,
        false_discovery_rate=rate,
    )
    return tuple(
        AnnotatorDiagnosis(
            annotator=name,
            n_items=int(found.n_items[place]),
            agreement=float(found.agreement[place]),
            agreement_of_others=float(found.agreement_of_others[place]),
            difference=float(found.difference[place]),
            p_value=float(found.p_value[place]),
            outlier=bool(found.outlier[place]),
            reason=found.reasons[place],
        )
        for place, name in enumerate(matrix.annotators)
    )


def _opposed(panel: PanelItems, matrix: LabelMatrix) -> tuple[OpposedItemDiagnosis, ...]:
    name = label_namer(matrix)
    return tuple(
        OpposedItemDiagnosis(
            item=matrix.items[row.item],
            panel_label=name(row.panel_label),
            judge_label=name(row.judge_label),
            n_annotators=row.n_annotators,
        )
        for row in panel.opposed
    )


def _slices(
    matrix: LabelMatrix,
    slicing: Slicing,
    plan: TestPlan,
    alignment: AlignmentName | VectorizedScore,
) -> list[tuple[SliceDiagnosis, ...]]:
    """Compare every judge's slices."""
    settings = comparison_settings(matrix, plan, alignment) | {"weights": None}
    gaps = item_gaps(prepare(matrix.answers, matrix.humans, **settings))
    return [
        tuple(
            SliceDiagnosis(
                **vars(row)
                | {
                    "column": slicing.columns[row.column].name,
                    "value": slicing.columns[row.column].values[row.value],
                }
            )
            for row in compare_slices(
                of_judge,
                [column.codes for column in slicing.columns],
                clusters=matrix.clusters,
                confidence_level=plan.confidence_level,
                false_discovery_rate=plan.false_discovery_rate,
            )
        )
        for of_judge in gaps
    ]
