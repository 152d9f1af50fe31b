"""What a plain word of YAML 1.2 means: text, a number, true, false or nothing; ``yes`` is text."""

from __future__ import annotations

import math
import re
from typing import TypeAlias

__all__ = ["ScalarValue", "resolve_scalar"]

ScalarValue: TypeAlias = str | int | float | bool | None

_WORDS: dict[str, ScalarValue] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + word: math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **{f"-{word}": -math.inf for word in (".inf", ".Inf", ".INF")},
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MOST_DIGITS = 300


def resolve_scalar(text: str) -> ScalarValue:
    """Read a word that stands without quotes, by the core schema of YAML 1.2 (section 10.3.2).

    Examples
    --------
    >>> [resolve_scalar(word) for word in ("yes", "true", "0o17", "1e3", "1.0.0", "2024-01-01")]
    ['yes', True, 15, 1000.0, '1.0.0', '2024-01-01']
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= _MOST_DIGITS else math.inf
    if _BASED.fullmatch(text):
        return int(text, 0) if len(text) <= _MOST_DIGITS else math.inf
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
