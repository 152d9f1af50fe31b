"""Watches a training run: figures step by step, alarms, and the completions behind them."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.rewards.reward_document import is_hash_of
from voirdire.rewards.training.alarms import AlarmBell
from voirdire.rewards.training.completion_rows import completion_rows
from voirdire.rewards.training.lines import AppendedLines, without_nan
from voirdire.rewards.training.run_files import (
    COMPLETIONS,
    REFERENCE_FILE,
    RUN_FILE,
    STEPS,
    open_folder,
    read_document,
    run_document,
    write_document,
)
from voirdire.rewards.training.run_reading import (
    comparable_steps,
    next_counted_step,
    read_training_run,
)
from voirdire.rewards.training.sessions import new_session
from voirdire.rewards.training.step_metrics import class_names, step_metrics, used_propositions
from voirdire.rewards.training.step_sums import StepSums, sums_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.live.live_scores import LiveScores
    from voirdire.rewards.live.turns import Turn
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.training.run import Alarm, TrainingRun
    from voirdire.rewards.training.sessions import Session

__all__ = ["COUNTED_STEP", "TrainingWatch"]

COUNTED_STEP = 256
"""Completions that make a step where the trainer does not say which step it is at."""


@dataclass(kw_only=True, slots=True)
class _Open:
    """What this process writes just now."""

    session: Session
    steps: AppendedLines
    completions: AppendedLines
    is_told: bool
    step: int
    sums: StepSums = field(default_factory=StepSums)
    n_completions: int = 0
    bell: AlarmBell | None = None
    by_tokens: bool = False


class TrainingWatch:
    """Writes down what a reward saw of a training run.

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
    reference : str or path, optional
        The folder of an earlier run, which alarms compare with.
    completions : bool, optional
        Whether completions are written down, with their texts; without them a run can be neither
        replayed nor sampled from.
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
    Several processes may watch one run: each writes files of its own, which are added up where
    the run is read. A process writes whole lines, at once; killed, it leaves at most one that is
    cut off. Everything is readable by its owner only.

    Alarms are heard where a step ends, that is with the first completions of the next one; of
    several ranks, only the first one tells of them, from its own completions.
    `read_training_run` works them out over all.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        reward: RewardModel,
        name: str,
        framework: str,
        reference: str | Path | None = None,
        completions: bool = True,
        judge_fingerprint: str = "",
        late_steps: int = 0,
    ) -> None:
        self.folder = Path(folder).absolute()
        self.reward = reward
        self.name = name
        self.framework = framework
        self._lock = threading.Lock()
        self._classes = class_names(reward)
        self._has_completions = completions
        self._judge_fingerprint = judge_fingerprint
        self._late_steps = late_steps
        self._open: _Open | None = None
        open_folder(self.folder)
        self._document = self._opened_document()
        self._reference = None if reference is None else self._read_reference(Path(reference))

    def add(
        self, scores: LiveScores, turns: Sequence[Turn], *, step: int | None = None
    ) -> tuple[str, ...]:
        """Take a request's rewards.

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
            If the disk refuses what is written.
        """
        if not turns:
            return ()
        with self._lock:
            sums = sums_of(self.reward, scores, turns)
            now, at, began = self._counted(sums, step)
            self._say_judge(scores)
            if self._has_completions:
                rows = completion_rows(
                    scores, turns, session=now.session.id, first=now.n_completions, step=at
                )
                now.n_completions += len(rows)
                now.completions.write(rows)
            line = {
                "step": at,
                "time": time.time(),
                "n": len(turns),
                "metrics": without_nan(step_metrics(self.reward, scores, turns)),
                "sums": sums.told(),
                "alarms": [without_nan(asdict(alarm)) for alarm in began],
            }
            now.steps.write([line])
        return tuple(f"step {alarm.step}: {alarm.text}" for alarm in began)

    def close(self) -> None:
        """Let go of the files; everything is written already."""
        with self._lock:
            self._let_go()

    def _counted(self, sums: StepSums, step: int | None) -> tuple[_Open, int, tuple[Alarm, ...]]:
        """Count a call in its step; give who writes, the step, and the alarms that began."""
        now = self._open
        if (
            now is not None
            and step is not None
            and now.session.pid == os.getpid()
            and now.step - self._late_steps <= step < now.step
        ):
            return now, step, ()  # its step was heard already
        now, began = self._at_step(step)
        now.sums.add(sums)
        return now, now.step, began

    def _at_step(self, step: int | None) -> tuple[_Open, tuple[Alarm, ...]]:
        """Settle which step it is; give the alarms of the one that ended."""
        now = self._open
        if now is None or now.session.pid != os.getpid():  # the first call, or a forked process's
            return self._begun(step), ()
        if step is None:
            is_over = not now.is_told and now.sums.n >= COUNTED_STEP
            step = now.step + is_over
        elif step < now.step:  # the trainer went back to a checkpoint
            return self._begun(step), ()
        if step == now.step:
            return now, ()
        alarms = self._heard(now)
        now.step, now.sums = int(step), StepSums()
        return now, alarms

    def _begun(self, step: int | None) -> _Open:
        """Begin a session."""
        self._let_go()
        session = new_session()
        now = _Open(
            session=session,
            steps=AppendedLines(self.folder / f"{STEPS}-{session.id}.jsonl"),
            completions=AppendedLines(self.folder / f"{COMPLETIONS}-{session.id}.jsonl"),
            is_told=step is not None,
            step=next_counted_step(self.folder) if step is None else int(step),
        )
        now.steps.write([session.told()])
        self._open = now
        return now

    def _let_go(self) -> None:
        now, self._open = self._open, None
        if now is not None:
            now.steps.close()
            now.completions.close()

    def _heard(self, now: _Open) -> tuple[Alarm, ...]:
        """Let the bell hear the step that ended."""
        if now.bell is None:
            now.by_tokens = now.sums.has_tokens
            now.bell = AlarmBell(
                paying=used_propositions(self.reward),
                reference=comparable_steps(self._reference, by_tokens=now.by_tokens),
            )
        step = now.sums.step(
            now.step,
            propositions=tuple(now.sums.propositions),
            classes=self._classes,
            by_tokens=now.by_tokens,
        )
        alarms = now.bell.hear(step)
        return alarms if now.session.rank in (None, 0) else ()

    def _opened_document(self) -> dict[str, Any]:
        new = run_document(
            self.reward,
            name=self.name,
            framework=self.framework,
            judge_fingerprint=self._judge_fingerprint,
            has_completions=self._has_completions,
        )
        if not (self.folder / RUN_FILE).exists():
            self._write(RUN_FILE, new)
            return new
        found = read_document(self.folder)
        self._check_same(found)
        now = {
            "reward": found["reward"] | {"content_hash": new["reward"]["content_hash"]},
            "certificates": found.get("certificates", new["certificates"]),
        }
        if any(found.get(key) != value for key, value in now.items()):  # of an earlier version
            found |= now
            self._write(RUN_FILE, found)
        return found

    def _check_same(self, found: dict[str, Any]) -> None:
        """Refuse to go on with a run of another reward."""
        was = found.get("reward")
        hash_was = was.get("content_hash") if isinstance(was, dict) else None
        if not is_hash_of(hash_was, self.reward):
            called = was.get("name") if isinstance(was, dict) else None
            what = f"a run of the reward {shorten(called)!r} with other content"
        elif found.get("name") != self.name:
            what = f"a run under the name {shorten(found.get('name'))!r}"
        else:
            return
        msg = (
            f"`record` must be a folder of its own, or that of this reward "
            f"({shorten(self.name)!r}), got {str(self.folder)!r}, which holds {what}. Name another."
        )
        raise InputError(msg)

    def _read_reference(self, folder: Path) -> TrainingRun:
        if folder.absolute().resolve() == self.folder.resolve():
            msg = f"`reference` must be another run than `record`, got {str(folder)!r} for both."
            raise InputError(msg)
        try:
            run = read_training_run(folder)
        except InputError as error:
            raise InputError(str(error).replace("`run`", "`reference`", 1)) from error
        if not run.steps:
            msg = f"`reference` must be a run with steps, got {str(folder)!r}, which has none."
            raise InputError(msg)
        about = {
            "name": run.name,
            "reward_name": run.reward_name,
            "reward_hash": run.reward_hash,
            "length_unit": run.length_unit,
        }
        steps = [without_nan(asdict(replace(step, alarms=()))) for step in run.steps]
        self._write(REFERENCE_FILE, {**about, "steps": steps})
        if self._document.get("reference") != about:
            self._document["reference"] = about
            self._write(RUN_FILE, self._document)
        return run

    def _say_judge(self, scores: LiveScores) -> None:
        """Correct in `run.json` who judges, once it is known."""
        judged, said = scores.judged, self._document["judge"]
        is_centered = bool(scores.scores.centers)
        known = (said["name"], said["fingerprint"], self._document["is_centered"])
        if not scores.scores.features or known == (judged.judge, judged.fingerprint, is_centered):
            return
        said.update(
            name=judged.judge,
            fingerprint=judged.fingerprint,
            judge_fingerprint=self._judge_fingerprint,
            threshold=judged.threshold,
        )
        self._document["is_centered"] = is_centered
        write_document(self.folder, RUN_FILE, self._document)

    def _write(self, name: str, content: Any) -> None:
        try:
            write_document(self.folder, name, content)
        except OSError as error:
            msg = (
                f"`record` must be a folder that can be written to, got {str(self.folder)!r} "
                f"({error.strerror}). Name another."
            )
            raise InputError(msg) from error
