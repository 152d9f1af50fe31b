"""What one raw label in memory means: a label, no answer, a failed call, or nothing we know."""

from __future__ import annotations

import math
import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from voirdire._types import CANNOT_TELL, FALSE_WORDS, TRUE_WORDS, QuestionKind
from voirdire._validation import check_choice, shorten
from voirdire.errors import InputError
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Family", "LabelReader", "Word", "plain"]

Family: TypeAlias = Literal["text", "number", "truth value", "set of labels"]
Status: TypeAlias = Literal["label", "missing", "unknown", "failed"]


@dataclass(frozen=True, slots=True)
class Word:
    """A raw label, read: what it is, and its canonical form or the reason why it has none."""

    status: Status
    value: Any = None
    family: Family | None = None
    reason: str = ""


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|[+-]?inf(inity)?", re.A | re.I)
"""What tables read as a number too: no underscores, no other digits."""

MISSING = Word("missing", reason="missing label")
CANT_TELL = Word("missing", reason="can't tell")


class LabelReader:
    """Reads raw labels of one question, whose kind is declared or follows from its alignment.

    Parameters
    ----------
    kind : str or None
        Declared kind; None takes labels as the types they are.
    numeric, sets : bool
        What the alignments need: numbers, or sets of labels.
    labels : iterable, optional
        The declared label universe.
    """

    def __init__(
        self,
        *,
        kind: QuestionKind | None,
        numeric: bool,
        sets: bool,
        labels: Iterable[Any] | None,
    ) -> None:
        if kind is not None:
            check_choice("kind", kind, QuestionKind)
        self._kind = "scale" if numeric else "multilabel" if sets else kind
        if kind not in (None, self._kind):
            need = "numbers" if numeric else "sets of labels"
            msg = f"`kind` must fit the alignment, which needs {need}, got {kind!r}."
            raise InputError(msg)
        self._declared: frozenset[Any] | None = None
        self.declared: tuple[Any, ...] | None = None
        if labels is not None:
            self.declared = self._declare(labels)
            self._declared = frozenset(self.declared)

    def read(self, raw: Any) -> Word:
        """Read one raw label."""
        raw = plain(raw)
        if raw is None or (isinstance(raw, float) and math.isnan(raw)):
            return MISSING
        if isinstance(raw, Failure):
            return Word("failed", reason=raw.reason)
        word = self._interpret(raw)
        return word if word.status != "label" else self._check_declared(word, raw)

    def _declare(self, labels: Iterable[Any]) -> tuple[Any, ...]:
        if isinstance(labels, str):
            msg = f"`labels` must be a collection of labels, got the text {shorten(labels)!r}."
            raise InputError(msg)
        found = []
        for label in labels:
            if self._kind == "multilabel":
                word = Word("label", label)
                if not isinstance(label, str):
                    word = Word("unknown", reason="labels in a set must be text")
            else:
                word = self._interpret(plain(label))
            if word.status != "label" and not _is_cannot_tell(label):
                msg = f"`labels` must fit the question, got {shorten(label)!r}: {word.reason}."
                raise InputError(msg)
            found.append(label if word.status != "label" else word.value)
        return tuple(dict.fromkeys(found))

    def _check_declared(self, word: Word, raw: Any) -> Word:
        if self._declared is None:
            return word
        extra = word.value - self._declared if word.family == "set of labels" else None
        if extra:
            shown = ", ".join(repr(shorten(label)) for label in sorted(extra))
            return Word("unknown", reason=f"unknown label {shown}")
        if extra is None and word.value not in self._declared:
            return Word("unknown", reason=f"unknown label {shorten(raw)!r}")
        return word

    def _interpret(self, raw: Any) -> Word:
        if isinstance(raw, list | tuple | AbstractSet):
            return self._set(raw)
        if isinstance(raw, str):
            return self._text(raw)
        if isinstance(raw, bool):
            return self._truth(raw)
        if isinstance(raw, int | float):
            return self._number(raw)
        return Word("unknown", reason=f"a {type(raw).__name__} is no label")

    def _set(self, raw: Any) -> Word:
        if self._kind not in (None, "multilabel"):
            return Word(
                "unknown", reason=f"a set of labels does not answer a {self._kind} question"
            )
        strange = [label for label in raw if not isinstance(label, str)]
        if strange:
            shown = shorten(strange[0])
            return Word("unknown", reason=f"labels in a set must be text, got {shown}")
        labels = frozenset(raw)
        if len(labels) == 1 and _is_cannot_tell(min(labels)) and not self._declares(labels):
            return CANT_TELL
        return Word("label", labels, "set of labels")

    def _declares(self, labels: frozenset[str]) -> bool:
        return self._declared is not None and labels <= self._declared

    def _text(self, raw: str) -> Word:
        if not raw.strip():
            return MISSING
        if _is_cannot_tell(raw) and (self._declared is None or raw not in self._declared):
            return CANT_TELL
        if self._kind == "scale":
            return _parsed_number(raw)
        if self._kind == "boolean":
            return _truth_word(raw)
        if self._kind == "multilabel":
            return Word("unknown", reason="not a list or set of labels")
        return Word("label", raw, "text")

    def _truth(self, raw: bool) -> Word:  # noqa: FBT001
        if self._kind in (None, "boolean"):
            return Word("label", raw, "truth value")
        if self._kind in ("choice", "text"):
            return Word("label", "true" if raw else "false", "text")
        return Word("unknown", reason="not a number" if self._kind == "scale" else "not a set")

    def _number(self, raw: float) -> Word:
        if not _is_finite(raw):
            return Word("unknown", reason="not a finite number")
        if self._kind in ("choice", "text"):
            return Word("label", str(int(raw) if float(raw).is_integer() else raw), "text")
        if self._kind == "boolean":
            return _truth_word(str(int(raw)) if raw in (0, 1) else str(raw))
        if self._kind == "multilabel":
            return Word("unknown", reason="not a list or set of labels")
        return Word("label", float(raw) if self._kind == "scale" else raw, "number")


def plain(raw: Any) -> Any:
    """Turn values of numpy and pandas into Python's own."""
    if raw is None or isinstance(raw, str | bool | int | list | tuple | AbstractSet):
        return raw
    if type(raw).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(raw, "tolist"):
        return raw.tolist()
    return raw


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _is_cannot_tell(raw: Any) -> bool:
    return isinstance(raw, str) and raw.strip().casefold().replace("’", "'") in CANNOT_TELL


def _parsed_number(raw: str) -> Word:
    text = raw.strip()
    if not _NUMBER.fullmatch(text):
        return Word("unknown", reason="not a number")
    number = float(text)
    if math.isnan(number):
        return MISSING
    if math.isinf(number):
        return Word("unknown", reason="not a finite number")
    return Word("label", number, "number")


def _truth_word(raw: str) -> Word:
    text = raw.strip().casefold()
    if text in TRUE_WORDS:
        return Word("label", True, "truth value")  # noqa: FBT003
    if text in FALSE_WORDS:
        return Word("label", False, "truth value")  # noqa: FBT003
    return Word("unknown", reason="not a truth value")
