"""The logic of one rubric, compiled at first use and kept with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.rubrics.logic.compiling import MAX_STEPS, compile_classes, compile_expression
from voirdire.rubrics.logic.diagram import Budget
from voirdire.rubrics.logic.product import product_plan
from voirdire.rubrics.logic.scope import scope_of

if TYPE_CHECKING:
    from voirdire.rubrics.logic.compiling import CompiledClasses
    from voirdire.rubrics.logic.flow import Flow
    from voirdire.rubrics.logic.product import ProductPlan
    from voirdire.rubrics.logic.scope import Scope
    from voirdire.rubrics.rubric import Rubric

__all__ = ["RubricLogic"]

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
