"""Which directions of weights the pairs say nothing of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.errors import InputError
from voirdire.rewards.solving.directions import null_directions, relative_to_linked
from voirdire.rewards.solving.problem_checks import checked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.solving.problem import RankingProblem

__all__ = ["loose_directions"]

_SINGLE = 1e-6
"""Differences as small as the rounding of numbers of single precision say nothing."""
_IN_GAUGE = 1e-5


def loose_directions(problem: RankingProblem, *, gauge: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the directions of weights that no pair tells anything of, beyond known ones.

    Parameters
    ----------
    problem : RankingProblem
        Its features, bounds, and the pairs that weigh more than 0 matter.
    gauge : ndarray of float, shape (n_gauge, n_features)
        Directions that are known to change nothing, such as adding the same to the weights of all
        completion classes. One that does change something is no gauge and is passed over.

    Returns
    -------
    ndarray of float, shape (n_loose, n_features)
        Orthonormal rows, each at right angles to the gauge, 0 for features held at 0. Each has its
        largest number, the first of them where several are as large, above 0.

    Raises
    ------
    InputError
        If arrays do not fit each other or a number is not finite.

    Examples
    --------
    The second feature is twice the first one, and no pair differs in the third:

    >>> import numpy as np
    >>> from voirdire.rewards.solving.problem import RankingProblem
    >>> problem = RankingProblem(
    ...     features=np.array([[1.0, 2.0, 5.0], [0.0, 0.0, 5.0]]),
    ...     better=np.array([0]),
    ...     worse=np.array([1]),
    ...     gap=np.array([1.0]),
    ...     weight=np.array([1.0]),
    ...     l2=0.0,
    ...     lower=np.full(3, -np.inf),
    ...     upper=np.full(3, np.inf),
    ... )
    >>> loose_directions(problem, gauge=np.zeros((0, 3))).shape
    (2, 3)
    >>> rows = loose_directions(problem, gauge=np.array([[0.0, 0.0, 1.0]]))
    >>> [round(float(value), 3) for value in rows[0]]
    [0.894, -0.447, 0.0]
    """
    checked(problem)
    n_features = problem.features.shape[1]
    if gauge.ndim != 2 or gauge.shape[1] != n_features:
        msg = f"`gauge` must have the shape (n, {n_features}), got {gauge.shape}."
        raise InputError(f"{msg} Pass a row per direction.")
    live = np.flatnonzero(problem.weight > 0)
    kept = np.flatnonzero(problem.lower < problem.upper)
    features = relative_to_linked(
        problem.features[:, kept], problem.better[live], problem.worse[live]
    )
    idle = np.zeros((n_features, 0))
    found = null_directions(features, tolerance=_SINGLE)
    if found.shape[1]:
        idle = np.zeros((n_features, found.shape[1]))
        idle[kept] = found
    return _signed(_beyond(idle, gauge).T)


def _beyond(idle: NDArray[np.float64], gauge: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take out of a space the part that a gauge lies in."""
    length = np.linalg.norm(gauge, axis=1)
    known = (gauge[length > 0] / length[length > 0, None]) @ idle
    known = known[np.linalg.norm(known, axis=1) > 1 - _IN_GAUGE]
    if not known.size:
        return idle
    _, sizes, axes = np.linalg.svd(known, full_matrices=True)
    n_known = int((sizes > _IN_GAUGE).sum())
    beyond: NDArray[np.float64] = idle @ axes[n_known:].T
    return beyond


def _signed(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn each direction so that its largest number is above 0."""
    size = np.abs(rows)
    at = np.argmax(size >= size.max(axis=1, keepdims=True, initial=0.0) * (1 - 1e-9), axis=1)
    sign = np.where(rows[np.arange(len(rows)), at] < 0, -1.0, 1.0) if len(rows) else np.ones(0)
    return rows * sign[:, None] + 0.0
