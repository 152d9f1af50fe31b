"""Send something from the root of a diagram down to its leaves, for many items at once.

Probability: a mass of 1 starts at the root. Every node splits what reaches it, p of it to where its
proposition is true and 1 − p to where it is false, and what arrives at a leaf is its probability.
That is Shannon's expansion, and exact where propositions are independent. Truth: the same with
"and" for times and "or" for plus tells which leaves can be reached; what is missing goes both ways.

The plan is made once per diagram. It reuses the place of a node as soon as the node is done, so
that what is at work for some thousand items stays in the processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from voirdire.rubrics.logic.diagram import Diagram

__all__ = ["Flow", "plan_flow", "send_down"]


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
    """The plan of one diagram.

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
