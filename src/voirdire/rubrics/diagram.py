"""Reduced ordered decision diagrams with many leaves, built node by node.

A diagram asks for one proposition after another, in a fixed order, and ends in a leaf: false or
true for an expression, a class for a behavior. Equal parts exist once [1]_, so two expressions that
mean the same are one node.

References
----------
.. [1] R. E. Bryant, "Graph-Based Algorithms for Boolean Function Manipulation", IEEE Transactions
   on Computers C-35(8), 1986. Several leaves: M. Fujita, P. C. McGeer and J. C.-Y. Yang,
   "Multi-Terminal Binary Decision Diagrams", Formal Methods in System Design 10, 1997.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["FALSE", "TRUE", "Budget", "BudgetSpentError", "Diagram", "Flow", "Step", "plan_flow"]

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

    def list_nodes(self, root: int) -> list[int]:
        """List the inner nodes from `root` on, each after everything that leads to it."""
        nodes, waiting = {root}, [root]
        while waiting:
            node = waiting.pop()
            children = {self.low[node], self.high[node]} - nodes
            nodes |= children
            waiting.extend(children)
        return sorted((n for n in nodes if n >= self.n_leaves), key=lambda n: (self.variable[n], n))


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
    the same with "and" for times and "or" for plus tells which leaves can be reached; what is
    missing goes both ways.

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

    def has_leaf(self, leaf: int) -> bool:
        """Tell whether anything leads to a leaf."""
        return leaf == self.root or any(leaf in (step.low, step.high) for step in self.steps)

    def find_path(self, leaf: int) -> dict[str, bool]:
        """Find the states of fewest propositions that lead to a leaf, which something leads to."""
        paths: dict[int, dict[str, bool]] = {leaf: {}}
        for step in reversed(self.steps):
            options = [
                {self.variables[step.variable]: state, **paths[child]}
                for state, child in ((False, step.low), (True, step.high))
                if child in paths
            ]
            if options:
                paths[step.node] = min(options, key=len)
        return paths[self.root]


def plan_flow(diagram: Diagram, root: int) -> Flow:
    """Put the nodes from `root` on in order, and number the propositions that they ask for."""
    nodes = diagram.list_nodes(root)
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
