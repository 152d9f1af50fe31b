"""Reads a cell of labels: a label, no answer, a failed call, or something unreadable."""

from __future__ import annotations

import ast
import math
import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire._messages import list_names, shorten
from voirdire._types import CANNOT_TELL, FALSE_WORDS, NO_ANSWERS, TRUE_WORDS, QuestionKind
from voirdire.errors import InputError
from voirdire.io.files import is_unicode
from voirdire.io.pairs import side_of
from voirdire.io.values import CodedColumn, Sort, detect_sort, format_name, plain_value
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|[+-]?inf(inity)?", re.A | re.I)
"""Numbers as tables write them: no underscores, only ASCII digits."""

_ZEROS = re.compile(r"(?<=^[01])\.0+$")
"""What 0.0 and 1.0 have beside 0 and 1."""

_MOST_SHOWN = 8
_SEPARATORS = ("|", ";", ",")
_LONGEST_LIST = 10_000
"""Characters of a Python list that is read."""


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
    for code in coded.used_codes:
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
    folded = {_ZEROS.sub("", word.casefold()) for word in words}
    if folded and (folded <= {"true", "false"} or folded <= {"0", "1"}):
        return "boolean"
    others = folded & _OTHER_TRUTHS.keys()
    if others and folded - others and folded - others <= _TRUTHS.keys():
        pairs = ", ".join(f"{word!r} beside {_OTHER_TRUTHS[word]!r}" for word in sorted(others))
        raise InputError(
            f"{what} must be in one language, got {pairs}. Write all of them as yes and no."
        )
    if folded <= _TRUTHS.keys() and len({*map(_SPELLINGS.__getitem__, folded)}) > 1:
        return "boolean"  # yes and no beside true and false
    forms = (_NUMBER.fullmatch, _THOUSANDS.fullmatch, _match_written)
    numbers = [word for word in words if any(read(word) for read in forms)]
    if len(numbers) * 2 > len(words):
        raise InputError(
            f"`kind` must be given for {what} that are numbers, such as {numbers[0]!r}. Declare "
            "kind='scale' if they measure something (the distance counts), kind='choice' if they "
            "are names (equal or not)."
        )
    if words and all(_json_labels(word) is not None for word in words):
        return "multilabel"
    for separator in _SEPARATORS:
        _refuse_several(words, separator, what=what)
    return "choice"


def _is_given(value: Any, missing: Sequence[str]) -> bool:
    if isinstance(value, str):
        text = value.strip()
        return bool(text) and text not in missing and not is_cannot_tell(text)
    return value is not None and not isinstance(value, Failure)


def _refuse_several(words: Iterable[str], separator: str, *, what: str) -> None:
    """Refuse words that look like several labels in one cell.

    A word does if a part of it is also a label of its own, or a part of another cell; with commas,
    as in prose, if all of its parts are.
    """
    parts = {word: [part.strip() for part in word.split(separator)] for word in words}
    n_words = Counter(part for each in parts.values() for part in set(each))
    for word, each in parts.items():
        is_seen = [n_words[part] > 1 for part in each]
        if len(each) > 1 and all(each) and (all if separator == "," else any)(is_seen):
            raise InputError(
                f"`kind` must be given for {what} that look like several in one cell, such as "
                f"{shorten(word)!r}. Declare kind='multilabel' with separator={separator!r}, or "
                "kind='choice' if each is one label."
            )


# Words and codes for no answer -------------------------------------------------------------------

_DOUBTFUL = re.compile(
    r"none|n/?[av]|n\.[av]\.?|nil|[-–—]+|\?+|\.+|\*+|#(?:value|ref|name|num|null|div/0)[!?]"
    r"|\(?(?:blank|empty|missing|undefined|unknown|skip(?:ped)?|tbd|todo|dk|idk|abstain(?:ed)?)\)?"
    r"|unsure|undecided|prefer not to (?:say|answer)|k\.? ?a\.?|keine angabe"
    r"|(?:i )?(?:don[’']?t|do not|can[’']?not|can[’']?t) (?:know|say|judge|decide|answer)"
    r"|(?:no|not|un)[ -]?(?:sure|answer(?:ed)?|label(?:l?ed)?|annotated|rated|available"
    r"|applicable)|无|未知|跳过|弃权",
    re.I,
)
"""Words, in any case, that may be a label or no answer."""

_CODES = (-9999, -999, -99, -88, -77, -9, -8, -7, -1, 9, 77, 88, 97, 98, 99, 888, 999, 9999)
_MOST_STEPS = 20
"""More different numbers than this are no rating scale."""


def count_no_answers(
    coded: CodedColumn, kind: QuestionKind, *, is_judge: bool
) -> tuple[dict[str, int], dict[str, int]]:
    """Count the labels that mean no answer, and those that may mean it.

    A judge that says `NA` may mean a label. Codes such as 99 stand far outside the other numbers.
    """
    counts = np.bincount(coded.codes + 1, minlength=len(coded.values) + 1)[1:].tolist()
    words: dict[str, int] = {}
    for value, n_labels in zip(coded.values, counts, strict=True):
        if isinstance(value, str | int | float) and n_labels and kind != "text":
            word = (format_name(value) or "").strip()
            words[word] = words.get(word, 0) + n_labels
    is_label = kind in ("choice", "multilabel")
    sure = {word for word in words if word in NO_ANSWERS and not (is_judge and word == "NA")}
    doubtful = {word for word in words if is_label and _DOUBTFUL.fullmatch(word)} - sure
    numbers = {word: float(word) for word in words if _NUMBER.fullmatch(word)}
    rest = [number for number in numbers.values() if number not in _CODES]
    if kind in ("choice", "scale") and 2 <= len(rest) <= _MOST_STEPS:
        low, high = min(rest), max(rest)
        far = 3 * max(each - last for last, each in pairwise(sorted({*rest, 0.0})))
        doubtful |= {
            word
            for word, number in numbers.items()
            if number in _CODES
            and (max(number - high, low - number) > far or (number < 0 <= low and high >= 2))
        }
    sure_counts = {word: count for word, count in words.items() if word in sure}
    return sure_counts, {word: count for word, count in words.items() if word in doubtful}


# Numbers as people write them ---------------------------------------------------------------------

_AMOUNT = r"\d+(?:[.,]\d+)?"
_WRITTEN = {
    "decimal comma": re.compile(r"([+-]?(?:\d+,(?!\d{3}$)|0,)\d+)()"),
    "per cent": re.compile(rf"([+-]?{_AMOUNT}) ?()[%％]"),
    "number of a maximum": re.compile(rf"({_AMOUNT}) ?(?:/|out of) ?({_AMOUNT})"),
    "number with words": re.compile(rf"(-?{_AMOUNT}) ?(?:[-–—:：=.)(]+|\s) ?\(?([^\W\d_]\D*)"),
    "number with a sign": re.compile(
        rf"""(?=.*[~≈$€£+*★"'])(?!.*,\d{{3}}\b)[~≈$€£"']? ?({_AMOUNT}) ?()[+*★€"]?"""
    ),
    "words with a number": re.compile(rf"[^\W\d_][^\d:=(]*(?:[:=] ?|\()({_AMOUNT})()\)?"),
}
"""Forms of a number, with what stands behind it; 1,000 may be a thousand and is none of them."""
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:[.,]\d{3})+")


def _match_written(text: str) -> tuple[str, float, str] | None:
    """Return the form of a written number, its value, and what stands behind it."""
    for form, pattern in _WRITTEN.items():
        if match := pattern.fullmatch(text):
            value = float(match[1].replace(",", "."))
            return form, value / 100 if form == "per cent" else value, match[2].strip(" )")
    return None


def read_written_numbers(
    texts: Sequence[str],
) -> tuple[dict[str, float], dict[str, float], float | None]:
    """Read 3,5 and 85% and 4/5 and `4 - good`; refuse those that do not agree.

    Returns the numbers by their texts, the first of each form but the decimal comma, and the
    largest number that per cent or a maximum allow.
    """
    known = {text: each for text in texts if (each := _match_written(text)) is not None}
    for mark in ".,":
        cut = [text for text in texts if mark in text]
        # no decimals, which end in zeros in all cells or in none
        is_partly = any(map(str.isdigit, texts)) and any(text.endswith("0") for text in cut)
        if is_partly and len(cut) > 1 and all(map(_THOUSANDS.fullmatch, cut)):
            known |= {x: ("thousands", float(re.sub("[.,]", "", x)), "") for x in cut}
    plain = [text for text in texts if _NUMBER.fullmatch(text)]
    behind: dict[Any, tuple[str, str]] = {}
    first: dict[str, str] = {}
    for text, (form, value, rest) in known.items():
        key = value if form == "number with words" else form
        other, same = behind.setdefault(key, (text, rest.casefold()))
        top = 1.0 if form == "per cent" else math.inf
        top = float(rest.replace(",", ".")) if form == "number of a maximum" else top
        if same == rest.casefold():
            other = next((each for each in plain if float(each) > top), "")
        if other:
            raise InputError(
                f"numbers must be written in one way, got {shorten(text)!r} beside "
                f"{shorten(other)!r}. Write all of them as plain numbers of one scale."
            )
        if form != "decimal comma":
            first.setdefault(form, text)
    numbers = {text: value for text, (_, value, _) in known.items()}
    tops = {
        1.0 if form == "per cent" else float(rest.replace(",", "."))
        for form, _, rest in known.values()
        if form in ("per cent", "number of a maximum")
    }
    return numbers, {text: numbers[text] for text in first.values()}, max(tops, default=None)


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
_TRUTHS = dict.fromkeys(TRUE_WORDS, True) | dict.fromkeys(FALSE_WORDS, False)
_OTHER_TRUTHS = dict.fromkeys(("ja", "oui", "si", "sí", "sim", "да", "はい"), "yes")
_OTHER_TRUTHS |= dict.fromkeys(("nein", "non", "não", "нет", "いいえ"), "no")
_SPELLINGS = {
    word: n for n, pair in enumerate(zip(TRUE_WORDS, FALSE_WORDS, strict=True)) for word in pair
}


@dataclass(eq=False)
class CellReader:
    """Reads the distinct cells of one kind of question.

    `labels` are the declared label universe, `separator` separates the labels of a set in one text,
    `missing` are words for no answer, `order` has the words of a scale from the lowest on, and
    `written` the numbers of texts such as 3,5, or the votes of numbers.
    """

    kind: QuestionKind
    labels: Iterable[Any] = ()
    separator: str | None = None
    missing: Sequence[str] = ()
    order: Sequence[str] = ()
    written: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._steps = {word.casefold(): float(n) for n, word in enumerate(self.order, start=1)}
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
        ruled = "some of" if is_set else "one of"
        return _unreadable(raw, f"{ruled} {list_names(shown, most=_MOST_SHOWN)}")

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
        if is_cannot_tell(text) and raw not in self._known:
            return _CANT_TELL
        if self.kind == "multilabel":
            return self._read_set(self._parts(text) if isinstance(raw, str) else None, raw)
        if not isinstance(raw, str | bool) and not _is_finite(raw):
            return self._unreadable(raw)
        if self.kind in ("choice", "text"):
            return raw if self.kind == "text" and isinstance(raw, str) else format_name(raw)
        if self.kind == "scale":
            return self._read_number(text, raw)
        is_boolean = self.kind == "boolean"
        word = self.written.get(text, text)
        answer = _TRUTHS.get(_ZEROS.sub("", text.casefold())) if is_boolean else side_of(word)
        return self._unreadable(raw) if answer is None else answer

    def _read_number(self, text: str, raw: Any) -> float | Failure:
        text = unicodedata.normalize("NFKC", text).replace("−", "-")  # also full-width digits
        number = float(text) if _NUMBER.fullmatch(text) else math.inf
        number = self.written.get(str(raw).strip(), number)
        if self._steps and text.casefold() not in self._steps:
            return _unreadable(raw, "a word of `order`")
        number = self._steps.get(text.casefold(), number)
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
        is_none = is_cannot_tell(alone) and alone not in self._known
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


def is_cannot_tell(text: str) -> bool:
    """Whether a word says that somebody could not tell."""
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
    if not text.startswith("["):
        return None
    return _flat(_json_value(text)) or _flat(_python_list(text))


def _python_list(text: str) -> Any:
    """Read a list as Python prints it; None for what numpy prints, without commas."""
    if len(text) > _LONGEST_LIST or re.search(r"""['"]\s+['"]""", text):
        return None
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd escapes
        return ast.literal_eval(text)
    return None


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
