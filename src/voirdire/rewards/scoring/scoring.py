"""Score items in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.rewards.scoring.base_rewards import (
    BASE_COLUMNS,
    base_column,
    base_of_items,
    given_base,
    has_base,
)
from voirdire.rewards.scoring.combining import Combiner, to_be_judged
from voirdire.rewards.scoring.judge_check import check_judge

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item, Verdicts
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.scoring.scores import Scores

__all__ = ["judging_plan", "score_items", "unused_base"]


def score_items(
    model: RewardModel,
    items: Any,
    *,
    verdicts: Any,
    judge: JudgeLike | None,
    base_rewards: ArrayLike | Mapping[str, float] | None,
    behavior: str | None,
    center: bool,
    store: str | Path | None,
    retry_failures: bool,
    other_judge: bool,
    stopping: threading.Event | None,
) -> Scores:
    """Score items; see `RewardModel.score`."""
    from voirdire.judging.given_items import given_items

    combiner = Combiner(model, center=center)
    if behavior is not None:
        model.rubric.behavior(behavior)
    found, dropped = given_items(items, judged=model.judge.judged, behavior=behavior)
    if not found:
        why = f" The first was set aside: {dropped[0].reason}." if dropped else ""
        msg = f"`items` must hold at least one item, got none.{why}"
        raise NoDataError(msg)
    if verdicts is not None:
        judged, notes = _stored(model, verdicts, judge=judge, other_judge=other_judge)
        judged = judged.take([item.id for item in found])
    else:
        plan, notes = judging_plan(model, judge, other_judge=other_judge)
        judged = _judged(found, plan, store=store, retry=retry_failures, stopping=stopping)
    combiner.check_asked(judged.questions)
    if base_rewards is None:
        column = base_column(found, named=None, uses_base=model.uses_base)
        base, reasons = base_of_items(found, column=column)
        notes += () if column is not None else unused_base(found)
    else:
        base, reasons = given_base(base_rewards, judged.items)
    own = [item.behavior if item.behavior is not None else behavior for item in found]
    scores = combiner.scores(judged, behaviors=own, base=base, base_reasons=reasons)
    return replace(scores, dropped=tuple(dropped), notes=notes)


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
    notes = check_judge(
        model,
        name=plan.judge.name,
        fingerprint=plan.fingerprint,
        threshold=plan.threshold,
        argument="judge",
        other_judge=other_judge,
    )
    return plan, (*notes, *plan.notes)


def unused_base(items: Sequence[Item]) -> tuple[str, ...]:
    """Note that items have a base reward which is not added."""
    for name in BASE_COLUMNS:
        if has_base(items, name):
            said = f"the items' `{name}` is not added: the reward was made without a base reward"
            return (f"{said}. Name the column to add it.",)
    return ()


def _stored(
    model: RewardModel, verdicts: Any, *, judge: Any, other_judge: bool
) -> tuple[Verdicts, tuple[str, ...]]:
    from voirdire.io import read_verdicts

    name = judge_named(judge)
    judged = read_verdicts(verdicts, rubric=model.rubric, judge=name)
    notes = check_judge(
        model,
        name=judged.judge,
        fingerprint=judged.fingerprint,
        threshold=judged.threshold,
        argument="verdicts",
        other_judge=other_judge,
    )
    return judged, notes


def judge_named(judge: Any) -> str | None:
    """Take the name of the judge whose stored verdicts count."""
    name = judge if judge is None or isinstance(judge, str) else getattr(judge, "name", None)
    if judge is not None and not isinstance(name, str):
        msg = (
            "`judge` must be the name of a judge beside `verdicts`, got "
            f"{shorten(judge)}. Verdicts that are there need nobody to judge."
        )
        raise InputError(msg)
    return name


def _judged(
    items: Sequence[Item],
    plan: JudgingPlan,
    *,
    store: str | Path | None,
    retry: bool,
    stopping: threading.Event | None,
) -> Verdicts:
    from voirdire.judging.answering import judge_by_plan

    known = to_be_judged(items, plan.rubric)
    found = judge_by_plan(known, plan, store=store, retry_failures=retry, stopping=stopping)
    return replace(found, probabilities=np.asarray(found.probabilities))
