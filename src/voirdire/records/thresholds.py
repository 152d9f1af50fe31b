"""Reads and writes thresholds: one number, or one for each proposition."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire._types import Threshold

USUAL_THRESHOLD = 0.5


def get_thresholds(threshold: Threshold, names: Sequence[str]) -> NDArray[np.float64]:
    """Return the threshold of each of these propositions; 1/2 for one that has none."""
    if isinstance(threshold, Mapping):
        return np.array([threshold.get(name, USUAL_THRESHOLD) for name in names], dtype=np.float64)
    return np.full(len(names), float(threshold))


def select_threshold(threshold: Threshold, names: Sequence[str]) -> Threshold:
    """Return what concerns these propositions: one number where it is the same for all of them."""
    if not isinstance(threshold, Mapping):
        return threshold
    each = dict(zip(names, get_thresholds(threshold, names).tolist(), strict=True))
    same = set(each.values())
    return each if len(same) > 1 else same.pop() if same else USUAL_THRESHOLD


def format_threshold(threshold: Threshold) -> str:
    """Write a threshold for people."""
    if isinstance(threshold, Mapping):
        low, high = min(threshold.values()), max(threshold.values())
        return f"{low:g} to {high:g}, by proposition"
    return f"{threshold:g}"


def threshold_to_cell(threshold: Threshold) -> float | str:
    """Write a threshold into one cell of a table."""
    if isinstance(threshold, Mapping):
        return json.dumps(dict(threshold), separators=(",", ":"))
    return float(threshold)


def threshold_from_cell(cell: Any) -> Threshold:
    """Read what `threshold_to_cell` gave, or what a document holds.

    Raises
    ------
    ValueError
        If it is no number in (0, 1), and not such a number for each of some names.
    """
    try:
        value = json.loads(cell) if isinstance(cell, str) else cell
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, Mapping) and value:
        return {str(name): _number(each) for name, each in value.items()}
    return _number(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise ValueError("must be in (0, 1), or hold such a number for each proposition")
    return float(value)
