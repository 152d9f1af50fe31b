"""The logistic loss: Newton's method within bounds.

The loss bends everywhere, so a handful of Newton steps over all pairs reach it. A weight that a
step takes below its bound is put there, and one that lies there and would go below stays out of the
system [1]_. A step that goes too far is halved until the loss falls.

References
----------
.. [1] D. P. Bertsekas, "Projected Newton methods for optimization problems with simple
   constraints", SIAM Journal on Control and Optimization 20(2), 1982. :doi:`10.1137/0320018`
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from voirdire.rewards.solving.certificate import bound_of, objective_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.solving.prepared import PreparedProblem

__all__ = ["LogisticPoint", "smallest_logistic"]

_MAX_STEPS = 200
_MAX_HALVINGS = 50
_ENOUGH = 1e-4
"""Of the fall that the slope promises, the share that a step must bring."""
_HOLD = 1e-9
"""Without λ, what keeps weights small in directions in which no pair differs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LogisticPoint:
    """An optimum with its proof.

    Attributes
    ----------
    weights : ndarray of float, shape (n_kept,)
        Within their bounds.
    objective, bound : float
        What the weights reach, and what none can go below.
    n_steps : int
        Newton steps.
    """

    weights: NDArray[np.float64] = field(repr=False)
    objective: float
    bound: float
    n_steps: int


def smallest_logistic(
    problem: PreparedProblem, *, goal: float, start: NDArray[np.float64] | None = None
) -> LogisticPoint:
    """Minimise the logistic loss.

    Parameters
    ----------
    problem : PreparedProblem
        At least one pair and one coordinate; not separable where λ is 0.
    goal : float
        Gap at which to stop, relative to the objective where that is above 1.
    start : ndarray of float, shape (n_kept,), optional
        Weights near the optimum.

    Returns
    -------
    LogisticPoint
        The optimum, as near as rounding allows.
    """
    newton = _Newton(problem)
    weights = np.zeros(problem.kept.size) if start is None else start
    best = newton.point(weights)
    while best.objective - best.bound > goal * max(1.0, best.objective):
        if newton.n_steps >= _MAX_STEPS or not newton.step():
            break
        found = newton.point(newton.weights)
        best = found if found.objective - found.bound < best.objective - best.bound else best
    return best


class _Newton:
    def __init__(self, problem: PreparedProblem) -> None:
        self.problem = problem
        self.n_steps = 0
        n_kept = problem.kept.size
        self.quadratic = problem.l2 * np.eye(n_kept)
        if problem.l2 == 0 and problem.basis is not None:
            telling = problem.basis[:, : problem.basis.shape[1] - problem.n_idle]
            self.quadratic += _HOLD * (np.eye(n_kept) - telling @ telling.T)

    def point(self, weights: NDArray[np.float64]) -> LogisticPoint:
        """Look at weights: their loss and slope, and the proof that their forces give."""
        problem = self.problem
        self.weights = weights
        residual = problem.gap - problem.differences.along(weights)
        forces = problem.weight * expit(residual)
        # Not v - α, which loses its digits where nearly all of v pushes.
        self.tilt = forces * expit(-residual)
        self.slope = self.quadratic @ weights - problem.differences.pull(forces)
        self.objective = objective_of(problem, weights, loss="logistic")
        is_held = problem.is_signed & (weights <= 0) & (self.slope > 0)
        self.free = np.flatnonzero(~is_held)
        curvature = problem.differences.weighted_gram(self.tilt) + self.quadratic
        self.factor, self.scale = _factored(curvature[np.ix_(self.free, self.free)])
        if problem.l2 == 0:
            forces = self._balanced(forces)
        return LogisticPoint(
            weights=weights,
            objective=self.objective,
            bound=bound_of(problem, forces, weights=weights, loss="logistic"),
            n_steps=self.n_steps,
        )

    def step(self) -> bool:
        """Go a Newton step, or a part of it; False where no part of it lowers the loss."""
        problem, length = self.problem, 1.0
        direction = np.zeros(self.weights.size)
        direction[self.free] = -self._solved(self.slope[self.free])
        for _ in range(_MAX_HALVINGS):
            moved = self.weights + length * direction
            moved = np.where(problem.is_signed, np.maximum(moved, 0.0), moved)
            promised = float(self.slope @ (self.weights - moved))
            reached = self._smoothed(moved)
            if reached < self._smoothed(self.weights) - _ENOUGH * max(promised, 0.0):
                self.n_steps += 1
                self.weights = moved
                return True
            length /= 2
        return False

    def _smoothed(self, weights: NDArray[np.float64]) -> float:
        """Give the loss with what holds idle directions."""
        held = weights @ self.quadratic @ weights - self.problem.l2 * (weights @ weights)
        return objective_of(self.problem, weights, loss="logistic") + float(held) / 2

    def _solved(self, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
        solved: NDArray[np.float64] = self.scale * cho_solve(
            (self.factor, True), self.scale * wanted, check_finite=False
        )
        return solved

    def _balanced(self, forces: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shift forces so that they hold each other without λ, a Newton step at a time."""
        problem = self.problem
        for _ in range(2):
            shift = np.zeros(problem.kept.size)
            shift[self.free] = self._solved(problem.differences.pull(forces)[self.free])
            forces = forces - self.tilt * problem.differences.along(shift)
            forces = np.clip(forces, 0.0, problem.weight)
        return forces


def _factored(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Factor a matrix with its diagonal scaled to ones, which features of any scale allow."""
    scale = 1 / np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
    scaled = matrix * scale * scale[:, None]
    # What rounding can take from the least eigenvalue; steps are halved where it is too much.
    scaled[np.diag_indices_from(scaled)] += 1e-14
    return cho_factor(scaled, lower=True, check_finite=False)[0], scale
