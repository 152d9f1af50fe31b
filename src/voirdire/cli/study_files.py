"""Files of labels: how they are typed, and how those of a study are read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from cyclopts import Group

from voirdire._messages import shorten
from voirdire.cli.option_groups import Labels, option_group, pairs_of, with_spelling
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.shell import UsageError, say
from voirdire.io import Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from voirdire._types import AlignmentName
    from voirdire.io import LabelTable
    from voirdire.studies.study import Study

    ReadingOptions: TypeAlias = Reading
else:
    ReadingOptions = option_group(
        Reading,
        panel=Group("How labels are read", sort_key=2),
        labels=Labels,
        columns=with_spelling("--column", pairs_of(str, named="OURS")),
        raters=with_spelling("--rater", list[str] | None, metavar="COLUMN"),
        judge_columns=with_spelling("--judge-column", list[str] | None, metavar="COLUMN"),
        missing=with_spelling("--missing", list[str], metavar="WORD"),
    )

__all__ = [
    "ReadingOptions",
    "check_streams",
    "declare_kind",
    "read_files",
    "read_items",
]


def check_streams(*sources: str | None) -> None:
    """Refuse standard input twice."""
    if sources.count("-") > 1:
        msg = "standard input (-) can be read once, got it twice."
        raise UsageError(msg)


def declare_kind(reading: Reading, alignments: Sequence[AlignmentName]) -> Reading:
    """Take the kind declared, or that of the alignments; else the labels say."""
    from voirdire.studies.examination import kind_of

    needed = {kind_of(alignment) for alignment in alignments} - {"choice"}
    if len(needed) > 1:
        msg = f"`--alignment` must suit one kind of question, got {', '.join(alignments)}."
        raise UsageError(msg)
    if reading.kind is None:
        return replace(reading, kind=needed.pop()) if needed else reading
    if needed - {reading.kind}:
        msg = f"`--kind` must be {needed.pop()} for {', '.join(alignments)}, got {reading.kind}."
        raise UsageError(msg)
    return reading


def read_files(
    humans: Sequence[str] | LabelTable,
    judges: Sequence[str],
    gold: str | LabelTable | None = None,
    *,
    reading: Reading,
    questions: Sequence[str] = (),
    only: Sequence[str] = (),
) -> Study:
    """Read annotations, judges (or only some of them) and gold labels."""
    listen_for_interrupts()
    from voirdire.studies.study import read_study

    study = read_study(humans, judges, gold, reading=reading, questions=questions)
    for note in study.notes:
        say(f"note: {note}")
    lost = [name for name in only if name not in study.judges.raters]
    if lost:
        listed = ", ".join(repr(shorten(name)) for name in sorted(study.judges.raters)[:10])
        msg = f"`--only` must be one of {listed}, got {shorten(lost[0])!r}."
        raise UsageError(msg)
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
