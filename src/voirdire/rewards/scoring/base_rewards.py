"""Read the base rewards of items: from an argument, a column of the items, or a file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.records import Item

__all__ = [
    "BASE_COLUMNS",
    "NO_BASE",
    "choose_base_column",
    "has_base",
    "note_unused_base",
    "read_given_base",
    "read_item_base",
]

BASE_COLUMNS = ("base_reward", "rm_score")
"""Columns that hold a base reward where no column is named."""

_SIDES = ("chosen", "rejected")

NO_BASE = "no base reward"
NO_NUMBER = "the base reward is no finite number"

BaseRewards = tuple["NDArray[np.float64]", dict[str, str]]
"""The numbers, nan where there is none, and the reasons for nan by item."""


def read_given_base(given: ArrayLike | Mapping[str, float], items: Sequence[str]) -> BaseRewards:
    """Read base rewards that a caller gives: one per item in order, or by item id."""
    if isinstance(given, Mapping):
        return _check_numbers([given.get(name) for name in items], items)
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    if array.shape != (len(items),):
        got = f"shape {np.shape(given)}" if array.size else shorten(given)
        msg = (
            f"`base_rewards` must be one number for each of the {len(items)} items, got {got}. "
            "Where some are missing, give a mapping by item id."
        )
        raise InputError(msg)
    return _check_numbers(array.tolist(), items)


def read_item_base(items: Sequence[Item], *, column: str | None) -> BaseRewards:
    """Take base rewards from the items' own column; 0 for all where there is none to take.

    The sides of a pair have a column each, such as ``chosen_base_reward``.
    """
    ids = [item.id for item in items]
    if column is None:
        return np.zeros(len(items)), {}
    values = [item.metadata.get(column) for item in items]
    for place, item in enumerate(items):
        side = item.metadata.get("preference")
        if side in _SIDES:
            own = item.metadata.get(f"{side}_{column}")
            values[place] = values[place] if own in (None, "") else own  # CSV writes "" for none
    return _check_numbers(values, ids)


def has_base(items: Sequence[Item], column: str) -> bool:
    """Tell whether any item has this column, or any pair one for each of its sides."""
    names = (column, *(f"{side}_{column}" for side in _SIDES))
    return any(name in item.metadata for item in items for name in names)


def choose_base_column(items: Sequence[Item], *, named: str | None, uses_base: bool) -> str | None:
    """Choose the named column; else, where the reward needs a base, a usual column of the items."""
    if named is not None:
        return named
    if not uses_base:
        return None
    for name in BASE_COLUMNS:
        if has_base(items, name):
            return name
    return BASE_COLUMNS[0]


def note_unused_base(items: Sequence[Item]) -> tuple[str, ...]:
    """Note that items have a base reward that is not added."""
    for name in BASE_COLUMNS:
        if has_base(items, name):
            what = f"the items' `{name}` is not added: the reward was made without a base reward"
            return (f"{what}. Name the column to add it.",)
    return ()


def _check_numbers(values: Sequence[Any], items: Sequence[str]) -> BaseRewards:
    numbers = [_read_number(value) for value in values]
    rewards = np.array(numbers, dtype=np.float64)
    reasons = {
        items[place]: NO_BASE if values[place] is None else NO_NUMBER
        for place in np.flatnonzero(~np.isfinite(rewards)).tolist()
    }
    rewards[~np.isfinite(rewards)] = np.nan
    return rewards, reasons


def _read_number(value: Any) -> float:
    """Read a number; a cell of CSV is text."""
    if type(value) is float:
        return value
    if value is None or isinstance(value, bool | np.bool_):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # a tensor of several numbers
        return math.nan
