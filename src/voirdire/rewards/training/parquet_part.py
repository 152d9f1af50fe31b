"""Write a small Parquet file without polars, which hangs in forked processes.

Reward functions run in such processes (verl's prime manager forks), and one that hangs stops the
training. A file here has one row group, one page per column and plain values; texts are compressed
by gzip. The layout follows the description of the format,
https://parquet.apache.org/docs/file-format/ and its `parquet.thrift`.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

Column: TypeAlias = "Sequence[str | None] | NDArray[np.float64] | NDArray[np.int64]"
"""Texts (None is null), floats (nan is null), or whole numbers (never null).

Whole numbers with nulls are floats here, and their columns are named in `whole`."""

_MAGIC = b"PAR1"
_INT64, _DOUBLE, _BYTE_ARRAY = 2, 5, 6
_UTF8, _OPTIONAL = 0, 1
_PLAIN, _RLE = 0, 3
_NONE, _GZIP = 0, 2
_BOTH = (_PLAIN, _RLE)


def encode_parquet(columns: Mapping[str, Column], *, whole: frozenset[str] = frozenset()) -> bytes:
    """Encode columns of one length as a Parquet file; columns in `whole` hold whole numbers."""
    n_rows = len(next(iter(columns.values())))
    chunks, schema, body = [], [_encode_struct({4: b"rows", 5: len(columns)})], bytearray(_MAGIC)
    for name, values in columns.items():
        kind, present, plain = _encode_column(values, is_whole=name in whole)
        page = _encode_levels(present) + plain
        codec, packed = _compress(page) if kind == _BYTE_ARRAY else (_NONE, page)
        header = _encode_struct({1: n_rows, 2: _PLAIN, 3: _RLE, 4: _RLE})
        head = _encode_struct({1: 0, 2: len(page), 3: len(packed), 5: header})
        label, size = name.encode(), len(head) + len(packed)
        meta: dict[int, _Value] = {1: kind, 2: _BOTH, 3: (label,), 4: codec, 5: _Long(n_rows)}
        meta |= {6: _Long(len(head) + len(page)), 7: _Long(size), 9: _Long(len(body))}
        chunks.append(_encode_struct({2: _Long(len(body)), 3: _encode_struct(meta)}))
        element: dict[int, _Value] = {1: kind, 3: _OPTIONAL, 4: label}
        schema.append(_encode_struct(element | ({6: _UTF8} if kind == _BYTE_ARRAY else {})))
        body += head + packed
    group: dict[int, _Value] = {1: tuple(chunks), 2: _Long(len(body)), 3: _Long(n_rows)}
    footer = _encode_struct(
        {1: 1, 2: tuple(schema), 3: _Long(n_rows), 4: (_encode_struct(group),), 6: b"voirdire"}
    )
    return bytes(body) + footer + len(footer).to_bytes(4, "little") + _MAGIC


def _encode_column(values: Column, *, is_whole: bool) -> tuple[int, NDArray[np.bool_], bytes]:
    """Return the type of a column, a mask of its values that are not null, and these as bytes."""
    if isinstance(values, np.ndarray):
        if values.dtype == np.int64:
            return _INT64, np.ones(len(values), dtype=bool), values.astype("<i8").tobytes()
        present = ~np.isnan(values)
        values_there = values[present].astype("<i8" if is_whole else "<f8")
        return (_INT64 if is_whole else _DOUBLE), present, values_there.tobytes()
    present = np.array([value is not None for value in values], dtype=bool)
    if len(values) > 1 and all(value is values[0] for value in values):  # such as the judge
        return _BYTE_ARRAY, present, _encode_text(values[0]) * len(values)
    return _BYTE_ARRAY, present, b"".join(map(_encode_text, values))


def _encode_text(value: str | None) -> bytes:
    if value is None:
        return b""
    try:
        data = value.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which UTF-8 lacks
        data = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
    return len(data).to_bytes(4, "little") + data


def _compress(page: bytes) -> tuple[int, bytes]:
    packer = zlib.compressobj(1, wbits=31)
    return _GZIP, packer.compress(page) + packer.flush()


def _encode_levels(present: NDArray[np.bool_]) -> bytes:
    """Encode which values are not null: one run of single bits, after its length."""
    bits = np.packbits(present, bitorder="little").tobytes()
    run = _encode_varint(len(bits) << 1 | 1) + bits
    return len(run).to_bytes(4, "little") + run


# Thrift's compact protocol, the part that is needed -------------------------------------------


class _Long(int):
    """A number of 64 bits; others have 32."""


class _Struct(bytes):
    """A struct that is encoded already."""


_Value: TypeAlias = "int | bytes | tuple[int | bytes, ...]"


def _encode_struct(fields: Mapping[int, _Value]) -> _Struct:
    data, last = bytearray(), 0
    for number, value in fields.items():
        data.append((number - last) << 4 | _find_type(value))
        data += _encode_value(value)
        last = number
    return _Struct(data + b"\0")


def _find_type(value: _Value) -> int:
    if isinstance(value, tuple):
        return 9
    if isinstance(value, bytes):
        return 12 if isinstance(value, _Struct) else 8
    return 6 if isinstance(value, _Long) else 5


def _encode_value(value: _Value) -> bytes:
    if isinstance(value, int):
        return _encode_varint(value << 1)  # zigzag; none is negative
    if isinstance(value, bytes):
        return value if isinstance(value, _Struct) else _encode_varint(len(value)) + value
    few = len(value) < 15
    head = bytes([(len(value) if few else 15) << 4 | _find_type(value[0])])
    return head + (b"" if few else _encode_varint(len(value))) + b"".join(map(_encode_value, value))


def _encode_varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)
