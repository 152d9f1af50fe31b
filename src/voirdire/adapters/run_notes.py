"""Says and records what a reward gave in one process: reasons, errors, the training run."""

from __future__ import annotations

import logging
import os
import traceback
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.errors import JudgeUnavailableError, RewardStoppedError
from voirdire.judging.background_loop import fork_lock
from voirdire.rewards.training.watch import TrainingWatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from voirdire.rewards.live.turns import LiveScores, Turn
    from voirdire.rewards.training.run import Alarm

_log = logging.getLogger("voirdire")
_of_parents: list[object] = []
"""Records of the parent, which a forked process must neither use nor clean up."""


class RunNotes:
    """Writes log and record, whose errors do not stop the training.

    Parameters
    ----------
    name : str
        What the log calls the reward.
    watched : dict or None
        What `TrainingWatch` takes; None where nothing is recorded and no alarm is waited for.
    give_up_after : int or None
        Requests in a row without a single reward after which `add` raises.
    stop_on : tuple of str
        Kinds of alarms after which `check_stopped` raises.

    Attributes
    ----------
    stopped : str or None
        The alarm after which training is to stop.
    began : tuple of Alarm
        The alarms that began with the last request.
    raises : bool
        Whether `check_stopped` raises, or a trainer is stopped by other means.
    """

    def __init__(
        self,
        name: str,
        *,
        watched: dict[str, Any] | None,
        give_up_after: int | None,
        stop_on: tuple[str, ...],
    ) -> None:
        self.trouble = TroubleLog(_log)
        self.stopped: str | None = None
        self.began: tuple[Alarm, ...] = ()
        self.raises = True
        self._name, self._record, self._give_up_after = name, watched, give_up_after
        self._stop_on = stop_on
        self._watch: tuple[int, TrainingWatch] | None = None
        self._n_vain = 0

    def __reduce__(self) -> tuple[Any, ...]:
        about: dict[str, Any] = {"watched": self._record, "give_up_after": self._give_up_after}
        return partial(RunNotes, self._name, stop_on=self._stop_on, **about), ()

    def anew(self) -> RunNotes:
        """Give notes of the same run that are not begun."""
        made: RunNotes = self.__reduce__()[0]()
        return made

    @property
    def watches(self) -> bool:
        """Whether alarms are looked for."""
        return self._record is not None

    def check_stopped(self) -> None:
        """Raise where training is to stop."""
        if self.raises and self.stopped is not None:
            name = shorten(self._name)
            msg = f"reward {name!r} stopped: {self.stopped}. Read what the model writes."
            raise RewardStoppedError(msg)

    def open(self) -> None:
        """Begin the record now, so that a mistake is raised before training."""
        if self._record is not None:
            self._watch = (os.getpid(), TrainingWatch(**self._record))

    def add(
        self, found: LiveScores, turns: Sequence[Turn], *, step: int | None, recorded: bool
    ) -> None:
        """Note what a request got; raise after too many failures."""
        missing, n_items, self.began = found.scores.missing, len(turns), ()
        with fork_lock:
            self.trouble.missing(missing.values(), name=self._name, n_items=n_items)
            for note in found.scores.notes:
                self.trouble.say_once(note, f"{self._name}: {note}")
            n_bare = sum(not turn.prompt for turn in turns)
            if n_bare:
                said = "responses came without a prompt, and are judged alone"
                self.trouble.say_once(said, f"{self._name}: {n_bare} of {n_items} {said}")
            if self._record is not None and recorded:
                try:
                    watch = self._watch
                    if watch is None or watch[0] != os.getpid():
                        _of_parents.append(watch)
                        self._watch = watch = (os.getpid(), TrainingWatch(**self._record))
                    self.began = watch[1].add(found, turns, step=step)
                    for alarm in self.began:
                        said = f"step {alarm.step}: {alarm.text}"
                        _log.warning("%s: %s", self._name, said)
                        if alarm.kind in self._stop_on:
                            self.stopped = said
                except Exception as error:  # noqa: BLE001  # a full disk, such as it is
                    self.trouble.error(f"{self._name}: the training run is not recorded", error)
            if n_items:
                self._n_vain = self._n_vain + 1 if len(missing) == n_items else 0
            n_vain = self._n_vain
        if n_items and self._give_up_after is not None and n_vain >= self._give_up_after:
            last = next(iter(missing.values()))
            msg = (
                f"reward {shorten(self._name)!r} gave nothing for {n_vain} requests in a row, "
                f"which `give_up_after` does not allow; the last reason: {shorten(last)}. Repair "
                "the judge, and continue from the last checkpoint."
            )
            raise JudgeUnavailableError(msg)

    def flush(self) -> None:
        """Write what waits."""
        if self._watch is not None and self._watch[0] == os.getpid():
            try:
                self._watch[1].flush()
            except OSError as error:
                self.trouble.error(f"{self._name}: the training run is not recorded", error)

    def close(self) -> None:
        """Write what waits, and end."""
        with fork_lock:
            self.flush()
            self._watch = None


# The log ------------------------------------------------------------------------------------------

_MOST_KINDS = 100
_OTHERS = "other reasons"
_MOST_CAUSES = 5
_MOST_FRAMES = 12


class TroubleLog:
    """Logs each kind of error at its first, 10th, 100th, ... time.

    An exception may carry a response in its message, which a log must not hold.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._counts: Counter[str] = Counter()

    def error(self, what: str, error: BaseException) -> None:
        """Log an exception; `what` says what went wrong, without any text of a response."""
        described = describe_error(error)
        place = described.rpartition(" > ")[2]
        before, now = self._count(f"{what} {type(error).__name__} {place}", 1)
        if before == 0:
            self._log.error("%s: %s", what, described)
        elif _is_round(before, now):
            self._log.error("%s, for the %sth time: %s", what, f"{now:,}", type(error).__name__)

    def say_once(self, kind: str, what: str) -> None:
        """Log the first warning of a kind."""
        if self._count(kind, 1)[0] == 0:
            self._log.warning("%s", what)

    def missing(self, reasons: Iterable[str], *, name: str, n_items: int) -> None:
        """Log why items of a request have no reward, given a reason for each of those."""
        for reason, number in Counter(reasons).items():
            before, now = self._count(reason, number)
            if before == 0:
                said = f"{number:,} of {n_items:,} completions"
                self._log.warning("%s: no reward for %s: %s", name, said, reason)
            elif _is_round(before, now):
                said = f"{now:,} completions so far"
                self._log.warning("%s: no reward for %s: %s", name, said, reason)

    def _count(self, kind: str, number: int) -> tuple[int, int]:
        """Return how often a kind occurred before and until now."""
        if kind not in self._counts and len(self._counts) >= _MOST_KINDS:
            kind = _OTHERS
        self._counts[kind] += number
        return self._counts[kind] - number, self._counts[kind]


def _is_round(before: int, now: int) -> bool:
    """Whether a power of ten was reached."""
    return before > 0 and len(str(before)) < len(str(now))


def describe_error(error: BaseException) -> str:
    """Name the types of an error and of its causes, and where they were raised, on one line.

    The first cause comes first. No message is in it: one may quote a response.
    """
    chain: list[BaseException] = []
    seen: BaseException | None = error
    while seen is not None and seen not in chain and len(chain) < _MOST_CAUSES:
        while isinstance(seen, BaseExceptionGroup):
            seen = seen.exceptions[0]
        chain.append(seen)
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    links = []
    for link in reversed(chain):
        frames = traceback.extract_tb(link.__traceback__)[-_MOST_FRAMES:]
        places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
        links.append(f"{type(link).__qualname__} at {' > '.join(places) or 'an unknown place'}")
    return ", then ".join(links)
