"""The hinge loss without λ: a linear program, and of its optima the one of least norm.

A λ that is small enough does not move the optimum of a linear program: it only chooses the point of
least norm among its optima [1]_. Whether it is small enough shows in the proof, which is that of
the linear program itself: forces that hold each other without λ's help. Where none are found that
close the gap, λ was too large, and a smaller one is tried.

References
----------
.. [1] O. L. Mangasarian, R. R. Meyer, "Nonlinear perturbation of linear programs", SIAM Journal on
   Control and Optimization 17(6), 1979. :doi:`10.1137/0317052`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import null_space

from voirdire.rewards.solving.hinge import minimize_hinge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.solving.hinge import HingePoint
    from voirdire.rewards.solving.problem import PreparedProblem

__all__ = ["minimize_linear"]

_GOAL = 1e-10
_FINER = 1e-3
"""λ's own gap is closed this much further: what is left of it lies in directions without loss."""
_MAX_TRIES = 6
_LITTLE = 1e-4
_SMALLER = 1e-2
_MAX_SHIFTS = 12
_FREE = 1e-9
"""Forces that are further from both ends, relative to their weight, may be shifted."""
_NEAR = 1e-6
"""Margins this close to the kink, relative to all, may be on either side of it."""
_PER_WEIGHT = 20
_MOST = 20_000


def minimize_linear(
    problem: PreparedProblem, *, start: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], float, int]:
    """Minimise the hinge loss of a problem whose λ is 0; `start` are coordinates near the optimum.

    Gives the weights of least norm, a lower bound of every objective, and the steps taken.
    """
    l2, n_steps, least = _small_l2(problem), 0, np.inf
    for _ in range(_MAX_TRIES):
        point = minimize_hinge(problem, l2=l2, goal=_GOAL * _FINER, start=start)
        n_steps += point.n_steps
        weights = problem.weights(point.coordinates)
        objective = problem.objective(weights)
        aim, bound = _GOAL * max(1.0, objective), 0.0
        for find_forces in (_shift_forces, _choose_forces):
            found = problem.bound(find_forces(problem, point, weights), weights=weights)
            bound = max(bound, found)
            if objective - bound <= aim:
                return weights, bound, n_steps
        if objective - bound < least:
            least, best = objective - bound, (weights, bound)
        start, l2 = point.coordinates, l2 * _SMALLER
    return *best, n_steps


def _small_l2(problem: PreparedProblem) -> float:
    """Guess a λ whose pull is small beside that of one pair in the corner of a kink."""
    few = slice(None, None, max(1, problem.gap.size // 1000))
    lengths = (problem.reduced.columns(few) ** 2).mean(axis=1)
    size = float(lengths[lengths > 0].min(initial=np.inf))
    gap = float(np.abs(problem.gap).mean())
    is_known = np.isfinite(size) and gap > 0
    return _LITTLE * float(problem.weight.mean()) * size / gap if is_known else 1e-9


def _shift_forces(
    problem: PreparedProblem, point: HingePoint, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Shift forces that λ helps to hold as little as it takes, until they hold without it."""
    room = np.minimum(point.forces, problem.weight - point.forces)
    size = float(np.abs(weights).max(initial=0.0)) or 1.0
    pushed = float(np.abs(problem.differences.features).max() * problem.weight.sum())
    # Pressed against a bound, and not just near it.
    is_pressed = problem.bounds @ weights / size < point.lifts / pushed
    free = room > _FREE * problem.weight
    return _cancel_pulls(problem, point.forces, free=free, is_pressed=is_pressed)


def _choose_forces(
    problem: PreparedProblem,
    point: HingePoint,  # noqa: ARG001  # as `_shift_forces`
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Choose the forces of all pairs near their kink anew: a small linear program, for HiGHS.

    Where more pairs than weights meet in one corner, most forces are at an end, and which are not
    cannot be seen from what λ balanced. Pairs that are clear of the kink push with all their weight
    or not at all. All forces are 0 where there is no solution.
    """
    from scipy.optimize import linprog

    residual = problem.gap - problem.differences.along(weights)
    near = _find_nearest(np.abs(residual), n_weights=weights.size)
    forces = np.where(residual > 0, problem.weight, 0.0)
    forces[near] = 0.0
    weight = problem.weight[near]
    rows = problem.differences.columns(near) * weight
    wanted = -problem.differences.pull(forces)
    size = np.abs(rows).max(axis=1, initial=0.0)
    size[size == 0] = 1.0
    bounds = problem.bounds * np.where(problem.bounds != 0, size, 0.0).max(axis=1, keepdims=True)
    found = linprog(
        np.append(-problem.gap[near] * weight, np.zeros(len(bounds))),
        A_eq=np.hstack([rows, bounds.T]) / size[:, None],
        b_eq=wanted / size,
        bounds=[(0.0, 1.0)] * near.size + [(0.0, None)] * len(bounds),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        return np.zeros(forces.size)
    shares, lifts = np.split(np.asarray(found.x), [near.size])
    shares = np.clip(shares, 0.0, 1.0)
    forces[near] = weight * shares
    free = np.zeros(forces.size, bool)
    free[near] = (shares > _FREE) & (shares < 1 - _FREE)
    return _cancel_pulls(problem, forces, free=free, is_pressed=lifts > _FREE)


def _find_nearest(distance: NDArray[np.float64], *, n_weights: int) -> NDArray[np.int64]:
    reach = _NEAR * max(1.0, float(distance.mean()))
    at_least = min(distance.size, _PER_WEIGHT * n_weights)
    reach = max(reach, float(np.partition(distance, at_least - 1)[at_least - 1]))
    near: NDArray[np.int64] = np.flatnonzero(distance <= reach)[:_MOST]
    return near


def _cancel_pulls(
    problem: PreparedProblem,
    forces: NDArray[np.float64],
    *,
    free: NDArray[np.bool_],
    is_pressed: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Shift the free forces until the pulls cancel out in directions that no bound holds.

    Each is shifted in proportion to the square of its distance from its ends.
    """
    pairs = np.flatnonzero(free)
    pressing = problem.bounds[is_pressed]
    is_held = (pressing != 0).any(axis=0)
    loose = np.eye(is_held.size)[~is_held]
    if problem.order:
        loose = null_space(pressing).T if len(pressing) else np.eye(is_held.size)
    upper, columns = problem.weight[pairs], loose @ problem.differences.columns(pairs)
    best, least = forces, np.inf
    for _ in range(_MAX_SHIFTS):
        left = loose @ problem.differences.pull(forces)
        off = float(np.abs(left).max(initial=0.0))
        if not off < least / 2:
            break
        best, least = forces, off
        room = np.minimum(forces[pairs], upper - forces[pairs])
        matrix = (columns * room**2) @ columns.T
        scale = np.sqrt(np.diagonal(matrix))
        scale = np.where(scale > 0, scale, 1.0)
        inverse = np.linalg.pinv(matrix / scale / scale[:, None], rcond=1e-13, hermitian=True)
        shift = (inverse @ (left / scale)) / scale
        forces = forces.copy()
        forces[pairs] = np.clip(forces[pairs] - room**2 * (shift @ columns), 0.0, upper)
    return best
