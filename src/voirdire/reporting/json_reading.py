"""Reads the JSON of our own results back, and says in plain words what does not fit.

Files come from anywhere: they are bounded, and every error names the place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from voirdire._validation import shorten
from voirdire.errors import InputError

__all__ = ["decode_json", "describe_value", "explain_mismatch"]

_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_BOUNDS = {
    ">= 0": "of at least 0",
    ">= 0.0": "of at least 0",
    ">= -1e-09": "of at least 0",
    "<= 1": "of at most 1",
    "<= 1.000000001": "of at most 1",
    "< 1.0": "below 1",
}
_EXPECTED = re.compile(r"Expected `(?P<wanted>[^`]+)`(?P<rule>[^-]*?)(?:, got .*?)?$")
_STEP = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>\d+|\.\.\.)\]")


def decode_json(
    content: str | bytes | bytearray, *, source: str, most_bytes: int, made_by: str, smaller: str
) -> Any:
    """Decode JSON; `made_by` says how such a file is made, `smaller` how to make a shorter one."""
    if len(content) > most_bytes:
        sizes = f"at most {most_bytes // 2**20} MiB, got {len(content) / 2**20:,.0f} MiB"
        msg = f"{source}: must be JSON of {sizes}. {smaller}"
        raise InputError(msg)
    try:
        return json.loads(content if isinstance(content, str) else content.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        found = error.doc[error.pos : error.pos + 20]
        shown = repr(shorten(found)) if found else "the end"
        msg = f"{source}:{error.lineno}:{error.colno}: must be JSON, got {shown}. {made_by}."
        raise InputError(msg) from error
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x}"
        msg = f"{source}: must be JSON in UTF-8, got {byte}. {made_by}."
        raise InputError(msg) from error
    except (RecursionError, ValueError) as error:  # nested too deep, or a number too long
        msg = f"{source}: JSON must be of sensible depth and numbers, got {error}. {made_by}."
        raise InputError(msg) from error


def explain_mismatch(error: Exception, plain: Any, *, source: str, made_by: str) -> str:
    """Say where, what it must be, and what it is, instead of msgspec's sentence."""
    what, _, path = str(error).rpartition(" - at `")
    what, path = (what, path.rstrip("`")) if what else (str(error), "$")
    value, path = _follow(plain, path)
    missing = re.search(r"missing required field `(\w+)`", what)
    if missing:
        return f"{source}: {path} must have the key `{missing[1]}`, got none. {made_by}."
    return f"{source}: {path} must be {_rule(what)}, got {describe_value(value)}. {made_by}."


def _rule(what: str) -> str:
    match = _EXPECTED.match(what)
    if match is None:
        return "one of the words that voirdire writes"
    words = [_TYPES.get(word, word) for word in match["wanted"].split(" | ")]
    bound = match["rule"].strip()
    return f"{' or '.join(words)}{f' {_BOUNDS.get(bound, bound)}' if bound else ''}"


def _follow(plain: Any, path: str) -> tuple[Any, str]:
    """Follow a path of msgspec; ``[...]`` stands for any key of an object."""
    value, where = plain, "$"
    for step in _STEP.finditer(path.removeprefix("$")):
        try:
            value = value[step["key"]] if step["key"] else value[int(step["index"])]
        except (KeyError, IndexError, TypeError, ValueError):
            return "something else", path
        where += shorten(step.group(), width=60)
    return value, where


def describe_value(value: Any) -> str:
    """Show a value of JSON in a few words."""
    if isinstance(value, Mapping | list | tuple):
        return f"an {'object' if isinstance(value, Mapping) else 'array'} of {len(value)}"
    if value is None:
        return "null"
    return shorten(repr(value) if isinstance(value, str) else str(value), width=60)
