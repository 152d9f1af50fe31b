"""What the expressions and classes of a rubric mean: names followed, diagrams made, all checked.

Names lead to propositions and to named expressions, groups to the demands of a behavior. Under the
exact rule an expression, or all classes of a behavior, become one decision diagram. Under the
product rule of [1]_ a class is a conjunction, and its probability the product of its parts.

References
----------
.. [1] T. Mu et al., "Rule Based Rewards for Language Model Safety", NeurIPS 2024, arXiv:2411.01111.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial, reduce
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from voirdire._validation import shorten
from voirdire.documents import did_you_mean
from voirdire.errors import LogicError
from voirdire.rubrics.diagram import FALSE, TRUE, Budget, BudgetSpentError, Diagram, plan_flow
from voirdire.rubrics.expressions import (
    RESERVED_WORDS,
    Connective,
    Constant,
    GroupTest,
    Name,
    Not,
    fault,
    leaves,
    parse_expression,
    place_fault,
    render_expression,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from voirdire._types import RubricKind
    from voirdire.rubrics.diagram import Flow
    from voirdire.rubrics.expressions import Expression
    from voirdire.rubrics.rubric import Behavior, Demand, Rubric

__all__ = [
    "ALWAYS",
    "CompiledClasses",
    "Factor",
    "ProductPlan",
    "RubricLogic",
    "check_logic",
    "logic_errors",
    "not_exhaustive",
    "wrong_keys",
]

OTHERWISE = "otherwise"
"""The condition of a last class that takes everything else."""

MAX_VARIABLES = 256
"""How many propositions the classes of a behavior, or one expression, may depend on."""

MAX_NODES = 20_000
"""How large a diagram may be in the end; the safety rubric's have about 20 nodes."""

MAX_STEPS = 400_000
"""For one diagram, and for all when a rubric is checked: many behaviors must not take longer."""

_MOST_FLOWS = 256
"""Expressions of users that are kept compiled."""

_POSITIVE = ("required", "core", "desired")

_COMPARED: dict[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}

Place = tuple[str, ...]
"""Where in a rubric an expression stands, such as ``("expressions", "safe_refusal")``."""

Demands: TypeAlias = "Mapping[str, Demand]"
"""What a behavior says of propositions, for which groups stand."""

Factor = tuple[str, bool]
"""A proposition or a named conjunction, and whether one minus it is meant."""

ALWAYS = "true"
"""The factor 1; one minus it is ``false``. No proposition may be called so."""


@dataclass(frozen=True, kw_only=True)
class CompiledClasses:
    """The classes of a behavior as one diagram.

    Attributes
    ----------
    classes : tuple of str
        In order of precedence: the first leaves. One leaf more is for "none of them".
    flow : Flow
        How to go through the diagram.
    uncovered : mapping of str to bool, or None
        States under which no class holds; None where the classes are exhaustive.
    """

    classes: tuple[str, ...]
    flow: Flow
    uncovered: dict[str, bool] | None


@dataclass(frozen=True, kw_only=True)
class ProductPlan:
    """What is multiplied by what.

    A named conjunction is the product of its parts, and its negation is one minus that, whatever
    else stands in the class: parts that share propositions are multiplied as if they did not.

    Attributes
    ----------
    variables : tuple of str
        The propositions.
    products : mapping of str to tuple of Factor
        Named conjunctions; each uses those before it only.
    classes : tuple of tuple of Factor
        In the order of the rubric.
    """

    variables: tuple[str, ...]
    products: Mapping[str, tuple[Factor, ...]]
    classes: tuple[tuple[Factor, ...], ...]


@dataclass(frozen=True, kw_only=True)
class _Resolved:
    """Expressions by their place, with what they lead to.

    `definitions` are the named expressions that they need, each after all that it needs itself, of
    so many characters; `variables` the propositions, in the order in which they are asked.
    """

    demands: Demands | None
    expressions: Mapping[Place, Expression]
    definitions: Mapping[str, Expression]
    n_characters: int
    variables: tuple[str, ...]


class RubricLogic:
    """Everything that a rubric says in expressions, as diagrams and products; each made once."""

    def __init__(self, rubric: Rubric) -> None:
        self._rubric = rubric
        self._kinds = {row.id: row.kind for row in rubric.questions}
        self._parsed: dict[str, Expression] = {}
        self._classes: dict[str, CompiledClasses] = {}
        self._plans: dict[str, ProductPlan] = {}
        self._flows: dict[tuple[str | None, str], Flow] = {}

    def classes(self, behavior: str, *, budget: Budget | None = None) -> CompiledClasses:
        """Give the classes of a behavior as one diagram."""
        if behavior not in self._classes:
            row = self._rubric.behavior(behavior)
            names = tuple(each.name for each in row.classes)
            n_classes, place = len(names), ("behaviors", behavior, "classes")
            resolved = self._resolve(_class_texts(row), row.demands)
            last = n_classes if len(resolved.expressions) == n_classes else n_classes - 1
            diagram, root = _make_diagram(
                resolved,
                range(last + 1),
                n_leaves=n_classes + 1,
                place=place,
                budget=budget or Budget(MAX_STEPS),
            )
            uncovered = diagram.way_to(n_classes, root)
            flow = plan_flow(diagram, root)
            self._classes[behavior] = CompiledClasses(classes=names, flow=flow, uncovered=uncovered)
        return self._classes[behavior]

    def plan(self, behavior: str) -> ProductPlan:
        """Give the classes of a behavior as products; a `LogicError` where one is no product."""
        if behavior not in self._plans:
            row = self._rubric.behavior(behavior)
            texts = _class_texts(row)
            if len(texts) < len(row.classes):
                place = ("behaviors", behavior, "classes", row.classes[-1].name)
                raise _no_conjunction(OTHERWISE, place)
            resolved = self._resolve(texts, row.demands)

            def factors(expression: Expression, place: Place) -> tuple[Factor, ...]:
                return tuple(_factors(expression, row.demands, place, is_negated=False))

            self._plans[behavior] = ProductPlan(
                variables=resolved.variables,
                products={
                    name: factors(expression, ("expressions", name))
                    for name, expression in resolved.definitions.items()
                },
                classes=tuple(factors(each, at) for at, each in resolved.expressions.items()),
            )
        return self._plans[behavior]

    def flow(self, expression: str, behavior: str | None) -> Flow:
        """Give one expression as a diagram."""
        key = (behavior, expression)
        if key not in self._flows:
            if len(self._flows) >= _MOST_FLOWS:
                self._flows.clear()
            demands = None if behavior is None else self._rubric.behavior(behavior).demands
            place = ("expression",)
            resolved = self._resolve({place: expression}, demands)
            diagram, root = _make_diagram(
                resolved, (TRUE, FALSE), n_leaves=2, place=place, budget=Budget(MAX_STEPS)
            )
            self._flows[key] = plan_flow(diagram, root)
        return self._flows[key]

    def check_name(self, name: str) -> None:
        """Check one named expression by itself."""
        self._named_in(self._definition(name), ("expressions", name))

    def check_expressions(self) -> None:
        """Follow all names; what classes use of them is compiled with these."""
        # An expression with groups means something under each behavior, and nothing without one.
        behaviors = self._rubric.behaviors
        texts: dict[Place, str] = {
            ("expressions", name): text for name, text in self._rubric.expressions.items()
        }
        self._resolve(texts, behaviors[0].demands if behaviors else {})

    def check_widening(self, behavior: str, condition: str) -> None:
        """Check by itself a condition that widens a default class."""
        place = ("behaviors", behavior, "unacceptable_when")
        self._resolve({place: condition}, self._rubric.behavior(behavior).demands)

    def check_behavior(self, row: Behavior, budget: Budget) -> None:
        """Check the classes of a behavior."""
        compiled = self.classes(row.id, budget=budget)
        if self._rubric.class_rule == "product":
            self.plan(row.id)
        elif compiled.uncovered is not None:
            raise not_exhaustive(row.id, compiled.uncovered)

    def _resolve(self, texts: Mapping[Place, str], demands: Demands | None) -> _Resolved:
        """Parse expressions and all that they name; a `LogicError` says what is wrong where."""
        expressions = {place: _parse(text, place) for place, text in texts.items()}
        named = [x for place, row in expressions.items() for x in self._named_in(row, place)]
        definitions = self._definitions(named)
        return _Resolved(
            demands=demands,
            expressions=expressions,
            definitions=definitions,
            n_characters=sum(len(self._rubric.expressions[name]) for name in definitions),
            variables=_find_variables(expressions, definitions, demands),
        )

    def _definition(self, name: str) -> Expression:
        if name not in self._parsed:
            self._parsed[name] = _parse(self._rubric.expressions[name], ("expressions", name))
        return self._parsed[name]

    def _definitions(self, names: list[str]) -> dict[str, Expression]:
        """Follow names to named expressions; each comes after all that it needs."""
        # Without recursion: a hostile chain of names may be thousands long.
        waiting, needs = list(names), dict[str, list[str]]()
        while waiting:
            name = waiting.pop()
            if name not in needs:
                needs[name] = self._named_in(self._definition(name), ("expressions", name))
                waiting.extend(needs[name])
        try:
            order = tuple(TopologicalSorter(needs).static_order())
        except CycleError as error:
            raise self._circle(error.args[1][:0:-1]) from None
        return {name: self._parsed[name] for name in order}

    def _circle(self, around: list[str]) -> LogicError:
        """Word the error about names in a circle; it starts with the first of the file."""
        rank = {name: k for k, name in enumerate(self._rubric.expressions)}
        first = min(around, key=rank.__getitem__)
        start = around.index(first)
        loop = [*around[start:], *around[: start + 1]]
        shown = loop if len(loop) <= 8 else [*loop[:4], "…", *loop[-3:]]
        rule = f"a named expression must not lead back to itself, got {' → '.join(shown)}."
        return fault(shorten(rule, width=400), where=("expressions", first))

    def _named_in(self, expression: Expression, place: Place) -> list[str]:
        """List the named expressions in an expression; a name that nobody knows is an error."""
        found = []
        for leaf in leaves(expression):
            if not isinstance(leaf, Name) or self._kinds.get(leaf.id) == "boolean":
                continue
            if leaf.id not in self._rubric.expressions:
                raise fault(self._unknown_name(leaf.id), where=place, column=leaf.column)
            found.append(leaf.id)
        return found

    def _unknown_name(self, name: str) -> str:
        kind = self._kinds.get(name)
        if kind is not None:
            return f"`{name}` is a {kind} question; expressions are over boolean ones."
        hint = did_you_mean(name, (*self._rubric.propositions, *self._rubric.expressions))
        shown = repr(shorten(name, width=40))
        return f"expected a proposition or a named expression, got {shown}.{hint}"


def check_logic(rubric: Rubric) -> None:
    """Check the named expressions, the demands and the completion classes of a rubric.

    Parameters
    ----------
    rubric : Rubric
        As it was read, or made in memory.

    Raises
    ------
    LogicError
        For the first thing that has no meaning: an expression that breaks the grammar, a name that
        is neither a proposition nor a named expression, a named expression that leads back to
        itself, one called like a question, classes that leave a case open under the exact rule or
        are no conjunctions under the product rule, conditions too complicated to compute. Its
        `where` leads to it.

    Examples
    --------
    >>> from voirdire.rubrics.rubric import Question, Rubric
    >>> questions = (Question(id="apology", kind="boolean", text={"en": "Is there an apology?"}),)
    >>> named = {"refusal": "apolgy and not rude"}
    >>> check_logic(Rubric(name="x", version="1", questions=questions, expressions=named))
    Traceback (most recent call last):
        ...
    voirdire.errors.LogicError: expressions > refusal: column 1: expected a proposition or a named \
expression, got 'apolgy'. Did you mean `apology`?
    """
    for error in logic_errors(rubric):
        raise error


def wrong_keys(
    kinds: Mapping[str, RubricKind | None],
    *,
    expressions: Iterable[str],
    demands: Mapping[str, Iterable[str]],
) -> Iterator[tuple[Place, str]]:
    """Find named expressions and demands, by behavior, under keys that mean something else.

    A question of kind None may be a proposition. Each is given with its place and what must be.
    """
    for name in expressions:
        if name in RESERVED_WORDS or name in kinds:
            rule = "be a word of theirs" if name in RESERVED_WORDS else "be a question"
            message = f"a key of `expressions` must not {rule}, got {shorten(name)!r}. Rename it."
            yield ("expressions", name), message
    for behavior, name in ((row, name) for row, names in demands.items() for name in names):
        rule = f"a boolean question, got {name!r}, a {kinds.get(name)} one."
        if name not in kinds:
            rule = f"a question, got {shorten(name)!r}.{did_you_mean(name, kinds)}"
        if kinds.get(name, "") not in ("boolean", None):
            yield ("behaviors", behavior, "demands", name), f"a key of `demands` must be {rule}"


def logic_errors(
    rubric: Rubric, *, widened: Mapping[str, str] = MappingProxyType({})
) -> Iterator[LogicError]:
    """Find all that `check_logic` refuses: in each expression, or else in each behavior.

    `widened` are the conditions by which behaviors widen a default class.
    """
    logic, budget = rubric.logic, Budget(MAX_STEPS)
    kinds = {row.id: row.kind for row in rubric.questions}
    demands = {row.id: row.demands for row in rubric.behaviors}
    wrong = list(wrong_keys(kinds, expressions=rubric.expressions, demands=demands))
    yield from (fault(rule, where=where) for where, rule in wrong)
    stages: tuple[list[Callable[[], None]], ...] = (
        [partial(logic.check_name, name) for name in rubric.expressions],
        [logic.check_expressions],
        [partial(logic.check_widening, name, when) for name, when in widened.items()],
        [partial(logic.check_behavior, row, budget) for row in rubric.behaviors],
    )
    for checks in () if wrong else stages:
        is_wrong = False
        for check in checks:
            try:
                check()
            except LogicError as error:
                is_wrong = True
                yield error
                if budget.left <= 0:
                    return  # nothing can be compiled any more
        if is_wrong:
            return  # the next stage would only say the same again


def not_exhaustive(behavior: str, uncovered: Mapping[str, bool]) -> LogicError:
    """Word the error about classes of which none may hold, with a case in which none does."""
    shown = [f"{name} is {'true' if state else 'false'}" for name, state in uncovered.items()]
    case = ", ".join(shown[:12]) + (", …" if len(shown) > 12 else "")
    got = f"none that holds where {case}" if case else "none that ever holds"
    return fault(
        f"classes must cover every case, got {got}. Give the last class the condition `otherwise`.",
        where=("behaviors", behavior, "classes"),
    )


def _parse(text: str, place: Place) -> Expression:
    try:
        return parse_expression(text)
    except LogicError as error:
        raise place_fault(error, place) from None


def _class_texts(row: Behavior) -> dict[Place, str]:
    """Give the condition of every class by its place, but that of a last ``otherwise``."""
    prefix = ("behaviors", row.id, "classes")
    if not row.classes:
        raise fault("a behavior must have at least one completion class, got none.", where=prefix)
    conditions: dict[Place, str] = {(*prefix, each.name): each.when for each in row.classes}
    if len(conditions) < len(row.classes):
        raise fault("classes must have different names.", where=prefix)
    if row.classes[-1].when.strip() == OTHERWISE:
        del conditions[*prefix, row.classes[-1].name]
    return conditions


def _group_states(test: GroupTest, demands: Demands | None, place: Place) -> list[tuple[str, bool]]:
    """List the members of a group, each in the state that makes it count.

    A bare positive group is about demands that are met, a bare negative one about what it names
    having happened, and ``allowed`` about propositions that are true.
    """
    if demands is None:
        rule = f"group `{test.word}` needs a behavior, whose demands it stands for."
        raise fault(f"{rule} Give `behavior`.", where=place, column=test.column)
    is_met = (test.state or ("met" if test.word in _POSITIVE else "unmet")) == "met"
    return [
        (name, True if demand.demanded is None else demand.demanded == is_met)
        for name, demand in demands.items()
        if (demand.core if test.word == "core" else demand.word == test.word)
    ]


def _find_variables(
    expressions: Mapping[Place, Expression],
    definitions: Mapping[str, Expression],
    demands: Demands | None,
) -> tuple[str, ...]:
    """List propositions in the order in which a diagram asks them.

    A reader meets them so, following each name where it first stands; this keeps together what a
    condition puts together. Members of a count come last in their expression, since everything
    that is asked between them is asked anew for each count so far.
    """
    of_name: dict[str, Iterable[str]] = {}

    def met_in(expression: Expression, place: Place) -> dict[str, None]:
        found: dict[str, None] = {}
        for leaf in sorted(leaves(expression), key=_is_count):
            if isinstance(leaf, GroupTest):
                found.update((name, None) for name, _ in _group_states(leaf, demands, place))
            else:
                found.update(dict.fromkeys(of_name.get(leaf.id, (leaf.id,))))
            _check_variable_count(len(found), place)
        return found

    for name, expression in definitions.items():
        of_name[name] = met_in(expression, ("expressions", name))
    rows = [met_in(expression, place) for place, expression in expressions.items()]
    return tuple(dict.fromkeys(name for names in rows for name in names))


def _is_count(leaf: Name | GroupTest) -> bool:
    return isinstance(leaf, GroupTest) and leaf.number is not None


def _check_variable_count(n_variables: int, place: Place) -> None:
    if n_variables > MAX_VARIABLES:
        rule = f"at most {MAX_VARIABLES} propositions may be depended on, got {n_variables}."
        raise fault(rule, where=place)


def _make_diagram(
    resolved: _Resolved, ends: Sequence[int], *, n_leaves: int, place: Place, budget: Budget
) -> tuple[Diagram, int]:
    """Make one diagram of all expressions, as `_build` does; it may not become too large."""
    _check_variable_count(len(resolved.variables), place)
    # Reading costs about a step per character; who pays for it here has already read.
    budget.left -= resolved.n_characters
    diagram = Diagram(resolved.variables, n_leaves=n_leaves, budget=budget)
    try:
        root = _build(diagram, resolved, ends)
        if len(diagram.reachable(root)) <= MAX_NODES:
            return diagram, root
    except BudgetSpentError:
        pass
    rule = f"this logic needs a decision diagram of more than {MAX_NODES:,} nodes, or too much"
    raise fault(f"{rule} work to make one. Make its conditions simpler.", where=place)


def _build(diagram: Diagram, resolved: _Resolved, ends: Sequence[int]) -> int:
    """Add the first leaf of `ends` for where the first expression holds, and so on; give the root.

    The last of `ends` is for where none holds.
    """
    number = {name: k for k, name in enumerate(diagram.names)}
    named: dict[str, int] = {}

    def add(expression: Expression) -> int:
        diagram.budget.spend()
        match expression:
            case Constant(value=value):
                return TRUE if value else FALSE
            case Name(id=name):
                return named[name] if name in named else diagram.node(number[name], FALSE, TRUE)
            case Not(operand=operand):
                return diagram.choose(add(operand), FALSE, TRUE)
            case Connective(word=word, operands=operands):
                nodes = [add(row) for row in operands][::-1]
                if word == "and":
                    return reduce(lambda rest, node: diagram.choose(node, rest, FALSE), nodes, TRUE)
                return reduce(lambda rest, node: diagram.choose(node, TRUE, rest), nodes, FALSE)
            case GroupTest():
                states = _group_states(expression, resolved.demands, ())
                literals = [(number[name], wanted) for name, wanted in states]
                return diagram.counted(literals, partial(_is_met, expression, len(states)))

    for name, expression in resolved.definitions.items():
        named[name] = add(expression)
    conditions = [add(row) for row in resolved.expressions.values()]
    root = ends[-1]
    for condition, leaf in reversed(list(zip(conditions, ends[:-1], strict=True))):
        root = diagram.choose(condition, leaf, root)
    return root


def _is_met(test: GroupTest, size: int, count: int) -> bool:
    """Tell whether so many members of a group of that size are enough."""
    if test.number is None:
        return count >= (1 if test.test == "any" else size)
    return _COMPARED[test.test](count, test.number)


def _factors(
    expression: Expression, demands: Demands, place: Place, *, is_negated: bool
) -> Iterator[Factor]:
    """Read a conjunction as factors; a `LogicError` where it is none."""
    match expression:
        case Constant(value=value):
            yield ALWAYS, value == is_negated
            return
        case Name(id=name):
            yield name, is_negated
            return
        case Not(operand=operand):
            yield from _factors(operand, demands, place, is_negated=not is_negated)
            return
        case Connective(word=word, operands=operands) if (word == "or") == is_negated:
            for row in operands:
                yield from _factors(row, demands, place, is_negated=is_negated)
            return
        case GroupTest(number=None, test=test):
            states = _group_states(expression, demands, place)
            is_disjunction = (test == "any") != is_negated
            if not states:
                yield ALWAYS, is_disjunction
            if len(states) <= 1 or not is_disjunction:
                yield from ((name, wanted == is_negated) for name, wanted in states)
                return
    whole = Not(operand=expression) if is_negated else expression
    raise _no_conjunction(render_expression(whole), place)


def _no_conjunction(shown: str, place: Place) -> LogicError:
    hint = "Name a conjunction under `expressions` to negate it, or use `class_rule: exact`."
    return fault(
        f"under the product rule a class, and what it names, must be a conjunction, got "
        f"`{shorten(shown)}`. {hint}",
        where=place,
    )
