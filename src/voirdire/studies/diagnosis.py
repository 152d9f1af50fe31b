"""Diagnoses one question: outlier annotators, sure and split items, and slices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from voirdire._types import Share  # noqa: TC001  # what reads the JSON looks at the types
from voirdire.stats import (
    AnnotatorDiagnosis,
    BrierDecomposition,
    PanelCounts,
    SliceResult,
    compare_slices,
    count_panels,
    decompose_brier,
    outlier_annotators,
)
from voirdire.stats.comparison import compare_labels
from voirdire.stats.diagnosis import item_gaps
from voirdire.stats.intervals import take_units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire._types import AlignmentName
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.stats.plan import TestPlan
    from voirdire.studies.label_matrix import LabelMatrix

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
    metadata: pl.DataFrame | None, items: Sequence[str]
) -> tuple[dict[str, _Cut], tuple[SkippedColumn, ...], int]:
    """Make slices by every column of the metadata, and count items without metadata.

    Text and truth values with 2 to 20 distinct values give a slice per value; numbers do so up to 4
    distinct values, and give quarters beyond.
    """
    if metadata is None:
        return {}, (), 0
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
    is_number = values.dtype == pl.Float64
    values = values.fill_nan(None) if is_number else values
    distinct = values.drop_nulls().unique().sort()
    if len(distinct) < 2:
        return "one value only" if len(distinct) else "no value for any item"
    if is_number and len(distinct) > _FEW_NUMBERS:
        numbers, known = values.to_numpy(), distinct.to_numpy()
        ends = np.unique(np.nanquantile(numbers, (0.25, 0.5, 0.75), method="inverted_cdf"))
        ends = ends[ends < known[-1]]
        ends = ends if ends.size else known[-2:-1]  # most have the largest value: cut below it
        slices = np.split(known, np.searchsorted(known, ends, side="right"))
        names = [" to ".join(f"{x:.12g}" for x in np.unique(part[[0, -1]])) for part in slices]
        return names, np.where(np.isnan(numbers), -1, np.searchsorted(ends, numbers))
    if len(distinct) > _MOST_VALUES:
        return f"{len(distinct)} distinct values, more than {_MOST_VALUES}"
    names = [f"{x:.12g}" for x in distinct] if is_number else distinct.cast(pl.String).to_list()
    return names, (values.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy()


# The diagnosis --------------------------------------------------------------------------------

_FREE_TEXT = "labels are free text, which does not repeat"


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


def diagnose(
    matrix: LabelMatrix,
    plan: TestPlan,
    *,
    alignment: AlignmentName | VectorizedScore,
    metadata: pl.DataFrame | None = None,
) -> tuple[Diagnosis, tuple[SliceReliability, ...]]:
    """Diagnose the annotators and the judges of one question, in slices by the metadata.

    A judge's failures take part in nothing here, and neither do imbalance weights. Where judges
    state probabilities, these are measured in every slice too.
    """
    cuts, skipped, n_unknown = _cut_items(metadata, matrix.items)
    is_text = matrix.kind == "text"
    panels: Sequence[PanelCounts | None] = [None] * len(matrix.judges)
    if not is_text:
        panels = count_panels(matrix.answers, matrix.humans, min_annotators=plan.min_annotators)
    slices: list[tuple[SliceResult, ...]] = [()] * len(matrix.judges)
    if cuts:
        labels = compare_labels(
            matrix.answers,
            matrix.humans,
            plan=replace(plan, weights=None),
            annotators=matrix.annotators,
            **matrix.arrays(alignment),
        )
        gaps = item_gaps(labels)
        slices = [_compare_slices(own, cuts, matrix, plan) for own in gaps]
    diagnosis = Diagnosis(
        annotators=diagnose_annotators(matrix, plan.false_discovery_rate),
        judges=tuple(
            JudgeDiagnosis(
                judge=judge, panel=panel, slices=own, reason=_FREE_TEXT if is_text else None
            )
            for judge, panel, own in zip(matrix.judges, panels, slices, strict=True)
        ),
        slices_skipped=skipped,
        n_items_unknown=n_unknown,
    )
    return diagnosis, tuple(_measure_slices(matrix, cuts, plan.confidence_level))


def diagnose_annotators(matrix: LabelMatrix, rate: float) -> tuple[AnnotatorDiagnosis, ...]:
    """Compare every annotator with the others at a false discovery rate; not for free text."""
    if matrix.kind == "text":
        return ()
    return outlier_annotators(
        matrix.humans,
        level=matrix.level,
        label_sets=matrix.label_sets,
        clusters=matrix.clusters,
        false_discovery_rate=rate,
        annotators=matrix.annotators,
    )


def _compare_slices(
    gaps: NDArray[np.float64], cuts: dict[str, _Cut], matrix: LabelMatrix, plan: TestPlan
) -> tuple[SliceResult, ...]:
    columns = [(name, values) for name, (values, _) in cuts.items()]
    rows = compare_slices(
        gaps,
        [codes for _, codes in cuts.values()],
        clusters=matrix.clusters,
        confidence_level=plan.confidence_level,
        false_discovery_rate=plan.false_discovery_rate,
    )
    named = [(*columns[int(row.column)], row) for row in rows]
    return tuple(
        replace(row, column=column, value=values[int(row.value)]) for column, values, row in named
    )


# Reliability ----------------------------------------------------------------------------------

_FEWEST_ITEMS = 10


@dataclass(frozen=True, kw_only=True)
class SliceReliability:
    """How far a judge's probabilities can be taken at their word in one slice of the items.

    Attributes
    ----------
    judge : str
        Whose probabilities.
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
    column: str
    value: str
    mean_probability: Share
    share: Share
    brier: BrierDecomposition


def _measure_slices(
    matrix: LabelMatrix, cuts: dict[str, _Cut], confidence_level: float
) -> Iterator[SliceReliability]:
    """Measure the probabilities of each judge in every slice with at least 10 items."""
    if matrix.kind != "boolean" or matrix.probabilities is None:
        return
    truth = np.array([*map(bool, matrix.categories), False])[matrix.majority]
    for judge, stated in zip(matrix.judges, matrix.probabilities.T, strict=True):
        is_known = ~np.isnan(stated) & (matrix.majority >= 0)
        for column, (names, codes) in cuts.items():
            for place, value in enumerate(names):
                rows = is_known & (codes == place)
                if rows.sum() < _FEWEST_ITEMS:
                    continue
                yield SliceReliability(
                    judge=judge,
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
