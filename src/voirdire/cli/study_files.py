"""Files of labels: how they are typed, and how those of a study are read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from cyclopts import Group

from voirdire._validation import shorten
from voirdire.cli.option_groups import Labels, option_group, pairs_of, spelled
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.shell import UsageError, say
from voirdire.errors import InputError
from voirdire.io import Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from voirdire._types import AlignmentName
    from voirdire.io import LabelTable

    ReadingOptions: TypeAlias = Reading
else:
    ReadingOptions = option_group(
        Reading,
        panel=Group("How labels are read", sort_key=2),
        labels=Labels,
        columns=spelled("--column", pairs_of(str, named="OURS")),
        raters=spelled("--rater", list[str] | None, metavar="COLUMN"),
        missing=spelled("--missing", list[str], metavar="WORD"),
    )

_RATERS = ("rater", "annotator", "judge")
__all__ = ["ReadingOptions", "Study", "declare_kind", "read_items", "read_study"]


@dataclass(frozen=True, kw_only=True)
class Study:
    """What the files hold."""

    humans: LabelTable
    judges: LabelTable
    gold: LabelTable | None

    @property
    def judge_names(self) -> list[str]:
        """Names of the judges, in the order of the files."""
        return _raters(self.judges)


def declare_kind(reading: Reading, alignments: Sequence[AlignmentName]) -> Reading:
    """Take the kind that was declared, or the one kind that the alignments declare together."""
    from voirdire.studies.examination import kind_of

    needed = {kind_of(alignment) for alignment in alignments} - {"choice"}
    if len(needed) > 1:
        msg = f"`--alignment` must suit one kind of question, got {', '.join(alignments)}."
        raise UsageError(msg)
    if reading.kind is None:
        return replace(reading, kind=needed.pop() if needed else "choice")
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
    from voirdire.io.folders import files_of

    listen_for_interrupts()
    files = [str(file) for source in judges for file in files_of(source)]
    as_humans = replace(reading, threshold=None)
    as_judges = replace(reading, raters=None, cluster=None)
    unnamed = {ours: x for ours, x in (reading.columns or {}).items() if ours not in _RATERS}
    as_gold = replace(as_judges, columns=unnamed, threshold=None)
    streams = "-" in [*humans, *judges, gold]
    return Study(
        humans=_read(humans, as_humans, questions, streams=streams, role="annotator"),
        judges=_only(_read(files, as_judges, questions, streams=streams, role="judge"), only),
        gold=None
        if gold is None
        else _read([gold], as_gold, questions, streams=streams, role="judge", rater_name="gold"),
    )


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
    *,
    streams: bool,
    **settings: Any,
) -> LabelTable:
    """Read files under each other, each question by itself: others may be of another kind.

    A declared format is that of standard input where that is read, else of every file.
    """
    from voirdire.io import join_tables, read_labels
    from voirdire.io.provenance import split_raters

    one_pass = len(asked) > 1 and "-" in sources  # a stream is read only once
    questions = () if one_pass else asked
    tables = [
        read_labels(
            source,
            reading=reading if source == "-" or not streams else replace(reading, format=None),
            question=question,
            **settings,
        )
        for source in sources
        for question in (questions or (None,))
    ]
    _check_apart(tables, questions)
    if len(tables) == 1:
        return tables[0]
    joined = join_tables(tables)
    for rater, counted in split_raters(tables).items():
        where = ", ".join(f"{n_items:,} items in {name}" for name, n_items in counted.items())
        say(f"note: {shorten(rater)!r} has verdicts on {where}: one judge.")
    return joined


def _check_apart(tables: Sequence[LabelTable], questions: Sequence[str]) -> None:
    """Refuse to take one file without questions for several: its labels would count twice."""
    if len(questions) > 1 and len(tables) > 1:
        first, second = (table.frame.drop("question") for table in tables[:2])
        if first.equals(second):
            msg = "`--question` must be given once for files without a column `question`."
            raise InputError(msg)


def _raters(table: LabelTable) -> list[str]:
    return [str(name) for name in table.frame["rater"].unique(maintain_order=True).to_list()]


def _only(table: LabelTable, judges: Sequence[str]) -> LabelTable:
    if not judges:
        return table
    known = _raters(table)
    lost = [name for name in judges if name not in known]
    if lost:
        listed = ", ".join(repr(shorten(name)) for name in sorted(known)[:10])
        msg = f"`--only` must be one of {listed}, got {shorten(lost[0])!r}."
        raise InputError(msg)
    return replace(
        table,
        frame=table.frame.filter(table.frame["rater"].is_in(list(judges))),
        dropped=tuple(row for row in table.dropped if row.rater is None or row.rater in judges),
    )
