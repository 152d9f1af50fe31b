"""Diagnoses one question: outlier annotators, sure and split items, and slices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from voirdire._types import Share  # noqa: TC001  # what reads the JSON looks at the types
from voirdire.stats import (
    BrierDecomposition,
    PanelCounts,
    SliceResult,
    compare_slices,
    count_panels,
    decompose_brier,
    majority_shares,
    outlier_annotators,
)
from voirdire.stats.diagnosis import item_gaps
from voirdire.stats.intervals import take_units
from voirdire.stats.plan import TestPlan
from voirdire.stats.preparation import LabelArrays, prepare
from voirdire.studies.examination import label_arrays

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from voirdire._types import AlignmentName, QuestionKind
    from voirdire.stats.agreement import PanelLevel
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.studies.label_matrix import LabelMatrix

__all__ = [
    "Diagnosis",
    "SliceReliability",
    "diagnose",
    "find_level",
    "find_majority",
    "measure_slices",
]

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
    """Diagnosis of one judge: unanimous and split items, slices.

    Attributes
    ----------
    judge : str
        Who.
    panel : PanelCounts or None
        Unanimous and split items; None for free text.
    slices : tuple of SliceResult
        Column by column, with the names of column and value.
    reason : str or None
        Why a part is missing.
    """

    judge: str
    panel: PanelCounts | None
    slices: tuple[SliceResult, ...] = ()
    reason: str | None = None


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
        similarity), and the false discovery rate and confidence level.
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
    A judge's failures take part in nothing here, and neither do imbalance weights.

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
    >>> judge.panel.n_unanimous, judge.panel.n_opposed
    (57, 3)
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
        panels = count_panels(matrix.answers, matrix.humans, min_annotators=plan.min_annotators)
        judges = [
            JudgeDiagnosis(judge=judge, panel=panel)
            for judge, panel in zip(matrix.judges, panels, strict=True)
        ]
    slices = _slices(matrix, cuts, plan, alignment) if cuts else [()] * len(matrix.judges)
    return Diagnosis(
        annotators=annotators,
        judges=tuple(replace(row, slices=own) for row, own in zip(judges, slices, strict=True)),
        slices_skipped=skipped,
        n_items_unknown=n_unknown,
    )


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
    labels = LabelArrays(
        judges=matrix.answers,
        humans=matrix.humans,
        annotators=matrix.annotators,
        **label_arrays(matrix, alignment),
    )
    prepared = prepare(labels, replace(plan, weights=None))
    columns = [(name, values) for name, (values, _) in cuts.items()]
    for gaps in item_gaps(prepared):
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


# Reliability ----------------------------------------------------------------------------------

_FEWEST_ITEMS = 10


@dataclass(frozen=True, kw_only=True)
class SliceReliability:
    """How far a judge's probabilities can be taken at their word in one slice of the items.

    Attributes
    ----------
    judge, question : str
        Whose probabilities, and of what.
    column, value : str
        Which slice.
    mean_probability : float
        What the judge states on average, in [0, 1].
    share : float
        How often the annotators' majority says yes, in [0, 1].
    brier : BrierDecomposition
        Brier score, reliability and calibration error in this slice.
    """

    judge: str
    question: str
    column: str
    value: str
    mean_probability: Share
    share: Share
    brier: BrierDecomposition


def find_majority(matrix: LabelMatrix) -> NDArray[np.intp]:
    """Return the code that most annotators give each item; -1 for a tie."""
    shares = majority_shares(matrix.humans, n_labels=max(len(matrix.categories), 2))
    return np.where(np.nanmax(shares, axis=1, initial=0.0) == 1, shares.argmax(axis=1), -1)


def measure_slices(
    matrix: LabelMatrix,
    *,
    question: str,
    metadata: Any,
    columns: Sequence[str] | None = None,
    confidence_level: float = 0.95,
) -> Iterator[SliceReliability]:
    """Measure the probabilities of each judge in every slice with at least 10 items."""
    if matrix.kind != "boolean" or matrix.probabilities is None:
        return
    cuts, _, _ = _cut_items(metadata, columns, matrix.items)
    truth = np.array([*map(bool, matrix.categories), False])[majority := find_majority(matrix)]
    for judge, stated in zip(matrix.judges, matrix.probabilities.T, strict=True):
        is_known = ~np.isnan(stated) & (majority >= 0)
        for column, (names, codes) in cuts.items():
            for place, value in enumerate(names):
                rows = is_known & (codes == place)
                if rows.sum() < _FEWEST_ITEMS:
                    continue
                yield SliceReliability(
                    judge=judge,
                    question=question,
                    column=column,
                    value=value,
                    mean_probability=float(stated[rows].mean()),
                    share=float(truth[rows].mean()),
                    brier=decompose_brier(
                        stated[rows],
                        truth[rows],
                        groups=take_units(matrix.clusters, rows),
                        confidence_level=confidence_level,
                    ),
                )
