"""The checks that public functions share: each returns the clean value or raises `InputError`."""

from __future__ import annotations

import difflib
import inspect
import math
import sys
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, get_args

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")


def change_fields(
    record: T, values: Mapping[str, Any], *, of: Callable[..., Any] | None = None
) -> T:
    """Return a settings record with other values of some fields, by name.

    `of` is a function with the fields as keywords: one of its own may be what was misspelt.
    """
    known = [row.name for row in fields(record)]  # type: ignore[arg-type]  # a dataclass
    if of is not None and not set(values) <= set(known):
        own = inspect.signature(of).parameters.values()
        known += [row.name for row in own if row.kind is not row.VAR_KEYWORD]
    check_names(values, known, of=(of or type(record)).__name__)
    return replace(record, **values)  # type: ignore[type-var]  # a dataclass


def check_names(names: Iterable[str], known: Sequence[str], *, of: str) -> None:
    """Refuse a name of a setting that is not known, with the nearest one that is."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1) or sorted({*known})
            msg = f"`{shorten(name)}` must be a setting of `{of}`, got a name that it lacks."
            raise InputError(f"{msg} Write {' or '.join(map(repr, near))}.")


def check_choice(name: str, value: T, allowed: Any) -> T:
    """Return `value` if it is one of the words of the ``Literal`` `allowed`."""
    words = get_args(allowed)
    if value not in words:
        listing = ", ".join(repr(word) for word in words)
        msg = f"`{name}` must be one of {listing}, got {shorten(repr(value))}."
        raise InputError(msg)
    return value


def check_count(name: str, value: int, *, minimum: int) -> int:
    """Return `value` if it is a whole number of at least `minimum`."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < minimum:
        msg = f"`{name}` must be a whole number of at least {minimum}, got {shorten(repr(value))}."
        raise InputError(msg)
    return int(value)


def check_positive(name: str, value: Any, *, zero: bool = False) -> float:
    """Return `value` if it is a finite number above 0, or of at least 0 with `zero`."""
    if not (is_number(value) and (value > 0 or (zero and value == 0))):
        seconds = " of seconds" if name.endswith("_s") else ""
        least = "of at least" if zero else "above"
        msg = f"`{name}` must be a finite number{seconds} {least} 0, got {shorten(repr(value))}."
        raise InputError(msg)
    return float(value)


def check_fraction(name: str, value: float, *, open_below: bool = True) -> float:
    """Return `value` if it lies in (0, 1), or in [0, 1) when `open_below` is false."""
    number = _as_float(name, value)
    if not (number < 1 and (number > 0 or (number == 0 and not open_below))):
        interval = "(0, 1)" if open_below else "[0, 1)"
        hint = " Write 95% as 0.95." if number >= 1 else ""
        msg = f"`{name}` must be in the interval {interval}, got {value!r}.{hint}"
        raise InputError(msg)
    return number


def check_epsilons(value: float | Sequence[float]) -> tuple[float, ...]:
    """Return ε, one number or several, as a tuple of fractions in [0, 1)."""
    several = isinstance(value, Iterable) and not isinstance(value, str)
    several = several and getattr(value, "ndim", 1) > 0
    values: tuple[Any, ...] = tuple(value) if several else (value,)  # type: ignore[arg-type]
    if not values:
        msg = "`epsilon` must hold at least one number, got an empty sequence."
        raise InputError(msg)
    return tuple(check_fraction("epsilon", number, open_below=False) for number in values)


def is_number(value: object) -> TypeGuard[float]:
    """Return a finite number that fits a float; true is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= sys.float_info.max


def _as_float(name: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number) or isinstance(value, str | bool):
        msg = f"`{name}` must be a number, got {shorten(value)!r}."
        raise InputError(msg)
    return number
