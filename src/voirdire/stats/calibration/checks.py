"""The arrays that calibration takes: probabilities, truths, weights, groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["check_groups", "check_probabilities", "check_truths", "check_weights"]


def check_probabilities(values: ArrayLike) -> NDArray[np.float64]:
    """Return probabilities as floats; one-dimensional, in [0, 1], none missing."""
    found = _numbers("probabilities", values)
    outside = ~((found >= 0) & (found <= 1))
    if outside.any():
        got = float(found[outside][0])
        msg = f"`probabilities` must be in [0, 1], got {got!r}. Leave failed calls out."
        raise InputError(msg)
    return found


def check_truths(values: ArrayLike, *, n_items: int) -> NDArray[np.float64]:
    """Return truths as floats in [0, 1], as many as there are items; shares are soft labels."""
    found = _numbers("truths", values)
    _check_length("truths", found, n_items)
    outside = ~((found >= 0) & (found <= 1))
    if outside.any():
        got = float(found[outside][0])
        msg = f"`truths` must be true, false or a share in [0, 1], got {got!r}. Leave others out."
        raise InputError(msg)
    return found


def check_weights(values: ArrayLike | None, *, n_items: int) -> NDArray[np.float64]:
    """Return weights as floats, 1 where none are given; finite, not negative, not all 0."""
    if values is None:
        return np.ones(n_items)
    found = _numbers("weights", values)
    _check_length("weights", found, n_items)
    if not (np.isfinite(found).all() and (found >= 0).all() and found.any()):
        msg = "`weights` must be finite, not negative and not all 0. Leave them out for equal ones."
        raise InputError(msg)
    return found


def check_groups(values: ArrayLike | None, *, n_items: int) -> NDArray[np.intp]:
    """Return groups as numbers from 0; every item is its own where none are given."""
    if values is None:
        return np.arange(n_items)
    found = np.asarray(values)
    _check_length("groups", found, n_items)
    return np.unique(found, return_inverse=True)[1]


def _numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"`{name}` must be numbers. Pass an array of floats or truth values."
        raise InputError(msg) from error
    if found.ndim != 1:
        msg = f"`{name}` must have one dimension, got the shape {found.shape}. Pass one question."
        raise InputError(msg)
    return found


def _check_length(name: str, values: np.ndarray, n_items: int) -> None:
    if values.shape != (n_items,):
        msg = f"`{name}` must have the shape ({n_items},), got {values.shape}. Align them by item."
        raise InputError(msg)
