"""The tables of the appendix, cut at a number of rows that the page declares."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.reporting.page.content import Annotator, Dropped, Examination
    from voirdire.reporting.page.grouping import Family, QuestionPart

__all__ = [
    "AnnotatorRow",
    "DropReason",
    "FamilyTables",
    "drop_reasons",
    "family_tables",
    "settings_rows",
]

MOST_ROWS = 1_500
"""Rows of one sort of table over the whole page: longer ones nobody reads; the JSON has all."""
_MOST_REASONS = 50
_VALUE_WIDTH = 200


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


@dataclass(frozen=True, kw_only=True)
class DropReason:
    """Why labels were set aside, how many, and where the first stood."""

    reason: str
    n_rows: int
    first: Dropped


def family_tables(parts: Sequence[QuestionPart]) -> list[FamilyTables]:
    """Lay out every figure, main alignments first, until the rows are used up."""
    families = [part.main for part in parts] + [other for part in parts for other in part.others]
    left_rows, left_annotators = MOST_ROWS, MOST_ROWS
    tables = []
    for family in families:
        rows = [row for judge in family.judges for row in judge.rows]
        people = [row for judge in family.judges for row in _annotator_rows(family, judge.judge)]
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


def _annotator_rows(family: Family, judge: str) -> list[AnnotatorRow]:
    rows = next(known.rows for known in family.judges if known.judge == judge)
    by_margin = {row.epsilon: {one.annotator: one for one in row.annotators} for row in rows}
    names = dict.fromkeys(name for people in by_margin.values() for name in people)
    found = []
    for name in names:
        cells = tuple(by_margin.get(margin, {}).get(name) for margin in family.epsilons)
        known = next(cell for cell in cells if cell is not None)
        found.append(AnnotatorRow(judge=judge, annotator=name, any=known, cells=cells))
    return found


def drop_reasons(dropped: Sequence[Dropped]) -> tuple[list[DropReason], int]:
    """Count what was set aside by reason; also how many other reasons there are."""
    counts = Counter(row.reason for row in dropped)
    first = {row.reason: row for row in reversed(dropped)}
    shown = [
        DropReason(reason=reason, n_rows=count, first=first[reason])
        for reason, count in counts.most_common(_MOST_REASONS)
    ]
    return shown, len(counts) - len(shown)


def settings_rows(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """List settings as text; nested ones under their names with dots."""
    rows: list[tuple[str, str]] = []
    for name, value in list(settings.items())[:_MOST_REASONS]:
        if isinstance(value, dict):
            inner = settings_rows(value)
            rows += [(f"{shorten(name, width=40)}.{key}", text) for key, text in inner]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for number, entry in enumerate(value[:_MOST_REASONS], start=1):
                inner = settings_rows(entry) if isinstance(entry, dict) else []
                rows += [(f"{shorten(name, width=40)}.{number}.{key}", text) for key, text in inner]
        else:
            rows.append((shorten(name, width=40), _as_text(value)))
    return rows


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        shown = ", ".join(_as_text(each) for each in value[:_MOST_REASONS])
        return shorten(shown, width=_VALUE_WIDTH)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "–" if value is None else shorten(str(value), width=_VALUE_WIDTH)
