"""The hinge loss over many pairs, through the few that decide.

Away from its kink the hinge is a straight line: a pair that is clearly right pulls nothing, one
that is clearly wrong pulls with all its weight. Only pairs near the kink, a band around the weights
at hand, need to be told apart; all others are bundled, and a bundle counts as one pair, the mean of
its pairs. The loss of a bundle is at most that of its pairs, so the optimum over band and bundles
is a lower bound, and its forces, shared out among the pairs, prove it for the whole problem. Where
the loss over all pairs is not yet that low, the band moves to the new weights, and grows where
moving does not help, up to all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from voirdire.rewards.solving.interior_point import HingeBlock, InteriorPoint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.solving.prepared import PreparedProblem

__all__ = ["HingePoint", "smallest_hinge"]

_SAMPLE = 60
"""Pairs per coordinate in the sample that gives the first weights; at least a share of all."""
_SAMPLE_SHARE = 1 / 16
_BAND = 6
"""Pairs in the band: this many times the root of pairs times coordinates, that is how many a step
from the sample's weights to the optimum can turn over, with room to spare."""
_BUNDLES = 10
"""Bundles per coordinate on either side of the band."""
_GROWTH = 4
_ROUGH = 1e-3
"""The gap of the first weights, and of the first band: moving on is cheaper than a closer look."""
_CLOSE = 0.02
"""Once the gap is smaller, relative to the objective, a fraction of the band will do..."""
_LEAST = 30
"""... but of at least so many pairs per coordinate."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HingePoint:
    """Coordinates, and the forces that hold each other there.

    Attributes
    ----------
    coordinates : ndarray of float, shape (n_coordinates,)
        y.
    forces : ndarray of float, shape (n_pairs,)
        α in [0, v].
    lifts : ndarray of float, shape (n_bounds,)
        z, at least 0: how hard each bound pushes.
    n_steps : int
        Of the interior point method.
    """

    coordinates: NDArray[np.float64] = field(repr=False)
    forces: NDArray[np.float64] = field(repr=False)
    lifts: NDArray[np.float64] = field(repr=False)
    n_steps: int


class _Part(NamedTuple):
    """Pairs that stand together: each for itself where `starts` is None, else in bundles."""

    pairs: NDArray[np.int64] | slice
    starts: NDArray[np.int32] | None
    columns: NDArray[np.float64]
    gap: NDArray[np.float64]
    weight: NDArray[np.float64]


def smallest_hinge(
    problem: PreparedProblem, *, l2: float, goal: float, start: NDArray[np.float64] | None = None
) -> HingePoint:
    """Minimise the hinge loss for λ above 0.

    Parameters
    ----------
    problem : PreparedProblem
        At least one pair and one coordinate; its own λ is not read.
    l2 : float
        λ, above 0.
    goal : float
        Gap at which to stop, relative to the objective where that is above 1.
    start : ndarray of float, shape (n_coordinates,), optional
        Coordinates near the optimum; by default those of a sample of pairs.

    Returns
    -------
    HingePoint
        The optimum, as near as rounding allows.
    """
    search = _Search(problem, l2=l2)
    return search.narrowed(search.sampled() if start is None else start, goal=goal)


class _Search:
    def __init__(self, problem: PreparedProblem, *, l2: float) -> None:
        self.problem = problem
        self.l2 = l2
        self.edges = problem.edges
        self.edge_weight = float(problem.weight.mean())
        self.n_pairs, self.n_coordinates = problem.gap.size, problem.reduced.n_features
        self.n_steps = 0

    def sampled(self) -> NDArray[np.float64]:
        """Find roughly the best coordinates for evenly spaced pairs."""
        size = max(_SAMPLE * self.n_coordinates, int(_SAMPLE_SHARE * self.n_pairs))
        nowhere = np.zeros(self.n_coordinates)
        if self.n_pairs < 2 * size:
            return nowhere
        chosen = ((np.arange(size) + 0.5) * (self.n_pairs / size)).astype(np.int64)
        part = self._alone(chosen)
        weight = part.weight * (self.problem.weight.sum() / part.weight.sum())
        losses = weight @ np.maximum(part.gap, 0.0)
        width = float(np.abs(part.gap).mean()) or 1.0
        point = self._solved(
            [part._replace(weight=weight)], start=nowhere, width=width, goal=_ROUGH * float(losses)
        )
        return point.y

    def narrowed(self, start: NDArray[np.float64], *, goal: float) -> HingePoint:
        """Move the band until the gap over all pairs is closed, or it holds all of them."""
        size, is_rough = max(_SAMPLE * self.n_coordinates, self._root(_BAND)), True
        y, last_gap = start, np.inf
        residual = self.problem.gap - self.problem.reduced.along(y)
        while True:
            parts, width = self._parted(residual, size)
            is_whole = len(parts) == 1
            reached = self._objective(y, residual)
            aim = goal * max(1.0, reached)
            near = _ROUGH * reached if is_rough and not is_whole else 0.0
            point = self._solved(parts, start=y, width=width, goal=max(near, aim / 10))
            forces = self._shared(parts, point)
            moved = self.problem.gap - self.problem.reduced.along(point.y)
            objective = self._objective(point.y, moved)
            gap = objective - self._bound(forces, point.z)
            if gap <= aim or is_whole:
                return HingePoint(
                    coordinates=point.y, forces=forces, lifts=point.z, n_steps=self.n_steps
                )
            if is_rough and objective < reached and gap < _CLOSE * reached:
                size = max(size // _GROWTH, _LEAST * self.n_coordinates)
                is_rough = False
            elif objective >= reached or gap > last_gap / 10:
                size *= _GROWTH
            if objective < reached:
                y, residual = point.y, moved
            last_gap = gap

    def _root(self, factor: float) -> int:
        return int(factor * np.sqrt(self.n_pairs * self.n_coordinates))

    def _parted(self, residual: NDArray[np.float64], size: int) -> tuple[list[_Part], float]:
        """Part the pairs into a band of about `size`, and bundles; all in the band if few."""
        distance = np.abs(residual)
        n_bundles = _BUNDLES * self.n_coordinates
        reach = np.inf
        if (size + 2 * n_bundles) * 1.2 < self.n_pairs:
            reach = float(np.partition(distance, size)[size])
        near = np.flatnonzero(distance <= reach)
        if near.size + 2 * n_bundles >= self.n_pairs:
            return [self._alone(slice(None))], float(distance.mean()) or 1.0
        parts = [self._alone(near)]
        sides = (np.flatnonzero(residual > reach), np.flatnonzero(residual < -reach))
        parts += [self._bundled(far, min(n_bundles, far.size)) for far in sides if far.size]
        return parts, reach / 8 or float(distance.mean())

    def _alone(self, pairs: NDArray[np.int64] | slice) -> _Part:
        problem = self.problem
        columns = problem.reduced.columns(pairs)
        return _Part(pairs, None, columns, problem.gap[pairs], problem.weight[pairs])

    def _bundled(self, far: NDArray[np.int64], n_bundles: int) -> _Part:
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

    def _solved(
        self, parts: list[_Part], *, start: NDArray[np.float64], width: float, goal: float
    ) -> InteriorPoint:
        block = HingeBlock(
            columns=np.hstack([part.columns for part in parts]),
            gap=np.concatenate([part.gap for part in parts]),
            weight=np.concatenate([part.weight for part in parts]),
            l2=self.l2,
            edges=self.edges,
            edge_weight=self.edge_weight,
        )
        point = InteriorPoint(block, start=start, width=width)
        point.run(goal)
        self.n_steps += point.n_steps
        return point

    def _shared(self, parts: list[_Part], point: InteriorPoint) -> NDArray[np.float64]:
        """Give every pair of a bundle the bundle's share of its weight."""
        forces = np.empty(self.n_pairs)
        shares, begin = point.shares, 0
        for part in parts:
            own = shares[begin : begin + part.gap.size]
            begin += part.gap.size
            if part.starts is not None:
                own = np.repeat(own, np.diff(part.starts))
            forces[part.pairs] = own
        forces *= self.problem.weight
        return forces

    def _objective(self, y: NDArray[np.float64], residual: NDArray[np.float64]) -> float:
        loss = self.problem.weight @ np.maximum(residual, 0.0)
        return float(loss + self.l2 / 2 * (y @ y))

    def _bound(self, forces: NDArray[np.float64], lifts: NDArray[np.float64]) -> float:
        push = self.problem.reduced.pull(forces) + lifts @ self.edges
        return float(forces @ self.problem.gap - push @ push / (2 * self.l2))
