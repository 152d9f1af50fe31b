"""Read what the page is made from, with errors that say which value is not fit."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.records.plain import without_nan
from voirdire.reporting.reward_json import reward_examination_as_dict
from voirdire.reporting.reward_page.content import SCHEMA, as_reward_report

if TYPE_CHECKING:
    from voirdire.reporting.reward_page.content import RewardReport
    from voirdire.studies.reward.result import RewardExamination

__all__ = ["MOST_BYTES", "read_reward_report"]

MOST_BYTES = 64 * 2**20
"""Longest JSON that a page is made of: a thousand times a usual one."""
_MADE_BY = "Make one with `voirdire examine-reward --json`"
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_EXPECTED = re.compile(r"Expected `([^`]+)`")
_STEP = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>\d+|\.\.\.)\]")


def read_reward_report(
    content: RewardExamination | dict[str, Any] | str | bytes, *, source: str = "reward.json"
) -> RewardReport:
    """Turn an examination of a reward, or its JSON, into checked records.

    Parameters
    ----------
    content : RewardExamination, dict, str or bytes
        What is read; nan and null are alike. Keys of newer versions are left aside.
    source : str, optional
        What errors call it.

    Returns
    -------
    RewardReport
        What the page shows.

    Raises
    ------
    InputError
        If it is no such JSON, longer than 64 MiB, or a value is of a wrong type or out of range.
    """
    plain = _plain(content, source)
    _check_sort(plain, source)
    try:
        report = as_reward_report(plain)
    except msgspec.ValidationError as error:
        raise InputError(_in_our_words(str(error), plain, source)) from error
    _check_shapes(report, source)
    return report


def _plain(content: Any, source: str) -> Any:
    if isinstance(content, str | bytes | bytearray):
        content = _decoded(content, source)
    elif not isinstance(content, dict):
        try:
            content = reward_examination_as_dict(content)
        except TypeError as error:  # no dataclass
            msg = "`content` must be the examination of a reward or its JSON, "
            raise InputError(f"{msg}got {shorten(content)}. {_MADE_BY}.") from error
    try:
        return without_nan(content)
    except RecursionError as error:
        msg = f"{source}: must be of sensible depth, got objects nested too deep. {_MADE_BY}."
        raise InputError(msg) from error


def _decoded(content: str | bytes | bytearray, source: str) -> Any:
    if len(content) > MOST_BYTES:
        size = f"{len(content) / 2**20:,.0f} MiB"
        msg = f"{source}: must be JSON of at most {MOST_BYTES // 2**20} MiB, got {size}. {_MADE_BY}"
        raise InputError(f"{msg} with fewer bins.")
    try:
        return json.loads(content if isinstance(content, str) else content.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        found = error.doc[error.pos : error.pos + 20]
        shown = repr(shorten(found)) if found else "the end"
        msg = f"{source}:{error.lineno}:{error.colno}: must be JSON, got {shown}. {_MADE_BY}."
        raise InputError(msg) from error
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x}"
        msg = f"{source}: must be JSON in UTF-8, got {byte}. {_MADE_BY}."
        raise InputError(msg) from error
    except (RecursionError, ValueError) as error:  # nested too deep, or a number too long
        msg = f"{source}: must be JSON of sensible depth and numbers, got {error}. {_MADE_BY}."
        raise InputError(msg) from error


def _check_sort(plain: Any, source: str) -> None:
    """Tell other files of voirdire from the one that is wanted, before its keys are looked at."""
    wanted = f"{source}: must be what `voirdire examine-reward --json` prints"
    if not isinstance(plain, dict):
        msg = f"{wanted}, got {_sort_of(plain)}. {_MADE_BY}."
        raise InputError(msg)
    schema = plain.get("schema")
    if schema != SCHEMA:
        found = "no `schema`" if schema is None else f"schema {shorten(schema, width=60)!r}"
        msg = f"{wanted}, with the schema {SCHEMA!r}, got {found}. {_MADE_BY}."
        raise InputError(msg)


def _sort_of(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"an {'object' if isinstance(value, dict) else 'array'} of {len(value)}"
    return "null" if value is None else shorten(repr(value), width=60)


def _in_our_words(message: str, plain: Any, source: str) -> str:
    """Say where, what it must be, and what it is, instead of msgspec's sentence."""
    what, _, path = message.rpartition(" - at `")
    what, path = (what, path.rstrip("`")) if what else (message, "$")
    found = _at(plain, path)
    missing = re.search(r"missing required field `(\w+)`", what)
    if missing:
        return f"{source}: {path} must have the key `{missing[1]}`, got none. {_MADE_BY}."
    expected = _EXPECTED.match(what)
    if expected is None:
        rule = "one of the words that voirdire writes"
    else:
        rule = " or ".join(_WORDS.get(word, word) for word in expected[1].split(" | "))
        bounds = re.search(r"[<>]=? \S+?(?=,|$)", what[expected.end() :])
        rule += f" {bounds[0].replace('1.000000001', '1').replace('-1e-09', '0')}" if bounds else ""
    return f"{source}: {path} must be {rule}, got {found}. {_MADE_BY}."


def _at(plain: Any, path: str) -> str:
    """Follow a path of msgspec; ``[...]`` stands for any key of an object, so it ends there."""
    value = plain
    for step in _STEP.finditer(path):
        try:
            value = value[step["key"]] if step["key"] else value[int(step["index"])]
        except (KeyError, IndexError, TypeError, ValueError):
            return "something else"
    return _sort_of(value)


def _check_shapes(report: RewardReport, source: str) -> None:
    for place, row in enumerate(report.histograms):
        n_edges = len(row.edges)
        if n_edges != len(row.counts) + 1 or any(a >= b for a, b in pairwise(row.edges)):
            rule = f"rise, one more than the {len(row.counts)} counts"
            msg = f"{source}: $.histograms[{place}].edges must {rule}, got {n_edges}. {_MADE_BY}."
            raise InputError(msg)
    if report.router is None:
        return
    size = len(report.router.behaviors)
    for name, rows in (("confusion", report.router.confusion), ("cost", report.router.cost)):
        if len(rows) != size or any(len(row) != size for row in rows):
            msg = f"{source}: $.router.{name} must be a table of {size} x {size}, got "
            raise InputError(f"{msg}{len(rows)} rows. {_MADE_BY}.")
