"""Find directions of weights that no pair determines, and data that some weights rank right."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

__all__ = ["find_idle_directions", "is_separable"]

_SINGLE = 1e-6
"""Differences as small as the rounding of single-precision numbers count as 0."""
_TIED = 1e-9
"""Differences that are smaller, relative to the largest, count as 0."""
_WRONG = 1e-7
"""A pair is ranked wrong from this angle on."""
_SAMPLE = 60
"""Pairs per weight in the first linear program, and the most that are added to it at once."""


def find_idle_directions(problem: RankingProblem) -> NDArray[np.float64]:
    """Find the directions of weights that no pair determines, as orthonormal columns.

    Only features whose bounds are not both 0, and pairs that weigh more than 0, matter.

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
    >>> find_idle_directions(problem).shape
    (3, 2)
    """
    live = np.flatnonzero(problem.weight > 0)
    kept = np.flatnonzero(problem.lower < problem.upper)
    features = subtract_linked(problem.features[:, kept], problem.better[live], problem.worse[live])
    directions = find_null_directions(features, tolerance=_SINGLE)
    idle = np.zeros((problem.features.shape[1], directions.shape[1]))
    idle[kept] = directions
    return idle


def is_separable(problem: RankingProblem) -> bool:
    """Tell whether some weights rank all pairs right.

    Parameters
    ----------
    problem : RankingProblem
        Its features, pairs, bounds, and which pairs weigh more than 0; gaps and λ do not
        matter.

    Returns
    -------
    bool
        Whether some weights within their bounds give every better item the higher score. A pair
        without any difference is never ranked right.

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
    >>> [is_separable(problem(0.5, other)) for other in (1.0, 0.0, -1.0)]
    [True, False, False]
    """
    from scipy.optimize import linprog

    live = np.flatnonzero(problem.weight > 0)
    better, worse = problem.better[live], problem.worse[live]
    kept = np.flatnonzero(problem.lower < problem.upper)
    features = subtract_linked(problem.features[:, kept], better, worse)
    span = np.abs(features).max(axis=0, initial=0.0)
    features = features / np.where(span > 0, span, 1.0)
    rows = Differences(features=features, better=better, worse=worse)
    lengths = rows.compute_lengths()
    if not (lengths > _TIED * lengths.max(initial=0.0)).all():
        return False
    # The weights of a cone may be scaled into a box.
    box = np.clip(np.array([problem.lower[kept], problem.upper[kept]]), -1.0, 1.0)
    order = renumber_order(kept, problem.order)
    bounds = write_bounds(np.zeros(kept.size, bool), order, 1 / np.where(span > 0, span, 1.0))
    n_pairs, n_features = lengths.size, rows.n_features
    ends = [*box.T.tolist(), [0.0, 1.0]]
    cost = -np.append(np.zeros(n_features), 1.0)  # maximise the least angle
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
        if least <= _WRONG:
            return False
        reached = rows.score_pairs(weights[:-1]) / lengths
        wrong = np.setdiff1d(np.flatnonzero(reached < least - _WRONG), sample)
        if not wrong.size:
            return True
        worst = wrong[np.argsort(reached[wrong], kind="stable")[: _SAMPLE * n_features]]
        sample = np.union1d(sample, worst)
