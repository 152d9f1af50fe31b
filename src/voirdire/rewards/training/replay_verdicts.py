"""Which verdicts of a training run fit another reward, and what is judged anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire.errors import InputError
from voirdire.judging.answering import judge_by_plan
from voirdire.judging.fingerprint import hash_of
from voirdire.judging.plan import asks_a_model
from voirdire.records import Verdicts
from voirdire.records.verdicts import NO_VERDICT
from voirdire.rewards.training.run_files import question_hashes
from voirdire.rewards.training.step_metrics import asked_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.training.completions_reading import Completion
    from voirdire.rewards.training.run import TrainingRun

__all__ = ["Fit", "ReplayVerdicts", "fit_of"]

_MOST_REMEMBERED = 50_000
_PREFIX = "failed verdict: "


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Which verdicts of a run are taken.

    Attributes
    ----------
    propositions : frozenset of str
        Those whose verdicts are taken.
    notes : tuple of str
        What the reader should know.
    """

    propositions: frozenset[str]
    notes: tuple[str, ...] = ()


def fit_of(
    run: TrainingRun, reward: RewardModel, *, plan: JudgingPlan | None, other_judge: bool
) -> Fit:
    """Settle which verdicts of a run are those that a reward would get.

    Parameters
    ----------
    run : TrainingRun
        Whose verdicts.
    reward : RewardModel
        What would pay.
    plan : JudgingPlan or None
        Who would judge what is not there; None where nobody is asked.
    other_judge : bool
        Whether the reward takes verdicts of another judge than it was fitted on.

    Returns
    -------
    Fit
        All propositions where the verdicts are of the same judge, rubric and settings. Where the
        rubric is another one but the judge the same, a judge in process is taken proposition by
        proposition, and a language model where it was asked the same questions, since all of them
        stand in one prompt.
    """
    common = frozenset(run.propositions) & frozenset(reward.rubric.propositions)
    hashes = question_hashes(reward.rubric)
    same = frozenset(name for name in common if run.question_hashes.get(name) == hashes[name])
    if run.judged != reward.judge.judged:
        note = (
            f"the run's verdicts are on another part of responses ({run.judged}) than the "
            f"reward's ({reward.judge.judged}), and not taken"
        )
        return Fit(propositions=frozenset(), notes=(note,))
    if plan is not None:
        return _fit_of_plan(run, plan, common=common, same=same)
    own = reward.judge.fingerprint
    if not own or own == run.fingerprint:
        return _told_of_changed(same, common)
    if run.judge_fingerprint and own == _fingerprint(run.judge_fingerprint, reward):
        return Fit(propositions=common)
    if other_judge:
        note = "the run's verdicts are of another judge than the reward was fitted on"
        return Fit(propositions=same, notes=(note,))
    note = (
        "the reward was fitted on another judge than the run's, whose verdicts are not taken; "
        "name a judge, or take them with `other_judge=True`"
    )
    return Fit(propositions=frozenset(), notes=(note,))


def _fit_of_plan(
    run: TrainingRun, plan: JudgingPlan, *, common: frozenset[str], same: frozenset[str]
) -> Fit:
    judge = plan.judge.fingerprint
    in_run = hash_of(
        {
            "judge": judge,
            "rubric": run.rubric_hash,
            "threshold": run.threshold,
            "judged": run.judged,
            "class_rule": run.class_rule,
        }
    )
    if plan.fingerprint == run.fingerprint or in_run == run.fingerprint:
        return Fit(propositions=same if asks_a_model(plan.judge) else common)
    if judge == run.judge_fingerprint:
        return Fit(propositions=same)
    note = "the run's verdicts are of another judge, or on other questions: all are judged anew"
    return Fit(propositions=frozenset(), notes=(note,))


def _fingerprint(judge: str, reward: RewardModel) -> str:
    """Give the fingerprint that verdicts of a judge would have under the reward's rubric."""
    return hash_of(
        {
            "judge": judge,
            "rubric": reward.rubric.content_hash,
            "threshold": reward.judge.threshold,
            "judged": reward.judge.judged,
            "class_rule": reward.rubric.class_rule,
        }
    )


def _told_of_changed(same: frozenset[str], common: frozenset[str]) -> Fit:
    changed = sorted(common - same)
    if not changed:
        return Fit(propositions=same)
    note = f"asked with other words than in the run, and not taken from it: {', '.join(changed)}"
    return Fit(propositions=same, notes=(note,))


class ReplayVerdicts:
    """Gives completions their verdicts under another reward: the run's own, or new ones."""

    def __init__(
        self,
        run: TrainingRun,
        reward: RewardModel,
        *,
        fit: Fit,
        plan: JudgingPlan | None,
        store: str | Path | None,
        retry_failures: bool,
        stopping: threading.Event | None,
    ) -> None:
        self._run, self._reward, self._plan = run, reward, plan
        self._asking = {"store": store, "retry_failures": retry_failures, "stopping": stopping}
        self._names = reward.rubric.propositions
        places = {name: place for place, name in enumerate(run.propositions)}
        self._taken = [
            (column, places[name])
            for column, name in enumerate(self._names)
            if name in fit.propositions
        ]
        self._needed = {
            behavior: np.array([self._names.index(name) for name in asked], dtype=np.int64)
            for behavior, asked in asked_of(reward).items()
        }
        self._remembered: dict[bytes, tuple[NDArray[np.float64], str | None]] = {}
        self.n_judged = self.n_reused = 0

    def of(self, rows: Sequence[Completion]) -> Verdicts:
        """Give the verdicts of completions, in their order."""
        values, lacking = self.known(rows)
        failures = {
            rows[place].id: _said(rows[place].missing) or self._why_not(rows[place])
            for place in lacking
        }
        if self._plan is not None and lacking:
            self._ask(rows, lacking, values, failures)
        return Verdicts(
            items=tuple(row.id for row in rows),
            questions=self._names,
            probabilities=values,
            behaviors=(None,) * len(rows),
            judge=self._run.judge if self._plan is None else self._plan.judge.name,
            fingerprint=self._run.fingerprint if self._plan is None else self._plan.fingerprint,
            threshold=self._reward.judge.threshold,
        ).with_reasons(failures)

    def known(self, rows: Sequence[Completion]) -> tuple[NDArray[np.float64], list[int]]:
        """Give the run's verdicts that fit, and the places of completions that need others."""
        values = np.full((len(rows), len(self._names)), np.nan)
        fits = np.array([row.fingerprint == self._run.fingerprint for row in rows], dtype=bool)
        given = np.array([row.probabilities for row in rows]).reshape(len(rows), -1)
        for column, place in self._taken:
            values[fits, column] = given[fits, place]
        lacking = []
        for place, row in enumerate(rows):
            needed = self._needed.get(row.behavior or "")
            if needed is None:  # no reward, whatever a judge says
                continue
            if np.isnan(values[place, needed]).any():
                lacking.append(place)
            else:
                self.n_reused += 1
        return values, lacking

    def items(self, rows: Sequence[Completion], places: Sequence[int]) -> dict[int, Item]:
        """Make items of completions, as far as they are text or messages."""
        found = {}
        for place in places:
            try:
                found[place] = rows[place].item(str(place), judged=self._reward.judge.judged)
            except InputError:
                continue
        return found

    def _ask(
        self,
        rows: Sequence[Completion],
        places: Sequence[int],
        values: NDArray[np.float64],
        failures: dict[str, str],
    ) -> None:
        """Judge completions, equal ones once, and fill in what is not there."""
        items = self.items(rows, places)
        keys = {place: item.content_hash() for place, item in items.items()}
        new = {key: items[place] for place, key in keys.items() if key not in self._remembered}
        self._judge(new)
        for place, key in keys.items():
            found, failure = self._remembered[key]
            name = rows[place].id
            values[place] = np.where(np.isnan(values[place]), found, values[place])
            if failure is None:
                failures.pop(name, None)
            else:
                failures[name] = failure
        if len(self._remembered) > _MOST_REMEMBERED:
            self._remembered.clear()

    def _judge(self, new: dict[bytes, Item]) -> None:
        if not new or self._plan is None:
            return
        found = judge_by_plan(list(new.values()), self._plan, **self._asking)  # type: ignore[arg-type]  # keywords of ours
        self.n_judged += len(new)
        columns = [found.questions.index(name) for name in self._names]
        table = np.asarray(found.probabilities)[:, columns]
        for place, key in enumerate(new):
            failure = found.missing.get(found.items[place])
            self._remembered[key] = (table[place], failure)

    def _why_not(self, row: Completion) -> str:
        if row.fingerprint != self._run.fingerprint:
            return "judged by another judge than the rest of the run"
        return "the run has no verdict that fits, and no judge was named"


def _said(reason: str | None) -> str | None:
    """Give the run's own reason why a verdict is missing, where that was one."""
    if reason is None or not reason.startswith((_PREFIX, NO_VERDICT)):
        return None
    return reason.removeprefix(_PREFIX)
