"""Loads rubrics by a built-in name, by path or from text, and writes them as readable YAML."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml  # type: ignore[import-untyped]

from voirdire._messages import shorten
from voirdire._types import RubricKind
from voirdire._validation import check_choice
from voirdire.documents import (
    did_you_mean,
    document_from_text,
    file_exists,
    read_document,
    resolve_scalar,
)
from voirdire.errors import InputError, LogicError
from voirdire.rubrics.expressions import parse_expression
from voirdire.rubrics.form import read_rubric_form
from voirdire.rubrics.rubric import (
    DEFAULT_CLASSES,
    RUBRIC_SCHEMA,
    Rubric,
    default_classes,
    question_document,
    write_demand,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from voirdire.rubrics.rubric import Behavior, Question

__all__ = [
    "built_in_rubrics",
    "built_in_text",
    "load_rubric",
    "rubric_from_text",
    "rubric_to_yaml",
    "starter_rubric",
]

_DATA = files("voirdire") / "data"
_WIDTH = 100
_LONG = 1e16
"""A whole number from here on is written with an exponent, as `repr` does."""


def built_in_rubrics() -> tuple[str, ...]:
    """Name the rubrics that ship with voirdire.

    Returns
    -------
    tuple of str
        Names that `load_rubric` takes, in alphabetical order.

    Examples
    --------
    >>> "safety" in built_in_rubrics()
    True
    """
    return tuple(sorted(_list_files()))


def built_in_text(name: str) -> str:
    """Read the YAML of a built-in rubric with its comments."""
    return _list_files()[name].read_text(encoding="utf-8")


@cache
def _list_files() -> dict[str, Traversable]:
    return {
        file.name.removesuffix(".yaml"): file
        for file in (_DATA / "rubrics").iterdir()
        if file.name.endswith(".yaml")
    }


def load_rubric(name_or_path: Rubric | str | Path) -> Rubric:
    """Load a built-in rubric or one from a YAML file.

    Parameters
    ----------
    name_or_path : Rubric, str or path
        A rubric, which is returned as it is; a name of `built_in_rubrics`; or a file in the form
        ``voirdire.rubric/1``. A built-in name wins over a file of that name; write ``./safety``
        for the file.

    Returns
    -------
    Rubric
        Checked: every name is defined, and every case has a class.

    Raises
    ------
    RubricError
        If the file breaks a rule; the message begins with file, line and column, and `problems`
        has all of them.
    InputError
        If there is no such built-in rubric and no such file.

    Examples
    --------
    >>> rubric = load_rubric("safety")
    >>> len(rubric.propositions)
    21
    >>> [behavior.id for behavior in rubric.behaviors]
    ['hard_refuse', 'soft_refuse', 'comply']
    """
    if isinstance(name_or_path, Rubric):
        return name_or_path
    names = built_in_rubrics()
    if isinstance(name_or_path, str) and name_or_path in names:
        return _load_built_in(name_or_path)
    if not file_exists(name_or_path):
        name = str(name_or_path)
        msg = (
            f"a rubric must be a file that exists or one of {', '.join(names)}, got "
            f"{shorten(name)!r}.{did_you_mean(name, names) or ' Check the path.'}"
        )
        raise InputError(msg)
    return read_rubric_form(read_document(name_or_path, what="a rubric"))


@cache
def _load_built_in(name: str) -> Rubric:
    return rubric_from_text(built_in_text(name), source=f"built-in {name}")


def rubric_from_text(text: str | bytes, *, source: str = "<text>") -> Rubric:
    """Read a rubric from YAML text.

    Parameters
    ----------
    text : str or bytes
        A whole file, as `load_rubric` reads it.
    source : str, optional
        What errors call it.

    Returns
    -------
    Rubric
        The same as `load_rubric` gives.

    Raises
    ------
    RubricError
        If it breaks a rule.

    Examples
    --------
    >>> rubric = rubric_from_text('''
    ... schema: voirdire.rubric/1
    ... name: politeness
    ... version: "1"
    ... questions:
    ...   - id: thanks
    ...     kind: boolean
    ...     text: Does the response thank the user?
    ... ''')
    >>> rubric.question("thanks").text["en"]
    'Does the response thank the user?'
    """
    return read_rubric_form(document_from_text(text, source=source, what="a rubric"))


def starter_rubric(kind: RubricKind, *, name: str) -> str:
    """Write the YAML of a small rubric that asks one kind of question, to be edited."""
    check_choice("kind", kind, RubricKind)
    whole = (_DATA / "starter_rubric.yaml").read_text(encoding="utf-8")
    head, *parts = whole.split("#### ")
    bodies = dict(part.split("\n", maxsplit=1) for part in parts)
    return head.replace("my-rubric", name) + bodies[kind]


def rubric_to_yaml(rubric: Rubric) -> str:
    """Write a rubric in the form ``voirdire.rubric/1``.

    Parameters
    ----------
    rubric : Rubric
        Any rubric.

    Returns
    -------
    str
        YAML that reads back to an equal rubric.

    Raises
    ------
    RubricError
        If the rubric was not read from a file and breaks a rule of the form.
    InputError
        If it holds a value that no file can hold, such as white space around a text.

    Examples
    --------
    >>> print(rubric_to_yaml(rubric_from_text('''
    ... {schema: voirdire.rubric/1, name: politeness, version: "1", questions: [
    ... {id: thanks, kind: boolean, text: "Does the response thank the user?"}]}
    ... ''')))
    schema: voirdire.rubric/1
    name: politeness
    version: "1"
    <BLANKLINE>
    questions:
      - id: thanks
        kind: boolean
        text: Does the response thank the user?
    <BLANKLINE>
    """
    parts = [_dump(_write_head(rubric))]
    parts += _dump_entries("questions", [[_write_question(row)] for row in rubric.questions])
    if rubric.expressions:
        parts.append(_dump({"expressions": dict(rubric.expressions)}))
    parts += _dump_entries(
        "behaviors", [{row.id: _write_behavior(row)} for row in rubric.behaviors]
    )
    text = "\n".join(parts)
    if rubric_from_text(text, source=f"rubric {rubric.name}") != rubric:
        msg = (
            f"`rubric` must be the same when its file is read, got {rubric.name!r}, which is "
            "another one then. Take white space off the ends of its texts."
        )
        raise InputError(msg)
    return text


def _write_head(rubric: Rubric) -> dict[str, Any]:
    rule = None if rubric.class_rule == "exact" else rubric.class_rule
    head = {
        "schema": RUBRIC_SCHEMA,
        "name": rubric.name,
        "version": rubric.version,
        "description": _write_texts(rubric.description),
        "class_rule": rule,
        "threshold": rubric.threshold,
    }
    return {key: value for key, value in head.items() if value not in (None, {})}


def _write_question(row: Question) -> dict[str, Any]:
    fields = question_document(row)
    for key in ("text", "yes_examples", "no_examples"):
        fields[key] = _write_texts(fields[key])
    labels = {name: _write_texts(text) or None for name, text in row.labels.items()}
    fields["labels"] = labels if any(labels.values()) else list(labels)
    if row.kind == "pairwise":
        del fields["labels"]  # always the same
    fields["levels"] = {level: _write_texts(text) for level, text in row.levels.items()}
    return {key: value for key, value in fields.items() if value not in (None, {}, [])}


def _write_behavior(row: Behavior) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if row.description:
        fields["description"] = _write_texts(row.description)
    fields["demands"] = {name: write_demand(demand) for name, demand in row.demands.items()}
    condition = _find_extra_condition(row)
    if condition is not None:
        fields["unacceptable_when"] = condition
    elif row.classes != DEFAULT_CLASSES:
        fields["classes"] = {each.name: each.when for each in row.classes}
    return fields


def _find_extra_condition(row: Behavior) -> str | None:
    """Find the condition that makes `default_classes` give the classes of a behavior."""
    for default, own in zip(DEFAULT_CLASSES, row.classes, strict=False):
        condition = own.when.removeprefix(f"{default.when} or (").removesuffix(")")
        if default != own and default_classes(condition) == row.classes:
            try:
                parse_expression(condition)  # `(a) or (b` only looks like one
            except LogicError:
                return None
            return condition
    return None


def _write_texts(texts: Mapping[Any, Any]) -> Any:
    """Write a text that is in English only without its language."""
    return texts["en"] if list(texts) == ["en"] else dict(texts)


def _dump_entries(key: str, entries: list[Any]) -> list[str]:
    """Write entries one by one, with an empty line between them."""
    texts = [_dump({key: entry}) for entry in entries]
    return [text if n == 0 else text.partition("\n")[2] for n, text in enumerate(texts)]


def _dump(value: Any) -> str:
    text: str = yaml.dump(
        value, Dumper=_Dumper, allow_unicode=True, line_break="\n", sort_keys=False, width=_WIDTH
    )
    return text


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes lists indented below their key, and whole numbers without a point."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  # PyYAML's signature
        super().increase_indent(flow, False)  # noqa: FBT003

    def analyze_scalar(self, scalar: str) -> Any:
        """Allow a block where lines end in spaces, as YAML does and PyYAML does not."""
        analysis = super().analyze_scalar(scalar)
        if " \n" in scalar:
            bare = re.sub(r" +\n", "\n", scalar)
            analysis.allow_block = super().analyze_scalar(bare).allow_block
        return analysis

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # PyYAML's signature
        return True

    def represent_number(self, value: float) -> yaml.Node:
        if value.is_integer() and abs(value) < _LONG:
            return self.represent_int(int(value))
        return self.represent_float(value)

    def represent_text(self, text: str) -> yaml.Node:
        """Write quotes where a word without them is no text, and a block for several lines."""
        style = None if isinstance(resolve_scalar(text), str) else '"'
        return self.represent_scalar(
            "tag:yaml.org,2002:str", text, style="|" if "\n" in text else style
        )

    def represent_nothing(self, value: None) -> yaml.Node:  # noqa: ARG002  # PyYAML's signature
        return self.represent_scalar("tag:yaml.org,2002:null", "")


_Dumper.add_representer(float, _Dumper.represent_number)
_Dumper.add_representer(str, _Dumper.represent_text)
_Dumper.add_representer(type(None), _Dumper.represent_nothing)
