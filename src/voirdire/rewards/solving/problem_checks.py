"""Whether the arrays of a ranking problem fit each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire._types import Loss
from voirdire._validation import check_choice
from voirdire.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.rewards.solving.problem import RankingProblem

__all__ = ["checked"]


def checked(problem: RankingProblem) -> RankingProblem:
    """Return a problem whose arrays fit each other, or say what does not.

    Parameters
    ----------
    problem : RankingProblem
        From the caller.

    Returns
    -------
    RankingProblem
        The same.

    Raises
    ------
    InputError
        If lengths differ, a number is not finite, a weight or λ is below 0, a place is no row of
        the features, or a bound is neither 0 nor infinite.
    """
    check_choice("loss", problem.loss, Loss)
    n_items, n_features = _shape(problem.features)
    n_pairs = problem.better.size
    for name, expected in (
        ("worse", n_pairs),
        ("gap", n_pairs),
        ("weight", n_pairs),
        ("lower", n_features),
        ("upper", n_features),
    ):
        shape = getattr(problem, name).shape
        if shape != (expected,):
            msg = f"`{name}` must have the shape ({expected},), got {shape}. Align it first."
            raise InputError(msg)
    for name in ("features", "gap", "weight"):
        _check_finite(name, getattr(problem, name))
    if n_pairs and problem.weight.min() < 0:
        least = float(problem.weight.min())
        msg = f"`weight` must be at least 0, got {least!r}. Leave such pairs out."
        raise InputError(msg)
    if not 0 <= problem.l2 < np.inf:
        msg = f"`l2` must be a finite number of at least 0, got {problem.l2!r}. Pass 0.01."
        raise InputError(msg)
    _check_places(problem, n_items)
    _check_bounds(problem)
    return problem


def _shape(features: NDArray[np.float64]) -> tuple[int, int]:
    if features.ndim != 2:
        msg = f"`features` must have two dimensions, got {features.ndim}. Pass a row per item."
        raise InputError(msg)
    return features.shape[0], features.shape[1]


def _check_finite(name: str, values: NDArray[np.float64]) -> None:
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))[0])
        msg = f"`{name}` must be finite, got another number in row {bad}. Drop such items first."
        raise InputError(msg)


def _check_places(problem: RankingProblem, n_items: int) -> None:
    for name in ("better", "worse"):
        places = getattr(problem, name)
        if places.ndim != 1 or not np.issubdtype(places.dtype, np.integer):
            msg = f"`{name}` must be a row of whole numbers, got {places.dtype} of {places.ndim}D."
            raise InputError(f"{msg} Pass places in `features`.")
        if places.size and not (places.min() >= 0 and places.max() < n_items):
            msg = f"`{name}` must name rows 0 to {n_items - 1} of `features`, got"
            raise InputError(f"{msg} {places.min()} to {places.max()}. Count rows from 0.")


def _check_bounds(problem: RankingProblem) -> None:
    is_lower = np.isneginf(problem.lower) | (problem.lower == 0)
    is_upper = np.isposinf(problem.upper) | (problem.upper == 0)
    if not (is_lower.all() and is_upper.all()):
        at = int(np.flatnonzero(~(is_lower & is_upper))[0])
        lower, upper = float(problem.lower[at]), float(problem.upper[at])
        msg = (
            f"`lower`, `upper` must be -inf or 0, and 0 or inf, got {lower!r} and {upper!r} for "
            f"feature {at}. Leave other bounds out."
        )
        raise InputError(msg)
