"""Find directions of weights that no pair determines, and data that have no optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from voirdire.rewards.solving.problem import (
    Differences,
    find_null_directions,
    renumber_order,
    subtract_linked,
    write_bounds,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.solving.problem import RankingProblem

__all__ = ["find_loose_directions", "find_separation"]

_SINGLE = 1e-6
"""Differences as small as the rounding of single-precision numbers count as 0."""
_IN_GAUGE = 1e-5
_TIED = 1e-9
"""Differences that are smaller, relative to the largest, count as 0."""
_WRONG = 1e-7
"""A pair is ranked wrong from this angle on, and right from ten times as much."""
_SAMPLE = 60
"""Pairs per weight in the first linear program, and the most that are added to it at once."""


def find_loose_directions(
    problem: RankingProblem, *, gauge: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Find the directions of weights that no pair determines, beyond known ones.

    Parameters
    ----------
    problem : RankingProblem
        Its features, bounds, and the pairs that weigh more than 0 matter.
    gauge : ndarray of float, shape (n_gauge, n_features)
        Directions that are known to change nothing, such as adding the same number to the weights
        of all completion classes. A direction that changes something is ignored.

    Returns
    -------
    ndarray of float, shape (n_loose, n_features)
        Orthonormal rows, each at right angles to the gauge, 0 for features whose bounds are both 0.
        The largest number of each (the first of several) is above 0.

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
    >>> find_loose_directions(problem, gauge=np.zeros((0, 3))).shape
    (2, 3)
    >>> rows = find_loose_directions(problem, gauge=np.array([[0.0, 0.0, 1.0]]))
    >>> [round(float(value), 3) for value in rows[0]]
    [0.894, -0.447, 0.0]
    """
    live = np.flatnonzero(problem.weight > 0)
    kept = np.flatnonzero(problem.lower < problem.upper)
    features = subtract_linked(problem.features[:, kept], problem.better[live], problem.worse[live])
    directions = find_null_directions(features, tolerance=_SINGLE)
    idle = np.zeros((problem.features.shape[1], directions.shape[1]))
    idle[kept] = directions
    return _fix_signs(_exclude_gauge(idle, gauge).T)


def _exclude_gauge(idle: NDArray[np.float64], gauge: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take the directions of the gauge out of a space."""
    length = np.linalg.norm(gauge, axis=1)
    in_gauge = (gauge[length > 0] / length[length > 0, None]) @ idle
    in_gauge = in_gauge[np.linalg.norm(in_gauge, axis=1) > 1 - _IN_GAUGE]
    if not in_gauge.size:
        return idle
    _, sizes, axes = np.linalg.svd(in_gauge, full_matrices=True)
    n_known = int((sizes > _IN_GAUGE).sum())
    beyond: NDArray[np.float64] = idle @ axes[n_known:].T
    return beyond


def _fix_signs(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn each direction so that its largest number is above 0."""
    size = np.abs(rows)
    at = np.argmax(size >= size.max(axis=1, keepdims=True, initial=0.0) * (1 - 1e-9), axis=1)
    sign = np.where(rows[np.arange(len(rows)), at] < 0, -1.0, 1.0) if len(rows) else np.ones(0)
    return rows * sign[:, None] + 0.0


def find_separation(problem: RankingProblem) -> Literal["complete", "quasi", "none"]:
    """Say whether some weights rank all pairs right, or some right and none wrong.

    Parameters
    ----------
    problem : RankingProblem
        Its features, pairs, bounds, and which pairs weigh more than 0; gaps, λ and the loss do not
        matter.

    Returns
    -------
    {"complete", "quasi", "none"}
        Complete: some weights within their bounds give every better item the higher score. Quasi:
        some give at least one better item the higher score, and none the lower score. None: all
        weights that rank a pair right rank another one wrong. A pair without any difference is
        never ranked right.

    Notes
    -----
    HiGHS solves a linear program over a sample of pairs. Pairs that its weights rank wrong are
    added until there are none. Differences of a billionth of the largest count as 0, and so do
    angles of a ten-millionth: the question is about strict inequalities, and numbers have 16
    digits.

    Examples
    --------
    >>> import numpy as np
    >>> from voirdire.rewards.solving.problem import RankingProblem
    >>> def problem(*differences):
    ...     rows = np.array([[0.0], *([value] for value in differences)])
    ...     n_pairs = len(differences)
    ...     return RankingProblem(
    ...         features=rows,
    ...         better=np.arange(1, n_pairs + 1),
    ...         worse=np.zeros(n_pairs, int),
    ...         gap=np.ones(n_pairs),
    ...         weight=np.ones(n_pairs) / n_pairs,
    ...         l2=0.0,
    ...         lower=np.array([-np.inf]),
    ...         upper=np.array([np.inf]),
    ...     )
    >>> kinds = [find_separation(problem(0.5, other)) for other in (1.0, 0.0, -1.0)]
    >>> kinds
    ['complete', 'quasi', 'none']
    """
    live = np.flatnonzero(problem.weight > 0)
    better, worse = problem.better[live], problem.worse[live]
    kept = np.flatnonzero(problem.lower < problem.upper)
    features = subtract_linked(problem.features[:, kept], better, worse)
    span = np.abs(features).max(axis=0, initial=0.0)
    features = features / np.where(span > 0, span, 1.0)
    lengths = Differences(features=features, better=better, worse=worse).compute_lengths()
    differs = lengths > _TIED * lengths.max(initial=0.0)
    rows = Differences(features=features, better=better[differs], worse=worse[differs])
    # The weights of a cone may be scaled into a box.
    box = np.clip(np.array([problem.lower[kept], problem.upper[kept]]), -1.0, 1.0)
    order = renumber_order(kept, problem.order)
    bounds = write_bounds(np.zeros(kept.size, bool), order, 1 / np.where(span > 0, span, 1.0))
    cone: dict[str, Any] = {"box": box, "bounds": bounds}
    if not (differs.any() and _can_rank(rows, lengths[differs], all_right=False, **cone)):
        return "none"
    is_complete = differs.all() and _can_rank(rows, lengths, all_right=True, **cone)
    return "complete" if is_complete else "quasi"


def _can_rank(
    rows: Differences,
    lengths: NDArray[np.float64],
    *,
    box: NDArray[np.float64],
    bounds: NDArray[np.float64],
    all_right: bool,
) -> bool:
    """Whether weights in a box and bounds rank no pair wrong and at least one, or all, right."""
    from scipy.optimize import linprog

    n_pairs, n_features = lengths.size, rows.n_features
    ends = [*box.T.tolist(), [0.0, float(all_right)]]
    # Maximise the least angle, or else the mean one.
    mean = rows.weigh_pairs(1 / lengths) / n_pairs
    cost = -np.append(np.zeros(n_features) if all_right else mean, float(all_right))
    sample = np.unique(np.linspace(0, n_pairs - 1, _SAMPLE * n_features).astype(np.int64))
    while True:
        angles = rows.write_columns(sample) / lengths[sample]
        result = linprog(
            cost,
            A_ub=np.column_stack(
                [
                    -np.vstack([angles.T, bounds]),
                    np.arange(sample.size + len(bounds)) < sample.size,
                ]
            ),
            b_ub=np.zeros(sample.size + len(bounds)),
            bounds=ends,
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if result.x is None:  # the solver gave up, which proves nothing
            return False
        weights = np.asarray(result.x)
        least = float(weights[-1])
        if all_right and least <= _WRONG:
            return False
        reached = rows.score_pairs(weights[:-1]) / lengths
        wrong = np.setdiff1d(np.flatnonzero(reached < least - _WRONG), sample)
        if not wrong.size:
            return all_right or bool(reached.max() > 10 * _WRONG)
        worst = wrong[np.argsort(reached[wrong], kind="stable")[: _SAMPLE * n_features]]
        sample = np.union1d(sample, worst)
