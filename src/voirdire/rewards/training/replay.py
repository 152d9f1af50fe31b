"""A finished run's completions under other weights or another rubric."""

from __future__ import annotations

import math
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.judging.plan import asks_a_model
from voirdire.judging.runs.outputs import STORE_NAME
from voirdire.rewards.model_file import load_reward
from voirdire.rewards.reward_judge import asked_judge
from voirdire.rewards.scoring.base_rewards import NO_BASE
from voirdire.rewards.scoring.combining import Combiner
from voirdire.rewards.scoring.outputs import SCORE_COLUMNS, RewardWriter, checked_rewards_output
from voirdire.rewards.scoring.scoring import judging_plan
from voirdire.rewards.training.completions_reading import CompletionReader
from voirdire.rewards.training.lines import json_line
from voirdire.rewards.training.replay_result import Replay, ReplayEstimate, ReplayTally
from voirdire.rewards.training.replay_verdicts import Fit, ReplayVerdicts, fit_of
from voirdire.rewards.training.run import TrainingRun
from voirdire.rewards.training.run_files import is_part_of_run
from voirdire.rewards.training.run_reading import read_training_run

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.judging.plan import JudgingPlan
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.scoring.scores import Scores
    from voirdire.rewards.training.completions_reading import Completion

__all__ = ["estimate_replay", "replay"]


def replay(
    run: TrainingRun | str | Path,
    reward: RewardModel | str | Path,
    *,
    judge: JudgeLike | None = None,
    other_judge: bool = False,
    store: str | Path | None = None,
    output: str | Path | None = None,
    retry_failures: bool = False,
    progress: Callable[[int], None] | None = None,
    stopping: threading.Event | None = None,
) -> Replay:
    """Give the completions of a training run the rewards that another reward would have given.

    Parameters
    ----------
    run : TrainingRun, str or path
        The run, or its folder.
    reward : RewardModel, str or path
        The other reward, or its file.
    judge : Judge, LlmJudge, CascadeJudge, JuryJudge, str or path, optional
        Who judges where the run has no verdict that fits; ``"own"`` is the reward's own judge. By
        default nobody is asked, and such a completion has no reward, and a reason.
    other_judge : bool, optional
        Take verdicts of another judge than the reward was fitted on.
    store : str or path, optional
        Where a language model's replies are kept; by default ``voirdire-replies.sqlite`` in the
        folder of the run.
    output : str or path, optional
        A file of rewards as `score_file` writes it, ``.parquet``, ``.jsonl`` or ``.csv``.
    retry_failures : bool, optional
        Call a language model again where it failed in an earlier run.
    progress : callable, optional
        Called now and then with the number of completions so far.
    stopping : threading.Event, optional
        Set it from another thread to end the calls to a language model as Ctrl-C does.

    Returns
    -------
    Replay
        Both rewards side by side: by step, by behavior, and in their order within groups.

    Raises
    ------
    InputError
        If the run holds no completions, the judge is another one than the reward's, or an
        argument breaks its rule.

    Notes
    -----
    *Which verdicts fit*: those of the same judge, rubric and settings. Where classes or weights
    changed but no question did, all of them; where the rubric is another one, those of a judge in
    process proposition by proposition, and those of a language model as far as it was asked the
    same questions. Base rewards and behaviors are the run's; where its rewards were centred,
    those of the replay are too, if the other reward knows its means.

    *Order*: rewards follow the files of the run. *Errors*: what a judge does is a missing reward;
    a damaged line is left out and listed. *Cancellation*: nothing is written under the name of
    the output; replies that came are in the store. *Memory*: a few thousand completions, and some
    50 bytes for each. *Retries and caching*: the judge's limits and the store; equal completions
    are judged once.
    """
    found = _Prepared(run, reward, judge=judge, other_judge=other_judge)
    verdicts = found.verdicts(store, retry_failures=retry_failures, stopping=stopping)
    tally = ReplayTally()
    n = 0
    with ExitStack() as stack:
        writer = None if output is None else _writer(output, found.run, stack)
        for rows in found.reader.batches():
            scores = found.scores(rows, verdicts)
            tally.add(rows, scores)
            if writer is not None:
                writer.add(_frame(scores))
            n += len(rows)
            if progress is not None:
                progress(n)
        if writer is not None:
            writer.publish()
    whole, steps, behaviors = tally.parts()
    return Replay(
        run=str(found.run.folder),
        reward_before=found.run.reward_name,
        hash_before=found.run.reward_hash,
        reward=found.reward.name,
        reward_hash=found.reward.content_hash,
        judge=found.run.judge if found.plan is None else found.plan.judge.name,
        n=n,
        n_before=whole.n_before,
        n_after=whole.n_after,
        n_reused=verdicts.n_reused,
        n_judged=verdicts.n_judged,
        missing=tally.missing,
        whole=whole,
        steps=steps,
        behaviors=behaviors,
        output=None if output is None else str(output),
        notes=found.notes,
        dropped=tuple(found.reader.dropped),
    )


def estimate_replay(
    run: TrainingRun | str | Path,
    reward: RewardModel | str | Path,
    *,
    judge: JudgeLike | None = None,
    other_judge: bool = False,
    store: str | Path | None = None,
    retry_failures: bool = False,
) -> ReplayEstimate:
    """Work out what `replay` would judge and call; nothing is called.

    Parameters
    ----------
    run, reward, judge, other_judge, store, retry_failures : optional
        As for `replay`.

    Returns
    -------
    ReplayEstimate
        Completions, calls, price.

    Raises
    ------
    InputError
        As `replay` does.
    """
    found = _Prepared(run, reward, judge=judge, other_judge=other_judge)
    verdicts = found.verdicts(store, retry_failures=retry_failures, stopping=None)
    n = n_unjudged = 0
    seen: set[bytes] = set()
    with tempfile.TemporaryDirectory() as folder:  # for its owner only
        path = Path(folder) / "items.jsonl"
        with path.open("wb") as file:
            for rows in found.reader.batches():
                n += len(rows)
                _, lacking = verdicts.known(rows)
                if found.plan is None:
                    n_unjudged += len(lacking)
                    continue
                for place, item in verdicts.items(rows, lacking).items():
                    key = item.content_hash()
                    if key not in seen:
                        seen.add(key)
                        file.write(_line(rows[place], number=len(seen)))
        calls = found.calls(path, store=store, retry_failures=retry_failures) if seen else {}
    return ReplayEstimate(
        n=n,
        n_reused=verdicts.n_reused,
        n_to_judge=len(seen),
        n_unjudged=n_unjudged,
        notes=found.notes,
        **calls,
    )


class _Prepared:
    """A run and a reward that suit each other, and who judges."""

    def __init__(
        self,
        run: TrainingRun | str | Path,
        reward: RewardModel | str | Path,
        *,
        judge: Any,
        other_judge: bool,
    ) -> None:
        self.run = run if isinstance(run, TrainingRun) else read_training_run(run)
        self.reward = load_reward(reward) if isinstance(reward, str | Path) else reward
        self.reader = CompletionReader(self.run)
        self.plan: JudgingPlan | None = None
        notes: tuple[str, ...] = ()
        if judge is not None:
            self._asked: Any = asked_judge(self.reward.judge, judge)
            self.plan, notes = judging_plan(self.reward, judge, other_judge=other_judge)
        self._fit: Fit = fit_of(self.run, self.reward, plan=self.plan, other_judge=other_judge)
        center, told = _centering(self.run, self.reward)
        self._combiner = Combiner(self.reward, center=center)
        self.notes = (*notes, *self._fit.notes, *told)

    def verdicts(
        self, store: str | Path | None, *, retry_failures: bool, stopping: threading.Event | None
    ) -> ReplayVerdicts:
        """Make ready to give verdicts."""
        is_model = self.plan is not None and asks_a_model(self.plan.judge)
        return ReplayVerdicts(
            self.run,
            self.reward,
            fit=self._fit,
            plan=self.plan,
            store=self._store(store) if is_model else None,
            retry_failures=retry_failures,
            stopping=stopping,
        )

    def scores(self, rows: Sequence[Completion], verdicts: ReplayVerdicts) -> Scores:
        """Score completions."""
        base = [math.nan if row.base_reward is None else row.base_reward for row in rows]
        return self._combiner.scores(
            verdicts.of(rows),
            behaviors=[row.behavior for row in rows],
            base=np.array(base, dtype=np.float64),
            base_reasons={row.id: NO_BASE for row in rows if row.base_reward is None},
        )

    def calls(
        self, items: Path, *, store: str | Path | None, retry_failures: bool
    ) -> dict[str, Any]:
        """Estimate the calls about items of a file."""
        if self.plan is None or not asks_a_model(self.plan.judge):
            return {}
        from voirdire.judging.runs.estimate import estimate_run

        found = estimate_run(
            items,
            judge=self._asked,
            rubric=self.reward.rubric,
            judged=self.reward.judge.judged,
            store=self._store(store),
            retry_failures=retry_failures,
        )
        return {"n_calls": found.n_calls, "n_stored": found.n_stored, "cost": found.cost}

    def _store(self, store: str | Path | None) -> str | Path:
        return self.run.folder / STORE_NAME if store is None else store


def _centering(run: TrainingRun, reward: RewardModel) -> tuple[bool, tuple[str, ...]]:
    if not run.is_centered:
        return False, ()
    if all(math.isfinite(row.mean) for row in reward.behaviors.values()):
        return True, ()
    note = "the run's rewards were centred; these are not, since nobody knows the reward's means"
    return False, (note,)


def _writer(output: str | Path, run: TrainingRun, stack: ExitStack) -> RewardWriter:
    target, written_as = checked_rewards_output(Path(output), source=run.folder)
    if is_part_of_run(target, run.folder):
        msg = (
            f"`output` must be no file of the run itself, got {shorten(str(output), width=160)!r}. "
            "Give it another name."
        )
        raise InputError(msg)
    return stack.enter_context(RewardWriter(target, written_as=written_as, columns=SCORE_COLUMNS))


def _frame(scores: Scores) -> pl.DataFrame:
    """Lay rewards out as `score_file` does."""
    numbers = {
        "reward": scores.rewards,
        "base_reward": scores.base_rewards,
        "rule_reward": scores.rule_rewards,
    }
    return pl.DataFrame(
        {
            "item": pl.Series(scores.items, dtype=pl.String),
            "behavior": pl.Series(scores.behaviors, dtype=pl.String),
            **{name: pl.Series(values).fill_nan(None) for name, values in numbers.items()},
            "missing": pl.Series(
                [scores.missing.get(name) for name in scores.items], dtype=pl.String
            ),
        }
    )


def _line(row: Completion, *, number: int) -> bytes:
    return json_line(
        {
            "id": str(number),
            "prompt": row.prompt,
            "response": row.response,
            "behavior": row.behavior,
        }
    )
