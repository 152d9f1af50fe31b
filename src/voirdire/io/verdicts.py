"""Reads verdicts from files and tables, long or wide, into arrays of items by questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire._types import FALSE_WORDS, TRUE_WORDS
from voirdire._validation import check_choice
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import DataFile, files_of, got, place
from voirdire.io.rows import Rows, Table, open_frame, open_table
from voirdire.io.values import numbers, sorts_in, texts
from voirdire.io.verdict_files import VerdictFormat
from voirdire.records import Failure, Verdicts
from voirdire.records.thresholds import (
    USUAL_THRESHOLD,
    select_threshold,
    threshold_from_cell,
)
from voirdire.records.verdicts import NO_VERDICT

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from voirdire.io.rows import Column
    from voirdire.rubrics import Question, Rubric

__all__ = ["add_numbers", "read_verdicts"]

MEMORY = "verdicts"
NO_PROBABILITY = "a label without a probability"

_ITEMS = ("item", "id")
_JUDGES = ("judge", "rater")
_LABELS = ("label", "value")
_TRUTHS = dict.fromkeys(TRUE_WORDS, 1.0) | dict.fromkeys(FALSE_WORDS, 0.0)
_MOST_NAMED = 10


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
        verdicts are about one item and proposition; if there are several judges and none was
        named, or not the one that was; if verdicts were made in different ways, as their
        fingerprints or thresholds say; if a probability is not in [0, 1].

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
    verdicts: list[Verdicts] = []
    others: list[str] = []
    for one in _list_sources(source):
        if isinstance(one, Verdicts):
            if judge is None or one.judge == judge:
                numbered = [name for row in rubric.questions for name in row.number_names]
                found = add_numbers(one, rubric, numbers_of)
                if not set(found.questions) & {*rubric.propositions, *numbered}:
                    _refuse_rubric(MEMORY, rubric)
                verdicts.append(found)
            else:
                others.append(one.judge)
            continue
        if hasattr(one, "columns"):
            table, stem = open_frame(one, MEMORY), MEMORY
        else:
            file = DataFile(one, format=format, held="verdict")
            table, stem = _open(file), file.stem
        reader = _TableReader(table, rubric=rubric, numbers_of=numbers_of)
        if (part := reader.verdicts(judge, stem=stem)) is not None:
            verdicts.append(part)
        else:
            others += reader.judges
    if not verdicts:
        known = ", ".join(repr(shorten(name)) for name in dict.fromkeys(others))
        msg = f"`judge` must be among the judges of the verdicts ({known}), got {shorten(judge)!r}."
        raise InputError(msg)
    _check_judges(verdicts)
    names = [name for one in numbers_of for name in rubric.question(one).number_names]
    return _reorder_questions(reduce(Verdicts.join, verdicts), (*rubric.propositions, *names))


def add_numbers(given: Verdicts, rubric: Rubric, questions: Collection[str]) -> Verdicts:
    """Add answers to scale and choice questions to the probabilities, where there are any.

    Verdicts that hold them as numbers already are returned unchanged.
    """
    for name in questions:
        question = rubric.question(name)
        details = given.details
        if details is None or name not in details.labels:
            continue
        columns = range(len(question.number_names))
        failures = {
            (row, column): why
            for (row, asked), why in details.label_failures.items()
            if asked == name
            for column in columns
        }
        values = question.to_numbers(details.labels[name])
        given = replace(
            given.with_numbers(question.number_names, values, failures=failures), details=details
        )
    return replace(given, details=None) if questions else given


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


def _open(file: DataFile) -> Table:
    if file.format in ("jsonl", "csv", "parquet"):
        return open_table(file)
    msg = f"`verdicts` must be Parquet, JSONL or CSV, got {file.name!r}. Convert it."
    raise InputError(msg)


def _reorder_questions(given: Verdicts, names: Sequence[str]) -> Verdicts:
    """Sort the questions with verdicts in the order of the rubric."""
    return given.on([name for name in names if name in given.questions])


def _check_judges(parts: Sequence[Verdicts]) -> None:
    """Refuse two judges of one proposition."""
    asked: dict[str, str] = {}
    for part in parts:
        for name in part.questions:
            if asked.setdefault(name, part.judge) != part.judge:
                _refuse_judges([asked[name], part.judge], source="the verdicts")


def _refuse_judges(names: Sequence[str], *, source: str) -> NoReturn:
    shown = ", ".join(repr(shorten(name)) for name in names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    msg = f"`judge` must name one of the judges of {source}, got none of {shown}{more}. Name it."
    raise InputError(msg)


def _refuse_rubric(source: str, rubric: Rubric) -> NoReturn:
    msg = (
        f"{source}: verdicts must be on propositions of rubric {shorten(rubric.name)!r}, got none. "
        "Name the rubric that they were made with."
    )
    raise InputError(msg)


class _TableReader:
    """Reads one table; errors name the place."""

    def __init__(
        self,
        table: Table,
        *,
        rubric: Rubric,
        numbers_of: Collection[str] = (),
    ) -> None:
        self.source, self._rubric = table.source, rubric
        self._answered = [rubric.question(name) for name in numbers_of]
        numbered = (name for row in self._answered for name in row.number_names)
        self._propositions = (*rubric.propositions, *numbered)
        columns = table.columns
        self._item = next((name for name in _ITEMS if name in columns), None)
        self._judge = next((name for name in _JUDGES if name in columns), None)
        self._label = next((name for name in _LABELS if name in columns), None)
        self._is_long = "question" in columns
        wide = dict.fromkeys((*self._propositions, *(row.id for row in self._answered)))
        asked = [name for name in wide if name in columns]
        for name, is_there in (
            ("item", self._item),
            ("probability", not self._is_long or self._label or "probability" in columns),
            ("question", self._is_long or asked),
        ):
            if not is_there:
                self._refuse_column(name, columns)
        wanted = [self._item, self._judge, "behavior", "fingerprint", "threshold", "source"]
        if self._is_long:
            wanted += ["question", "probability", self._label, "failure", "negated"]
        else:
            wanted += asked
        needed = [name for name in dict.fromkeys(wanted) if name is not None and name in columns]
        self._rows: Rows = table.load(needed)
        if self._rows.lines.is_empty():
            msg = f"{self.source}: must hold at least one verdict, got no rows. Judge some items."
            raise NoDataError(msg)
        self.judges: tuple[str, ...] = ()

    def verdicts(self, judge: str | None, *, stem: str) -> Verdicts | None:
        """Return the verdicts of a judge, or of the only one.

        None where the table has only others.
        """
        if self._judge is None:
            self.judges = (stem if judge is None else judge,)
        else:
            names = self._text(self._judge).fill_null(stem)
            self.judges = tuple(names.unique(maintain_order=True).to_list())
            if judge is None and len(self.judges) > 1:
                _refuse_judges(self.judges, source=self.source)
            if judge is not None and judge not in self.judges:
                return None
            if len(self.judges) > 1:
                self._rows = self._rows.where(names == judge)
        return self._read(self.judges[0] if judge is None else judge)

    def _read(self, judge: str) -> Verdicts:
        ids = self._ids()
        items = ids.unique(maintain_order=True)
        at_item = _codes(ids, items)
        behaviors = self._behaviors(at_item, len(items))
        fingerprint = (
            self._take_single_value("fingerprint", self._list_stated_values("fingerprint")) or ""
        )
        shape = (len(items), len(self._propositions))
        probabilities, given = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        threshold = None if self._is_long else self._wide_threshold()
        fill = self._fill_long if self._is_long else self._fill_wide
        said = self._numbers(ids, at_item, probabilities=probabilities, given=given)
        failures = said | fill(ids, at_item, probabilities=probabilities, given=given)
        if self._is_long:
            threshold = self._long_threshold()
        known = np.flatnonzero(given.any(axis=0)).tolist()
        if not known:
            _refuse_rubric(self.source, self._rubric)
        names = tuple(self._propositions[column] for column in known)
        columns = {column: place for place, column in enumerate(known)}
        usual = USUAL_THRESHOLD if self._rubric.threshold is None else self._rubric.threshold
        return Verdicts(
            items=tuple(items.to_list()),
            behaviors=behaviors,
            questions=names,
            probabilities=probabilities[:, known] if len(known) < shape[1] else probabilities,
            failures={(row, columns[column]): why for (row, column), why in failures.items()},
            judge=judge,
            fingerprint=fingerprint,
            threshold=select_threshold(
                usual if threshold is None else threshold,
                [name for name in names if name in self._rubric.propositions],
            ),
        )

    def _ids(self) -> pl.Series:
        ids = self._text(self._item or "")
        if ids.null_count():
            line = self._rows.lines[ids.is_null().arg_max() or 0]
            where = place(self.source, line=line, column=self._item)
            raise InputError(f"{where} must name an item, got nothing. Fill it.")
        return ids

    def _numbers(
        self,
        ids: pl.Series,
        at_item: NDArray[np.int64],
        *,
        probabilities: NDArray[np.float64],
        given: NDArray[np.bool_],
    ) -> dict[tuple[int, int], Failure]:
        """Fill in the answers to scale and choice questions.

        Return the reasons of missing answers.
        """
        failures: dict[tuple[int, int], Failure] = {}
        for question in self._answered:
            is_its = np.ones(at_item.size, dtype=bool)
            column = question.id if not self._is_long else self._label or ""
            if self._is_long:
                is_its = (self._text("question") == question.id).fill_null(value=False).to_numpy()
            if column not in self._rows.columns or not is_its.any():
                continue
            rows, items = np.flatnonzero(is_its), at_item[is_its]
            if np.unique(items).size < items.size:
                again = int(rows[_first_repeat(items)])
                self._refuse_repeat(again, ids[again], question.id)
            sure = None
            if self._is_long and question.kind == "choice" and "probability" in self._rows.columns:
                sure = self._probabilities("probability")[rows]
            labels = self._text(column).gather(rows).to_list()
            values = self._to_numbers(question, labels, rows, sure, column=column)
            places = [self._propositions.index(name) for name in question.number_names]
            cells = np.ix_(items, np.array(places, dtype=np.int64))
            probabilities[cells] = values
            given[:, places] = True
            reasons: list[str | None] = [None] * rows.size
            if "failure" in self._rows.columns:
                reasons = self._text("failure").gather(rows).to_list()
            failures |= {
                (int(items[at]), place): Failure(reason=reasons[at] or NO_VERDICT)
                for at, label in enumerate(labels)
                if label is None
                for place in places
            }
        return failures

    def _to_numbers(
        self,
        question: Question,
        labels: Sequence[str | None],
        rows: NDArray[np.int64],
        sure: NDArray[np.float64] | None,
        *,
        column: str,
    ) -> NDArray[np.float64]:
        try:
            return question.to_numbers(
                labels, probabilities=None if sure is None else sure.tolist()
            )
        except InputError:
            for row, label in zip(rows.tolist(), labels, strict=True):
                try:
                    question.to_numbers([label])
                except InputError as error:
                    where = place(self.source, line=self._rows.lines[row], column=column)
                    msg = f"{where}: {error} Correct it."
                    raise InputError(msg) from error
            raise

    def _fill_long(
        self,
        ids: pl.Series,
        at_item: NDArray[np.int64],
        *,
        probabilities: NDArray[np.float64],
        given: NDArray[np.bool_],
    ) -> dict[tuple[int, int], Failure]:
        """Fill the grid from one row per item and question.

        Return the reasons of missing answers.
        """
        said = self._text("question")
        at_question = _codes(said, pl.Series(self._propositions))
        answered = said.is_in([row.id for row in self._answered]).fill_null(value=False)
        is_ours = (at_question >= 0) & ~answered.to_numpy()
        if not is_ours.any():
            if not given.any():
                self._refuse_questions()
            return {}
        ids = ids.filter(pl.Series(is_ours))
        # answers of other kinds are not needed
        self._rows = self._rows.where(pl.Series(is_ours))
        at_item, at_question = at_item[is_ours], at_question[is_ours]
        cells = at_item * len(self._propositions) + at_question
        if np.bincount(cells, minlength=given.size).max() > 1:
            again = _first_repeat(cells)
            self._refuse_repeat(again, ids[again], self._propositions[at_question[again]])
        values, is_unsaid = self._values()
        if "negated" in self._rows.columns:  # the judge was asked for the absence
            turned = self._probabilities("negated", words=True) == 1.0
            values[turned] = 1.0 - values[turned]
        probabilities.flat[cells] = values
        given.flat[cells] = True
        return self._reasons(np.isnan(values), is_unsaid, at_item, at_question)

    def _fill_wide(
        self,
        ids: pl.Series,
        at_item: NDArray[np.int64],
        *,
        probabilities: NDArray[np.float64],
        given: NDArray[np.bool_],
    ) -> dict[tuple[int, int], Failure]:
        """Fill the grid from one row per item; a wide table has no reasons."""
        if probabilities.shape[0] < at_item.size:
            again = _first_repeat(at_item)
            self._refuse_repeat(again, ids[again], None)
        for column, name in enumerate(self._propositions):
            if name in self._rows.columns and not given[:, column].any():
                probabilities[at_item, column] = self._probabilities(name, words=True)
                given[:, column] = True
        return {}

    def _values(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return probabilities, and where there is a label without one."""
        nowhere = np.zeros(len(self._rows.lines), dtype=bool)
        if "probability" not in self._rows.columns:
            return self._probabilities(self._label or "", words=True), nowhere
        values = self._probabilities("probability")
        missing = np.isnan(values)
        if self._label is None or not missing.any():
            return values, nowhere
        if "source" in self._rows.columns:
            votes = (self._text("source") == "vote").fill_null(value=False).to_numpy()
            if (votes & missing).any():
                words = self._probabilities(self._label, words=True)
                values = np.where(votes & missing, words, values)
        stated: NDArray[np.bool_] = self._text(self._label).is_not_null().to_numpy()
        return values, stated & np.isnan(values)

    def _probabilities(self, column: str, *, words: bool = False) -> NDArray[np.float64]:
        """Read numbers in [0, 1], and words for true and false where those are answers.

        Nan for none.
        """
        values = self._rows.columns[column]
        sorts = sorts_in(values)
        if sorts <= {"number"} and sorts:
            found = numbers(values)
            is_stated = _is_stated(values)
        else:
            text = self._text(column)
            is_stated = text.is_not_null() & (text.str.to_lowercase() != "nan")
            found = text.cast(pl.Float64, strict=False).fill_nan(None)
            if words:
                folded = text.str.to_lowercase()
                truth = folded.replace_strict(_TRUTHS, default=None, return_dtype=pl.Float64)
                found = truth.fill_null(found) if sorts - {"number"} else found
        wrong = is_stated & ~found.is_between(0.0, 1.0).fill_null(value=False)
        if wrong.any():
            row = wrong.arg_max() or 0
            where = place(self.source, line=self._rows.lines[row], column=shorten(column))
            rule = "a number in [0, 1]" + (", or true or false" if words else "")
            raise InputError(f"{where} must be {rule}, got {got(values[row])}. Correct it.")
        return found.fill_null(np.nan).to_numpy().astype(np.float64)

    def _reasons(
        self,
        missing: NDArray[np.bool_],
        is_unsaid: NDArray[np.bool_],
        at_item: NDArray[np.int64],
        at_question: NDArray[np.int64],
    ) -> dict[tuple[int, int], Failure]:
        rows = np.flatnonzero(missing)
        said: list[str | None] = [None] * rows.size
        if "failure" in self._rows.columns:
            said = self._text("failure").gather(rows).to_list()
        kinds = {
            word: Failure(reason=word) for word in {NO_VERDICT, NO_PROBABILITY, *filter(None, said)}
        }
        reasons = [
            kinds[word or (NO_PROBABILITY if is_label else NO_VERDICT)]
            for word, is_label in zip(said, is_unsaid[rows].tolist(), strict=True)
        ]
        cells = zip(at_item[rows].tolist(), at_question[rows].tolist(), strict=True)
        return dict(zip(cells, reasons, strict=True))

    def _behaviors(self, at_item: NDArray[np.int64], n_items: int) -> tuple[str | None, ...]:
        if "behavior" not in self._rows.columns:
            return (None,) * n_items
        frame = pl.DataFrame({"item": at_item, "behavior": self._text("behavior")})
        frame = frame.drop_nulls().unique(maintain_order=True)
        several = frame.filter(pl.col("item").is_duplicated())
        if several.height:
            row = int(several["item"][0])
            line = self._rows.lines[int(np.flatnonzero(at_item == row)[0])]
            where = place(self.source, line=line, column="behavior")
            said = several.filter(pl.col("item") == row)["behavior"].to_list()[:2]
            shown = " and ".join(repr(shorten(word)) for word in said)
            raise InputError(f"{where} must be one for each item, got {shown}. Correct it.")
        found: list[str | None] = [None] * n_items
        for row, behavior in frame.iter_rows():
            found[row] = behavior
        return tuple(found)

    def _long_threshold(self) -> dict[str, float] | None:
        """Return the threshold in the rows of each proposition; None where there is none."""
        if "threshold" not in self._rows.columns:
            return None
        stated = pl.DataFrame(
            {
                "question": self._text("question"),
                "threshold": pl.Series(self._probabilities("threshold")).fill_nan(None),
            }
        )
        by_question = stated.drop_nulls().unique().group_by("question").agg("threshold")
        found = {
            name: self._take_single_value("threshold", values)
            for name, values in by_question.iter_rows()
        }
        return found or None

    def _wide_threshold(self) -> Any:
        cell = self._take_single_value("threshold", self._list_stated_values("threshold"))
        if cell is None:
            return None
        try:
            return threshold_from_cell(cell)
        except ValueError as error:
            msg = f"{self.source}: column `threshold` {error}, got {shorten(cell)!r}. Correct it."
            raise InputError(msg) from error

    def _take_single_value(self, name: str, values: Sequence[Any]) -> Any:
        """Return the single value of a column; None where it is empty."""
        if len(values) > 1:
            shown = " and ".join(
                repr(shorten(f"{value}", width=24)) for value in sorted(values)[:2]
            )
            msg = (
                f"{self.source}: verdicts must be of one run, got the {name}s {shown}. Read those "
                "of one run only."
            )
            raise InputError(msg)
        return values[0] if values else None

    def _list_stated_values(self, column: str) -> list[str]:
        if column not in self._rows.columns:
            return []
        return self._text(column).drop_nulls().unique().to_list()

    def _text(self, column: str) -> pl.Series:
        """Return a column as text, blanks as null."""
        text = texts(self._rows.columns[column], source=self.source).str.strip_chars()
        return text.set(text == "", None)

    def _refuse_repeat(self, row: int, item: str, question: str | None) -> NoReturn:
        where = place(self.source, line=self._rows.lines[row])
        about = repr(shorten(item)) + ("" if question is None else f" and {question!r}")
        msg = (
            f"{where}: verdicts must be unique by item and question, got a second one on {about}. "
            "Take one of them out."
        )
        raise InputError(msg)

    def _refuse_questions(self) -> NoReturn:
        questions = self._text("question").drop_nulls().unique(maintain_order=True).to_list()
        shown = ", ".join(repr(shorten(name)) for name in questions[:_MOST_NAMED]) or "none"
        msg = (
            f"{self.source}: verdicts must be on propositions of the rubric, got {shown}. Name "
            "the rubric that they were made with."
        )
        raise InputError(msg)

    def _refuse_column(self, name: str, columns: Sequence[str]) -> NoReturn:
        shown = ", ".join(repr(shorten(column)) for column in columns[:_MOST_NAMED])
        more = len(columns) - _MOST_NAMED
        rest = f" and {more} more" if more > 0 else ""
        msg = (
            f"{self.source}: column `{name}` must exist, got columns {shown or 'of no name'}"
            f"{rest}. Name a file that `voirdire judge` wrote."
        )
        raise InputError(msg)


def _codes(values: pl.Series, known: pl.Series) -> NDArray[np.int64]:
    """Return the place of each value among the known ones; -1 where it is not there."""
    kinds = pl.Enum(known)
    found = values.cast(kinds, strict=False).to_physical().cast(pl.Int64)
    return found.fill_null(-1).to_numpy()


def _first_repeat(codes: NDArray[np.int64]) -> int:
    """Find the first row whose code an earlier row has."""
    first = np.zeros(codes.size, dtype=bool)
    first[np.unique(codes, return_index=True)[1]] = True
    return int(np.argmin(first))


def _is_stated(values: Column) -> pl.Series:
    """Return which values are numbers, including infinite and too large ones."""
    if not isinstance(values, pl.Series):
        there = [
            value is not None and value == value for value in values
        ]  # nan differs from itself
        return pl.Series(there, dtype=pl.Boolean)
    return values.is_not_null() & ~values.cast(pl.Float64).is_nan().fill_null(value=False)
