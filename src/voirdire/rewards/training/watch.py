"""Watch a training run: record its completions, and report which alarms began."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.judging.background_loop import fork_lock
from voirdire.rewards.training.alarms import AlarmMonitor
from voirdire.rewards.training.completion_rows import Call, make_rows
from voirdire.rewards.training.run_files import (
    RUN_FILE,
    make_run_document,
    name_session,
    open_folder,
    read_document,
    read_layout,
    write_document,
    write_part,
)
from voirdire.rewards.training.step_figures import compute_steps, has_all_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.live.turns import LiveScores, Turn
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.training.run import Alarm

__all__ = ["COUNTED_STEP", "TrainingWatch"]

_log = logging.getLogger("voirdire")

COUNTED_STEP = 256
"""Completions that make a step where the trainer names none."""

_PART_S = 5.0
"""Seconds between parts; a process that is killed loses at most these."""

_PART_ROWS = 5_000


@dataclass(kw_only=True, slots=True)
class _Session:
    """The session of this process: calls that wait to be written, and calls of the current step."""

    name: str
    is_counted: bool
    step: int
    n_in_step: int = 0
    n_rows: int = 0
    n_parts: int = 0
    calls: list[Call] = field(default_factory=list)
    step_calls: list[Call] = field(default_factory=list)
    n_waiting: int = 0
    written_at: float = -math.inf
    timer: threading.Timer | None = None
    monitor: AlarmMonitor | None = None
    by_tokens: bool = False


class TrainingWatch:
    """Records the completions of a training run and their rewards.

    Parameters
    ----------
    folder : str or path
        The run's folder; made where it is missing, gone on with where it is this reward's.
    reward : RewardModel
        What pays.
    name : str
        Of the reward among others in the same run.
    framework : str
        Such as ``"trl"``.
    judge_fingerprint : str, optional
        Of the judge alone (`JudgingPlan.judge`), by which verdicts are found to fit another
        rubric.
    late_steps : int, optional
        So many steps back a call may be and still add to the step that it names, as where several
        clients of a server are not at the same one. From further back the training was begun
        again from a checkpoint, and what was written from that step on no longer counts.

    Raises
    ------
    InputError
        If the folder holds something else, or cannot be written.

    Notes
    -----
    Several processes may watch one run: each writes files of its own. Rows wait in memory for at
    most 5 seconds, or until there are 5,000, and are then written as a file that is whole; what
    waits is written by `close` and where Python ends, and a process that is killed loses it.
    Everything is readable by its owner only. Threads may share a watch, and a process that is
    forked off begins a session of its own.

    Alarms are checked where a step ends, that is with the first completions of the next one. Of
    several ranks only the first one reports them, from its own completions; `read_training_run`
    finds them over all completions.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        reward: RewardModel,
        name: str,
        framework: str,
        judge_fingerprint: str = "",
        late_steps: int = 0,
    ) -> None:
        self.folder = Path(folder).absolute()
        self.reward = reward
        self.name = name
        self.framework = framework
        self._judge_fingerprint = judge_fingerprint
        self._late_steps = late_steps
        self._session: _Session | None = None
        self._last_ms = 0
        self._error: OSError | None = None
        self._pid = os.getpid()
        open_folder(self.folder)
        self._document = self._open_document()
        self._layout = read_layout(self._document)
        _watches.add(self)

    def add(
        self, scores: LiveScores, turns: Sequence[Turn], *, step: int | None = None
    ) -> tuple[str, ...]:
        """Record the rewards of a call.

        Parameters
        ----------
        scores : LiveScores
            Of the turns.
        turns : sequence of Turn
            In the order of the scores.
        step : int, optional
            Of the trainer; without one, 256 completions are a step. Calls with the same step add
            up.

        Returns
        -------
        tuple of str
            Alarms that began now, in words.

        Raises
        ------
        OSError
            If writing failed, now or since the last call; these completions are lost.
        """
        if not turns:
            return ()
        with fork_lock:
            session, at, began = self._enter_step(step, n=len(turns))
            self._describe_judge(scores)
            call = Call.of(scores, turns, step=at, first=session.n_rows)
            session.calls.append(call)
            if at == session.step:
                session.step_calls.append(call)
            session.n_rows += len(turns)
            session.n_waiting += len(turns)
            self._write_if_due(session)
            error, self._error = self._error, None
            if error is not None:
                raise error
        return tuple(f"step {alarm.step}: {alarm.text}" for alarm in began)

    def close(self) -> None:
        """Write the rows that wait; an `OSError` where writing fails."""
        with fork_lock:
            self._end_session()
            error, self._error = self._error, None
        if error is not None:
            raise error

    # Steps ------------------------------------------------------------------------------------

    def _enter_step(self, step: int | None, *, n: int) -> tuple[_Session, int, tuple[Alarm, ...]]:
        """Find the step of a call; return the session, the step, and alarms that began."""
        if self._pid != os.getpid():  # forked: the parent process writes the rows that wait
            self._pid, self._session = os.getpid(), None
        now = self._session
        began: tuple[Alarm, ...] = ()
        if now is None:
            now = self._begin_session(step)
        elif step is None:
            if now.is_counted and now.n_in_step >= COUNTED_STEP:
                began = self._end_step(now, now.step + 1)
        elif step < now.step - self._late_steps:  # the trainer went back to a checkpoint
            self._end_session()
            now = self._begin_session(step)
        elif step < now.step:
            return now, step, ()  # its alarms were checked already
        elif step > now.step:
            began = self._end_step(now, int(step))
        now.n_in_step += n
        return now, now.step, began

    def _begin_session(self, step: int | None) -> _Session:
        name = name_session(is_counted=step is None, after_ms=self._last_ms)
        self._last_ms = int(name.split("-")[1])
        self._session = _Session(
            name=name, is_counted=step is None, step=0 if step is None else int(step)
        )
        _write_at_exit(os.getpid())
        return self._session

    def _end_step(self, session: _Session, next_step: int) -> tuple[Alarm, ...]:
        """Check the step that ended for alarms."""
        rows = make_rows(session.step_calls, self._layout)
        if session.monitor is None:
            session.by_tokens = has_all_tokens(rows)
            session.monitor = AlarmMonitor()
        [step] = compute_steps(rows, self._layout, by_tokens=session.by_tokens)
        alarms = session.monitor.check(step)
        session.step, session.n_in_step, session.step_calls = next_step, 0, []
        return alarms if session.name.startswith(("p", "r0of")) else ()

    # Parts ------------------------------------------------------------------------------------

    def _write_if_due(self, session: _Session) -> None:
        left_s = session.written_at + _PART_S - time.monotonic()
        if left_s <= 0 or session.n_waiting >= _PART_ROWS:
            self._write(session)
        elif session.timer is None:
            session.timer = threading.Timer(left_s, self._write_late, [session])
            session.timer.daemon = True
            session.timer.start()

    def _write_late(self, session: _Session) -> None:
        with fork_lock:
            if session is self._session:
                session.timer = None
                self._write(session)

    def _write(self, session: _Session) -> None:
        """Write the rows that wait as parts; where this fails, the next call raises the error."""
        calls, session.calls, session.n_waiting = session.calls, [], 0
        session.written_at = time.monotonic()
        if session.timer is not None:
            session.timer.cancel()
            session.timer = None
        if not calls:
            return
        rows = make_rows(calls, self._layout, session=session.name)
        try:
            for first in range(0, len(rows["item"]), _PART_ROWS):
                part = {name: each[first : first + _PART_ROWS] for name, each in rows.items()}
                write_part(self.folder, session.name, session.n_parts, part)
                session.n_parts += 1
        except OSError as error:
            self._error = error

    def _end_session(self) -> None:
        session, self._session = self._session, None
        if session is not None and self._pid == os.getpid():
            self._write(session)

    # Files ------------------------------------------------------------------------------------

    def _open_document(self) -> dict[str, Any]:
        """Read `run.json`, written where it is missing; refuse the run of another reward."""
        new = make_run_document(
            self.reward,
            name=self.name,
            framework=self.framework,
            judge_fingerprint=self._judge_fingerprint,
        )
        if not (self.folder / RUN_FILE).exists():
            try:
                write_document(self.folder, new)
            except OSError as error:
                msg = (
                    f"`record` must be a folder that can be written to, got {str(self.folder)!r} "
                    f"({error.strerror}). Name another."
                )
                raise InputError(msg) from error
        document = read_document(self.folder)
        was = document.get("reward")
        hash_was = was.get("content_hash") if isinstance(was, dict) else None
        if hash_was != self.reward.content_hash:
            called = was.get("name") if isinstance(was, dict) else None
            what = f"a run of the reward {shorten(called)!r} with other content"
        elif document.get("name") != self.name:
            what = f"a run under the name {shorten(document.get('name'))!r}"
        else:
            return document
        msg = (
            f"`record` must be a folder of its own, or that of this reward "
            f"({shorten(self.name)!r}), got {str(self.folder)!r}, which holds {what}. Name another."
        )
        raise InputError(msg)

    def _describe_judge(self, scores: LiveScores) -> None:
        """Correct the judge in `run.json`, once it is known."""
        judged, recorded = scores.judged, self._document["judge"]
        is_centered = bool(scores.scores.centers)
        last = (recorded["name"], recorded["fingerprint"], self._document["is_centered"])
        if not scores.scores.features or last == (judged.judge, judged.fingerprint, is_centered):
            return
        recorded.update(
            name=judged.judge,
            fingerprint=judged.fingerprint,
            judge_fingerprint=self._judge_fingerprint,
            threshold=judged.threshold,
        )
        self._document["is_centered"] = is_centered
        write_document(self.folder, self._document)


_watches: WeakSet[TrainingWatch] = WeakSet()


@cache
def _write_at_exit(pid: int) -> None:  # noqa: ARG001  # once in each process
    """Write the rows that wait when Python ends, also in a process of `multiprocessing`."""
    Finalize(None, _write_all, exitpriority=1)


def _write_all() -> None:
    for watch in list(_watches):
        try:
            watch.close()
        except OSError as error:
            message = "%s: the last completions are not recorded: %s"
            _log.error(message, watch.name, error.strerror)
