"""Read the completions of a training run one after the other, in flat memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from voirdire.errors import InputError
from voirdire.io.messages import turn_item
from voirdire.rewards.training.completion_rows import ANSWERED_BY, proposition_column
from voirdire.rewards.training.lines import BadLine, lines_of
from voirdire.rewards.training.run_files import COMPLETIONS
from voirdire.rewards.training.run_reading import sessions_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire._types import Judged
    from voirdire.records import Item
    from voirdire.rewards.training.run import TrainingRun

__all__ = ["Completion", "CompletionReader", "check_has_completions"]

_BATCH_ITEMS = 4_096
_BATCH_CHARACTERS = 1 << 24
_MOST_DROPPED = 100


class Completion(msgspec.Struct, kw_only=True):
    """One completion of a training run.

    Attributes
    ----------
    id : str
        Unique in the run.
    step : int
        Where it was written.
    session : str
        By whom.
    prompt, response : str or list of mapping
        Text or messages; None where a trainer handed over neither.
    behavior, group : str or None
        As they were used.
    base_reward, reward, rule_reward : float or None
        None where there is none.
    missing : str or None
        Why there is no reward.
    n_tokens : int or None
        Where they are known.
    n_characters : int
        Of the response.
    judge, fingerprint : str
        Whose verdicts these are.
    answered_by : str or None
        Which judge of a cascade it came to, answered or not; None where there was only one.
    probabilities : list of float
        By proposition of the run, in their order; nan where there is none.
    """

    id: str
    step: int
    session: str
    prompt: Any = None
    response: Any = None
    behavior: str | None = None
    group: str | None = None
    base_reward: float | None = None
    reward: float | None = None
    rule_reward: float | None = None
    missing: str | None = None
    n_tokens: int | None = None
    n_characters: int = 0
    judge: str = ""
    fingerprint: str = ""
    answered_by: str | None = None
    probabilities: list[float] = []  # msgspec copies it

    def item(self, name: str, *, judged: str) -> Item:
        """Make an item of it; an `InputError` where it is neither text nor messages."""
        part: Judged = judged if judged in get_args(_JUDGED) else "final_answer"  # type: ignore[assignment]
        return turn_item(
            name,
            response=self.response,
            prompt=self.prompt,
            judged=part,
            behavior=self.behavior,
            group=self.group,
        )


_JUDGED = Literal["final_answer", "with_reasoning", "whole_turn"]


class CompletionReader:
    """Gives the completions of a run that count, those of later sessions instead of earlier ones.

    Parameters
    ----------
    run : TrainingRun
        What `read_training_run` gave.

    Attributes
    ----------
    dropped : list of str
        Lines that could not be read, and why; the first hundred.
    """

    def __init__(self, run: TrainingRun) -> None:
        check_has_completions(run)
        self._run = run
        self._columns = [proposition_column(name) for name in run.propositions]
        self._is_asked = ANSWERED_BY in self._columns  # then it is the name of a proposition
        self.dropped: list[str] = []

    def batches(self) -> Iterator[list[Completion]]:
        """Give them in batches of bounded size, file by file."""
        batch: list[Completion] = []
        n_characters = 0
        for row in self._rows():
            batch.append(row)
            n_characters += row.n_characters
            if len(batch) >= _BATCH_ITEMS or n_characters >= _BATCH_CHARACTERS:
                yield batch
                batch, n_characters = [], 0
        if batch:
            yield batch

    def _rows(self) -> Iterator[Completion]:
        folder = self._run.folder
        until = sessions_of(folder)
        for path in sorted(folder.glob(f"{COMPLETIONS}-*.jsonl")):
            try:
                for number, line in enumerate(lines_of(path), start=1):
                    row = self._row(line, place=f"{path.name}:{number}")
                    if row is None:
                        continue
                    end = until.get(row.session)
                    if end is None or row.step < end:
                        yield row
            except OSError as error:
                msg = f"{path}: cannot be read ({error.strerror}). Make it readable."
                raise InputError(msg) from error

    def _row(self, line: dict[str, Any] | BadLine, *, place: str) -> Completion | None:
        if isinstance(line, BadLine):
            self._drop(str(line))
            return None
        try:
            own = {k: v for k, v in line.items() if k != ANSWERED_BY} if self._is_asked else line
            found = msgspec.convert(own, Completion)
            found.probabilities = [_probability(line.get(name)) for name in self._columns]
        except (msgspec.ValidationError, ValueError, TypeError):
            self._drop(f"{place}: the line is no completion, and left out")
            return None
        return found

    def _drop(self, reason: str) -> None:
        if len(self.dropped) < _MOST_DROPPED:
            self.dropped.append(reason)


def check_has_completions(run: TrainingRun) -> None:
    """Refuse a run without completions."""
    if not any(run.folder.glob(f"{COMPLETIONS}-*.jsonl")):
        msg = (
            f"`run` must hold completions, got {str(run.folder)!r}, which has none. Train with "
            "`record=`, which writes them down."
        )
        raise InputError(msg)


def _probability(value: Any) -> float:
    if value is None:
        return math.nan
    number = float(value)
    if isinstance(value, str | bool) or not 0 <= number <= 1:
        msg = "no probability"
        raise ValueError(msg)
    return number
