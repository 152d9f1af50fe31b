"""What a cell of labels means: a label, no answer, a failed call, or nothing that is known."""

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

from voirdire._types import CANNOT_TELL, FALSE_WORDS, TRUE_WORDS, QuestionKind
from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.files import is_unicode
from voirdire.io.values import Coded, Sort, name_text, plain_value, sort_of
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CellReader", "Word", "check_sorts", "find_kind", "label_text", "unfold_choices"]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|[+-]?inf(inity)?", re.A | re.I)
"""What tables read as a number too: no underscores, no other digits."""

_MOST_SHOWN = 8
_SEPARATORS = ("|", ";")


def label_text(label: Any) -> str:
    """Show a label; a set in braces, in order."""
    if isinstance(label, frozenset):
        return "{" + ", ".join(sorted(label)) + "}"
    if isinstance(label, bool):
        return "true" if label else "false"
    return f"{label:g}" if isinstance(label, float) else str(label)


# The sorts of a column's cells, and the kind that they leave no choice about ----------------------

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

    def refuse(code: int, rule: str) -> None:
        raise InputError(f"{where(coded.first_row(code))} must {rule}")

    shown = {}
    first: dict[Sort, int] = {}
    for code in coded.used_codes():
        value = coded.values[code]
        if isinstance(value, str) and not is_unicode(value):
            refuse(code, "be Unicode, got half a surrogate pair.")
        if _is_given(value, missing) and first.setdefault(sort_of(value), code) == code:
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
    """Tell the kind of question from its labels, where they leave no choice.

    Truth values, and 0 and 1 alone, are boolean; words are a choice; lists are sets. Other numbers,
    and words that look like several labels, need a word from the caller.
    """
    given = [value for value in values if _is_given(value, missing)]
    if any(sort_of(value) == "list" for value in given):
        return "multilabel"
    words = dict.fromkeys((name_text(value) or "").strip() for value in given)
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

    A part of such a word stands alone or in another cell too.
    """
    parts = {word: [part.strip() for part in word.split(separator)] for word in words}
    n_words = Counter(part for each in parts.values() for part in set(each))
    for word, each in parts.items():
        if len(each) > 1 and all(each) and any(n_words[part] > 1 for part in each):
            msg = (
                f"`kind` must be given for {what} that look like several in one cell, such as "
                f"{shorten(word)!r}. Declare kind='multilabel' with separator={separator!r}, or "
                "kind='choice' if each is one label."
            )
            raise InputError(msg)


# One cell -----------------------------------------------------------------------------------------


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
_SIDES = {"a": "A", "b": "B", "tie": "tie"}
_TRUTHS = dict.fromkeys(TRUE_WORDS, True) | dict.fromkeys(FALSE_WORDS, False)


class CellReader:
    """Reads the distinct cells of one kind of question.

    `labels` are the declared label universe, `separator` parts the labels of a set in one text, and
    `missing` are words for no answer.
    """

    def __init__(
        self,
        kind: QuestionKind,
        *,
        labels: Iterable[Any] | None = None,
        separator: str | None = None,
        missing: Sequence[str] = (),
    ) -> None:
        self.kind = kind
        self._separator = separator
        self._missing = set(missing)
        self._known: dict[Any, None] = {}
        self._known = dict.fromkeys(map(self._declared, labels or ()))

    def read(self, raw: Any) -> Word:
        """Read one value."""
        if isinstance(raw, Failure):
            return Word(reason=raw.reason)
        word = self._read(raw)
        if word.reason is not None or not self._known:
            return word
        labels = word.label if self.kind == "multilabel" else {word.label}
        if labels <= self._known.keys():
            return word
        shown = [shorten(repr(label), width=24) for label in self._known]
        more = len(shown) - _MOST_SHOWN
        rest = f" and {more} more" if more > 0 else ""
        ruled = "some of" if self.kind == "multilabel" else "one of"
        return _unknown(raw, f"{ruled} {', '.join(shown[:_MOST_SHOWN])}{rest}")

    def read_probability(self, raw: Any, *, threshold: float) -> Word:
        """Read a probability as whether it reaches the threshold."""
        number = _number_in(raw)
        if number is None or not 0 <= number <= 1:
            return _unknown(raw, "a probability in [0, 1]")
        return Word(label=number >= threshold)

    def _declared(self, label: Any) -> Any:
        value = plain_value(label)
        if self.kind == "multilabel":
            value = [value] if isinstance(value, str | int | float) else None
        word = self._read(value)
        if word is _CANT_TELL:
            return label
        if word.reason is not None:
            msg = f"`labels` must fit a {self.kind} question, got {shorten(label)!r}."
            raise InputError(msg)
        return next(iter(word.label)) if self.kind == "multilabel" else word.label

    def _read(self, raw: Any) -> Word:
        if isinstance(raw, AbstractSet | list | tuple):
            return self._read_set(raw)
        text = (name_text(raw) or "").strip()
        if not text or text in self._missing:
            is_empty = isinstance(raw, str) and not text and "" not in self._missing
            is_set = is_empty and self.kind == "multilabel"
            return Word(label=frozenset()) if is_set else _MISSING
        if self._is_cannot_tell(text, raw):
            return _CANT_TELL
        if self.kind == "multilabel":
            return self._read_set(self._parts(text) if isinstance(raw, str) else None, raw)
        if not isinstance(raw, str | bool) and not _is_finite(raw):
            return self._unknown(raw)
        if self.kind in ("choice", "text"):
            return Word(label=raw if isinstance(raw, str) else text)
        if self.kind == "scale":
            return self._read_number(text, raw)
        word = (_TRUTHS if self.kind == "boolean" else _SIDES).get(text.casefold())
        return self._unknown(raw) if word is None else Word(label=word)

    def _read_number(self, text: str, raw: Any) -> Word:
        number = float(text) if _NUMBER.fullmatch(text) else math.inf
        if math.isinf(number):
            return self._unknown(raw)
        is_nothing = math.isnan(number) or name_text(number) in self._missing
        return _MISSING if is_nothing else Word(label=number)

    def _parts(self, text: str) -> list[Any] | None:
        found = _json_labels(text)
        if found is None and self._separator is not None:
            found = [piece for part in text.split(self._separator) if (piece := part.strip())]
        return found

    def _read_set(self, values: Iterable[Any] | None, raw: Any = None) -> Word:
        found = None if values is None else [plain_value(label) for label in values]
        if found is None or None in found or self.kind != "multilabel":
            return self._unknown(values if raw is None else raw)
        labels = frozenset(str(name_text(label) or label) for label in found)
        alone = next(iter(labels)) if len(labels) == 1 else ""
        return _CANT_TELL if self._is_cannot_tell(alone, alone) else Word(label=labels)

    def _is_cannot_tell(self, text: str, raw: Any) -> bool:
        return _is_cannot_tell(text) and raw not in self._known

    def _unknown(self, raw: Any) -> Word:
        if self.kind == "multilabel" and isinstance(raw, str) and self._separator is None:
            way_out = '; write ["a", "b"], or declare separator="|"'
            return _unknown(raw, "a JSON array of labels", way_out)
        return _unknown(raw, _RULES[self.kind])


def _unknown(raw: Any, rule: str, way_out: str = "") -> Word:
    is_plain = isinstance(raw, int | float | list | AbstractSet)
    text = raw if isinstance(raw, str) else (is_plain and name_text(raw)) or repr(raw)
    reason = f"unknown label: must be {rule}, got {shorten(text)!r}{way_out}"
    return Word(reason=reason, is_unknown=True)


def _is_cannot_tell(text: str) -> bool:
    return text.strip().casefold().replace("’", "'") in CANNOT_TELL


def _is_finite(raw: Any) -> bool:
    try:
        return isinstance(raw, int | float) and math.isfinite(raw)
    except OverflowError:
        return False


def _number_in(raw: Any) -> float | None:
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return None
    if isinstance(raw, str) and not _NUMBER.fullmatch(raw.strip()):
        return None
    number = float(raw)
    return number if math.isfinite(number) else None


# Sets in one cell ---------------------------------------------------------------------------------


def _json_value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _flat(value: Any) -> list[Any] | None:
    """Give a list of plain values, None for anything else."""
    is_flat = isinstance(value, list) and not any(isinstance(each, list | dict) for each in value)
    return value if is_flat else None


def _json_labels(text: str) -> list[Any] | None:
    return _flat(_json_value(text)) if text.startswith("[") else None


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
    return Coded([*values, []], np.where(column.codes < 0, len(values), column.codes))


def _choices_in(value: Any) -> list[Any] | None:
    if isinstance(value, str):
        value = _json_value(value) if value.lstrip().startswith("{") else None
    is_ours = isinstance(value, dict) and set(value) == {"choices"}
    return _flat(value["choices"]) if is_ours else None
