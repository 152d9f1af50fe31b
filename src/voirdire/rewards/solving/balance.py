"""Forces of pairs that hold each other without help from λ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.solving.hinge import HingePoint
    from voirdire.rewards.solving.prepared import PreparedProblem

__all__ = ["chosen_forces", "shifted_forces"]

_MAX_SHIFTS = 12
_FREE = 1e-9
"""Forces that are further from both ends, relative to their weight, may be shifted."""
_NEAR = 1e-6
"""Margins this close to the kink, relative to all, may be on either side of it."""
_PER_WEIGHT = 20
_MOST = 20_000


def shifted_forces(
    problem: PreparedProblem, point: HingePoint, *, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Shift forces as little as it takes, relative to how far each is from its ends.

    Parameters
    ----------
    problem : PreparedProblem
        Whose pairs push.
    point : HingePoint
        Forces that hold each other with the help of a small λ.
    weights : ndarray of float, shape (n_kept,)
        Those of the point.

    Returns
    -------
    ndarray of float, shape (n_pairs,)
        α in [0, v]. Its pulls cancel out where no bound holds them, to rounding, unless no such
        forces lie near.
    """
    room = np.minimum(point.forces, problem.weight - point.forces)
    free = np.flatnonzero(room > _FREE * problem.weight)
    return _shifted(problem, point.forces, free=free, loose=_loose(problem, point, weights))


def chosen_forces(problem: PreparedProblem, *, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Choose the forces of all pairs near their kink anew: a small linear program, for HiGHS.

    Where more pairs than weights meet in one corner, most forces are at an end, and which are not
    cannot be seen from what λ balanced.

    Parameters
    ----------
    problem : PreparedProblem
        Whose pairs push.
    weights : ndarray of float, shape (n_kept,)
        Near the optimum.

    Returns
    -------
    ndarray of float, shape (n_pairs,)
        α in [0, v]: the best proof for pairs that are clear of the kink pushing with all their
        weight or not at all; 0 everywhere where there is none.
    """
    from scipy.optimize import linprog

    residual = problem.gap - problem.differences.along(weights)
    near = _nearest(residual, n_weights=weights.size)
    forces = np.where(residual > 0, problem.weight, 0.0)
    forces[near] = 0.0
    weight = problem.weight[near]
    rows = problem.differences.columns(near) * weight
    wanted = -problem.differences.pull(forces)
    size = np.abs(rows).max(axis=1, initial=0.0)
    size[size == 0] = 1.0
    rows, wanted, signed = rows / size[:, None], wanted / size, problem.is_signed
    found = linprog(
        -problem.gap[near] * weight,
        A_ub=rows[signed] if signed.any() else None,
        b_ub=wanted[signed] if signed.any() else None,
        A_eq=rows[~signed] if not signed.all() else None,
        b_eq=wanted[~signed] if not signed.all() else None,
        bounds=(0.0, 1.0),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        return np.zeros(forces.size)
    shares = np.clip(np.asarray(found.x), 0.0, 1.0)
    forces[near] = weight * shares
    held = np.zeros(signed.size, bool)
    if signed.any():
        held[signed] = np.asarray(found.slack) > _FREE
    inside = (shares > _FREE) & (shares < 1 - _FREE)
    return _shifted(problem, forces, free=near[inside], loose=np.flatnonzero(~held))


def _nearest(residual: NDArray[np.float64], *, n_weights: int) -> NDArray[np.int64]:
    distance = np.abs(residual)
    reach = _NEAR * max(1.0, float(distance.mean()))
    at_least = min(distance.size, _PER_WEIGHT * n_weights)
    reach = max(reach, float(np.partition(distance, at_least - 1)[at_least - 1]))
    near: NDArray[np.int64] = np.flatnonzero(distance <= reach)[:_MOST]
    return near


def _loose(
    problem: PreparedProblem, point: HingePoint, weights: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Find the weights that are free, or not pressed against their bound but just near it."""
    loose = np.ones(weights.size, bool)
    signed = np.flatnonzero(problem.is_signed)
    size = float(np.abs(weights).max(initial=0.0)) or 1.0
    pushed = float(np.abs(problem.differences.features).max() * problem.weight.sum())
    loose[signed] = weights[signed] / size >= point.lifts / pushed
    return np.flatnonzero(loose)


def _shifted(
    problem: PreparedProblem,
    forces: NDArray[np.float64],
    *,
    free: NDArray[np.int64],
    loose: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Shift the free forces until the pulls on loose weights cancel out."""
    upper, columns = problem.weight[free], problem.differences.columns(free)[loose]
    best, least = forces, np.inf
    for _ in range(_MAX_SHIFTS):
        left = problem.differences.pull(forces)[loose]
        off = float(np.abs(left).max(initial=0.0))
        if not off < least / 2:
            break
        best, least = forces, off
        room = np.minimum(forces[free], upper - forces[free])
        matrix = (columns * room**2) @ columns.T
        scale = np.sqrt(np.diagonal(matrix))
        scale = np.where(scale > 0, scale, 1.0)
        inverse = np.linalg.pinv(matrix / scale / scale[:, None], rcond=1e-13, hermitian=True)
        shift = (inverse @ (left / scale)) / scale
        forces = forces.copy()
        forces[free] = np.clip(forces[free] - room**2 * (shift @ columns), 0.0, upper)
    return best
