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

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = [
    "FALSE",
    "TRUE",
    "Budget",
    "BudgetSpentError",
    "Diagram",
    "Flow",
    "plan_flow",
    "send_down",
]

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


class Step(NamedTuple):
    """One node: from which place to which two, and whether it is the first to arrive there."""

    variable: int
    source: int | None
    low: int
    low_is_fresh: bool
    high: int
    high_is_fresh: bool


@dataclass(frozen=True, kw_only=True)
class Flow:
    """How to send something from the root of a diagram down to its leaves, for many items at once.

    Probability: a mass of 1 starts at the root. Every node splits what reaches it, p of it to where
    its proposition is true and 1 - p to where it is false, and what arrives at a leaf is its
    probability. That is Shannon's expansion, and exact where propositions are independent. Truth:
    the same with "and" for times and "or" for plus tells which leaves can be reached; what is
    missing goes both ways. The place of a node is reused as soon as the node is done, so that what
    is at work for some thousand items stays in the processor's cache.

    Attributes
    ----------
    variables : tuple of str
        The propositions that the diagram depends on, as `Step.variable` counts them.
    n_leaves : int
        The first places are the leaves.
    n_places : int
        How many rows the work needs, leaves included.
    steps : tuple of Step
        The nodes, each after all that lead to it. `source` is None at the root.
    only_leaf : int or None
        The leaf of a diagram without nodes.
    """

    variables: tuple[str, ...]
    n_leaves: int
    n_places: int
    steps: tuple[Step, ...]
    only_leaf: int | None


def plan_flow(diagram: Diagram, root: int, *, names: tuple[str, ...]) -> Flow:
    """Order the nodes from `root` on, and give each a place to wait in."""
    nodes = diagram.reachable(root)
    used = sorted({diagram.variable[node] for node in nodes})
    number = {variable: k for k, variable in enumerate(used)}
    place: dict[int, int] = {leaf: leaf for leaf in range(diagram.n_leaves)}
    reached: set[int] = set()
    free: list[int] = []
    n_places = diagram.n_leaves
    steps = []
    for node in nodes:
        children = diagram.low[node], diagram.high[node]
        for child in children:
            if child not in place:
                if not free:
                    free.append(n_places)
                    n_places += 1
                place[child] = free.pop()
        source = None if node == root else place[node]
        low, high = (place[child] for child in children)
        fresh_low, fresh_high = (child not in reached for child in children)
        steps.append(Step(number[diagram.variable[node]], source, low, fresh_low, high, fresh_high))
        reached.update(children)
        if source is not None:
            free.append(source)
    return Flow(
        variables=tuple(names[variable] for variable in used),
        n_leaves=diagram.n_leaves,
        n_places=n_places,
        steps=tuple(steps),
        only_leaf=None if nodes else root,
    )


def send_down(
    flow: Flow,
    false_and_true: tuple[NDArray[Any], NDArray[Any]],
    *,
    places: NDArray[Any],
    times: Callable[..., Any],
    plus: Callable[..., Any],
) -> None:
    """Fill the first rows of `places` with what reaches the leaves.

    `false_and_true` hold per variable and item what goes to the low and to the high side;
    `places` has one row more than the flow has places, to work in, and its leaves start at zero.
    """
    spare = places[-1]
    low, high = false_and_true
    if flow.only_leaf is not None:
        places[flow.only_leaf] = 1
    for step in flow.steps:
        for share, target, is_fresh in (
            (low[step.variable], places[step.low], step.low_is_fresh),
            (high[step.variable], places[step.high], step.high_is_fresh),
        ):
            if step.source is None:
                target[...] = share
            elif is_fresh:
                times(places[step.source], share, out=target)
            else:
                times(places[step.source], share, out=spare)
                plus(target, spare, out=target)
