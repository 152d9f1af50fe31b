"""Turn what was typed about a fit into `FitSettings`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.cli.shell import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["as_margins", "as_numbers", "as_orders", "as_signs"]

_ALL = "*"


def as_margins(typed: Sequence[str]) -> dict[str, Any]:
    """Read `NUMBER`, the margin of all comparisons, and `LABEL=NUMBER`."""
    found: dict[str, Any] = {}
    margins: dict[str, float] = {}
    for text in typed:
        label, equals, value = text.rpartition("=")
        number = _number(value, option="--margin", form="NUMBER or LABEL=NUMBER", typed=text)
        if not equals:
            _once("--margin", "a margin for all comparisons", known="margin" in found)
            found["margin"] = number
            continue
        _once("--margin", repr(shorten(label.strip())), known=label.strip() in margins)
        margins[label.strip()] = number
    return found | ({"margins": margins} if margins else {})


def as_numbers(typed: Sequence[str], *, option: str) -> dict[str, float]:
    """Read `FEATURE=NUMBER` pairs."""
    found: dict[str, float] = {}
    for text in typed:
        name, equals, value = (part.strip() for part in text.rpartition("="))
        if not (name and equals):
            msg = f"`{option}` must be FEATURE=NUMBER, got {text!r}."
            raise UsageError(msg)
        _once(option, repr(shorten(name)), known=name in found)
        found[name] = _number(value, option=option, form="FEATURE=NUMBER", typed=text)
    return found


def as_orders(typed: Sequence[str]) -> dict[str, str]:
    """Read `BEHAVIOR=TEXT`; text alone is for all behaviors."""
    found: dict[str, str] = {}
    for text in typed:
        behavior, equals, order = text.partition("=")
        name = behavior.strip() if equals else _ALL
        _once("--order", repr(shorten(name)), known=name in found)
        found[name] = order.strip() if equals else text.strip()
        if ">" not in found[name]:
            msg = f"`--order` must put better labels first, as in full > part, got {text!r}."
            raise UsageError(msg)
    return found


def as_signs(positive: Sequence[str], negative: Sequence[str]) -> Mapping[str, Any]:
    """Put both lists of features into one mapping."""
    both = sorted({*positive} & {*negative})
    if both:
        msg = f"`--positive` and `--negative` must not both name {shorten(both[0])!r}."
        raise UsageError(msg)
    return dict.fromkeys(positive, "positive") | dict.fromkeys(negative, "negative")


def _number(value: str, *, option: str, form: str, typed: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        msg = f"`{option}` must be {form}, got {typed!r}."
        raise UsageError(msg)
    return number


def _once(option: str, what: str, *, known: bool) -> None:
    if known:
        msg = f"`{option}` must name {what} once, got it twice."
        raise UsageError(msg)
