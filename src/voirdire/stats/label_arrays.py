"""Arrays of labels, checked and gathered for a comparison; scales put on one footing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._types import Normalization
from voirdire._validation import check_choice
from voirdire.errors import InputError
from voirdire.stats.agreement.coefficient import check_units
from voirdire.stats.comparison import Raters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["check_humans", "check_judges", "gather_raters", "normalize_scale"]


# Scales ---------------------------------------------------------------------------------------


def normalize_scale(labels: ArrayLike, *, method: Normalization) -> NDArray[np.float64]:
    """Rescale one rater's numbers over the items that the rater labelled.

    Parameters
    ----------
    labels : array_like of float, shape (n_items,)
        One rater's labels; nan is missing and stays so.
    method : {"zscore", "rank"}
        ``"zscore"`` subtracts the rater's mean and divides by the rater's standard deviation
        (population form; a rater who gives one value only becomes 0). ``"rank"`` replaces labels
        by average ranks, scaled to (0, 1): (rank - 0.5) / n.

    Returns
    -------
    ndarray of float, shape (n_items,)

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


# Raters ---------------------------------------------------------------------------------------


def gather_raters(
    judges: ArrayLike,
    humans: ArrayLike,
    *,
    numeric: bool,
    failed: ArrayLike | None,
    expert: int | None,
    gold: ArrayLike | None,
    normalize: Normalization | None,
    clusters: ArrayLike | None,
    weighted: bool,
) -> Raters:
    """Check and gather everyone's labels; the arguments are those of `voirdire.stats.alt_test`."""
    people = check_humans(humans, numeric=numeric)
    machines, failures = check_judges(judges, failed, people)
    truth = _check_gold(gold, people)
    if normalize is not None:
        if not numeric:
            msg = f"`normalize` must be None unless `alignment` is 'neg_rmse', got {normalize!r}."
            raise InputError(msg)
        people, machines = _normalized(people, normalize), _normalized(machines, normalize)
        truth = None if truth is None else normalize_scale(truth, method=normalize)
    reference = truth if expert is None else _check_expert(expert, gold, people)
    codes, reference_codes = _weight_codes(people, reference) if weighted else (None, None)
    return Raters(
        humans=people,
        judges=machines,
        failed=failures,
        reference=reference,
        clusters=check_units(clusters, len(people)),
        codes=codes,
        reference_codes=reference_codes,
    )


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


def _check_expert(expert: int, gold: ArrayLike | None, humans: NDArray[Any]) -> NDArray[Any]:
    """Return the labels of the annotator who stands for the others."""
    if gold is not None:
        msg = f"`gold` must be None when `expert` is given, got both (expert {expert!r})."
        raise InputError(msg)
    if not 0 <= expert < humans.shape[1]:
        msg = f"`expert` must be a column of `humans` (0 to {humans.shape[1] - 1}), got {expert}."
        raise InputError(msg)
    return np.ascontiguousarray(humans[:, expert])


def _check_gold(gold: ArrayLike | None, humans: NDArray[Any]) -> NDArray[Any] | None:
    """Return the gold labels in the form of the annotators'."""
    if gold is None:
        return None
    labels = np.asarray(gold)
    if labels.shape != (len(humans),):
        msg = f"`gold` must have the shape ({len(humans)},), got {labels.shape}."
        raise InputError(msg)
    return _check_labels("gold", labels, numeric=humans.dtype.kind == "f")


def _weight_codes(
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


def _normalized(labels: NDArray[np.float64], method: Normalization) -> NDArray[np.float64]:
    return np.stack([normalize_scale(column, method=method) for column in labels.T], axis=1)


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
