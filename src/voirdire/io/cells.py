"""Reads a cell of labels: a label, no answer, a failed call, or something unreadable."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire._messages import shorten
from voirdire._types import CANNOT_TELL, FALSE_WORDS, TRUE_WORDS, QuestionKind
from voirdire.errors import InputError
from voirdire.io.files import is_unicode
from voirdire.io.values import CodedColumn, Sort, detect_sort, format_name, plain_value
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CellReader", "Unreadable", "check_sorts", "find_kind", "label_text", "unfold_choices"]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|[+-]?inf(inity)?", re.A | re.I)
"""Numbers as tables write them: no underscores, only ASCII digits."""

_MOST_SHOWN = 8
_SEPARATORS = ("|", ";")


def label_text(label: Any) -> str:
    """Show a label; a set in braces, in order."""
    if isinstance(label, frozenset):
        return "{" + ", ".join(sorted(label)) + "}"
    if isinstance(label, bool):
        return "true" if label else "false"
    return f"{label:g}" if isinstance(label, float) else str(label)


# The sorts of a column's cells, and the kind that follows from them ---------
# ----------------------

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
    coded: CodedColumn,
    kind: QuestionKind,
    *,
    where: Callable[[int], str],
    one_question: bool,
    missing: Sequence[str] = (),
) -> None:
    """Refuse a column that mixes sorts of values, or holds a sort that does not fit the kind.

    `where` returns the place of a row's cell; `missing` are the words for no answer.
    """

    def refuse(code: int, rule: str) -> None:
        raise InputError(f"{where(coded.first_row(code))} must {rule}")

    shown = {}
    first: dict[Sort, int] = {}
    for code in coded.used_codes():
        value = coded.values[code]
        if isinstance(value, str) and not is_unicode(value):
            refuse(code, "be Unicode, got half a surrogate pair.")
        if _is_given(value, missing) and first.setdefault(detect_sort(value), code) == code:
            shown[code] = shorten(repr(value))
    if len(first) > 1 and not set(first) <= _MIXABLE.get(kind, set()):
        (one, a), (other, b) = list(first.items())[:2]
        common = _SORT_NAMES["text" if "text" in first else one]
        refuse(
            b,
            f"hold values of one type, got {shown[b]} ({_SORT_NAMES[other]}) after {shown[a]} "
            f"({_SORT_NAMES[one]}) at {where(coded.first_row(a))}. "
            + (f"Write all of them as {common}." if one_question else _ONE_AT_A_TIME),
        )
    for sort, code in first.items():
        way_out = "Write each label as text or a number." if sort == "object" else ""
        if sort == "list" and kind != "multilabel":
            way_out = "Declare kind='multilabel'."
        elif sort == "truth" and kind == "scale":
            way_out = "Declare kind='boolean'."
        if way_out:
            refuse(code, f"be {_EXPECTED[kind]}, got {shown[code]}. {way_out}")


_ONE_AT_A_TIME = "Ask for one `question` at a time."


def find_kind(values: Iterable[Any], *, what: str, missing: Sequence[str] = ()) -> QuestionKind:
    """Infer the kind of question from its labels, where only one fits.

    Truth values, and 0 and 1 alone, are boolean; words are a choice; lists are sets. For other
    numbers, and words that look like several labels, the caller must declare the kind.
    """
    given = [value for value in values if _is_given(value, missing)]
    if any(detect_sort(value) == "list" for value in given):
        return "multilabel"
    words = dict.fromkeys((format_name(value) or "").strip() for value in given)
    folded = {word.casefold() for word in words}
    if folded and (folded <= {"true", "false"} or folded <= {"0", "1"}):
        return "boolean"
    numbers = [word for word in words if _NUMBER.fullmatch(word)]
    if len(numbers) * 2 > len(words):
        raise InputError(
            f"`kind` must be given for {what} that are numbers, such as {numbers[0]!r}. Declare "
            "kind='scale' if they measure something, kind='choice' if they are names."
        )
    if words and all(_json_labels(word) is not None for word in words):
        return "multilabel"
    for separator in _SEPARATORS:
        _refuse_several(words, separator, what=what)
    return "choice"


def _is_given(value: Any, missing: Sequence[str]) -> bool:
    if isinstance(value, str):
        text = value.strip()
        return bool(text) and text not in missing and not _is_cannot_tell(text)
    return value is not None and not isinstance(value, Failure)


def _refuse_several(words: Iterable[str], separator: str, *, what: str) -> None:
    """Refuse words that look like several labels in one cell.

    A word does if a part of it is also a label of its own, or a part of another cell.
    """
    parts = {word: [part.strip() for part in word.split(separator)] for word in words}
    n_words = Counter(part for each in parts.values() for part in set(each))
    for word, each in parts.items():
        if len(each) > 1 and all(each) and any(n_words[part] > 1 for part in each):
            raise InputError(
                f"`kind` must be given for {what} that look like several in one cell, such as "
                f"{shorten(word)!r}. Declare kind='multilabel' with separator={separator!r}, or "
                "kind='choice' if each is one label."
            )


# One cell -----------------------------------------------------------------------------------------


class Unreadable(Failure):
    """Why a cell does not hold a label."""

    __slots__ = ()


_MISSING = Failure(reason="missing label")
_CANT_TELL = Failure(reason="can't tell")
_RULES: dict[QuestionKind, str] = {
    "boolean": "true or false (yes/no, 1/0, 是/否)",
    "choice": "one label",
    "text": "text",
    "scale": "a finite number",
    "multilabel": "a list of labels",
    "pairwise": "A, B or tie",
}
_SIDES = {"a": "A", "b": "B", "tie": "tie"}
_TRUTHS = dict.fromkeys(TRUE_WORDS, True) | dict.fromkeys(FALSE_WORDS, False)


@dataclass(eq=False)
class CellReader:
    """Reads the distinct cells of one kind of question.

    `labels` are the declared label universe, `separator` separates the labels of a set in one text,
    and `missing` are words for no answer.
    """

    kind: QuestionKind
    labels: Iterable[Any] = ()
    separator: str | None = None
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        self._known: dict[Any, None] = {}
        self._known = dict.fromkeys(map(self._match_declared, self.labels))

    def read(self, raw: Any) -> Any:
        """Read one value: its label, None for no answer, or why it cannot be read."""
        label = raw if isinstance(raw, Failure) else self._read(raw)
        if isinstance(label, Failure) or not self._known:
            return label
        is_set = self.kind == "multilabel"
        if (label if is_set else {label}) <= self._known.keys():
            return label
        shown = [shorten(repr(known), width=24) for known in self._known]
        more = len(shown) - _MOST_SHOWN
        rest = f" and {more} more" if more > 0 else ""
        ruled = "some of" if is_set else "one of"
        return _unreadable(raw, f"{ruled} {', '.join(shown[:_MOST_SHOWN])}{rest}")

    def read_probability(self, raw: Any, *, threshold: float) -> bool | Failure:
        """Read a probability as whether it reaches the threshold."""
        number = float(raw) if _NUMBER.fullmatch(raw.strip()) else math.nan
        return (
            number >= threshold if 0 <= number <= 1 else _unreadable(raw, "a probability in [0, 1]")
        )

    def _match_declared(self, label: Any) -> Any:
        value = plain_value(label)
        if self.kind == "multilabel":
            value = [value] if isinstance(value, str | int | float) else None
        found = self._read(value)
        if found is _CANT_TELL:
            return label
        if isinstance(found, Failure):
            msg = f"`labels` must fit a {self.kind} question, got {shorten(label)!r}."
            raise InputError(msg)
        return next(iter(found)) if self.kind == "multilabel" else found

    def _read(self, raw: Any) -> Any:
        if isinstance(raw, AbstractSet | list | tuple):
            return self._read_set(raw, raw)
        text = (format_name(raw) or "").strip()
        if not text or text in self.missing:
            is_empty = isinstance(raw, str) and not text and "" not in self.missing
            return frozenset() if is_empty and self.kind == "multilabel" else _MISSING
        if _is_cannot_tell(text) and raw not in self._known:
            return _CANT_TELL
        if self.kind == "multilabel":
            return self._read_set(self._parts(text) if isinstance(raw, str) else None, raw)
        if not isinstance(raw, str | bool) and not _is_finite(raw):
            return self._unreadable(raw)
        if self.kind in ("choice", "text"):
            return raw if isinstance(raw, str) else text
        if self.kind == "scale":
            return self._read_number(text, raw)
        answers: dict[str, Any] = _TRUTHS if self.kind == "boolean" else _SIDES
        return answers.get(text.casefold(), self._unreadable(raw))

    def _read_number(self, text: str, raw: Any) -> float | Failure:
        number = float(text) if _NUMBER.fullmatch(text) else math.inf
        if math.isinf(number):
            return self._unreadable(raw)
        is_nothing = math.isnan(number) or format_name(number) in self.missing
        return _MISSING if is_nothing else number

    def _parts(self, text: str) -> list[Any] | None:
        found = _json_labels(text)
        if found is None and self.separator is not None:
            found = [piece for part in text.split(self.separator) if (piece := part.strip())]
        return found

    def _read_set(self, values: Iterable[Any] | None, raw: Any) -> frozenset[str] | Failure:
        found = [None] if values is None else [plain_value(label) for label in values]
        if None in found or self.kind != "multilabel":
            return self._unreadable(raw)
        labels = frozenset(str(format_name(label) or label) for label in found)
        alone = next(iter(labels)) if len(labels) == 1 else ""
        is_none = _is_cannot_tell(alone) and alone not in self._known
        return _CANT_TELL if is_none else labels

    def _unreadable(self, raw: Any) -> Unreadable:
        if self.kind == "multilabel" and isinstance(raw, str) and self.separator is None:
            way_out = '; write ["a", "b"], or declare separator="|"'
            return _unreadable(raw, "a JSON array of labels", way_out)
        return _unreadable(raw, _RULES[self.kind])


def _unreadable(raw: Any, rule: str, way_out: str = "") -> Unreadable:
    is_plain = isinstance(raw, int | float | list | AbstractSet)
    text = raw if isinstance(raw, str) else (is_plain and format_name(raw)) or repr(raw)
    return Unreadable(reason=f"unknown label: must be {rule}, got {shorten(text)!r}{way_out}")


def _is_cannot_tell(text: str) -> bool:
    return text.strip().casefold().replace("’", "'") in CANNOT_TELL


def _is_finite(raw: Any) -> bool:
    try:
        return isinstance(raw, int | float) and math.isfinite(raw)
    except OverflowError:
        return False


# Sets in one cell ---------------------------------------------------------------------------------


def _json_value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _flat(value: Any) -> list[Any] | None:
    """Return a list of plain values; None for anything else."""
    is_flat = isinstance(value, list) and not any(isinstance(each, list | dict) for each in value)
    return value if is_flat else None


def _json_labels(text: str) -> list[Any] | None:
    return _flat(_json_value(text)) if text.startswith("[") else None


def unfold_choices(column: CodedColumn, *, missing: Sequence[str] = ()) -> CodedColumn:
    """Read the cells of a Label Studio table; return any other column as it is.

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
    return CodedColumn([*values, []], np.where(column.codes < 0, len(values), column.codes))


def _choices_in(value: Any) -> list[Any] | None:
    if isinstance(value, str):
        value = _json_value(value) if value.lstrip().startswith("{") else None
    is_ours = isinstance(value, dict) and set(value) == {"choices"}
    return _flat(value["choices"]) if is_ours else None
