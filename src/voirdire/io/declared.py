"""Settings of a source that the caller declares: its layout, and for labels the question.

The command line shows them as options, so nothing heavy is imported here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

from voirdire._messages import shorten
from voirdire._types import NO_TEXTS, Judged, QuestionKind
from voirdire._validation import check_choice
from voirdire.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO

    from narwhals.stable.v2.typing import IntoDataFrame

LabelSource: TypeAlias = "str | Path | IO[bytes] | IntoDataFrame | Mapping[Any, Any]"
"""A source of labels: a file, a data frame, or ``{rater: {item: label}}``."""

Role: TypeAlias = Literal["annotator", "judge"]
"""Who gave the labels of a source."""

FileFormat: TypeAlias = Literal["csv", "tsv", "jsonl", "json", "parquet", "xlsx"]
"""Formats of files; what JSON holds shows by itself."""

BlankWord: TypeAlias = Literal["nothing", "missing"]
"""Meanings of a blank cell where sets of labels are asked for."""

ItemColumn: TypeAlias = Literal[
    "id",
    "prompt",
    "response",
    "other",
    "messages",
    "chosen",
    "rejected",
    "ranked",
    "preferred",
    "system",
    "context",
    "behavior",
    "group",
    "cluster",
]
"""Our names for the columns of items."""

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
    """How files of labels are read: the kind of the question, and the layout of the files.

    Attributes
    ----------
    kind : {"boolean", "choice", "multilabel", "scale", "text", "pairwise"} or None
        What the question asks for. By default what the alignment needs, or what the labels show
        without doubt.
    labels : sequence of str or float, or None
        The label universe, as a,b,c or a JSON array; any other label is unknown. By default every
        label is accepted.
    threshold : float or None
        Boolean judges given as probabilities: true from here on, in [0, 1]. Fix it beforehand. By
        default what verdicts of `voirdire judge` declare, else .5.
    format : str or None
        Format of the files; by default by the endings of their names.
    delimiter : str or None
        What separates the fields of CSV, such as a semicolon; by default the most frequent one in
        the header.
    encoding : str or None
        How text is encoded, such as cp1252; by default UTF-8 or UTF-16, else Windows-1252 with a
        note.
    sheet : str or None
        Which sheet of a workbook; by default the first.
    columns : mapping of str to str, or None
        Your name for a column, as OURS=YOURS: item, annotator, judge, label, question, cluster,
        failure, probability; repeatable. It holds for every file that has the column.
    raters : sequence of str, or None
        Wide annotations: a column that is an annotator; repeatable. By default every column without
        another meaning.
    separator : str or None
        What separates the labels of a set in one text cell, as the bar in a|b. By default such a
        cell is a JSON array.
    order : sequence of str
        The words of a scale from the lowest to the highest, as disagree,neutral,agree: a word
        counts as its place, from 1 on, and the distance of two words is that of their places.
    blank : {"nothing", "missing"} or None
        What a blank cell means where sets of labels are asked for: that nothing applies, or no
        answer. By default it is asked where more than a fifth of a rater's cells are blank, and
        else means that nothing applies.
    missing : sequence of str
        A word that means no answer, matched exactly; repeatable.
    cluster : str or None
        Column of the annotations that names the source that items share.
    judge_columns : sequence of str or None
        Which raters of a file of people and judges are judges; repeatable.
    normalize_labels : bool
        Whether labels and raters that differ only by case, width or white space are the same.
    where : sequence of str
        Keep the rows with this value in a column, as COLUMN=VALUE, such as status=Approved;
        repeatable: values of the same column are alternatives.

    Raises
    ------
    InputError
        If one of them breaks its rule.
    """

    kind: QuestionKind | None = None
    labels: Sequence[str] | Sequence[float] | None = None
    threshold: float | None = None
    format: FileFormat | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    columns: Mapping[str, str] | None = None
    raters: Sequence[str] | None = None
    separator: str | None = None
    order: Sequence[str] = ()
    blank: BlankWord | None = None
    missing: Sequence[str] = ()
    cluster: str | None = None
    judge_columns: Sequence[str] | None = None
    normalize_labels: bool = False
    where: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.order:
            _check_order(self.order, self.kind)
            object.__setattr__(self, "kind", "scale")
        closed = {"kind": QuestionKind, "format": FileFormat, "blank": BlankWord}
        for name, words in closed.items():
            if getattr(self, name) is not None:
                check_choice(name, getattr(self, name), words)
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            message = f"`threshold` must be in [0, 1], got {self.threshold!r}. Write 50% as 0.5."
            raise InputError(message)
        if self.separator == "":
            message = "`separator` must be text, got ''. Leave it out for cells with JSON arrays."
            raise InputError(message)
        for name in ("raters", "judge_columns", "missing", "order", "where"):
            _check_words(name, getattr(self, name))
        if self.labels is not None:
            object.__setattr__(self, "labels", _check_labels(self.labels, kind=self.kind))
        for ours in self.columns or {}:
            if ours not in _CONCEPTS:
                options = ", ".join(map(repr, _CONCEPTS))
                raise InputError(
                    f"`columns` must map our names to the table's, got the key {ours!r}. "
                    f"Use one of {options}."
                )


@dataclass(frozen=True, kw_only=True)
class Request(Reading):
    """The reading of one source: whose labels, and which of them; or of its columns only."""

    role: Role
    question: str | None = None
    rater_name: str | None = None
    default_rater: str = "judge"
    columns_only: bool = False

    def __post_init__(self) -> None:
        check_choice("role", self.role, Role)
        super().__post_init__()
        other = {"annotator": "judge", "judge": "annotator"}[self.role]
        if self.judge_columns and "judge" not in (self.columns or {}):
            other = ""  # one column of a file names both
        columns = {ours: yours for ours, yours in (self.columns or {}).items() if ours != other}
        seen: dict[str, str] = {}
        for ours in columns:
            first = seen.setdefault(_CONCEPTS[ours], ours)
            if first != ours:
                raise InputError(
                    f"`columns` must name each column once, got {first!r} and {ours!r}. "
                    "Keep one of them."
                )
        object.__setattr__(self, "columns", columns)

    @property
    def single_rater(self) -> str:
        """Name of the only rater of a table without rater names."""
        return self.rater_name or self.default_rater

    @property
    def is_gold(self) -> bool:
        """Whether these are gold labels, which are read like a judge's."""
        return self.role == "judge" and self.rater_name == "gold"

    @property
    def single_question(self) -> str:
        """Name of the question of a table without a question column."""
        return self.question or "label"

    @property
    def named_raters(self) -> Sequence[str] | None:
        """Raters of this role, where the caller names them."""
        return self.judge_columns if self.role == "judge" else self.raters

    def column_named(self, concept: str) -> str | None:
        """Return the caller's own name for a column; None where there is none."""
        if concept == "cluster" and self.cluster is not None:
            return self.cluster
        named = (self.columns or {}).items()
        return next((yours for ours, yours in named if _CONCEPTS[ours] == concept), None)

    def wanted_raters(self, known: Sequence[str]) -> list[str]:
        """Return which raters of a table have this role."""
        if self.named_raters is not None:
            named = split_names(self.named_raters, known)
            return [name for name in known if name in named]
        judges = split_names(self.judge_columns or (), known)
        return [name for name in known if name not in judges]


def split_names(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Split ``ann,bob,cem`` into its names, unless that is a name itself."""
    parts = [[name] if name in known else map(str.strip, name.split(",")) for name in names]
    return list(dict.fromkeys(part for each in parts for part in each))


def _check_order(order: Sequence[str], kind: str | None) -> None:
    words = {word.casefold() for word in order}
    if kind not in (None, "scale") or not 1 < len(words) == len(order):
        raise InputError(
            f"`order` must list at least two different words of a scale, got {list(order)!r} of "
            f"kind {kind!r}."
        )


def _check_words(name: str, words: Sequence[str] | None) -> None:
    if words is None:
        return
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        message = f"`{name}` must be a sequence of text, got {words!r}. Write {name}=[...]."
        raise InputError(message)
    if name == "where" and not all("=" in word.strip("=") for word in words):
        message = f"`where` must be COLUMN=VALUE, got {words!r}. Write status=Approved."
        raise InputError(message)
    if name in ("raters", "judge_columns") and (not words or len(set(words)) < len(words)):
        raise InputError(
            f"`{name}` must name at least one column, each once, got {list(words)!r}. "
            "Leave it out to take every other column."
        )


def _check_labels(
    labels: Sequence[Any], *, kind: QuestionKind | None
) -> Sequence[str] | Sequence[float]:
    if isinstance(labels, str) or len(labels) == 0:
        raise InputError(
            f"`labels` must be a sequence of at least one label, got {labels!r}. "
            "Leave it out to accept every label."
        )
    return [_number(label) for label in labels] if kind == "scale" else labels


def _number(label: Any) -> float:
    with suppress(TypeError, ValueError):
        number = float(label)
        if math.isfinite(number) and not isinstance(label, bool):
            return number
    raise InputError(
        f"`labels` must be finite numbers under kind 'scale', got {label!r}. "
        "Declare kind='choice' for words."
    )


# Items ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ItemLayout:
    """Layout of a file of items, where the file does not show it.

    Attributes
    ----------
    columns : mapping of str to str, or None
        Your name for a column, as OURS=YOURS (id, prompt, response, messages, system, context,
        chosen, rejected, behavior, group, cluster); repeatable.
    format : {"jsonl", "csv", "tsv", "json", "parquet", "xlsx"} or None
        Instead of the file's ending: jsonl, csv, tsv, json, parquet.
    behavior : str or None
        The behavior of items that have none.
    make_item : callable or None
        Rows of any other form, in Python: it takes a row and returns one that is read, or several.
    delimiter : str or None
        What separates the fields of CSV, such as a semicolon; by default the most frequent one in
        the header.
    encoding : str or None
        How text is encoded, such as cp1252; by default UTF-8, or UTF-16 by its byte order mark.
    sheet : str or None
        Which sheet of a workbook; by default the first.
    missing : sequence of str
        A word that stands where there is no response or prompt, matched exactly; repeatable. By
        default NA, N/A, NaN, null and their like.

    Raises
    ------
    InputError
        If one of them breaks its rule.
    """

    columns: Mapping[str, str] | None = None
    format: FileFormat | None = None
    behavior: str | None = None
    make_item: Callable[[dict[str, Any]], Any] | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    missing: Sequence[str] = NO_TEXTS

    known_columns: ClassVar[tuple[str, ...]] = get_args(ItemColumn)

    def reading(self, **of_items: Any) -> ItemReading:
        """Make an `ItemReading` of this layout; `of_items` are further fields, or other values."""
        laid_out = {row.name: getattr(self, row.name) for row in fields(ItemLayout)}
        return ItemReading(**laid_out | of_items)

    def __post_init__(self) -> None:
        """Check what can be checked without the file."""
        columns: Any = {} if self.columns is None else self.columns
        is_mapping = isinstance(columns, Mapping)
        names, known = columns.items() if is_mapping else (), self.known_columns
        wrong = {x: y for x, y in names if x not in known or not isinstance(y, str)}
        if wrong or not is_mapping:
            message = (
                f"`columns` must map our names to the file's, got {shorten(wrong or columns)}. "
            )
            raise InputError(f"{message}Use some of {', '.join(map(repr, known))}.")
        _check_words("missing", self.missing)
        name: object = self.behavior
        if name is not None and not (isinstance(name, str) and name.strip()):
            message = (
                f"`behavior` must be a name, got {name!r}. Leave it out where items have none."
            )
            raise InputError(message)


@dataclass(frozen=True, kw_only=True)
class ItemReading(ItemLayout):
    """Which parts of a file become items, and the layout of the file.

    Attributes
    ----------
    judged : {"final_answer", "with_reasoning", "whole_turn"}
        Which part of a response is judged, where it has reasoning or tool turns.
    pairs : bool
        Whether chosen and rejected become one item with two responses, for pairwise questions,
        instead of two items.
    images : bool
        Whether prompts may hold images, for a judge that sees them; by default a row with an image
        is set aside.
    criteria : bool
        Whether items bring criteria, and perhaps a reference answer; a row without criteria is then
        set aside.

    Raises
    ------
    InputError
        If one of them breaks its rule, or one of `ItemLayout`.
    """

    judged: Judged = "final_answer"
    pairs: bool = False
    images: bool = False
    criteria: bool = False

    def __post_init__(self) -> None:
        """Check what can be checked without the file."""
        check_choice("judged", self.judged, Judged)
        super().__post_init__()
