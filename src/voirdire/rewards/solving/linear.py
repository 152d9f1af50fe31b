"""The hinge loss without λ: a linear program, and of its optima the one of least norm.

A λ that is small enough does not move the optimum of a linear program: it only chooses the point of
least norm among its optima [1]_. How small is enough shows in the proof, which is that of the
linear program itself: forces that hold each other without λ's help. Where none are found that close
the gap, λ was too large, and a smaller one is tried.

References
----------
.. [1] O. L. Mangasarian, R. R. Meyer, "Nonlinear perturbation of linear programs", SIAM Journal on
   Control and Optimization 17(6), 1979. :doi:`10.1137/0317052`
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire.rewards.solving.balance import chosen_forces, shifted_forces
from voirdire.rewards.solving.certificate import bound_of, objective_of
from voirdire.rewards.solving.hinge import smallest_hinge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.solving.hinge import HingePoint
    from voirdire.rewards.solving.prepared import PreparedProblem

__all__ = ["LinearPoint", "smallest_linear"]

_GOAL = 1e-10
_FINER = 1e-3
"""λ's own gap is closed this much further: what is left of it lies in directions without loss."""
_MAX_TRIES = 6
_LITTLE = 1e-4
_SMALLER = 1e-2


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearPoint:
    """An optimum of the linear program with its proof.

    Attributes
    ----------
    weights : ndarray of float, shape (n_kept,)
        Of least norm.
    forces : ndarray of float, shape (n_pairs,)
        α in [0, v] that hold each other, to rounding.
    lifts : ndarray of float, shape (n_bounds,)
        How hard each bound pushes, at least 0.
    objective, bound : float
        What the weights reach, and what none can go below.
    n_steps : int
        Of the interior point method.
    """

    weights: NDArray[np.float64] = field(repr=False)
    forces: NDArray[np.float64] = field(repr=False)
    lifts: NDArray[np.float64] = field(repr=False)
    objective: float
    bound: float
    n_steps: int


def smallest_linear(
    problem: PreparedProblem, *, start: NDArray[np.float64] | None = None
) -> LinearPoint:
    """Minimise the hinge loss without λ.

    Parameters
    ----------
    problem : PreparedProblem
        At least one pair and one coordinate.
    start : ndarray of float, shape (n_coordinates,), optional
        Coordinates near the optimum.

    Returns
    -------
    LinearPoint
        The optimum of least norm.
    """
    problem = replace(problem, l2=0.0)
    l2, best, n_steps = _small_l2(problem), None, 0
    for _ in range(_MAX_TRIES):
        point = smallest_hinge(problem, l2=l2, goal=_GOAL * _FINER, start=start)
        n_steps += point.n_steps
        found = _proved(problem, point, n_steps=n_steps)
        if best is None or found.objective - found.bound < best.objective - best.bound:
            best = found
        if best.objective - best.bound <= _GOAL * max(1.0, best.objective):
            break
        start, l2 = point.coordinates, l2 * _SMALLER
    assert best is not None  # noqa: S101  # there is at least one try
    return replace(best, n_steps=n_steps)


def _small_l2(problem: PreparedProblem) -> float:
    """Guess a λ whose pull is small beside that of one pair in the corner of a kink."""
    few = slice(None, None, max(1, problem.gap.size // 1000))
    differences = problem.reduced.columns(few)
    lengths = (differences**2).mean(axis=1)
    size = float(lengths[lengths > 0].min(initial=np.inf))
    gap = float(np.abs(problem.gap).mean())
    return (
        _LITTLE * float(problem.weight.mean()) * size / gap
        if np.isfinite(size) and gap > 0
        else 1e-9
    )


def _proved(problem: PreparedProblem, point: HingePoint, *, n_steps: int) -> LinearPoint:
    """Prove the weights by forces that are shifted, or, in a corner of many pairs, chosen anew."""
    weights = problem.weights(point.coordinates)
    objective = objective_of(problem, weights, loss="hinge")
    forces, bound = np.zeros(problem.gap.size), 0.0
    for is_shifted in (True, False):
        found = (
            shifted_forces(problem, point, weights=weights)
            if is_shifted
            else chosen_forces(problem, weights=weights)
        )
        proved = bound_of(problem, found, weights=weights, loss="hinge")
        if proved > bound:
            forces, bound = found, proved
        if objective - bound <= _GOAL * max(1.0, objective):
            break
    return LinearPoint(
        weights=weights,
        forces=forces,
        lifts=np.maximum(-problem.differences.pull(forces)[problem.is_signed], 0.0),
        objective=objective,
        bound=bound,
        n_steps=n_steps,
    )
