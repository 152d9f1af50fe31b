r"""The convex problem that a fit solves, the form that the solvers work on, and its lower bound.

For any dual variables :math:`0 \le \alpha \le v` and any weights w within their bounds,

.. math:: \sum_k v_k\,\ell(c_k - d_k w) + \frac{\lambda}{2}\lVert w\rVert^2 \ \ge\
   \alpha\cdot c - w\cdot D^\top\alpha + \frac{\lambda}{2}\lVert w\rVert^2,

where :math:`\ell(x) = \max(0, x)`. The least value of the right side is a lower bound of the
optimum that anyone can check: with λ above 0 it is
:math:`\alpha c - \lVert p\rVert^2/2\lambda`, where p is :math:`D^\top\alpha` without the part that
points out of the bounds. Without λ it is finite only where p = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AT_ONCE = 1 << 12
"""Pairs whose differences are weighted in one piece: it stays in the processor's cache."""
_ROUNDING = 1e-12
"""Differences of this length, relative to all differences of the features, are rounding; so are
weights at a bound, relative to the largest."""
_SINGLE = 1e-6
"""Differences as small as the rounding of single-precision numbers count as 0."""
_SUSPECT = 1e-4
"""Directions whose squared length is less, beside columns of length 1, are looked at closely."""
_REACH = 1e4
"""Without λ, p is 0 only to rounding. The bound then holds for all weights that let no feature
contribute more to a reward than this many times the largest contribution found (at least 1)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RankingProblem:
    r"""Comparisons whose better side is to get the higher score.

    Minimise :math:`\sum_k v_k\,\ell(c_k - d_k \cdot w) + \frac{\lambda}{2}\lVert w\rVert^2` over
    the weights w within their bounds, where :math:`d_k` is the better item's features less the
    worse one's, and :math:`\ell(x) = \max(0, x)`, the hinge.

    Attributes
    ----------
    features : ndarray of float, shape (n_items, n_features)
        Finite.
    better, worse : ndarray of int, shape (n_pairs,)
        Rows of `features`.
    gap : ndarray of float, shape (n_pairs,)
        c: the margin less what the base reward already gives; finite.
    weight : ndarray of float, shape (n_pairs,)
        v, at least 0; adds up to 1.
    l2 : float
        λ, at least 0.
    lower, upper : ndarray of float, shape (n_features,)
        Bounds of w: each is -inf, 0 or inf.
    order : tuple of (int, int)
        Features of which the first is to have at least the weight of the second, the highest ones
        first.
    """

    features: NDArray[np.float64] = field(repr=False)
    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)
    gap: NDArray[np.float64] = field(repr=False)
    weight: NDArray[np.float64] = field(repr=False)
    l2: float
    lower: NDArray[np.float64] = field(repr=False)
    upper: NDArray[np.float64] = field(repr=False)
    order: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class RankingSolution:
    """Weights with the proof that nothing is much better.

    Attributes
    ----------
    weights : ndarray of float, shape (n_features,)
        Within their bounds. Of several optima the one of least norm, so that directions in which
        no comparison differs get nothing.
    objective : float
        The value of the objective at these weights.
    bound : float
        A lower bound of the objective for any weights, from a feasible point of the dual.
    """

    weights: NDArray[np.float64]
    objective: float
    bound: float

    @property
    def gap(self) -> float:
        """How far the objective can be from the optimum, at most: at least 0."""
        return max(0.0, self.objective - self.bound)


@dataclass(frozen=True, kw_only=True, eq=False)
class Differences:
    """The matrix D of a problem, a row per pair: the better item's features less the worse one's.

    There are many more pairs than items, so a pass over all pairs goes through the items: scores
    are computed per item and looked up per pair, and duals of pairs are first added up per item.
    """

    features: NDArray[np.float64] = field(repr=False)
    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)

    @property
    def n_features(self) -> int:
        """How many columns D has."""
        return int(self.features.shape[1])

    def score_pairs(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute Dw: how much higher each better item scores."""
        scores = self.features @ weights
        difference: NDArray[np.float64] = scores.take(self.better)
        difference -= scores.take(self.worse)
        return difference

    def weigh_pairs(self, duals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute Dᵀα: the rows of the pairs, weighted by their duals and added up."""
        n_items = self.features.shape[0]
        per_item = np.bincount(self.better, duals, n_items)
        per_item -= np.bincount(self.worse, duals, n_items)
        pulled: NDArray[np.float64] = per_item @ self.features
        return pulled

    def write_columns(self, chosen: NDArray[np.int64] | slice) -> NDArray[np.float64]:
        """Write out Dᵀ for some pairs: a row per feature, so that long rows lie together."""
        features = self.features
        rows = features.take(self.better[chosen], axis=0)
        rows -= features.take(self.worse[chosen], axis=0)
        return np.ascontiguousarray(rows.T)


def compute_weighted_gram(
    columns: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute DᵀΘD of a transposed D that is written out; symmetric to the last bit."""
    root = np.sqrt(weights)
    gram = np.zeros((columns.shape[0],) * 2)
    for begin in range(0, root.size, _AT_ONCE):
        piece = slice(begin, begin + _AT_ONCE)
        weighted = columns[:, piece] * root[piece]
        gram += weighted @ weighted.T
    return gram


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedProblem:
    """Pairs with a weight above 0, and features whose weights are free or at least 0.

    The solver's coordinates y leave out the directions in which no pair differs: the weights are
    `basis` y where there are such directions, and y itself where there are none. Along these
    directions the weights of least norm are 0. A direction stays in y where a bound restricts it.

    Attributes
    ----------
    differences : Differences
        D of the kept features; a feature whose weight is at most 0 has its sign changed.
    reduced : Differences
        D in the coordinates y.
    gap, weight : ndarray of float, shape (n_pairs,)
        c, and v above 0.
    l2 : float
        λ, at least 0.
    is_signed : ndarray of bool, shape (n_kept,)
        Which weights must be at least 0.
    order : tuple of (int, int)
        Kept features of which the first has at least the weight of the second.
    basis : ndarray of float, shape (n_kept, n_coordinates), or None
        Orthonormal; None for the identity.
    n_idle : int
        How many coordinates, the last ones, change no pair.
    kept : ndarray of int, shape (n_kept,)
        Places of the features in the problem that was given.
    sign : ndarray of float, shape (n_kept,)
        1, or -1 where the sign was changed.
    n_given : int
        Features of the problem that was given.
    """

    differences: Differences = field(repr=False)
    reduced: Differences = field(repr=False)
    gap: NDArray[np.float64] = field(repr=False)
    weight: NDArray[np.float64] = field(repr=False)
    l2: float
    is_signed: NDArray[np.bool_] = field(repr=False)
    order: tuple[tuple[int, int], ...] = field(repr=False)
    basis: NDArray[np.float64] | None = field(repr=False)
    n_idle: int
    kept: NDArray[np.int64] = field(repr=False)
    sign: NDArray[np.float64] = field(repr=False)
    n_given: int

    @cached_property
    def bounds(self) -> NDArray[np.float64]:
        """Rows B with Bw at least 0: bounds and order of the weights of the kept features."""
        return write_bounds(self.is_signed, self.order, self.sign)

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Rows E with Ey at least 0: the bounds in the solver's coordinates."""
        return self.bounds if self.basis is None else self.bounds @ self.basis

    def to_weights(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn y into weights of the kept features, exactly within their bounds and in order."""
        full = coordinates if self.basis is None else self.basis @ coordinates
        least = _ROUNDING * np.abs(full).max(initial=0.0)
        full = np.where(self.is_signed & (full < least), 0.0, full)
        for high, low in self.order:
            full[low] = self.sign[low] * min(
                full[low] * self.sign[low], full[high] * self.sign[high]
            )
        return full

    def to_coordinates(self, given: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn weights of all features of the problem that was given into y."""
        own = given[self.kept] * self.sign
        return own if self.basis is None else own @ self.basis

    def to_given_weights(self, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn weights of the kept features into those of all features."""
        given = np.zeros(self.n_given)
        given[self.kept] = own * self.sign + 0.0  # adding 0 turns -0 into 0
        return given

    def compute_objective(self, weights: NDArray[np.float64]) -> float:
        """Compute the loss at weights of the kept features, with the term of λ."""
        residual = self.gap - self.differences.score_pairs(weights)
        loss = self.weight @ np.maximum(residual, 0.0)
        return float(loss + self.l2 / 2 * (weights @ weights))

    def compute_bound(self, duals: NDArray[np.float64], *, weights: NDArray[np.float64]) -> float:
        """Compute the lower bound; it depends on `weights` only without λ, see `_REACH`."""
        push = self.differences.weigh_pairs(duals)
        outside = np.where(self.is_signed, np.maximum(push, 0.0), push)
        if self.order:  # any multipliers of bounds and order give a bound; these give the best one
            outside = push + nnls(self.bounds.T, -push)[0] @ self.bounds
        value = float(duals @ self.gap)
        if self.l2 > 0:
            lost = float(outside @ outside) / (2 * self.l2)
        else:
            span = np.abs(self.differences.features).max(axis=0)
            most = max(1.0, float((np.abs(weights) * span).max()))
            contributing = np.where(span > 0, most / np.where(span > 0, span, 1.0), 0.0)
            lost = _REACH * float(np.abs(outside) @ contributing)
        return max(0.0, value - lost)


def prepare_problem(problem: RankingProblem) -> PreparedProblem:
    """Bring a problem into the solvers' form."""
    live = np.flatnonzero(problem.weight > 0)
    better, worse = problem.better[live], problem.worse[live]
    kept = np.flatnonzero(problem.lower < problem.upper)
    sign = np.where(problem.upper[kept] == 0, -1.0, 1.0)
    is_signed = (problem.upper[kept] == 0) | (problem.lower[kept] == 0)
    features = subtract_linked(problem.features[:, kept] * sign, better, worse)
    differences = Differences(features=features, better=better, worse=worse)
    place = {column: own for own, column in enumerate(kept.tolist())}
    order = tuple((place[x], place[y]) for x, y in problem.order if x in place and y in place)
    basis, n_idle = _find_identified_coordinates(features, write_bounds(is_signed, order, sign))
    reduced = differences
    if basis is not None:
        turned = features @ basis
        turned[:, turned.shape[1] - n_idle :] = 0
        reduced = Differences(features=turned, better=better, worse=worse)
    return PreparedProblem(
        differences=differences,
        reduced=reduced,
        gap=problem.gap[live],
        weight=problem.weight[live],
        l2=float(problem.l2),
        is_signed=is_signed,
        order=order,
        basis=basis,
        n_idle=n_idle,
        kept=kept,
        sign=sign,
        n_given=problem.features.shape[1],
    )


def write_bounds(
    is_signed: NDArray[np.bool_], order: tuple[tuple[int, int], ...], sign: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Write bounds and order as rows whose product with the weights is at least 0."""
    identity = np.eye(is_signed.size)
    steps = [sign[high] * identity[high] - sign[low] * identity[low] for high, low in order]
    rows: NDArray[np.float64] = np.vstack([identity[is_signed], *steps])
    return rows


def _find_identified_coordinates(
    features: NDArray[np.float64], edges: NDArray[np.float64]
) -> tuple[NDArray[np.float64] | None, int]:
    """Find coordinates without the directions that change no pair and no bound.

    Directions that change no pair but a bound come last; the number of these is returned too.
    """
    idle = find_null_directions(features, tolerance=_ROUNDING)
    n_idle = idle.shape[1]
    if not n_idle:
        return None, 0
    identified = np.linalg.qr(idle, mode="complete")[0][:, n_idle:]
    bound_slopes = edges @ idle
    if not bound_slopes.size:
        return identified, 0
    _, sizes, axes = np.linalg.svd(bound_slopes, full_matrices=True)
    is_bounded = np.zeros(n_idle, bool)
    is_bounded[: sizes.size] = sizes > 1e-10
    bounded = idle @ axes[is_bounded].T
    return np.hstack([identified, bounded]), int(bounded.shape[1])


def subtract_linked(
    features: NDArray[np.float64], better: NDArray[np.int64], worse: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Subtract from all items that pairs link the row of one of them.

    The differences within pairs do not change. What all linked items share is gone, exactly: a
    column in which no pair differs becomes 0, and small differences of large numbers keep their
    digits. The rows span the same space as the differences of all pairs, and are fewer.
    """
    first = np.arange(features.shape[0])
    one, other = better, worse
    while one.size:
        low, high = np.minimum(one, other), np.maximum(one, other)
        first[high] = low
        while (first != (further := first[first])).any():
            first = further
        one, other = first[one], first[other]
        apart = one != other
        one, other = one[apart], other[apart]
    relative: NDArray[np.float64] = features - features[first]
    return relative


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


def find_null_directions(rows: NDArray[np.float64], *, tolerance: float) -> NDArray[np.float64]:
    """Find an orthonormal basis, as columns, of the directions in which no row differs from 0.

    Rows of a length up to `tolerance`, relative to columns of length 1, count as 0.
    """
    n_features = rows.shape[1]
    length = np.sqrt(np.einsum("ij,ij->j", rows, rows))
    directions = np.eye(n_features)[:, length == 0]
    live = np.flatnonzero(length)
    if live.size:
        scaled = rows[:, live] / length[live]
        # Squares lose half of the digits, so they only say where to look.
        squares, axes = np.linalg.eigh(scaled.T @ scaled)
        axes = axes[:, squares < _SUSPECT]
        if axes.shape[1]:
            triangle = np.linalg.qr(scaled @ axes, mode="r")
            _, lengths, turn = np.linalg.svd(triangle, full_matrices=True)
            is_null = np.ones(axes.shape[1], bool)
            is_null[: lengths.size] = lengths <= tolerance
            axes = axes @ turn[is_null].T
        more = np.zeros((n_features, axes.shape[1]))
        more[live] = axes / length[live][:, None]
        # Directions differ in length by as much as features do in scale.
        directions = np.hstack([directions, more / np.abs(more).max(axis=0, initial=1e-300)])
    return np.linalg.qr(directions)[0] if directions.shape[1] else directions
