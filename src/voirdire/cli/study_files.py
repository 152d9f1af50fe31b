"""Files of labels and the plan of a test: how they are typed, and how those of a study are read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from voirdire._messages import shorten
from voirdire.cli.calls import require
from voirdire.cli.options import group_of
from voirdire.cli.printing import say_notes
from voirdire.io import Reading
from voirdire.studies import TestPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from voirdire._types import AlignmentName
    from voirdire.io import LabelTable
    from voirdire.studies.study import Study


@group_of("How labels are read", 2)
class ReadingOptions(Reading):
    """How files of labels are read."""


@group_of("The test", 3)
class PlanOptions(TestPlan):
    """The plan of the test."""


def check_streams(*sources: str | None) -> None:
    """Refuse standard input twice."""
    require(sources.count("-") < 2, "standard input (-) can be read once, got it twice.")


def read_files(
    humans: Sequence[str] | LabelTable,
    judges: Sequence[str],
    gold: str | LabelTable | None = None,
    *,
    reading: Reading,
    alignments: Sequence[AlignmentName] = (),
    questions: Sequence[str] = (),
    only: Sequence[str] = (),
    is_test: bool = False,
) -> Study:
    """Read annotations, judges (or only some of them) and gold labels.

    A test of judges needs several labels an item, and a note says where they are gold.
    """
    from voirdire.studies.study import notes_on_gold, read_study

    asked = {"reading": reading, "alignments": alignments, "questions": questions}
    study = read_study(humans, judges, gold, **asked)  # type: ignore[arg-type]
    say_notes([*study.notes, *(notes_on_gold(study, humans) if is_test else ())])
    lost = [name for name in only if name not in study.judges.raters]
    listed = ", ".join(repr(shorten(name)) for name in sorted(study.judges.raters)[:10])
    require(not lost, f"`--only` must be one of {listed}, got {lost and shorten(lost[0])!r}.")
    return replace(study, judges=study.judges.of_raters(only)) if only else study


def read_items(
    items: str | None, reading: Reading, slices: Sequence[str], *, streams: bool
) -> pl.DataFrame | None:
    """Read what is known about the items, if anything; of the columns only those to slice by."""
    if items is None:
        return None
    from voirdire.io import read_metadata

    return read_metadata(
        items,
        item=(reading.columns or {}).get("item"),
        columns=slices or None,
        format=reading.format if items == "-" or not streams else None,
    )
