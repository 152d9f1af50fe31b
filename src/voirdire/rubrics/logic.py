"""Checks the expressions and classes of a rubric, and compiles them to diagrams and products.

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
from functools import cache, lru_cache, partial, reduce
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from voirdire._messages import shorten
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
    list_leaves,
    logic_error,
    parse_expression,
    place_error,
    render_expression,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from voirdire._types import RubricKind
    from voirdire.rubrics.diagram import Flow
    from voirdire.rubrics.expressions import Expression
    from voirdire.rubrics.rubric import Demand, Rubric

__all__ = [
    "ALWAYS",
    "Literals",
    "ProductPlan",
    "RubricLogic",
    "check_exhaustive",
    "check_logic",
    "find_key_errors",
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

_OPERATORS: dict[str, Callable[[int, int], bool]] = {
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
"""The demands of a behavior by proposition; groups stand for them."""

Literals: TypeAlias = tuple[tuple[str, bool], ...]
"""Propositions or named conjunctions, each as true or as false."""

ALWAYS = "true"
"""The name of the literal that is always true; it is a reserved word."""


@dataclass(frozen=True, kw_only=True)
class ProductPlan:
    """The factors of each class: the probabilities that its literals are as they say.

    A named conjunction is the product of its parts, and its negation is one minus that, whatever
    else stands in the class: parts that share propositions are multiplied as if they did not.

    Attributes
    ----------
    variables : tuple of str
        The propositions.
    products : mapping of str to tuple of literals
        Named conjunctions; each uses those before it only.
    classes : tuple of tuple of literals
        In the order of the rubric.
    """

    variables: tuple[str, ...]
    products: Mapping[str, Literals]
    classes: tuple[Literals, ...]


@dataclass(frozen=True, kw_only=True)
class _Conditions:
    """Conditions by their place, and what their names and groups stand for.

    `definitions` are the named expressions that they need, each after all that it needs itself, of
    so many characters; `variables` the propositions, in the order in which they are asked.
    """

    by_place: Mapping[Place, Expression]
    definitions: Mapping[str, Expression]
    n_characters: int
    groups: Mapping[GroupTest, Literals]
    variables: tuple[str, ...]


class RubricLogic:
    """Compiles the expressions and classes of a rubric; each is parsed, checked and compiled once.

    The path of an expression: text, `Expression`, `_Conditions` under the demands of a behavior,
    and then a `Flow` (exact rule) or a `ProductPlan`.
    """

    def __init__(self, rubric: Rubric) -> None:
        self._rubric = rubric
        self._kinds = {row.id: row.kind for row in rubric.questions}
        self._flows: dict[str, Flow] = {}
        self._define = cache(self._read_definition)
        self._bind_classes = cache(self._read_classes)
        self.plan_products = cache(self._plan_products)
        self.compile_expression = lru_cache(_MOST_FLOWS)(self._compile_expression)

    def compile_classes(self, behavior: str, *, budget: Budget | None = None) -> Flow:
        """Make one diagram of the classes of a behavior.

        The leaves are the classes in order of precedence, and one more for "none of them".
        """
        if behavior not in self._flows:
            conditions = self._bind_classes(behavior)
            self._flows[behavior] = _make_flow(
                conditions,
                range(len(conditions.by_place) + 1),
                n_leaves=len(self._rubric.behavior(behavior).classes) + 1,
                place=("behaviors", behavior, "classes"),
                budget=budget or Budget(MAX_STEPS),
            )
        return self._flows[behavior]

    def _plan_products(self, behavior: str) -> ProductPlan:
        """Write the classes of a behavior as products; a `LogicError` where one is no product."""
        conditions = self._bind_classes(behavior)
        names = [row.name for row in self._rubric.behavior(behavior).classes]
        if len(conditions.by_place) < len(names):
            place = ("behaviors", behavior, "classes", names[-1])
            raise _conjunction_error(OTHERWISE, place)

        def literals(expression: Expression, place: Place) -> Literals:
            return tuple(_list_literals(expression, conditions.groups, place, state=True))

        return ProductPlan(
            variables=conditions.variables,
            products={
                name: literals(expression, ("expressions", name))
                for name, expression in conditions.definitions.items()
            },
            classes=tuple(literals(each, place) for place, each in conditions.by_place.items()),
        )

    def _compile_expression(self, text: str, behavior: str | None) -> Flow:
        """Make a diagram of one expression."""
        demands = None if behavior is None else self._rubric.behavior(behavior).demands
        place = ("expression",)
        conditions = self._bind({place: self._parse(text, place)}, demands)
        budget = Budget(MAX_STEPS)
        return _make_flow(conditions, (TRUE, FALSE), n_leaves=2, place=place, budget=budget)

    def find_errors(
        self, extra_conditions: Mapping[str, str] = MappingProxyType({})
    ) -> Iterator[LogicError]:
        """Find what is wrong in each expression, or else in each behavior.

        `extra_conditions` are those by which behaviors widen a default class: their errors have a
        place of their own.
        """
        budget = Budget(MAX_STEPS)
        for checks in self._list_checks(extra_conditions, budget):
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
                return  # the next checks would only say the same again

    def _list_checks(
        self, extra_conditions: Mapping[str, str], budget: Budget
    ) -> Iterator[list[Callable[[], object]]]:
        """Yield checks that do not depend on each other; the next need those before them."""
        behaviors, named = self._rubric.behaviors, self._rubric.expressions
        yield [partial(self._define, name) for name in named]
        # An expression with groups means something under each behavior, and nothing without one.
        demands = behaviors[0].demands if behaviors else {}
        definitions: dict[Place, Expression] = {
            ("expressions", name): self._define(name) for name in named
        }
        yield [partial(self._bind, definitions, demands)]
        yield [
            partial(self._check_extra_condition, name, text)
            for name, text in extra_conditions.items()
        ]
        yield [partial(self._check_classes, row.id, budget) for row in behaviors]

    def _check_extra_condition(self, behavior: str, text: str) -> None:
        # It is parsed apart from its class, so that columns are those of the file.
        place = ("behaviors", behavior, "unacceptable_when")
        self._bind({place: self._parse(text, place)}, self._rubric.behavior(behavior).demands)

    def _check_classes(self, behavior: str, budget: Budget) -> None:
        flow = self.compile_classes(behavior, budget=budget)
        if self._rubric.class_rule == "product":
            self.plan_products(behavior)
        else:
            check_exhaustive(behavior, flow)

    def _read_classes(self, behavior: str) -> _Conditions:
        """Read the condition of every class, but that of a last ``otherwise``."""
        row = self._rubric.behavior(behavior)
        place = ("behaviors", behavior, "classes")
        if not row.classes:
            raise logic_error(
                "a behavior must have at least one completion class, got none.", where=place
            )
        texts = {(*place, each.name): each.when for each in row.classes}
        if len(texts) < len(row.classes):
            raise logic_error("classes must have different names.", where=place)
        if row.classes[-1].when.strip() == OTHERWISE:
            texts.popitem()
        return self._bind({at: self._parse(text, at) for at, text in texts.items()}, row.demands)

    def _read_definition(self, name: str) -> Expression:
        return self._parse(self._rubric.expressions[name], ("expressions", name))

    def _parse(self, text: str, place: Place) -> Expression:
        """Parse an expression, of which every name is a proposition or a named expression."""
        try:
            expression = parse_expression(text)
        except LogicError as error:
            raise place_error(error, place) from None
        for leaf in list_leaves(expression):
            if isinstance(leaf, Name) and not (
                self._is_proposition(leaf) or leaf.id in self._rubric.expressions
            ):
                raise logic_error(self._name_rule(leaf.id), where=place, column=leaf.column)
        return expression

    def _is_proposition(self, leaf: Name) -> bool:
        return self._kinds.get(leaf.id) == "boolean"

    def _name_rule(self, name: str) -> str:
        kind = self._kinds.get(name)
        if kind is not None:
            return f"`{name}` is a {kind} question; expressions are over boolean ones."
        hint = did_you_mean(name, (*self._rubric.propositions, *self._rubric.expressions))
        shown = repr(shorten(name, width=40))
        return f"expected a proposition or a named expression, got {shown}.{hint}"

    def _bind(self, by_place: Mapping[Place, Expression], demands: Demands | None) -> _Conditions:
        """Follow names to their definitions, and groups to their propositions.

        Propositions are asked in the order of the text, each name replaced by its definition: so
        the parts of a condition stay together. Members of a count come last in their expression,
        since a proposition between them is asked for each count so far.
        """
        definitions = self._collect_definitions(by_place.values())
        groups: dict[GroupTest, Literals] = {}
        variables_of: dict[str, Iterable[str]] = {}

        def list_variables(expression: Expression, place: Place) -> dict[str, None]:
            variables: dict[str, None] = {}
            for leaf in sorted(list_leaves(expression), key=_is_count):
                if isinstance(leaf, GroupTest):
                    groups[leaf] = _list_members(leaf, demands, place)
                    variables.update((name, None) for name, _ in groups[leaf])
                else:
                    variables.update(dict.fromkeys(variables_of.get(leaf.id, (leaf.id,))))
                _check_variable_count(len(variables), place)
            return variables

        for name, expression in definitions.items():
            variables_of[name] = list_variables(expression, ("expressions", name))
        rows = [list_variables(expression, place) for place, expression in by_place.items()]
        return _Conditions(
            by_place=by_place,
            definitions=definitions,
            n_characters=sum(len(self._rubric.expressions[name]) for name in definitions),
            groups=groups,
            variables=tuple(dict.fromkeys(name for names in rows for name in names)),
        )

    def _collect_definitions(self, expressions: Iterable[Expression]) -> dict[str, Expression]:
        """Collect the named expressions that some need; each comes after all that it needs."""
        # Without recursion: a hostile chain of names may be thousands long.
        waiting = [name for expression in expressions for name in self._list_needs(expression)]
        needs: dict[str, list[str]] = {}
        while waiting:
            name = waiting.pop()
            if name not in needs:
                needs[name] = self._list_needs(self._define(name))
                waiting.extend(needs[name])
        try:
            order = tuple(TopologicalSorter(needs).static_order())
        except CycleError as error:
            raise self._cycle_error(error.args[1][:0:-1]) from None
        return {name: self._define(name) for name in order}

    def _list_needs(self, expression: Expression) -> list[str]:
        names = (leaf for leaf in list_leaves(expression) if isinstance(leaf, Name))
        return [leaf.id for leaf in names if not self._is_proposition(leaf)]

    def _cycle_error(self, cycle: list[str]) -> LogicError:
        """Word the error about names in a cycle, from that which is first in the file."""
        rank = {name: k for k, name in enumerate(self._rubric.expressions)}
        first = min(cycle, key=rank.__getitem__)
        start = cycle.index(first)
        loop = [*cycle[start:], *cycle[: start + 1]]
        shown = loop if len(loop) <= 8 else [*loop[:4], "…", *loop[-3:]]
        rule = f"a named expression must not lead back to itself, got {' → '.join(shown)}."
        return logic_error(shorten(rule, width=400), where=("expressions", first))


def check_logic(rubric: Rubric) -> None:
    """Check the named expressions, the demands and the completion classes of a rubric.

    Parameters
    ----------
    rubric : Rubric
        From a file, or made in memory.

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
    demands = {row.id: row.demands for row in rubric.behaviors}
    kinds = {row.id: row.kind for row in rubric.questions}
    for where, rule in find_key_errors(kinds, expressions=rubric.expressions, demands=demands):
        raise logic_error(rule, where=where)
    for error in rubric.logic.find_errors():
        raise error


def find_key_errors(
    kinds: Mapping[str, RubricKind | None],
    *,
    expressions: Iterable[str],
    demands: Mapping[str, Iterable[str]],
) -> Iterator[tuple[Place, str]]:
    """Find named expressions and demands, by behavior, under keys that mean something else.

    A question of kind None may be a proposition. Each is given with its place and its rule.
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


def check_exhaustive(behavior: str, flow: Flow) -> None:
    """Check that in every case a class holds; the error has a case in which none does."""
    if not flow.has_leaf(flow.n_leaves - 1):
        return
    states = flow.find_path(flow.n_leaves - 1).items()
    shown = [f"{name} is {'true' if state else 'false'}" for name, state in states]
    case = ", ".join(shown[:12]) + (", …" if len(shown) > 12 else "")
    got = f"none that holds where {case}" if case else "none that ever holds"
    raise logic_error(
        f"classes must cover every case, got {got}. Give the last class the condition `otherwise`.",
        where=("behaviors", behavior, "classes"),
    )


def _list_members(test: GroupTest, demands: Demands | None, place: Place) -> Literals:
    """List the members of a group, each in the state that makes it count.

    A bare positive group is about demands that are met, a bare negative one about what it names
    having happened, and ``allowed`` about propositions that are true.
    """
    if demands is None:
        rule = f"group `{test.word}` needs a behavior, whose demands it stands for."
        raise logic_error(f"{rule} Give `behavior`.", where=place, column=test.column)
    is_met = (test.state or ("met" if test.word in _POSITIVE else "unmet")) == "met"
    return tuple(
        (name, True if demand.demanded is None else demand.demanded == is_met)
        for name, demand in demands.items()
        if (demand.core if test.word == "core" else demand.word == test.word)
    )


def _is_count(leaf: Name | GroupTest) -> bool:
    return isinstance(leaf, GroupTest) and leaf.number is not None


def _check_variable_count(n_variables: int, place: Place) -> None:
    if n_variables > MAX_VARIABLES:
        rule = f"at most {MAX_VARIABLES} propositions may be depended on, got {n_variables}."
        raise logic_error(rule, where=place)


def _make_flow(
    conditions: _Conditions, ends: Sequence[int], *, n_leaves: int, place: Place, budget: Budget
) -> Flow:
    """Make one diagram of all conditions; it may not become too large.

    It ends in the first of `ends` where the first condition holds, and so on; in the last of them
    where none holds.
    """
    _check_variable_count(len(conditions.variables), place)
    # Parsing took about a step per character.
    budget.left -= conditions.n_characters
    diagram = Diagram(conditions.variables, n_leaves=n_leaves, budget=budget)
    try:
        flow = plan_flow(diagram, _add_conditions(diagram, conditions, ends))
        if len(flow.steps) <= MAX_NODES:
            return flow
    except BudgetSpentError:
        pass
    rule = f"this logic needs a decision diagram of more than {MAX_NODES:,} nodes, or too much"
    raise logic_error(f"{rule} work to make one. Make its conditions simpler.", where=place)


def _add_conditions(diagram: Diagram, conditions: _Conditions, ends: Sequence[int]) -> int:
    number = {name: k for k, name in enumerate(diagram.names)}
    nodes_of: dict[str, int] = {}

    def add(expression: Expression) -> int:
        diagram.budget.spend()
        match expression:
            case Constant(value=value):
                return TRUE if value else FALSE
            case Name(id=name):
                is_named = name in nodes_of
                return nodes_of[name] if is_named else diagram.add_node(number[name], FALSE, TRUE)
            case Not(operand=operand):
                return diagram.choose(add(operand), FALSE, TRUE)
            case Connective(word=word, operands=operands):
                nodes = [add(row) for row in operands][::-1]
                if word == "and":
                    return reduce(lambda rest, node: diagram.choose(node, rest, FALSE), nodes, TRUE)
                return reduce(lambda rest, node: diagram.choose(node, TRUE, rest), nodes, FALSE)
            case GroupTest():
                members = conditions.groups[expression]
                literals = [(number[name], state) for name, state in members]
                return diagram.count(literals, partial(_is_met, expression, len(members)))

    for name, expression in conditions.definitions.items():
        nodes_of[name] = add(expression)
    roots = [add(row) for row in conditions.by_place.values()]
    root = ends[-1]
    for condition, leaf in reversed(list(zip(roots, ends[:-1], strict=True))):
        root = diagram.choose(condition, leaf, root)
    return root


def _is_met(test: GroupTest, size: int, count: int) -> bool:
    """Tell whether so many members of a group of that size are enough."""
    if test.number is None:
        return count >= (1 if test.test == "any" else size)
    return _OPERATORS[test.test](count, test.number)


def _list_literals(
    expression: Expression,
    groups: Mapping[GroupTest, Literals],
    place: Place,
    *,
    state: bool,
) -> Iterator[tuple[str, bool]]:
    """List the literals of a conjunction, the whole in a state; a `LogicError` if it is none."""
    match expression:
        case Constant(value=value):
            yield ALWAYS, value == state
            return
        case Name(id=name):
            yield name, state
            return
        case Not(operand=operand):
            yield from _list_literals(operand, groups, place, state=not state)
            return
        case Connective(word=word, operands=operands) if (word == "and") == state:
            for row in operands:
                yield from _list_literals(row, groups, place, state=state)
            return
        case GroupTest(number=None, test=test):
            members = groups[expression]
            is_conjunction = (test == "all") == state
            if not members:
                yield ALWAYS, is_conjunction
            if len(members) <= 1 or is_conjunction:
                yield from ((name, each == state) for name, each in members)
                return
    whole = expression if state else Not(operand=expression)
    raise _conjunction_error(render_expression(whole), place)


def _conjunction_error(shown: str, place: Place) -> LogicError:
    hint = "Name a conjunction under `expressions` to negate it, or use `class_rule: exact`."
    return logic_error(
        f"under the product rule a class, and what it names, must be a conjunction, got "
        f"`{shorten(shown)}`. {hint}",
        where=place,
    )
