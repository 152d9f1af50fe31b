"""Numbers as a reader wants them: rounded, aligned, without a leading zero in English."""

from __future__ import annotations

import math

__all__ = ["decimal", "margin", "p_value", "percent", "share", "whole"]

_HUGE = 1e6
_SMALLEST_P = 1e-3
_HUNDREDTH = 0.01
_THOUSANDTH = 0.001


def decimal(value: float | None, *, digits: int = 2, leading_zero: bool = False) -> str:
    """Write a figure with a fixed number of digits; a dash where it is undefined."""
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) >= _HUGE:
        return f"{value:.{digits}e}".replace("-", "−")
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    sign, number = ("−", text[1:]) if text.startswith("-") else ("", text)
    if number.startswith("0.") and not leading_zero:
        number = number[1:]
    return sign + number


def margin(value: float, *, leading_zero: bool = False) -> str:
    """Write ε with all of its digits."""
    text = f"{value:.10g}"
    return text[1:] if text.startswith("0.") and not leading_zero else text


def p_value(value: float | None, *, leading_zero: bool = False) -> str:
    """Write a p-value with three digits; very small ones as a bound."""
    if value is None or not math.isfinite(value):
        return "–"
    zero = "0" if leading_zero else ""
    if value < _SMALLEST_P:
        return f"< {zero}.001"
    return decimal(value, digits=3, leading_zero=leading_zero)


def percent(value: float | None) -> str:
    """Write a share as a whole percentage; 0% is none, and 100% is all."""
    if value is None or not math.isfinite(value):
        return "–"
    if 0 < value < _HUNDREDTH:
        return "<1%"
    return ">99%" if 1 - _HUNDREDTH < value < 1 else f"{value:.0%}"


def share(value: float | None, *, sign: bool = True) -> str:
    """Write a share in per cent with one decimal; 0% is none, and 100% is all."""
    if value is None or not math.isfinite(value):
        return "–"
    unit = "%" if sign else ""
    if 0 < value < _THOUSANDTH:
        return f"<0.1{unit}"
    if 1 - _THOUSANDTH < value < 1:
        return f">99.9{unit}"
    text = f"{100 * value:.0f}" if value in (0, 1) else f"{100 * value:.1f}"
    return f"{text.replace('-', '−')}{unit}"


def whole(value: int) -> str:
    """Write a count with separators of thousands."""
    return f"{value:,}"
