"""Where verdicts may be written: never over a file that holds anything else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire.errors import InputError
from voirdire.io.verdict_files import layout_of_file, verdict_format

if TYPE_CHECKING:
    from voirdire.io.verdict_files import VerdictFormat

__all__ = ["checked_output", "publish"]


def checked_output(output: Path, *, source: object) -> tuple[Path, VerdictFormat]:
    """Give the file that a name leads to and how it is written, or say why it cannot be.

    A file of verdicts is replaced, and an empty one; nothing else is.
    """
    written_as = verdict_format(output)
    target = output.resolve()
    _check_name(target)
    if target.is_dir():
        msg = f"`output` must be a file, got the folder {str(output)!r}. Name a file in it."
        raise InputError(msg)
    if target.exists() and not target.is_file():
        msg = f"`output` must be a regular file, got a device or a pipe: {str(output)!r}."
        raise InputError(msg)
    folder = target.parent
    if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        what = "cannot be written to" if folder.is_dir() else "does not exist"
        msg = f"`output` must be in a folder that can be written to; {str(folder)!r} {what}."
        raise InputError(msg)
    _check_apart(target, source)
    if target.exists() and target.stat().st_size and layout_of_file(target) is None:
        msg = f"`output` must not replace {str(output)!r}, which holds no verdicts. Name another."
        raise InputError(msg)
    return target, written_as


def publish(finished: Path, target: Path) -> None:
    """Put a finished file under its name, with the mode of the file that it replaces."""
    if target.exists():
        finished.chmod(target.stat().st_mode & 0o777)
    finished.replace(target)


def _check_name(target: Path) -> None:
    """Refuse a path that polars cannot take, before anything is judged."""
    try:
        str(target).encode()
    except UnicodeEncodeError as error:
        msg = f"`output` must be a path in UTF-8, got {str(target)!a}. Name another."
        raise InputError(msg) from error


def _check_apart(target: Path, source: object) -> None:
    if not isinstance(source, str | Path) or str(source) == "-" or not target.exists():
        return
    given = Path(source)
    if given.exists() and given.samefile(target):
        msg = f"`output` must be another file than the items, got {str(source)!r} for both."
        raise InputError(msg)
