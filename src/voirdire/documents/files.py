"""Opens and reads users' files, and writes files atomically."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

__all__ = [
    "NotRegularError",
    "file_exists",
    "open_regular",
    "read_small",
    "write_whole",
]

_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # else opening a pipe waits for a writer


class NotRegularError(OSError):
    """It is not a regular file but a pipe, a device or a socket."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "it is no regular file")


def file_exists(path: str | Path) -> bool:
    """Return whether there is a file, or folder; a name that no file can have has none."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # it is too long, or holds a zero byte
        return False


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file, or a link to one; nothing else, and nothing is waited for."""
    _check(Path(path).stat().st_mode)  # some devices do something when they are opened
    file = os.fdopen(os.open(path, os.O_RDONLY | _AT_ONCE), "rb")
    try:
        _check(os.fstat(file.fileno()).st_mode)  # it may differ from the one at the path before
    except OSError:
        file.close()
        raise
    return file


def _check(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise NotRegularError


def read_small(path: str | Path, *, most_bytes: int) -> bytes:
    """Read a regular file, and little more than `most_bytes` of it."""
    with open_regular(path) as file:
        return file.read(most_bytes + 1)


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
        unfinished.chmod(_mode(target) if mode is None else mode)
        unfinished.replace(target)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def _mode(target: Path) -> int:
    """Mode of the file that is replaced, or of a new one."""
    with suppress(OSError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
