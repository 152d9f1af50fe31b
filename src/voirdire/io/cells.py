"""What a cell of labels means: a label, no answer, a failed call, or nothing that is known.

Labels repeat, so a column becomes its distinct values and a code per row. Each distinct value is
read once, whatever it comes from: text of a CSV, a typed column, JSON, or Python's own types.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
import numpy as np
import polars as pl

from voirdire._types import CANNOT_TELL, FALSE_WORDS, TRUE_WORDS, QuestionKind
from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.files import is_unicode
from voirdire.io.rows import text_series
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from voirdire.io.rows import Column

__all__ = [
    "CellReader",
    "Coded",
    "Sort",
    "Word",
    "check_sorts",
    "code_names",
    "code_values",
    "find_kind",
    "label_text",
    "name_text",
    "plain_value",
    "sort_of",
    "unfold_choices",
]

Sort: TypeAlias = Literal["text", "number", "truth", "list", "object"]
"""What a cell holds: whole numbers and fractions are one sort."""

_MAX_WHOLE = 9e18
"""Beyond this a float has no exact integer type to pass through."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|[+-]?inf(inity)?", re.A | re.I)
"""What tables read as a number too: no underscores, no other digits."""

_MOST_SHOWN = 8
_SEPARATORS = ("|", ";")


@dataclass(frozen=True)
class Coded:
    """A column as its distinct values, in order of appearance, and their codes; -1 is nothing."""

    values: list[Any]
    codes: NDArray[np.int32]

    def where(self, kept: NDArray[np.bool_]) -> Coded:
        """Return some rows; values that none of them has stay."""
        return Coded(self.values, self.codes[kept])

    def used_codes(self) -> list[int]:
        """List the codes that rows have, in order of appearance."""
        codes, first = np.unique(self.codes[self.codes >= 0], return_index=True)
        return codes[np.argsort(first)].tolist()  # type: ignore[no-any-return]

    def used(self) -> list[Any]:
        """List the values that rows have, in order of appearance."""
        return [self.values[code] for code in self.used_codes()]

    def first_row(self, code: int) -> int:
        """Find the first row with a value."""
        return int(np.argmax(self.codes == code))

    @staticmethod
    def constant(value: Any, n_rows: int) -> Coded:
        """Repeat one value."""
        return Coded([value], np.zeros(n_rows, np.int32))

    @staticmethod
    def join(parts: Sequence[Coded]) -> Coded:
        """Put columns under each other."""
        known: dict[Any, int] = {}
        values: list[Any] = []
        codes = []
        for part in parts:
            moved = []
            for value in part.values:
                code = known.setdefault(_key(value), len(values))
                if code == len(values):
                    values.append(value)
                moved.append(code)
            codes.append(np.array([*moved, -1], np.int32)[part.codes])
        return Coded(values, np.concatenate(codes) if codes else np.zeros(0, np.int32))


def plain_value(raw: Any) -> Any:
    """Turn values of numpy and pandas into Python's own; what they call missing is None."""
    if raw is None or isinstance(raw, str | bool | int | list | tuple | AbstractSet | Failure):
        return raw
    if isinstance(raw, float):
        return None if math.isnan(raw) else raw
    if type(raw).__name__ in ("NAType", "NaTType"):
        return None
    return plain_value(raw.tolist()) if hasattr(raw, "tolist") else raw


def code_values(column: Column | Coded) -> Coded:
    """Code a column of labels; values of different types stay apart."""
    if isinstance(column, Coded):
        return column
    if isinstance(column, pl.Series):
        if column.dtype == pl.String:
            return _code_series(column)
        if column.dtype.is_decimal():
            column = column.cast(pl.Float64)
        if column.dtype.is_numeric() or column.dtype == pl.Boolean:
            filled = column.fill_nan(None) if column.dtype.is_float() else column
            return _code_numbers(filled)
        if not isinstance(column.dtype, pl.List | pl.Array | pl.Struct | pl.Object | pl.Null):
            return _code_series(column.cast(pl.String))
        column = column.to_list()
    types = set(map(type, column)) - {type(None)}
    if not types <= {str, int, bool}:
        column = [plain_value(value) for value in column]
    if len(types) == 1 and types <= {str, int, bool, float}:
        return _code_list(column, column)
    return _code_list(column, [_key(value) for value in column])


def _key(value: Any) -> Any:
    """Give a hashable stand-in under which values of different types stay apart."""
    kind = type(value)
    if kind is str or value is None:
        return value
    if isinstance(value, AbstractSet | list | tuple):
        try:
            return frozenset(value), "set"
        except TypeError:
            return repr(value), "unhashable"
    if isinstance(value, Failure):
        return value.reason, "failure"
    return (value, kind) if isinstance(value, int | float) else (repr(value), kind)


def _code_list(values: Sequence[Any], keys: Sequence[Any]) -> Coded:
    place = dict.fromkeys(keys)
    place.pop(None, None)
    distinct = list(place)
    place |= zip(distinct, range(len(distinct)), strict=True)
    place[None] = -1
    codes = np.fromiter(map(place.__getitem__, keys), np.int32, len(keys))
    if keys is not values:
        first = dict(zip(reversed(keys), reversed(values), strict=True))
        distinct = [first[key] for key in distinct]
    return Coded(distinct, codes)


def _code_series(text: pl.Series) -> Coded:
    distinct = text.drop_nulls().unique(maintain_order=True)
    codes = text.cast(pl.Enum(distinct)).to_physical().cast(pl.Int32).fill_null(-1)
    return Coded(distinct.to_list(), codes.to_numpy())


def _code_numbers(column: pl.Series) -> Coded:
    frame = column.to_frame("x")
    distinct = frame.drop_nulls().unique(maintain_order=True).with_row_index("code")
    codes = frame.join(distinct, on="x", how="left", maintain_order="left")["code"]
    return Coded(distinct["x"].to_list(), codes.cast(pl.Int32).fill_null(-1).to_numpy())


def name_text(value: Any) -> str | None:
    """Write an id or a name as text: 3 and 3.0 are both "3"; blank text is none."""
    if isinstance(value, str):
        return value if value.strip() else None
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return None
        is_whole = value.is_integer() and abs(value) < _MAX_WHOLE
        return str(int(value)) if is_whole else str(value).replace("e-0", "e-")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, AbstractSet):
        value = sorted(value, key=str)
    if isinstance(value, list | dict | tuple):
        return msgspec.json.encode(value, enc_hook=str).decode()
    return str(value)


def code_names(column: Column | Coded, *, source: str) -> Coded:
    """Code a column of names: as text, blanks as nothing."""
    coded = code_values(column)
    names = [
        value if type(value) is str and value and not value.isspace() else name_text(value)
        for value in coded.values
    ]
    text_series(names, source=source)  # half a surrogate pair is refused
    known = dict.fromkeys(names)
    known.pop(None, None)
    if len(known) == len(names):
        return Coded(names, coded.codes)
    place = {None: -1} | {name: code for code, name in enumerate(known)}
    return Coded(
        list(known), np.array([*(place[name] for name in names), -1], np.int32)[coded.codes]
    )


def label_text(label: Any) -> str:
    """Show a label; a set in braces, in order."""
    if isinstance(label, frozenset):
        return "{" + ", ".join(sorted(label)) + "}"
    if isinstance(label, bool):
        return "true" if label else "false"
    return f"{label:g}" if isinstance(label, float) else str(label)


def sort_of(value: Any) -> Sort:
    """Tell the sort of a value."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, AbstractSet | list | tuple):
        nested = any(isinstance(each, AbstractSet | list | tuple | dict) for each in value)
        return "object" if nested else "list"
    return "object"


_SORT_NAMES: dict[Sort, str] = {
    "text": "text",
    "number": "numbers",
    "truth": "truth values",
    "list": "lists",
    "object": "objects",
}
_MIXABLE: dict[QuestionKind, set[Sort]] = {
    "scale": {"text", "number"},
    "multilabel": {"text", "list"},
}
_EXPECTED: dict[QuestionKind, str] = {
    "boolean": "a truth value",
    "choice": "one label",
    "text": "one text",
    "scale": "a number",
    "multilabel": "a list of labels",
    "pairwise": "A, B or tie",
}


def check_sorts(
    coded: Coded,
    kind: QuestionKind,
    *,
    where: Callable[[int], str],
    one_question: bool,
    missing: Sequence[str] = (),
) -> None:
    """Refuse a column that mixes sorts of values, or holds one that the kind is not read from.

    `where` says where the cell of a row stands, `missing` which words are no answer.
    """
    first: dict[Sort, int] = {}
    for code in coded.used_codes():
        value = coded.values[code]
        if isinstance(value, str) and not is_unicode(value):
            msg = f"{where(coded.first_row(code))} must be Unicode, got half a surrogate pair."
            raise InputError(msg)
        if _is_given(value, missing):
            first.setdefault(sort_of(value), code)
    if len(first) > 1 and not set(first) <= _MIXABLE.get(kind, set()):
        (one, a), (other, b) = sorted(first.items(), key=lambda entry: entry[1])[:2]
        common = "text" if "text" in first else one
        way_out = f"Write all of them as {_SORT_NAMES[common]}."
        msg = (
            f"{where(coded.first_row(b))} must hold values of one type, got "
            f"{shorten(repr(coded.values[b]))} ({_SORT_NAMES[other]}) after "
            f"{shorten(repr(coded.values[a]))} ({_SORT_NAMES[one]}) at "
            f"{where(coded.first_row(a))}. "
            f"{way_out if one_question else 'Ask for one `question` at a time.'}"
        )
        raise InputError(msg)
    for sort, code in first.items():
        way_out = ""
        if sort == "list" and kind != "multilabel":
            way_out = "Declare kind='multilabel'."
        elif sort == "truth" and kind == "scale":
            way_out = "Declare kind='boolean'."
        if sort == "object" or way_out:
            msg = (
                f"{where(coded.first_row(code))} must be {_EXPECTED[kind]}, got "
                f"{shorten(repr(coded.values[code]))}. "
                f"{way_out or 'Write each label as text or a number.'}"
            )
            raise InputError(msg)


@dataclass(frozen=True, slots=True)
class Word:
    """A cell, read: its label, or the reason why it has none.

    `is_unknown` tells what cannot be read from what is no answer.
    """

    label: Any = None
    reason: str | None = None
    is_unknown: bool = False


_MISSING = Word(reason="missing label")
_CANT_TELL = Word(reason="can't tell")
_RULES: dict[QuestionKind, str] = {
    "boolean": "true or false (yes/no, 1/0, 是/否)",
    "choice": "one label",
    "text": "text",
    "scale": "a finite number",
    "multilabel": "a list of labels",
    "pairwise": "A, B or tie",
}
_PAIRWISE = {"a": "A", "b": "B", "tie": "tie"}


class CellReader:
    """Reads the distinct cells of one kind of question.

    Parameters
    ----------
    kind : str
        The kind.
    labels : iterable, optional
        The declared label universe.
    separator : str, optional
        What parts the labels of a set in one text.
    missing : sequence of str
        Words for no answer.
    blank_is_empty : bool
        Whether blank text is the empty set, where sets are asked for.
    """

    def __init__(
        self,
        kind: QuestionKind,
        *,
        labels: Iterable[Any] | None = None,
        separator: str | None = None,
        missing: Sequence[str] = (),
        blank_is_empty: bool = False,
    ) -> None:
        self.kind = kind
        self._separator = separator
        self._missing = set(missing)
        self._blank_is_empty = blank_is_empty and kind == "multilabel"
        self._known: frozenset[Any] | None = None
        self.declared: tuple[Any, ...] | None = None
        if labels is not None:
            self.declared = self._declare(labels)
            self._known = frozenset(self.declared)

    def read(self, raw: Any) -> Word:
        """Read one value."""
        if raw is None:
            return _MISSING
        if isinstance(raw, Failure):
            return Word(reason=raw.reason)
        word = self._read(raw)
        if word.reason is not None or self._known is None:
            return word
        if self.kind == "multilabel":
            return word if word.label <= self._known else self._outside(raw)
        return word if word.label in self._known else self._outside(raw)

    def read_probability(self, raw: Any, *, threshold: float) -> Word:
        """Read a probability as whether it reaches the threshold."""
        number = _number_in(raw)
        if number is None or not 0 <= number <= 1:
            reason = f"unknown label: must be a probability in [0, 1], got {_shown(raw)}"
            return Word(reason=reason, is_unknown=True)
        return Word(label=number >= threshold)

    def _declare(self, labels: Iterable[Any]) -> tuple[Any, ...]:
        if isinstance(labels, str):
            msg = f"`labels` must be a collection of labels, got the text {shorten(labels)!r}."
            raise InputError(msg)
        found = []
        for label in labels:
            value = plain_value(label)
            if self.kind != "multilabel":
                word = self._read(value)
            elif isinstance(value, str | int | float):
                word = Word(label=name_text(value))
            else:
                word = _MISSING
            if word.reason is not None and word is not _CANT_TELL:
                msg = f"`labels` must fit a {self.kind} question, got {shorten(label)!r}."
                raise InputError(msg)
            found.append(label if word is _CANT_TELL else word.label)
        return tuple(dict.fromkeys(found))

    def _read(self, raw: Any) -> Word:
        if isinstance(raw, str):
            return self._read_text(raw)
        if isinstance(raw, AbstractSet | list | tuple):
            return self._read_set(raw)
        if isinstance(raw, bool):
            if self.kind == "boolean":
                return Word(label=raw)
            if self.kind in ("choice", "text"):
                return Word(label="true" if raw else "false")
            return self._unknown(raw)
        if isinstance(raw, int | float):
            return self._read_number(raw)
        return self._unknown(raw)

    def _read_text(self, raw: str) -> Word:
        text = raw.strip()
        if text in self._missing:
            return _MISSING
        if not text:
            return Word(label=frozenset()) if self._blank_is_empty else _MISSING
        if _is_cannot_tell(text) and not (self._known and raw in self._known):
            return _CANT_TELL
        if self.kind in ("choice", "text"):
            return Word(label=raw)
        if self.kind == "boolean":
            return self._read_truth(text)
        if self.kind == "scale":
            number = float(text) if _NUMBER.fullmatch(text) else math.inf
            return self._unknown(raw) if math.isinf(number) else self._read_number(number)
        if self.kind == "pairwise":
            side = _PAIRWISE.get(text.casefold())
            return self._unknown(raw) if side is None else Word(label=side)
        found = _json_labels(text)
        if found is None and self._separator is not None:
            found = [piece for part in text.split(self._separator) if (piece := part.strip())]
        is_set = found is not None and None not in found
        return self._read_set(found or []) if is_set else self._unknown(raw)

    def _read_truth(self, text: str) -> Word:
        word = text.casefold()
        if word in TRUE_WORDS or word in FALSE_WORDS:
            return Word(label=word in TRUE_WORDS)
        return self._unknown(text)

    def _read_number(self, raw: Any) -> Word:
        try:
            finite = math.isfinite(raw)
        except OverflowError:
            finite = False
        if isinstance(raw, float) and math.isnan(raw):
            return _MISSING
        text = name_text(raw) if finite else ""
        if text in self._missing:
            return _MISSING
        if not finite:
            return self._unknown(raw)
        if self.kind == "scale":
            return Word(label=float(raw))
        if self.kind == "boolean":
            return self._read_truth(text or "")
        return Word(label=text) if self.kind in ("choice", "text") else self._unknown(raw)

    def _read_set(self, raw: Iterable[Any]) -> Word:
        if self.kind != "multilabel":
            return self._unknown(raw)
        values = [plain_value(label) for label in raw]
        if any(label is None for label in values):
            return self._unknown(raw)
        labels = frozenset(str(name_text(label) or label) for label in values)
        alone = next(iter(labels)) if len(labels) == 1 else None
        if alone and _is_cannot_tell(alone) and not (self._known and alone in self._known):
            return _CANT_TELL
        return Word(label=labels)

    def _outside(self, raw: Any) -> Word:
        declared = self.declared or ()
        shown = ", ".join(shorten(repr(label), width=24) for label in declared[:_MOST_SHOWN])
        more = len(declared) - _MOST_SHOWN
        rest = f" and {more} more" if more > 0 else ""
        ruled = "some of" if self.kind == "multilabel" else "one of"
        return Word(
            reason=f"unknown label: must be {ruled} {shown}{rest}, got {_shown(raw)}",
            is_unknown=True,
        )

    def _unknown(self, raw: Any) -> Word:
        rule, way_out = _RULES[self.kind], ""
        if self.kind == "multilabel" and isinstance(raw, str) and self._separator is None:
            rule, way_out = "a JSON array of labels", '; write ["a", "b"], or declare separator="|"'
        return Word(
            reason=f"unknown label: must be {rule}, got {_shown(raw)}{way_out}", is_unknown=True
        )


def _shown(raw: Any) -> str:
    return repr(shorten(raw if isinstance(raw, str) else label_or_repr(raw)))


def label_or_repr(raw: Any) -> str:
    """Show a value of any type."""
    is_shown = isinstance(raw, int | float | list | AbstractSet)
    return name_text(raw) or repr(raw) if is_shown else repr(raw)


def _is_cannot_tell(text: str) -> bool:
    return text.strip().casefold().replace("’", "'") in CANNOT_TELL


def _number_in(raw: Any) -> float | None:
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return None
    if isinstance(raw, str) and not _NUMBER.fullmatch(raw.strip()):
        return None
    number = float(raw)
    return number if math.isfinite(number) else None


def _json_labels(text: str) -> list[Any] | None:
    """Read a JSON array of plain values."""
    value = _json_value(text) if text.startswith("[") else None
    is_flat = isinstance(value, list) and not any(isinstance(each, list | dict) for each in value)
    return value if is_flat else None


def _json_value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def unfold_choices(column: Coded, *, missing: Sequence[str] = ()) -> Coded:
    """Read labels as the tables of Label Studio hold them; any other column stays as it is.

    Several choices are ``{"choices": [...]}``, one is its word, and none is an empty cell.
    """
    several = [_choices_in(value) for value in column.values]
    if not any(several):
        return column
    values: list[Any] = []
    for value, found in zip(column.values, several, strict=True):
        is_word = isinstance(value, str) and found is None and value.strip() not in missing
        word = value.strip() if is_word else ""
        values.append([word] if word else value if found is None else found)
    codes = np.where(column.codes < 0, len(values), column.codes)
    return Coded([*values, []], codes.astype(np.int32))


def _choices_in(value: Any) -> list[Any] | None:
    if isinstance(value, str):
        value = _json_value(value) if value.lstrip().startswith("{") else None
    if not isinstance(value, dict) or set(value) != {"choices"}:
        return None
    found = value["choices"]
    is_flat = isinstance(found, list) and not any(isinstance(each, list | dict) for each in found)
    return found if is_flat else None


def find_kind(values: Iterable[Any], *, what: str, missing: Sequence[str] = ()) -> QuestionKind:
    """Tell the kind of question from its labels, where they leave no choice.

    Truth values, and 0 and 1 alone, are boolean; words are a choice; lists are sets. Other numbers,
    and words that look like several labels, need a word from the caller.
    """
    given = [value for value in values if _is_given(value, missing)]
    if any(sort_of(value) == "list" for value in given):
        return "multilabel"
    found = [value.strip() if isinstance(value, str) else name_text(value) for value in given]
    words = dict.fromkeys(word or "" for word in found)
    folded = {word.casefold() for word in words}
    if folded and (folded <= {"true", "false"} or folded <= {"0", "1"}):
        return "boolean"
    numbers = [word for word in words if _NUMBER.fullmatch(word)]
    if len(numbers) * 2 > len(words):
        msg = (
            f"`kind` must be given for {what} that are numbers, such as {numbers[0]!r}. Declare "
            "kind='scale' if they measure something, kind='choice' if they are names."
        )
        raise InputError(msg)
    if words and all(_json_labels(word) is not None for word in words):
        return "multilabel"
    _refuse_several(words, what=what)
    return "choice"


def _is_given(value: Any, missing: Sequence[str]) -> bool:
    if isinstance(value, str):
        text = value.strip()
        return bool(text) and text not in missing and not _is_cannot_tell(text)
    return value is not None and not isinstance(value, Failure)


def _refuse_several(words: dict[str, None], *, what: str) -> None:
    """Refuse words that look like several labels in one cell."""
    for separator in _SEPARATORS:
        several = next((word for word in words if _is_several(word, separator, words)), None)
        if several is not None:
            msg = (
                f"`kind` must be given for {what} that look like several in one cell, such as "
                f"{shorten(several)!r}. Declare kind='multilabel' with separator={separator!r}, or "
                "kind='choice' if each is one label."
            )
            raise InputError(msg)


def _is_several(word: str, separator: str, words: dict[str, None]) -> bool:
    """Tell a cell of several labels: a part of it stands alone or in another cell too."""
    parts = [part.strip() for part in word.split(separator)]
    if len(parts) < 2 or not all(parts):
        return False
    others = (other for other in words if other != word)
    known = {part.strip() for other in others for part in other.split(separator)}
    return any(part in known for part in parts)
