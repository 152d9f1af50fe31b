"""Align labels given as dicts, `{item: label}` per rater, without leaving Python's own types."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.records import Dropped
from voirdire.stats import LabelSets
from voirdire.studies.label_matrix import LabelMatrix, with_typical_sets
from voirdire.studies.label_words import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from voirdire.studies.label_words import LabelReader, Word

__all__ = ["matrix_from_mappings"]

MISSING, UNKNOWN, FAILED = -1, -2, -3


@dataclass(frozen=True)
class _Column:
    """One rater's labels on the annotated items."""

    role: str
    rater: str
    rows: NDArray[np.intp]
    items: Sequence[Any]
    raw: Sequence[Any]
    n_unannotated: int = 0


def matrix_from_mappings(
    judges: Mapping[str, Mapping[Any, Any]],
    humans: Mapping[str, Mapping[Any, Any]],
    *,
    reader: LabelReader,
    numeric: bool,
    gold: Mapping[Any, Any] | None = None,
    clusters: Mapping[Any, Any] | None = None,
) -> LabelMatrix:
    """Align dicts of labels on the items that annotators labelled.

    Parameters
    ----------
    judges, humans : mapping of str to mapping
        `{rater: {item: label}}`. An item is any hashable id.
    reader : LabelReader
        Reads raw labels.
    numeric : bool
        Whether labels become numbers instead of codes.
    gold : mapping, optional
        `{item: label}`.
    clusters : mapping, optional
        `{item: cluster}` for every annotated item.

    Returns
    -------
    LabelMatrix

    Raises
    ------
    InputError
        If something is not such a mapping, or labels of different types meet.
    NoDataError
        If there are no annotations, or a judge has no item in common with them.
    """
    _check_mappings("humans", humans)
    _check_mappings("judges", judges)
    humans = dict(sorted(humans.items(), key=lambda pair: str(pair[0])))
    # in order of their names, so that the order of items and annotators changes no figure
    items = sorted(dict.fromkeys(chain(*humans.values())), key=str)
    index = {item: row for row, item in enumerate(items)}
    if not index:
        msg = "`humans` must hold at least one annotation, got none."
        raise NoDataError(msg)
    columns = [_column("humans", name, labels, index) for name, labels in humans.items()]
    columns += [_column("judge", name, labels, index) for name, labels in judges.items()]
    if gold is not None:
        columns.append(_column("gold", "gold", gold, index))
    coder = _Coder(reader)
    coded = [coder.encode(column) for column in columns]
    _check_usable(columns, coded, coder.dropped)
    matrix = _place(columns, coded, len(index))
    units = None if clusters is None else _units(clusters, index)
    annotated = np.asarray((matrix[:, : len(humans)] >= 0).any(axis=1))
    if not annotated.all():  # an item without a usable annotation is no annotated item
        matrix, units = matrix[annotated], None if units is None else units[annotated]
    n_humans, n_judges = len(humans), len(judges)
    answers = matrix[:, n_humans : n_humans + n_judges]
    shown = _as_numbers(matrix, coder.categories) if numeric else np.maximum(matrix, MISSING)
    categories = coder.categories
    if categories and isinstance(categories[0], frozenset):
        given = matrix[:, :n_humans]
        counts = np.bincount(given[given >= 0], minlength=len(categories))
        categories = with_typical_sets(categories, counts.tolist())
    universe, label_sets = (None, None) if numeric else _universe(categories, reader)
    return LabelMatrix(
        items=tuple(
            str(item) for item, kept in zip(index, annotated.tolist(), strict=True) if kept
        ),
        annotators=tuple(str(name) for name in humans),
        judges=tuple(str(name) for name in judges),
        humans=shown[:, :n_humans],
        answers=shown[:, n_humans : n_humans + n_judges],
        failed=answers < MISSING,
        gold=shown[:, -1] if gold is not None else None,
        clusters=units,
        categories=() if numeric else tuple(categories),
        label_sets=label_sets,
        universe=universe,
        declared=reader.declared is not None,
        dropped=(*coder.dropped, *_unannotated(columns)),
        n_unjudged=_unjudged(columns, annotated),
    )


def _check_mappings(name: str, given: Any) -> None:
    if not isinstance(given, Mapping) or not given:
        msg = f"`{name}` must be a mapping {{rater: {{item: label}}}}, got {shorten(given)!r}."
        raise InputError(msg)
    if len({str(rater) for rater in given}) < len(given):
        msg = f"`{name}` must call every rater by a name of its own, got {shorten(list(given))}."
        raise InputError(msg)
    for rater, labels in given.items():
        if not isinstance(labels, Mapping):
            msg = (
                f"`{name}` must map every rater to {{item: label}}, got {shorten(labels)!r} "
                f"for {shorten(rater)!r}."
            )
            raise InputError(msg)


def _column(role: str, rater: str, labels: Mapping[Any, Any], index: dict[Any, int]) -> _Column:
    n_given = len(labels)
    if not labels.keys() <= index.keys():
        labels = {item: label for item, label in labels.items() if item in index}
    if not labels and role != "humans":
        msg = (
            f"`{role}` must share items with `humans`, got none in common for {shorten(rater)!r}. "
            "Check that both use the same item ids (and ids of the same type)."
        )
        raise NoDataError(msg)
    rows = np.fromiter(map(index.__getitem__, labels), np.intp, len(labels))
    lost = n_given - len(labels)
    return _Column(role, str(rater), rows, list(labels), list(labels.values()), lost)


class _Coder:
    """Turns raw labels into codes of one shared list of categories."""

    def __init__(self, reader: LabelReader) -> None:
        self._reader = reader
        self._codes: dict[Any, int] = {}
        self._words: dict[Any, Word] = {}
        self._family: tuple[str, str, Any] | None = None
        self.categories: list[Any] = []
        self.dropped: list[Dropped] = []

    def encode(self, column: _Column) -> NDArray[np.int64]:
        """Return the code of every label, or why there is none."""
        keys = _keys(column.raw)
        known: dict[Any, int] = {}
        reasons: dict[Any, Word] = {}
        for key, raw in dict(zip(keys, column.raw, strict=True)).items():
            word = self._read(key, raw)
            if word.status == "label":
                known[key] = self._code(word, raw, column)
                continue
            known[key] = {"missing": MISSING, "unknown": UNKNOWN, "failed": FAILED}[word.status]
            if column.role == "judge" and word.status == "missing":
                known[key] = FAILED  # asked, and gave no answer
            reasons[key] = word
        if reasons:
            self._list_drops(column, keys, reasons)
        return np.fromiter(map(known.__getitem__, keys), np.int64, len(keys))

    def _read(self, key: Any, raw: Any) -> Word:
        """Read a label once, however many raters gave it; texts and others never share a key."""
        word = self._words.get(key)
        if word is None:
            word = self._words[key] = self._reader.read(raw)
        return word

    def _code(self, word: Word, raw: Any, column: _Column) -> int:
        self._check_family(word, raw, column)
        code = self._codes.get(word.value)
        if code is None:
            code = self._codes[word.value] = len(self.categories)
            self.categories.append(word.value)
        return code

    def _check_family(self, word: Word, raw: Any, column: _Column) -> None:
        if self._family is None:
            self._family = (str(word.family), column.rater, raw)
        family, rater, first = self._family
        if word.family != family:
            msg = (
                f"labels must be of one type, got {shorten(first)!r} ({family}, by {rater!r}) and "
                f"{shorten(raw)!r} ({word.family}, by {column.rater!r}). Convert them, or declare "
                "`kind`: 'choice' reads numbers as text, 'scale' reads text as numbers."
            )
            raise InputError(msg)

    def _list_drops(
        self, column: _Column, keys: Iterable[Any], reasons: Mapping[Any, Word]
    ) -> None:
        for key, item, raw in zip(keys, column.items, column.raw, strict=True):
            word = reasons.get(key)
            if word is None or (column.role == "judge" and word.status != "unknown"):
                continue
            self.dropped.append(
                Dropped(
                    reason=word.reason,
                    source=column.role,
                    item=shorten(str(item)),
                    rater=column.rater,
                    value=None if raw is None else shorten(raw),
                )
            )


def _keys(raw: Sequence[Any]) -> Sequence[Any]:
    """Hashable stand-ins under which labels that differ in type stay apart."""
    types = set(map(type, raw))
    if types in ({str}, {int}):
        return raw
    return [_key(label) for label in raw]


def _key(label: Any) -> Hashable:
    label = plain(label)
    if isinstance(label, list | tuple | set | frozenset):
        try:
            return frozenset(label)
        except TypeError:
            return ("unhashable", repr(label))
    if label != label:  # nan is never its own key
        return "nan", type(label)
    return (type(label), label) if isinstance(label, Hashable) else ("unhashable", id(label))


def _check_usable(
    columns: Sequence[_Column], coded: Sequence[NDArray[np.int64]], dropped: Sequence[Dropped]
) -> None:
    """Refuse annotators without a single label, and a judge whose labels all make no sense."""
    pairs = list(zip(columns, coded, strict=True))
    if all((codes < 0).all() for column, codes in pairs if column.role == "humans"):
        first = next((row for row in dropped if row.source == "humans"), None)
        why = "every label is missing" if first is None else _first_reason(first)
        msg = f"`humans` must hold at least one label that can be used, got none: {why}."
        raise NoDataError(msg)
    for column, codes in pairs:
        if column.role != "humans" and (codes < 0).all() and (codes == UNKNOWN).any():
            first = next(row for row in dropped if row.rater == column.rater)
            msg = (
                f"labels of {column.role} {shorten(column.rater)!r} must fit the question, got "
                f"none that does: {_first_reason(first)}."
            )
            raise InputError(msg)


def _first_reason(row: Dropped) -> str:
    return f"{row.value!r} by {row.rater!r} is dropped as {row.reason!r}"


def _place(
    columns: Sequence[_Column], coded: Sequence[NDArray[np.int64]], n_items: int
) -> NDArray[np.int32]:
    matrix = np.full((len(columns), n_items), MISSING, dtype=np.int32)
    for row, (column, codes) in enumerate(zip(columns, coded, strict=True)):
        is_judge = column.role == "judge"
        matrix[row, column.rows] = codes if is_judge else np.maximum(codes, MISSING)
    return matrix.T


def _as_numbers(matrix: NDArray[np.int32], categories: Sequence[float]) -> NDArray[np.float64]:
    values = np.asarray([*categories, np.nan], dtype=np.float64)
    return values[np.where(matrix < 0, len(categories), matrix)]


def _units(clusters: Mapping[Any, Any], index: Mapping[Any, int]) -> NDArray[np.intp]:
    lost = [item for item in index if _is_no_cluster(clusters.get(item))]
    if lost:
        msg = (
            f"`clusters` must name the cluster of every annotated item, got none for {len(lost)}, "
            f"the first {shorten(lost[0])!r}."
        )
        raise InputError(msg)
    numbers: dict[Any, int] = {}
    try:
        units = [numbers.setdefault(clusters[item], len(numbers)) for item in index]
    except TypeError as error:
        msg = f"`clusters` must map items to words or numbers, got {shorten(dict(clusters))}."
        raise InputError(msg) from error
    return np.array(units, np.intp)


def _is_no_cluster(unit: Any) -> bool:
    return plain(unit) is None or unit != unit  # nan


def _unjudged(columns: Sequence[_Column], annotated: NDArray[np.bool_]) -> dict[str, int]:
    """Count, by judge, annotated items that the judge was not asked about."""
    counts = {
        column.rater: int(np.count_nonzero(annotated) - np.count_nonzero(annotated[column.rows]))
        for column in columns
        if column.role == "judge"
    }
    return {judge: count for judge, count in counts.items() if count}


def _universe(
    categories: Sequence[Any], reader: LabelReader
) -> tuple[tuple[Any, ...] | None, LabelSets | None]:
    if not categories or not isinstance(categories[0], frozenset):
        return reader.declared, None
    labels = reader.declared or tuple(sorted(frozenset().union(*categories)))
    position = {label: place for place, label in enumerate(labels)}
    sets = [[position[label] for label in category] for category in categories]
    return labels, LabelSets.from_positions(sets, n_labels=len(labels))


def _unannotated(columns: Sequence[_Column]) -> Iterable[Dropped]:
    for column in columns:
        if column.n_unannotated:
            reason = f"{column.n_unannotated} items that nobody annotated"
            yield Dropped(reason=reason, source=column.role, rater=column.rater)
