"""Fills the keys that the JSON of a result must have and a test has no word for."""

from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

from voirdire.records import as_plain
from voirdire.studies import Examination

BLANK = {float: None, int: 0, str: "", bool: False}


def whole(partial, kind=Examination):
    """Give the JSON of a record: what `partial` says, else the default, nothing or 0."""
    hints, filled = get_type_hints(kind, include_extras=True), {}
    for each in fields(kind):
        key = each.metadata.get("key", each.name)
        if key in partial:
            filled[key] = _fill(hints[each.name], partial[key])
        elif key is not None:
            has_default = each.default is not MISSING
            filled[key] = as_plain(each.default) if has_default else _blank(hints[each.name])
    properties = {key: [] for key in getattr(kind, "PLAIN", ())}
    return properties | filled | {key: x for key, x in partial.items() if key not in filled}


def _fill(hint, value):
    parts = [part for part in get_args(hint) if part is not NoneType]
    if is_dataclass(hint):
        return whole(value, hint) if isinstance(value, dict) else value
    if get_origin(hint) in (Union, UnionType) and len(parts) == 1 and value is not None:
        return _fill(parts[0], value)
    if get_origin(hint) is tuple and isinstance(value, list | tuple):
        return [_fill(parts[0], each) for each in value]
    if get_origin(hint) is dict and isinstance(value, dict):
        return {key: _fill(parts[1], each) for key, each in value.items()}
    return value


def _blank(hint):
    origin, parts = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        return whole({}, hint)
    if origin in (Union, UnionType) and NoneType in parts:
        return None
    if origin is Literal:
        return parts[0]
    if origin is Annotated:
        return 0.0 if hint.__metadata__ == ("margin",) else None
    return BLANK.get(hint, [] if origin is tuple else {})
