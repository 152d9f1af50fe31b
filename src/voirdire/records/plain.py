"""Turns records into plain values for JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec


def as_plain(record: Any) -> Any:
    """Return a record as JSON holds it: its fields, and those properties that its `PLAIN` names.

    A field's metadata may have another `key` for it; with None it is left out.

    Parameters
    ----------
    record : dataclass instance, mapping, sequence, array or value
        What to write, however deep.

    Returns
    -------
    dict, list or value
        Tuples and arrays become lists; nan stays nan.

    Examples
    --------
    >>> from voirdire.records import Failure, as_plain
    >>> as_plain((Failure(reason="timeout"), 1))
    [{'reason': 'timeout'}, 1]
    """
    if is_dataclass(record) and not isinstance(record, type):
        keys = {each.name: each.metadata.get("key", each.name) for each in fields(record)}
        keys |= {name: name for name in getattr(record, "PLAIN", ())}
        return {key: as_plain(getattr(record, name)) for name, key in keys.items() if key}
    if isinstance(record, Mapping):
        return {key: as_plain(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [as_plain(value) for value in record]
    return record.tolist() if hasattr(record, "tolist") else record


def without_nan(content: Any) -> Any:
    """Replace what JSON has no number for by None, all the way down."""
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {str(key): without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    return content


def encode_json(content: Any) -> bytes:
    """Encode JSON: arrays and sets become lists, other objects text, halves of pairs escapes."""
    try:
        return msgspec.json.encode(content, enc_hook=_to_plain)
    except UnicodeEncodeError:
        return json.dumps(content, default=_to_plain).encode()


def _to_plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)
