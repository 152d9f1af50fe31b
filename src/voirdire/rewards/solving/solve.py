"""Solve the problem of a fit, with a lower bound that proves how good the weights are.

Without λ it is a linear program, and its optimum of least norm is taken. A λ that is small enough
does not move the optimum of a linear program: it only chooses the point of least norm among its
optima [1]_. The dual of the linear program shows whether λ is small enough: the dual variables must
balance without λ. Where no such variables close the gap, λ was too large, and the solver tries a
smaller one.

References
----------
.. [1] O. L. Mangasarian, R. R. Meyer, "Nonlinear perturbation of linear programs", SIAM Journal on
   Control and Optimization 17(6), 1979. :doi:`10.1137/0317052`
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import null_space

from voirdire.errors import DegenerateDataWarning
from voirdire.rewards.solving.hinge import minimize_hinge
from voirdire.rewards.solving.problem import RankingSolution, prepare_problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.solving.hinge import HingePoint
    from voirdire.rewards.solving.problem import PreparedProblem, RankingProblem

_GOAL = 1e-11
"""The gap that the solver aims at; the last steps to it cost little."""
_WORTH_RESTART = 1e-9
"""Where the search from a given start ends with a larger gap, it is repeated without the start."""


def solve(
    problem: RankingProblem,
    *,
    tolerance: float = 1e-6,
    start: NDArray[np.float64] | None = None,
) -> RankingSolution:
    r"""Find the weights that rank best, and a lower bound that proves it.

    Parameters
    ----------
    problem : RankingProblem
        What is minimised. Pairs of weight 0, and features whose bounds are both 0, cost nothing.
    tolerance : float, optional
        The largest gap between the objective and its lower bound, relative to the objective where
        that is above 1; above 0. Smaller ones are reached where rounding allows.
    start : ndarray of float, shape (n_features,), optional
        Weights that may be near the optimum, such as those of almost the same pairs; they save
        time and do not change what is proved.

    Returns
    -------
    RankingSolution
        The same for the same input, to the last bit. Beside the problem it needs memory for a few
        numbers per pair, and only in the worst case for the differences of all pairs.

    Warns
    -----
    DegenerateDataWarning
        If rounding leaves a gap larger than `tolerance`, since features differ too much in scale.

    Notes
    -----
    With λ > 0 the bound is the value of the dual problem. Without λ it is a linear program:
    its dual variables must balance, and the bound is lowered by what rounding leaves unbalanced. It
    then holds for all weights under which no feature contributes more than 10,000 times as much to
    a reward as the strongest feature does under the weights found. Of several optima the weights
    are those of least norm.

    Examples
    --------
    The better item has the feature, the worse one does not, and the rewards are to differ by 1:

    >>> import numpy as np
    >>> from voirdire.rewards.solving.problem import RankingProblem
    >>> problem = RankingProblem(
    ...     features=np.array([[1.0], [0.0]]),
    ...     better=np.array([0]),
    ...     worse=np.array([1]),
    ...     gap=np.array([1.0]),
    ...     weight=np.array([1.0]),
    ...     l2=0.1,
    ...     lower=np.array([-np.inf]),
    ...     upper=np.array([np.inf]),
    ... )
    >>> solution = solve(problem)
    >>> [round(float(weight), 6) for weight in solution.weights]
    [1.0]
    >>> round(solution.objective, 6), solution.gap < 1e-9
    (0.05, True)
    """
    ready = prepare_problem(problem)
    own, bound = _minimize(ready, start)
    objective = ready.compute_objective(own)
    if start is not None and objective - bound > _WORTH_RESTART * max(1.0, objective):
        own, bound = _minimize(ready, None)
        objective = ready.compute_objective(own)
    allowed = tolerance * max(1.0, objective)
    if not objective - bound <= allowed:
        msg = (
            f"The weights are proved to lie within {objective - bound:.1e} of the optimum, not "
            f"within {allowed:.1e}: their features differ too much in scale for this machine's "
            f"numbers. Rescale them."
        )
        warnings.warn(msg, DegenerateDataWarning, stacklevel=2)
    return RankingSolution(weights=ready.to_given_weights(own), objective=objective, bound=bound)


def _minimize(
    problem: PreparedProblem, start: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], float]:
    """Return weights of the kept features, and the lower bound."""
    differs = problem.gap.size > 0 and problem.reduced.n_features > problem.n_idle
    if not differs or float(problem.gap.max()) <= 0:
        nothing = np.zeros(problem.kept.size)  # no weights do better than zeros
        return nothing, problem.compute_objective(nothing)
    near = None if start is None else problem.to_coordinates(start)
    if problem.l2 == 0:
        return _minimize_linear(problem, start=near)
    point = minimize_hinge(problem, l2=problem.l2, goal=_GOAL, start=near)
    weights = problem.to_weights(point.coordinates)
    return weights, problem.compute_bound(point.duals, weights=weights)


# Without λ ----------------------------------------------------------------------------------------

_LINEAR_GOAL = 1e-10
_FINER = 1e-3
"""The gap of the problem with λ is closed this much further: the rest is in flat directions."""
_MAX_TRIES = 6
_FIRST_SHARE = 1e-4
_SHRINK = 1e-2
_MAX_SHIFTS = 12
_FREE = 1e-9
"""Forces that are further from both ends, relative to their weight, may be shifted."""
_NEAR = 1e-6
"""Margins this close to the kink, relative to all, may be on either side of it."""
_PAIRS_PER_WEIGHT = 20
_MOST_PAIRS = 20_000


def _minimize_linear(
    problem: PreparedProblem, *, start: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], float]:
    """Minimise the hinge loss of a problem whose λ is 0; `start` are coordinates near the optimum.

    Gives the weights of least norm, and a lower bound of every objective.
    """
    # a λ whose gradient is small beside that of one pair
    few = slice(None, None, max(1, problem.gap.size // 1000))
    lengths = (problem.reduced.write_columns(few) ** 2).mean(axis=1)
    size, gap = lengths[lengths > 0].min(initial=np.inf), np.abs(problem.gap).mean()
    l2, least = 1e-9, np.inf
    if np.isfinite(size) and gap > 0:
        l2 = _FIRST_SHARE * float(problem.weight.mean()) * float(size) / float(gap)
    for _ in range(_MAX_TRIES):
        point = minimize_hinge(problem, l2=l2, goal=_LINEAR_GOAL * _FINER, start=start)
        weights = problem.to_weights(point.coordinates)
        objective = problem.compute_objective(weights)
        aim, bound = _LINEAR_GOAL * max(1.0, objective), 0.0
        for find_duals in (_shift_duals, _choose_duals):
            candidate = problem.compute_bound(find_duals(problem, point, weights), weights=weights)
            bound = max(bound, candidate)
            if objective - bound <= aim:
                return weights, bound
        if objective - bound < least:
            least, best = objective - bound, (weights, bound)
        start, l2 = point.coordinates, l2 * _SHRINK
    return best


def _shift_duals(
    problem: PreparedProblem, point: HingePoint, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Shift the dual variables as little as possible until they balance without λ."""
    room = np.minimum(point.duals, problem.weight - point.duals)
    size = float(np.abs(weights).max(initial=0.0)) or 1.0
    pushed = float(np.abs(problem.differences.features).max() * problem.weight.sum())
    # The bound is active, and the weight is not just near it.
    is_pressed = problem.bounds @ weights / size < point.bound_duals / pushed
    free = room > _FREE * problem.weight
    return _cancel_gradient(problem, point.duals, free=free, is_pressed=is_pressed)


def _choose_duals(
    problem: PreparedProblem,
    point: HingePoint,  # noqa: ARG001  # as `_shift_duals`
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Choose the duals of all pairs near their kink anew, by a small linear program in HiGHS.

    Where more pairs than weights meet in one corner, most duals are at an end of their range, and
    the solution with λ does not show which are not. The dual of a pair away from the kink is 0 or
    its whole weight. All duals are 0 where there is no solution.
    """
    from scipy.optimize import linprog

    residual = problem.gap - problem.differences.score_pairs(weights)
    distance = np.abs(residual)
    at_least = min(distance.size, _PAIRS_PER_WEIGHT * weights.size)
    reach = max(
        np.partition(distance, at_least - 1)[at_least - 1], _NEAR * max(1.0, distance.mean())
    )
    near = np.flatnonzero(distance <= reach)[:_MOST_PAIRS]
    duals = np.where(residual > 0, problem.weight, 0.0)
    duals[near] = 0.0
    weight = problem.weight[near]
    rows = problem.differences.write_columns(near) * weight
    target = -problem.differences.weigh_pairs(duals)
    size = np.abs(rows).max(axis=1, initial=0.0)
    size[size == 0] = 1.0
    bounds = problem.bounds * np.where(problem.bounds != 0, size, 0.0).max(axis=1, keepdims=True)
    result = linprog(
        np.append(-problem.gap[near] * weight, np.zeros(len(bounds))),
        A_eq=np.hstack([rows, bounds.T]) / size[:, None],
        b_eq=target / size,
        bounds=[(0.0, 1.0)] * near.size + [(0.0, None)] * len(bounds),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        return np.zeros(duals.size)
    shares, bound_duals = np.split(np.asarray(result.x), [near.size])
    shares = np.clip(shares, 0.0, 1.0)
    duals[near] = weight * shares
    free = np.zeros(duals.size, bool)
    free[near] = (shares > _FREE) & (shares < 1 - _FREE)
    return _cancel_gradient(problem, duals, free=free, is_pressed=bound_duals > _FREE)


def _cancel_gradient(
    problem: PreparedProblem,
    duals: NDArray[np.float64],
    *,
    free: NDArray[np.bool_],
    is_pressed: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Shift the free duals until the gradient is 0 in directions that no bound restricts.

    Each is shifted in proportion to the square of its distance from its ends.
    """
    pairs = np.flatnonzero(free)
    pressing = problem.bounds[is_pressed]
    is_held = (pressing != 0).any(axis=0)
    loose = np.eye(is_held.size)[~is_held]
    if problem.order:
        loose = null_space(pressing).T if len(pressing) else np.eye(is_held.size)
    upper, columns = problem.weight[pairs], loose @ problem.differences.write_columns(pairs)
    best, least = duals, np.inf
    for _ in range(_MAX_SHIFTS):
        gradient = loose @ problem.differences.weigh_pairs(duals)
        off = float(np.abs(gradient).max(initial=0.0))
        if not off < least / 2:
            break
        best, least = duals, off
        room = np.minimum(duals[pairs], upper - duals[pairs])
        matrix = (columns * room**2) @ columns.T
        scale = np.sqrt(np.diagonal(matrix))
        scale = np.where(scale > 0, scale, 1.0)
        inverse = np.linalg.pinv(matrix / scale / scale[:, None], rcond=1e-13, hermitian=True)
        shift = (inverse @ (gradient / scale)) / scale
        duals = duals.copy()
        duals[pairs] = np.clip(duals[pairs] - room**2 * (shift @ columns), 0.0, upper)
    return best
