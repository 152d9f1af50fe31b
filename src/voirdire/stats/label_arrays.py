"""Arrays of labels, checked and gathered for a comparison; scales put on one footing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._types import Normalization
from voirdire._validation import check_choice
from voirdire.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["check_humans", "check_judges", "check_reference", "normalize_scale"]


# Scales ---------------------------------------------------------------------------------------


def normalize_scale(labels: ArrayLike, *, method: Normalization) -> NDArray[np.float64]:
    """Rescale each rater's numbers over the items that the rater labelled.

    Parameters
    ----------
    labels : array_like of float, shape (n_items,) or (n_items, n_raters)
        One rater's labels, or a column for each rater; nan is missing and stays so.
    method : {"zscore", "rank"}
        ``"zscore"`` subtracts the rater's mean and divides by the rater's standard deviation
        (population form; a rater who gives one value only becomes 0). ``"rank"`` replaces labels
        by average ranks, scaled to (0, 1): (rank - 0.5) / n.

    Returns
    -------
    ndarray of float, shape of `labels`

    Raises
    ------
    InputError
        If `method` is not one of the two words.

    Examples
    --------
    >>> normalize_scale([1, 3, 5], method="rank").round(3).tolist()
    [0.167, 0.5, 0.833]
    """
    check_choice("method", method, Normalization)
    values = np.array(labels, dtype=np.float64)
    if values.ndim > 1:
        return np.stack([normalize_scale(column, method=method) for column in values.T], axis=1)
    known = ~np.isnan(values)
    values[known] = _zscore(values[known]) if method == "zscore" else _rank(values[known])
    return values


def _zscore(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not values.size or values.min() == values.max():
        return np.zeros_like(values)
    return (values - values.mean()) / values.std()


def _rank(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((last - (counts - 1) / 2) - 0.5)[inverse] / max(len(values), 1)


# Labels ---------------------------------------------------------------------------------------


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
    humans: NDArray[Any], *, expert: int | None, gold: ArrayLike | None
) -> NDArray[Any] | None:
    """Return the labels that stand for the others: an annotator's, or gold ones in their form."""
    if expert is None and gold is None:
        return None
    if expert is None:
        labels = np.asarray(gold)
        if labels.shape != (len(humans),):
            msg = f"`gold` must have the shape ({len(humans)},), got {labels.shape}."
            raise InputError(msg)
        return _check_labels("gold", labels, numeric=humans.dtype.kind == "f")
    if gold is not None:
        msg = f"`gold` must be None when `expert` is given, got both (expert {expert!r})."
        raise InputError(msg)
    if not 0 <= expert < humans.shape[1]:
        msg = f"`expert` must be a column of `humans` (0 to {humans.shape[1] - 1}), got {expert}."
        raise InputError(msg)
    return np.ascontiguousarray(humans[:, expert])


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
    if labels.dtype.kind == "u":
        labels = labels.astype(np.int64)
    if labels.min(initial=0) < -1:
        msg = f"`{name}` must hold codes from 0, -1 where missing, got {int(labels.min())}."
        raise InputError(msg)
    return labels
