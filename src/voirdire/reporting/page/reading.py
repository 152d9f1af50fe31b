"""Read what the page is made from, with errors that say which value should have been what."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.records.plain import without_nan
from voirdire.reporting.page.content import as_report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.reporting.page.content import Report
    from voirdire.studies import Examination

__all__ = ["MOST_BYTES", "plain_content", "read_report"]

MOST_BYTES = 256 * 2**20
"""Longest JSON that a page is made of; the largest study in the tests has a tenth of it."""
_MADE_BY = "Make one with `voirdire examine --json`"
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
    "<= 1.000000001": "of at most 1",
    "< 1.0": "below 1",
}
_EXPECTED = re.compile(r"Expected `(?P<wanted>[^`]+)`(?P<rule>[^-]*?)(?:, got .*?)?$")
_STEP = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>\d+|\.\.\.)\]")


def plain_content(
    content: dict[str, Any] | Examination | str | bytes, *, source: str = "report.json"
) -> dict[str, Any]:
    """Return the JSON object behind a dict, an examination, or JSON as text or bytes.

    Parameters
    ----------
    content : dict, Examination, str or bytes
        What is read; nan becomes null.
    source : str, optional
        What errors call it.

    Returns
    -------
    dict

    Raises
    ------
    InputError
        If it is not JSON, longer than 256 MiB, or not the JSON of an examination.
    """
    if isinstance(content, str | bytes | bytearray):
        content = _decoded(content, source)
    elif not isinstance(content, dict):
        content = _of_examination(content)
    try:
        plain = without_nan(content)
    except RecursionError as error:
        msg = f"{source}: must be of sensible depth, got objects nested too deep. {_MADE_BY}."
        raise InputError(msg) from error
    _check_sort(plain, source)
    return dict(plain)


def read_report(plain: dict[str, Any], *, source: str = "report.json") -> Report:
    """Turn the JSON object of an examination into records, checked.

    Parameters
    ----------
    plain : dict
        As `plain_content` gives it. Keys of newer versions are left aside, keys that older
        versions do not have may be missing.
    source : str, optional
        What errors call it.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If a value is of a wrong type or outside its range.
    """
    try:
        report = as_report(plain)
    except msgspec.ValidationError as error:
        raise InputError(_in_our_words(str(error), plain, source)) from error
    for place, rows, sizes in _square_tables(report):
        if len(rows) not in sizes or any(len(row) != len(rows) for row in rows):
            wanted = " or ".join(f"{size} x {size}" for size in sizes)
            msg = f"{source}: {place} must be a table of {wanted}, got {len(rows)} rows."
            raise InputError(msg)
    return report


def _square_tables(report: Report) -> Iterator[tuple[str, list[Any], tuple[int, ...]]]:
    """Name the tables of raters and of labels, with their rows and how many there should be."""
    for number, question in enumerate(report.questions):
        matrix = question.agreement.matrix if question.agreement else None
        if matrix is not None:
            place, size = f"$.questions[{number}].agreement.matrix", len(matrix.raters)
            yield f"{place}.values", matrix.values, (size,)
            yield f"{place}.n_items", matrix.n_items, (0, size)
        judges = question.diagnosis.judges if question.diagnosis else []
        for order, judge in enumerate(judges):
            if judge.confusion is not None:
                place = f"$.questions[{number}].diagnosis.judges[{order}].confusion.counts"
                size = len(judge.confusion.labels)
                yield place, judge.confusion.counts, (size, size + 1)


def _decoded(content: str | bytes | bytearray, source: str) -> Any:
    if len(content) > MOST_BYTES:
        msg = (
            f"{source}: must be JSON of at most {MOST_BYTES // 2**20} MiB, got "
            f"{len(content) / 2**20:,.0f} MiB. Examine fewer judges, alignments or ε at a time."
        )
        raise InputError(msg)
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        return json.loads(text)
    except json.JSONDecodeError as error:
        found = error.doc[error.pos : error.pos + 20]
        shown = repr(shorten(found)) if found else "the end"
        msg = f"{source}:{error.lineno}:{error.colno}: must be JSON, got {shown}. {_MADE_BY}."
        raise InputError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{source}: must be JSON in UTF-8, got byte 0x{error.object[error.start]:02x}."
        raise InputError(msg) from error
    except (RecursionError, ValueError) as error:  # nested too deep, or a number too long
        msg = f"{source}: JSON must be of sensible depth and numbers, got {error}. {_MADE_BY}."
        raise InputError(msg) from error


def _of_examination(examination: Any) -> Any:
    from voirdire.reporting.as_json import examination_as_dict

    try:
        return examination_as_dict(examination)
    except AttributeError as error:
        msg = f"`content` must be an examination or its JSON, got {shorten(examination)}."
        raise InputError(msg) from error


_OTHER_SORTS = {
    "voirdire.reward/": "a reward. Make its page with `voirdire examine-reward --report`.",
    "voirdire.training/": "a file of a training run. Name the run's folder instead.",
}


def _check_sort(plain: Any, source: str) -> None:
    wanted = f"{source}: must be what `voirdire examine --json` prints"
    if not isinstance(plain, dict):
        msg = f"{wanted}, got {_said(plain)}. {_MADE_BY}."
        raise InputError(msg)
    for schema, what in _OTHER_SORTS.items():
        if str(plain.get("schema", "")).startswith(schema):
            msg = f"{wanted}, got {what}"
            raise InputError(msg)
    if "content_hash" in plain and "data_hash" in plain:
        msg = f"{wanted}, got a certificate, which lacks what a report shows. {_MADE_BY}."
        raise InputError(msg)
    if "examinations" not in plain:
        keys = ", ".join(repr(shorten(key, width=20)) for key in list(plain)[:5]) or "no keys"
        msg = f"{wanted}, with a key `examinations`, got an object with {keys}. {_MADE_BY}."
        raise InputError(msg)
    if plain["examinations"] == []:
        msg = f"{source}: $.examinations must hold at least one examination, got none. {_MADE_BY}."
        raise NoDataError(msg)


def _in_our_words(message: str, plain: Any, source: str) -> str:
    """Say where, what it must be, and what it is, instead of msgspec's sentence."""
    what, _, path = message.rpartition(" - at `")
    what, path = (what, path.rstrip("`")) if what else (message, "$")
    value, path = _found(plain, path)
    missing = re.search(r"missing required field `(\w+)`", what)
    if missing:
        return f"{source}: {path} must have the key `{missing[1]}`, got none. {_MADE_BY}."
    return f"{source}: {path} must be {_rule(what)}, got {_said(value)}."


def _rule(what: str) -> str:
    match = _EXPECTED.match(what)
    if match is None:
        return "one of the words that voirdire writes"
    words = [_TYPES.get(word, word) for word in match["wanted"].split(" | ")]
    bound = match["rule"].strip()
    return f"{' or '.join(words)}{f' {_BOUNDS.get(bound, bound)}' if bound else ''}"


def _found(plain: Any, path: str) -> tuple[Any, str]:
    """Follow a path of msgspec; ``[...]`` stands for any key of an object."""
    value, where = plain, "$"
    for step in _STEP.finditer(path.removeprefix("$")):
        try:
            value = value[step["key"]] if step["key"] else value[int(step["index"])]
        except (KeyError, IndexError, TypeError, ValueError):
            return None, path
        where += shorten(step.group(), width=60)
    return value, where


def _said(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"an {'object' if isinstance(value, dict) else 'array'} of {len(value)}"
    if value is None:
        return "null"
    return shorten(repr(value) if isinstance(value, str) else str(value), width=60)
