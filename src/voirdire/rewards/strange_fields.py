"""Fields of a JSON object that its form does not have, all at once and with what may be meant."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import msgspec

from voirdire._validation import shorten
from voirdire.rubrics.names import closest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["misspelt_schema", "strange_fields"]

_MOST = 5
"""How many are named: what is wrong stays a line."""

_SCHEMA = "schema"


def strange_fields(content: Mapping[str, Any], form: type[msgspec.Struct]) -> str:
    """Name the fields that a form does not have; empty where there are none.

    Parameters
    ----------
    content : mapping
        A JSON object.
    form : type
        A struct; structs in its fields are looked at too.

    Returns
    -------
    str
        Such as ``unknown field `jugde`, did you mean `judge`?``
    """
    found = _strange(content, form, where="")
    return "; ".join(islice(found, _MOST))


def misspelt_schema(content: Mapping[str, Any]) -> str:
    """Name the field that was perhaps meant for `schema`, as a sentence with a space before it."""
    word = None if _SCHEMA in content else closest(_SCHEMA, content)
    return "" if word is None else f" Was `{shorten(word)}` meant for `{_SCHEMA}`?"


def _strange(content: Any, form: type[msgspec.Struct], *, where: str) -> Iterator[str]:
    if not isinstance(content, dict):
        return
    known = {field.encode_name: field.name for field in msgspec.structs.fields(form)}
    missing = [name for name in known if name not in content]
    for name in content:
        if name not in known:
            meant = closest(name, missing)
            hint = "" if meant is None else f", did you mean `{meant}`?"
            yield f"unknown field `{shorten(name)}`{where}{hint}"
    kinds = get_type_hints(form)
    for name, attribute in known.items():
        inner = next(_structs(kinds[attribute]), None)
        if inner is not None:
            is_mapping = get_origin(kinds[attribute]) is dict
            yield from _inside(content.get(name), inner, name=name, is_mapping=is_mapping)


def _inside(
    value: Any, form: type[msgspec.Struct], *, name: str, is_mapping: bool
) -> Iterator[str]:
    """Look into a struct, or into a mapping of names to structs."""
    if not is_mapping:
        yield from _strange(value, form, where=f" in `{name}`")
        return
    for key, row in value.items() if isinstance(value, dict) else ():
        yield from _strange(row, form, where=f" in `{name}.{shorten(key)}`")


def _structs(kind: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for inner in get_args(kind):
        yield from _structs(inner)
