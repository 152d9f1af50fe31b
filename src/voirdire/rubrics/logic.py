"""Checks the expressions and classes of a rubric, and compiles them to diagrams and products.

A diagram is reduced and ordered [2]_, with many leaves [3]_: it asks for one proposition after
another, in a fixed order, and ends in a leaf: false or true for an expression, a class for a
behavior. Equal parts exist once, so two expressions that mean the same are one node.

Names lead to propositions and to named expressions, groups to the demands of a behavior. Under the
exact rule an expression, or all classes of a behavior, become one decision diagram. Under the
product rule of [1]_ a class is a conjunction, and its probability the product of its parts.

References
----------
.. [1] T. Mu et al., "Rule Based Rewards for Language Model Safety", NeurIPS 2024, arXiv:2411.01111.
.. [2] R. E. Bryant, "Graph-Based Algorithms for Boolean Function Manipulation", IEEE Transactions
   on Computers C-35(8), 1986.
.. [3] M. Fujita, P. C. McGeer and J. C.-Y. Yang, "Multi-Terminal Binary Decision Diagrams", Formal
   Methods in System Design 10, 1997.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache, partial
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from operator import eq, ge, gt, le, lt, ne
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from voirdire._messages import shorten
from voirdire.documents import did_you_mean
from voirdire.errors import LogicError
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
    from voirdire.rubrics.expressions import Expression
    from voirdire.rubrics.rubric import Demand, Rubric

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

_COMPARISONS: dict[str, Callable[[int, int], bool]] = dict(
    zip((">=", ">", "<=", "<", "==", "!="), (ge, gt, le, lt, eq, ne), strict=True)
)

Place = tuple[str, ...]
"""Where in a rubric an expression stands, such as ``("expressions", "safe_refusal")``."""

Demands: TypeAlias = "Mapping[str, Demand]"
"""The demands of a behavior by proposition; groups stand for them."""

Literals: TypeAlias = tuple[tuple[str, bool], ...]
"""Propositions or named conjunctions, each as true or as false."""

ALWAYS = "true"
"""The name of the literal that is always true; it is a reserved word."""


# Diagrams ----------------------------------------------------------------------------------------

FALSE, TRUE = 0, 1
"""The leaves of an expression. The leaves of a behavior are its classes, counted from 0."""


class BudgetSpentError(Exception):
    """The diagram is too large; the compiler turns this into a `LogicError`."""


class Budget:
    """How many steps are left to make diagrams: hostile expressions have no small one."""

    def __init__(self, n_steps: int) -> None:
        self.left = n_steps

    def spend(self, n_steps: int = 1) -> None:
        """Take steps, or raise `BudgetSpentError`."""
        self.left -= n_steps
        if self.left < 0:
            raise BudgetSpentError


class Diagram:
    """All nodes of some expressions over propositions, which are asked in the order of `names`.

    The ids 0 to ``n_leaves - 1`` are leaves.
    """

    def __init__(self, names: tuple[str, ...], *, n_leaves: int, budget: Budget) -> None:
        self.names = names
        self.number = {name: k for k, name in enumerate(names)}
        self.n_leaves = n_leaves
        self.budget = budget
        # Leaves are asked after everything else.
        self.variable = [len(names)] * n_leaves
        self.low = list(range(n_leaves))
        self.high = list(range(n_leaves))
        self._nodes: dict[tuple[int, int, int], int] = {}
        self._choices: dict[tuple[int, int, int], int] = {}

    def add_node(self, variable: int, low: int, high: int) -> int:
        """Ask `variable`: go to `low` where it is false, to `high` where it is true."""
        if low == high:
            return low
        key = (variable, low, high)
        node = self._nodes.get(key)
        if node is None:
            self.budget.spend()
            node = self._nodes[key] = len(self.variable)
            self.variable.append(variable)
            self.low.append(low)
            self.high.append(high)
        return node

    def choose(self, condition: int, then: int, otherwise: int) -> int:
        """Go on to `then` where `condition` is true and to `otherwise` where it is false."""
        if condition == TRUE or then == otherwise:
            return then
        if condition == FALSE:
            return otherwise
        if then == TRUE and otherwise == FALSE:
            return condition
        key = (condition, then, otherwise)
        node = self._choices.get(key)
        if node is None:
            self.budget.spend()
            top = min(self.variable[row] for row in key)
            low = self.choose(*(self.low[n] if self.variable[n] == top else n for n in key))
            high = self.choose(*(self.high[n] if self.variable[n] == top else n for n in key))
            node = self._choices[key] = self.add_node(top, low, high)
        return node

    def count(self, literals: Iterable[tuple[int, bool]], is_enough: Callable[[int], bool]) -> int:
        """Tell whether `is_enough` holds for the number of literals that are true.

        One node per variable and count so far, so at most n²/2 of them however it is compared.
        """
        last_first = sorted(literals, reverse=True)
        counts = [TRUE if is_enough(count) else FALSE for count in range(len(last_first) + 1)]
        for variable, state in last_first:
            counts = [
                self.add_node(variable, *((miss, hit) if state else (hit, miss)))
                for miss, hit in pairwise(counts)
            ]
        return counts[0]


class Step(NamedTuple):
    """One node: which variable it asks, and where it leads."""

    node: int
    variable: int
    low: int
    high: int


@dataclass(frozen=True, kw_only=True)
class Flow:
    """How to send something from the root of a diagram down to its leaves, for many items at once.

    Probability: a mass of 1 starts at the root. Every node splits what reaches it, p of it to where
    its proposition is true and 1 - p to where it is false, and what arrives at a leaf is its
    probability. That is Shannon's expansion, and exact where propositions are independent. Truth:
    p is 0 or 1, and between them where it is missing; what arrives somewhere can be reached.

    Attributes
    ----------
    variables : tuple of str
        The propositions that the diagram depends on, as `Step.variable` counts them.
    n_leaves : int
        The first nodes are the leaves.
    root : int
        Where to start: the first step, or a leaf where there are none.
    steps : tuple of Step
        The nodes, each after all that lead to it.
    """

    variables: tuple[str, ...]
    n_leaves: int
    root: int
    steps: tuple[Step, ...]

    def find_path(self, leaf: int) -> dict[str, bool] | None:
        """Find the states of fewest propositions that lead to a leaf; None where nothing does."""
        paths: dict[int, dict[str, bool]] = {leaf: {}}
        for step in reversed(self.steps):
            options = [
                {self.variables[step.variable]: state, **paths[child]}
                for state, child in ((False, step.low), (True, step.high))
                if child in paths
            ]
            if options:
                paths[step.node] = min(options, key=len)
        return paths.get(self.root)


def plan_flow(diagram: Diagram, root: int) -> Flow:
    """Put the nodes from `root` on in order, and number the propositions that they ask for."""
    reached, waiting = {root}, [root]
    while waiting:
        node = waiting.pop()
        children = {diagram.low[node], diagram.high[node]} - reached
        reached |= children
        waiting.extend(children)
    inner = (node for node in reached if node >= diagram.n_leaves)
    nodes = sorted(inner, key=lambda node: (diagram.variable[node], node))
    used = sorted({diagram.variable[node] for node in nodes})
    number = {variable: k for k, variable in enumerate(used)}
    return Flow(
        variables=tuple(diagram.names[variable] for variable in used),
        n_leaves=diagram.n_leaves,
        root=root,
        steps=tuple(
            Step(node, number[diagram.variable[node]], diagram.low[node], diagram.high[node])
            for node in nodes
        ),
    )


# Rubrics -----------------------------------------------------------------------------------------


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

    `definitions` are the named expressions that they need, each after all that it needs itself;
    `variables` the propositions, in the order in which they are asked.
    """

    by_place: Mapping[Place, Expression]
    definitions: Mapping[str, Expression]
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
        self._define = cache(
            lambda name: self._parse(rubric.expressions[name], ("expressions", name))
        )
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
        place = ("expression",)
        conditions = self._read_condition(text, place, behavior)
        budget = Budget(MAX_STEPS)
        return _make_flow(conditions, (TRUE, FALSE), n_leaves=2, place=place, budget=budget)

    def find_errors(
        self, extra_conditions: Mapping[str, str] = MappingProxyType({})
    ) -> Iterator[LogicError]:
        """Find what is wrong in each expression, or else in each behavior.

        `extra_conditions` are those by which behaviors widen a default class: they are parsed apart
        from it, so that columns are those of the file.
        """
        named, behaviors, budget = (
            self._rubric.expressions,
            self._rubric.behaviors,
            Budget(MAX_STEPS),
        )
        # An expression with groups means something under each behavior, and nothing without one.
        demands = behaviors[0].demands if behaviors else {}

        def check_definitions() -> None:
            self._bind({("expressions", name): self._define(name) for name in named}, demands)

        def check_classes(behavior: str) -> None:
            flow = self.compile_classes(behavior, budget=budget)
            if self._rubric.class_rule == "product":
                self.plan_products(behavior)
            else:
                check_exhaustive(behavior, flow)

        stages: list[list[Callable[[], object]]] = [
            [partial(self._define, name) for name in named],
            [check_definitions],
            [
                partial(self._read_condition, text, ("behaviors", name, "unacceptable_when"), name)
                for name, text in extra_conditions.items()
            ],
            [partial(check_classes, row.id) for row in behaviors],
        ]
        for checks in stages:
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

    def _read_classes(self, behavior: str) -> _Conditions:
        """Read the condition of every class, but that of a last ``otherwise``."""
        row = self._rubric.behavior(behavior)
        place = ("behaviors", behavior, "classes")
        if not row.classes:
            rule = "a behavior must have at least one completion class, got none."
            raise logic_error(rule, where=place)
        texts = {(*place, each.name): each.when for each in row.classes}
        if len(texts) < len(row.classes):
            raise logic_error("classes must have different names.", where=place)
        if row.classes[-1].when.strip() == OTHERWISE:
            texts.popitem()
        return self._bind({at: self._parse(text, at) for at, text in texts.items()}, row.demands)

    def _read_condition(self, text: str, place: Place, behavior: str | None) -> _Conditions:
        demands = None if behavior is None else self._rubric.behavior(behavior).demands
        return self._bind({place: self._parse(text, place)}, demands)

    def _parse(self, text: str, place: Place) -> Expression:
        """Parse an expression, of which every name is a proposition or a named expression."""
        try:
            expression = parse_expression(text)
        except LogicError as error:
            raise place_error(error, place) from None
        for leaf in list_leaves(expression):
            if not isinstance(leaf, Name) or leaf.id in self._rubric.expressions:
                continue
            kind = self._kinds.get(leaf.id)
            rule = f"`{leaf.id}` is a {kind} question; expressions are over boolean ones."
            if kind is None:
                names = (*self._rubric.propositions, *self._rubric.expressions)
                shown = f"{shorten(leaf.id, width=40)!r}.{did_you_mean(leaf.id, names)}"
                rule = f"expected a proposition or a named expression, got {shown}"
            if kind != "boolean":
                raise logic_error(rule, where=place, column=leaf.column)
        return expression

    def _bind(self, by_place: Mapping[Place, Expression], demands: Demands | None) -> _Conditions:
        """Follow names to their definitions, and groups to their propositions.

        Propositions are asked in the order of the text, each name replaced by its definition: so
        the parts of a condition stay together. Members of a count come last in their expression,
        since a proposition between them is asked for each count so far.
        """
        definitions = {name: self._define(name) for name in self._sort_definitions(by_place)}
        expressions: dict[Place, Expression] = {
            ("expressions", name): row for name, row in definitions.items()
        }
        groups: dict[GroupTest, Literals] = {}
        variables_of: dict[str, dict[str, None]] = {}
        total: dict[str, None] = {}
        for place, expression in {**expressions, **by_place}.items():
            variables: dict[str, None] = {}
            for leaf in sorted(
                list_leaves(expression), key=lambda leaf: getattr(leaf, "number", None) is not None
            ):
                if isinstance(leaf, GroupTest):
                    groups[leaf] = _list_members(leaf, demands, place)
                    variables.update(dict.fromkeys(name for name, _ in groups[leaf]))
                else:
                    variables.update(variables_of.get(leaf.id, {leaf.id: None}))
            if place[0] == "expressions":
                variables_of[place[1]] = variables
            else:
                total.update(variables)
            n_variables = max(len(variables), len(total))
            if n_variables > MAX_VARIABLES:
                rule = (
                    f"at most {MAX_VARIABLES} propositions may be depended on, got {n_variables}."
                )
                raise logic_error(rule, where=place)
        return _Conditions(
            by_place=by_place, definitions=definitions, groups=groups, variables=tuple(total)
        )

    def _sort_definitions(self, by_place: Mapping[Place, Expression]) -> Iterable[str]:
        """List the named expressions that some need; each comes after all that it needs."""

        def list_needs(expression: Expression) -> list[str]:
            names = [leaf.id for leaf in list_leaves(expression) if isinstance(leaf, Name)]
            return [name for name in names if self._kinds.get(name) != "boolean"]

        # Without recursion: a hostile chain of names may be thousands long.
        waiting = [name for expression in by_place.values() for name in list_needs(expression)]
        needs: dict[str, list[str]] = {}
        while waiting:
            name = waiting.pop()
            if name not in needs:
                needs[name] = list_needs(self._define(name))
                waiting.extend(needs[name])
        try:
            return tuple(TopologicalSorter(needs).static_order())
        except CycleError as error:
            cycle: list[str] = error.args[1][:0:-1]
        # The error begins with the name that is first in the file.
        rank = {name: k for k, name in enumerate(self._rubric.expressions)}
        start = cycle.index(min(cycle, key=rank.__getitem__))
        loop = [*cycle[start:], *cycle[: start + 1]]
        shown = loop if len(loop) <= 8 else [*loop[:4], "…", *loop[-3:]]
        rule = f"a named expression must not lead back to itself, got {' → '.join(shown)}."
        raise logic_error(shorten(rule, width=400), where=("expressions", loop[0]))


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
    states = flow.find_path(flow.n_leaves - 1)
    if states is None:
        return
    shown = [f"{name} is {'true' if state else 'false'}" for name, state in states.items()]
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


def _make_flow(
    conditions: _Conditions, ends: Sequence[int], *, n_leaves: int, place: Place, budget: Budget
) -> Flow:
    """Make one diagram of all conditions; it may not become too large.

    It ends in the first of `ends` where the first condition holds, and so on; in the last of them
    where none holds.
    """
    diagram = Diagram(conditions.variables, n_leaves=n_leaves, budget=budget)
    try:
        nodes: dict[str, int] = {}
        for name, expression in conditions.definitions.items():
            nodes[name] = _add(expression, diagram, conditions.groups, nodes)
        expressions = conditions.by_place.values()
        roots = [_add(row, diagram, conditions.groups, nodes) for row in expressions]
        root = ends[-1]
        for condition, leaf in reversed(list(zip(roots, ends[:-1], strict=True))):
            root = diagram.choose(condition, leaf, root)
        flow = plan_flow(diagram, root)
        if len(flow.steps) <= MAX_NODES:
            return flow
    except BudgetSpentError:
        pass
    rule = f"this logic needs a decision diagram of more than {MAX_NODES:,} nodes, or too much"
    raise logic_error(f"{rule} work to make one. Make its conditions simpler.", where=place)


def _add(
    expression: Expression,
    diagram: Diagram,
    groups: Mapping[GroupTest, Literals],
    definitions: Mapping[str, int],
) -> int:
    """Add an expression to a diagram; `definitions` are the nodes of those it names."""
    diagram.budget.spend()
    match expression:
        case Constant(value=value):
            return TRUE if value else FALSE
        case Name(id=name) if name in definitions:
            return definitions[name]
        case Name(id=name):
            return diagram.add_node(diagram.number[name], FALSE, TRUE)
        case Not(operand=operand):
            return diagram.choose(_add(operand, diagram, groups, definitions), FALSE, TRUE)
        case Connective(word=word, operands=operands):
            node = TRUE if word == "and" else FALSE
            for part in [_add(row, diagram, groups, definitions) for row in operands][::-1]:
                both = (node, FALSE) if word == "and" else (TRUE, node)
                node = diagram.choose(part, *both)
            return node
        case GroupTest(test=test, number=number):
            literals = [(diagram.number[name], state) for name, state in groups[expression]]
            least = {"any": 1, "all": len(literals)}.get(test, number or 0)
            compare: Callable[[int, int], bool] = _COMPARISONS.get(test, ge)
            return diagram.count(literals, lambda n_true: compare(n_true, least))


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
