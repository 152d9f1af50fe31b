"""Opens users' files, writes files whole or not at all, and writes and hashes JSON."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"[^\W_][\w.-]{0,99}")


class NotRegularError(OSError):
    """It is not a regular file but a pipe, a device or a socket."""


def is_name(word: str) -> bool:
    """Return whether a word may name a rubric, a judge or a reward, and so a file."""
    return _NAME.fullmatch(word) is not None


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file, or a link to one; opening a pipe would wait for a writer."""
    mode = Path(path).stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise NotRegularError(errno.EINVAL, "it is no regular file")
    return Path(path).open("rb")


def write_whole(path: str | Path, data: bytes, *, mode: int | None = None) -> None:
    """Write a file atomically; follow a link, and keep the mode.

    `mode` is that of the file, where it is not to be the one of the file that is replaced.
    """
    target = Path(path).resolve()
    handle, name = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.name[:80]}.", suffix=".partial"
    )
    unfinished = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is None:
            mask = os.umask(0)
            os.umask(mask)
            mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~mask
        unfinished.chmod(mode)
        unfinished.replace(target)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def plain_json(content: Any) -> Any:
    """Turn what was computed into what JSON has: text keys, lists, null for what is no number."""
    if hasattr(content, "tolist"):  # arrays and numbers of NumPy
        content = content.tolist()
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if content is None or isinstance(content, str | int):
        return content
    if hasattr(content, "items"):
        return {str(key): plain_json(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain_json(value) for value in content]
    if isinstance(content, set | frozenset):
        return sorted(plain_json(value) for value in content)
    return str(content)


def to_canonical_json(content: Any) -> bytes:
    """JSON with sorted keys and no spaces."""
    text = json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode("utf-8", "surrogatepass")


def hash_content(content: Any) -> str:
    """``sha256:`` and 64 hexadecimal digits over canonical JSON."""
    return f"sha256:{hashlib.sha256(to_canonical_json(content)).hexdigest()}"


def content_digest(content: Mapping[str, Any]) -> str:
    """Hash what was computed, in canonical JSON."""
    return hash_content(plain_json(content))


def write_json(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write one JSON object to a file, whole or not at all; an `InputError` where that fails."""
    text = json.dumps(plain_json(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        write_whole(path, text.encode("utf-8", "surrogatepass"))
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror}). Name a file that can be."
        raise InputError(msg) from error
