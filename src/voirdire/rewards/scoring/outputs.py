"""The file of rewards: where it may be, and how it is written whole or not at all."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import polars as pl

from voirdire.errors import InputError
from voirdire.io.verdict_files import columns_of_file, encode_part, verdict_format
from voirdire.judging.runs.outputs import check_place, explain_write_errors, publish
from voirdire.judging.runs.parts import WorkFolder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Self

    from voirdire.io.verdict_files import VerdictFormat
    from voirdire.rewards.scoring.scores import Scores

__all__ = [
    "SCORE_COLUMNS",
    "RewardWriter",
    "StreamWriter",
    "checked_rewards_output",
    "reward_frame",
]

SCORE_COLUMNS = ("item", "behavior", "reward", "base_reward", "rule_reward", "missing")
"""What a file of rewards begins with."""

_NOT_KEPT = "No reward is written yet"


def checked_rewards_output(output: Path, *, source: object) -> tuple[Path, VerdictFormat]:
    """Give the file that a name leads to and how it is written, or say why it cannot be.

    A file of rewards is replaced, and an empty one; nothing else is.
    """
    written_as = verdict_format(output)
    target = check_place(output, source=source, what="items")
    if target.exists() and target.stat().st_size:
        columns = columns_of_file(target)
        if columns[: len(SCORE_COLUMNS)] != SCORE_COLUMNS:
            msg = (
                f"`output` must not replace {str(output)!r}, which holds no rewards. Name another."
            )
            raise InputError(msg)
    return target, written_as


def reward_frame(scores: Scores) -> pl.DataFrame:
    """Make the table of rewards, a row for each item."""
    missing = [scores.missing.get(name) for name in scores.items]
    return pl.DataFrame(
        {
            "item": pl.Series(scores.items, dtype=pl.String),
            "behavior": pl.Series(scores.behaviors, dtype=pl.String),
            "reward": pl.Series(scores.rewards).fill_nan(None),
            "base_reward": pl.Series(scores.base_rewards).fill_nan(None),
            "rule_reward": pl.Series(scores.rule_rewards).fill_nan(None),
            "missing": pl.Series(missing, dtype=pl.String),
        }
    )


class StreamWriter:
    """Writes rows to standard output as JSONL, at once."""

    def add(self, frame: pl.DataFrame) -> None:
        """Write rows."""
        sys.stdout.buffer.write(encode_part(frame, "jsonl"))
        sys.stdout.buffer.flush()

    def publish(self) -> None:
        """Do nothing: all is written."""


class RewardWriter:
    """Writes a table in parts, and puts the whole under its name at the end; a context."""

    def __init__(self, target: Path, *, written_as: VerdictFormat, columns: Sequence[str]) -> None:
        self._work = WorkFolder(target, written_as=written_as)
        self._columns = columns
        self._n_parts = 0

    def __enter__(self) -> Self:
        """Take the place for what is not finished, which no other run may use at the same time."""
        self._work.__enter__()
        with explain_write_errors(self._work.path, kept=_NOT_KEPT):
            self._work.clear()  # a run that was killed leaves its parts
        return self

    def __exit__(self, *_: object) -> None:
        """Take away what is not finished."""
        self._work.remove()
        self._work.__exit__(None, None, None)

    def add(self, frame: pl.DataFrame) -> None:
        """Write rows."""
        part = self._work.part(self._n_parts)
        with explain_write_errors(self._work.output, kept=_NOT_KEPT):
            part.write_bytes(encode_part(frame, self._work.written_as))
        self._n_parts += 1

    def publish(self) -> None:
        """Put the whole table under its name."""
        with explain_write_errors(self._work.output, kept=_NOT_KEPT):
            joined = self._work.join(self._n_parts, columns=self._columns)
            publish(joined, self._work.output)

    @property
    def folder(self) -> Path:
        """Where unfinished files wait."""
        return self._work.path
