"""Watch a training run: record its completions, and report which alarms began."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from dataclasses import dataclass, field, replace
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from voirdire.documents import write_whole
from voirdire.judging.background_loop import fork_lock
from voirdire.rewards.training.alarms import AlarmMonitor
from voirdire.rewards.training.completion_rows import (
    WHOLE,
    Call,
    Columns,
    RowLayout,
    join_columns,
    make_columns,
)
from voirdire.rewards.training.parquet_part import encode_parquet
from voirdire.rewards.training.run_files import (
    PARTS,
    describe_run,
    name_session,
    open_folder,
    read_states,
    write_about,
)
from voirdire.rewards.training.step_figures import code_texts, has_all_tokens, measure_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.live.turns import LiveScores, Turn
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.training.run import Alarm

_log = logging.getLogger("voirdire")

COUNTED_STEP = 256
"""Completions that make a step where the trainer names none."""

_PART_S = 5.0
"""Seconds between parts; a process that is killed loses at most these."""

_PART_ROWS = 5_000


@dataclass(kw_only=True, slots=True)
class _Session:
    """The session of this process: calls, and rows that wait for a file or the end of a step."""

    name: str
    is_counted: bool
    step: int
    n_in_step: int = 0
    n_rows: int = 0
    n_parts: int = 0
    calls: list[Call] = field(default_factory=list)
    unwritten: list[Columns] = field(default_factory=list)
    unchecked: list[Columns] = field(default_factory=list)
    n_waiting: int = 0
    written_at: float = -math.inf
    timer: threading.Timer | None = None
    monitor: AlarmMonitor = field(default_factory=AlarmMonitor)
    by_tokens: bool | None = None


class TrainingWatch:
    """Records the completions of a training run and their rewards.

    Parameters
    ----------
    folder : str, path or None
        The run's folder; made where it is missing, gone on with where it is this reward's. None
        watches for alarms, and records nothing.
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
    most 5 seconds, or until there are 5,000, and are then written as a file that is
    whole; what waits is written by `flush`, by `close` and where Python ends, and a process that is
    killed loses it. Everything is readable by its owner only. Threads may share a watch, and a
    process that is forked off begins a session of its own.

    Alarms are checked where a step ends, that is with the first completions of the next one. Of
    several ranks only the first one reports them, from its own completions; `read_training_run`
    finds them over all completions.
    """

    def __init__(
        self,
        folder: str | Path | None,
        *,
        reward: RewardModel,
        name: str,
        framework: str,
        judge_fingerprint: str = "",
        late_steps: int = 0,
    ) -> None:
        self.folder = None if folder is None else Path(folder).absolute()
        self.reward = reward
        self._late_steps = late_steps
        self._session: _Session | None = None
        self._last_ms = 0
        self._error: OSError | None = None
        self._pid = os.getpid()
        self._about = describe_run(
            reward, name=name, framework=framework, judge_fingerprint=judge_fingerprint
        )
        if self.folder is not None:
            self._about = open_folder(self.folder, self._about)
            _watches.add(self)
        self._layout = RowLayout(propositions=self._about.propositions, classes=self._about.classes)

    def add(
        self, scores: LiveScores, turns: Sequence[Turn], *, step: int | None = None
    ) -> tuple[Alarm, ...]:
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
        tuple of Alarm
            Those that began now.

        Raises
        ------
        OSError
            If writing failed, now or since the last call; these completions are lost.
        """
        if not turns:
            return ()
        with fork_lock:
            session, at, began = self._enter_step(step, n=len(turns))
            session.calls.append(Call.of(scores, turns, step=at, first=session.n_rows))
            session.n_rows += len(turns)
            if self.folder is not None:
                self._describe_judge(scores)
                session.n_waiting += len(turns)
                self._write_if_due(session)
            error, self._error = self._error, None
            if error is not None:
                raise error
        return began

    def flush(self) -> None:
        """Write the rows that wait, as at a checkpoint; an `OSError` where writing fails."""
        with fork_lock:
            if self._session is not None and self._pid == os.getpid():
                self._write(self._session)
            error, self._error = self._error, None
        if error is not None:
            raise error

    def close(self) -> None:
        """Write the rows that wait, and end; an `OSError` where writing fails."""
        self.flush()
        self._session = None

    # Steps ------------------------------------------------------------------------------------

    def _enter_step(self, step: int | None, *, n: int) -> tuple[_Session, int, tuple[Alarm, ...]]:
        """Find the step of a call; return the session, the step, and alarms that began."""
        if self._pid != os.getpid():  # forked: the parent process writes the rows that wait
            self._pid, self._session = os.getpid(), None
        now = self._session
        began: tuple[Alarm, ...] = ()
        if now is not None and step is not None and step < now.step - self._late_steps:
            self._write(now)  # the trainer went back to a checkpoint
            now = None
        if now is None:
            name = name_session(is_counted=step is None, after_ms=self._last_ms)
            self._last_ms = int(name.split("-")[1])
            now = _Session(name=name, is_counted=step is None, step=int(step or 0))
            self._session = now
            _write_at_exit(os.getpid())
        elif step is None:
            if now.is_counted and now.n_in_step >= COUNTED_STEP:
                began = self._end_step(now, now.step + 1)
        elif step < now.step:
            return now, step, ()  # its alarms were checked already
        elif step > now.step:
            began = self._end_step(now, int(step))
        now.n_in_step += n
        return now, now.step, began

    def _end_step(self, session: _Session, next_step: int) -> tuple[Alarm, ...]:
        """Check the step that ended for alarms."""
        self._make_rows(session)
        columns: Columns = code_texts(join_columns(session.unchecked), self._layout)
        if session.by_tokens is None:
            session.by_tokens = has_all_tokens(columns)
        step = measure_step(session.step, columns, self._layout, by_tokens=session.by_tokens)
        alarms = session.monitor.check(step)
        session.step, session.n_in_step, session.unchecked = next_step, 0, []
        return alarms if session.name.startswith(("p", "r0of")) else ()

    # Parts ------------------------------------------------------------------------------------

    def _make_rows(self, session: _Session) -> None:
        """Make the rows of calls: once, for the file and for the alarms."""
        if session.calls:
            calls, session.calls = session.calls, []
            columns = make_columns(calls, self._layout, session=session.name)
            session.unchecked.append(columns)
            if self.folder is not None:
                session.unwritten.append(columns)

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
        """Write the rows that wait as a part; where this fails, the next call raises the error."""
        self._make_rows(session)
        rows, session.unwritten, session.n_waiting = session.unwritten, [], 0
        session.written_at = time.monotonic()
        if session.timer is not None:
            session.timer.cancel()
            session.timer = None
        if not rows or self.folder is None:
            return
        columns = join_columns(rows)
        first, last = min(columns["step"]), max(columns["step"])
        about = f"{session.n_parts:06d}-{first}-{last}-{int(time.time() * 1_000)}"
        path = self.folder / PARTS / f"{session.name}-{about}.parquet"
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            write_whole(path, encode_parquet(columns, whole=WHOLE), mode=0o600)
            session.n_parts += 1
        except OSError as error:
            self._error = error

    def _describe_judge(self, scores: LiveScores) -> None:
        """Correct the judge in `run.json`, once it is known."""
        judged, was = scores.judged, self._about
        is_centered = bool(scores.scores.centers)
        is_same = (was.judge, was.fingerprint, was.is_centered) == (
            judged.judge, judged.fingerprint, is_centered,
        )  # fmt: skip
        if self.folder is None or not scores.scores.features or is_same:
            return
        self._about = replace(
            was,
            judge=judged.judge,
            fingerprint=judged.fingerprint,
            threshold=judged.threshold,
            is_centered=is_centered,
            certificates=read_states(self.reward, fingerprint=judged.fingerprint),
        )
        write_about(self.folder, self._about)


_watches: WeakSet[TrainingWatch] = WeakSet()


@cache
def _write_at_exit(pid: int) -> None:  # noqa: ARG001  # once in each process
    """Write the rows that wait when Python ends, also in a process of `multiprocessing`."""
    Finalize(None, _write_all, exitpriority=1)


def _write_all() -> None:
    for watch in list(_watches):
        try:
            watch.flush()
        except OSError as error:
            message = "%s: the last completions are not recorded: %s"
            _log.error(message, watch.folder, error.strerror)
