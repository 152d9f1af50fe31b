"""Reads the JSON of our own results back into their records, and says what does not fit.

Files come from anywhere: they are bounded, and every error names the place. Keys that a record does
not know are left aside. What an older file lacks has its default, or else is undefined: nan, None,
nothing or 0; but names, words, and whether something is true must be there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from voirdire._messages import shorten
from voirdire._types import Margin, Share
from voirdire.errors import InputError
from voirdire.records.plain import without_nan

__all__ = ["decode_object", "describe_value", "read_record"]

Record = TypeVar("Record")
Reader: TypeAlias = Callable[[Any], Any]

_ROUNDING = 1e-9
_LARGEST_COUNT = 10**15
_LARGEST_NUMBER = 10**308


def decode_object(
    content: Any,
    *,
    source: str,
    most_bytes: int,
    wanted: str,
    made_by: str,
) -> Mapping[str, Any]:
    """Decode the JSON of a result; `wanted` says what it must be, `made_by` how it is made."""
    plain = content
    if isinstance(content, str | bytes | bytearray):
        if len(content) > most_bytes:
            sizes = f"at most {most_bytes // 2**20} MiB, got {len(content) / 2**20:,.0f} MiB"
            msg = f"{source}: must be JSON of {sizes}. {made_by}."
            raise InputError(msg)
        plain = _decode(content, source, made_by)
    elif not isinstance(content, Mapping | list | NoneType):
        msg = f"`content` must be the JSON of an examination, got {shorten(content)}. {made_by}."
        raise InputError(msg)
    if not isinstance(plain, Mapping):
        msg = f"{source}: must be {wanted}, got {describe_value(plain)}. {made_by}."
        raise InputError(msg)
    return plain


def _decode(content: str | bytes | bytearray, source: str, made_by: str) -> Any:
    try:
        return json.loads(content if isinstance(content, str) else content.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        rest = error.doc[error.pos : error.pos + 20]
        shown = repr(shorten(rest)) if rest else "the end"
        msg = f"{source}:{error.lineno}:{error.colno}: must be JSON, got {shown}. {made_by}."
        raise InputError(msg) from error
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x}"
        msg = f"{source}: must be JSON in UTF-8, got {byte}. {made_by}."
        raise InputError(msg) from error
    except (RecursionError, ValueError) as error:  # nested too deep, or a number too long
        msg = f"{source}: JSON must be of sensible depth and numbers, got {error}. {made_by}."
        raise InputError(msg) from error


def describe_value(value: Any) -> str:
    """Show a value of JSON in a few words."""
    if isinstance(value, Mapping | list | tuple):
        return f"an {'object' if isinstance(value, Mapping) else 'array'} of {len(value)}"
    if value is None:
        return "null"
    return shorten(repr(value) if isinstance(value, str) else str(value), width=60)


def read_record(kind: type[Record], plain: Any, *, source: str, made_by: str) -> Record:
    """Read plain values of JSON as a record: a dataclass of figures, words and other records."""
    try:
        record: Record = _kind(cast("Any", kind)).read(plain)
    except _MismatchError as error:
        place = "$" + "".join(reversed(error.steps))
        msg = f"{source}: {place} must {error.rule}, got {error.got}. {made_by}."
        raise InputError(msg) from None
    except RecursionError as error:
        msg = f"{source}: must be of sensible depth, got objects nested too deep. {made_by}."
        raise InputError(msg) from error
    return record


class _MismatchError(Exception):
    """A value does not fit; the steps to its place are added from the inside."""

    def __init__(self, rule: str, got: str) -> None:
        super().__init__()
        self.rule, self.got = rule, got
        self.steps: list[str] = []


class _Kind(NamedTuple):
    """How values of a type are read, what they are called, and what is there without a value."""

    read: Reader
    name: str
    absent: Callable[[], Any] | None = None

    def refuse(self, value: Any, bound: str = "") -> _MismatchError:
        rule = f"be {self.name}{bound and f' {bound}'}"
        return _MismatchError(rule, describe_value(value))


@cache
def _kind(hint: Any) -> _Kind:
    """Find out how a type is read."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin is Annotated:
        return _bounded(parts[0], parts[1].max_length)
    if origin is Literal:
        return _kind_of_words(parts)
    if origin in (Union, UnionType):
        return _kind_of_union(parts)
    if origin is tuple:
        return _kind_of_array(parts[0])
    if isinstance(hint, type) and is_dataclass(hint):
        return _kind_of_record(hint)
    return _kind_of_object(parts[-1] if parts else Any)


# Figures and words --------------------------------------------------------------------------------


def _read_figure(value: Any) -> float:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return math.nan
    return _read_number(value)


def _read_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _FIGURE.refuse(value)
    if abs(value) > _LARGEST_NUMBER:
        raise _FIGURE.refuse(value, "that a computer can hold")
    return value


def _read_share(value: Any) -> float:
    share = value if type(value) is float and 0 <= value <= 1 else _read_figure(value)
    if share < -_ROUNDING or share > 1 + _ROUNDING:
        raise _FIGURE.refuse(value, "of at least 0" if share < 0 else "of at most 1")
    return share


def _read_margin(value: Any) -> float:
    margin = _read_number(value)
    if not 0 <= margin < 1:
        raise _FIGURE.refuse(value, "of at least 0" if margin < 0 else "below 1")
    return margin


def _read_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _COUNT.refuse(value)
    if not 0 <= value <= _LARGEST_COUNT:
        raise _COUNT.refuse(value, "of at least 0" if value < 0 else "of at most 10^15")
    return value


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise _TEXT.refuse(value)
    return value


def _read_truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _TRUTH.refuse(value)
    return value


_FIGURE = _Kind(_read_figure, "a number", lambda: math.nan)
_COUNT = _Kind(_read_count, "a whole number", lambda: 0)
_TEXT = _Kind(_read_text, "text")
_TRUTH = _Kind(_read_truth, "true or false")
_PLAIN: dict[Any, _Kind] = {
    float: _FIGURE,
    Share: _FIGURE._replace(read=_read_share),
    Margin: _Kind(_read_margin, "a number"),
    int: _COUNT,
    str: _TEXT,
    bool: _TRUTH,
    Any: _Kind(without_nan, "a value", lambda: None),
}


def _kind_of_words(words: tuple[Any, ...]) -> _Kind:
    def read(value: Any) -> Any:
        if not isinstance(value, str) or value not in words:
            raise kind.refuse(value)
        return value

    kind = _Kind(read, "one of the words that voirdire writes")
    return kind


def _bounded(hint: Any, most: int) -> _Kind:
    inner = _kind(hint)

    def read(value: Any) -> Any:
        if isinstance(value, str | list | tuple) and len(value) > most:
            raise inner.refuse(value, f"of length <= {most}")
        return inner.read(value)

    return inner._replace(read=read)


def _kind_of_union(hints: tuple[Any, ...]) -> _Kind:
    is_optional = NoneType in hints
    inner = [_kind(hint) for hint in hints if hint is not NoneType]
    name = " or ".join(each.name for each in inner) + (" or null" if is_optional else "")

    def read(value: Any) -> Any:
        if is_optional and (value is None or (isinstance(value, float) and math.isnan(value))):
            return None
        for each in inner[:-1]:
            try:
                return each.read(value)
            except _MismatchError:
                continue
        try:
            return inner[-1].read(value)
        except _MismatchError as error:
            if not error.steps and error.rule == f"be {inner[-1].name}":
                error.rule = f"be {name}"
            raise

    return _Kind(read, name, (lambda: None) if is_optional else inner[0].absent)


# Arrays, objects and records ----------------------------------------------------------------------


def _kind_of_array(hint: Any) -> _Kind:
    inner = hint if isinstance(hint, _Kind) else _kind(hint)

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise kind.refuse(value)
        values: list[Any] = []
        try:
            values.extend(map(inner.read, value))
        except _MismatchError as error:
            error.steps.append(f"[{len(values)}]")
            raise
        return tuple(values)

    kind = _Kind(read, "an array", tuple)
    return kind


def _kind_of_object(hint: Any) -> _Kind:
    inner = _kind(hint)

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise kind.refuse(value)
        members = {}
        for key, each in value.items():
            try:
                members[str(key)] = inner.read(each)
            except _MismatchError as error:
                error.steps.append(shorten(f".{key}", width=60))
                raise
        return members

    kind = _Kind(read, "an object", dict)
    return kind


def _fill_absent(key: str, kind: _Kind) -> Any:
    """Give what stands for a key that is not there; what must be said is missed."""
    with suppress(_MismatchError):  # of a record whose own keys must be there
        if kind.absent is not None:
            return kind.absent()
    raise _MismatchError(f"have the key `{key}`", "none")


def _kind_of_record(record: Any) -> _Kind:
    hints = get_type_hints(record, include_extras=True)
    own = [
        (
            each.name,
            each.metadata.get("key", each.name),
            _kind(hints[each.name]),
            each.default is not MISSING or each.default_factory is not MISSING,
        )
        for each in fields(record)
    ]

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise kind.refuse(value)
        arguments = {}
        for name, key, inner, has_default in own:
            if key in value:
                try:
                    arguments[name] = inner.read(value[key])
                except _MismatchError as error:
                    error.steps.append(f".{key}")
                    raise
            elif has_default:
                continue
            else:
                arguments[name] = _fill_absent(key, inner)
        return record(**arguments)

    kind = _Kind(read, "an object", lambda: read({}))
    return kind
