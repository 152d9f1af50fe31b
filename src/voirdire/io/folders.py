"""A folder of verdicts, one file per judge, as `voirdire judge --judges` writes it."""

from __future__ import annotations

from pathlib import Path

from voirdire.errors import InputError, NoDataError
from voirdire.io.sources import why_unreadable

__all__ = ["files_of"]

_SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".csv")
_SET_ASIDE = ".dropped.jsonl"


def files_of(source: str | Path) -> list[str | Path]:
    """List the files of verdicts in a folder, in order of their names; else the source itself.

    What is hidden, rows that were set aside, and stores of replies are none.

    Raises
    ------
    NoDataError
        If a folder holds none.
    """
    folder = Path(source)
    try:
        if str(source) == "-" or not folder.is_dir():
            return [source]
        found = sorted(path for path in folder.iterdir() if _holds_verdicts(path))
    except (OSError, ValueError) as error:
        raise InputError(why_unreadable(source, error)) from error
    if not found:
        msg = (
            "`judges` must be files of verdicts, or a folder with some (.parquet, .jsonl, .csv), "
            f"got the folder {str(folder)!r} without any. Name the files themselves."
        )
        raise NoDataError(msg)
    return [*found]


def _holds_verdicts(path: Path) -> bool:
    name = path.name.lower()
    hidden = name.startswith(".")
    wanted = path.suffix.lower() in _SUFFIXES and not name.endswith(_SET_ASIDE)
    return wanted and not hidden and path.is_file()
