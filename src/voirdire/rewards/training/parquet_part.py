"""Writes a small Parquet file without polars, which hangs in a process that was forked off.

Reward functions run in such processes (verl's prime manager forks), and one that hangs stops the
training. So a part is written here: one row group, one page a column, plain values, texts by gzip.
The layout follows the format's own description, https://parquet.apache.org/docs/file-format/ and
its `parquet.thrift`.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Column", "parquet_bytes"]

Column: TypeAlias = "Sequence[str | None] | NDArray[np.float64] | NDArray[np.int64]"
"""Texts, of which None is null; floats, of which nan is null; or whole numbers, none of them null.

Nullable whole numbers are floats here and named in `whole`."""

_MAGIC = b"PAR1"
_INT64, _DOUBLE, _BYTE_ARRAY = 2, 5, 6
_UTF8, _OPTIONAL = 0, 1
_PLAIN, _RLE = 0, 3
_NONE, _GZIP = 0, 2
_BOTH = (_PLAIN, _RLE)


def parquet_bytes(columns: Mapping[str, Column], *, whole: frozenset[str] = frozenset()) -> bytes:
    """Lay columns of one length out as a Parquet file; those in `whole` hold whole numbers."""
    n_rows = len(next(iter(columns.values())))
    chunks, schema, body = [], [_struct({4: b"rows", 5: len(columns)})], bytearray(_MAGIC)
    for name, values in columns.items():
        kind, present, plain = _plain(values, is_whole=name in whole)
        page = _levels(present) + plain
        codec, packed = _packed(page) if kind == _BYTE_ARRAY else (_NONE, page)
        about = _struct({1: n_rows, 2: _PLAIN, 3: _RLE, 4: _RLE})
        head = _struct({1: 0, 2: len(page), 3: len(packed), 5: about})
        label, size = name.encode(), len(head) + len(packed)
        meta: dict[int, _Value] = {1: kind, 2: _BOTH, 3: (label,), 4: codec, 5: _Long(n_rows)}
        meta |= {6: _Long(len(head) + len(page)), 7: _Long(size), 9: _Long(len(body))}
        chunks.append(_struct({2: _Long(len(body)), 3: _struct(meta)}))
        element: dict[int, _Value] = {1: kind, 3: _OPTIONAL, 4: label}
        schema.append(_struct(element | ({6: _UTF8} if kind == _BYTE_ARRAY else {})))
        body += head + packed
    group: dict[int, _Value] = {1: tuple(chunks), 2: _Long(len(body)), 3: _Long(n_rows)}
    footer = _struct(
        {1: 1, 2: tuple(schema), 3: _Long(n_rows), 4: (_struct(group),), 6: b"voirdire"}
    )
    return bytes(body) + footer + len(footer).to_bytes(4, "little") + _MAGIC


def _plain(values: Column, *, is_whole: bool) -> tuple[int, NDArray[np.bool_], bytes]:
    """Give the type of a column, which values are there, and those one after the other."""
    if isinstance(values, np.ndarray):
        if values.dtype == np.int64:
            return _INT64, np.ones(len(values), dtype=bool), values.astype("<i8").tobytes()
        present = ~np.isnan(values)
        known = values[present].astype("<i8" if is_whole else "<f8")
        return (_INT64 if is_whole else _DOUBLE), present, known.tobytes()
    present = np.array([value is not None for value in values], dtype=bool)
    if len(values) > 1 and all(value is values[0] for value in values):  # such as the judge
        return _BYTE_ARRAY, present, _cell(values[0]) * len(values)
    return _BYTE_ARRAY, present, b"".join(map(_cell, values))


def _cell(value: str | None) -> bytes:
    if value is None:
        return b""
    try:
        data = value.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which UTF-8 lacks
        data = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
    return len(data).to_bytes(4, "little") + data


def _packed(page: bytes) -> tuple[int, bytes]:
    packer = zlib.compressobj(1, wbits=31)
    return _GZIP, packer.compress(page) + packer.flush()


def _levels(present: NDArray[np.bool_]) -> bytes:
    """Say which values are there: one run of single bits, after its length."""
    bits = np.packbits(present, bitorder="little").tobytes()
    run = _varint(len(bits) << 1 | 1) + bits
    return len(run).to_bytes(4, "little") + run


# Thrift's compact protocol, as much of it as is needed ----------------------------------------


class _Long(int):
    """A number of 64 bits; others have 32."""


class _Struct(bytes):
    """A struct that is laid out already."""


_Value: TypeAlias = "int | bytes | tuple[int | bytes, ...]"


def _struct(fields: Mapping[int, _Value]) -> _Struct:
    found, last = bytearray(), 0
    for number, value in fields.items():
        found.append((number - last) << 4 | _type(value))
        found += _encoded(value)
        last = number
    return _Struct(found + b"\0")


def _type(value: _Value) -> int:
    if isinstance(value, tuple):
        return 9
    if isinstance(value, bytes):
        return 12 if isinstance(value, _Struct) else 8
    return 6 if isinstance(value, _Long) else 5


def _encoded(value: _Value) -> bytes:
    if isinstance(value, int):
        return _varint(value << 1)  # zigzag; none is negative
    if isinstance(value, bytes):
        return value if isinstance(value, _Struct) else _varint(len(value)) + value
    few = len(value) < 15
    head = bytes([(len(value) if few else 15) << 4 | _type(value[0])])
    return head + (b"" if few else _varint(len(value))) + b"".join(map(_encoded, value))


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
