"""Files that commands write: whole or not at all, and never over somebody's data."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire.cli.printing import progress
from voirdire.cli.shell import UsageError, say
from voirdire.documents import write_whole
from voirdire.errors import InputError
from voirdire.records import CERTIFICATE_SCHEMA

if TYPE_CHECKING:
    from voirdire._types import Language

__all__ = [
    "check_apart",
    "check_calibration",
    "check_card",
    "check_certificate",
    "check_picture",
    "check_place",
    "check_report",
    "open_page",
    "write_bytes",
    "write_picture",
    "write_report",
    "write_text",
]

_HEAD_BYTES = 2_048
"""A certificate names its schema first, a page and a picture what they are."""

_PICTURES = (".svg", ".png", ".pdf")
_PICTURE_SIGNS = (b"<svg", b"<?xml", b"\x89png", b"%pdf")


def check_card(path: Path | None) -> None:
    """Refuse to replace a file by a judge's card, unless it is one."""
    _check_replaced(path, b"# card of the local judge", option="--card", what="card", at_start=True)


def check_calibration(path: Path | None) -> None:
    """Refuse to replace a file by a calibration, unless it is one."""
    _check_replaced(path, b"voirdire.calibration", option="--calibration", what="calibration")


def check_certificate(path: Path | None) -> None:
    """Refuse to replace a file by a certificate, unless it is one."""
    sign = CERTIFICATE_SCHEMA.split("/", 1)[0].encode()
    _check_replaced(path, sign, option="--certificate", what="certificate")


def check_report(path: Path | None, *, option: str = "--report") -> None:
    """Refuse to replace a file by a report, unless it is one of ours."""
    _check_replaced(path, b'content="voirdire', option=option, what="HTML page of voirdire")


def check_picture(path: Path | None, *, option: str = "--plot") -> None:
    """Refuse a name that is no picture's, and to replace a file that is no picture."""
    _check_replaced(path, *_PICTURE_SIGNS, option=option, what="picture", at_start=True)
    if path is not None and path.suffix.lower() not in _PICTURES:
        msg = f"`{option}` must end in {', '.join(_PICTURES)}, got {str(path)!r}."
        raise UsageError(msg)


def check_apart(**paths: Path | None) -> None:
    """Refuse to write two results to one file; the names are those of the options."""
    seen: dict[Path, str] = {}
    for name, path in paths.items():
        if path is None:
            continue
        other = seen.setdefault(path.resolve(), name)
        if other != name:
            msg = f"`--{other}` and `--{name}` must be different files, got {str(path)!r} twice."
            raise InputError(msg)


def check_place(path: Path) -> None:
    """Refuse a folder, a device, and a file in a folder that cannot be written to."""
    _check_regular(path)
    folder = path.resolve().parent
    if not os.access(folder, os.W_OK):
        what = "cannot be written to" if folder.is_dir() else "does not exist"
        msg = f"{path}: must be in a folder that can be written to; {folder} {what}."
        raise InputError(msg)


def _check_replaced(
    path: Path | None, *signs: bytes, option: str, what: str, at_start: bool = False
) -> None:
    """Refuse to replace a file that does not hold, or begin with, one of the signs of its kind."""
    if path is None:
        return
    check_place(path)
    try:
        start = b""
        if path.exists():
            with path.open("rb") as file:
                start = file.read(_HEAD_BYTES).lower()
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror}). Name another file."
        raise InputError(msg) from error
    begins = start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(signs)
    if start and not (begins if at_start else any(sign in start for sign in signs)):
        msg = f"`{option}` must not replace {str(path)!r}, which is no {what}. Name another file."
        raise InputError(msg)


def _check_regular(path: Path) -> None:
    if not path.name or path.is_dir():
        msg = f"{path}: must be a file, got a folder. Name a file in it."
        raise InputError(msg)
    if path.exists() and not path.is_file():
        msg = f"{path}: must be a regular file, got a device or a pipe. Name another file."
        raise InputError(msg)


def write_report(path: Path | None, result: Any, *, language: Language, **more: Any) -> None:
    """Write a result as an HTML page, where one is asked for, and say where it is."""
    if path is None:
        return
    from voirdire.reporting import html_report, results_report
    from voirdire.studies import Examination

    with progress("writing the report"):
        write = html_report if isinstance(result, Examination) else results_report
        write_text(path, write(result, language=language, **more))
    say(f"report: {path}")


def write_picture(path: Path, result: Any) -> None:
    """Draw a whole figure before anything is written."""
    from voirdire.reporting.picture import draw_picture

    ending = path.suffix.lower().removeprefix(".")
    write_bytes(path, draw_picture(result, file_format=ending))  # type: ignore[arg-type]  # was checked


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; a link is followed, and the mode of a file is kept."""
    try:
        _check_regular(path)
        write_whole(path, content)
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror}). Name a file that can be."
        raise InputError(msg) from error


def open_page(page: Path) -> None:
    """Show a page, where somebody sits in front of a screen."""
    has_screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if sys.stdout.isatty() and has_screen and not os.environ.get("CI"):
        webbrowser.open(page.resolve().as_uri())
