"""Check the arrays of labels that the examinations take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["check_humans", "check_judges", "check_reference", "weight_codes"]


def check_humans(humans: ArrayLike, *, numeric: bool) -> NDArray[Any]:
    """Return the label matrix as codes, or as numbers, of shape (n_items, n_annotators)."""
    matrix = np.asarray(humans)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        msg = f"`humans` must have the shape (n_items, n_annotators), got {matrix.shape}."
        raise InputError(msg)
    return _check_labels("humans", matrix, numeric=numeric)


def check_judges(
    judges: ArrayLike, failed: ArrayLike | None, humans: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the judges' labels and failures, both of shape (n_items, n_judges)."""
    matrix = np.asarray(judges)
    matrix = matrix[:, np.newaxis] if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or len(matrix) != len(humans):
        msg = (
            f"`judges` must have one row for each of {len(humans)} items, got the shape "
            f"{np.shape(judges)}. Align judges and humans on items first."
        )
        raise InputError(msg)
    matrix = _check_labels("judges", matrix, numeric=np.issubdtype(humans.dtype, np.floating))
    if failed is None:
        return matrix, None
    flags = np.asarray(failed, dtype=np.bool_)
    flags = flags[:, np.newaxis] if flags.ndim == 1 else flags
    if flags.shape != matrix.shape:
        msg = f"`failed` must have the shape of `judges` {matrix.shape}, got {flags.shape}."
        raise InputError(msg)
    if not flags.any():
        return matrix, None
    return np.where(flags, np.nan if matrix.dtype.kind == "f" else -1, matrix), flags


def check_reference(
    expert: int | None, gold: ArrayLike | None, humans: NDArray[Any]
) -> NDArray[Any] | None:
    """Return the labels that replace "the others", if any."""
    if expert is not None and gold is not None:
        msg = f"`gold` must be None when `expert` is given, got both (expert {expert!r})."
        raise InputError(msg)
    if expert is not None:
        if not 0 <= expert < humans.shape[1]:
            msg = (
                f"`expert` must be a column of `humans` (0 to {humans.shape[1] - 1}), got {expert}."
            )
            raise InputError(msg)
        return np.ascontiguousarray(humans[:, expert])
    if gold is None:
        return None
    labels = np.asarray(gold)
    if labels.shape != (len(humans),):
        msg = f"`gold` must have the shape ({len(humans)},), got {labels.shape}."
        raise InputError(msg)
    return _check_labels("gold", labels, numeric=np.issubdtype(humans.dtype, np.floating))


def weight_codes(
    humans: NDArray[Any], reference: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return the codes that imbalance weights count: labels must repeat, so they are whole."""
    if humans.dtype.kind != "f":
        return humans, reference
    stacked = humans if reference is None else np.column_stack([humans, reference])
    known = stacked[~np.isnan(stacked)]
    if (known != np.floor(known)).any():
        msg = (
            "`weights` must be None for continuous labels, got 'imbalance'. "
            "Majority labels exist only where labels repeat."
        )
        raise InputError(msg)
    codes = np.unique(stacked, return_inverse=True)[1].reshape(stacked.shape)
    codes = np.where(np.isnan(stacked), -1, codes)
    return (codes, None) if reference is None else (codes[:, :-1], codes[:, -1])


def _check_labels(name: str, labels: NDArray[Any], *, numeric: bool) -> NDArray[Any]:
    if numeric:
        try:
            numbers = labels.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            numbers = None
        if numbers is None or np.isinf(numbers).any():
            msg = f"`{name}` must hold finite numbers, nan where missing, got {labels.dtype}."
            raise InputError(msg)
        return numbers
    if not np.issubdtype(labels.dtype, np.integer):
        msg = f"`{name}` must hold integer codes, -1 where missing, got {labels.dtype}."
        raise InputError(msg)
    if labels.min(initial=0) < -1:
        msg = f"`{name}` must hold codes from 0, -1 where missing, got {int(labels.min())}."
        raise InputError(msg)
    return labels
