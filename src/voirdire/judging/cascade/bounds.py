"""Between which probabilities a judge is unsure, proposition by proposition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DEFAULT", "Bounds", "Unsure", "is_unsure", "read_bounds"]

DEFAULT = "default"
"""What a mapping calls the bounds of all propositions that it does not name."""

Bounds: TypeAlias = tuple[float, float]
"""Low and high: strictly between them a judge is unsure."""

Unsure: TypeAlias = Sequence[float] | Mapping[str, Sequence[float]]
"""Bounds for all propositions, or by proposition beside those by default."""


def read_bounds(given: Any) -> dict[str, Bounds]:
    """Return bounds by proposition, those by default among them, or raise an `InputError`."""
    if not isinstance(given, Mapping):
        return {DEFAULT: _pair(given, called="unsure")}
    if DEFAULT not in given:
        msg = (
            f"`unsure` must have the key {DEFAULT!r}, got {shorten(list(given))}. Name the "
            "propositions that decide in `propositions` if only some are to count."
        )
        raise InputError(msg)
    return {
        str(name): _pair(pair, called=f"unsure[{shorten(str(name), width=40)!r}]")
        for name, pair in given.items()
    }


def is_unsure(
    probabilities: NDArray[np.float64], bounds: Sequence[Bounds | None]
) -> NDArray[np.bool_]:
    """Tell of which items a judge is unsure.

    Parameters
    ----------
    probabilities : ndarray of float, shape (n_items, n_propositions)
        In [0, 1]; nan where there is no answer.
    bounds : sequence of tuple or None
        One per proposition; None where its probability does not matter.

    Returns
    -------
    ndarray of bool, shape (n_items,)
        Where any probability lies strictly between its bounds, or any answer is missing.
    """
    pairs = [(math.nan, math.nan) if pair is None else pair for pair in bounds]
    low, high = np.array(pairs, dtype=np.float64).reshape(len(pairs), 2).T
    inside = (probabilities > low) & (probabilities < high)
    return np.asarray((inside | np.isnan(probabilities)).any(axis=1))


def _pair(given: Any, *, called: str) -> Bounds:
    is_sequence = isinstance(given, Sequence) and not isinstance(given, str | bytes)
    numbers = [float(value) for value in given if _is_number(value)] if is_sequence else []
    if not is_sequence or len(given) != 2 or len(numbers) != 2 or numbers[0] > numbers[1]:
        msg = (
            f"`{called}` must be two finite numbers, the lower one first, got {shorten(given)}. "
            "Write (0.05, 0.95) to pass on what lies between them."
        )
        raise InputError(msg)
    return numbers[0], numbers[1]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
