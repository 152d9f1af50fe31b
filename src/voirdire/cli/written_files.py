"""Files that commands write: whole or not at all, and never over somebody's data."""

from __future__ import annotations

import os
import sys
import webbrowser
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from voirdire.cli.calls import UsageError
from voirdire.documents import write_whole
from voirdire.errors import InputError
from voirdire.records import CERTIFICATE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

_HEAD_BYTES = 2_048
"""A certificate names its schema first, a page and a picture what they are."""


class _Kind(NamedTuple):
    """A kind of file: how its content is told, in small letters, and how its name ends."""

    what: str
    signs: tuple[bytes, ...]
    is_at_start: bool = False
    endings: tuple[str, ...] = ()

    def is_kind_of(self, path: Path) -> bool:
        """Whether a file begins as this kind does; an empty one is of any."""
        with _explain(path, "Name another file."), path.open("rb") as file:
            start = file.read(_HEAD_BYTES).lower()
        begins = start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(self.signs)
        return not start or (begins if self.is_at_start else any(x in start for x in self.signs))


_PICTURES = (b"<svg", b"<?xml", b"\x89png", b"%pdf")
_KINDS = {
    "report": _Kind("HTML page of voirdire", (b'content="voirdire',)),
    "certificate": _Kind("certificate", (CERTIFICATE_SCHEMA.split("/")[0].encode(),)),
    "calibration": _Kind("calibration", (b"voirdire.calibration",)),
    "card": _Kind("card", (b"# card of the local judge",), is_at_start=True),
    "plot": _Kind("picture", _PICTURES, is_at_start=True, endings=(".svg", ".png", ".pdf")),
}


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
        if name in _KINDS:
            kind = _KINDS[name]
            check_output(path, kind.endings, kind.what, kind.is_kind_of, option=flag)


def check_output(
    path: Path,
    endings: tuple[str, ...],
    what: str,
    is_one: Callable[[Path], bool],
    *,
    option: str = "--output",
) -> None:
    """Refuse an output of another ending, and to replace a file that is not one of its kind."""
    if endings and path.suffix.lower() not in endings:
        msg = f"`{option}` must end in {', '.join(endings)}, got {str(path)!r}. Rename it."
        raise UsageError(msg)
    _check_place(path)
    if path.exists() and not is_one(path):
        msg = f"`{option}` must not replace {str(path)!r}, which is no {what}. Name another file."
        raise InputError(msg)


def _check_place(path: Path) -> None:
    """Refuse a folder, a device, and a file in a folder that cannot be written to."""
    _check_regular(path)
    folder = path.resolve().parent
    if not os.access(folder, os.W_OK):
        what = "cannot be written to" if folder.is_dir() else "does not exist"
        msg = f"{path}: must be in a folder that can be written to; {folder} {what}."
        raise InputError(msg)


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
