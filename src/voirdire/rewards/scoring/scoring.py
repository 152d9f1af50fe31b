"""Score items: in memory all at once, of a file batch by batch, by the same function."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.rbr_files import RbrScores, RbrVerdicts, is_rbr_file
from voirdire.records.thresholds import format_threshold
from voirdire.rewards.scoring.base_rewards import (
    base_column,
    base_of_file,
    base_of_items,
    given_base,
    has_base,
    note_unused_base,
)
from voirdire.rewards.scoring.scores import Combiner, to_be_judged

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from voirdire._types import Threshold
    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item, Verdicts
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.scoring.scores import Scores
    from voirdire.rewards.scoring.stored_verdicts import VerdictsOfItems

__all__ = ["BatchScorer", "ItemScoring", "ascore_items", "judging_plan", "stored_verdicts"]


class BatchScorer:
    """Gives batches of items their rewards, by verdicts and base rewards.

    Parameters
    ----------
    model : RewardModel
        What pays.
    center : bool
        Whether each behavior's mean is taken off.
    base : str, optional
        The items' column of base rewards, or a file of scores of the RBR authors; by default the
        first batch says.

    Attributes
    ----------
    notes : tuple of str
        What the reader should know of the first batch.
    """

    def __init__(self, model: RewardModel, *, center: bool, base: str | None = None) -> None:
        self.notes: tuple[str, ...] = ()
        self._model, self._named = model, base
        self._scores = RbrScores(base) if base is not None and is_rbr_file(base) else None
        self._combiner = Combiner(model, center=center)
        self._column: str | None = None
        self._is_begun = self._has_base = False

    def score(
        self,
        items: Sequence[Item],
        verdicts: VerdictsOfItems,
        *,
        base_rewards: ArrayLike | Mapping[str, float] | None = None,
    ) -> Scores:
        """Score a batch; base rewards are the items' own where none are given."""
        self._combiner.check_asked(verdicts.questions)
        ids = [item.id for item in items]
        if base_rewards is not None:
            base, reasons = given_base(base_rewards, ids)
        elif self._scores is not None:
            base, reasons = base_of_file(items, self._scores)
            self._has_base = self._has_base or len(reasons) < len(items)
        else:
            base, reasons = base_of_items(items, column=self._base_column(items))
        return self._combiner.scores(
            verdicts.of_items(items) if isinstance(verdicts, RbrVerdicts) else verdicts.take(ids),
            behaviors=[item.behavior for item in items],
            base=base,
            base_reasons=reasons,
        )

    def check_base(self) -> None:
        """Refuse a column of base rewards that no item had, or a file about others."""
        if self._scores is not None and not self._has_base:
            raise self._scores.is_about_others()
        if self._named is not None and not self._has_base:
            msg = (
                f"`base` must be a column of the items, got {shorten(self._named)!r}, which is "
                "none."
            )
            raise InputError(msg)

    def _base_column(self, items: Sequence[Item]) -> str | None:
        if not self._is_begun:
            self._is_begun = True
            uses_base = self._model.uses_base
            self._column = base_column(items, named=self._named, uses_base=uses_base)
            self.notes = () if self._column is not None else note_unused_base(items)
        if self._named is not None and not self._has_base:
            self._has_base = has_base(items, self._named)
        return self._column


class ItemScoring:
    """Items in memory that are to be scored; see `RewardModel.score` for the settings."""

    def __init__(
        self,
        model: RewardModel,
        items: Any,
        *,
        verdicts: Any = None,
        judge: JudgeLike | None = None,
        base_rewards: ArrayLike | Mapping[str, float] | None = None,
        behavior: str | None = None,
        center: bool = False,
        store: str | Path | None = None,
        retry_failures: bool = False,
        other_judge: bool = False,
    ) -> None:
        from voirdire.io.declared import ItemReading
        from voirdire.judging.given_items import read_items_in_memory

        self._scorer = BatchScorer(model, center=center)
        if behavior is not None:
            model.rubric.behavior(behavior)
        reading = ItemReading(judged=model.judge.judged, behavior=behavior)
        found, self._dropped = read_items_in_memory(items, reading)
        if not found:
            why = f" The first was set aside: {self._dropped[0].reason}." if self._dropped else ""
            msg = f"`items` must hold at least one item, got none.{why}"
            raise NoDataError(msg)
        self._items = [
            item if item.behavior is not None else msgspec.structs.replace(item, behavior=behavior)
            for item in found
        ]
        self._base_rewards = base_rewards
        self._asking: dict[str, Any] = {"store": store, "retry_failures": retry_failures}
        self._stored: VerdictsOfItems | None = None
        self._questions = model.questions
        if verdicts is not None:
            self._stored, self._notes = stored_verdicts(
                model, verdicts, judge=judge, other_judge=other_judge
            )
        else:
            self._plan, self._notes = judging_plan(model, judge, other_judge=other_judge)

    def score(self, *, stopping: threading.Event | None = None) -> Scores:
        """Judge the items where there are no verdicts, and score them."""
        if self._stored is not None:
            return self._finish(self._stored)
        from voirdire.judging.answering import judge_by_plan

        asked = to_be_judged(self._items, self._plan.rubric)
        judged = judge_by_plan(asked, self._plan, stopping=stopping, **self._asking)
        return self._finish(self._with_numbers(judged))

    async def ascore(self) -> Scores:
        """Do the same in the running event loop."""
        if self._stored is not None:
            return await asyncio.to_thread(self._finish, self._stored)
        from voirdire.judging.answering import ajudge_by_plan

        asked = to_be_judged(self._items, self._plan.rubric)
        judged = await ajudge_by_plan(asked, self._plan, **self._asking)
        return await asyncio.to_thread(self._finish, self._with_numbers(judged))

    def _with_numbers(self, judged: Verdicts) -> Verdicts:
        if not self._questions:
            return judged
        from voirdire.io.verdicts import add_numbers

        return add_numbers(judged, self._plan.rubric, self._questions)

    def _finish(self, verdicts: VerdictsOfItems) -> Scores:
        scores = self._scorer.score(self._items, verdicts, base_rewards=self._base_rewards)
        notes = (*self._notes, *self._scorer.notes)
        return replace(scores, dropped=tuple(self._dropped), notes=notes)


async def ascore_items(model: RewardModel, items: Any, settings: Mapping[str, Any]) -> Scores:
    """Score items while other tasks go on; see `RewardModel.ascore`."""
    if "stopping" in settings:
        msg = "`stopping` must be left out of `ascore`, got one. Cancel the task instead."
        raise InputError(msg)
    scoring = await asyncio.to_thread(ItemScoring, model, items, **settings)
    return await scoring.ascore()


# Whose verdicts -------------------------------------------------------------------------------


def stored_verdicts(
    model: RewardModel, source: Any, *, judge: Any, other_judge: bool
) -> tuple[VerdictsOfItems, tuple[str, ...]]:
    """Open verdicts of the judge that the reward was fitted on; with notes where another is meant.

    `judge` is the name of one of several, or what has it.
    """
    from voirdire.rewards.scoring.stored_verdicts import open_verdicts

    name = judge if judge is None or isinstance(judge, str) else getattr(judge, "name", None)
    if judge is not None and not isinstance(name, str):
        msg = (
            "`judge` must be the name of a judge beside `verdicts`, got "
            f"{shorten(judge)}. Verdicts that are there need nobody to judge."
        )
        raise InputError(msg)
    found = open_verdicts(source, reward=model, judge=name)
    notes = _check_judge(
        model,
        name=found.judge,
        fingerprint=found.fingerprint,
        threshold=found.threshold,
        argument="verdicts",
        other_judge=other_judge,
    )
    return found, notes


def judging_plan(
    model: RewardModel,
    judge: JudgeLike | None,
    *,
    other_judge: bool,
) -> tuple[JudgingPlan, tuple[str, ...]]:
    """Make the judge ready, the reward's own by default, and check that it is the one."""
    from voirdire.judging.plan import plan_judging
    from voirdire.rewards.reward_judge import asked_judge

    plan = plan_judging(
        asked_judge(model.judge, judge),
        model.rubric,
        threshold=model.judge.threshold,
        judged=model.judge.judged,
    )
    notes = _check_judge(
        model,
        name=plan.judge.name,
        fingerprint=plan.fingerprint,
        threshold=plan.threshold,
        argument="judge",
        other_judge=other_judge,
    )
    return plan, (*notes, *plan.notes)


def _check_judge(
    model: RewardModel,
    *,
    name: str,
    fingerprint: str,
    threshold: Threshold,
    argument: str,
    other_judge: bool,
) -> tuple[str, ...]:
    """Refuse verdicts of another judge, or note them where they are wanted.

    A reward without the fingerprint of its judge takes any.
    """
    own = model.judge
    if not own.fingerprint or own.fingerprint == fingerprint:
        return ()
    if not fingerprint:
        what = "verdicts without a fingerprint, which may be anybody's"
    elif name != own.name:
        what = f"judge {shorten(name)!r} instead of {shorten(own.name)!r}"
    elif threshold != own.threshold:
        given, wanted = format_threshold(threshold), format_threshold(own.threshold)
        what = f"the threshold {given} instead of {wanted}"
    else:
        what = (
            f"another version or other settings of {shorten(name)!r}, another rubric, or other "
            f"parts of responses judged ({shorten(fingerprint, width=19)} instead of "
            f"{shorten(own.fingerprint, width=19)})"
        )
    if not other_judge:
        hint = " That one is calibrated: name its `calibration`."
        calibrated = "calibration" in own.made_by
        msg = (
            f"`{argument}` must be of the judge that reward {shorten(model.name)!r} was fitted on, "
            f"got {what}. Judge with that one, fit again, or say that another one is meant with "
            f"`other_judge=True`.{hint if calibrated else ''}"
        )
        raise InputError(msg)
    void = " The certificates of the reward say nothing of it." if model.certificates else ""
    return (
        f"scored with verdicts of another judge than the weights were fitted on: {what}.{void}",
    )
