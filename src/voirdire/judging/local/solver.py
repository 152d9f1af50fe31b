r"""Logistic classifiers of many questions at once, from inner products of items.

For every question the scores :math:`f = K a + b` minimise

.. math:: \tfrac12 a^\top K a + C \sum_i w_i \ell(y_i, f_i), \qquad
   \ell(y, f) = \log(1 + e^{f}) - y f,

over :math:`a` and the free intercept :math:`b`. The loss lies below a parabola of curvature
:math:`w/4` [1]_, so each step solves a linear system whose matrix is the same in every step and for
every question: it is inverted once. Steps are accelerated [2]_.

References
----------
.. [1] D. Böhning and B. G. Lindsay, "Monotonicity of quadratic-approximation algorithms", Annals
   of the Institute of Statistical Mathematics 40(4), 1988.
.. [2] Y. Nesterov, "A method for solving the convex programming problem with convergence rate
   O(1/k^2)", Doklady AN SSSR 269, 1983.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

__all__ = ["Classifiers", "fit_classifiers"]

_MOST_STEPS = 200
_CLOSE = 1e-3
_LEAST_SHARE = 0.005
_NO_WEIGHT = 1e-9


@dataclass(frozen=True, kw_only=True)
class Classifiers:
    """One classifier per question, by what each training item adds to it.

    Attributes
    ----------
    shares : ndarray of float64, shape (n_items, n_questions)
        :math:`a`: the multiple of each training item in the weights.
    intercepts : ndarray of float64, shape (n_questions,)
        :math:`b`.
    """

    shares: Matrix
    intercepts: Matrix

    def scores(self, products: Matrix) -> Matrix:
        """Score items by their inner products with the training items, shape (n, n_items)."""
        return np.asarray(products @ self.shares + self.intercepts)


def fit_classifiers(products: Matrix, targets: Matrix, *, weights: Matrix, c: float) -> Classifiers:
    """Fit all questions of one set of items.

    Parameters
    ----------
    products : ndarray, shape (n_items, n_items)
        Inner products of the items.
    targets : ndarray, shape (n_items, n_questions)
        In [0, 1]; nan is a missing label.
    weights : ndarray, shape (n_items,)
        How much each item counts, above 0.
    c : float
        Above 0: the larger, the closer the fit.

    Returns
    -------
    Classifiers
        Each question has items only where its labels are not missing.
    """
    known = np.isfinite(targets)
    y = np.where(known, targets, 0.0)
    w = np.where(known, weights[:, None], 0.0)
    ridge = 4 / (c * np.maximum(weights, _NO_WEIGHT))
    inverse = np.linalg.inv(products + np.diag(ridge))
    column = inverse.sum(axis=1)
    relative = w / np.maximum(weights, _NO_WEIGHT)[:, None]
    share = (w * y).sum(axis=0) / np.maximum(w.sum(axis=0), _NO_WEIGHT)
    share = np.clip(share, _LEAST_SHARE, 1 - _LEAST_SHARE)
    intercepts = np.log(share / (1 - share))
    scores = last = np.tile(intercepts, (len(y), 1))
    shares = np.zeros_like(y)
    pace = 1.0
    for _ in range(_MOST_STEPS):
        next_pace = (1 + np.sqrt(1 + 4 * pace * pace)) / 2
        ahead = scores + (pace - 1) / next_pace * (scores - last)
        pace = next_pace
        wanted = ahead + 4 * relative * (y - _sigmoid(ahead))
        solved = inverse @ wanted
        intercepts = solved.sum(axis=0) / column.sum()
        shares = solved - column[:, None] * intercepts
        last, scores = scores, wanted - ridge[:, None] * shares
        if np.abs(scores - last).max() < _CLOSE:
            break
    return Classifiers(shares=shares, intercepts=intercepts)


def _sigmoid(scores: Matrix) -> Matrix:
    return np.asarray(0.5 * (1 + np.tanh(scores / 2)))
