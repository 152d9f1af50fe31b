"""Files that commands write: whole or not at all, and never over somebody's data."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from voirdire.errors import InputError
from voirdire.records import CERTIFICATE_SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire._types import Language
    from voirdire.studies import Examination

__all__ = ["check_certificate", "check_report", "write_report", "write_text"]

_HEAD_BYTES = 200
"""A certificate names its schema first, a page what it is."""


def check_certificate(path: Path | None) -> None:
    """Refuse to replace a file by a certificate, unless it is one."""
    sign = CERTIFICATE_SCHEMA.split("/", 1)[0].encode()
    if path is not None and not _may_replace(path, sign):
        msg = f"`--certificate` must not replace {str(path)!r}, which is no certificate."
        raise InputError(msg)


def check_report(path: Path | None, *, option: str = "--report") -> None:
    """Refuse to replace a file by a report, unless it is a page."""
    if path is not None and not _may_replace(path, b"<!doctype html"):
        msg = f"`{option}` must not replace {str(path)!r}, which is no HTML page."
        raise InputError(msg)


def _may_replace(path: Path, sign: bytes) -> bool:
    if not path.is_file():
        return True
    try:
        with path.open("rb") as file:
            start = file.read(_HEAD_BYTES)
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror}). Name another file."
        raise InputError(msg) from error
    return not start or sign in start.lower()


def write_report(path: Path, examination: Examination, *, language: Language) -> None:
    """Write an examination as an HTML page."""
    from voirdire.reporting import html_report

    write_text(path, html_report(examination, language=language))


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    temporary = path.parent / f".{path.name}.partial"
    try:
        if not path.name or path.is_dir():
            msg = f"{path}: must be a file, got a folder. Name a file in it."
            raise InputError(msg)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        msg = f"{path}: cannot be written ({error.strerror}). Name a file in a folder that exists."
        raise InputError(msg) from error
