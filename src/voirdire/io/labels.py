"""Defines the table of labels that every reader makes, of people and judges alike."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire.documents import to_canonical_json
from voirdire.errors import InputError
from voirdire.io.cells import label_text
from voirdire.io.files import place
from voirdire.io.pairs import OTHER_SIDE
from voirdire.io.values import CodedColumn, code_values, format_name
from voirdire.records import Dropped, Failure
from voirdire.records.plain import without_nan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire._types import QuestionKind

T = TypeVar("T", bound="LabelTable")


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelTable:
    """Labels of several raters, one row per question, item and rater.

    Attributes
    ----------
    kind : str
        The kind of question.
    question, item, rater : CodedColumn
        Names, one code per row.
    label : CodedColumn
        Labels in the form of their kind: bool, str, float, or frozenset of str; -1 is none.
    failure : CodedColumn
        Why a judge gave no usable answer; -1 is no failure.
    cluster, seen : CodedColumn or None
        The source that items share; the judge whose answer the annotator had seen.
    reason, prompt, response : CodedColumn or None
        The judge's reason, and the texts of the item, where a table of at most 100,000 rows has
        them: at most 2,000 characters each.
    turned : CodedColumn or None
        For votes between two sides whether they were exchanged, "yes" or "no", so that A is the
        first by name; -1 where the file does not name them.
    source : CodedColumn
        Names of the files or frames.
    lines : ndarray of int
        The 1-based line of a text file or row of a table; 0 where the format has neither.
    dropped : tuple of Dropped
        Rows that were set aside, each with its reason and place.
    thresholds : mapping of str to tuple of float
        By question the thresholds that judges' labels were made with, where the table declares
        them.
    fingerprints : mapping of str to tuple of str
        For each judge that has any: the fingerprints of its verdicts.
    notes : tuple of str
        Notes about the file for the reader, one sentence each.
    stated : ndarray of float, or None
        The judge's stated probability of true, in [0, 1]; nan where there is none.
    top : float or None
        The largest number of a scale that is written as 4/5 or 85% (then 1).
    """

    kind: QuestionKind
    question: CodedColumn
    item: CodedColumn
    rater: CodedColumn
    label: CodedColumn
    failure: CodedColumn
    cluster: CodedColumn | None = None
    seen: CodedColumn | None = None
    reason: CodedColumn | None = None
    prompt: CodedColumn | None = None
    response: CodedColumn | None = None
    turned: CodedColumn | None = None
    source: CodedColumn
    lines: NDArray[np.uint32]
    dropped: tuple[Dropped, ...] = ()
    thresholds: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    fingerprints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    stated: NDArray[np.float64] | None = None
    top: float | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def where(self, kept: NDArray[np.bool_]) -> Self:
        """Return some rows."""
        if kept.all():
            return self
        columns: dict[str, Any] = {
            each.name: column.where(kept)
            for each in fields(self)
            if isinstance(column := getattr(self, each.name), CodedColumn)
        }
        stated = None if self.stated is None else self.stated[kept]
        return replace(self, **columns, lines=self.lines[kept], stated=stated)

    def of_questions(self, questions: Sequence[str]) -> LabelTable:
        """Return the rows of some questions."""
        return self.where(_is_one_of(self.question, questions))

    def of_raters(self, raters: Sequence[str]) -> LabelTable:
        """Return the rows of some raters, with their rows that were set aside."""
        kept = self.where(_is_one_of(self.rater, raters))
        dropped = tuple(row for row in self.dropped if row.rater is None or row.rater in raters)
        return replace(kept, dropped=dropped)

    @cached_property
    def questions(self) -> list[str]:
        """The questions, in order of appearance."""
        return self.question.used()

    @cached_property
    def raters(self) -> list[str]:
        """The raters, in order of appearance."""
        return self.rater.used()

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The same as a data frame.

        Columns `question`, `item`, `rater` (String), `label` (String ``"true"`` or ``"false"`` for
        boolean, String for choice and text, Float64 for scale, sorted List(String) for multilabel),
        `failure` (String, null = none; then `label` is null), `cluster` and `seen_judge` (String,
        null = none), `source` (Categorical) and `line` (UInt32, null where there is none).
        """
        label = self.label
        dtype: Any = pl.String
        if self.kind == "scale":
            dtype = pl.Float64
        elif self.kind == "multilabel":
            label, dtype = (
                CodedColumn(list(map(sorted, label.values)), label.codes),
                pl.List(pl.String),
            )
        else:
            label = CodedColumn(list(map(label_text, label.values)), label.codes)
        nothing = CodedColumn.constant(None, len(self))
        lines = pl.Series("line", self.lines, dtype=pl.UInt32)
        return pl.DataFrame(
            {
                "question": self.question.series(pl.String),
                "item": self.item.series(pl.String),
                "rater": self.rater.series(pl.String),
                "label": label.series(dtype),
                "failure": self.failure.series(pl.String),
                "cluster": (self.cluster or nothing).series(pl.String),
                "seen_judge": (self.seen or nothing).series(pl.String),
                "source": self.source.series(pl.String).cast(pl.Categorical),
                "line": lines.set(lines == 0, None),
            }
        )


def _is_one_of(column: CodedColumn, wanted: Sequence[str]) -> NDArray[np.bool_]:
    chosen = [*map(set(wanted).__contains__, column.values), False]
    return np.array(chosen)[column.codes]


def fold_spelling(text: str) -> str:
    """Return a spelling without differences of case, width and white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def check_spellings(names: Iterable[str], *, what: str, way_out: str) -> None:
    """Refuse names that differ by case, width or white space only."""
    known: dict[str, str] = {}
    for name in names:
        first = known.setdefault(fold_spelling(name), name)
        if first != name:
            raise InputError(
                f"{what} must be written alike, got {shorten(first)!r} and {shorten(name)!r}. "
                f"{way_out}"
            )


def list_words(label: CodedColumn) -> list[str]:
    """List the words that labels consist of; numbers and truth values have none."""
    words: dict[str, None] = {}
    for value in label.values:
        if isinstance(value, frozenset):
            words |= dict.fromkeys(sorted(value))
        elif isinstance(value, str):
            words[value] = None
    return list(words)


def join_tables(tables: Iterable[LabelTable]) -> LabelTable:
    """Put tables of one kind under each other.

    Parameters
    ----------
    tables : iterable of LabelTable
        At least one; all of the same kind.

    Returns
    -------
    LabelTable
        All rows in the order of the tables. A label that two tables repeat is kept once and
        listed as ``"duplicate row"``.

    Raises
    ------
    InputError
        If there is no table, if kinds differ, if a rater gave one item two different labels, or if
        verdicts of one judge on one question were made in different ways.

    Examples
    --------
    >>> import polars as pl
    >>> from voirdire.io import join_tables, read_labels
    >>> ann = pl.DataFrame({"item": ["a", "b"], "annotator": "ann", "label": ["yes", "no"]})
    >>> bob = pl.DataFrame({"item": ["a", "b"], "annotator": "bob", "label": ["yes", "yes"]})
    >>> tables = [read_labels(frame, role="annotator", kind="boolean") for frame in (ann, bob)]
    >>> join_tables(tables).raters
    ['ann', 'bob']
    """
    listed = list(tables)
    if not listed:
        msg = "`tables` must hold at least one table, got none. Read a file first."
        raise InputError(msg)
    kinds = sorted({table.kind for table in listed})
    if len(kinds) > 1:
        raise InputError(
            f"`tables` must be of one kind of question, got {kinds!r}. "
            "Examine the kinds one after the other."
        )
    if len(listed) == 1:
        return listed[0]
    check_tops(listed)
    _refuse_mixed_runs(listed)
    columns: dict[str, Any] = {}
    for each in fields(LabelTable):
        parts = [getattr(table, each.name) for table in listed]
        if any(isinstance(part, CodedColumn) for part in parts):
            nothing = [CodedColumn.constant(None, len(table)) for table in listed]
            columns[each.name] = CodedColumn.join(
                [part or none for part, none in zip(parts, nothing, strict=True)]
            )
    joined = LabelTable(
        kind=listed[0].kind,
        **columns,
        lines=np.concatenate([table.lines for table in listed]),
        dropped=tuple(row for table in listed for row in table.dropped),
        thresholds=gather_values(x for table in listed for x in table.thresholds.items()),
        fingerprints=gather_values(x for table in listed for x in table.fingerprints.items()),
        notes=tuple(note for table in listed for note in table.notes),
        stated=None
        if all(table.stated is None for table in listed)
        else np.concatenate(
            [np.full(len(x), np.nan) if x.stated is None else x.stated for x in listed]
        ),
        top=max((table.top for table in listed if table.top is not None), default=None),
    )
    return drop_repeats(joined)


def gather_values(pairs: Iterable[tuple[str, Iterable[Any]]]) -> dict[str, tuple[Any, ...]]:
    """Gather the different values of each name, both in order."""
    found: dict[str, set[Any]] = {}
    for name, values in pairs:
        found.setdefault(name, set()).update(values)
    return {name: tuple(sorted(found[name])) for name in sorted(found)}


def check_tops(tables: Sequence[LabelTable]) -> None:
    """Refuse 4/5 in one table beside 8/10, or 7, in another, and 85% beside 85."""
    for one in tables:
        for other in tables if one.top is not None else ():
            numbers = [x for x in other.label.values if isinstance(x, float)]
            if other.top not in (None, one.top) or max(numbers, default=0.0) > (one.top or 0.0):
                raise InputError(
                    f"numbers of {_source(one)} and {_source(other)} must be of one scale, got "
                    f"some of at most {one.top:g} beside others. Write all of them as plain "
                    "numbers of one scale."
                )


def _runs(tables: Iterable[LabelTable]) -> Iterator[tuple[str, str, LabelTable]]:
    """Return every judge whose verdicts have a fingerprint, every question, and the verdicts."""
    for table in tables:
        for rater in table.fingerprints:
            mine = table.of_raters([rater])
            for question in mine.questions:
                yield rater, question, mine


def _refuse_mixed_runs(tables: Sequence[LabelTable]) -> None:
    """Refuse tables with verdicts of one judge on one question from different runs."""
    seen: dict[tuple[str, str], tuple[str, set[str]]] = {}
    for rater, question, table in _runs(tables):
        found = {*table.fingerprints[rater]}
        first, known = seen.setdefault((rater, question), (_source(table), found))
        if not found & known:
            raise InputError(
                f"verdicts by {shorten(rater)!r} on {shorten(question)!r} must be of one run with "
                f"one fingerprint, got others in {_source(table)} than in {first}. Name the judge "
                "of each run differently."
            )
        known |= found


def _source(table: LabelTable) -> str:
    return shorten(table.source.used()[0])


def split_raters(tables: Iterable[LabelTable]) -> dict[str, dict[str, int]]:
    """Find judges with verdicts on a question in several tables, on different items.

    Returns by judge the number of items in each source.
    """
    items: dict[tuple[str, str], dict[str, set[str]]] = {}
    for rater, question, table in _runs(tables):
        found = items.setdefault((rater, question), {}).setdefault(_source(table), set())
        found.update(table.of_questions([question]).item.used())
    return {
        rater: {source: len(names) for source, names in found.items()}
        for (rater, _), found in items.items()
        if any(names != next(iter(found.values())) for names in found.values())
    }


def match_pairs(
    tables: Sequence[LabelTable], labels: Sequence[Any] | None = None
) -> Sequence[LabelTable]:
    """Exchange nothing where a table does not name its pairs: its A is that of the others' rows.

    Refuse it where the others show an item in both orders. Ratings of such items are turned about
    the middle of the declared labels, by default 0.
    """
    codes = [np.full(len(x), -1) if x.turned is None else x.turned.codes for x in tables]
    is_scale = tables[0].kind == "scale"
    are_named = all((each >= 0).all() for each in codes)
    if all(x.turned is None for x in tables) or (are_named and not is_scale):
        return tables
    orders: dict[str, set[bool]] = {}
    for table in tables:
        if table.turned is not None:
            for row in np.flatnonzero(table.turned.codes >= 0).tolist():
                was_turned = table.turned.value(row) == "yes"
                orders.setdefault(table.item.value(row) or "", set()).add(was_turned)
    both = sorted(item for item, found in orders.items() if len(found) > 1)
    if both and not are_named:
        lacking = next(x for x, each in zip(tables, codes, strict=True) if (each < 0).any())
        raise InputError(
            f"{lacking.source.used()[0]}: columns such as `model_a` and `model_b` must name both "
            f"sides of every row, since {len(both):,} items, such as {shorten(both[0])!r}, stand "
            "in both orders elsewhere. Add them."
        )
    if not is_scale:
        return [_turn(table, OTHER_SIDE) for table in tables]
    ratings = {rating for table in tables for rating in table.label.values}
    if both and not labels and min(ratings, default=0) >= 0:
        raise InputError(
            f"`labels` must list the ratings between two sides, since {len(both):,} items, such as "
            f"{shorten(both[0])!r}, stand in both orders, got ratings of {min(ratings):g} to "
            f"{max(ratings):g}. Declare labels={[f'{x:g}' for x in sorted(ratings)]}, or those of "
            "the whole scale: a rating is turned about their middle."
        )
    ends = min(labels or (0.0,)) + max(labels or (0.0,))
    return [_turn(x, {each: ends - each for each in ratings}) for x in tables] if both else tables


def _turn(table: LabelTable, other: Mapping[Any, Any]) -> LabelTable:
    """Replace the labels of rows that were exchanged."""
    if table.turned is None:
        return table
    is_turned = [table.turned.value(row) == "yes" for row in range(len(table))]
    labels = [
        other.get(label, label) if is_turned[row] else label
        for row, label in enumerate(map(table.label.value, range(len(table))))
    ]
    notes = table.notes
    if table.kind == "scale" and any(is_turned):
        notes += (f"{sum(is_turned):,} ratings of {_source(table)} between exchanged sides turned",)
    return replace(table, label=code_values(labels), turned=None, notes=notes)


def drop_repeats(table: T, column: CodedColumn | None = None) -> T:
    """Keep the first of equal labels by one rater; refuse different ones."""
    n_items, n_raters = len(table.item.values) + 1, len(table.rater.values) + 1
    key = (table.question.codes.astype(np.int64) * n_items + table.item.codes) * n_raters
    key += table.rater.codes
    ordered = np.sort(key)
    if (ordered[1:] != ordered[:-1]).all():
        return table
    _, first, place_of = np.unique(key, return_index=True, return_inverse=True)
    original = first[place_of]
    is_repeat = original != np.arange(len(key))
    label, failure = table.label.codes, table.failure.codes
    have_failed = (failure >= 0) & (failure[original] >= 0)
    clash = ((label != label[original]) | (failure != failure[original])) & ~have_failed
    if clash.any():
        row = int(np.argmax(clash))
        _refuse_contradiction(table, int(original[row]), row)
    drops = [
        drop_of(table, row, reason="duplicate row", column=column)
        for row in np.flatnonzero(is_repeat).tolist()
    ]
    return replace(table.where(~is_repeat), dropped=(*table.dropped, *drops))


def drop_of(
    table: LabelTable, row: int, *, reason: str, column: CodedColumn | None = None
) -> Dropped:
    """Make the record of a row that is set aside."""
    label = table.label.value(row)
    return Dropped(
        reason=reason,
        source=table.source.value(row) or "",
        line=int(table.lines[row]) or None,
        column=None if column is None else column.value(row),
        item=table.item.value(row),
        rater=table.rater.value(row),
        question=table.question.value(row),
        value=None if label is None else shorten(_value_text(label)),
    )


def _value_text(label: Any) -> str:
    if isinstance(label, frozenset):
        return ", ".join(sorted(map(str, label)))
    if isinstance(label, str | Failure):
        return label if isinstance(label, str) else label.reason
    return format_name(label) or str(label)


def _refuse_contradiction(table: LabelTable, first: int, second: int) -> None:
    one, other = (drop_of(table, row, reason="") for row in (first, second))

    def shown(row: int, drop: Dropped) -> str:
        failure = table.failure.value(row)
        return repr(drop.value) if failure is None else f"a failure ({shorten(failure)})"

    raise InputError(
        f"{place(other.source, line=other.line)}: `label` must be given once per question, item "
        f"and rater, got {shown(second, other)} after {shown(first, one)} in "
        f"{place(one.source, line=one.line)} (question {shorten(other.question or '')!r}, item "
        f"{shorten(other.item or '')!r}, rater {shorten(other.rater or '')!r}). Keep one of them."
    )


def hash_labels(frame: pl.DataFrame) -> str:
    """Hash labels in canonical order: the same labels in any file have the same SHA-256."""
    columns = ["question", "item", "rater", "label", "failure", "cluster"]
    ordered = frame.select(columns).sort("question", "item", "rater")
    digest = hashlib.sha256()
    for row in ordered.iter_rows():
        digest.update(to_canonical_json(without_nan(row)))
        digest.update(b"\n")
    return f"sha256:{digest.hexdigest()}"
