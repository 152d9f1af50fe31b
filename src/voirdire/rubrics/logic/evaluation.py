"""Run many items through a diagram or a product plan, in chunks that fit the cache."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import shorten
from voirdire.documents import did_you_mean
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.rubrics.logic.diagram import send_down

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.rubrics.logic.diagram import Flow
    from voirdire.rubrics.logic.product import Factor, ProductPlan

__all__ = [
    "Columns",
    "check_matrix",
    "label_chunks",
    "leaf_of_labels",
    "leaf_probabilities",
    "probability_chunks",
    "product_probabilities",
]


class Columns:
    """Which columns of a matrix hold the propositions that are needed."""

    def __init__(self, propositions: Sequence[str], needed: Sequence[str]) -> None:
        self.names = tuple(propositions)
        position = {name: k for k, name in enumerate(self.names)}
        if len(position) < len(self.names):
            twice = next(n for k, n in enumerate(self.names) if position[n] != k)
            msg = f"`propositions` must be different, got {shorten(twice)!r} twice."
            raise InputError(msg)
        missing = [name for name in needed if name not in position]
        if missing:
            hint = did_you_mean(missing[0], self.names)
            msg = (
                f"`propositions` must hold every proposition that is needed, got none called "
                f"{missing[0]!r}.{hint} A judge that was not asked about it gives nan."
            )
            raise InputError(msg)
        self.positions = [position[name] for name in needed]


def check_matrix(name: str, values: ArrayLike, *, propositions: Sequence[str]) -> NDArray[Any]:
    """Return `values` as an array of one row per item and one column per proposition."""
    array = np.asarray(values)
    if array.dtype == object:
        array = _from_objects(name, array)
    if array.ndim != 2 or array.shape[1] != len(propositions):
        msg = (
            f"`{name}` must have shape (n_items, {len(propositions)}), one column for each of "
            f"`propositions`, got {array.shape}."
        )
        raise InputError(msg)
    if array.dtype.kind not in "biuf":
        msg = f"`{name}` must hold numbers, got an array of {array.dtype}."
        raise InputError(msg)
    return array


def probability_chunks(
    matrix: NDArray[Any], columns: Columns, *, size: int
) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield, chunk by chunk, its place and the probabilities of false and of true by column.

    Every column is checked, needed or not. The arrays are the same ones each time.
    """
    buffers = np.empty((2, len(columns.positions), min(size, len(matrix))))
    for start in range(0, len(matrix), size):
        rows = matrix[start : start + size]
        _check_probabilities(rows, start, columns.names)
        low, high = buffers[:, :, : len(rows)]
        for k, position in enumerate(columns.positions):
            high[k] = rows[:, position]
        # 1 − p rather than what p leaves of the mass: exact to the last digit for small 1 − p.
        np.subtract(1.0, high, out=low)
        yield slice(start, start + len(rows)), low, high


def label_chunks(
    matrix: NDArray[Any], columns: Columns, *, size: int
) -> Iterator[tuple[slice, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield, chunk by chunk, its place and by column whether it may be false, and may be true.

    A label that is missing may be both.
    """
    buffers = np.empty((2, len(columns.positions), min(size, len(matrix))), dtype=np.bool_)
    for start in range(0, len(matrix), size):
        rows = matrix[start : start + size]
        _check_labels(rows, start, columns.names)
        low, high = buffers[:, :, : len(rows)]
        for k, position in enumerate(columns.positions):
            np.not_equal(rows[:, position], 1, out=low[k])
            np.not_equal(rows[:, position], 0, out=high[k])
        yield slice(start, start + len(rows)), low, high


def _check_probabilities(rows: NDArray[Any], start: int, names: tuple[str, ...]) -> None:
    # Two passes that stop at nothing are faster than comparing every entry; nan makes both false.
    if rows.size == 0 or (rows.min() >= 0 and rows.max() <= 1):
        return
    outside = (rows < 0) | (rows > 1)
    if outside.any():
        _refuse("`probabilities` must be in [0, 1] or nan", rows, start, names, outside)


def _check_labels(rows: NDArray[Any], start: int, names: tuple[str, ...]) -> None:
    if rows.dtype == np.bool_:
        return
    other = (rows != 0) & (rows != 1) & (rows == rows)  # nan is not itself
    if other.any():
        _refuse("`labels` must be true, false or missing", rows, start, names, other)


def _refuse(
    rule: str, rows: NDArray[Any], start: int, names: tuple[str, ...], wrong: NDArray[np.bool_]
) -> None:
    row, column = map(int, np.argwhere(wrong)[0])
    value = rows[row, column].item()
    msg = f"{rule}, got {value!r} for {shorten(names[column])!r} in row {start + row} (from 0)."
    raise InputError(msg)


def _from_objects(name: str, array: NDArray[Any]) -> NDArray[np.float64]:
    """Read None, NaN and pandas' NA as nan, and numbers and truth values as numbers."""
    flat = [_number(name, value) for value in array.ravel().tolist()]
    return np.array(flat, dtype=np.float64).reshape(array.shape)


def _number(name: str, value: object) -> float:
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return math.nan
    try:
        if not isinstance(value, str | bytes):
            return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        pass
    msg = f"`{name}` must hold numbers, truth values or None, got {shorten(value)!r}."
    raise InputError(msg)


_NUMBERS_AT_WORK = 2**17
"""1 MiB of float64: more leaves the second-level cache, less pays more for calls than for work."""


def leaf_probabilities(
    flow: Flow, probabilities: ArrayLike, *, propositions: Sequence[str]
) -> NDArray[np.float64]:
    """Give the probability of every leaf, shape (n_items, n_leaves).

    An item with a nan among the propositions that the diagram depends on is nan throughout.
    """
    matrix = check_matrix("probabilities", probabilities, propositions=propositions)
    columns = Columns(propositions, flow.variables)
    result = np.empty((len(matrix), flow.n_leaves))
    size = _chunk_size(flow.n_places + 1 + 2 * len(flow.variables))
    places = np.zeros((flow.n_places + 1, min(size, len(matrix))))
    for chunk, low, high in probability_chunks(matrix, columns, size=size):
        n_items = low.shape[1]
        at_work = places[:, :n_items]
        send_down(flow, (low, high), places=at_work, times=np.multiply, plus=np.add)
        leaves = at_work[: flow.n_leaves]
        # Every variable has a node, so a nan of it has reached at least one leaf.
        unknown = np.isnan(leaves.sum(axis=0))
        if unknown.any():
            leaves = np.where(unknown, np.nan, leaves)
        result[chunk] = leaves.T
    return result


def leaf_of_labels(
    flow: Flow, labels: ArrayLike, *, propositions: Sequence[str]
) -> NDArray[np.int64]:
    """Give the leaf of every item, shape (n_items,); -1 where missing labels leave it open.

    It is open where they could be filled in so as to give different leaves. A missing label that
    cannot change the leaf any more does no harm, whatever the order of the variables.
    """
    matrix = check_matrix("labels", labels, propositions=propositions)
    columns = Columns(propositions, flow.variables)
    result = np.empty(len(matrix), dtype=np.int64)
    size = 8 * _chunk_size(flow.n_places + 1 + 2 * len(flow.variables))
    places = np.zeros((flow.n_places + 1, min(size, len(matrix))), dtype=np.bool_)
    for chunk, low, high in label_chunks(matrix, columns, size=size):
        at_work: NDArray[Any] = places[:, : low.shape[1]]
        send_down(flow, (low, high), places=at_work, times=np.logical_and, plus=np.logical_or)
        found = result[chunk]
        n_reached = np.zeros(len(found), dtype=np.int16)
        for leaf in range(flow.n_leaves):
            np.copyto(found, leaf, where=at_work[leaf])
            n_reached += at_work[leaf]
        found[n_reached != 1] = -1
    return result


def product_probabilities(
    plan: ProductPlan, probabilities: ArrayLike, *, propositions: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give normalised class probabilities and their normaliser; nan and a warning where it is 0."""
    matrix = check_matrix("probabilities", probabilities, propositions=propositions)
    columns = Columns(propositions, plan.variables)
    values = np.empty((len(matrix), len(plan.classes)))
    size = _chunk_size(2 * (len(plan.variables) + len(plan.products)) + len(plan.classes))
    for chunk, low, high in probability_chunks(matrix, columns, size=size):
        values[chunk] = _multiplied(plan, low, high).T
    normaliser = values.sum(axis=1)
    impossible = np.flatnonzero(normaliser == 0)
    if len(impossible):
        warnings.warn(
            f"the product rule gives every class 0 for {len(impossible):,} of {len(matrix):,} "
            f"items (the first in row {impossible[0]}, from 0); their classes are nan.",
            DegenerateDataWarning,
            stacklevel=3,
        )
    divisor = np.where(normaliser == 0, np.nan, normaliser)
    values /= divisor[:, None]
    return values, normaliser


def _chunk_size(n_rows: int) -> int:
    """Tell how many items to take at a time where each needs `n_rows` numbers."""
    return max(64, min(8_192, _NUMBERS_AT_WORK // max(n_rows, 1)))


def _multiplied(
    plan: ProductPlan, low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    n_variables, n_items = high.shape
    straight = np.empty((n_variables + len(plan.products), n_items))
    opposite = np.empty_like(straight)
    straight[:n_variables], opposite[:n_variables] = high, low

    def product(factors: tuple[Factor, ...]) -> NDArray[np.float64]:
        result = np.ones(n_items)
        for number, negated in factors:
            result *= (opposite if negated else straight)[number]
        return result

    for number, factors in enumerate(plan.products, start=n_variables):
        straight[number] = product(factors)
        np.subtract(1.0, straight[number], out=opposite[number])
    return np.array([product(factors) for factors in plan.classes])
