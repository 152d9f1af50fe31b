"""What the caller declared about the labels to read, checked before a file is opened."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypedDict

from voirdire._types import QuestionKind
from voirdire._validation import check_choice
from voirdire.errors import InputError

__all__ = ["DEFAULT_QUESTION", "FileFormat", "Reading", "ReadingFields", "Request", "Role"]

Role: TypeAlias = Literal["annotator", "judge"]
"""Whose labels a file holds."""

FileFormat: TypeAlias = Literal[
    "csv", "tsv", "jsonl", "json", "parquet", "alttest", "label-studio", "argilla", "rbr-gold"
]
"""How a file is written; the last four are shapes of JSON."""

DEFAULT_QUESTION = "label"
"""The name of the only question where a table has no question column."""

DEFAULT_THRESHOLD = 0.5
"""The probability from which on a boolean label is true, where nobody declares another."""

_CONCEPTS = {
    "item": "item",
    "id": "item",
    "rater": "rater",
    "annotator": "rater",
    "judge": "rater",
    "label": "label",
    "value": "label",
    "question": "question",
    "cluster": "cluster",
    "failure": "failure",
    "probability": "probability",
}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How files of labels are read: what the question asks for, and how the files say it.

    Attributes
    ----------
    kind : {"boolean", "choice", "multilabel", "scale", "text"} or None
        What the question asks for. By default what the alignment needs; accuracy: choice.
    labels : sequence of str or float, or None
        The label universe, as a,b,c or a JSON array; any other label is unknown. By default every
        label is accepted.
    threshold : float or None
        Boolean judges given as probabilities: true from here on, in [0, 1]. Fix it beforehand. By
        default what verdicts of `voirdire judge` declare, else .5.
    format : str or None
        How the files are written; by default as the endings of their names say.
    columns : mapping of str to str, or None
        Your name for a column, as OURS=YOURS: item, annotator, judge, label, question, cluster,
        failure, probability; repeatable.
    raters : sequence of str, or None
        Wide annotations: a column that is an annotator; repeatable. By default every column that
        is nothing else.
    separator : str or None
        What parts the labels of a set in one text cell, as the bar in a|b. By default such a cell
        is a JSON array.
    missing : sequence of str
        A word that means no answer, to the letter; repeatable.
    cluster : str or None
        Column of the annotations that names what an item shares its source with.

    Raises
    ------
    InputError
        If one of them breaks its rule.
    """

    kind: QuestionKind | None = None
    labels: Sequence[str] | Sequence[float] | None = None
    threshold: float | None = None
    format: FileFormat | None = None
    columns: Mapping[str, str] | None = None
    raters: Sequence[str] | None = None
    separator: str | None = None
    missing: Sequence[str] = ()
    cluster: str | None = None

    def __post_init__(self) -> None:
        if self.kind is not None:
            check_choice("kind", self.kind, QuestionKind)
        if self.format is not None:
            check_choice("format", self.format, FileFormat)
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            message = f"`threshold` must be in [0, 1], got {self.threshold!r}. Write 50% as 0.5."
            raise InputError(message)
        if self.separator == "":
            message = "`separator` must be text, got ''. Leave it out for cells with JSON arrays."
            raise InputError(message)
        for name, words in (("raters", self.raters), ("missing", self.missing)):
            _check_words(name, words)
        _check_labels(self.labels, kind=self.kind)
        if self.kind == "scale" and self.labels is not None:
            object.__setattr__(self, "labels", [float(label) for label in self.labels])
        _check_columns(self.columns)


class ReadingFields(TypedDict, total=False):
    """The fields of `Reading` as keywords, for type checkers."""

    kind: QuestionKind | None
    labels: Sequence[str] | Sequence[float] | None
    threshold: float | None
    format: FileFormat | None
    columns: Mapping[str, str] | None
    raters: Sequence[str] | None
    separator: str | None
    missing: Sequence[str]
    cluster: str | None


@dataclass(frozen=True, kw_only=True)
class Request(Reading):
    """The reading of one file: whose labels, and which of them."""

    role: Role
    kind: QuestionKind
    question: str | None = None
    rater_name: str | None = None
    default_rater: str = "judge"

    def __post_init__(self) -> None:
        check_choice("role", self.role, Role)
        check_choice("kind", self.kind, QuestionKind)
        super().__post_init__()
        other = {"annotator": "judge", "judge": "annotator"}[self.role]
        columns = {ours: yours for ours, yours in (self.columns or {}).items() if ours != other}
        _check_named_once(columns)
        object.__setattr__(self, "columns", columns)

    @property
    def cut(self) -> float:
        """Give the probability from which on a boolean label is true."""
        return DEFAULT_THRESHOLD if self.threshold is None else self.threshold

    @property
    def single_rater(self) -> str:
        """Who labelled a table that holds one rater without a name."""
        return self.rater_name or self.default_rater

    def column_named(self, concept: str) -> str | None:
        """Give the caller's own name for the column of a concept, None where there is none."""
        if concept == "cluster" and self.cluster is not None:
            return self.cluster
        named = (self.columns or {}).items()
        return next((yours for ours, yours in named if _CONCEPTS[ours] == concept), None)


def _check_words(name: str, words: Sequence[str] | None) -> None:
    if words is None:
        return
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        message = f"`{name}` must be a sequence of text, got {words!r}. Write {name}=[...]."
        raise InputError(message)
    if name == "raters" and (not words or len(set(words)) < len(words)):
        message = (
            f"`raters` must name at least one column, each once, got {list(words)!r}. "
            "Leave it out to take every other column."
        )
        raise InputError(message)


def _check_labels(labels: Sequence[object] | None, *, kind: QuestionKind | None) -> None:
    if labels is None:
        return
    if isinstance(labels, str) or len(labels) == 0:
        message = (
            f"`labels` must be a sequence of at least one label, got {labels!r}. "
            "Leave it out to accept every label."
        )
        raise InputError(message)
    if kind == "scale":
        for label in labels:
            _check_number(label)


def _check_number(label: object) -> None:
    try:
        number = float(label)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(label, bool) or not math.isfinite(number):
        message = (
            f"`labels` must be finite numbers under kind 'scale', got {label!r}. "
            "Declare kind='choice' for words."
        )
        raise InputError(message)


def _check_columns(columns: Mapping[str, str] | None) -> None:
    for ours in columns or {}:
        if ours not in _CONCEPTS:
            options = ", ".join(repr(name) for name in _CONCEPTS)
            message = (
                f"`columns` must map our names to the table's, got the key {ours!r}. "
                f"Use one of {options}."
            )
            raise InputError(message)


def _check_named_once(columns: Mapping[str, str]) -> None:
    seen: dict[str, str] = {}
    for ours in columns:
        first = seen.setdefault(_CONCEPTS[ours], ours)
        if first != ours:
            message = (
                f"`columns` must name each column once, got {first!r} and {ours!r}. "
                "Keep one of them."
            )
            raise InputError(message)
