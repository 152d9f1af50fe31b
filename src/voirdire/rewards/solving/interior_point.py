r"""A primal-dual interior point method for the hinge loss of a block of pairs.

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

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from voirdire.rewards.solving.differences import weighted_gram

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["HingeBlock", "InteriorPoint"]

_MAX_STEPS = 150
_PATIENCE = 8
"""Steps without progress after which rounding has the last word."""
_TOWARDS_EDGE = 0.995
_TINY = 1e-300


@dataclass(frozen=True, kw_only=True, eq=False)
class HingeBlock:
    """Pairs with their differences written out.

    Attributes
    ----------
    columns : ndarray of float, shape (n_coordinates, n_pairs)
        Transposed D.
    gap, weight : ndarray of float, shape (n_pairs,)
        c, and v above 0.
    l2 : float
        λ, above 0.
    edges : ndarray of float, shape (n_bounds, n_coordinates)
        E.
    edge_weight : float
        What the barrier of a bound weighs: as much as that of a typical pair.
    """

    columns: NDArray[np.float64] = field(repr=False)
    gap: NDArray[np.float64] = field(repr=False)
    weight: NDArray[np.float64] = field(repr=False)
    l2: float
    edges: NDArray[np.float64] = field(repr=False)
    edge_weight: float


@dataclass(frozen=True, kw_only=True, eq=False)
class _Move:
    """Changes of all unknowns; that of b is less that of a."""

    y: NDArray[np.float64]
    a: NDArray[np.float64]
    u: NDArray[np.float64]
    s: NDArray[np.float64]
    t: NDArray[np.float64]
    z: NDArray[np.float64]


class InteriorPoint:
    """A point inside all bounds, and the steps that take it to the optimum.

    Parameters
    ----------
    block : HingeBlock
        What is minimised.
    start : ndarray of float, shape (n_coordinates,)
        Where y begins.
    width : float
        μ of the beginning, above 0: how far, in units of c, margins may be from the optimum's.
    """

    def __init__(self, block: HingeBlock, *, start: NDArray[np.float64], width: float) -> None:
        self.block = block
        self.y = start
        self.n_steps = 0
        residual = block.gap - start @ block.columns
        # u and s whose difference fits the residual, and whose products with a and b are μ.
        root = np.hypot(residual, 2 * width)
        self._u = (root - residual) / 2 + width
        self._s = (root + residual) / 2 + width
        self._a = width / self._u
        self._b = width / self._s
        self._t = np.maximum(block.edges @ start, 0.0) + width
        self.z = width * block.edge_weight / self._t
        self._total = float(2 * block.weight.sum() + self.z.size * block.edge_weight)

    @property
    def shares(self) -> NDArray[np.float64]:
        """How hard each pair pushes, of its weight: a in [0, 1]."""
        shares: NDArray[np.float64] = np.clip(self._a, 0.0, 1.0)
        return shares

    def run(self, goal: float) -> None:
        """Step until the gap to the dual bound is at most `goal`, or rounding allows no more."""
        total = 2 * float(self.block.weight.sum())
        best, kept = np.inf, (self.y, self._a, self.z)
        lowest, least_off, idle = np.inf, np.inf, 0
        while True:
            (gap, off), mu = self._measured(), self._mu()
            idle = 0 if mu < 0.9 * lowest or off < 0.9 * least_off else idle + 1
            lowest, least_off = min(mu, lowest), min(off, least_off)
            if gap < best:
                best, kept = gap, (self.y, self._a, self.z)
            is_done = gap <= goal or total * mu < goal / 100 or idle > _PATIENCE
            if is_done or self.n_steps >= _MAX_STEPS or not self._step(mu):
                break
        self.y, self._a, self.z = kept

    def _measured(self) -> tuple[float, float]:
        """Give the gap of the point, and how far its forces are from holding each other."""
        block, forces = self.block, self.block.weight * self.shares
        self._residual = block.gap - self.y @ block.columns
        push = block.columns @ forces + self.z @ block.edges
        self._unbalanced = block.l2 * self.y - push
        loss = block.weight @ np.maximum(self._residual, 0.0) + block.l2 / 2 * (self.y @ self.y)
        bound = forces @ block.gap - push @ push / (2 * block.l2)
        return float(loss - bound), float(np.abs(self._unbalanced).max(initial=0.0))

    def _step(self, mu: float) -> bool:
        """Go one step along the path; False where the system can no longer be solved."""
        self._slope_u, self._slope_s = self._u / self._a, self._s / self._b
        self._stiffness = 1 / (self._slope_u + self._slope_s)
        self._pinch = self.z / self._t
        self._edge_off = self.block.edges @ self.y - self._t
        if not self._factored():
            return False
        first = self._direction(self._residual, lift=self.z)
        bent_u, bent_s, bent_t = first.a * first.u, -first.a * first.s, first.z * first.t
        length = self._longest(first)
        # What is left of μ after the predictor's step: its products fall in proportion, and bend.
        bent = float(self.block.weight @ (bent_u + bent_s) + bent_t.sum()) / self._total
        reached = (1 - length) * mu + length**2 * bent
        target = mu * min(1.0, reached / mu) ** 3
        # To second order, as if the predictor's step were gone whole.
        more_u = (bent_u - target) / self._a
        more_s = (bent_s - target) / self._b
        lift = self.z + (bent_t - target * self.block.edge_weight) / self._t
        second = self._direction(
            self._residual + (more_s - more_u), lift=lift, more_u=more_u, more_s=more_s
        )
        self._go(second, self._longest(second, share=_TOWARDS_EDGE))
        self.n_steps += 1
        return True

    def _factored(self) -> bool:
        block = self.block
        self._tilt = block.weight * self._stiffness
        matrix = weighted_gram(block.columns, self._tilt)
        if self.z.size:
            matrix += (block.edges.T * self._pinch) @ block.edges
        matrix.flat[:: matrix.shape[0] + 1] += block.l2
        # With a diagonal of ones, features of very different scale do no harm.
        self._scale = 1 / np.sqrt(np.diagonal(matrix))
        self._factor, failed = dpotrf(matrix * self._scale * self._scale[:, None], lower=1)
        return not failed

    def _mu(self) -> float:
        """Give the mean of au and bs, and of tz in its own weight."""
        total = self.block.weight @ (self._a * self._u + self._b * self._s) + self._t @ self.z
        return float(total) / self._total

    def _direction(
        self,
        off: NDArray[np.float64],
        *,
        lift: NDArray[np.float64],
        more_u: NDArray[np.float64] | float = 0.0,
        more_s: NDArray[np.float64] | float = 0.0,
    ) -> _Move:
        """Solve for the move after which au, bs and tz are what is wanted, to first order."""
        block = self.block
        push = block.columns @ (self._tilt * off)
        wanted = push - self._unbalanced - (lift + self._pinch * self._edge_off) @ block.edges
        y = self._scale * dpotrs(self._factor, self._scale * wanted, lower=1)[0]
        a = self._stiffness * (off - y @ block.columns)
        t = block.edges @ y + self._edge_off
        return _Move(
            y=y,
            a=a,
            u=-self._u - more_u - self._slope_u * a,
            s=self._slope_s * a - self._s - more_s,
            t=t,
            z=-lift - self._pinch * t,
        )

    def _longest(self, move: _Move, *, share: float = 1.0) -> float:
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

    def _go(self, move: _Move, length: float) -> None:
        # y, a and z are made anew: `run` keeps the best ones.
        self.y = self.y + length * move.y
        self._a = self._a + length * move.a
        self.z = self.z + length * move.z
        self._b -= length * move.a
        self._u += length * move.u
        self._s += length * move.s
        self._t += length * move.t
