r"""The hinge loss over many pairs, through the few that decide.

Away from its kink the hinge is a straight line: a pair that is clearly right pulls nothing, one
that is clearly wrong pulls with all its weight. Only pairs near the kink, a band around the weights
at hand, need to be told apart; all others are bundled, and a bundle counts as one pair, the mean of
its pairs. The loss of a bundle is at most that of its pairs, so the optimum over band and bundles
is a lower bound, and its forces, shared out among the pairs, prove it for the whole problem. Where
the loss over all pairs is not yet that low, the band moves to the new weights, and grows where
moving does not help, up to all pairs.

Band and bundles are solved by a primal-dual interior point method:

.. math:: \min_{y,s,u,t}\ \sum_k v_k s_k + \frac{\lambda}{2}\lVert y\rVert^2
   \quad\text{where}\quad u = Dy + s - c \ge 0,\ s \ge 0,\ t = Ey \ge 0

A pair's force is :math:`v_k a_k` with a in (0, 1) the multiplier of u, and b = 1 - a that of s;
z is that of t. The method follows the points where au = bs = μ (and tz = μ times the mean weight)
down to μ = 0, with Mehrotra's predictor and corrector [1]_. All unknowns that belong to pairs can
be written out by hand, so that what is solved per step is a system in y alone,

.. math:: (\lambda I + D^\top\Theta D + E^\top \tfrac{z}{t} E)\,\Delta y = r, \qquad
   \Theta = v / (u/a + s/b),

as small as there are features. Because a is relative to v, pairs of very different weight reach
their margin together.

References
----------
.. [1] S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal on
   Optimization 2(4), 1992. :doi:`10.1137/0802028`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from voirdire.rewards.solving.problem import weighted_gram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.solving.problem import PreparedProblem

__all__ = ["HingePoint", "minimize_hinge"]

_SAMPLE = 60
"""Pairs per coordinate in the sample that gives the first weights; at least a share of all."""
_SAMPLE_SHARE = 1 / 16
_BAND = 8
"""Pairs in the band: this many times the root of pairs times coordinates, that is how many a step
from the sample's weights to the optimum can turn over, with room to spare."""
_BUNDLES = 10
"""Bundles per coordinate on either side of the band."""
_GROWTH = 4
_ROUGH = 1e-2
"""The gap of the first weights, and of the first band: moving on is cheaper than a closer look."""
_CLOSE = 0.02
"""Once the gap is smaller, relative to the objective, a fraction of the band will do..."""
_LEAST = 30
"""... but of at least so many pairs per coordinate."""
_MAX_STEPS = 150
_PATIENCE = 8
"""Steps without progress after which rounding has the last word."""
_TOWARDS_EDGE = 0.995
"""The share of the way to the nearest bound that a step goes."""
_TINY = 1e-300


class HingePoint(NamedTuple):
    """Coordinates y, the forces of all pairs in [0, v], and how hard each bound pushes."""

    coordinates: NDArray[np.float64]
    forces: NDArray[np.float64]
    lifts: NDArray[np.float64]
    n_steps: int


class _Part(NamedTuple):
    """Pairs that stand together: each for itself where `starts` is None, else in bundles."""

    pairs: NDArray[np.int64] | slice
    starts: NDArray[np.int32] | None
    columns: NDArray[np.float64]
    gap: NDArray[np.float64]
    weight: NDArray[np.float64]


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
    return search.narrow(search.sample() if start is None else start, goal=goal)


class _Search:
    def __init__(self, problem: PreparedProblem, *, l2: float) -> None:
        self.problem = problem
        self.l2 = l2
        self.n_pairs, self.n_coordinates = problem.gap.size, problem.reduced.n_features
        self.n_steps = 0

    def sample(self) -> NDArray[np.float64]:
        """Find roughly the best coordinates for evenly spaced pairs."""
        size = max(_SAMPLE * self.n_coordinates, int(_SAMPLE_SHARE * self.n_pairs))
        nowhere = np.zeros(self.n_coordinates)
        if self.n_pairs < 2 * size:
            return nowhere
        chosen = ((np.arange(size) + 0.5) * (self.n_pairs / size)).astype(np.int64)
        part = self._select(chosen)
        weight = part.weight * (self.problem.weight.sum() / part.weight.sum())
        loss = float(weight @ np.maximum(part.gap, 0.0))
        width = float(np.abs(part.gap).mean()) or 1.0
        part = part._replace(weight=weight)
        return self._solve([part], start=nowhere, width=width, goal=_ROUGH * loss).y

    def narrow(self, start: NDArray[np.float64], *, goal: float) -> HingePoint:
        """Move the band until the gap over all pairs is closed, or it holds all of them."""
        root = np.sqrt(self.n_pairs * self.n_coordinates)
        size, is_rough = max(_SAMPLE * self.n_coordinates, int(_BAND * root)), True
        y, last_gap = start, np.inf
        residual = self.problem.gap - self.problem.reduced.along(y)
        while True:
            parts, width = self._split(residual, size)
            is_whole = len(parts) == 1
            reached = self._objective(y, residual)
            aim = goal * max(1.0, reached)
            near = _ROUGH * reached if is_rough and not is_whole else 0.0
            point = self._solve(parts, start=y, width=width, goal=max(near, aim / 10))
            forces = self._share_out(parts, point)
            moved = self.problem.gap - self.problem.reduced.along(point.y)
            objective = self._objective(point.y, moved)
            gap = objective - self._bound(forces, point.z) + point.outside
            if gap <= aim or is_whole:
                return HingePoint(point.y, forces, point.z, self.n_steps)
            if is_rough and objective < reached and gap < _CLOSE * reached:
                size = max(size // _GROWTH, _LEAST * self.n_coordinates)
                is_rough = False
            elif objective >= reached or gap > last_gap / 10:
                size *= _GROWTH
            if objective < reached:
                y, residual = point.y, moved
            last_gap = gap

    def _split(self, residual: NDArray[np.float64], size: int) -> tuple[list[_Part], float]:
        """Split the pairs into a band of about `size`, and bundles; all in the band if few."""
        distance = np.abs(residual)
        n_bundles = _BUNDLES * self.n_coordinates
        reach = np.inf
        if (size + 2 * n_bundles) * 1.2 < self.n_pairs:
            reach = float(np.partition(distance, size)[size])
        near = np.flatnonzero(distance <= reach)
        if near.size + 2 * n_bundles >= self.n_pairs:
            return [self._select(slice(None))], float(distance.mean()) or 1.0
        sides = (np.flatnonzero(residual > reach), np.flatnonzero(residual < -reach))
        bundles = [self._bundle(far, min(n_bundles, far.size)) for far in sides if far.size]
        return [self._select(near), *bundles], reach / 4 or float(distance.mean())

    def _select(self, pairs: NDArray[np.int64] | slice) -> _Part:
        problem = self.problem
        columns = problem.reduced.columns(pairs)
        return _Part(pairs, None, columns, problem.gap[pairs], problem.weight[pairs])

    def _bundle(self, far: NDArray[np.int64], n_bundles: int) -> _Part:
        """Bundle pairs that stand beside each other, and so are mostly of the same prompts."""
        from scipy.sparse import csr_array

        weight, pairs = self.problem.weight[far], self.problem.reduced
        starts = np.linspace(0, far.size, n_bundles + 1).astype(np.int32)
        shape = (n_bundles, pairs.features.shape[0])
        rows = csr_array((weight, pairs.better[far], starts), shape=shape) @ pairs.features
        rows -= csr_array((weight, pairs.worse[far], starts), shape=shape) @ pairs.features
        total = np.add.reduceat(weight, starts[:-1])
        gap = np.add.reduceat(weight * self.problem.gap[far], starts[:-1]) / total
        return _Part(far, starts, np.ascontiguousarray((rows / total[:, None]).T), gap, total)

    def _solve(
        self, parts: list[_Part], *, start: NDArray[np.float64], width: float, goal: float
    ) -> _InteriorPoint:
        whole = _Part(
            slice(None),
            None,
            columns=np.hstack([part.columns for part in parts]),
            gap=np.concatenate([part.gap for part in parts]),
            weight=np.concatenate([part.weight for part in parts]),
        )
        point = _InteriorPoint(whole, problem=self.problem, l2=self.l2, start=start, width=width)
        point.run(goal)
        self.n_steps += point.n_steps
        return point

    def _share_out(self, parts: list[_Part], point: _InteriorPoint) -> NDArray[np.float64]:
        """Give every pair of a bundle the bundle's share of its weight."""
        forces = np.empty(self.n_pairs)
        shares, begin = point.shares, 0
        for part in parts:
            own = shares[begin : begin + part.gap.size]
            begin += part.gap.size
            forces[part.pairs] = (
                own if part.starts is None else np.repeat(own, np.diff(part.starts))
            )
        forces *= self.problem.weight
        return forces

    def _objective(self, y: NDArray[np.float64], residual: NDArray[np.float64]) -> float:
        loss = self.problem.weight @ np.maximum(residual, 0.0)
        return float(loss + self.l2 / 2 * (y @ y))

    def _bound(self, forces: NDArray[np.float64], lifts: NDArray[np.float64]) -> float:
        push = self.problem.reduced.pull(forces) + lifts @ self.problem.edges
        return float(forces @ self.problem.gap - push @ push / (2 * self.l2))


class _InteriorPoint:
    """A point inside all bounds, and the steps that take it to the optimum.

    `width` is μ of the beginning, above 0: how far, in units of c, margins may be from those of the
    optimum.
    """

    def __init__(
        self,
        part: _Part,
        *,
        problem: PreparedProblem,
        l2: float,
        start: NDArray[np.float64],
        width: float,
    ) -> None:
        self.columns, self.gap, self.weight = part.columns, part.gap, part.weight
        self.edges, self.l2 = problem.edges, l2
        # The barrier of a bound weighs as much as that of a typical pair.
        self.edge_weight = float(problem.weight.mean())
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
        """How hard each pair pushes, of its weight: a in [0, 1]."""
        shares: NDArray[np.float64] = np.clip(self._a, 0.0, 1.0)
        return shares

    @property
    def outside(self) -> float:
        """What a y that is still outside its bounds seems to gain by it."""
        return float(self.z @ np.maximum(-(self.edges @ self.y), 0.0))

    def run(self, goal: float) -> None:
        """Step until the gap to the dual bound is at most `goal`, or rounding allows no more."""
        total = 2 * float(self.weight.sum())
        best, kept = np.inf, (self.y, self._a, self.z)
        lowest, least_off, idle = np.inf, np.inf, 0
        while True:
            (gap, off), mu = self._measure(), self._mu()
            idle = 0 if mu < 0.9 * lowest or off < 0.9 * least_off else idle + 1
            lowest, least_off = min(mu, lowest), min(off, least_off)
            if gap < best:
                best, kept = gap, (self.y, self._a, self.z)
            is_done = gap <= goal or total * mu < goal / 100 or idle > _PATIENCE
            if is_done or self.n_steps >= _MAX_STEPS or not self._step(mu):
                break
        self.y, self._a, self.z = kept

    def _measure(self) -> tuple[float, float]:
        """Give the gap of the point, and how far its forces are from holding each other."""
        forces = self.weight * self.shares
        self._residual = self.gap - self.y @ self.columns
        push = self.columns @ forces + self.z @ self.edges
        self._unbalanced = self.l2 * self.y - push
        loss = self.weight @ np.maximum(self._residual, 0.0) + self.l2 / 2 * (self.y @ self.y)
        bound = forces @ self.gap - push @ push / (2 * self.l2)
        off = float(np.abs(self._unbalanced).max(initial=0.0))
        return float(loss - bound) + self.outside, off

    def _mu(self) -> float:
        """Give the mean of au and bs, and of tz in its own weight."""
        total = self.weight @ (self._a * self._u + self._b * self._s) + self._t @ self.z
        return float(total) / self._total

    def _step(self, mu: float) -> bool:
        """Go one step along the path; False where the system can no longer be solved."""
        self._slope_u, self._slope_s = self._u / self._a, self._s / self._b
        self._stiffness = 1 / (self._slope_u + self._slope_s)
        self._pinch = self.z / self._t
        self._edge_off = self.edges @ self.y - self._t
        if not self._factor_system():
            return False
        first = self._find_move(self._residual, lift=self.z)
        bent_u, bent_s, bent_t = first.a * first.u, -first.a * first.s, first.z * first.t
        length = self._longest_step(first)
        # What is left of μ after the predictor's step: its products fall in proportion, and bend.
        bent = float(self.weight @ (bent_u + bent_s) + bent_t.sum()) / self._total
        reached = (1 - length) * mu + length**2 * bent
        target = mu * min(1.0, reached / mu) ** 3
        # To second order, as if the predictor's step were gone whole.
        more_u = (bent_u - target) / self._a
        more_s = (bent_s - target) / self._b
        lift = self.z + (bent_t - target * self.edge_weight) / self._t
        move = self._find_move(
            self._residual + (more_s - more_u), lift=lift, more_u=more_u, more_s=more_s
        )
        length = self._longest_step(move, share=_TOWARDS_EDGE)
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

    def _factor_system(self) -> bool:
        self._tilt = self.weight * self._stiffness
        matrix = weighted_gram(self.columns, self._tilt)
        if self.z.size:
            matrix += (self.edges.T * self._pinch) @ self.edges
        matrix.flat[:: matrix.shape[0] + 1] += self.l2
        # With a diagonal of ones, features of very different scale do no harm.
        self._scale = 1 / np.sqrt(np.diagonal(matrix))
        self._factor, failed = dpotrf(matrix * self._scale * self._scale[:, None], lower=1)
        return not failed

    def _find_move(
        self,
        off: NDArray[np.float64],
        *,
        lift: NDArray[np.float64],
        more_u: NDArray[np.float64] | float = 0.0,
        more_s: NDArray[np.float64] | float = 0.0,
    ) -> _Move:
        """Solve for the move after which au, bs and tz are what is wanted, to first order."""
        push = self.columns @ (self._tilt * off)
        wanted = push - self._unbalanced - (lift + self._pinch * self._edge_off) @ self.edges
        y = self._scale * dpotrs(self._factor, self._scale * wanted, lower=1)[0]
        a = self._stiffness * (off - y @ self.columns)
        t = self.edges @ y + self._edge_off
        u = -self._u - more_u - self._slope_u * a
        s = self._slope_s * a - self._s - more_s
        return _Move(y=y, a=a, u=u, s=s, t=t, z=-lift - self._pinch * t)

    def _longest_step(self, move: _Move, *, share: float = 1.0) -> float:
        """Say how far the move may go, at most 1, and `share` of the way to the first bound."""
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
