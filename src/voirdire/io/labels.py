"""Labels of people and judges: how they are read, and the one form in which they travel."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.cells import Coded, label_text
from voirdire.io.files import place
from voirdire.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire._types import QuestionKind

__all__ = ["DUPLICATE_ROW", "LabelTable", "check_spellings", "fold", "join_tables"]

DUPLICATE_ROW = "duplicate row"
"""Why a label that a table repeats is set aside."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelTable:
    """Labels of several raters, one row per question, item and rater.

    Attributes
    ----------
    kind : str
        The kind of question.
    question, item, rater : Coded
        Names, one code per row.
    label : Coded
        Labels in the form of their kind: bool, str, float, or frozenset of str; -1 is none.
    failure : Coded
        Why a judge gave no usable answer; -1 is no failure.
    cluster, seen : Coded or None
        What an item shares its source with; which judge's answer the annotator had seen.
    source : Coded
        What files or frames are called.
    lines : ndarray of int
        The 1-based line of a text file or row of a table; 0 where the format has neither.
    dropped : tuple of Dropped
        What was set aside, with its reason and place.
    n_unread : int
        How many of these could not be read, as `more than one in ten` counts them.
    thresholds : tuple of float
        The thresholds that judges' labels were made with, where the table declares them.
    fingerprints : mapping of str to tuple of str
        For each judge that has any: the fingerprints of its verdicts.
    notes : tuple of str
        What was found about the file that a reader should know, a sentence each.
    probability : ndarray of float, or None
        What a judge stated for true, in [0, 1]; nan where it stated none.
    """

    kind: QuestionKind
    question: Coded
    item: Coded
    rater: Coded
    label: Coded
    failure: Coded
    cluster: Coded | None = None
    seen: Coded | None = None
    source: Coded
    lines: NDArray[np.uint32]
    dropped: tuple[Dropped, ...] = ()
    thresholds: tuple[float, ...] = ()
    fingerprints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    probability: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def where(self, kept: NDArray[np.bool_]) -> LabelTable:
        """Return some rows."""
        columns = {
            name: column.where(kept)
            for name in (
                "question",
                "item",
                "rater",
                "label",
                "failure",
                "cluster",
                "seen",
                "source",
            )
            if (column := getattr(self, name)) is not None
        }
        stated = None if self.probability is None else self.probability[kept]
        return replace(self, **columns, lines=self.lines[kept], probability=stated)

    def of_questions(self, questions: Sequence[str]) -> LabelTable:
        """Return the rows of some questions."""
        return self.where(_is_one_of(self.question, questions))

    def of_raters(self, raters: Sequence[str]) -> LabelTable:
        """Return the rows of some raters, and what of theirs was set aside."""
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
        nothing = Coded([], np.full(len(self), -1, np.int32))
        lines = pl.Series("line", self.lines, dtype=pl.UInt32)
        return pl.DataFrame(
            {
                "question": _series(self.question),
                "item": _series(self.item),
                "rater": _series(self.rater),
                "label": _label_series(self.label, self.kind),
                "failure": _series(self.failure),
                "cluster": _series(self.cluster or nothing),
                "seen_judge": _series(self.seen or nothing),
                "source": _series(self.source).cast(pl.Categorical),
                "line": lines.to_frame().select(pl.when(pl.col("line") > 0).then("line"))["line"],
            }
        )


def _is_one_of(column: Coded, wanted: Sequence[str]) -> NDArray[np.bool_]:
    chosen = [code for code, value in enumerate(column.values) if value in set(wanted)]
    return np.isin(column.codes, chosen)


def _series(column: Coded) -> pl.Series:
    values = pl.Series([*column.values, None], dtype=pl.String)
    return values.gather(np.where(column.codes < 0, len(column.values), column.codes))


def _label_series(column: Coded, kind: QuestionKind) -> pl.Series:
    if kind == "scale":
        values = pl.Series([*column.values, None], dtype=pl.Float64)
    elif kind == "multilabel":
        sets = [sorted(labels) for labels in column.values]
        values = pl.Series([*sets, None], dtype=pl.List(pl.String))
    else:
        words = [label_text(label) for label in column.values]
        values = pl.Series([*words, None], dtype=pl.String)
    return values.gather(np.where(column.codes < 0, len(column.values), column.codes))


def fold(text: str) -> str:
    """Give the form in which spellings that differ by case, width or white space are one."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def check_spellings(names: Iterable[str], *, what: str, way_out: str) -> None:
    """Refuse names that differ by case, width or white space only."""
    known: dict[str, str] = {}
    for name in names:
        first = known.setdefault(fold(name), name)
        if first != name:
            msg = (
                f"{what} must be written alike, got {shorten(first)!r} and {shorten(name)!r}. "
                f"{way_out}"
            )
            raise InputError(msg)


def label_words(label: Coded) -> list[str]:
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
        msg = (
            f"`tables` must be of one kind of question, got {kinds!r}. "
            "Examine the kinds one after the other."
        )
        raise InputError(msg)
    if len(listed) == 1:
        return listed[0]
    _refuse_mixed_runs(listed)
    joined = {
        name: Coded.join([getattr(table, name) for table in listed])
        for name in ("question", "item", "rater", "label", "failure", "source")
    }
    for name in ("cluster", "seen"):
        if any(getattr(table, name) is not None for table in listed):
            nothing = [Coded([], np.full(len(table), -1, np.int32)) for table in listed]
            parts = [getattr(t, name) or none for t, none in zip(listed, nothing, strict=True)]
            joined[name] = Coded.join(parts)
    whole = LabelTable(
        kind=listed[0].kind,
        **joined,
        lines=np.concatenate([table.lines for table in listed]),
        dropped=tuple(row for table in listed for row in table.dropped),
        thresholds=tuple(sorted({value for table in listed for value in table.thresholds})),
        fingerprints=join_fingerprints([table.fingerprints for table in listed]),
        notes=tuple(note for table in listed for note in table.notes),
        probability=_join_probabilities(listed),
    )
    return without_repeats(whole)


def _join_probabilities(tables: Sequence[LabelTable]) -> NDArray[np.float64] | None:
    if all(table.probability is None for table in tables):
        return None
    return np.concatenate(
        [
            np.full(len(table), np.nan) if table.probability is None else table.probability
            for table in tables
        ]
    )


def join_fingerprints(
    found: Iterable[Mapping[str, tuple[str, ...]]],
) -> dict[str, tuple[str, ...]]:
    """Put the fingerprints of each judge together, in order."""
    joined: dict[str, set[str]] = {}
    for fingerprints in found:
        for rater, values in fingerprints.items():
            joined.setdefault(rater, set()).update(values)
    return {rater: tuple(sorted(joined[rater])) for rater in sorted(joined)}


def _refuse_mixed_runs(tables: Sequence[LabelTable]) -> None:
    """Refuse tables whose verdicts by one judge on one question have no fingerprint in common."""
    seen: dict[tuple[str, str], tuple[LabelTable, set[str]]] = {}
    for table in tables:
        for rater in table.fingerprints:
            found = {*table.fingerprints[rater]}
            for question in table.of_raters([rater]).questions:
                first, known = seen.setdefault((rater, question), (table, found))
                if found and known and not found & known:
                    msg = (
                        f"verdicts by {shorten(rater)!r} on {shorten(question)!r} must be of one "
                        f"run with one fingerprint, got others in {_source(table)} than in "
                        f"{_source(first)}. Name the judge of each run differently."
                    )
                    raise InputError(msg)
                known |= found


def _source(table: LabelTable) -> str:
    return shorten(table.source.used()[0])


def split_raters(tables: Iterable[LabelTable]) -> dict[str, dict[str, int]]:
    """Find judges whose verdicts on a question stand in several tables, about other items in each.

    Returns by judge the number of items in each source.
    """
    items: dict[tuple[str, str], dict[str, set[str]]] = {}
    for table in tables:
        for rater in table.fingerprints:
            mine = table.of_raters([rater])
            for question in mine.questions:
                found = items.setdefault((rater, question), {})
                found.setdefault(_source(table), set()).update(
                    mine.of_questions([question]).item.used()
                )
    return {
        rater: {source: len(names) for source, names in found.items()}
        for (rater, _), found in items.items()
        if any(names != next(iter(found.values())) for names in found.values())
    }


def without_repeats(table: LabelTable) -> LabelTable:
    """Keep the first of equal labels by one rater; two different ones are refused."""
    n_items, n_raters = len(table.item.values) + 1, len(table.rater.values) + 1
    key = (table.question.codes.astype(np.int64) * n_items + table.item.codes) * n_raters
    key += table.rater.codes
    _, first, place_of = np.unique(key, return_index=True, return_inverse=True)
    if len(first) == len(key):
        return table
    original = first[place_of]
    repeats = np.flatnonzero(original != np.arange(len(key)))
    differs = (table.label.codes[repeats] != table.label.codes[original[repeats]]) | (
        table.failure.codes[repeats] != table.failure.codes[original[repeats]]
    )
    clash = differs & ~_both_failed(table, repeats, original[repeats])
    if clash.any():
        row = int(repeats[clash][0])
        _refuse_contradiction(table, int(original[row]), row)
    drops = [drop_of(table, row, reason=DUPLICATE_ROW) for row in repeats.tolist()]
    kept = np.ones(len(key), dtype=np.bool_)
    kept[repeats] = False
    return replace(table.where(kept), dropped=(*table.dropped, *drops))


def _both_failed(
    table: LabelTable, rows: NDArray[np.intp], others: NDArray[np.intp]
) -> NDArray[np.bool_]:
    return (table.failure.codes[rows] >= 0) & (table.failure.codes[others] >= 0)


def drop_of(table: LabelTable, row: int, *, reason: str) -> Dropped:
    """Say of a row that it is set aside."""

    def value(column: Coded) -> Any:
        code = column.codes[row]
        return None if code < 0 else column.values[code]

    label = value(table.label)
    line = int(table.lines[row])
    return Dropped(
        reason=reason,
        source=value(table.source) or "",
        line=line or None,
        item=value(table.item),
        rater=value(table.rater),
        question=value(table.question),
        value=None if label is None else shorten(_shown_label(label)),
    )


def _shown_label(label: Any) -> str:
    return ", ".join(sorted(label)) if isinstance(label, frozenset) else label_text(label)


def _refuse_contradiction(table: LabelTable, first: int, second: int) -> None:
    one, other = (drop_of(table, row, reason="") for row in (first, second))

    def shown(row: int, drop: Dropped) -> str:
        code = table.failure.codes[row]
        if code >= 0:
            return f"a failure ({shorten(table.failure.values[code])})"
        return repr(drop.value)

    msg = (
        f"{place(other.source, line=other.line)}: `label` must be given once per question, item "
        f"and rater, got {shown(second, other)} after {shown(first, one)} in "
        f"{place(one.source, line=one.line)} (question {shorten(other.question or '')!r}, item "
        f"{shorten(other.item or '')!r}, rater {shorten(other.rater or '')!r}). Keep one of them."
    )
    raise InputError(msg)


def refuse_nothing(table_source: str) -> None:
    """Refuse a source without a row."""
    msg = f"{table_source}: must hold at least one label, got no rows. Add some."
    raise NoDataError(msg)
