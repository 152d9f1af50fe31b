"""Results on standard output, everything else on standard error."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.records import CERTIFICATE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from voirdire.studies import Examination

__all__ = [
    "check_overwrite",
    "listen_for_interrupts",
    "print_examination",
    "progress",
    "write_text",
]

_HEAD_BYTES = 200
"""A certificate names its schema first."""


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Show that work goes on, on a terminal; warnings are part of the result and not repeated."""
    with warnings.catch_warnings(), _spinner(doing):
        warnings.simplefilter("ignore", DegenerateDataWarning)
        yield


def _spinner(doing: str) -> AbstractContextManager[object]:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"{doing} …")


def listen_for_interrupts() -> None:
    """Let Ctrl-C end a read that waits: polars installs a handler under which it would go on."""
    import polars as pl  # noqa: F401  # so that its handler is there before ours

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def print_examination(examination: Examination, *, as_json: bool, details: bool) -> None:
    """Print an examination as tables, or as one JSON object (in UTF-8, as RFC 8259 wants)."""
    if as_json:
        from voirdire.reporting import examination_to_json

        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors="strict")
        sys.stdout.write(examination_to_json(examination) + "\n")
        return
    from rich.console import Console

    from voirdire.reporting import ExaminationTables

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    console = Console(width=width, highlight=False)
    console.print(ExaminationTables(examination, details=details))


def check_overwrite(certificate: Path) -> None:
    """Refuse to replace a file by a certificate, unless it is one."""
    if not certificate.is_file():
        return
    with certificate.open("rb") as file:
        start = file.read(_HEAD_BYTES)
    if CERTIFICATE_SCHEMA.split("/", 1)[0].encode() not in start:
        msg = f"`--certificate` must not replace {str(certificate)!r}, which is no certificate."
        raise InputError(msg)


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
