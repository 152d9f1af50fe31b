"""Look behind the figures of one question: odd annotators, sure items, confusions and slices."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from voirdire.io.cells import label_text
from voirdire.stats import compare_slices, outlier_annotators, panel_items
from voirdire.stats.diagnosis.confusion import (
    NumberBins,
    bin_codes,
    confusion_counts,
    confusion_of_sets,
)
from voirdire.stats.diagnosis.panel_items import item_gaps
from voirdire.stats.diagnosis.slices import quartile_codes
from voirdire.stats.preparation import prepare
from voirdire.studies.examination import comparison_settings
from voirdire.studies.plan import TestPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from voirdire._types import AlignmentName, QuestionKind
    from voirdire.stats import PanelCounts, PanelItems
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.stats.diagnosis.confusion import Binning
    from voirdire.stats.diagnosis.panel_items import DiagnosisLevel
    from voirdire.stats.label_sets import LabelSets
    from voirdire.studies.label_matrix import LabelMatrix

__all__ = ["Diagnosis", "diagnose"]


# Confusions -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LabelConfusion:
    """One label of a multi-label question: pairs of sets by which of the two holds it."""

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
        Labels that are not told apart, or not listed.
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
    """Make the table of each judge; the labels must be ones that repeat."""
    columns = matrix.answers.T
    if matrix.label_sets is not None:
        return [_of_sets(matrix, matrix.label_sets, answers) for answers in columns]
    if matrix.humans.dtype.kind == "f":
        return _of_numbers(matrix)
    name = _label_namer(matrix)
    size = len(matrix.categories)
    return [_of_codes(matrix.humans, answers, name, n_codes=size) for answers in columns]


def _label_namer(matrix: LabelMatrix) -> Callable[[Any], str]:
    """Make a function that shows a label: a number, or the label behind a code."""
    if not matrix.categories:
        return lambda number: f"{float(number):g}"
    return lambda code: label_text(matrix.categories[int(code)])


def _of_codes(
    humans: NDArray[Any],
    answers: NDArray[Any],
    name: Callable[[Any], str],
    *,
    n_codes: int,
    binning: Binning | None = None,
) -> ConfusionTable:
    found = confusion_counts(answers, humans, n_codes=n_codes, in_order=binning is not None)
    return ConfusionTable(
        labels=tuple(name(code) for code in found.codes),
        counts=tuple(tuple(row) for row in found.counts.tolist()),
        n_other=found.n_other,
        n_pairs=found.n_pairs,
        binning=binning,
    )


def _of_numbers(matrix: LabelMatrix) -> list[ConfusionTable]:
    bins = NumberBins.of(matrix.humans)
    coded: dict[bytes, NDArray[Any]] = {}  # judges mostly share their rows
    tables = []
    for answers in matrix.answers.T:
        binning, numbers = bins.beside(answers)
        key = numbers.tobytes()
        if key not in coded:
            coded[key] = np.stack(
                [bin_codes(column, numbers, binning=binning) for column in matrix.humans.T], axis=1
            )
        name = _number_namer(numbers, binning)
        tables.append(
            _of_codes(
                coded[key],
                bin_codes(answers, numbers, binning=binning),
                name,
                n_codes=len(numbers) + 1,
                binning=binning,
            )
        )
    return tables


def _number_namer(numbers: NDArray[np.float64], binning: Binning) -> Callable[[Any], str]:
    texts = [f"{number:g}" for number in numbers.tolist()]
    if binning != "quantiles":
        return lambda code: texts[int(code)]
    ranges = [
        f"up to {texts[0]}",
        *(f"over {low} to {high}" for low, high in pairwise(texts)),
        f"over {texts[-1]}",
    ]
    return lambda code: ranges[int(code)]


def _of_sets(matrix: LabelMatrix, sets: LabelSets, answers: NDArray[Any]) -> ConfusionTable:
    found = confusion_of_sets(answers, matrix.humans, label_sets=sets)
    universe = matrix.universe or ()
    rows = tuple(
        LabelConfusion(
            label=label_text(universe[row.label]),
            both=row.both,
            judge_only=row.judge_only,
            human_only=row.human_only,
            neither=row.neither,
        )
        for row in found.labels
    )
    return ConfusionTable(n_other=found.n_other, n_pairs=found.n_pairs, per_label=rows)


# Slices ---------------------------------------------------------------------------------------

_MOST_VALUES = 20
_FEW_NUMBERS = 4


@dataclass(frozen=True, kw_only=True)
class SliceColumn:
    """One way to cut the items: the names of the slices, and the slice of each item or -1."""

    name: str
    values: tuple[str, ...]
    codes: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class SkippedColumn:
    """A column by which the items were not cut, and why."""

    column: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Slicing:
    """Every way to cut the items.

    Attributes
    ----------
    columns : tuple of SliceColumn
        The columns that were used.
    skipped : tuple of SkippedColumn
        Those that were not.
    n_unknown : int
        Items about which nothing is known.
    """

    columns: tuple[SliceColumn, ...] = ()
    skipped: tuple[SkippedColumn, ...] = ()
    n_unknown: int = 0


def _slice_items(metadata: pl.DataFrame, items: Sequence[str]) -> Slicing:
    """Cut items by every column of their metadata.

    Text and truth values with 2 to 20 distinct values give a slice per value; numbers do so up to
    4 distinct values, and are cut into quarters beyond.

    Parameters
    ----------
    metadata : polars.DataFrame
        As `voirdire.io.read_metadata` gives it.
    items : sequence of str
        The items, in the order of the matrix.
    """
    import polars as pl

    place = metadata.select("item").with_row_index("place")
    wanted = pl.DataFrame({"item": pl.Series(items, dtype=pl.String)})
    found = wanted.join(place, on="item", how="left", maintain_order="left")["place"]
    columns: list[SliceColumn] = []
    skipped: list[SkippedColumn] = []
    for position, name in enumerate(metadata.columns):
        if name == "item":
            continue
        values = metadata.to_series(position).gather(found)
        cut = _cut_numbers(values) if values.dtype == pl.Float64 else _cut_texts(values)
        if isinstance(cut, str):
            skipped.append(SkippedColumn(column=name, reason=cut))
        else:
            columns.append(SliceColumn(name=name, values=tuple(cut[0]), codes=cut[1]))
    return Slicing(columns=tuple(columns), skipped=tuple(skipped), n_unknown=found.null_count())


def _cut_texts(values: pl.Series) -> tuple[list[str], NDArray[np.int64]] | str:
    import polars as pl

    distinct = values.drop_nulls().unique().sort()
    if len(distinct) < 2:
        return _too_few(len(distinct))
    if len(distinct) > _MOST_VALUES:
        return f"{len(distinct)} distinct values, more than {_MOST_VALUES}"
    codes = values.replace_strict(
        distinct, pl.Series(range(len(distinct))), default=-1, return_dtype=pl.Int64
    )
    return distinct.cast(pl.String).to_list(), codes.fill_null(-1).to_numpy()


def _cut_numbers(values: pl.Series) -> tuple[list[str], NDArray[np.int64]] | str:
    numbers = values.fill_null(float("nan")).to_numpy()
    distinct = np.unique(numbers[~np.isnan(numbers)])
    if len(distinct) < 2:
        return _too_few(len(distinct))
    if len(distinct) <= _FEW_NUMBERS:
        codes = np.searchsorted(distinct, numbers)
        codes[np.isnan(numbers)] = -1
        return [_number_text(x) for x in distinct.tolist()], codes
    codes = quartile_codes(numbers)
    ends = [
        (numbers[codes == code].min(), numbers[codes == code].max())
        for code in range(int(codes.max()) + 1)
    ]
    return [_range_text(float(low), float(high)) for low, high in ends], codes


def _too_few(n_values: int) -> str:
    return "one value only" if n_values else "no value for any item"


def _range_text(low: float, high: float) -> str:
    if low == high:
        return _number_text(low)
    return f"{_number_text(low)} to {_number_text(high)}"


def _number_text(number: float) -> str:
    return f"{number:.12g}"


# The diagnosis --------------------------------------------------------------------------------

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


@dataclass(frozen=True, kw_only=True)
class OpposedItemDiagnosis:
    """An item on which the judge opposes a unanimous panel."""

    item: str
    panel_label: str
    judge_label: str
    n_annotators: int


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

    PLAIN: ClassVar = ("n_opposed",)

    @property
    def n_opposed(self) -> int:
        """Unanimous items that the judge opposes."""
        return 0 if self.panel is None else self.panel.n_opposed


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
    from voirdire.io.metadata import metadata_from_frame

    plan = plan or TestPlan()
    level = _level(matrix, alignment, kind)
    slicing = Slicing()
    if metadata is not None:
        known = metadata_from_frame(metadata, columns=columns)
        slicing = _slice_items(known, matrix.items)
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
    tables = _confusion_tables(matrix)
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
    name = _label_namer(matrix)
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
