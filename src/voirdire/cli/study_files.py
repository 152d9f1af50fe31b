"""Read the files of a study as they were named on the command line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.shell import say
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from voirdire._types import QuestionKind
    from voirdire.io import LabelTable

__all__ = ["Reading", "Study", "read_items", "read_study"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How files are read; see the options of `voirdire examine`."""

    kind: QuestionKind
    file_format: str | None
    columns: Mapping[str, str]
    raters: Sequence[str]
    labels: list[Any] | None
    separator: str | None
    missing: Sequence[str]
    threshold: float | None
    cluster: str | None
    questions: Sequence[str]
    streamed: bool = False

    def format_of(self, source: str) -> str | None:
        """Return the declared format: of standard input where that is read, else of every file."""
        return self.file_format if source == "-" or not self.streamed else None


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


def read_study(
    humans: Sequence[str],
    judges: Sequence[str],
    gold: str | None,
    *,
    reading: Reading,
    only: Sequence[str],
) -> Study:
    """Read annotations, judges (or only some of them) and gold labels."""
    from voirdire.io.folders import files_of

    listen_for_interrupts()
    files = [str(file) for source in judges for file in files_of(source)]
    clusters = {"cluster": reading.cluster} if reading.cluster else {}
    return Study(
        humans=_read(
            humans,
            reading,
            role="annotator",
            columns=_columns(reading, rater="annotator") | clusters,
            raters=reading.raters or None,
        ),
        judges=_only(
            _read(
                files,
                reading,
                role="judge",
                columns=_columns(reading, rater="judge"),
                threshold=reading.threshold,
            ),
            only,
        ),
        gold=_read_gold(gold, reading) if gold else None,
    )


def read_items(items: str | None, reading: Reading, slices: Sequence[str]) -> pl.DataFrame | None:
    """Read what is known about the items, if anything; of the columns only those to slice by."""
    if items is None:
        return None
    from voirdire.io import read_metadata

    return read_metadata(
        items,
        item=reading.columns.get("item"),
        columns=slices or None,
        format=reading.format_of(items),  # type: ignore[arg-type]  # checked where it is read
    )


def _read_gold(gold: str, reading: Reading) -> LabelTable:
    columns = _columns(reading, rater="judge")
    columns.pop("rater", None)
    return _read([gold], reading, role="judge", rater_name="gold", columns=columns)


def _read(sources: Sequence[str], reading: Reading, **settings: Any) -> LabelTable:
    """Read files under each other, each question by itself: others may be of another kind."""
    from voirdire.io import join_tables, read_labels
    from voirdire.io.provenance import split_raters

    settings["columns"] = settings.get("columns") or None
    one_pass = len(reading.questions) > 1 and "-" in sources  # a stream is read only once
    questions = () if one_pass else reading.questions
    tables = [
        read_labels(
            source,
            kind=reading.kind,
            format=reading.format_of(source),  # type: ignore[arg-type]  # checked where it is read
            labels=reading.labels,
            separator=reading.separator,
            missing=reading.missing,
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


def _columns(reading: Reading, *, rater: str) -> dict[str, str]:
    """Take the user's names for columns, as far as they concern a file of one role."""
    other = {"annotator": "judge", "judge": "annotator"}[rater]
    named = {ours: yours for ours, yours in reading.columns.items() if ours != other}
    return {"rater" if ours == rater else ours: yours for ours, yours in named.items()}


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
