"""Numbers as a terminal and the pages write them; a dash stands for what is undefined."""

from __future__ import annotations

import math


def is_defined(value: float | None) -> bool:
    """Whether a figure is known."""
    return value is not None and math.isfinite(value)


def decimal(value: float | None, *, digits: int = 2, leading_zero: bool = False) -> str:
    """Write a figure with a fixed number of digits; a dash where it is undefined."""
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) >= 1e6:
        return f"{value:.{digits}e}".replace("-", "−")
    text = f"{round(value, 12):.{digits}f}"  # .725 and .7250000000000001 are one figure
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


def p_value(value: float | None, *, digits: int = 3, leading_zero: bool = False) -> str:
    """Write a p-value; very small ones as a bound, and one near .05 on its side of it."""
    if value is not None and value > 0.05 and round(value, digits) <= 0.05:
        return p_value(value, digits=digits + 1, leading_zero=leading_zero)
    least = 10.0**-digits
    if value is not None and value < least:
        return f"< {decimal(least, digits=digits, leading_zero=leading_zero)}"
    return decimal(value, digits=digits, leading_zero=leading_zero)


def percent(value: float | None, *, digits: int = 0, sign: bool = True) -> str:
    """Write a share in per cent; 0% is none, and 100% is all."""
    if value is None or not math.isfinite(value):
        return "–"
    unit, least = "%" if sign else "", 10.0 ** -(digits + 2)
    if 0 < value < least:
        return f"<{100 * least:.{digits}f}{unit}"
    if 1 - least < value < 1:
        return f">{100 * (1 - least):.{digits}f}{unit}"
    text = f"{100 * value:.{0 if value in (0, 1) else digits}f}"
    return f"{text.replace('-', '−')}{unit}"


def counted(number: int, what: str) -> str:
    """Write a number of things."""
    return f"{number:,} {what}{'s'[: number != 1]}"
