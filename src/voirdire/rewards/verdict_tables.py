"""Tables of verdicts, long or wide, as arrays: an item a row, a proposition a column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import polars as pl

from voirdire._types import FALSE_WORDS, TRUE_WORDS
from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import got, place
from voirdire.io.values import numbers, sorts_in, texts
from voirdire.records.thresholds import threshold_from_cell
from voirdire.rewards.verdict_parts import NO_VERDICT, VerdictPart, refuse_judges, stated_thresholds

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from voirdire._types import Threshold
    from voirdire.io.rows import Column, Rows, Table

__all__ = ["part_of_table"]

NO_PROBABILITY = "a label without a probability"
_ITEMS = ("item", "id")
_JUDGES = ("judge", "rater")
_LABELS = ("label", "value")
_VOTE = "vote"
_MOST_NAMED = 10


def part_of_table(
    table: Table,
    *,
    propositions: Sequence[str],
    judge: str | None,
    stem: str,
    negated: Collection[str],
) -> VerdictPart | tuple[str, ...]:
    """Read one table; the names of its judges where it holds none of the one asked for.

    Raises
    ------
    NoDataError
        If it has no rows.
    InputError
        If it is no table of verdicts, or what it says breaks a rule.
    """
    reader = _Reader(table, propositions=propositions, negated=negated)
    names = reader.judges(stem)
    known = tuple(names.unique(maintain_order=True).to_list())
    if judge is None and len(known) > 1:
        refuse_judges(known, source=table.source)
    if judge is not None and reader.judge is None:
        names, known = names.clear().extend_constant(judge, len(names)), (judge,)
    if judge is not None and judge not in known:
        return known
    if len(known) > 1:
        reader.keep(names == judge)
    return reader.part(known[0] if judge is None else judge)


@dataclass(eq=False)
class _Reader:
    """One table on its way to a part."""

    table: Table
    propositions: Sequence[str] = field(kw_only=True)
    negated: Collection[str] = field(kw_only=True)

    def __post_init__(self) -> None:
        self.source = self.table.source
        columns = self.table.columns
        self.item = next((name for name in _ITEMS if name in columns), None)
        self.judge = next((name for name in _JUDGES if name in columns), None)
        self.label = next((name for name in _LABELS if name in columns), None)
        self.is_long = "question" in columns
        asked = [name for name in self.propositions if name in columns]
        if self.item is None:
            self._refuse_column("item")
        if self.is_long and self.label is None and "probability" not in columns:
            self._refuse_column("probability")
        if not self.is_long and not asked:
            self._refuse_column("question")
        wanted = [self.item, self.judge, "behavior", "fingerprint", "threshold"]
        if self.is_long:
            wanted += ["question", "probability", self.label, "source", "failure", "negated"]
        else:
            wanted += asked
        needed = [name for name in dict.fromkeys(wanted) if name is not None and name in columns]
        self.rows: Rows = self.table.load(needed)
        if self.rows.lines.is_empty():
            msg = f"{self.source}: must hold at least one verdict, got no rows. Judge some items."
            raise NoDataError(msg)

    def judges(self, stem: str) -> pl.Series:
        """Name the judge of every row."""
        n_rows = len(self.rows.lines)
        if self.judge is None:
            return pl.repeat(stem, n_rows, dtype=pl.String, eager=True)
        return self._text(self.judge).fill_null(stem)

    def keep(self, chosen: pl.Series) -> None:
        """Leave the other rows out."""
        self.rows = self.rows.where(chosen)

    def part(self, judge: str) -> VerdictPart:
        """Lay the rows out."""
        ids = self._ids()
        items = ids.unique(maintain_order=True)
        at_item = _codes(ids, items)
        names = tuple(items.to_list())
        behaviors = self._behaviors(at_item, len(names))
        fingerprints = self._stated("fingerprint")
        grid = (len(names), len(self.propositions))
        probabilities, given = np.full(grid, np.nan), np.zeros(grid, dtype=bool)
        fill = self._fill_long if self.is_long else self._fill_wide
        reasons = fill(ids, at_item, probabilities=probabilities, given=given)
        return VerdictPart(
            items=names,
            probabilities=probabilities,
            given=given,
            behaviors=behaviors,
            failures={names[row]: reason for row, reason in reasons.items()},
            judge=judge,
            fingerprints=frozenset(fingerprints),
            thresholds=self._thresholds(),
            source=self.source,
        )

    def _ids(self) -> pl.Series:
        ids = self._text(self.item or "")
        if ids.null_count():
            line = self.rows.lines[ids.is_null().arg_max() or 0]
            where = place(self.source, line=line, column=self.item)
            raise InputError(f"{where} must name an item, got nothing. Fill it.")
        return ids

    def _fill_long(
        self,
        ids: pl.Series,
        at_item: NDArray[np.int64],
        *,
        probabilities: NDArray[np.float64],
        given: NDArray[np.bool_],
    ) -> dict[int, str]:
        """Fill the grid from one row per item and question; give the reasons of what is missing."""
        at_question = _codes(self._text("question"), pl.Series(self.propositions))
        is_ours = at_question >= 0
        if not is_ours.any():
            self._refuse_questions()
        ids = ids.filter(pl.Series(is_ours))
        self.keep(pl.Series(is_ours))  # answers of other kinds need not be read at all
        at_item, at_question = at_item[is_ours], at_question[is_ours]
        cells = at_item * len(self.propositions) + at_question
        if np.bincount(cells, minlength=given.size).max() > 1:
            again = _first_repeat(cells)
            self._refuse_repeat(again, ids[again], self.propositions[at_question[again]])
        values, is_unsaid = self._values()
        turned = self._turned(at_question)
        values[turned] = 1.0 - values[turned]
        probabilities.flat[cells] = values
        given.flat[cells] = True
        missing = np.flatnonzero(np.isnan(values))
        reasons = self._reasons(missing, is_unsaid=is_unsaid[missing])
        # turned round, so that the first reason of an item is the one that stays
        return dict(zip(at_item[missing][::-1].tolist(), reasons[::-1], strict=True))

    def _fill_wide(
        self,
        ids: pl.Series,
        at_item: NDArray[np.int64],
        *,
        probabilities: NDArray[np.float64],
        given: NDArray[np.bool_],
    ) -> dict[int, str]:
        """Fill the grid from one row per item."""
        if probabilities.shape[0] < at_item.size:
            again = _first_repeat(at_item)
            self._refuse_repeat(again, ids[again], None)
        for column, name in enumerate(self.propositions):
            if name not in self.rows.columns:
                continue
            values = self._probabilities(name, words=True)
            probabilities[at_item, column] = 1.0 - values if name in self.negated else values
            given[:, column] = True
        rows = np.flatnonzero((given & np.isnan(probabilities)).any(axis=1))
        return dict.fromkeys(rows.tolist(), NO_VERDICT)

    def _values(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Give probabilities; and where there is a label but none.

        A label is taken for 0 or 1 where the table has no column for probabilities, and where a
        vote gave it. In any other table a probability that is not there is missing.
        """
        nowhere = np.zeros(len(self.rows.lines), dtype=bool)
        if "probability" not in self.rows.columns:
            return self._probabilities(self.label or "", words=True), nowhere
        values = self._probabilities("probability")
        missing = np.isnan(values)
        if self.label is None or not missing.any():
            return values, nowhere
        if "source" in self.rows.columns:
            votes = (self._text("source") == _VOTE).fill_null(value=False).to_numpy()
            if (votes & missing).any():
                words = self._probabilities(self.label, words=True)
                values = np.where(votes & missing, words, values)
        stated: NDArray[np.bool_] = self._text(self.label).is_not_null().to_numpy()
        return values, stated & np.isnan(values)

    def _probabilities(self, column: str, *, words: bool = False) -> NDArray[np.float64]:
        """Read numbers in [0, 1], and words of truth where those are answers; nan for nothing."""
        values = self.rows.columns[column]
        sorts = sorts_in(values)
        if sorts <= {"number"} and sorts:
            found = numbers(values)
            is_stated = _stated(values)
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
            where = place(self.source, line=self.rows.lines[row], column=shorten(column))
            rule = "a number in [0, 1]" + (", or true or false" if words else "")
            raise InputError(f"{where} must be {rule}, got {got(values[row])}. Correct it.")
        return found.fill_null(np.nan).to_numpy().astype(np.float64)

    def _turned(self, at_question: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Where the judge was asked for the absence."""
        by_name = np.array([name in self.negated for name in self.propositions], dtype=bool)
        found: NDArray[np.bool_] = by_name[at_question]
        if "negated" in self.rows.columns:
            found = found | (self._probabilities("negated", words=True) == 1.0)
        return found

    def _reasons(self, rows: NDArray[np.int64], *, is_unsaid: NDArray[np.bool_]) -> list[str]:
        found: list[str | None] = [None] * rows.size
        if "failure" in self.rows.columns:
            found = self._text("failure").gather(rows).to_list()
        return [
            reason or (NO_PROBABILITY if is_label else NO_VERDICT)
            for reason, is_label in zip(found, is_unsaid.tolist(), strict=True)
        ]

    def _behaviors(self, at_item: NDArray[np.int64], n_items: int) -> tuple[str | None, ...]:
        if "behavior" not in self.rows.columns:
            return (None,) * n_items
        frame = pl.DataFrame({"item": at_item, "behavior": self._text("behavior")})
        frame = frame.drop_nulls().unique(maintain_order=True)
        several = frame.filter(pl.col("item").is_duplicated())
        if several.height:
            row = int(several["item"][0])
            line = self.rows.lines[int(np.flatnonzero(at_item == row)[0])]
            where = place(self.source, line=line, column="behavior")
            said = several.filter(pl.col("item") == row)["behavior"].to_list()[:2]
            shown = " and ".join(repr(shorten(word)) for word in said)
            raise InputError(f"{where} must be one for each item, got {shown}. Correct it.")
        found: list[str | None] = [None] * n_items
        for row, behavior in frame.iter_rows():
            found[row] = behavior
        return tuple(found)

    def _thresholds(self) -> dict[str, frozenset[float]]:
        if "threshold" not in self.rows.columns:
            return {}
        if not self.is_long:
            return stated_thresholds(
                [self._threshold(cell) for cell in self._stated("threshold")], self.propositions
            )
        frame = pl.DataFrame(
            {
                "question": self._text("question"),
                "threshold": pl.Series(self._probabilities("threshold")).fill_nan(None),
            }
        )
        frame = frame.drop_nulls().unique()
        return {
            str(name): frozenset(values)
            for name, values in frame.group_by("question").agg("threshold").iter_rows()
        }

    def _threshold(self, cell: str) -> Threshold:
        try:
            return threshold_from_cell(cell)
        except ValueError as error:
            msg = f"{self.source}: column `threshold` {error}, got {shorten(cell)!r}. Correct it."
            raise InputError(msg) from error

    def _stated(self, column: str) -> list[str]:
        if column not in self.rows.columns:
            return []
        return self._text(column).drop_nulls().unique().to_list()

    def _text(self, column: str) -> pl.Series:
        """Give a column as text; what is blank is nothing."""
        text = texts(self.rows.columns[column], source=self.source).str.strip_chars()
        return text.set(text == "", None)

    def _refuse_repeat(self, row: int, item: str, question: str | None) -> NoReturn:
        where = place(self.source, line=self.rows.lines[row])
        about = repr(shorten(item)) + ("" if question is None else f" and {question!r}")
        msg = (
            f"{where}: verdicts must be unique by item and question, got a second one on {about}. "
            "Take one of them out."
        )
        raise InputError(msg)

    def _refuse_questions(self) -> NoReturn:
        found = self._text("question").drop_nulls().unique(maintain_order=True).to_list()
        shown = ", ".join(repr(shorten(name)) for name in found[:_MOST_NAMED]) or "none"
        msg = (
            f"{self.source}: verdicts must be on propositions of the rubric, got {shown}. Name "
            "the rubric that they were made with."
        )
        raise InputError(msg)

    def _refuse_column(self, name: str) -> NoReturn:
        shown = ", ".join(repr(shorten(column)) for column in self.table.columns[:_MOST_NAMED])
        more = len(self.table.columns) - _MOST_NAMED
        rest = f" and {more} more" if more > 0 else ""
        msg = (
            f"{self.source}: column `{name}` must exist, got columns {shown or 'of no name'}"
            f"{rest}. Name a file that `voirdire judge` wrote."
        )
        raise InputError(msg)


_TRUTHS = dict.fromkeys(TRUE_WORDS, 1.0) | dict.fromkeys(FALSE_WORDS, 0.0)


def _codes(values: pl.Series, known: pl.Series) -> NDArray[np.int64]:
    """Give the place of each value among the known ones; -1 where it is not there."""
    kinds = pl.Enum(known)
    found = values.cast(kinds, strict=False).to_physical().cast(pl.Int64)
    return found.fill_null(-1).to_numpy()


def _first_repeat(codes: NDArray[np.int64]) -> int:
    """Find the first row whose code an earlier row has."""
    first = np.zeros(codes.size, dtype=bool)
    first[np.unique(codes, return_index=True)[1]] = True
    return int(np.argmin(first))


def _stated(values: Column) -> pl.Series:
    """Where a number stands, one that is not finite or too large for a column included."""
    if not isinstance(values, pl.Series):
        there = [value is not None and value == value for value in values]  # nan is not itself
        return pl.Series(there, dtype=pl.Boolean)
    return values.is_not_null() & ~values.cast(pl.Float64).is_nan().fill_null(value=False)
