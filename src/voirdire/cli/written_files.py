"""Files that commands write: whole or not at all, and never over somebody's data."""

from __future__ import annotations

import os
import sys
import webbrowser
from contextlib import contextmanager
from typing import TYPE_CHECKING

from voirdire.cli.calls import UsageError
from voirdire.documents import write_whole
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_HEAD_BYTES = 2_048
"""A certificate names its schema first, a page what it is."""


_KINDS = {
    "report": ("HTML page of voirdire", "", b'content="voirdire'),
    "certificate": ("certificate", "", b"voirdire.certificate"),
    "calibration": ("calibration", "", b"voirdire.calibration"),
    "card": ("card", "", b"# card of the local judge"),
    "reward": ("reward", ".json", b'"voirdire.reward/'),
    "judge": ("judge", ".npz", b"words.npy"),
}
"""Kinds of files: what one is called, how its name ends, and what stands near its beginning."""


def check_written(paths: Mapping[str, Path | None], *, option: str | None = None) -> None:
    """Refuse to write over a file of another kind, and two results to one file.

    The names are those of kinds, or of any output, and of the options unless `option` names
    another.
    """
    seen: dict[Path, str] = {}
    for name, path in paths.items():
        if path is None:
            continue
        flag = option or f"--{name}"
        other = seen.setdefault(path.resolve(), flag)
        if other != flag:
            msg = f"`{other}` and `{flag}` must be different files, got {str(path)!r} twice."
            raise InputError(msg)
        if name not in _KINDS:
            continue
        what, ending, sign = _KINDS[name]
        if not path.name.lower().endswith(ending):
            msg = f"`{flag}` must end in {ending}, got {str(path)!r}. Rename it."
            raise UsageError(msg)
        _check_regular(path)
        folder = path.resolve().parent
        if not os.access(folder, os.W_OK):
            wrong = "cannot be written to" if folder.is_dir() else "does not exist"
            msg = f"{path}: must be in a folder that can be written to; {folder} {wrong}."
            raise InputError(msg)
        start = b""
        if path.exists():
            with _explain(path, "Name another file."), path.open("rb") as file:
                start = file.read(_HEAD_BYTES).lower()
        if start and sign not in start:
            msg = f"`{flag}` must not replace {str(path)!r}, which is no {what}. "
            raise InputError(f"{msg}Name another file.")


def _check_regular(path: Path) -> None:
    if not path.name or path.is_dir():
        msg = f"{path}: must be a file, got a folder. Name a file in it."
        raise InputError(msg)
    if path.exists() and not path.is_file():
        msg = f"{path}: must be a regular file, got a device or a pipe. Name another file."
        raise InputError(msg)


@contextmanager
def _explain(path: Path, way_out: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror}). {way_out}"
        raise InputError(msg) from error


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; a link is followed, and the mode of a file is kept."""
    with _explain(path, "Name a file that can be."):
        _check_regular(path)
        write_whole(path, content)


def open_page(page: Path) -> None:
    """Show a page, where somebody sits in front of a screen."""
    has_screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if sys.stdout.isatty() and has_screen and not os.environ.get("CI"):
        webbrowser.open(page.resolve().as_uri())
