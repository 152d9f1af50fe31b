"""A rubric as YAML that a person would write: blocks, few quotes, a line between the parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml  # type: ignore[import-untyped]

from voirdire.errors import InputError
from voirdire.rubrics.default_classes import DEFAULT_CLASSES, unacceptable_when
from voirdire.rubrics.demands import write_demand
from voirdire.rubrics.reading import rubric_from_text
from voirdire.rubrics.rubric import RUBRIC_SCHEMA
from voirdire.rubrics.scalars import resolve_scalar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.rubrics.rubric import Behavior, Question, Rubric

__all__ = ["rubric_to_yaml"]

_WIDTH = 100
_STR = "tag:yaml.org,2002:str"
_LONG = 1e16
"""From here on a whole number is written with an exponent, as `repr` does."""


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
        If it holds what no file can say, such as white space around a text.

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
    parts = [_dumped(_head(rubric))]
    parts += _section("questions", [[_question(row)] for row in rubric.questions])
    if rubric.expressions:
        parts.append(_dumped({"expressions": dict(rubric.expressions)}))
    parts += _section("behaviors", [{row.id: _behavior(row)} for row in rubric.behaviors])
    text = "\n".join(parts)
    if rubric_from_text(text, source=f"rubric {rubric.name}") != rubric:
        msg = (
            f"`rubric` must hold what a file can say, got {rubric.name!r}, which reads back "
            "otherwise. Take white space off the ends of its texts."
        )
        raise InputError(msg)
    return text


def _section(key: str, entries: list[Any]) -> list[str]:
    """Write entries one by one, so that an empty line parts them."""
    written = [_dumped({key: entry}) for entry in entries]
    return [text if n == 0 else text.partition("\n")[2] for n, text in enumerate(written)]


def _head(rubric: Rubric) -> dict[str, Any]:
    head: dict[str, Any] = {
        "schema": RUBRIC_SCHEMA,
        "name": rubric.name,
        "version": rubric.version,
    }
    if rubric.description:
        head["description"] = _by_language(rubric.description)
    if rubric.class_rule != "exact":
        head["class_rule"] = rubric.class_rule
    if rubric.threshold != 0.5:  # the default
        head["threshold"] = rubric.threshold
    return head


def _question(row: Question) -> dict[str, Any]:
    written: dict[str, Any] = {"id": row.id, "kind": row.kind, "text": _by_language(row.text)}
    for key in ("yes_examples", "no_examples"):
        examples = {name: list(texts) for name, texts in getattr(row, key).items()}
        if examples:
            written[key] = _by_language(examples)
    if row.labels and row.kind != "pairwise":
        defined = any(row.labels.values())
        written["labels"] = (
            {name: _by_language(text) if text else None for name, text in row.labels.items()}
            if defined
            else list(row.labels)
        )
    for key in ("minimum", "maximum"):
        if getattr(row, key) is not None:
            written[key] = getattr(row, key)
    if row.levels:
        written["levels"] = {level: _by_language(text) for level, text in row.levels.items()}
    return written


def _behavior(row: Behavior) -> dict[str, Any]:
    written: dict[str, Any] = {}
    if row.description:
        written["description"] = _by_language(row.description)
    written["demands"] = {name: write_demand(demand) for name, demand in row.demands.items()}
    condition = unacceptable_when(row.classes)
    if condition is not None:
        written["unacceptable_when"] = condition
    elif row.classes != DEFAULT_CLASSES:
        written["classes"] = {each.name: each.when for each in row.classes}
    return written


def _by_language(texts: Mapping[Any, Any]) -> Any:
    """Leave English alone without its language."""
    return texts["en"] if list(texts) == ["en"] else dict(texts)


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Indents lists below their key, as people do."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  # PyYAML's signature
        super().increase_indent(flow, False)  # noqa: FBT003


def _dumped(value: Any) -> str:
    text: str = yaml.serialize(
        _node(value), Dumper=_Dumper, allow_unicode=True, width=_WIDTH, line_break="\n"
    )
    return text


def _node(value: Any) -> yaml.Node:
    if isinstance(value, dict):
        pairs = [(_node(key), _node(entry)) for key, entry in value.items()]
        return yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=False)
    if isinstance(value, list):
        nodes = [_node(entry) for entry in value]
        return yaml.SequenceNode("tag:yaml.org,2002:seq", nodes, flow_style=False)
    if value is None:
        return yaml.ScalarNode("tag:yaml.org,2002:null", "")
    if isinstance(value, str):
        return yaml.ScalarNode(_STR, value, style=_style(value))
    number = float(value)
    if number.is_integer() and abs(number) < _LONG:
        return yaml.ScalarNode("tag:yaml.org,2002:int", str(int(number)))
    digits, e, exponent = repr(number).partition("e")
    # PyYAML tags a number that YAML 1.1 would not know, such as 1e-05 without a point.
    point = "" if "." in digits else ".0"
    return yaml.ScalarNode("tag:yaml.org,2002:float", f"{digits}{point}{e}{exponent}")


def _style(text: str) -> str | None:
    """Choose quotes where a word without them would mean something else; blocks for lines."""
    if "\n" in text:
        return "|"
    return None if isinstance(resolve_scalar(text), str) else '"'
