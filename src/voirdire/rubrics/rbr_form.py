"""What the layout of the authors of rule-based rewards must be like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from voirdire._validation import shorten
from voirdire.rubrics.form import MOST_BEHAVIORS, MOST_EXPRESSIONS, Filled, Form, Identifier
from voirdire.rubrics.names import RESERVED_WORDS, did_you_mean, is_identifier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.rubrics.findings import Findings, Path

__all__ = ["LAYOUT_KEYS", "LayoutForm", "check_layout"]

LAYOUT_KEYS = ("completion_classes", "derived_propositions", "simple_propositions")
"""Any of them tells the layout."""


class PropositionForm(Form):
    """One entry of `simple_propositions`."""

    prompt: Filled


class LayoutForm(Form):
    """The whole file."""

    prompt_template: str | None = None
    completion_class_order: Annotated[list[str], Field(min_length=1)]
    completion_classes: Annotated[
        dict[
            Identifier,
            Annotated[dict[Identifier, dict[str, bool]], Field(max_length=MOST_BEHAVIORS)],
        ],
        Field(min_length=1, max_length=MOST_BEHAVIORS),
    ]
    derived_propositions: (
        Annotated[dict[Identifier, dict[str, bool]], Field(max_length=MOST_EXPRESSIONS)] | None
    ) = None
    simple_propositions: Annotated[dict[Identifier, PropositionForm], Field(min_length=1)]


def check_layout(form: LayoutForm, findings: Findings, *, names: Mapping[str, str]) -> None:
    """Note what is wrong between the parts of a file, its propositions under our names."""
    derived = form.derived_propositions or {}
    known = {*form.simple_propositions, *derived}
    taken: set[str] = set()
    places = {
        "simple_propositions": tuple(form.simple_propositions),
        "derived_propositions": tuple(derived),
    }
    for key, rows in places.items():
        for name in rows:
            ours = names.get(name, name)
            rule = _broken_rule(ours, taken)
            if rule is not None:
                message = f"a key of `{key}` must {rule}, got {shorten(ours)!r}. Rename it."
                findings.add((key, name), message, at_key=True)
            taken.add(ours)
    for name, states in derived.items():
        _check_states(states, findings, known=known, path=("derived_propositions", name))
    for name, by_behavior in form.completion_classes.items():
        for behavior, states in by_behavior.items():
            path = ("completion_classes", name, behavior)
            _check_states(states, findings, known=known, path=path)
    _check_order(form, findings)


def _broken_rule(name: str, taken: set[str]) -> str | None:
    """Say what a name of a proposition must be and is not."""
    if not is_identifier(name):
        return "be lower-case letters, digits and underscores"
    if name in RESERVED_WORDS:
        return "not be a word of expressions"
    return "be unique" if name in taken else None


def _check_states(
    states: Mapping[str, bool], findings: Findings, *, known: set[str], path: Path
) -> None:
    for name in states:
        if name not in known:
            hint = did_you_mean(name, known)
            message = f"a key here must be a simple or derived proposition, got {shorten(name)!r}."
            findings.add((*path, name), message + hint, at_key=True)


def _check_order(form: LayoutForm, findings: Findings) -> None:
    """Note classes that the order does not name once."""
    order, path = form.completion_class_order, ("completion_class_order",)
    for position, name in enumerate(order):
        if name not in form.completion_classes or name in order[:position]:
            message = f"an entry of the order must be a class, once, got {shorten(name)!r}."
            hint = did_you_mean(name, set(form.completion_classes) - set(order))
            findings.add((*path, position), message + hint)
    for name in form.completion_classes:
        if name not in order:
            message = f"a class must be in `completion_class_order`, got {name!r}. Add it there."
            findings.add(("completion_classes", name), message, at_key=True)
