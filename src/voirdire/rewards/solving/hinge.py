r"""Minimise the hinge loss over many pairs by solving the pairs near its kink exactly.

Away from its kink the hinge is a straight line: the gradient of a pair that is clearly right is 0,
and that of a pair that is clearly wrong does not change. Only pairs near the kink matter one by
one.

The solver first smooths the kink [2]_. It takes Newton steps, on a sample of pairs and then on all
pairs. They need the curvature of the pairs in the smoothed part only. That part becomes narrower
from step to step, until few pairs are left in it.

Then it solves a band of pairs around these weights exactly. The other pairs form two bundles, the
right ones and the wrong ones, and a bundle counts as one pair, the mean of its pairs. The loss of a
bundle is at most that of its pairs, so the optimum over band and bundles is a lower bound. The dual
variable of a bundle, shared out among its pairs, proves that bound for the whole problem. Where the
loss over all pairs is higher than the bound, the band moves to the new weights; it grows where
moving does not help, up to all pairs.

A primal-dual interior point method solves band and bundles:

.. math:: \min_{y,s,u,t}\ \sum_k v_k s_k + \frac{\lambda}{2}\lVert y\rVert^2
   \quad\text{where}\quad u = Dy + s - c \ge 0,\ s \ge 0,\ t = Ey \ge 0

The dual variable of a pair is :math:`v_k a_k` with a in (0, 1) the multiplier of u, and b = 1 - a
that of s; z is that of t. The method follows the points where au = bs = μ (and tz = μ times the
mean weight) down to μ = 0, with Mehrotra's predictor and corrector [1]_. All unknowns that belong
to pairs can be eliminated by hand, so that each step solves a system in y alone,

.. math:: (\lambda I + D^\top\Theta D + E^\top \tfrac{z}{t} E)\,\Delta y = r, \qquad
   \Theta = v / (u/a + s/b),

as small as there are features. Because a is relative to v, pairs of very different weight reach
their margin together.

References
----------
.. [1] S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal on
   Optimization 2(4), 1992. :doi:`10.1137/0802028`
.. [2] Y.-J. Lee, O. L. Mangasarian, "SSVM: a smooth support vector machine for classification",
   Computational Optimization and Applications 20, 5-22, 2001. :doi:`10.1023/A:1011215321374`
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.optimize import brentq

from voirdire.rewards.solving.problem import compute_weighted_gram

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from voirdire.rewards.solving.problem import PreparedProblem

_SAMPLE = 60
"""Pairs per coordinate in the sample that gives the first weights; at least a share of all."""
_SAMPLE_SHARE = 1 / 16
_BAND = 30
"""Pairs per coordinate in the first band, and at most in the kink where rounding it ends."""
_GROWTH = 4
_SHARPER = 3
"""How much narrower the smoothed kink becomes in one go."""
_SETTLED = 0.3
"""The kink becomes narrower where a Newton step gains less than this share of its weight times its
width."""
_MAX_NEWTON_STEPS = 20
_MAX_STEPS = 150
_PATIENCE = 8
"""The solver ends after so many steps without progress: only rounding errors are left."""
_TOWARDS_EDGE = 0.995
"""The share of the way to the nearest bound that a step goes."""
_TINY = 1e-300


class HingePoint(NamedTuple):
    """Coordinates y, the dual variables of all pairs in [0, v], and those of the bounds."""

    coordinates: NDArray[np.float64]
    duals: NDArray[np.float64]
    bound_duals: NDArray[np.float64]


class _Move(NamedTuple):
    """Changes of all unknowns; that of b is less that of a."""

    y: NDArray[np.float64]
    a: NDArray[np.float64]
    u: NDArray[np.float64]
    s: NDArray[np.float64]
    t: NDArray[np.float64]
    z: NDArray[np.float64]


def minimize_hinge(
    problem: PreparedProblem, *, l2: float, goal: float, start: NDArray[np.float64] | None = None
) -> HingePoint:
    """Minimise the hinge loss for `l2` above 0, until the gap is at most `goal`.

    The gap is relative to the objective where that is above 1. The problem has a pair and a
    coordinate; its own λ is not read. The search begins at the coordinates `start`, by default at
    those of a sample of pairs.
    """
    search = _Search(problem, l2=l2)
    return search.solve_bands(search.find_start(start), goal=goal)


class _Search:
    def __init__(self, problem: PreparedProblem, *, l2: float) -> None:
        self.problem = problem
        self.l2 = l2
        self.n_pairs, self.n_coordinates = problem.gap.size, problem.reduced.n_features

    def find_start(self, start: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Find coordinates so close to the optimum that a small band around them is enough."""
        y, width = np.zeros(self.n_coordinates), float(np.abs(self.problem.gap).mean())
        if start is not None:
            y, width = start, width / _SHARPER**2
        if self.n_pairs < 2 * _BAND * self.n_coordinates:
            return y
        n_sampled = max(_SAMPLE * self.n_coordinates, int(_SAMPLE_SHARE * self.n_pairs))
        if start is None and 2 * n_sampled < self.n_pairs:
            chosen = ((np.arange(n_sampled) + 0.5) * (self.n_pairs / n_sampled)).astype(np.int64)
            y, width = self._take_newton_steps(chosen, y=y, width=width)
        return self._take_newton_steps(slice(None), y=y, width=width)[0]

    def _take_newton_steps(
        self, chosen: NDArray[np.int64] | slice, *, y: NDArray[np.float64], width: float
    ) -> tuple[NDArray[np.float64], float]:
        """Take Newton steps on the smoothed loss of pairs, and narrow its kink step by step."""
        loss = _SmoothedLoss(self.problem, chosen, l2=self.l2, start=y)
        for _ in range(_MAX_NEWTON_STEPS):
            gain, weight_near, n_near = loss.take_step(width)
            if gain < _SETTLED * width * weight_near:
                if n_near <= _BAND * self.n_coordinates:
                    break
                width /= _SHARPER
        return loss.y, width / _SHARPER

    def solve_bands(self, y: NDArray[np.float64], *, goal: float) -> HingePoint:
        """Widen and move the band until the gap over all pairs is closed, or it has all pairs."""
        problem, size, last_gap = self.problem, _BAND * self.n_coordinates, np.inf
        residual = problem.gap - problem.reduced.score_pairs(y)
        while True:
            reached = self._compute_objective(y, residual)
            aim = goal * max(1.0, reached)
            size = size if 1.2 * size < self.n_pairs else self.n_pairs
            point, duals = self._solve_band(residual, size, start=y, goal=aim / 10)
            moved = problem.gap - problem.reduced.score_pairs(point.y)
            objective = self._compute_objective(point.y, moved)
            push = problem.reduced.weigh_pairs(duals) + point.z @ problem.edges
            bound = float(duals @ problem.gap - push @ push / (2 * self.l2))
            gap = objective - bound + point.outside
            if gap <= aim or size == self.n_pairs:
                return HingePoint(point.y, duals, point.z)
            if objective >= reached or gap > last_gap / 10:
                size *= _GROWTH
            if objective < reached:
                y, residual = point.y, moved
            last_gap = gap

    def _solve_band(
        self, residual: NDArray[np.float64], size: int, *, start: NDArray[np.float64], goal: float
    ) -> tuple[_InteriorPoint, NDArray[np.float64]]:
        """Solve a band of pairs with a bundle for each side; return the dual of every pair too."""
        problem, distance = self.problem, np.abs(residual)
        reach = np.inf
        if size < self.n_pairs:
            reach = float(np.partition(distance, size)[size])
        near = np.flatnonzero(distance <= reach)
        sides = [far for far in (residual > reach, residual < -reach) if far.any()]
        loads = [problem.weight * far for far in sides]
        total = np.array([load.sum() for load in loads])
        bundles = [problem.reduced.weigh_pairs(load) for load in loads]
        columns = [
            problem.reduced.write_columns(near),
            *(np.c_[row] for row in bundles / total[:, None]),
        ]
        gap = np.append(problem.gap[near], [load @ problem.gap for load in loads] / total)
        width = (0.0 if np.isinf(reach) else reach / 4) or float(distance.mean()) or 1.0
        point = _InteriorPoint(
            np.hstack(columns),
            gap,
            np.append(problem.weight[near], total),
            problem=problem,
            l2=self.l2,
            start=start,
            width=width,
        )
        point.run(goal)
        shares = np.empty(self.n_pairs)
        shares[near] = point.shares[: near.size]
        for far, share in zip(sides, point.shares[near.size :], strict=True):
            shares[far] = share
        return point, shares * problem.weight

    def _compute_objective(self, y: NDArray[np.float64], residual: NDArray[np.float64]) -> float:
        loss = self.problem.weight @ np.maximum(residual, 0.0)
        return float(loss + self.l2 / 2 * (y @ y))


class _SmoothedLoss:
    """The loss of some pairs, smoothed within a width of its kink; bounds are squared penalties."""

    def __init__(
        self,
        problem: PreparedProblem,
        chosen: NDArray[np.int64] | slice,
        *,
        l2: float,
        start: NDArray[np.float64],
    ) -> None:
        reduced, self._edges = problem.reduced, problem.edges
        self._pairs = replace(reduced, better=reduced.better[chosen], worse=reduced.worse[chosen])
        self._weight = problem.weight[chosen] / problem.weight[chosen].sum()
        self._l2, self.y = l2, start
        self._residual = problem.gap[chosen] - self._pairs.score_pairs(start)
        self._outside = -(self._edges @ start)

    def take_step(self, width: float) -> tuple[float, float, int]:
        """Take a Newton step; return the expected gain, and weight and number of near pairs."""
        pairs, edges, weight = self._pairs, self._edges, self._weight
        share, lift = _smooth_kink(self._residual, self._outside, width)
        near = np.flatnonzero((share > 0) & (share < 1))
        slope = self._l2 * self.y - pairs.weigh_pairs(weight * share) - lift @ edges
        pressed = edges[lift > 0]
        curvature = compute_weighted_gram(pairs.write_columns(near), weight[near] / (2 * width))
        curvature += pressed.T @ pressed / width
        curvature.flat[:: self.y.size + 1] += self._l2
        if (solve_system := _factor_matrix(curvature)) is None:
            return 0.0, float(weight[near].sum()), 0
        move = -solve_system(slope)
        along, edge_along = pairs.score_pairs(move), edges @ move

        def slope_at(length: float) -> float:
            share, lift = _smooth_kink(
                self._residual - length * along, self._outside - length * edge_along, width
            )
            pull = self._l2 * (self.y + length * move) @ move
            return float(pull - (weight * share) @ along - lift @ edge_along)

        begin, end, length = float(slope @ move), slope_at(1.0), 1.0
        if end > -begin and slope_at(0.0) >= 0:  # no more than round-off is left to gain
            length = 0.0
        elif end > -begin:  # a bound that is met on the way bends the slope sharply
            length = float(brentq(slope_at, 0.0, 1.0, xtol=1e-4, rtol=1e-2))
        elif end > 0:
            length = begin / (begin - end)
        self.y = self.y + length * move
        self._residual -= length * along
        self._outside -= length * edge_along
        return -begin, float(weight[near].sum()), near.size


def _smooth_kink(
    residual: NDArray[np.float64], outside: NDArray[np.float64], width: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the slope of the smoothed loss at each pair, and of the penalty at each bound."""
    return np.clip(residual / (2 * width) + 0.5, 0.0, 1.0), np.maximum(outside, 0.0) / width


class _InteriorPoint:
    """A point inside all bounds, and the steps that take it to the optimum.

    `width` is μ of the beginning, above 0: how far, in units of c, margins may be from those of the
    optimum.
    """

    def __init__(
        self,
        columns: NDArray[np.float64],
        gap: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        problem: PreparedProblem,
        l2: float,
        start: NDArray[np.float64],
        width: float,
    ) -> None:
        self.columns, self.gap, self.weight = columns, gap, weight
        self.edges, self.l2 = problem.edges, l2
        # The duals of the bounds of all coordinates add up to those of all pairs at most.
        self.edge_weight = float(weight.sum()) / start.size
        self.y = start
        self.n_steps = 0
        residual = self.gap - start @ self.columns
        # u and s whose difference fits the residual, and whose products with a and b are μ.
        root = np.hypot(residual, 2 * width)
        self._u = (root - residual) / 2 + width
        self._s = (root + residual) / 2 + width
        self._a = width / self._u
        self._b = width / self._s
        self._t = np.maximum(self.edges @ start, 0.0) + width
        self.z = width * self.edge_weight / self._t
        self._total = float(2 * self.weight.sum() + self.z.size * self.edge_weight)

    @property
    def shares(self) -> NDArray[np.float64]:
        """The dual variable of each pair as a share of its weight: a in [0, 1]."""
        shares: NDArray[np.float64] = np.clip(self._a, 0.0, 1.0)
        return shares

    @property
    def outside(self) -> float:
        """By how much a y outside its bounds makes the objective too low."""
        return float(self.z @ np.maximum(-(self.edges @ self.y), 0.0))

    def run(self, goal: float) -> None:
        """Step until the gap to the dual bound is at most `goal`, or rounding allows no more."""
        total = 2 * float(self.weight.sum())
        best, best_point = np.inf, (self.y, self._a, self.z)
        lowest, least_off, idle = np.inf, np.inf, 0
        while True:
            gap, off = self._measure()
            # the mean of au and bs, and of tz in its own weight
            products = self.weight @ (self._a * self._u + self._b * self._s) + self._t @ self.z
            mu = float(products) / self._total
            idle = 0 if mu < 0.9 * lowest or off < 0.9 * least_off else idle + 1
            lowest, least_off = min(mu, lowest), min(off, least_off)
            if gap < best:
                best, best_point = gap, (self.y, self._a, self.z)
            is_done = gap <= goal or total * mu < goal / 100 or idle > _PATIENCE
            if is_done or self.n_steps >= _MAX_STEPS or not self._take_step(mu):
                break
        self.y, self._a, self.z = best_point

    def _measure(self) -> tuple[float, float]:
        """Compute the duality gap of the point, and the largest entry of the dual residual."""
        duals = self.weight * self.shares
        self._residual = self.gap - self.y @ self.columns
        push = self.columns @ duals + self.z @ self.edges
        self._unbalanced = self.l2 * self.y - push
        loss = self.weight @ np.maximum(self._residual, 0.0) + self.l2 / 2 * (self.y @ self.y)
        bound = duals @ self.gap - push @ push / (2 * self.l2)
        off = float(np.abs(self._unbalanced).max(initial=0.0))
        return float(loss - bound) + self.outside, off

    def _take_step(self, mu: float) -> bool:
        """Take one step along the path; False where the system can no longer be solved."""
        self._slope_u, self._slope_s = self._u / self._a, self._s / self._b
        self._stiffness = 1 / (self._slope_u + self._slope_s)
        self._pinch = self.z / self._t
        self._edge_off = self.edges @ self.y - self._t
        self._tilt = self.weight * self._stiffness
        matrix = compute_weighted_gram(self.columns, self._tilt)
        matrix += (self.edges.T * self._pinch) @ self.edges
        matrix.flat[:: matrix.shape[0] + 1] += self.l2
        if (solve_system := _factor_matrix(matrix)) is None:
            return False
        self._solve_system = solve_system
        first = self._find_move(self._residual, lift=self.z)
        bent_u, bent_s, bent_t = first.a * first.u, -first.a * first.s, first.z * first.t
        length = self._find_longest_step(first)
        # What is left of μ after the predictor's step: its products fall in proportion, and bend.
        bent = float(self.weight @ (bent_u + bent_s) + bent_t.sum()) / self._total
        reached = (1 - length) * mu + length**2 * bent
        target = mu * min(1.0, reached / mu) ** 3
        # To second order, for a full step of the predictor.
        more_u = (bent_u - target) / self._a
        more_s = (bent_s - target) / self._b
        lift = self.z + (bent_t - target * self.edge_weight) / self._t
        move = self._find_move(
            self._residual + (more_s - more_u), lift=lift, more_u=more_u, more_s=more_s
        )
        length = self._find_longest_step(move, share=_TOWARDS_EDGE)
        # y, a and z are new arrays: `run` keeps the best ones.
        self.y = self.y + length * move.y
        self._a = self._a + length * move.a
        self.z = self.z + length * move.z
        self._b -= length * move.a
        self._u += length * move.u
        self._s += length * move.s
        self._t += length * move.t
        self.n_steps += 1
        return True

    def _find_move(
        self,
        off: NDArray[np.float64],
        *,
        lift: NDArray[np.float64],
        more_u: NDArray[np.float64] | float = 0.0,
        more_s: NDArray[np.float64] | float = 0.0,
    ) -> _Move:
        """Solve for the move after which au, bs and tz have their targets, to first order."""
        push = self.columns @ (self._tilt * off)
        wanted = push - self._unbalanced - (lift + self._pinch * self._edge_off) @ self.edges
        y = self._solve_system(wanted)
        a = self._stiffness * (off - y @ self.columns)
        t = self.edges @ y + self._edge_off
        u = -self._u - more_u - self._slope_u * a
        s = self._slope_s * a - self._s - more_s
        return _Move(y=y, a=a, u=u, s=s, t=t, z=-lift - self._pinch * t)

    def _find_longest_step(self, move: _Move, *, share: float = 1.0) -> float:
        """Find the longest step: at most 1, and at most `share` of the way to the first bound."""
        fastest = max(
            -float((move.a / self._a).min()),
            float((move.a / self._b).max()),
            -float((move.u / self._u).min()),
            -float((move.s / self._s).min()),
            -float((move.t / self._t).min(initial=0.0)),
            -float((move.z / self.z).min(initial=0.0)),
            _TINY,
        )
        return min(1.0, share / fastest)


def _factor_matrix(
    matrix: NDArray[np.float64],
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]] | None:
    """Factor a matrix whose diagonal is scaled to 1; None where that fails.

    The scaling lets features have very different scales.
    """
    scale = 1 / np.sqrt(np.maximum(np.diagonal(matrix), _TINY))
    scaled = matrix * scale * scale[:, None]
    triangle, failed = dpotrf(scaled, lower=1)
    if failed:
        return None

    def solve_system(wanted: NDArray[np.float64]) -> NDArray[np.float64]:
        solved: NDArray[np.float64] = scale * dpotrs(triangle, scale * wanted, lower=1)[0]
        return solved

    return solve_system
