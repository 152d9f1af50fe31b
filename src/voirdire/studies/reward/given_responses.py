"""Responses that are no comparisons: those of a policy, or the sides of a benchmark."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import NoDataError
from voirdire.io import read_verdicts
from voirdire.io.rbr_files import is_rbr_file, read_rbr_verdicts
from voirdire.io.verdicts import add_numbers
from voirdire.judging.answering import judge_by_plan
from voirdire.judging.given_items import given_items
from voirdire.judging.plan import plan_judging
from voirdire.rewards.reward_judge import asked_judge

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.judging import JudgingProgress
    from voirdire.judging.engine.call_summary import CallSummary
    from voirdire.records import Dropped, Item, Verdicts
    from voirdire.rewards.model import RewardModel

__all__ = ["JudgedBy", "Responses", "base_reward", "judge_responses", "numbered", "read_responses"]

_BASE_NAMES = ("base_reward", "rm_score")


@dataclass(frozen=True, kw_only=True, eq=False)
class Responses:
    """Items from a file or from memory.

    Attributes
    ----------
    items : sequence of Item
        At least one.
    dropped : tuple of Dropped
        Rows that are no items.
    source : str
        What messages call them.
    """

    items: Sequence[Item] = field(repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    source: str


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedBy:
    """Verdicts on responses, and what they took.

    Attributes
    ----------
    judged : Verdicts
        The verdicts.
    calls : CallSummary or None
        What the calls came to, where a language model judged them now.
    seconds : float
        That judging took; nan where the verdicts were given.
    """

    judged: Verdicts
    calls: CallSummary | None
    seconds: float


def read_responses(
    source: Any, *, name: str, reward: RewardModel, behavior: str | None
) -> Responses:
    """Read items from a file, a data frame, rows, or take them as they are.

    Parameters
    ----------
    source : path, binary file, data frame, or sequence of Item or of mapping
        As `voirdire.io.read_items` and `voirdire.judge` take them.
    name : str
        Which argument it is.
    reward : RewardModel
        Whose judge says what of a response is judged.
    behavior : str or None
        The behavior of items that have none.

    Returns
    -------
    Responses
        Items and rows that were set aside.

    Raises
    ------
    NoDataError
        If there is no item.
    InputError
        If the source cannot be read.
    """
    judged = reward.judge.judged
    if isinstance(source, str | Path) or hasattr(source, "read"):
        from voirdire.io import read_items

        table = read_items(source, judged=judged, behavior=behavior)
        shown = str(source) if isinstance(source, str | Path) else name
        return Responses(items=table.items, dropped=table.dropped, source=shown)
    items, dropped = given_items(source, judged=judged, behavior=behavior)
    if not items:
        why = f" The first was set aside: {dropped[0].reason}." if dropped else ""
        msg = f"`{name}` must hold at least one item, got none.{why}"
        raise NoDataError(msg)
    return Responses(items=items, dropped=dropped, source=name)


def judge_responses(
    items: Sequence[Item],
    reward: RewardModel,
    *,
    verdicts: Any,
    judge: Any,
    store: str | Path | None,
    judging: Callable[[JudgingProgress], None] | None = None,
) -> JudgedBy:
    """Take stored verdicts, or judge now.

    Parameters
    ----------
    items : sequence of Item
        What is judged.
    reward : RewardModel
        Whose judge is made again where none is given.
    verdicts : optional
        What `read_verdicts` reads, or the RBR authors' file of features.
    judge : optional
        Who judges; with `verdicts` whose verdicts count.
    store : str or path, optional
        Where a language model's replies are kept.
    judging : callable, optional
        Told how far judging is.

    Returns
    -------
    JudgedBy
        Verdicts with what they took.

    Raises
    ------
    InputError
        If there are neither verdicts nor a judge.
    """
    if verdicts is not None and is_rbr_file(verdicts):
        found = read_rbr_verdicts(verdicts, items, rubric=reward.rubric)
        found = replace(found, threshold=reward.judge.threshold)
        return JudgedBy(judged=found, calls=None, seconds=float("nan"))
    if verdicts is not None:
        named = judge if isinstance(judge, str) else None
        found = read_verdicts(
            verdicts, rubric=reward.rubric, judge=named, numbers_of=reward.questions
        )
        return JudgedBy(judged=found, calls=None, seconds=float("nan"))
    started = time.perf_counter()
    plan = plan_judging(
        asked_judge(reward.judge, judge),
        reward.rubric,
        threshold=reward.judge.threshold,
        judged=reward.judge.judged,
    )
    asked, _ = given_items(items, judged=plan.judged, behavior=None, pairs=plan.asks_about_pairs)
    found = judge_by_plan(asked, plan, store=store, progress=judging)
    numbered = add_numbers(found, reward.rubric, reward.questions)
    return JudgedBy(judged=numbered, calls=found.calls, seconds=time.perf_counter() - started)


def base_reward(metadata: Mapping[str, Any], *names: str) -> float:
    """Read the base reward that a row names; nan where it has none that is a number."""
    for name in names or _BASE_NAMES:
        value = metadata.get(name)
        try:
            number = math.nan if isinstance(value, bool) or value is None else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if math.isfinite(number):
            return number
    return math.nan


def numbered(items: Sequence[Item], key: Callable[[Item], Hashable]) -> NDArray[np.int64]:
    """Give a number to what items share, from 0 in order of appearance."""
    places: dict[Hashable, int] = {}
    return np.array([places.setdefault(key(item), len(places)) for item in items], dtype=np.int64)
