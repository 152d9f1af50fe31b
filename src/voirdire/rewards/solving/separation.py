r"""Whether some weights rank every pair right.

Forces that hold each other, :math:`D^\top\alpha = 0`, prove of each pair that pushes: no weights
that rank none wrong rank it right, because :math:`\alpha\cdot Dw = 0` with no term below 0. Such
weights must therefore lie where these pairs are tied, and there the others are looked at again, in
fewer dimensions, until all that are left can be ranked right at once, or none is left. A bound is
one more row: the weight itself, which must not be below 0 either.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from voirdire.rewards.solving.differences import Differences
from voirdire.rewards.solving.directions import null_directions, relative_to_linked
from voirdire.rewards.solving.linear import smallest_linear
from voirdire.rewards.solving.prepared import prepared
from voirdire.rewards.solving.problem import RankingProblem
from voirdire.rewards.solving.problem_checks import checked

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["separation"]

_TIED = 1e-9
"""Differences that are smaller, relative to the largest, are none."""
_ROUNDING = 1e-12
"""What turning leaves where there should be 0, of features between -1 and 1."""
_PUSHES = 1e-6
"""Forces above this share of a pair's weight push."""
_SAMPLE = 60
"""Pairs per weight that are looked at first: forces among them prove the same beside all others."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Rows:
    """What must not be below 0: differences of pairs, and after them weights with a bound."""

    differences: Differences
    n_pairs: int
    shortest: float = 0.0
    lengths: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def measured(self) -> _Rows:
        """Know how long each row is in the space that is left."""
        columns = self.differences.columns(slice(None))
        lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns))
        shortest = self.shortest or _TIED * float(lengths.max(initial=0.0))
        return replace(self, lengths=lengths, shortest=shortest)

    def tied(self, pushing: NDArray[np.int64]) -> _Rows:
        """Keep to the directions in which rows that push are 0."""
        rows = self.differences
        linked = relative_to_linked(rows.features, rows.better[pushing], rows.worse[pushing])
        linked[np.abs(linked) < _ROUNDING] = 0.0
        directions = null_directions(linked, tolerance=_TIED)
        features = relative_to_linked(rows.features @ directions, rows.better, rows.worse)
        features[np.abs(features) < _ROUNDING] = 0.0
        return replace(self, differences=replace(rows, features=features)).measured()


def separation(problem: RankingProblem) -> Literal["complete", "quasi", "none"]:
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
        some give it to at least one, and the lower score to none. None: every other weights rank a
        pair wrong. A pair without any difference is never ranked right.

    Raises
    ------
    InputError
        If arrays do not fit each other or a number is not finite.

    Notes
    -----
    Differences that are a billionth of the largest count as none, and so do angles: this is a
    question of sharp inequalities, answered in numbers with 16 digits.

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
    >>> separation(problem(0.5, 1.0)), separation(problem(0.5, 0.0)), separation(problem(0.5, -1))
    ('complete', 'quasi', 'none')
    """
    rows = _rows(checked(problem))
    is_first = True
    while True:
        differing = np.flatnonzero(rows.lengths > rows.shortest)
        n_differing = int(np.searchsorted(differing, rows.n_pairs))
        if not n_differing:
            return "none"
        n_few = _SAMPLE * rows.differences.n_features
        is_sampled = is_first and n_differing > 2 * n_few
        is_first = False
        looked_at = differing
        if is_sampled:
            few = np.linspace(0, n_differing - 1, n_few).astype(np.int64)
            looked_at = differing[np.concatenate([few, np.arange(n_differing, differing.size)])]
        pushing = _pushing(rows, looked_at)
        if pushing.size:
            rows = rows.tied(pushing)
        elif not is_sampled:
            return "complete" if n_differing == rows.n_pairs else "quasi"


def _rows(problem: RankingProblem) -> _Rows:
    live = np.flatnonzero(problem.weight > 0)
    better, worse = problem.better[live], problem.worse[live]
    kept = np.flatnonzero(problem.lower < problem.upper)
    sign = np.where(problem.upper[kept] == 0, -1.0, 1.0)
    is_signed = (problem.upper[kept] == 0) | (problem.lower[kept] == 0)
    features = relative_to_linked(problem.features[:, kept] * sign, better, worse)
    span = np.abs(features).max(axis=0, initial=0.0)
    features = features / np.where(span > 0, span, 1.0)
    bounds = np.eye(kept.size)[is_signed]
    n_items = len(features)
    differences = Differences(
        features=np.vstack([features, bounds, np.zeros((1, kept.size))]),
        better=np.concatenate([better, n_items + np.arange(len(bounds))]),
        worse=np.concatenate([worse, np.full(len(bounds), n_items + len(bounds))]),
    )
    return _Rows(differences=differences, n_pairs=better.size).measured()


def _pushing(rows: _Rows, looked_at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find rows that push among some; none where all of these can be above 0 at once."""
    differences, n_features = rows.differences, rows.differences.n_features
    ready = prepared(
        RankingProblem(
            features=differences.features,
            better=differences.better[looked_at],
            worse=differences.worse[looked_at],
            gap=rows.lengths[looked_at],
            weight=np.full(looked_at.size, 1 / looked_at.size),
            l2=0.0,
            lower=np.full(n_features, -np.inf),
            upper=np.full(n_features, np.inf),
        )
    )
    point = smallest_linear(ready)
    reached = ready.differences.along(point.weights)
    if (reached > _TIED * ready.gap * float(np.linalg.norm(point.weights))).all():
        return looked_at[:0]
    # Where nothing pushes either, nothing speaks against weights that put all of them above 0.
    return looked_at[point.forces > _PUSHES * ready.weight]
