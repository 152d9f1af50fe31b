"""Take labels as a user has them, in a table, a frame, a file or dicts, into one table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.records import Failure
from voirdire.studies.examination import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voirdire._types import AlignmentName, QuestionKind
    from voirdire.io import LabelTable

__all__ = ["kind_of_given", "take_labels"]

DEFAULT_JUDGE = "judge"

Role = Literal["annotator", "judge"]


def kind_of_given(
    given: Sequence[Any],
    kind: QuestionKind | None,
    alignments: Sequence[AlignmentName],
    *,
    implied_by: Callable[[], QuestionKind] | None = None,
) -> QuestionKind:
    """Take the kind that a table has, that was declared, or that something implies.

    By default that is the alignments.
    """
    from voirdire.io import LabelTable

    for labels in given:
        if isinstance(labels, LabelTable):
            if kind not in (None, labels.kind):
                msg = f"`kind` must be that of the tables, {labels.kind!r}, got {kind!r}."
                raise InputError(msg)
            return labels.kind
    if kind is None and implied_by is not None:
        return implied_by()
    implied = {kind_of(alignment) for alignment in alignments} - {"choice"}
    return kind or (implied.pop() if len(implied) == 1 else "choice")


def take_labels(
    given: Any,
    *,
    role: Role,
    kind: QuestionKind,
    labels: Sequence[Any] | None,
    questions: Sequence[str] = (),
) -> LabelTable:
    """Take labels into a table.

    Parameters
    ----------
    given : LabelTable, data frame, path, list of paths, or mapping
        A mapping is ``{rater: {item: label}}``; for one judge also ``{item: label}``. A path of
        judges may be that of a folder.
    role : {"annotator", "judge"}
        Whose labels these are.
    kind : str
        How labels are read.
    labels : sequence or None
        The declared label universe.
    questions : sequence of str
        Which questions to keep, each read by itself, since others may be of another kind; one
        alone names the question of labels without a column for it.
    """
    from voirdire.io import LabelTable, join_tables, read_labels, table_from_frame

    name = "humans" if role == "annotator" else "judges"
    if isinstance(given, LabelTable):
        return given
    paths = _paths(given, role)
    if paths:
        tables = [
            read_labels(path, role=role, kind=kind, labels=labels, question=question)
            for path in paths
            for question in (questions or (None,))
        ]
        check_apart(tables, questions)
        return tables[0] if len(tables) == 1 else join_tables(tables)
    frame = _frame(given, name, role, kind) if isinstance(given, Mapping) else given
    if not hasattr(frame, "columns") and not hasattr(frame, "column_names"):
        msg = (
            f"`{name}` must be a label table, a data frame, a path, or a mapping "
            f"{{rater: {{item: label}}}}, got {shorten(given)!r}."
        )
        raise InputError(msg)
    tables = [
        table_from_frame(
            frame, role=role, kind=kind, labels=labels, source_name=name, question=question
        )
        for question in (questions or (None,))
    ]
    check_apart(tables, questions)
    return tables[0] if len(tables) == 1 else join_tables(tables)


def check_apart(tables: Sequence[LabelTable], questions: Sequence[str]) -> None:
    """Refuse to take labels without questions for several: they would count twice."""
    if len(questions) > 1 and len(tables) > 1:
        first, second = (table.frame.drop("question") for table in tables[:2])
        if first.equals(second):
            msg = (
                "`questions` must name one question for labels without a column `question`, got "
                f"{len(questions)}."
            )
            raise InputError(msg)


def _paths(given: Any, role: Role) -> list[str | Path]:
    """List the files that one path names, or several; a folder of judges stands for its files."""
    from voirdire.io.folders import files_of

    if isinstance(given, str | Path):
        several = [given]
    elif isinstance(given, list | tuple) and all(_is_path(each) for each in given):
        several = [*given]
    else:
        return []
    return several if role == "annotator" else [file for path in several for file in files_of(path)]


def _is_path(given: Any) -> bool:
    """Tell a path from a label: by its ending, or because there is such a folder."""
    from voirdire.io.sources import FORMATS_BY_SUFFIX

    if isinstance(given, str):
        given = Path(given)
        return given.suffix.lower() in FORMATS_BY_SUFFIX or given.is_dir()
    return isinstance(given, Path)


def _frame(given: Mapping[Any, Any], name: str, role: Role, kind: QuestionKind) -> Any:
    import polars as pl

    if role == "judge" and given and not any(isinstance(x, Mapping) for x in given.values()):
        given = {DEFAULT_JUDGE: given}
    if not given or not all(isinstance(labels, Mapping) for labels in given.values()):
        msg = f"`{name}` must be a mapping {{rater: {{item: label}}}}, got {shorten(given)!r}."
        raise InputError(msg)
    rows = [
        (str(item), str(rater), _plain(label, kind), _failure(label))
        for rater, labels in given.items()
        for item, label in labels.items()
    ]
    label_type = {"scale": pl.Float64, "multilabel": pl.List(pl.String)}.get(kind, pl.String)
    schema: dict[str, Any] = {
        "item": pl.String,
        role: pl.String,
        "label": label_type,
        "failure": pl.String,
    }
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame if role == "judge" else frame.drop("failure")


def _failure(label: Any) -> str | None:
    return label.reason if isinstance(label, Failure) else None


def _plain(label: Any, kind: QuestionKind) -> Any:
    """Write a label as a frame of this kind holds it; what it means is decided where it is read."""
    if label is None or isinstance(label, Failure):
        return None
    if isinstance(label, float) and math.isnan(label):
        return None
    if kind == "multilabel":
        if isinstance(label, AbstractSet | list | tuple):
            return sorted(str(word) for word in label)
        msg = f"a label must be a set or a list of words, got {shorten(label)!r}."
        raise InputError(msg)
    if kind == "scale":
        try:
            return float(label)
        except (TypeError, ValueError):
            msg = f"a label must be a number, got {shorten(label)!r}. Choose another alignment."
            raise InputError(msg) from None
    return ("true" if label else "false") if isinstance(label, bool) else str(label)
