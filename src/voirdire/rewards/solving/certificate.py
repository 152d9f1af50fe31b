r"""What proves that weights are near the optimum.

For any forces :math:`0 \le \alpha \le v` and any weights w within their bounds,

.. math:: \sum_k v_k\,\ell(c_k - d_k w) + \frac{\lambda}{2}\lVert w\rVert^2 \ \ge\
   \alpha\cdot c + h(\alpha) - w\cdot D^\top\alpha + \frac{\lambda}{2}\lVert w\rVert^2,

where h is 0 for the hinge, and the entropy of α beside v - α for the logistic loss. The least that
the right side can be is a bound that nobody has to take on trust: with λ above 0 it is
:math:`\alpha c + h(\alpha) - \lVert p\rVert^2/2\lambda`, where p is :math:`D^\top\alpha` without
what presses against a bound. Without λ it is finite only where p = 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire._types import Loss
    from voirdire.rewards.solving.prepared import PreparedProblem

__all__ = ["REACH", "bound_of", "objective_of", "residual_force"]

REACH = 1e4
"""Without λ, p is 0 only to rounding. The bound then holds for all weights that let no feature
contribute more to a reward than this many times the largest contribution found (at least 1)."""


def objective_of(problem: PreparedProblem, weights: NDArray[np.float64], *, loss: Loss) -> float:
    """Give what weights of the kept features reach.

    Parameters
    ----------
    problem : PreparedProblem
        What is minimised.
    weights : ndarray of float, shape (n_kept,)
        Within their bounds.
    loss : {"hinge", "logistic"}
        Which.

    Returns
    -------
    float
        Loss and λ's term together.
    """
    residual = problem.gap - problem.differences.along(weights)
    each = np.maximum(residual, 0.0) if loss == "hinge" else np.logaddexp(0.0, residual)
    return float(problem.weight @ each + problem.l2 / 2 * (weights @ weights))


def residual_force(problem: PreparedProblem, forces: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give what of Dᵀα no bound holds.

    Parameters
    ----------
    problem : PreparedProblem
        Whose pairs push.
    forces : ndarray of float, shape (n_pairs,)
        α in [0, v].

    Returns
    -------
    ndarray of float, shape (n_kept,)
        p: a push downwards against a bound is left out.
    """
    push = problem.differences.pull(forces)
    return np.where(problem.is_signed, np.maximum(push, 0.0), push)


def bound_of(
    problem: PreparedProblem,
    forces: NDArray[np.float64],
    *,
    weights: NDArray[np.float64],
    loss: Loss,
) -> float:
    """Give what no weights can go below.

    Parameters
    ----------
    problem : PreparedProblem
        What is minimised.
    forces : ndarray of float, shape (n_pairs,)
        α in [0, v].
    weights : ndarray of float, shape (n_kept,)
        What was found: read without λ only, see `REACH`.
    loss : {"hinge", "logistic"}
        Which.

    Returns
    -------
    float
        At least 0, which is below every loss.
    """
    left = residual_force(problem, forces)
    value = float(forces @ problem.gap)
    if loss == "logistic":
        slack = problem.weight - forces
        value -= float(
            (xlogy(forces, forces / problem.weight) + xlogy(slack, slack / problem.weight)).sum()
        )
    if problem.l2 > 0:
        lost = float(left @ left) / (2 * problem.l2)
    else:
        lost = REACH * float(np.abs(left) @ _contributed(problem, weights))
    return max(0.0, value - lost)


def _contributed(problem: PreparedProblem, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the weights with which every feature would contribute as much as the strongest."""
    span = np.abs(problem.differences.features).max(axis=0)
    most = max(1.0, float((np.abs(weights) * span).max()))
    return np.where(span > 0, most / np.where(span > 0, span, 1.0), 0.0)
