"""Solve the problem of a fit, with a lower bound that proves how good the weights are."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.rewards.solving.hinge import factor_matrix, minimize_hinge
from voirdire.rewards.solving.identifiability import find_separation
from voirdire.rewards.solving.linear import minimize_linear
from voirdire.rewards.solving.problem import RankingSolution, prepare_problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.solving.problem import PreparedProblem, RankingProblem

__all__ = ["solve"]

_GOAL = 1e-11
"""The gap that the solver aims at; the last steps to it cost little."""
_WORTH_RESTART = 1e-9
"""Where the search from a given start ends with a larger gap, it is repeated without the start."""
_LOGISTIC_GOAL = 1e-12
_SLOPE = 1e-7
"""The slope at which L-BFGS-B ends: from there a Newton step doubles the number of right digits."""
_MAX_NEWTON_STEPS = 50
_ROUNDING = 1e-13
"""By how much a Newton step may seem to raise the objective, relative to it."""
_EIGENVALUE_ROUNDING = 1e-14
"""What rounding can take from an eigenvalue of a matrix whose diagonal is 1."""
_SMALL_RIDGE = 1e-9
"""A ridge for use without λ: it keeps weights small in directions in which no pair differs. It is
relative to the curvature along the feature with the least."""


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

    Raises
    ------
    InputError
        If the loss is logistic, λ is 0 and the data are separable: larger weights are then always
        better.

    Warns
    -----
    DegenerateDataWarning
        If rounding leaves a gap larger than `tolerance`, since features differ too much in scale.

    Notes
    -----
    With λ > 0 the bound is the value of the dual problem. The hinge without λ is a linear program:
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
    if problem.loss == "logistic" and problem.l2 == 0:
        _check_not_separable(problem)
    ready = prepare_problem(problem)
    own, bound, n_steps = _minimize(ready, start)
    objective = ready.compute_objective(own)
    if start is not None and objective - bound > _WORTH_RESTART * max(1.0, objective):
        own, bound, n_steps = _minimize(ready, None)
        objective = ready.compute_objective(own)
    allowed = tolerance * max(1.0, objective)
    if not objective - bound <= allowed:
        msg = (
            f"The weights are proved to lie within {objective - bound:.1e} of the optimum, not "
            f"within {allowed:.1e}: their features differ too much in scale for this machine's "
            f"numbers. Rescale them."
        )
        warnings.warn(msg, DegenerateDataWarning, stacklevel=2)
    return RankingSolution(
        weights=ready.to_given_weights(own), objective=objective, bound=bound, n_iterations=n_steps
    )


def _check_not_separable(problem: RankingProblem) -> None:
    kind = find_separation(problem)
    if kind != "none":
        which = "all" if kind == "complete" else "some"
        msg = (
            f"`l2` must be above 0 for the logistic loss here, got 0: some weights rank {which} "
            f"comparisons right and none wrong, so larger ones are always better. "
            f'Pass 0.01, or loss="hinge".'
        )
        raise InputError(msg)


def _minimize(
    problem: PreparedProblem, start: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], float, int]:
    """Return weights of the kept features, the lower bound and the number of steps."""
    differs = problem.gap.size > 0 and problem.reduced.n_features > problem.n_idle
    if not differs or (problem.loss == "hinge" and float(problem.gap.max()) <= 0):
        nothing = np.zeros(problem.kept.size)  # no weights do better than zeros
        return nothing, problem.compute_objective(nothing), 0
    near = None if start is None else problem.to_coordinates(start)
    if problem.loss == "logistic":
        own = np.zeros(problem.kept.size) if near is None else problem.to_weights(near)
        return _minimize_logistic(problem, start=own)
    if problem.l2 == 0:
        return minimize_linear(problem, start=near)
    point = minimize_hinge(problem, l2=problem.l2, goal=_GOAL, start=near)
    weights = problem.to_weights(point.coordinates)
    return weights, problem.compute_bound(point.duals, weights=weights), point.n_steps


def _minimize_logistic(
    problem: PreparedProblem, *, start: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float, int]:
    """Minimise by L-BFGS-B, and close the gap by Newton steps on the weights that no bound limits.

    Of all steps, the weights with the smallest gap are returned.
    """
    from scipy.optimize import minimize

    differences, n_kept = problem.differences, problem.kept.size
    few = slice(None, None, max(1, problem.gap.size // 1000))
    curvature = (differences.write_columns(few) ** 2).mean(axis=1) / 4 + problem.l2
    quadratic = problem.l2 * np.eye(n_kept)
    if problem.l2 == 0 and problem.basis is not None:
        identified = problem.basis[:, : problem.basis.shape[1] - problem.n_idle]
        ridge = _SMALL_RIDGE * float(curvature[curvature > 0].min(initial=1.0))
        quadratic += ridge * (np.eye(n_kept) - identified @ identified.T)
    scale = 1 / np.sqrt(np.where(curvature > 0, curvature, 1.0))

    def measure(scaled: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = scaled * scale
        residual = problem.gap - differences.score_pairs(weights)
        ridge_slope = quadratic @ weights
        loss = problem.weight @ np.logaddexp(0.0, residual) + weights @ ridge_slope / 2
        slope = ridge_slope - differences.weigh_pairs(problem.weight * expit(residual))
        return float(loss), slope * scale

    result = minimize(
        measure,
        start / scale,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0 if signed else None, None) for signed in problem.is_signed],
        options={"maxiter": 1_000, "maxcor": 20, "ftol": 1e-15, "gtol": _SLOPE},
    )
    weights, least = problem.project_weights(result.x * scale), np.inf
    system, free, move = None, np.arange(n_kept), np.zeros(n_kept)
    for n_newton in range(_MAX_NEWTON_STEPS):
        residual = problem.gap - differences.score_pairs(weights)
        duals = problem.weight * expit(residual)
        # Not v - α, which loses its digits where α is nearly v.
        tilt = duals * expit(-residual)
        slope = quadratic @ weights - differences.weigh_pairs(duals)
        if system is not None and problem.l2 == 0:
            for _ in range(2):  # Newton steps that balance the duals
                move[free] = system(differences.weigh_pairs(duals)[free])
                duals = np.clip(duals - tilt * differences.score_pairs(move), 0.0, problem.weight)
        objective, bound = (
            problem.compute_objective(weights),
            problem.compute_bound(duals, weights=weights),
        )
        if objective - bound < least:
            least, best = objective - bound, (weights, bound)
        if n_newton and least <= _LOGISTIC_GOAL * max(1.0, objective):
            break
        free = np.flatnonzero(~(problem.is_signed & (weights <= 0) & (slope > 0)))
        curvature = differences.compute_weighted_gram(tilt) + quadratic
        system = (
            factor_matrix(curvature[np.ix_(free, free)], hold=_EIGENVALUE_ROUNDING)
            if free.size
            else None
        )
        if system is None:
            break
        move = np.zeros(n_kept)
        move[free] = -system(slope[free])
        moved, most = (
            problem.project_weights(weights + move),
            objective + _ROUNDING * max(1.0, objective),
        )
        while problem.compute_objective(moved) > most and np.abs(move).max() > 0:
            move /= 2
            moved = problem.project_weights(weights + move)
        weights = moved
    return *best, int(result.nit) + n_newton
