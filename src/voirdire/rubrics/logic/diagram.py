"""Reduced ordered decision diagrams with many leaves, built node by node.

A diagram asks one proposition after another, in a fixed order, and ends in a leaf: false or true
for an expression, a class for a behavior. Equal parts exist once [1]_, so two expressions that
mean the same are one node.

References
----------
.. [1] R. E. Bryant, "Graph-Based Algorithms for Boolean Function Manipulation", IEEE Transactions
   on Computers C-35(8), 1986. Several leaves: M. Fujita, P. C. McGeer and J. C.-Y. Yang,
   "Multi-Terminal Binary Decision Diagrams", Formal Methods in System Design 10, 1997.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["FALSE", "TRUE", "Budget", "BudgetSpentError", "Diagram"]

FALSE, TRUE = 0, 1
"""The leaves of an expression. The leaves of a behavior are its classes, counted from 0."""


class BudgetSpentError(Exception):
    """The diagram is too large; what compiles it says so in terms of the rubric."""


class Budget:
    """How many nodes may still be thought about: hostile expressions have no small diagram."""

    def __init__(self, n_steps: int) -> None:
        self.left = n_steps

    def spend(self, n_steps: int = 1) -> None:
        """Take steps, or raise `BudgetSpentError`."""
        self.left -= n_steps
        if self.left < 0:
            raise BudgetSpentError


class Diagram:
    """All nodes of some expressions over variables 0, 1, …, which are asked in this order.

    The ids 0 to ``n_leaves - 1`` are leaves.
    """

    def __init__(self, *, n_variables: int, n_leaves: int, budget: Budget) -> None:
        self.n_variables = n_variables
        self.n_leaves = n_leaves
        self.budget = budget
        # Leaves are asked after everything else.
        self.variable = [n_variables] * n_leaves
        self.low = list(range(n_leaves))
        self.high = list(range(n_leaves))
        self._known: dict[tuple[int, int, int], int] = {}
        self._chosen: dict[tuple[int, int, int], int] = {}

    def node(self, variable: int, low: int, high: int) -> int:
        """Ask `variable`: go to `low` where it is false, to `high` where it is true."""
        if low == high:
            return low
        key = (variable, low, high)
        found = self._known.get(key)
        if found is None:
            self.budget.spend()
            found = len(self.variable)
            self.variable.append(variable)
            self.low.append(low)
            self.high.append(high)
            self._known[key] = found
        return found

    def choose(self, condition: int, then: int, otherwise: int) -> int:
        """Go on to `then` where `condition` is true and to `otherwise` where it is false."""
        if condition == TRUE or then == otherwise:
            return then
        if condition == FALSE:
            return otherwise
        if then == TRUE and otherwise == FALSE:
            return condition
        key = (condition, then, otherwise)
        found = self._chosen.get(key)
        if found is None:
            self.budget.spend()
            top = min(self.variable[condition], self.variable[then], self.variable[otherwise])
            low, high = (
                self.choose(*(self._after(row, top, state) for row in key))
                for state in (False, True)
            )
            found = self._chosen[key] = self.node(top, low, high)
        return found

    def negation(self, condition: int) -> int:
        """Swap false and true."""
        return self.choose(condition, FALSE, TRUE)

    def conjunction(self, conditions: Sequence[int]) -> int:
        """Tell whether all are true."""
        result = TRUE
        for condition in reversed(conditions):
            result = self.choose(condition, result, FALSE)
        return result

    def disjunction(self, conditions: Sequence[int]) -> int:
        """Tell whether at least one is true."""
        result = FALSE
        for condition in reversed(conditions):
            result = self.choose(condition, TRUE, result)
        return result

    def counted(
        self, literals: Sequence[tuple[int, bool]], is_wanted: Callable[[int], bool]
    ) -> int:
        """Tell whether the number of variables that are in their wanted state `is_wanted`.

        One node per variable and count so far, so at most n²/2 of them however it is compared.
        """
        counts = [TRUE if is_wanted(count) else FALSE for count in range(len(literals) + 1)]
        for variable, wanted in sorted(literals, reverse=True):
            counts = [
                self.node(variable, *((miss, hit) if wanted else (hit, miss)))
                for miss, hit in pairwise(counts)
            ]
        return counts[0]

    def reachable(self, root: int) -> list[int]:
        """List the inner nodes from `root` on, each after everything that leads to it."""
        seen, waiting = {root}, [root]
        while waiting:
            node = waiting.pop()
            fresh = {self.low[node], self.high[node]} - seen
            seen |= fresh
            waiting.extend(fresh)
        return sorted((n for n in seen if n >= self.n_leaves), key=lambda n: (self.variable[n], n))

    def way_to(self, leaf: int, root: int) -> dict[int, bool] | None:
        """Find the states of fewest variables that lead from `root` to `leaf`; None if none do."""
        ways: dict[int, dict[int, bool]] = {leaf: {}}
        for node in reversed(self.reachable(root)):
            options = [
                {self.variable[node]: state, **ways[child]}
                for state, child in ((False, self.low[node]), (True, self.high[node]))
                if child in ways
            ]
            if options:
                ways[node] = min(options, key=len)
        return ways.get(root)

    def _after(self, node: int, variable: int, state: bool) -> int:  # noqa: FBT001
        if self.variable[node] != variable:
            return node
        return self.high[node] if state else self.low[node]
