"""Diagnoses one question: outlier annotators, opposed items, confusions and slices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from voirdire._types import Share  # noqa: TC001  # what reads the JSON looks at the types
from voirdire.io.cells import label_text
from voirdire.stats import (
    PanelCounts,
    SliceResult,
    compare_slices,
    outlier_annotators,
    panel_items,
)
from voirdire.stats.diagnosis.confusion import (
    Binning,
    bin_numbers,
    confusion_counts,
    confusion_of_sets,
)
from voirdire.stats.diagnosis.panels import OpposedItem  # noqa: TC001  # read from JSON
from voirdire.stats.diagnosis.slices import item_gaps
from voirdire.stats.preparation import prepare
from voirdire.studies.examination import comparison_settings
from voirdire.studies.plan import TestPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from voirdire._types import AlignmentName, QuestionKind
    from voirdire.stats.agreement import PanelLevel
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.stats.label_arrays import LabelSets
    from voirdire.studies.label_matrix import LabelMatrix

__all__ = ["Diagnosis", "diagnose", "find_level"]

_MOST_LABELS = 30
"""Most labels of a multi-label question that are counted one by one."""

# Confusions -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LabelConfusion:
    """One label of a multi-label question: pairs of sets by which of the two contains it."""

    label: str
    both: int
    judge_only: int
    human_only: int
    neither: int


@dataclass(frozen=True, kw_only=True)
class ConfusionTable:
    """Annotators' labels (rows) by the judge's label (columns), over (item, annotator) pairs.

    Attributes
    ----------
    labels : tuple of str
        Names of rows and columns, at most 12; empty for label sets.
    counts : tuple of tuple of int
        One row and column more than `labels` where `n_other` is positive: all other labels.
    n_other : int
        Labels that are merged or not listed.
    n_pairs : int
        Pairs counted.
    binning : {"values", "nearest", "quantiles"} or None
        For scales how numbers became rows: each its own; the judge's to the nearest of the
        annotators'; fifths of the annotators' labels.
    per_label : tuple of LabelConfusion or None
        For label sets, at most 30 labels, the most frequent first.
    """

    labels: tuple[str, ...] = ()
    counts: tuple[tuple[int, ...], ...] = ()
    n_other: int
    n_pairs: int
    binning: Binning | None = None
    per_label: tuple[LabelConfusion, ...] | None = None


def _confusion_tables(matrix: LabelMatrix) -> list[ConfusionTable]:
    """Make the table of each judge; labels must repeat."""
    if matrix.label_sets is not None:
        return [
            _count_set_pairs(matrix, matrix.label_sets, answers) for answers in matrix.answers.T
        ]
    if find_level(matrix) == "interval":
        return [
            _count_code_pairs(humans, answers, _row_names(numbers, binning).__getitem__, binning)
            for binning, numbers, humans, answers in bin_numbers(matrix.humans, matrix.answers)
        ]
    return [
        _count_code_pairs(matrix.humans, answers, matrix.label_of) for answers in matrix.answers.T
    ]


def _row_names(numbers: NDArray[np.float64], binning: Binning) -> list[str]:
    texts = [f"{number:g}" for number in numbers.tolist()]
    if binning != "quantiles":
        return texts
    between = [f"over {low} to {high}" for low, high in pairwise(texts)]
    return [f"up to {texts[0]}", *between, f"over {texts[-1]}"]


def _count_code_pairs(
    humans: NDArray[Any],
    answers: NDArray[Any],
    name: Callable[[Any], str],
    binning: Binning | None = None,
) -> ConfusionTable:
    confusion = confusion_counts(answers, humans, in_order=binning is not None)
    return ConfusionTable(
        labels=tuple(name(code) for code in confusion.codes),
        counts=tuple(tuple(row) for row in confusion.counts.tolist()),
        n_other=confusion.n_other,
        n_pairs=confusion.n_pairs,
        binning=binning,
    )


def _count_set_pairs(matrix: LabelMatrix, sets: LabelSets, answers: NDArray[Any]) -> ConfusionTable:
    counts, n_pairs = confusion_of_sets(answers, matrix.humans, sets)
    frequency = 2 * counts["both"] + counts["judge_only"] + counts["human_only"]
    frequent = [label for label in np.argsort(-frequency, kind="stable") if frequency[label]]
    names = matrix.universe or ()
    rows = tuple(
        LabelConfusion(
            label=label_text(names[label]), **{kind: n[label].item() for kind, n in counts.items()}
        )
        for label in frequent[:_MOST_LABELS]
    )
    return ConfusionTable(n_other=len(frequent) - len(rows), n_pairs=n_pairs, per_label=rows)


# Slices ---------------------------------------------------------------------------------------

_MOST_VALUES = 20
_FEW_NUMBERS = 4
_Cut: TypeAlias = "tuple[list[str], NDArray[np.int64]]"
"""Names of the slices, and the slice of each item, or -1."""


@dataclass(frozen=True, kw_only=True)
class SkippedColumn:
    """A column that gave no slices, with the reason."""

    column: str
    reason: str


def _cut_items(
    frame: Any, columns: Sequence[str] | None, items: Sequence[str]
) -> tuple[dict[str, _Cut], tuple[SkippedColumn, ...], int]:
    """Make slices by every column of the metadata, and count items without metadata.

    Text and truth values with 2 to 20 distinct values give a slice per value; numbers do so up to 4
    distinct values, and give quarters beyond.
    """
    if frame is None:
        return {}, (), 0
    import polars as pl

    from voirdire.io.metadata import metadata_from_frame

    metadata = metadata_from_frame(frame, columns=columns)
    place = metadata.select("item").with_row_index("place")
    places = pl.DataFrame({"item": pl.Series(items, dtype=pl.String)}).join(
        place, on="item", how="left", maintain_order="left"
    )["place"]
    cuts: dict[str, _Cut] = {}
    skipped = []
    for column in metadata.iter_columns():
        if column.name == "item":
            continue
        cut = _cut(column.gather(places))
        if isinstance(cut, str):
            skipped.append(SkippedColumn(column=column.name, reason=cut))
        else:
            cuts[column.name] = cut
    return cuts, tuple(skipped), places.null_count()


def _cut(values: pl.Series) -> _Cut | str:
    """Make slices by one column, or return why there are none."""
    import polars as pl

    is_number = values.dtype == pl.Float64
    values = values.fill_nan(None) if is_number else values
    distinct = values.drop_nulls().unique().sort()
    if len(distinct) < 2:
        return "one value only" if len(distinct) else "no value for any item"
    if is_number and len(distinct) > _FEW_NUMBERS:
        return _cut_into_quarters(values.to_numpy(), distinct.to_numpy())
    if len(distinct) > _MOST_VALUES:
        return f"{len(distinct)} distinct values, more than {_MOST_VALUES}"
    names = [f"{x:.12g}" for x in distinct] if is_number else distinct.cast(pl.String).to_list()
    return names, (values.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy()


def _cut_into_quarters(numbers: NDArray[np.float64], distinct: NDArray[np.float64]) -> _Cut:
    quarters = (0.25, 0.5, 0.75)
    ends = np.unique(np.nanquantile(numbers, quarters, method="inverted_cdf"))
    ends = ends[ends < distinct[-1]]
    ends = ends if ends.size else distinct[-2:-1]  # most items have the largest value: cut below it
    slices = np.split(distinct, np.searchsorted(distinct, ends, side="right"))
    names = [" to ".join(f"{x:.12g}" for x in np.unique(part[[0, -1]])) for part in slices]
    return names, np.where(np.isnan(numbers), -1, np.searchsorted(ends, numbers))


# The diagnosis --------------------------------------------------------------------------------

_FREE_TEXT = "labels are free text, which does not repeat"


@dataclass(frozen=True, kw_only=True)
class AnnotatorDiagnosis:
    """One annotator compared with the others.

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
    p_value: Share
    outlier: bool
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class JudgeDiagnosis:
    """Diagnosis of one judge: unanimous and split items, labels, slices.

    Attributes
    ----------
    judge : str
        Who.
    panel : PanelCounts or None
        Unanimous and split items; None for free text.
    opposed : tuple of OpposedItem
        Unanimous items that the judge opposes: at most 50, those with most annotators first.
    confusion : ConfusionTable or None
        Annotators' labels by the judge's; None for free text.
    slices : tuple of SliceResult
        Column by column, with the names of column and value.
    reason : str or None
        Why a part is missing.
    """

    judge: str
    panel: PanelCounts | None
    opposed: tuple[OpposedItem, ...] = ()
    confusion: ConfusionTable | None = None
    slices: tuple[SliceResult, ...] = ()
    reason: str | None = None

    PLAIN: ClassVar = ("n_opposed",)

    @property
    def n_opposed(self) -> int:
        """Unanimous items that the judge opposes."""
        return 0 if self.panel is None else self.panel.n_opposed


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """Diagnosis of one question.

    Attributes
    ----------
    annotators : tuple of AnnotatorDiagnosis
        In the order of the matrix; empty for free text.
    judges : tuple of JudgeDiagnosis
        In the order of the matrix.
    slices_skipped : tuple of SkippedColumn
        Columns of the metadata that gave no slices.
    n_items_unknown : int
        Items without metadata; 0 where none are given.
    """

    annotators: tuple[AnnotatorDiagnosis, ...]
    judges: tuple[JudgeDiagnosis, ...]
    slices_skipped: tuple[SkippedColumn, ...] = ()
    n_items_unknown: int = 0

    @property
    def outliers(self) -> tuple[str, ...]:
        """Names of the outlier annotators."""
        return tuple(row.annotator for row in self.annotators if row.outlier)


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
        What the question asks for; by default what the matrix says.
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
    >>> from voirdire.studies.label_matrix import LabelMatrix
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
    plan = plan or TestPlan()
    cuts, skipped, n_unknown = _cut_items(metadata, columns, matrix.items)
    if (kind or matrix.kind) == "text":
        annotators: tuple[AnnotatorDiagnosis, ...] = ()
        judges = [
            JudgeDiagnosis(judge=judge, panel=None, reason=_FREE_TEXT) for judge in matrix.judges
        ]
    else:
        annotators = _annotators(matrix, plan.false_discovery_rate)
        judges = _judges(matrix, plan.min_annotators)
    slices = _slices(matrix, cuts, plan, alignment) if cuts else [()] * len(matrix.judges)
    return Diagnosis(
        annotators=annotators,
        judges=tuple(replace(row, slices=own) for row, own in zip(judges, slices, strict=True)),
        slices_skipped=skipped,
        n_items_unknown=n_unknown,
    )


def _judges(matrix: LabelMatrix, min_annotators: int) -> list[JudgeDiagnosis]:
    panels = panel_items(matrix.answers, matrix.humans, min_annotators=min_annotators)
    tables = _confusion_tables(matrix)
    return [
        JudgeDiagnosis(
            judge=judge,
            panel=panel.counts,
            opposed=tuple(
                replace(
                    row,
                    item=matrix.items[row.item],
                    panel_label=matrix.label_of(row.panel_label),
                    judge_label=matrix.label_of(row.judge_label),
                )
                for row in panel.opposed
            ),
            confusion=table,
        )
        for judge, panel, table in zip(matrix.judges, panels, tables, strict=True)
    ]


def find_level(matrix: LabelMatrix) -> PanelLevel:
    """Return the metric of a matrix's labels."""
    if matrix.label_sets is not None:
        return "sets"
    return "interval" if matrix.humans.dtype.kind == "f" else "nominal"


def _annotators(matrix: LabelMatrix, rate: float) -> tuple[AnnotatorDiagnosis, ...]:
    outliers = outlier_annotators(
        matrix.humans,
        level=find_level(matrix),
        label_sets=matrix.label_sets,
        clusters=matrix.clusters,
        false_discovery_rate=rate,
    )
    figures = {name: x.tolist() for name, x in vars(outliers).items() if name != "reasons"}
    return tuple(
        AnnotatorDiagnosis(annotator=name, reason=reason, **dict(zip(figures, row, strict=True)))
        for name, reason, *row in zip(
            matrix.annotators, outliers.reasons, *figures.values(), strict=True
        )
    )


def _slices(
    matrix: LabelMatrix,
    cuts: dict[str, _Cut],
    plan: TestPlan,
    alignment: AlignmentName | VectorizedScore,
) -> Iterator[tuple[SliceResult, ...]]:
    """Compare every judge's slices."""
    settings = comparison_settings(matrix, plan, alignment) | {"weights": None}
    columns = [(name, values) for name, (values, _) in cuts.items()]
    for gaps in item_gaps(prepare(matrix.answers, matrix.humans, **settings)):
        rows = compare_slices(
            gaps,
            [codes for _, codes in cuts.values()],
            clusters=matrix.clusters,
            confidence_level=plan.confidence_level,
            false_discovery_rate=plan.false_discovery_rate,
        )
        results = []
        for row in rows:
            column, values = columns[int(row.column)]
            results.append(replace(row, column=column, value=values[int(row.value)]))
        yield tuple(results)
