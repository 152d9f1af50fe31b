"""What the names and groups of an expression mean, named expressions followed, circles refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.documents import did_you_mean
from voirdire.errors import LogicError
from voirdire.rubrics.logic.expressions import (
    And,
    Counted,
    Group,
    Name,
    Not,
    Or,
    Quantified,
    at,
    fault,
)
from voirdire.rubrics.logic.parsing import parse_expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sized

    from voirdire._types import RubricKind
    from voirdire.rubrics.logic.expressions import Expression
    from voirdire.rubrics.rubric import CompletionClass, Demand, Rubric

__all__ = [
    "MAX_VARIABLES",
    "OTHERWISE",
    "NameSearch",
    "Place",
    "Resolved",
    "Scope",
    "State",
    "check_variable_count",
    "class_places",
    "group_states",
    "resolve",
    "scope_of",
    "unknown_name",
]

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


OTHERWISE = "otherwise"
"""The condition of a last class that takes everything else."""

MAX_VARIABLES = 256
"""How many propositions the classes of a behavior, or one expression, may depend on."""

Place = tuple[str, ...]
"""Where in a rubric an expression stands, such as ``("expressions", "safe_refusal")``."""


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """Expressions with the named ones that they need.

    Attributes
    ----------
    scope : Scope
        What their names mean.
    expressions : mapping of tuple of str to Expression
        By place, as they were asked about.
    definitions : mapping of str to Expression
        The named expressions that they lead to; each comes after all that it needs.
    variables : tuple of str
        The propositions that they lead to, in the order in which a reader meets them.
    """

    scope: Scope
    expressions: Mapping[Place, Expression]
    definitions: Mapping[str, Expression]
    variables: tuple[str, ...]

    @property
    def has_groups(self) -> bool:
        """Whether any of them is about demands, and so about a behavior."""
        rows = (*self.expressions.values(), *self.definitions.values())
        return any(isinstance(leaf, Group) for row in rows for leaf in _leaves(row))


def resolve(scope: Scope, texts: Mapping[Place, str]) -> Resolved:
    """Parse expressions and everything that they name; a `LogicError` says what is wrong where."""
    expressions = {place: _parsed(text, place) for place, text in texts.items()}
    search = NameSearch(scope)
    for place, expression in expressions.items():
        search.follow(expression, place)
    return Resolved(
        scope=scope,
        expressions=expressions,
        definitions=search.definitions,
        variables=_variables(scope, expressions, search.definitions),
    )


class NameSearch:
    """Follows names to named expressions, depth first.

    Attributes
    ----------
    definitions : dict of str to Expression
        What was found so far; each after all that it needs.
    """

    def __init__(self, scope: Scope) -> None:
        self.definitions: dict[str, Expression] = {}
        self._scope = scope
        self._propositions = frozenset(scope.propositions)
        self._texts = dict(scope.expressions)

    def names_in(self, name: str) -> frozenset[str]:
        """Read one named expression alone, and tell which others stand in it."""
        place = ("expressions", name)
        return frozenset(self._named_in(_parsed(self._texts[name], place), place))

    def follow(self, expression: Expression, place: Place) -> None:
        """Find all that an expression leads to; a `LogicError` where it leads in a circle."""
        # Without recursion: a hostile chain of names may be thousands long.
        open_names: dict[str, Expression] = {}
        path = [self._named_in(expression, place)]
        while path:
            name = next(path[-1], None)
            if name is None:
                path.pop()
                if open_names:
                    finished, definition = open_names.popitem()
                    self.definitions[finished] = definition
            elif name in open_names:
                raise self._circle(list(open_names), name)
            elif name not in self.definitions:
                here = ("expressions", name)
                open_names[name] = _parsed(self._texts[name], here)
                path.append(self._named_in(open_names[name], here))

    def _circle(self, path: list[str], name: str) -> LogicError:
        around = path[path.index(name) :]
        rank = {name: k for k, name in enumerate(self._texts)}
        start = around.index(min(around, key=rank.__getitem__))
        loop = [*around[start:], *around[: start + 1]]
        shown = loop if len(loop) <= 8 else [*loop[:4], "…", *loop[-3:]]
        rule = f"a named expression must not lead back to itself, got {' → '.join(shown)}."
        return fault(shorten(rule, width=400), where=("expressions", loop[0]))

    def _named_in(self, expression: Expression, place: Place) -> Iterator[str]:
        for leaf in _leaves(expression):
            if not isinstance(leaf, Name) or leaf.id in self._propositions:
                continue
            if leaf.id not in self._texts:
                raise at(unknown_name(self._scope, leaf.id, leaf.column), place)
            yield leaf.id


def check_variable_count(names: Sized, place: Place) -> None:
    """Raise a `LogicError` where an expression, or the classes together, need too many."""
    if len(names) > MAX_VARIABLES:
        rule = f"at most {MAX_VARIABLES} propositions may be depended on, got {len(names)}."
        raise fault(rule, where=place)


def _parsed(text: str, place: Place) -> Expression:
    try:
        return parse_expression(text)
    except LogicError as error:
        raise at(error, place) from None


def _variables(
    scope: Scope, expressions: Mapping[Place, Expression], definitions: Mapping[str, Expression]
) -> tuple[str, ...]:
    """List propositions as a reader meets them, following each name where it first stands."""
    of_name: dict[str, tuple[str, ...]] = {}
    propositions = frozenset(scope.propositions)

    def met_in(expression: Expression, place: Place) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for leaf in _leaves(expression):
            if isinstance(leaf, Name):
                own = leaf.id in propositions
                found.update(dict.fromkeys((leaf.id,) if own else of_name[leaf.id]))
            else:
                try:
                    found.update((name, None) for name, _ in group_states(scope, leaf))
                except LogicError as error:
                    raise at(error, place) from None
            check_variable_count(found, place)
        return tuple(found)

    for name, expression in definitions.items():
        of_name[name] = met_in(expression, ("expressions", name))
    met = (met_in(expression, place) for place, expression in expressions.items())
    return tuple(dict.fromkeys(name for names in met for name in names))


def _leaves(expression: Expression) -> Iterable[Name | Group]:
    """Yield names and groups from left to right."""
    match expression:
        case Name():
            yield expression
        case Quantified(group=group) | Counted(group=group):
            yield group
        case Not(operand=operand):
            yield from _leaves(operand)
        case And(operands=operands) | Or(operands=operands):
            for row in operands:
                yield from _leaves(row)
        case _:
            return


def class_places(scope: Scope) -> dict[Place, str]:
    """Give the condition of every class by its place, but that of a last ``otherwise``."""
    prefix = ("behaviors", scope.behavior or "", "classes")
    if not scope.classes:
        raise fault("a behavior must have at least one completion class, got none.", where=prefix)
    conditions: dict[Place, str] = {(*prefix, row.name): row.when for row in scope.classes}
    if len(conditions) < len(scope.classes):
        raise fault("classes must have different names.", where=prefix)
    if scope.classes[-1].when.strip() == OTHERWISE:
        del conditions[*prefix, scope.classes[-1].name]
    return conditions
