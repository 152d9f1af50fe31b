"""Compile expressions and the classes of a behavior into diagrams, once."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire.rubrics.logic.definitions import check_variable_count, resolve
from voirdire.rubrics.logic.diagram import FALSE, TRUE, Budget, BudgetSpentError, Diagram
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
from voirdire.rubrics.logic.flow import plan_flow
from voirdire.rubrics.logic.scope import group_states

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from voirdire.errors import LogicError
    from voirdire.rubrics.logic.definitions import Place, Resolved
    from voirdire.rubrics.logic.expressions import Expression
    from voirdire.rubrics.logic.flow import Flow
    from voirdire.rubrics.logic.scope import Scope

__all__ = [
    "MAX_NODES",
    "MAX_STEPS",
    "OTHERWISE",
    "CompiledClasses",
    "class_places",
    "compile_classes",
    "compile_expression",
    "not_exhaustive",
]

OTHERWISE = "otherwise"
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
