"""Results on standard output, everything else on standard error."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from voirdire.errors import DegenerateDataWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.studies import Examination

__all__ = [
    "listen_for_interrupts",
    "print_examination",
    "progress",
]


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
