"""A ranking problem brought into the form that the solvers work on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from voirdire.rewards.solving.differences import Differences
from voirdire.rewards.solving.directions import null_directions, relative_to_linked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.solving.problem import RankingProblem

__all__ = ["PreparedProblem", "prepared", "telling_coordinates"]

_NOTHING = 1e-12
"""Differences of this length, relative to all differences of the features, are rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedProblem:
    """Pairs of weight above 0 and features that may have a weight, each held to at least 0 or free.

    The solver's coordinates y leave out the directions in which no pair differs: the weights are
    `basis` y where there are such directions, and y itself where there are none. Along them the
    weights of least norm are 0, unless a bound forces them to move; then they stay in.

    Attributes
    ----------
    differences : Differences
        D of the kept features; those held to at most 0 have changed their sign.
    reduced : Differences
        D in the coordinates y.
    gap, weight : ndarray of float, shape (n_pairs,)
        c, and v above 0.
    l2 : float
        λ, at least 0.
    is_signed : ndarray of bool, shape (n_kept,)
        Which weights are held to at least 0.
    basis : ndarray of float, shape (n_kept, n_coordinates), or None
        Orthonormal; None for the identity.
    n_idle : int
        How many coordinates, the last ones, no pair tells anything of.
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
    basis: NDArray[np.float64] | None = field(repr=False)
    n_idle: int
    kept: NDArray[np.int64] = field(repr=False)
    sign: NDArray[np.float64] = field(repr=False)
    n_given: int

    @property
    def edges(self) -> NDArray[np.float64]:
        """Rows E with Ey at least 0: the bounds in the solver's coordinates."""
        everything = np.eye(self.is_signed.size) if self.basis is None else self.basis
        rows: NDArray[np.float64] = everything[self.is_signed]
        return rows

    def weights(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn y into weights of the kept features, exactly within their bounds."""
        full = coordinates if self.basis is None else self.basis @ coordinates
        return np.where(self.is_signed, np.maximum(full, 0.0), full)

    def coordinates(self, given: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn weights of all features of the problem that was given into y."""
        own = given[self.kept] * self.sign
        return own if self.basis is None else own @ self.basis

    def given_weights(self, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn weights of the kept features into those of all features."""
        given = np.zeros(self.n_given)
        # Adding 0 turns -0 into 0.
        given[self.kept] = own * self.sign + 0.0
        return given


def prepared(problem: RankingProblem) -> PreparedProblem:
    """Bring a checked problem into the solvers' form.

    Parameters
    ----------
    problem : RankingProblem
        Checked.

    Returns
    -------
    PreparedProblem
        The same problem.
    """
    live = np.flatnonzero(problem.weight > 0)
    better, worse = problem.better[live], problem.worse[live]
    kept = np.flatnonzero(problem.lower < problem.upper)
    sign = np.where(problem.upper[kept] == 0, -1.0, 1.0)
    is_signed = (problem.upper[kept] == 0) | (problem.lower[kept] == 0)
    features = relative_to_linked(problem.features[:, kept] * sign, better, worse)
    differences = Differences(features=features, better=better, worse=worse)
    basis, n_idle = telling_coordinates(features, np.eye(kept.size)[is_signed])
    is_whole = basis.shape[1] == kept.size and not n_idle
    reduced = differences
    if not is_whole:
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
        basis=None if is_whole else basis,
        n_idle=n_idle,
        kept=kept,
        sign=sign,
        n_given=problem.features.shape[1],
    )


def telling_coordinates(
    features: NDArray[np.float64], edges: NDArray[np.float64]
) -> tuple[NDArray[np.float64], int]:
    """Find coordinates without directions of which nothing is told.

    Parameters
    ----------
    features : ndarray of float, shape (n_items, n_features)
        Relative to linked items: what is 0 in all of them, no pair tells apart.
    edges : ndarray of float, shape (n_bounds, n_features)
        Bounds that may mind a direction in which no pair differs.

    Returns
    -------
    tuple of (ndarray of float, shape (n_features, n_coordinates), int)
        Orthonormal columns, and how many of them, the last ones, only bounds mind.
    """
    n_features = features.shape[1]
    idle = null_directions(features, tolerance=_NOTHING)
    n_idle = idle.shape[1]
    if not n_idle:
        return np.eye(n_features), 0
    telling = np.linalg.qr(idle, mode="complete")[0][:, n_idle:]
    minding = edges @ idle
    if not minding.size:
        return telling, 0
    _, sizes, axes = np.linalg.svd(minding, full_matrices=True)
    is_minded = np.zeros(n_idle, bool)
    is_minded[: sizes.size] = sizes > 1e-10
    minded = idle @ axes[is_minded].T
    return np.hstack([telling, minded]), int(minded.shape[1])
