"""The convex problem that a fit solves, as arrays, and what its solution says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from voirdire._types import Loss

__all__ = ["RankingProblem", "RankingSolution"]


@dataclass(frozen=True, kw_only=True, eq=False)
class RankingProblem:
    r"""Comparisons whose better side is to get the higher score.

    Minimise :math:`\sum_k v_k\,\ell(c_k - d_k \cdot w) + \frac{\lambda}{2}\lVert w\rVert^2` over
    the weights w within their bounds, where :math:`d_k` is the better item's features less the
    worse one's, and :math:`\ell(x) = \max(0, x)` (hinge) or :math:`\log(1 + e^x)` (logistic).

    Attributes
    ----------
    features : ndarray of float, shape (n_items, n_features)
        Finite.
    better, worse : ndarray of int, shape (n_pairs,)
        Rows of `features`.
    gap : ndarray of float, shape (n_pairs,)
        c: the margin less what the base reward already gives.
    weight : ndarray of float, shape (n_pairs,)
        v, at least 0; adds up to 1.
    l2 : float
        λ, at least 0.
    lower, upper : ndarray of float, shape (n_features,)
        Bounds of w: each is -inf, 0 or inf.
    loss : {"hinge", "logistic"}
        Which.
    """

    features: NDArray[np.float64] = field(repr=False)
    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)
    gap: NDArray[np.float64] = field(repr=False)
    weight: NDArray[np.float64] = field(repr=False)
    l2: float
    lower: NDArray[np.float64] = field(repr=False)
    upper: NDArray[np.float64] = field(repr=False)
    loss: Loss = "hinge"


@dataclass(frozen=True, kw_only=True, eq=False)
class RankingSolution:
    """Weights with the proof that nothing is much better.

    Attributes
    ----------
    weights : ndarray of float, shape (n_features,)
        Within their bounds. Of several optima the one of least norm, so that directions in which
        no comparison differs get nothing.
    objective : float
        What they reach.
    bound : float
        A lower bound of what any weights reach, from a feasible point of the dual.
    n_iterations : int
        Newton steps.
    """

    weights: NDArray[np.float64]
    objective: float
    bound: float
    n_iterations: int

    @property
    def gap(self) -> float:
        """How far the weights can be from the optimum, at most: at least 0."""
        return max(0.0, self.objective - self.bound)
