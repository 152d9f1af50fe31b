"""Solve the problem of a fit, with a lower bound that proves how good the weights are."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from voirdire.errors import DegenerateDataWarning
from voirdire.rewards.solving.hinge import minimize_hinge
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


def _minimize(
    problem: PreparedProblem, start: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], float, int]:
    """Return weights of the kept features, the lower bound and the number of steps."""
    differs = problem.gap.size > 0 and problem.reduced.n_features > problem.n_idle
    if not differs or float(problem.gap.max()) <= 0:
        nothing = np.zeros(problem.kept.size)  # no weights do better than zeros
        return nothing, problem.compute_objective(nothing), 0
    near = None if start is None else problem.to_coordinates(start)
    if problem.l2 == 0:
        return minimize_linear(problem, start=near)
    point = minimize_hinge(problem, l2=problem.l2, goal=_GOAL, start=near)
    weights = problem.to_weights(point.coordinates)
    return weights, problem.compute_bound(point.duals, weights=weights), point.n_steps
