"""Results on standard output, everything else on standard error."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

from voirdire.errors import DegenerateDataWarning, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from voirdire.studies import Examination

__all__ = ["print_examination", "progress", "write_text"]


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Show that work goes on, on a terminal; warnings are part of the result and not repeated."""
    from rich.console import Console

    with warnings.catch_warnings(), Console(stderr=True).status(f"{doing} …"):
        warnings.simplefilter("ignore", DegenerateDataWarning)
        yield


def print_examination(examination: Examination, *, as_json: bool, details: bool) -> None:
    """Print an examination as tables, or as one JSON object."""
    if as_json:
        from voirdire.reporting import examination_to_json

        sys.stdout.write(examination_to_json(examination) + "\n")
        return
    from rich.console import Console

    from voirdire.reporting import ExaminationTables

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    console = Console(width=width, highlight=False)
    console.print(ExaminationTables(examination, details=details))


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.partial")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror}). Name a file in a folder that exists."
        raise InputError(msg) from error
