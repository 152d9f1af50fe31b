"""What the names and groups of an expression mean: a rubric, and one of its behaviors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.documents import did_you_mean
from voirdire.rubrics.logic.expressions import fault

if TYPE_CHECKING:
    from voirdire._types import RubricKind
    from voirdire.errors import LogicError
    from voirdire.rubrics.logic.expressions import Group
    from voirdire.rubrics.rubric import CompletionClass, Demand, Rubric

__all__ = ["Scope", "State", "group_states", "scope_of", "unknown_name"]

State = tuple[str, bool]
"""A proposition and the state that it is wanted in."""

_POSITIVE = ("required", "core", "desired")


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Everything of a rubric that decides what an expression means, and nothing else.

    Attributes
    ----------
    propositions : tuple of str
        The boolean questions, in order.
    other_questions : tuple of (str, str)
        The questions of other kinds, with their kind: no expression may use them.
    expressions : tuple of (str, str)
        Named expressions with their text.
    behavior : str or None
        Whose demands the groups are of; None where there are none.
    demands : tuple of (str, Demand)
        By proposition, in order.
    classes : tuple of CompletionClass
        In order of precedence.
    """

    propositions: tuple[str, ...]
    other_questions: tuple[tuple[str, RubricKind], ...]
    expressions: tuple[tuple[str, str], ...]
    behavior: str | None = None
    demands: tuple[tuple[str, Demand], ...] = ()
    classes: tuple[CompletionClass, ...] = ()

    @property
    def known_names(self) -> tuple[str, ...]:
        """What an expression may name."""
        return (*self.propositions, *(name for name, _ in self.expressions))


def scope_of(rubric: Rubric, behavior: str | None) -> Scope:
    """Take from a rubric what expressions mean under one of its behaviors, or under none."""
    row = None if behavior is None else rubric.behavior(behavior)
    return Scope(
        propositions=rubric.propositions,
        other_questions=tuple((q.id, q.kind) for q in rubric.questions if q.kind != "boolean"),
        expressions=tuple(rubric.expressions.items()),
        behavior=behavior,
        demands=() if row is None else tuple(row.demands.items()),
        classes=() if row is None else row.classes,
    )


def group_states(scope: Scope, group: Group) -> tuple[State, ...]:
    """List the members of a group, each in the state that makes it count.

    A bare positive group is about demands that are met, a bare negative one about what it names
    having happened, and ``allowed`` about propositions that are true.
    """
    if scope.behavior is None:
        raise fault(
            f"group `{group.word}` needs a behavior, whose demands it stands for. Give `behavior`.",
            column=group.column,
        )
    state = group.state or ("met" if group.word in _POSITIVE else "unmet")
    return tuple(
        (name, True if demand.demanded is None else demand.demanded == (state == "met"))
        for name, demand in scope.demands
        if (demand.core if group.word == "core" else demand.word == group.word)
    )


def unknown_name(scope: Scope, name: str, column: int | None) -> LogicError:
    """Word the error about a name that is no proposition and no named expression."""
    kind = dict(scope.other_questions).get(name)
    if kind is not None:
        rule = f"`{name}` is a {kind} question; expressions are over boolean ones."
    else:
        rule = (
            "expected a proposition or a named expression, got "
            f"{shorten(name, width=40)!r}.{did_you_mean(name, scope.known_names)}"
        )
    return fault(rule, column=column)
