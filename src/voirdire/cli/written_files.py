"""Files that commands write: whole or not at all, and never over somebody's data."""

from __future__ import annotations

import os
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

from voirdire.cli.options import ReportLanguage
from voirdire.cli.printing import progress
from voirdire.cli.shell import UsageError, say
from voirdire.documents import write_whole
from voirdire.errors import InputError
from voirdire.records import CERTIFICATE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Page",
    "check_apart",
    "check_output",
    "check_place",
    "check_written",
    "open_page",
    "write_bytes",
    "write_picture",
    "write_text",
]

_HEAD_BYTES = 2_048
"""A certificate names its schema first, a page and a picture what they are."""


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """A kind of file: how its content is told, in small letters, and how its name ends."""

    what: str
    signs: tuple[bytes, ...]
    is_at_start: bool = False
    endings: tuple[str, ...] = ()


_KINDS = {
    "report": _Kind(what="HTML page of voirdire", signs=(b'content="voirdire',)),
    "certificate": _Kind(what="certificate", signs=(CERTIFICATE_SCHEMA.split("/")[0].encode(),)),
    "calibration": _Kind(what="calibration", signs=(b"voirdire.calibration",)),
    "card": _Kind(what="card", signs=(b"# card of the local judge",), is_at_start=True),
    "plot": _Kind(
        what="picture",
        signs=(b"<svg", b"<?xml", b"\x89png", b"%pdf"),
        is_at_start=True,
        endings=(".svg", ".png", ".pdf"),
    ),
}


def check_written(*, option: str | None = None, **paths: Path | None) -> None:
    """Refuse to write over a file of another kind, and two results to one file.

    The names are those of kinds, and of the options unless `option` names another.
    """
    for name, path in paths.items():
        if path is not None:
            _check_kind(path, _KINDS[name], option=option or f"--{name}")
    check_apart(**paths)


def _check_kind(path: Path, kind: _Kind, *, option: str) -> None:
    ending = path.suffix.lower()
    if kind.endings and ending not in kind.endings:
        allowed = ", ".join(kind.endings)
        msg = f"`{option}` must end in {allowed}, got {str(path)!r}."
        raise UsageError(msg)
    check_place(path)
    try:
        start = b""
        if path.exists():
            with path.open("rb") as file:
                start = file.read(_HEAD_BYTES).lower()
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror}). Name another file."
        raise InputError(msg) from error
    begins = start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(kind.signs)
    if start and not (begins if kind.is_at_start else any(x in start for x in kind.signs)):
        msg = f"`{option}` must not replace {str(path)!r}, which is no {kind.what}."
        raise InputError(f"{msg} Name another file.")


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


def check_output(path: Path, *, ending: str, what: str, is_one: Callable[[Path], bool]) -> None:
    """Refuse an output of another ending, and to replace a file that is not one of its kind."""
    if path.suffix.lower() != ending:
        msg = f"`--output` must end in {ending}, got {str(path)!r}. Rename it."
        raise InputError(msg)
    check_place(path)
    if path.exists() and not is_one(path):
        msg = f"`--output` must not replace {str(path)!r}, which is no {what}. Name another."
        raise InputError(msg)


def check_place(path: Path) -> None:
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


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Page:
    """The HTML page of a result, where one is wanted.

    Parameters
    ----------
    report
        Write everything to this HTML file, to be read without a statistician.
    """

    report: Path | None = None
    language: ReportLanguage = "en"

    def write(self, result: Any, **more: Any) -> None:
        """Write a result as a page, and say where it is."""
        if self.report is None:
            return
        from voirdire.reporting import html_report, results_report
        from voirdire.reporting.pages.reward import reward_report
        from voirdire.studies import Examination
        from voirdire.studies.reward.result import RewardExamination

        makers = {Examination: html_report, RewardExamination: reward_report}
        with progress("writing the report"):
            make: Any = makers.get(type(result), results_report)
            write_text(self.report, make(result, language=self.language, **more))
        say(f"report: {self.report}")


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
