r"""Controls the false discovery rate over annotators, and over pooled questions.

Reject the i smallest p-values for the largest i with :math:`p_{(i)} \le i\,q / (m\,c)`, where
:math:`c = 1` for Benjamini-Hochberg [1]_ and :math:`c = H_m = \sum_{k\le m} 1/k` for
Benjamini-Yekutieli [2]_, which holds under any dependence.

References
----------
.. [1] Y. Benjamini and Y. Hochberg, "Controlling the False Discovery Rate", JRSS B 57(1), 1995.
.. [2] Y. Benjamini and D. Yekutieli, "The control of the false discovery rate in multiple testing
   under dependency", Annals of Statistics 29(4), 2001, Theorem 1.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import check_fraction

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def benjamini_yekutieli(
    p_values: ArrayLike, *, false_discovery_rate: float = 0.05
) -> NDArray[np.bool_]:
    """Return which hypotheses to reject at a false discovery rate, under any dependence.

    Parameters
    ----------
    p_values : array_like of float, shape (..., n_hypotheses)
        In [0, 1]. nan is a hypothesis that was not tested: it does not count and is never
        rejected. Leading axes are separate families.
    false_discovery_rate : float, optional
        The false discovery rate q, a fraction in (0, 1).

    Returns
    -------
    ndarray of bool, shape (..., n_hypotheses)
        True where the hypothesis is rejected.

    Raises
    ------
    InputError
        If `false_discovery_rate` is outside (0, 1).

    Examples
    --------
    >>> benjamini_yekutieli([0.001, 0.02, 0.3]).tolist()
    [True, False, False]
    """
    return _step_up(np.asarray(p_values, dtype=np.float64), false_discovery_rate, harmonic=True)


def benjamini_hochberg(
    p_values: ArrayLike, *, false_discovery_rate: float = 0.05
) -> NDArray[np.bool_]:
    """Return which hypotheses to reject, under independence or positive dependence.

    Parameters
    ----------
    p_values : array_like of float, shape (..., n_hypotheses)
        As in `benjamini_yekutieli`.
    false_discovery_rate : float, optional
        The false discovery rate q, a fraction in (0, 1).

    Returns
    -------
    ndarray of bool, shape (..., n_hypotheses)
        True where the hypothesis is rejected.

    Raises
    ------
    InputError
        If `false_discovery_rate` is outside (0, 1).

    Examples
    --------
    >>> benjamini_hochberg([0.001, 0.02, 0.3]).tolist()
    [True, True, False]
    """
    return _step_up(np.asarray(p_values, dtype=np.float64), false_discovery_rate, harmonic=False)


def adjust_p_values(p_values: ArrayLike, *, harmonic: bool = True) -> NDArray[np.float64]:
    r"""Adjust p-values after Benjamini-Yekutieli, nan staying nan: to reject at q, compare with q.

    They are :math:`\min_{k \ge i} p_{(k)} m H_m / k`, at most 1; without the harmonic sum
    :math:`H_m` they are those of Benjamini and Hochberg.

    >>> adjust_p_values([0.001, 0.02, 0.3]).round(4).tolist()
    [0.0055, 0.055, 0.55]
    >>> adjust_p_values([0.001, 0.02, 0.3], harmonic=False).round(4).tolist()
    [0.003, 0.03, 0.3]
    """
    p = np.asarray(p_values, dtype=np.float64)
    result = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    ranks = np.arange(1, len(order) + 1)
    raised = p[order] * len(order) * ((1 / ranks).sum() if harmonic else 1.0) / ranks
    result[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return result


def _step_up(p_values: NDArray[np.float64], rate: float, *, harmonic: bool) -> NDArray[np.bool_]:
    rate = check_fraction("false_discovery_rate", rate)
    if p_values.size == 0:
        return np.zeros(p_values.shape, dtype=np.bool_)
    tested = ~np.isnan(p_values)
    n_tested = np.count_nonzero(tested, axis=-1, keepdims=True)
    ranks = np.arange(1, p_values.shape[-1] + 1)
    penalty = np.concatenate([[1.0], np.cumsum(1 / ranks)])[n_tested] if harmonic else 1.0
    ordered = np.sort(np.where(tested, p_values, np.inf), axis=-1)
    below = ordered <= ranks * rate / (np.maximum(n_tested, 1) * penalty)
    threshold = np.where(below, ordered, -np.inf).max(axis=-1, keepdims=True)
    return tested & (p_values <= threshold)
