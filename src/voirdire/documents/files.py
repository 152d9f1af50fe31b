"""Opens users' files without waiting, reads them up to a limit, and writes files atomically."""

from __future__ import annotations

import errno
import os
import select
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "NotRegularError",
    "SilentPipeError",
    "file_exists",
    "open_data",
    "open_regular",
    "read_small",
    "write_whole",
]

_SILENCE_S = 60.0
"""Seconds in which data must come from a pipe of the shell."""

_BLOCK_BYTES = 1 << 16
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # else opening a pipe waits for a writer
_SYSTEMS = ("/dev/", "/proc/")  # where the pipes of `<(command)` and of `|` are
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)


class NotRegularError(OSError):
    """It is not a regular file but a pipe, a device or a socket (`kind`)."""

    def __init__(self, kind: str) -> None:
        super().__init__(errno.EINVAL, f"it is {kind}")
        self.kind = kind


class SilentPipeError(OSError):
    """No data came from a pipe in time."""

    def __init__(self) -> None:
        super().__init__(errno.ETIMEDOUT, f"nothing came out of the pipe for {_SILENCE_S:g} s")


def file_exists(path: str | Path) -> bool:
    """Return whether there is a file, or folder; a name that no file can have has none."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # it is too long, or holds a zero byte
        return False


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file, or a link to one; nothing else, and nothing is waited for."""
    return _open_checked(Path(path), may_be=stat.S_ISREG)


def open_data(path: str | Path) -> BinaryIO:
    """Open a file, a pipe (for which is waited) or a terminal; a device only where it ends."""
    given = Path(path)
    if stat.S_ISFIFO(given.stat().st_mode):
        return given.open("rb")
    file = _open_checked(given, may_be=lambda mode: stat.S_ISREG(mode) or stat.S_ISCHR(mode))
    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISCHR(mode):
        file.close()
        if not _ends(given):
            raise NotRegularError(_kind(mode))
        return given.open("rb")
    return file


def read_small(path: str | Path, *, most_bytes: int) -> bytes:
    """Read a file, or a pipe of the shell, and little more than `most_bytes` of it.

    A named pipe is refused, since it may have no writer. A pipe of the shell may be silent for a
    minute.
    """
    given = Path(path)
    with _open_checked(given, may_be=lambda mode: _may_be_small(mode, given)) as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file.read(most_bytes + 1)
        return _read_with_patience(file.fileno(), n_bytes=most_bytes + 1)


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


def _open_checked(path: Path, *, may_be: Callable[[int], bool]) -> BinaryIO:
    """Check the opened file, which may differ from the one at the path before."""
    _check(path.stat().st_mode, may_be)  # some devices do something when they are opened
    file = os.fdopen(os.open(path, os.O_RDONLY | _AT_ONCE), "rb")
    try:
        _check(os.fstat(file.fileno()).st_mode, may_be)
    except OSError:
        file.close()
        raise
    return file


def _check(mode: int, may_be: Callable[[int], bool]) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not may_be(mode):
        raise NotRegularError(_kind(mode))


def _kind(mode: int) -> str:
    return next((kind for is_one, kind in _KINDS if is_one(mode)), "a device")


def _may_be_small(mode: int, path: Path) -> bool:
    if stat.S_ISFIFO(mode):
        return str(path.resolve()).startswith(_SYSTEMS)
    return stat.S_ISREG(mode) or stat.S_ISCHR(mode)


def _ends(device: Path) -> bool:
    with device.open("rb", buffering=0) as file:
        return file.isatty() or device.samefile(os.devnull)


def _read_with_patience(handle: int, *, n_bytes: int) -> bytes:
    pieces: list[bytes] = []
    left = n_bytes
    while left > 0:
        if not _wait_for_data(handle):
            raise SilentPipeError
        piece = os.read(handle, min(left, _BLOCK_BYTES))
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _wait_for_data(handle: int) -> bool:
    """Wait for the next bytes, or the end."""
    if not hasattr(select, "poll"):  # pragma: no cover  # where reading itself must wait
        return True
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    return bool(waiting.poll(_SILENCE_S * 1_000))
