"""Files of labels: how they are typed, and how those of a study are read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from cyclopts import Group

from voirdire._validation import shorten
from voirdire.cli.option_groups import Labels, option_group, pairs_of, spelled
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.shell import UsageError, say
from voirdire.io import Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from voirdire._types import AlignmentName
    from voirdire.io import LabelTable, Role

    ReadingOptions: TypeAlias = Reading
else:
    ReadingOptions = option_group(
        Reading,
        panel=Group("How labels are read", sort_key=2),
        labels=Labels,
        columns=spelled("--column", pairs_of(str, named="OURS")),
        raters=spelled("--rater", list[str] | None, metavar="COLUMN"),
        judge_columns=spelled("--judge-column", list[str] | None, metavar="COLUMN"),
        missing=spelled("--missing", list[str], metavar="WORD"),
    )

_RATERS = ("rater", "annotator", "judge")
__all__ = ["ReadingOptions", "Study", "declare_kind", "read_items", "read_judges", "read_study"]


@dataclass(frozen=True, kw_only=True)
class Study:
    """What the files hold."""

    humans: LabelTable
    judges: LabelTable
    gold: LabelTable | None

    @property
    def judge_names(self) -> list[str]:
        """Names of the judges, in the order of the files."""
        return self.judges.raters


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


def read_study(
    humans: Sequence[str],
    judges: Sequence[str],
    gold: str | None = None,
    *,
    reading: Reading,
    questions: Sequence[str] = (),
    only: Sequence[str] = (),
) -> Study:
    """Read annotations, judges (or only some of them) and gold labels."""
    listen_for_interrupts()
    streams = "-" in [*humans, *judges, gold]
    people = _read(humans, replace(reading, threshold=None), questions, streams, "annotator")
    as_judges = replace(reading, kind=people.kind, raters=None, cluster=None)
    unnamed = {ours: x for ours, x in (reading.columns or {}).items() if ours not in _RATERS}
    as_gold = replace(as_judges, columns=unnamed, threshold=None, judge_columns=None)
    return Study(
        humans=people,
        judges=_only(_read(judges, as_judges, questions, streams, "judge"), only),
        gold=None
        if gold is None
        else _read([gold], as_gold, questions, streams, "judge", rater_name="gold"),
    )


def read_judges(
    files: Sequence[str], *, reading: Reading, questions: Sequence[str], only: Sequence[str]
) -> LabelTable:
    """Read judges alone, or only some of them."""
    listen_for_interrupts()
    return _only(_read(files, reading, questions, "-" in files, "judge"), only)


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


def _read(
    sources: Sequence[str],
    reading: Reading,
    asked: Sequence[str],
    streams: bool,
    role: Role,
    *,
    rater_name: str | None = None,
) -> LabelTable:
    """Read files under each other, each question by itself: others may be of another kind.

    A declared format is that of standard input where that is read, else of every file.
    """
    from voirdire.io.labels import join_tables, split_raters
    from voirdire.studies.aligning import read_tables

    one_pass = len(asked) > 1 and "-" in sources  # a stream is read only once
    tables = read_tables(
        sources,
        role=role,
        reading=lambda x: reading if x == "-" or not streams else replace(reading, format=None),
        questions=() if one_pass else asked,
        rater_name=rater_name,
    )
    for rater, counted in split_raters(tables).items():
        where = ", ".join(f"{n_items:,} items in {name}" for name, n_items in counted.items())
        say(f"note: {shorten(rater)!r} has verdicts on {where}: one judge.")
    return join_tables(tables)


def _only(table: LabelTable, judges: Sequence[str]) -> LabelTable:
    if not judges:
        return table
    lost = [name for name in judges if name not in table.raters]
    if lost:
        listed = ", ".join(repr(shorten(name)) for name in sorted(table.raters)[:10])
        msg = f"`--only` must be one of {listed}, got {shorten(lost[0])!r}."
        raise UsageError(msg)
    return table.of_raters(judges)
