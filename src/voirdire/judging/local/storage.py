"""Reads and writes a judge as one npz file of arrays and a JSON header.

Files may be hostile: nothing is unpickled, and sizes are checked before unpacking.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from voirdire._messages import shorten
from voirdire.documents import NotRegularError, open_regular
from voirdire.errors import InputError
from voirdire.judging.local.cues import CUES
from voirdire.judging.local.features import FEATURES_VERSION, N_COLUMNS
from voirdire.judging.local.weights import QuantisedWeights

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray


__all__ = ["SCHEMA", "RefusedError", "read_judge", "write_judge"]

T = TypeVar("T")

SCHEMA = "voirdire.local-judge/1"

_ARRAYS = {"columns": "i4", "ngrams": "i1", "scales": "f4", "cues": "f4", "intercepts": "f4"}
_MOST_QUESTIONS = 1_000
_MOST_FILE_BYTES = 256 * 2**20
_MOST_ARRAY_BYTES = 512 * 2**20
_MOST_HEADER_BYTES = 16 * 2**20
_MOST_RATIO = 1_000
_LARGEST_WEIGHT = 1e6
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_judge(path: str | Path, header: Mapping[str, Any], weights: QuantisedWeights) -> None:
    """Write a judge; see `LocalJudge.save`.

    Parameters
    ----------
    path : str or Path
        Where to.
    header : mapping
        Everything of the judge except the arrays.
    weights : QuantisedWeights
        The arrays.
    """
    text = json.dumps(
        {"schema": SCHEMA, **header}, sort_keys=True, ensure_ascii=False, allow_nan=False
    )
    arrays: dict[str, NDArray[Any]] = {"header": np.frombuffer(text.encode(), dtype="u1")}
    for name, kind in _ARRAYS.items():
        arrays[name] = np.ascontiguousarray(getattr(weights, name).astype(f"<{kind}"))
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            for name, values in arrays.items():
                _write_array(archive, name, values)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _write_array(archive: zipfile.ZipFile, name: str, values: NDArray[Any]) -> None:
    # `numpy.savez` stamps the time of day into the file; a judge has the same bytes every time.
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, values, version=(1, 0), allow_pickle=False)
    entry = zipfile.ZipInfo(f"{name}.npy", date_time=_EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, buffer.getvalue(), compresslevel=9)


def read_judge(path: str | Path, assemble: Callable[[dict[str, Any], QuantisedWeights], T]) -> T:
    """Read a judge; see `LocalJudge.load`.

    Parameters
    ----------
    path : str or Path
        The npz file.
    assemble : callable
        Makes the judge from its header and its weights; its errors are reported as a damaged file.

    Returns
    -------
    object
        What `assemble` makes, checked in every part.

    Raises
    ------
    InputError
        If the file is not such a file, or is damaged, too large, or of a newer version.
    """
    place = shorten(str(path), width=300)  # the end of a path names the file
    try:
        if Path(path).stat().st_size > _MOST_FILE_BYTES:
            raise RefusedError(f"must have at most {_MOST_FILE_BYTES} bytes")
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            header = _read_header(archive)
            weights = _read_weights(archive, n_questions=len(header["questions"]))
        return assemble(header, weights)
    except FileNotFoundError as error:
        msg = f"{place}: no such file. Name a file that `voirdire distill` wrote, or `local`."
        raise InputError(msg) from error
    except NotRegularError as error:
        msg = f"{place}: must be a regular file, got a pipe, a device or a socket."
        raise InputError(msg) from error
    except RefusedError as error:
        msg = f"{place}: a local judge {shorten(str(error), width=200)}."
        raise InputError(msg) from error
    except (
        OSError,
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        EOFError,
        KeyError,
        TypeError,
        ValueError,
        NotImplementedError,
        RuntimeError,
        RecursionError,
        MemoryError,
        OverflowError,
        zlib.error,
    ) as error:
        msg = (
            f"{place}: must be a local judge as `voirdire distill` writes it, got {shorten(error)}."
        )
        raise InputError(msg) from error


class RefusedError(Exception):
    """A rule that a file breaks, in words."""


def _read_header(archive: zipfile.ZipFile) -> dict[str, Any]:
    raw = _read_array(archive, "header", kind="u1", most_bytes=_MOST_HEADER_BYTES)
    header = json.loads(raw.tobytes().decode(), parse_constant=_refuse_constant)
    if not isinstance(header, dict) or not isinstance(header.get("schema"), str):
        raise RefusedError("must have a header")
    if header["schema"] != SCHEMA:
        raise RefusedError(f"must be of schema {SCHEMA!r}, got {shorten(header['schema'])!r}")
    if header.get("features_version") != FEATURES_VERSION:
        given = shorten(header.get("features_version"))
        raise RefusedError(f"must be made for features version {FEATURES_VERSION}, got {given}")
    questions = header["questions"]
    named = isinstance(questions, list) and all(isinstance(name, str) for name in questions)
    if not named or not questions or len(set(questions)) < len(questions):
        raise RefusedError("must name its questions, each once")
    if len(questions) > _MOST_QUESTIONS:
        raise RefusedError(f"must have at most {_MOST_QUESTIONS} questions, got {len(questions)}")
    return header


def _refuse_constant(name: str) -> None:
    raise RefusedError(f"must have numbers in its header, got {name}")


def _read_array(archive: zipfile.ZipFile, name: str, *, kind: str, most_bytes: int) -> NDArray[Any]:
    entry = archive.getinfo(f"{name}.npy")
    ratio = entry.file_size / max(entry.compress_size, 1)
    if entry.file_size > most_bytes + 4_096 or (ratio > _MOST_RATIO and entry.file_size > 2**20):
        raise RefusedError(f"must have a part {name!r} of at most {most_bytes} bytes")
    with archive.open(entry) as file:
        # Never read more than the declared size, which may be false.
        content = file.read(entry.file_size + 1)
    if len(content) > entry.file_size:
        raise RefusedError(f"must have a part {name!r} of the declared size")
    buffer = io.BytesIO(content)
    version = np.lib.format.read_magic(buffer)
    if version != (1, 0):
        raise RefusedError(f"must have a part {name!r} of npy version 1.0")
    shape, _, dtype = np.lib.format.read_array_header_1_0(buffer)
    n_bytes = int(np.prod([int(size) for size in shape], dtype=object)) * dtype.itemsize
    if dtype != np.dtype(f"<{kind}") or n_bytes != len(content) - buffer.tell():
        raise RefusedError(
            f"must have a part {name!r} of type {kind}, got {dtype} of shape {shape}"
        )
    buffer.seek(0)
    return np.asarray(np.lib.format.read_array(buffer, allow_pickle=False))


def _read_weights(archive: zipfile.ZipFile, *, n_questions: int) -> QuantisedWeights:
    arrays = {
        name: _read_array(archive, name, kind=kind, most_bytes=_MOST_ARRAY_BYTES)
        for name, kind in _ARRAYS.items()
    }
    n_kept = len(arrays["columns"]) if arrays["columns"].ndim == 1 else -1
    shapes = {
        "columns": (n_kept,),
        "ngrams": (n_kept, n_questions),
        "scales": (n_questions,),
        "cues": (2, len(CUES), n_questions),
        "intercepts": (2, n_questions),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise RefusedError(
                f"must have a part {name!r} of shape {shape}, got {arrays[name].shape}"
            )
        if arrays[name].dtype.kind == "f" and not (np.abs(arrays[name]) <= _LARGEST_WEIGHT).all():
            raise RefusedError(f"must have numbers of at most {_LARGEST_WEIGHT:g} in {name!r}")
    columns = arrays["columns"].astype(np.int64)
    if not ((columns >= 0) & (columns < N_COLUMNS)).all() or not (np.diff(columns) > 0).all():
        raise RefusedError(f"must have rising columns in [0, {N_COLUMNS})")
    return QuantisedWeights(**arrays)
