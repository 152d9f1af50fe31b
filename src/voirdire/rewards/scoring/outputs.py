"""The file of rewards: where it may be, and how it is written whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from voirdire.errors import InputError
from voirdire.io.verdict_files import (
    columns_of_file,
    encode_part,
    join_parts,
    synced,
    verdict_format,
)
from voirdire.judging.runs.outputs import publish
from voirdire.judging.runs.parts import WorkFolder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    import polars as pl

    from voirdire.io.verdict_files import VerdictFormat

__all__ = ["SCORE_COLUMNS", "RewardWriter", "StreamWriter", "checked_rewards_output"]

SCORE_COLUMNS = ("item", "behavior", "reward", "base_reward", "rule_reward", "missing")
"""What a file of rewards begins with."""


def checked_rewards_output(output: Path, *, source: object) -> tuple[Path, VerdictFormat]:
    """Give the file that a name leads to and how it is written, or say why it cannot be.

    A file of rewards is replaced, and an empty one; nothing else is.
    """
    written_as = verdict_format(output)
    target = output.resolve()
    folder = target.parent
    if target.is_dir() or (target.exists() and not target.is_file()):
        msg = f"`output` must be a regular file, got {str(output)!r}. Name another."
        raise InputError(msg)
    if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        what = "cannot be written to" if folder.is_dir() else "does not exist"
        msg = f"`output` must be in a folder that can be written to; {str(folder)!r} {what}."
        raise InputError(msg)
    is_path = isinstance(source, str | Path) and str(source) != "-"
    if is_path and target.exists() and Path(str(source)).exists() and target.samefile(str(source)):
        msg = f"`output` must be another file than the items, got {str(source)!r} for both."
        raise InputError(msg)
    if target.exists() and target.stat().st_size:
        columns = columns_of_file(target)
        if columns[: len(SCORE_COLUMNS)] != SCORE_COLUMNS:
            msg = (
                f"`output` must not replace {str(output)!r}, which holds no rewards. Name another."
            )
            raise InputError(msg)
    return target, written_as


class StreamWriter:
    """Writes rows to standard output as JSONL."""

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left to do."""

    def add(self, frame: pl.DataFrame) -> None:
        """Write rows now."""
        sys.stdout.buffer.write(encode_part(frame, "jsonl"))
        sys.stdout.buffer.flush()

    def publish(self) -> None:
        """Nothing is left to do."""


class RewardWriter:
    """Writes a table under another name, and puts it under its own at the end."""

    def __init__(self, target: Path, *, written_as: VerdictFormat, columns: Sequence[str]) -> None:
        self._target, self._written_as, self._columns = target, written_as, columns
        self._work = WorkFolder(target, written_as=written_as)
        self._file: IO[bytes] | None = None
        self._parts: list[Path] = []

    def __enter__(self) -> Self:
        """Take the place for what is not finished, which no other run may use at the same time."""
        with ExitStack() as stack:
            stack.enter_context(self._work)
            stack.callback(self._work.remove)
            try:
                self._work.clear()  # a run that was killed leaves its rows
                if self._written_as != "parquet":
                    self._file = stack.enter_context(self._joined.open("wb"))
                    if self._written_as == "csv":
                        self._file.write(_header(self._columns))
            except OSError as error:
                raise self._error(error) from error
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Take away what is not finished."""
        with suppress(OSError):  # closing writes what is left, where the disk may be full
            self._stack.close()

    def add(self, frame: pl.DataFrame) -> None:
        """Write rows."""
        data = encode_part(frame, self._written_as)
        try:
            if self._file is not None:
                self._file.write(data)
                return
            part = self.folder / f"part-{len(self._parts):07d}.parquet"
            part.write_bytes(data)
            self._parts.append(part)
        except OSError as error:
            raise self._error(error) from error

    def publish(self) -> None:
        """Put the whole table under its name."""
        try:
            if self._file is not None:
                self._file.close()
            with synced(self._joined):
                if self._parts:
                    join_parts(
                        self._parts, self._joined, written_as="parquet", columns=self._columns
                    )
            _set_mode(self._joined)
            publish(self._joined, self._target)
        except OSError as error:
            raise self._error(error) from error

    @property
    def folder(self) -> Path:
        """Where unfinished files wait."""
        return self._work.path

    @property
    def _joined(self) -> Path:
        return self.folder / f"joined{self._target.suffix}"

    def _error(self, error: OSError) -> InputError:
        return InputError(
            f"{self._target}: cannot be written ({error.strerror}). Make room, or name another "
            "`output`."
        )


def _set_mode(path: Path) -> None:
    """Give a new file the mode that new files have."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)


def _header(columns: Sequence[str]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(columns)
    return text.getvalue().encode()
