"""The tables of the appendix, cut at a number of rows that the page declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.reporting.page.content import Annotator, Examination
    from voirdire.reporting.page.grouping import Family, JudgeRows, QuestionPart

__all__ = [
    "AnnotatorRow",
    "FamilyTables",
    "family_tables",
]

MOST_ROWS = 1_500
"""Rows of one sort of table over the whole page: longer ones nobody reads; the JSON has all."""


@dataclass(frozen=True, kw_only=True)
class AnnotatorRow:
    """One judge against one annotator: one cell per margin, None where not tested."""

    judge: str
    annotator: str
    any: Annotator
    cells: tuple[Annotator | None, ...]


@dataclass(frozen=True, kw_only=True)
class FamilyTables:
    """The tables of one question and alignment."""

    family: Family
    rows: tuple[Examination, ...]
    n_rows: int
    annotators: tuple[AnnotatorRow, ...]
    n_annotators: int


def family_tables(parts: Sequence[QuestionPart]) -> list[FamilyTables]:
    """Lay out every figure, main alignments first, until the rows are used up."""
    families = [part.main for part in parts] + [other for part in parts for other in part.others]
    left_rows, left_annotators = MOST_ROWS, MOST_ROWS
    tables = []
    for family in families:
        rows = [row for judge in family.judges for row in judge.rows]
        people = [row for judge in family.judges for row in _annotator_rows(family, judge)]
        tables.append(
            FamilyTables(
                family=family,
                rows=tuple(rows[:left_rows]),
                n_rows=len(rows),
                annotators=tuple(people[:left_annotators]),
                n_annotators=len(people),
            )
        )
        left_rows = max(left_rows - len(rows), 0)
        left_annotators = max(left_annotators - len(people), 0)
    return tables


def _annotator_rows(family: Family, judge: JudgeRows) -> list[AnnotatorRow]:
    by_margin = {row.epsilon: {one.annotator: one for one in row.annotators} for row in judge.rows}
    known = {name: one for people in by_margin.values() for name, one in people.items()}
    return [
        AnnotatorRow(
            judge=judge.judge,
            annotator=name,
            any=one,
            cells=tuple(by_margin.get(margin, {}).get(name) for margin in family.margins),
        )
        for name, one in known.items()
    ]
