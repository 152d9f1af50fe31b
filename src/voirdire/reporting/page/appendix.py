"""The tables of the appendix, cut at a number of rows that the page declares."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from voirdire.reporting.page.shown import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.reporting.page.content import Annotator, Dropped, Examination
    from voirdire.reporting.page.grouping import Family, JudgeRows, QuestionPart

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
_MOST_SETTINGS = 300
_MOST_LISTED = 20
_DEEPEST = 3
_MOST_SHOWN = 10**40


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
    """List settings as text, the first 300; nested ones under their names with dots."""
    return list(islice(_settings(settings, prefix="", depth=1), _MOST_SETTINGS))


def _settings(value: Any, *, prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    for name, each in _entries(value):
        here = f"{prefix}{one_line(str(name), width=40)}"
        inner = isinstance(each, dict) or (isinstance(each, list) and _has_objects(each))
        if inner and each and depth < _DEEPEST:
            yield from _settings(each, prefix=f"{here}.", depth=depth + 1)
        else:
            yield here, _as_text(each)


def _entries(value: dict[str, Any] | list[Any]) -> Iterator[tuple[Any, Any]]:
    return iter(value.items()) if isinstance(value, dict) else iter(enumerate(value, start=1))


def _has_objects(value: list[Any]) -> bool:
    return any(isinstance(each, dict) for each in value[:_MOST_LISTED])


def _as_text(value: Any) -> str:
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        shown = ", ".join(_as_text(each) for each in value[:_MOST_LISTED])
        more = len(value) - _MOST_LISTED
        return one_line(f"{shown}, … ({more:,})" if more > 0 else shown, width=_VALUE_WIDTH)
    if isinstance(value, dict | list):
        return f"an {'object' if isinstance(value, dict) else 'array'} of {len(value):,}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) > _MOST_SHOWN:
        return "…"
    return "–" if value is None else one_line(str(value), width=_VALUE_WIDTH)
