"""Solve the problem of a fit, with the proof that nothing is much better."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.rewards.solving.hinge import factor, minimize_hinge
from voirdire.rewards.solving.identifiability import find_separation
from voirdire.rewards.solving.linear import minimize_linear
from voirdire.rewards.solving.problem import RankingSolution, prepare

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.solving.problem import PreparedProblem, RankingProblem

__all__ = ["solve"]

_GOAL = 1e-11
"""The gap that is aimed at: the last steps to it cost next to nothing."""
_ENOUGH = 1e-9
"""Where a start led into a corner and leaves more than this, the way is gone without it."""
_LOGISTIC_GOAL = 1e-12
_SLOPE = 1e-7
"""Where L-BFGS-B hands over: a Newton step from there doubles the digits."""
_MAX_NEWTON_STEPS = 50
_ROUNDING = 1e-13
"""By how much a Newton step may seem to raise the objective, relative to it."""
_HELD = 1e-14
"""What rounding can take from an eigenvalue of a matrix whose diagonal is 1."""
_HOLD = 1e-9
"""Without λ, what keeps weights small in directions in which no pair differs, relative to the
curvature along the feature that says least."""


def solve(
    problem: RankingProblem,
    *,
    tolerance: float = 1e-6,
    start: NDArray[np.float64] | None = None,
) -> RankingSolution:
    r"""Find the weights that rank best, and prove that they do.

    Parameters
    ----------
    problem : RankingProblem
        What is minimised. Pairs of weight 0 and features held at 0 cost nothing.
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
        If the loss is logistic, λ is 0 and the data are separable, so that ever larger weights are
        ever better.

    Warns
    -----
    DegenerateDataWarning
        If rounding leaves a gap larger than `tolerance`: features of absurd scale.

    Notes
    -----
    With λ > 0 the bound is that of the dual problem. The hinge without λ is a linear program: the
    bound is that of forces which hold each other, and what rounding leaves between them is counted
    against it for all weights under which no feature contributes more than 10,000 times as much to
    a reward as the strongest does under those found; of several optima the weights are those of
    least norm.

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
    ready = prepare(problem)
    own, bound, n_steps = _minimize(ready, start)
    objective = ready.objective(own)
    if start is not None and objective - bound > _ENOUGH * max(1.0, objective):
        own, bound, n_steps = _minimize(ready, None)
        objective = ready.objective(own)
    allowed = tolerance * max(1.0, objective)
    if not objective - bound <= allowed:
        msg = (
            f"The weights are proved to lie within {objective - bound:.1e} of the optimum, not "
            f"within {allowed:.1e}: their features differ too much in scale for this machine's "
            f"numbers. Rescale them."
        )
        warnings.warn(msg, DegenerateDataWarning, stacklevel=2)
    return RankingSolution(
        weights=ready.given_weights(own), objective=objective, bound=bound, n_iterations=n_steps
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
    """Give weights of the kept features, the lower bound and the steps."""
    differs = problem.gap.size > 0 and problem.reduced.n_features > problem.n_idle
    if not differs or (problem.loss == "hinge" and float(problem.gap.max()) <= 0):
        nothing = np.zeros(problem.kept.size)  # no weights are better than these
        return nothing, problem.objective(nothing), 0
    near = None if start is None else problem.coordinates(start)
    if problem.loss == "logistic":
        own = np.zeros(problem.kept.size) if near is None else problem.weights(near)
        return _minimize_logistic(problem, start=own)
    if problem.l2 == 0:
        return minimize_linear(problem, start=near)
    point = minimize_hinge(problem, l2=problem.l2, goal=_GOAL, start=near)
    weights = problem.weights(point.coordinates)
    return weights, problem.bound(point.forces, weights=weights), point.n_steps


def _minimize_logistic(
    problem: PreparedProblem, *, start: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float, int]:
    """Minimise by L-BFGS-B, and close the gap by Newton steps on the weights that no bound holds.

    The last weights are those of the smallest gap.
    """
    from scipy.optimize import minimize

    differences, n_kept = problem.differences, problem.kept.size
    few = slice(None, None, max(1, problem.gap.size // 1000))
    curvature = (differences.columns(few) ** 2).mean(axis=1) / 4 + problem.l2
    quadratic = problem.l2 * np.eye(n_kept)
    if problem.l2 == 0 and problem.basis is not None:
        telling = problem.basis[:, : problem.basis.shape[1] - problem.n_idle]
        hold = _HOLD * float(curvature[curvature > 0].min(initial=1.0))
        quadratic += hold * (np.eye(n_kept) - telling @ telling.T)
    scale = 1 / np.sqrt(np.where(curvature > 0, curvature, 1.0))

    def measure(scaled: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = scaled * scale
        residual = problem.gap - differences.along(weights)
        held = quadratic @ weights
        loss = problem.weight @ np.logaddexp(0.0, residual) + weights @ held / 2
        return float(loss), (held - differences.pull(problem.weight * expit(residual))) * scale

    found = minimize(
        measure,
        start / scale,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0 if signed else None, None) for signed in problem.is_signed],
        options={"maxiter": 1_000, "maxcor": 20, "ftol": 1e-15, "gtol": _SLOPE},
    )
    weights, least = problem.project(found.x * scale), np.inf
    system, free, move = None, np.arange(n_kept), np.zeros(n_kept)
    for n_newton in range(_MAX_NEWTON_STEPS):
        residual = problem.gap - differences.along(weights)
        forces = problem.weight * expit(residual)
        # Not v - α, which loses its digits where nearly all of v pushes.
        tilt = forces * expit(-residual)
        slope = quadratic @ weights - differences.pull(forces)
        if system is not None and problem.l2 == 0:
            for _ in range(2):  # Newton steps after which the forces hold each other
                move[free] = system(differences.pull(forces)[free])
                forces = np.clip(forces - tilt * differences.along(move), 0.0, problem.weight)
        objective, bound = problem.objective(weights), problem.bound(forces, weights=weights)
        if objective - bound < least:
            least, best = objective - bound, (weights, bound)
        if n_newton and least <= _LOGISTIC_GOAL * max(1.0, objective):
            break
        free = np.flatnonzero(~(problem.is_signed & (weights <= 0) & (slope > 0)))
        curvature = differences.weighted_gram(tilt) + quadratic
        system = factor(curvature[np.ix_(free, free)], hold=_HELD) if free.size else None
        if system is None:
            break
        move = np.zeros(n_kept)
        move[free] = -system(slope[free])
        moved, most = problem.project(weights + move), objective + _ROUNDING * max(1.0, objective)
        while problem.objective(moved) > most and np.abs(move).max() > 0:
            move /= 2
            moved = problem.project(weights + move)
        weights = moved
    return *best, int(found.nit) + n_newton
