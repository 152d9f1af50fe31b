"""Compile expressions and the classes of a behavior into diagrams, once per rubric."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire.rubrics.logic.definitions import (
    check_variable_count,
    class_places,
    group_states,
    resolve,
    scope_of,
)
from voirdire.rubrics.logic.diagram import FALSE, TRUE, Budget, BudgetSpentError, Diagram, plan_flow
from voirdire.rubrics.logic.expressions import (
    And,
    Constant,
    Counted,
    Name,
    Not,
    Or,
    Quantified,
    fault,
)
from voirdire.rubrics.logic.product import product_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from voirdire.errors import LogicError
    from voirdire.rubrics.logic.definitions import Place, Resolved, Scope
    from voirdire.rubrics.logic.diagram import Flow
    from voirdire.rubrics.logic.expressions import Expression
    from voirdire.rubrics.logic.product import ProductPlan
    from voirdire.rubrics.rubric import Rubric

__all__ = [
    "MAX_NODES",
    "MAX_STEPS",
    "CompiledClasses",
    "RubricLogic",
    "compile_classes",
    "compile_expression",
    "not_exhaustive",
]

MAX_NODES = 20_000
"""How large a diagram may be in the end; the safety rubric's have about 20 nodes."""
MAX_STEPS = 200_000

_COMPARED: dict[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}

_PRECEDENCE = ("disallowed", "illogical", "unacceptable", "required", "desired", "undesired")


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


def compile_classes(scope: Scope, budget: Budget) -> CompiledClasses:
    """Compile the classes of the behavior of `scope` into one diagram."""
    resolved = resolve(scope, class_places(scope))
    uncovered_leaf = len(scope.classes)
    has_otherwise = len(resolved.expressions) < len(scope.classes)

    def build(compiler: _Compiler) -> int:
        conditions = [compiler.compile(row) for row in resolved.expressions.values()]
        root = uncovered_leaf - 1 if has_otherwise else uncovered_leaf
        for leaf in reversed(range(len(conditions))):
            root = compiler.diagram.choose(conditions[leaf], leaf, root)
        return root

    place = ("behaviors", scope.behavior or "", "classes")
    compiler, root = _smallest(resolved, build, uncovered_leaf + 1, place=place, budget=budget)
    way = compiler.diagram.way_to(uncovered_leaf, root)
    return CompiledClasses(
        classes=tuple(row.name for row in scope.classes),
        flow=plan_flow(compiler.diagram, root, names=compiler.order),
        uncovered=None if way is None else {compiler.order[k]: way[k] for k in way},
    )


def compile_expression(scope: Scope, text: str, *, place: Place, budget: Budget) -> Flow:
    """Compile one expression; its leaves are false and true."""
    resolved = resolve(scope, {place: text})
    (expression,) = resolved.expressions.values()
    compiler, root = _smallest(
        resolved, lambda compiler: compiler.compile(expression), 2, place=place, budget=budget
    )
    return plan_flow(compiler.diagram, root, names=compiler.order)


def not_exhaustive(scope: Scope, uncovered: Mapping[str, bool]) -> LogicError:
    """Word the error about classes of which none may hold, with a case in which none does."""
    shown = [f"{name} is {'true' if state else 'false'}" for name, state in uncovered.items()]
    case = ", ".join(shown[:12]) + (", …" if len(shown) > 12 else "")
    got = f"none that holds where {case}" if case else "none that ever holds"
    return fault(
        f"classes must cover every case, got {got}. Give the last class the condition `otherwise`.",
        where=("behaviors", scope.behavior or "", "classes"),
    )


def _smallest(
    resolved: Resolved,
    build: Callable[[_Compiler], int],
    n_leaves: int,
    *,
    place: Place,
    budget: Budget,
) -> tuple[_Compiler, int]:
    """Build under each order of the variables that is worth a try; keep the smallest diagram."""
    check_variable_count(resolved.variables, place)
    texts = dict(resolved.scope.expressions)
    # Reading costs about a step per character; who pays for it here has already read.
    budget.left -= sum(len(texts[name]) for name in resolved.definitions)
    best: tuple[int, _Compiler, int] | None = None
    for order in _orders(resolved):
        granted = max(0, min(budget.left, MAX_STEPS))
        share = Budget(granted)
        try:
            compiler = _Compiler(resolved, order, n_leaves, share)
            root = build(compiler)
        except BudgetSpentError:
            continue
        finally:
            budget.left -= granted - max(share.left, 0)
        size = len(compiler.diagram.reachable(root))
        if size <= MAX_NODES and (best is None or size < best[0]):
            best = (size, compiler, root)
    if best is None:
        rule = f"this logic needs a decision diagram of more than {MAX_NODES:,} nodes, or too much"
        raise fault(f"{rule} work to make one. Make its conditions simpler.", where=place)
    return best[1], best[2]


def _orders(resolved: Resolved) -> list[tuple[str, ...]]:
    """Give the orders worth a try: as propositions are met in the text, and by demand.

    The first keeps together what a condition puts together. The second suits the default classes,
    in which a demand decides alone or with demands of its own word.
    """
    last = len(_PRECEDENCE)
    place = {
        name: (
            _PRECEDENCE.index(demand.word) if demand.word in _PRECEDENCE else last,
            not demand.core,
        )
        for name, demand in resolved.scope.demands
    }
    by_demand = sorted(resolved.variables, key=lambda name: place.get(name, (last, True)))
    return list(dict.fromkeys((resolved.variables, tuple(by_demand))))


class _Compiler:
    """Turns expressions into nodes of one diagram, under one order of the variables."""

    def __init__(
        self, resolved: Resolved, order: tuple[str, ...], n_leaves: int, budget: Budget
    ) -> None:
        self.order = order
        self.diagram = Diagram(n_variables=len(order), n_leaves=n_leaves, budget=budget)
        self._scope = resolved.scope
        self._number = {name: k for k, name in enumerate(order)}
        self._named: dict[str, int] = {}
        for name, expression in resolved.definitions.items():
            self._named[name] = self.compile(expression)

    def compile(self, expression: Expression) -> int:
        diagram = self.diagram
        diagram.budget.spend()
        match expression:
            case Constant(value=value):
                return TRUE if value else FALSE
            case Name(id=name):
                if name in self._number:
                    return diagram.node(self._number[name], FALSE, TRUE)
                return self._named[name]
            case Not(operand=operand):
                return diagram.negation(self.compile(operand))
            case And(operands=operands):
                return diagram.conjunction([self.compile(row) for row in operands])
            case Or(operands=operands):
                return diagram.disjunction([self.compile(row) for row in operands])
            case Quantified() | Counted():
                return self._about_group(expression)

    def _about_group(self, expression: Quantified | Counted) -> int:
        states = [
            (self._number[name], wanted)
            for name, wanted in group_states(self._scope, expression.group)
        ]
        if isinstance(expression, Counted):
            compare, number = _COMPARED[expression.comparison], expression.number
            return self.diagram.counted(states, lambda count: compare(count, number))
        needed = 1 if expression.quantifier == "any" else len(states)
        return self.diagram.counted(states, lambda count: count >= needed)


_MOST_EXPRESSIONS = 256
"""Expressions of users that are kept compiled."""


class RubricLogic:
    """Everything that a rubric says in expressions, as diagrams and products."""

    def __init__(self, rubric: Rubric) -> None:
        self._rubric = rubric
        self._scopes: dict[str | None, Scope] = {}
        self._classes: dict[str, CompiledClasses] = {}
        self._plans: dict[str, ProductPlan] = {}
        self._flows: dict[tuple[str | None, str], Flow] = {}

    def scope(self, behavior: str | None) -> Scope:
        """Say what names and groups mean under a behavior, or under none."""
        if behavior not in self._scopes:
            self._scopes[behavior] = scope_of(self._rubric, behavior)
        return self._scopes[behavior]

    def classes(self, behavior: str, *, budget: Budget | None = None) -> CompiledClasses:
        """Give the classes of a behavior as one diagram."""
        if behavior not in self._classes:
            budget = Budget(MAX_STEPS) if budget is None else budget
            self._classes[behavior] = compile_classes(self.scope(behavior), budget)
        return self._classes[behavior]

    def plan(self, behavior: str) -> ProductPlan:
        """Give the classes of a behavior as products."""
        if behavior not in self._plans:
            self._plans[behavior] = product_plan(self.scope(behavior))
        return self._plans[behavior]

    def flow(self, expression: str, behavior: str | None) -> Flow:
        """Give one expression as a diagram."""
        key = (behavior, expression)
        if key not in self._flows:
            if len(self._flows) >= _MOST_EXPRESSIONS:
                self._flows.clear()
            self._flows[key] = compile_expression(
                self.scope(behavior), expression, place=("expression",), budget=Budget(MAX_STEPS)
            )
        return self._flows[key]
