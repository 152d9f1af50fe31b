"""Solve the problem of a fit, with the proof that nothing is much better."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.rewards.solving.certificate import bound_of, objective_of
from voirdire.rewards.solving.hinge import smallest_hinge
from voirdire.rewards.solving.linear import smallest_linear
from voirdire.rewards.solving.logistic import smallest_logistic
from voirdire.rewards.solving.prepared import prepared
from voirdire.rewards.solving.problem import RankingSolution
from voirdire.rewards.solving.problem_checks import checked
from voirdire.rewards.solving.separation import separation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.solving.prepared import PreparedProblem
    from voirdire.rewards.solving.problem import RankingProblem

__all__ = ["solve"]

_GOAL = 1e-11
"""The gap that is aimed at: the last steps to it cost next to nothing."""
_ENOUGH = 1e-9
"""Where a start led into a corner and leaves more than this, the way is gone without it."""
_LOGISTIC_GOAL = 1e-12
"""Each Newton step doubles the digits."""


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
        If arrays do not fit each other, a number is not finite, or the loss is logistic, λ is 0 and
        the data are separable, so that ever larger weights are ever better.

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
    ready = prepared(checked(problem))
    own, objective, bound, n_steps = _solved(problem, ready, start)
    if start is not None and objective - bound > _ENOUGH * max(1.0, objective):
        own, objective, bound, n_steps = _solved(problem, ready, None)
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


def _solved(
    problem: RankingProblem, ready: PreparedProblem, start: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], float, float, int]:
    """Give weights of the kept features, objective, bound and steps."""
    if _is_at_rest(ready, problem):
        nothing = np.zeros(ready.kept.size)
        objective = objective_of(ready, nothing, loss=problem.loss)
        return nothing, objective, objective, 0
    if problem.loss == "logistic":
        _check_not_separable(problem)
        own = None if start is None else ready.weights(ready.coordinates(start))
        logistic = smallest_logistic(ready, goal=_LOGISTIC_GOAL, start=own)
        return logistic.weights, logistic.objective, logistic.bound, logistic.n_steps
    near = None if start is None else ready.coordinates(start)
    if ready.l2 == 0:
        linear = smallest_linear(ready, start=near)
        return linear.weights, linear.objective, linear.bound, linear.n_steps
    point = smallest_hinge(ready, l2=ready.l2, goal=_GOAL, start=near)
    weights = ready.weights(point.coordinates)
    bound = bound_of(ready, point.forces, weights=weights, loss="hinge")
    return weights, objective_of(ready, weights, loss="hinge"), bound, point.n_steps


def _is_at_rest(ready: PreparedProblem, problem: RankingProblem) -> bool:
    """Whether no weights can better weights of 0: no pair differs, or none loses anything."""
    if not (ready.gap.size and ready.reduced.n_features > ready.n_idle):
        return True
    return problem.loss == "hinge" and float(ready.gap.max()) <= 0


def _check_not_separable(problem: RankingProblem) -> None:
    if problem.l2 > 0:
        return
    kind = separation(problem)
    if kind != "none":
        which = "all" if kind == "complete" else "some"
        msg = (
            f"`l2` must be above 0 for the logistic loss here, got 0: some weights rank {which} "
            f"comparisons right and none wrong, so larger ones are always better. "
            f'Pass 0.01, or loss="hinge".'
        )
        raise InputError(msg)
