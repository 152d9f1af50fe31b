"""Check the arrays that class logic is given, and hand them on in chunks that fit the cache."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import shorten
from voirdire.documents import did_you_mean
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Columns", "check_matrix", "label_chunks", "probability_chunks"]


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
