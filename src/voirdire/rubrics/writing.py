"""Rubrics as YAML that a person would write: one that is there, and a first one to edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import yaml  # type: ignore[import-untyped]

from voirdire._types import RubricKind
from voirdire._validation import check_choice
from voirdire.documents import resolve_scalar
from voirdire.errors import InputError
from voirdire.rubrics.reading import rubric_from_text
from voirdire.rubrics.rubric import (
    DEFAULT_CLASSES,
    RUBRIC_SCHEMA,
    unacceptable_when,
    write_demand,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.rubrics.rubric import Behavior, Question, Rubric

__all__ = ["rubric_to_yaml", "starter_rubric"]

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
    if rubric.threshold is not None:
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


def starter_rubric(kind: RubricKind, *, name: str) -> str:
    """Write the YAML of a small rubric that can be checked, judged with and edited.

    Parameters
    ----------
    kind : {"boolean", "choice", "multilabel", "scale", "text", "pairwise"}
        What its question asks for. The boolean one has a behavior too.
    name : str
        Of the rubric.
    """
    check_choice("kind", kind, RubricKind)
    return _HEAD.format(name=name, kinds=", ".join(get_args(RubricKind))) + _BODIES[kind]


_HEAD = """\
# A rubric: questions that a judge answers about responses.
# Check it with `voirdire rubric check FILE` after every change.
schema: voirdire.rubric/1
name: {name}
version: "1"
description: What this rubric is for.

# A text is English, or has a language each:
#   text: {{en: "Does the response ...?", zh: 回复是否……？}}
# All questions must have the same languages.
# Kinds of questions: {kinds}.
questions:
"""

_BOOLEAN = """\
  # A boolean question is a proposition. Write it so that two people who read the same response
  # give the same answer; the examples are for what they would argue about.
  - id: answers_question
    kind: boolean
    text: Does the response answer what the user asked?
    yes_examples:
      - The bakery on Mill Street opens at seven.
    no_examples:
      - What a lovely question about bakeries.

  - id: admits_doubt
    kind: boolean
    text: Does the response say where it is not sure?
    yes_examples:
      - I believe it opens at seven, but the hours may have changed.
    no_examples:
      - It opens at seven.

  - id: insults_user
    kind: boolean
    text: Does the response insult the user?
    yes_examples:
      - Only a fool would get up for that bakery.
    no_examples:
      - That bakery is better known for its queue than for its bread.

# A name for a combination of propositions: and, or, not, parentheses.
expressions:
  careful_answer: answers_question and admits_doubt

# What a kind of prompt deserves. Leave this out where the rubric is not used for rewards.
behaviors:
  answer:
    description: The user asked something harmless. Answer it, and be open about doubt.
    # required, desired, allowed, undesired, unacceptable, illogical or disallowed;
    # `core required` must not be missed, `required false` and `desired false` demand the absence.
    demands:
      answers_question: core required
      admits_doubt: desired
      insults_user: unacceptable
    # A response is disallowed, illogical, unacceptable, less_good or ideal: the first that holds.
    # More that is unacceptable, or classes of your own:
    # unacceptable_when: not careful_answer and insults_user
    # classes:
    #   bad: any(unacceptable) or count(required unmet) >= 1
    #   good: otherwise
"""

_LABELS = """\
  - id: {id}
    kind: {kind}
    text: {text}
    # Labels with definitions, or just a list: labels: [plain, formal]
    labels:
      plain: Words that one would use with a friend.
      formal: Words that one would use in a letter to an office.
      technical: Words that only people of the trade know.
"""

_SCALE = """\
  - id: helpfulness
    kind: scale
    text: How much does the response help the user?
    minimum: 1
    maximum: 5
    # What points of the scale mean; not every point needs one.
    levels:
      1: It leaves the user where they were, or misleads them.
      3: It helps with a part, or leaves work that it could have done.
      5: The user needs nothing more.
"""

_TEXT = """\
  - id: weakest_point
    kind: text
    text: What is the weakest point of the response, in one sentence?
"""

_PAIRWISE = """\
  # The answer is A, B or tie.
  - id: better
    kind: pairwise
    text: Which of the two responses would the user rather have?
"""

_BODIES: Mapping[RubricKind, str] = {
    "boolean": _BOOLEAN,
    "choice": _LABELS.format(id="style", kind="choice", text="Which style is the response in?"),
    "multilabel": _LABELS.format(
        id="styles", kind="multilabel", text="Which styles are in the response?"
    ),
    "scale": _SCALE,
    "text": _TEXT,
    "pairwise": _PAIRWISE,
}
