"""Reads files and tables of verdicts, long or wide, to one frame, and from it to arrays."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl

from voirdire._messages import list_names, shorten
from voirdire._types import FALSE_WORDS, TRUE_WORDS
from voirdire._validation import check_choice
from voirdire.errors import DroppedRowsWarning, InputError, NoDataError
from voirdire.io.files import DataFile, files_of, got, place
from voirdire.io.rows import open_frame, open_table
from voirdire.io.values import numbers, refuse_column, sorts_in, texts
from voirdire.io.verdict_files import VerdictFormat, columns_of_file, read_parts
from voirdire.records import Failure, Verdicts
from voirdire.records.thresholds import (
    USUAL_THRESHOLD,
    get_thresholds,
    select_threshold,
    threshold_from_cell,
)
from voirdire.records.verdicts import NO_VERDICT, is_verdict_table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from voirdire._types import Threshold
    from voirdire.io.rows import Column, Table
    from voirdire.rubrics import Question, Rubric

MEMORY = "verdicts"
NO_PROBABILITY = "a label without a probability"

_THEIRS = {
    "item": ("item", "id"),
    "judge": ("judge", "rater"),
    "label": ("label", "value"),
    "reason": ("reason", "reasoning", "rationale", "explanation"),
    "response": ("response", "completion"),
}
"""Names of each column in tables; the first that exists is used."""

_NUMBERS = ("probability", "threshold")
_TEXTS = ("label", "source", "failure", "negated", "behavior", "reason", "contradicts")
_SCHEMA: Any = dict.fromkeys(_TEXTS, pl.String) | dict.fromkeys(_NUMBERS, pl.Float64)
_ANSWERS = ("item", "judge", "question", "label", "probability", "source", "threshold",
            "behavior", "response_hash", "failure", "fingerprint", "negated")  # fmt: skip
_TRUTHS = dict.fromkeys(TRUE_WORDS, 1.0) | dict.fromkeys(FALSE_WORDS, 0.0)
_SAMPLE = 50


# Any table to one frame --------------------------------------------------------------------------


SAID_COLUMNS = (
    *("item", "judge", "question", "label", "probability", "failure", "behavior", "source"),
    *("reason", "contradicts"),
)
TEXT_COLUMNS = ("prompt", "response")
_NOT_ASKED = (
    *("fingerprint", "threshold", "answered_by", "response_hash"),
    *("group", "cluster", "index", ""),
)
CLASS_SOURCE = "derived"
"""The source of a completion class: it follows from answers, and nobody was asked for it."""


def _find_columns(
    table: Table, wanted: Sequence[str] = _ANSWERS, renamed: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Find the columns of verdicts in a table: by our name for each what the table calls it.

    `renamed` gives other names of some of them: they hold where the table has them.
    """
    names = {}
    for ours in (*wanted, *(renamed or {})):
        theirs = (renamed or {}).get(ours)
        known = [theirs] if theirs in table.columns else _THEIRS.get(ours, (ours,))
        name = next((name for name in known if name in table.columns), None)
        if name is not None:
            names[ours] = name
        elif theirs is not None:
            refuse_column(table, theirs, way_out="Name one of these.")
    return names


def _read_frame(
    table: Table,
    names: Mapping[str, str],
    *,
    stem: str,
    asked: Sequence[str] = (),
    labelled: Collection[str] = (),
) -> pl.DataFrame:
    """Read a table of verdicts, long or wide, to a frame with a row per item and question.

    Parameters
    ----------
    table : Table
        Of at least one row.
    names : mapping of str to str
        What the table calls our columns, as `find_columns` finds it.
    stem : str
        The judge where the table names none.
    asked : sequence of str, optional
        The questions of a wide table, which has a column for each.
    labelled : collection of str, optional
        Those of them whose cells are labels, even if they look like probabilities.

    Returns
    -------
    polars.DataFrame
        `row`, the place in the table; `item` and `question`, as Enum; `judge`; and the other
        columns, null where the table has none of that name. They are text without blanks at the
        ends, but for `probability` and, in a long table, `threshold`: numbers, infinite for what is
        no number. A cell of a wide table is a probability where its column holds some, and a label
        elsewhere.
    """
    rows = table.load(list(dict.fromkeys([*names.values(), *asked])))
    if rows.lines.is_empty():
        msg = f"{table.source}: must hold at least one verdict, got no rows. Judge some items."
        raise NoDataError(msg)

    source = table.source
    columns = {"row": pl.int_range(len(rows.lines), dtype=pl.UInt32, eager=True)}
    for ours, theirs in names.items():
        is_number = ours in _NUMBERS and not (asked and ours == "threshold")
        columns[ours] = (_read_numbers if is_number else _read_text)(
            rows.columns[theirs], source=source
        )
    for ours in {"item", "question"} & columns.keys():
        known = pl.Enum(columns[ours].unique(maintain_order=True).drop_nulls())
        columns[ours] = columns[ours].cast(known)
    frame = pl.DataFrame(columns).with_columns(
        judge=pl.col("judge").fill_null(pl.lit(stem)) if "judge" in columns else pl.lit(stem)
    )
    parts = []
    for name in asked:
        cells = rows.columns[name]
        found = _read_numbers(cells, source=source)
        is_probability = name not in labelled and bool(
            found.drop_nulls().head(_SAMPLE).is_between(0, 1).all()
        )
        own = (
            {"probability": found}
            if is_probability
            else {"label": _read_text(cells, source=source)}
        )
        parts.append(frame.with_columns(pl.lit(name, pl.Enum(asked)).alias("question"), **own))
    frame = pl.concat(parts, how="diagonal") if parts else frame
    lacking = {name: kind for name, kind in _SCHEMA.items() if name not in frame.columns}
    return frame.with_columns(pl.lit(None, kind).alias(name) for name, kind in lacking.items())


def _read_text(column: Column, *, source: str) -> pl.Series:
    """Return text without blanks at its ends; null where nothing is left."""
    if isinstance(column, pl.Series) and column.dtype in (pl.String, pl.Boolean):
        column = column.cast(pl.String)
        distinct = column.unique()  # few, and most often clean
        if (distinct.str.strip_chars() == distinct).all() and not (distinct == "").any():
            return column
    found = texts(column, source=source).str.strip_chars()
    return found.set(found == "", None)


def _read_numbers(column: Column, *, source: str) -> pl.Series:
    """Return numbers; infinite for what is no number."""
    if sorts_in(column) == {"number"}:
        return numbers(column)
    if isinstance(column, pl.Series) and column.dtype == pl.String:
        found = column.cast(pl.Float64, strict=False)
        if found.null_count() == column.null_count():
            return found.fill_nan(None)
    words = _read_text(column, source=source)
    words = words.set(words.str.to_lowercase() == "nan", None)
    found = words.cast(pl.Float64, strict=False)
    return found.set(found.is_null() & words.is_not_null(), math.inf)


# Verdicts of a judge on a rubric -----------------------------------------------------------------


def read_verdicts(
    source: Any,
    *,
    rubric: Rubric,
    judge: str | None = None,
    numbers_of: Collection[str] = (),
    format: VerdictFormat | None = None,  # noqa: A002  # the word people use for it
) -> Verdicts:
    """Read a judge's verdicts on items.

    Parameters
    ----------
    source : path, binary file, Verdicts, data frame, or a sequence of these
        Verdicts as `voirdire judge` writes them, long or wide, in Parquet, JSONL or CSV, or a
        folder of such files; ``"-"`` is standard input. Verdicts in memory. Of several, each is
        about other items or other propositions; those of two judges on different propositions are
        joined. In the long form a column ``negated`` marks rows whose judge was asked for the
        absence: the probability that the proposition is true is one minus what it said.
    rubric : Rubric
        Whose propositions are wanted; other questions are passed over.
    judge : str, optional
        Whose verdicts, where there are several judges of the same propositions.
    numbers_of : collection of str, optional
        Scale and choice questions of the rubric whose answers are wanted too, as numbers in [0, 1]:
        a scale from its minimum to its maximum, a choice as one number for each label, which is
        called ``question=label`` and may be given under that name itself.
    format : {"parquet", "jsonl", "csv"}, optional
        How files are written; by default the endings of their names say, JSONL for a stream.

    Returns
    -------
    Verdicts
        On those propositions that there are verdicts on, in the rubric's order; items in order of
        appearance. Without completion classes and details of calls.

    Raises
    ------
    NoDataError
        If a file is empty, or has no rows.
    InputError
        If a file is no table of verdicts, or has none on a proposition of the rubric; if two
        different verdicts are about one item and proposition; if there are several judges and none
        was named, or not the one that was; if verdicts were made in different ways, as their
        fingerprints or thresholds say; if a probability is not in [0, 1].

    Warns
    -----
    DroppedRowsWarning
        If items stand in two files with the same verdicts: they count once.

    Notes
    -----
    *Labels.* A true or false without a probability is 1 or 0 where a table has no column
    `probability` at all, or where `source` says that it is a vote. Where other rows have one, it
    is missing: nothing is made up.

    *Missing.* Where a call failed, where a probability is null, and where there is no row, it is
    nan, and `missing` has the reason.

    Examples
    --------
    >>> import polars as pl
    >>> from voirdire import load_rubric
    >>> frame = pl.DataFrame({"item": ["a", "b"], "apology": [0.9, None], "judgement": [0.0, 0.2]})
    >>> found = read_verdicts(frame, rubric=load_rubric("safety"), judge="mine")
    >>> found.questions, found.probabilities.tolist(), found.missing
    (('judgement', 'apology'), [[0.0, 0.9], [0.2, nan]], {'b': 'no verdict'})
    """
    if format is not None:
        check_choice("format", format, VerdictFormat)
    found, notes = read_noted_verdicts(
        source, rubric=rubric, judge=judge, numbers_of=numbers_of, written_as=format
    )
    for note in notes:
        warnings.warn(note, DroppedRowsWarning, stacklevel=2)
    return found


def read_noted_verdicts(
    source: Any,
    *,
    rubric: Rubric,
    judge: str | None = None,
    numbers_of: Collection[str] = (),
    written_as: VerdictFormat | None = None,
) -> tuple[Verdicts, tuple[str, ...]]:
    """Read verdicts as `read_verdicts` does, with notes in place of its warnings."""
    answered = [rubric.question(name) for name in numbers_of]
    names = [name for question in answered for name in question.number_names]
    parts: list[Verdicts] = []
    others, notes = list[str](), list[str]()
    for one in _list_sources(source):
        part: Verdicts | None
        if isinstance(one, Verdicts):
            part = _take_verdicts(one, rubric, numbers_of) if judge in (None, one.judge) else None
            others.append(one.judge)
        else:
            part, judges = _read_source(one, written_as, judge, rubric=rubric, answered=answered)
            others += judges
        for other in parts:
            if part is None or (again := _find_repeats(part, other)) is None:
                continue
            rest = [name for name in part.items if name not in again]
            part = part.take(rest) if rest else None
            many = "1 item has" if len(again) == 1 else f"{len(again):,} items have"
            name = one if isinstance(one, str | Path) else MEMORY
            notes.append(f"{many} the same verdicts in {name} as before, which count once")
        parts += [] if part is None else [part]
    if not parts:
        known = ", ".join(repr(shorten(name)) for name in dict.fromkeys(others))
        msg = f"`judge` must be among the judges of the verdicts ({known}), got {shorten(judge)!r}."
        raise InputError(msg)
    judge_of: dict[str, str] = {}
    for name, own in ((name, each.judge) for each in parts for name in each.questions):
        if judge_of.setdefault(name, own) != own:
            _refuse_judges([judge_of[name], own], source="the verdicts")
    whole = reduce(Verdicts.join, parts)
    wanted = [name for name in (*rubric.propositions, *names) if name in whole.questions]
    return whole.on(wanted), tuple(notes)


def _find_repeats(part: Verdicts, other: Verdicts) -> set[str] | None:
    """Find the items of which all was said before; None without any, or where a word differs."""
    run = [(x.judge, x.fingerprint, x.questions, x.threshold) for x in (part, other)]
    again = [name for name in part.items if name in other.places]
    if not again or run[0] != run[1]:
        return None
    one, before = part.take(again), other.take(again)
    is_same = (one.behaviors, one.response_hashes) == (before.behaviors, before.response_hashes)
    same = np.array_equal(one.probabilities, before.probabilities, equal_nan=True)
    return {*again} if is_same and same else None


def read_answers(file: DataFile, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Read a table of verdicts of any rubric, long or wide, with a row per item and question.

    The frame has the columns of `SAID_COLUMNS` and those of `TEXT_COLUMNS` that the table has:
    text, but for `probability`, which is a number in [0, 1]. `columns` gives other names of some.
    """
    table = open_table(file)
    names = _find_columns(table, (*SAID_COLUMNS, *TEXT_COLUMNS), columns)
    answers = {"question", "label", "probability"} & names.keys()
    is_wide = is_verdict_table(table.columns) == "wide" or not answers
    is_marked = "judge" in names or "fingerprint" in table.columns
    is_by_people = "annotator" in table.columns and "judge" not in names
    is_ours = is_marked if is_wide else answers != {"question"}
    if "item" not in names or is_by_people or not is_ours:
        shown = list_names([repr(shorten(name)) for name in table.columns], most=8)
        msg = (
            f"{table.source}: must be a result of voirdire, or verdicts with columns `item`, "
            f"`question`, and `label` or `probability`, got columns {shown}. Name a file that "
            "`voirdire judge` wrote."
        )
        raise InputError(msg)
    taken = {*names.values(), *_NOT_ASKED}
    asked = [name for name in table.columns if is_wide and name not in taken]
    if asked and "threshold" in table.columns:
        names["threshold"] = "threshold"
    rows = _read_frame(table, names, stem=file.stem, asked=asked)
    if "question" not in rows.columns:
        rows = rows.with_columns(question=pl.lit(None if is_wide else "label", pl.String))
    rows = rows.with_columns(pl.col("item", "question").cast(pl.String))
    if asked:
        threshold: Threshold = USUAL_THRESHOLD
        with suppress(ValueError):
            threshold = threshold_from_cell(rows["threshold"][0] if "threshold" in names else None)
        cuts = dict(zip(asked, get_thresholds(threshold, asked).tolist(), strict=True))
        number = pl.col("probability")
        truth = pl.when(number.is_finite()).then(number >= pl.col("question").replace_strict(cuts))
        is_class = pl.col("question").str.contains(".", literal=True)
        rows = rows.with_columns(
            label=pl.col("label").fill_null(truth.cast(pl.String)),
            source=pl.when(is_class).then(pl.lit(CLASS_SOURCE)),
        )
        # a class of another behavior does not concern the item
        rows = rows.filter(~is_class | pl.col("label").is_not_null()).sort(
            "row", maintain_order=True
        )
    number = pl.col("probability").cast(pl.Float64)
    number = pl.when(number.is_between(0, 1)).then(number)
    named = pl.col("item").is_not_null() & pl.col("question").is_not_null()
    return rows.filter(named).with_columns(number.alias("probability"))


def add_numbers(given: Verdicts, rubric: Rubric, questions: Collection[str]) -> Verdicts:
    """Add answers to scale and choice questions to the probabilities, where there are any.

    Verdicts that hold them as numbers already are returned unchanged.
    """
    details, added = given.details, given
    for question in map(rubric.question, questions):
        if details is None or question.id not in details.labels:
            continue
        names, start = question.number_names, len(added.questions)
        failures = {
            (row, column): why
            for (row, asked), why in details.label_failures.items()
            if asked == question.id
            for column in range(start, start + len(names))
        }
        values = question.to_numbers(details.labels[question.id])
        added = replace(
            added,
            questions=(*added.questions, *names),
            probabilities=np.hstack([added.probabilities, values]),
            failures={**added.failures, **failures},
        )
    return replace(added, details=None) if questions else given


def _list_sources(source: Any) -> list[Any]:
    """Return the sources as a sequence."""
    if isinstance(source, str | Path):
        return list(files_of(source))
    if not isinstance(source, Sequence) or isinstance(source, bytes):
        return [source]
    if not source:
        msg = "`verdicts` must hold at least one file or table, got none. Name one."
        raise InputError(msg)
    return [one for part in source for one in _list_sources(part)]


def _take_verdicts(given: Verdicts, rubric: Rubric, numbers_of: Collection[str]) -> Verdicts:
    numbered = (name for question in rubric.questions for name in question.number_names)
    found = add_numbers(given, rubric, numbers_of)
    if not set(found.questions) & {*rubric.propositions, *numbered}:
        msg = (
            f"{MEMORY}: verdicts must be on propositions of rubric {shorten(rubric.name)!r}, got "
            "none. Name the rubric that they were made with."
        )
        raise InputError(msg)
    return found


def _read_source(
    source: Any, written_as: VerdictFormat | None, judge: str | None, **about: Any
) -> tuple[Verdicts | None, Sequence[str]]:
    """Read one table: the verdicts of the judge or of the only one, and who judged in it."""
    if hasattr(source, "columns"):
        return _TableReader(open_frame(source, MEMORY), stem=MEMORY, **about).read(judge)
    file = DataFile(source, format=written_as, held="verdict")
    if file.format not in ("jsonl", "csv", "parquet"):
        msg = f"`verdicts` must be Parquet, JSONL or CSV, got {file.name!r}. Convert it."
        raise InputError(msg)
    if file.name.endswith(".jsonl") and is_verdict_table(columns_of_file(Path(file.name))):
        # polars is fast and knows no places: what it cannot read is read again below
        with suppress(ValueError, pl.exceptions.PolarsError):
            table = open_frame(pl.concat(read_parts([Path(file.name)])), file.name)
            return _TableReader(table, stem=file.stem, **about).read(judge)
    return _TableReader(open_table(file), stem=file.stem, **about).read(judge)


def _refuse_judges(names: Sequence[str], *, source: str) -> NoReturn:
    shown = list_names([repr(shorten(name)) for name in names])
    msg = f"`judge` must name one of the judges of {source}, got none of {shown}. Name it."
    raise InputError(msg)


class _TableReader:
    """Arranges the verdicts of one table by items and questions; errors name the place."""

    def __init__(
        self, table: Table, *, stem: str, rubric: Rubric, answered: Sequence[Question]
    ) -> None:
        self._table, self._columns, self._stem = table, _find_columns(table), stem
        self._rubric, self._answered = rubric, answered
        ids = [question.id for question in answered]
        numbered = (name for question in answered for name in question.number_names)
        self._names = (*rubric.propositions, *numbered)
        self._wanted = list(dict.fromkeys((*self._names, *ids)))
        self._is_wide = "question" not in self._columns
        asked = [name for name in self._wanted if name in table.columns] if self._is_wide else []
        self._n_repeats = max(len(asked), 1)
        for column, is_there in (
            ("item", "item" in self._columns),
            ("probability", self._is_wide or self._columns.keys() & {"label", "probability"}),
            ("question", not self._is_wide or asked),
        ):
            if not is_there:
                way_out = "Name a file that `voirdire judge` wrote."
                refuse_column(table, column, way_out=way_out)
        for column in ("label", "probability", "failure", "negated") if self._is_wide else ():
            self._columns.pop(column, None)
        self._frame = _read_frame(table, self._columns, stem=stem, asked=asked, labelled=ids)

    def read(self, judge: str | None) -> tuple[Verdicts | None, Sequence[str]]:
        """Return the verdicts of the judge, or of the only one, and the names of all judges."""
        frame, judges = self._frame, [judge or self._stem]
        if "judge" in self._columns:
            judges = frame["judge"].unique(maintain_order=True).to_list()
        if judge is None and len(judges) > 1:
            _refuse_judges(judges, source=self._table.source)
        if judge is not None and judge not in judges:
            return None, judges
        if len(judges) > 1:
            frame = frame.filter(pl.col("judge") == judge)
        if frame["item"].null_count():
            row = int(frame["row"].filter(frame["item"].is_null())[0])
            rule = " must name an item, got nothing. Fill it."
            self._refuse(row, rule, column=self._columns["item"])
        items = frame["item"].unique(maintain_order=True).cast(pl.String)
        if len(judges) > 1:
            frame = frame.with_columns(pl.col("item").cast(pl.String).cast(pl.Enum(items)))
        # an item's own facts stand in every row of a wide table, and the table was unpivoted
        once = frame.head(frame.height // self._n_repeats)
        behaviors = self._read_facts(once, "behavior", n_items=len(items))
        hashes = self._read_facts(once, "response_hash", n_items=len(items))
        fingerprint = self._take_single("fingerprint", once)

        questions, frame = frame["question"], self._place_answers(frame)
        column_of = {name: column for column, name in enumerate(self._wanted)}
        ids = [column_of[question.id] for question in self._answered]
        direct = frame.filter(~pl.col("column").is_in(ids))
        parts = []
        for question, column in zip(self._answered, ids, strict=True):
            part = frame.filter(pl.col("column") == column)
            if part.height and (self._is_wide or "label" in self._columns):
                parts += self._read_labels(question, part)
        rows = direct if direct.height else frame
        threshold = self._read_threshold(once if self._is_wide else rows)

        whole = pl.concat([*parts, self._read_propositions(direct)])
        if whole.is_empty():
            names = questions.drop_nulls().unique(maintain_order=True)
            shown = list_names([repr(shorten(name)) for name in names])
            msg = (
                f"{self._table.source}: verdicts must be on propositions of the rubric, got "
                f"{shown}. Name the rubric that they were made with."
            )
            raise InputError(msg)
        used = whole["column"].unique().sort()
        asked = [self._names[column] for column in used]
        places = np.zeros(len(self._names), dtype=np.int64)
        places[used] = np.arange(len(used))
        at_item, at_question = whole["item"].to_physical().to_numpy(), places[whole["column"]]
        probabilities = np.full((len(items), len(used)), np.nan)
        probabilities[at_item, at_question] = whole["value"].fill_null(np.nan)
        is_told = (whole["value"].is_null() & whole["reason"].is_not_null()).to_numpy()
        reasons = whole["reason"].filter(is_told)
        failure_of = {reason: Failure(reason=reason) for reason in reasons.unique()}
        cells = zip(at_item[is_told].tolist(), at_question[is_told].tolist(), strict=True)
        verdicts = Verdicts(
            items=tuple(items.to_list()),
            behaviors=behaviors,
            response_hashes=hashes if any(hashes) else None,
            questions=tuple(asked),
            probabilities=probabilities,
            failures={cell: failure_of[why] for cell, why in zip(cells, reasons, strict=True)},
            judge=judge or judges[0],
            fingerprint=fingerprint or "",
            threshold=select_threshold(
                threshold,
                [name for name in asked if name in self._rubric.propositions],
            ),
        )
        return verdicts, judges

    def _read_facts(
        self, once: pl.DataFrame, column: str, *, n_items: int
    ) -> tuple[str | None, ...]:
        """Return what a column says of each item."""
        found: list[str | None] = [None] * n_items
        if column in self._columns:
            named = once.select(pl.col("item").to_physical(), column).drop_nulls()
            for item, value in named.unique(maintain_order=True).iter_rows():
                if found[item] is not None:
                    two = " and ".join(repr(shorten(str(name))) for name in (found[item], value))
                    is_other = (once["item"].to_physical() == item) & (once[column] == value)
                    row = once["row"].filter(is_other)[0]
                    rule = f" must be one for each item, got {two}. Correct it."
                    self._refuse(row, rule, column=column)
                found[item] = value
        return tuple(found)

    def _take_single(self, name: str, frame: pl.DataFrame) -> Any:
        """Return the single value of a column; None where it is empty."""
        if name not in self._columns:
            return None
        values = frame[name].drop_nulls().unique().sort().to_list()
        if len(values) > 1:
            shown = " and ".join(repr(shorten(f"{value}", width=24)) for value in values[:2])
            msg = (
                f"{self._table.source}: verdicts must be of one run, got the {name}s {shown}. Read "
                "those of one run only."
            )
            raise InputError(msg)
        return values[0] if values else None

    def _read_threshold(self, frame: pl.DataFrame) -> Threshold:
        """Return what the rows say, a number or one by question; else the usual one."""
        usual = USUAL_THRESHOLD if self._rubric.threshold is None else self._rubric.threshold
        if "threshold" not in self._columns:
            return usual
        if self._is_wide:
            cell, source = self._take_single("threshold", frame), self._table.source
            try:
                return usual if cell is None else threshold_from_cell(cell)
            except ValueError as error:
                msg = f"{source}: column `threshold` {error}, got {shorten(cell)!r}. Correct it."
                raise InputError(msg) from error
        self._check(frame, frame["threshold"], "threshold", words=False)
        stated = frame.select("question", "threshold").drop_nulls().unique()
        by_question = {
            str(name): self._take_single("threshold", part)
            for (name,), part in stated.group_by("question")
        }
        return by_question or usual

    def _place_answers(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Add the `column` of the question to the rows that are wanted; refuse a second answer."""
        kinds = pl.Enum(self._wanted)
        column = frame["question"].cast(kinds, strict=False).to_physical().cast(pl.Int64)
        frame = frame.with_columns(column=column).drop_nulls("column")
        at_item = frame["item"].to_physical().cast(pl.Int64)
        cells = (at_item * len(self._wanted) + frame["column"]).to_numpy()
        if np.bincount(cells, minlength=1).max() > 1:
            again = int((~pl.Series(cells).is_first_distinct()).arg_max() or 0)
            about = repr(shorten(frame["item"][again]))
            about += "" if self._is_wide else f" and {frame['question'][again]!r}"
            rule = f": verdicts must be unique by item and question, got a second one on {about}. "
            self._refuse(frame["row"][again], rule + "Take one of them out.")
        return frame

    def _read_propositions(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return how probable it is that propositions are true, and why there is no answer."""
        has_probability = not self._is_wide and "probability" in self._columns
        values, label = frame["probability"], frame["label"]
        needed = values.is_null() & label.is_not_null()
        if has_probability:
            self._check(frame, values, self._columns["probability"], words=False)
            needed &= (frame["source"] == "vote").fill_null(value=False)
        if needed.any():
            values = values.zip_with(~needed, _read_words(label.set(~needed, None)))
        self._check(frame, values, None if self._is_wide else self._columns.get("label"))
        if "negated" in self._columns:  # the judge was asked for the absence
            turned = _read_words(frame["negated"])
            self._check(frame, turned, self._columns["negated"])
            values = values.zip_with((turned != 1.0).fill_null(value=True), 1.0 - values)
        unsaid = NO_PROBABILITY if has_probability else NO_VERDICT
        nothing = (
            pl.when(pl.col("label").is_null()).then(pl.lit(NO_VERDICT)).otherwise(pl.lit(unsaid))
        )
        reason = pl.lit(None, dtype=pl.String) if self._is_wide else pl.coalesce("failure", nothing)
        return frame.select("item", "column", values.alias("value"), reason.alias("reason"))

    def _read_labels(self, question: Question, frame: pl.DataFrame) -> list[pl.DataFrame]:
        """Return the answers to a question that is not boolean as numbers, name by name."""
        labels, sure = frame["label"].to_list(), None
        if question.kind == "choice" and "probability" in self._columns:
            column = self._columns["probability"]
            self._check(frame, frame["probability"], column, words=False)
            sure = frame["probability"].fill_null(np.nan).to_list()
        try:
            values = question.to_numbers(labels, probabilities=sure)
        except InputError:
            column = question.id if self._is_wide else self._columns["label"]
            for row, label in zip(frame["row"], labels, strict=True):
                try:
                    question.to_numbers([label])
                except InputError as error:
                    self._refuse(row, f": {error} Correct it.", column=column)
            raise
        return [
            frame.select(
                "item",
                pl.lit(self._names.index(name), dtype=pl.Int64).alias("column"),
                pl.Series("value", numbers_of_name).fill_nan(None),
                pl.col("failure").fill_null(NO_VERDICT).alias("reason"),
            )
            for name, numbers_of_name in zip(question.number_names, values.T, strict=True)
        ]

    def _check(
        self, frame: pl.DataFrame, values: pl.Series, column: str | None, *, words: bool = True
    ) -> None:
        """Refuse a number outside of [0, 1]; without a `column` its question has its name."""
        wrong = values.is_not_null() & ~values.is_between(0.0, 1.0)
        if wrong.any():
            at = wrong.arg_max() or 0
            row, column = frame["row"][at], column or frame["question"][at]
            cell = got(self._table.load([column]).columns[column][row])
            rule = "a number in [0, 1]" + (", or true or false" if words else "")
            self._refuse(row, f" must be {rule}, got {cell}. Correct it.", column=column)

    def _refuse(self, row: int, rule: str, *, column: str | None = None) -> NoReturn:
        """Find the place of a fault, now that there is one."""
        line = self._table.load(self._table.columns[:1]).lines[row]
        shown = None if column is None else shorten(column)
        raise InputError(f"{place(self._table.source, line=line, column=shown)}{rule}")


def _read_words(cells: pl.Series) -> pl.Series:
    """Read words for true and false, and numbers; infinite for any other."""
    truth = cells.str.to_lowercase().replace_strict(_TRUTHS, default=None, return_dtype=pl.Float64)
    found = truth.fill_null(cells.cast(pl.Float64, strict=False))
    return found.set(found.is_null() & cells.is_not_null(), math.inf).fill_nan(None)
