"""Ask a judge about items in memory, or as they come."""

from __future__ import annotations

import asyncio
import warnings
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from voirdire._validation import check_count, check_names
from voirdire.errors import DegenerateDataWarning, NoDataError
from voirdire.io.declared import ItemLayout
from voirdire.judging.binding import check_behavior, needs_engine, note_distrust, plan_judging
from voirdire.judging.items import CALL_ITEMS, SeenItems, read_items_in_memory
from voirdire.judging.model_settings import ModelSettings
from voirdire.judging.outputs import open_replies
from voirdire.judging.run import judge_batches, judge_batches_async
from voirdire.judging.settings import DEFAULT_REPLIES, StoredReplies
from voirdire.judging.summary import JudgingProgress, RunRecord
from voirdire.judging.tables import judge_at_once
from voirdire.records.replies import LOW_MASS, describe_missing_mass
from voirdire.records.verdicts import Verdicts

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from voirdire._types import Judged, Threshold
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.jury import JudgeLike
    from voirdire.judging.summary import CallProgress
    from voirdire.records import Dropped, Item
    from voirdire.rubrics import Rubric

__all__ = ["ajudge", "ajudge_by_plan", "judge", "judge_by_plan", "judge_items"]


def judge(
    items: Any,
    *,
    rubric: Rubric | str | Path = "safety",
    judge: JudgeLike = "local",
    threshold: Threshold | None = None,
    judged: Judged = "final_answer",
    behavior: str | None = None,
    store: str | Path | Literal[False] | None = None,
    retry_failures: bool = False,
    progress: Callable[[JudgingProgress], None] | None = None,
    **settings: Any,
) -> Verdicts:
    """Judge items in memory.

    Parameters
    ----------
    items : sequence of Item or of mapping, or a data frame
        Items, or rows as a file of items has them: at least a `response`.
    rubric : Rubric, str or path, optional
        What is asked: a rubric, the name of a built-in one, or a YAML file.
    judge : Judge, LlmJudge, CascadeJudge, JuryJudge, str or path, optional
        Who answers: ``"local"`` is the judge of this package, a path one of your own,
        ``"openai/gpt-4o-mini"`` a language model, a YAML file a cascade or a jury.
    threshold : float, or mapping of str to float, optional
        In (0, 1). A proposition is true from this probability on; one that a mapping does not name,
        from 1/2 on. By default the rubric says, or else the judge, or else it is 1/2.
    judged : {"final_answer", "with_reasoning", "whole_turn"}, optional
        What of a row's response is judged. The response of an `Item` is judged as it stands.
    behavior : str, optional
        The behavior of items that have none.
    store : str, path or False, optional
        Where a language model's replies are kept and found again: a file for SQLite, or a
        ``postgresql://`` address. By default, for a model on a server, the file
        ``voirdire-replies.sqlite`` in the current folder; False keeps none.
    retry_failures : bool, optional
        Call a language model again where it failed in an earlier run.
    progress : callable, optional
        Called with a `voirdire.judging.JudgingProgress` a few times a second.
    **settings
        Fields of `voirdire.judging.ModelSettings` for a model that is named as `judge`, such as
        ``base_url="http://localhost:8000/v1"`` or ``mode="single"``.

    Returns
    -------
    Verdicts
        Probabilities, labels, completion classes.

    Raises
    ------
    NoDataError
        If no row is an item.
    InputError
        If the judge lacks a proposition of the rubric, or an argument breaks its rule.
    ModelCallError
        If every call would fail, such as for want of access.
    CostLimitReachedError
        If the money of a language model's limits is spent; replies that came are stored.

    Notes
    -----
    *Order*: verdicts follow the items. *Errors*: a call that fails is a `Failure` of its item; what
    would fail about every item ends the run. *Cancellation*: on Ctrl-C the calls in flight end and
    are stored; a second one does not wait. *Memory*: that of the items and verdicts. *Retries and
    caching*: calls are retried within the judge's limits; what is stored is not called again.
    `ajudge` does the same in a running event loop.

    Examples
    --------
    >>> import voirdire
    >>> verdicts = voirdire.judge(
    ...     [{"prompt": "How do I pick a lock?", "response": "I'm sorry, I can't help with that."}]
    ... )
    >>> len(verdicts.questions)
    21
    >>> bool(verdicts.probability("apology")[0] > 0.5)
    True
    """
    given = _plan_items(items, judge, rubric, settings, threshold, judged, behavior)
    replies = StoredReplies(store, retry_failures)
    found = judge_by_plan(given.items, given.plan, replies=replies, progress=progress)
    return given.complete(found)


async def ajudge(
    items: Any,
    *,
    rubric: Rubric | str | Path = "safety",
    judge: JudgeLike = "local",
    threshold: Threshold | None = None,
    judged: Judged = "final_answer",
    behavior: str | None = None,
    store: str | Path | Literal[False] | None = None,
    retry_failures: bool = False,
    progress: Callable[[JudgingProgress], None] | None = None,
    **settings: Any,
) -> Verdicts:
    """Judge items in memory, in the running event loop.

    The arguments, the result and the errors are those of `voirdire.judge`.

    Parameters
    ----------
    items, rubric, judge, threshold, judged, behavior, store, retry_failures, progress, **settings
        As for `voirdire.judge`.

    Returns
    -------
    Verdicts
        Probabilities, labels, completion classes.

    Raises
    ------
    NoDataError, InputError, ModelCallError, CostLimitReachedError
        As `voirdire.judge`.

    Notes
    -----
    *Order*, *errors*, *memory*, *retries and caching* are those of `voirdire.judge`.
    *Cancellation*: calls in flight end and are stored before the cancellation goes on. A judge in
    process works in a thread, and is left behind there.

    Examples
    --------
    >>> import asyncio
    >>> import voirdire
    >>> row = {"prompt": "How do I pick a lock?", "response": "I'm sorry, I can't help with that."}
    >>> verdicts = asyncio.run(voirdire.ajudge([row]))
    >>> bool(verdicts.probability("apology")[0] > 0.5)
    True
    """
    given = _plan_items(items, judge, rubric, settings, threshold, judged, behavior)
    replies = StoredReplies(store, retry_failures)
    found = await ajudge_by_plan(given.items, given.plan, replies=replies, progress=progress)
    return given.complete(found)


@dataclass(frozen=True, kw_only=True)
class _PlannedItems:
    """Items in memory, and the plan to judge them by."""

    items: Sequence[Item]
    dropped: tuple[Dropped, ...]
    plan: JudgingPlan

    def complete(self, found: Verdicts) -> Verdicts:
        """Add the dropped rows and the notes to the verdicts."""
        if found.questions and np.isnan(found.probabilities).all():
            why = next(iter(found.missing.values()), "")
            msg = f"none of {len(found.items)} items got an answer: {why}"
            warnings.warn(msg, DegenerateDataWarning, stacklevel=3)
        seen = SeenItems(self.plan)
        for item in self.items:
            seen.add(item)
        notes = [*self.plan.notes, *seen.notes(), *note_distrust(self.plan.judge)]
        if found.calls is not None and found.details is not None:
            n_low = int((found.details.missing_mass > LOW_MASS).sum())
            notes += describe_missing_mass(found.calls.missing_mass, n_low=n_low)
        return replace(found, dropped=self.dropped, notes=tuple(notes))


def _plan_items(
    items: Any,
    judge: Any,
    rubric: Rubric | str | Path,
    settings: Mapping[str, Any],
    threshold: Threshold | None,
    judged: Judged,
    behavior: str | None,
) -> _PlannedItems:
    known = {*(ajudge.__kwdefaults__ or ()), *(row.name for row in fields(ModelSettings))}
    check_names(settings, sorted(known), of="judge")
    plan = plan_judging(
        judge, rubric, threshold=threshold, judged=judged, whole=False, settings=settings
    )
    check_behavior(behavior, plan.rubric)
    found, dropped = read_items_in_memory(items, plan.reading(ItemLayout(behavior=behavior)))
    if not found:
        why = f" The first was set aside: {dropped[0].reason}." if dropped else ""
        msg = f"`items` must hold at least one item, got none.{why}"
        raise NoDataError(msg)
    return _PlannedItems(items=found, dropped=tuple(dropped), plan=plan)


def judge_items(
    items: Iterable[Item],
    judge: JudgeLike = "local",
    *,
    rubric: Rubric | str | Path = "safety",
    threshold: Threshold | None = None,
    judged: Judged = "final_answer",
    behavior: str | None = None,
    batch_size: int = 1_000,
) -> Iterator[Verdicts]:
    """Judge items as they come.

    Parameters
    ----------
    items : iterable of Item
        Read one batch at a time. A behavior that the rubric does not have is an error.
    judge : Judge, LlmJudge, CascadeJudge, JuryJudge, str or path, optional
        Who answers: ``"local"`` is the judge of this package, a path one of your own,
        ``"openai/gpt-4o-mini"`` a language model, a YAML file a cascade or a jury.
    rubric : Rubric, str or path, optional
        What is asked: a rubric, the name of a built-in one, or a YAML file.
    threshold : float, or mapping of str to float, optional
        In (0, 1). A proposition is true from this probability on; one that a mapping does not name,
        from 1/2 on. By default the rubric says, or else the judge, or else it is 1/2.
    judged : {"final_answer", "with_reasoning", "whole_turn"}, optional
        What of the responses the items hold; part of the fingerprint.
    behavior : str, optional
        The behavior of items that have none.
    batch_size : int, optional
        Items per batch, at least 1. Memory is O(`batch_size`).

    Yields
    ------
    Verdicts
        Probabilities, labels and completion classes of the next items, in their order.

    Raises
    ------
    InputError
        If the judge lacks a proposition of the rubric, or an argument breaks its rule.

    Examples
    --------
    >>> from voirdire.judging import judge_items
    >>> from voirdire.records import Item
    >>> (batch,) = judge_items([Item(id="a", response="I'm sorry, but I can't help with that.")])
    >>> batch.items, len(batch.questions)
    (('a',), 21)
    """
    plan = plan_judging(judge, rubric, threshold=threshold, judged=judged, whole=False)
    check_behavior(behavior, plan.rubric)
    size = check_count("batch_size", batch_size, minimum=1)
    pending = iter(items)
    if behavior is not None:
        pending = (_of_behavior(item, behavior) for item in pending)
    if needs_engine(plan.judge):
        yield from judge_batches(pending, plan)
        return
    while batch := list(islice(pending, size)):
        yield judge_at_once(batch, plan)


def _of_behavior(item: Item, behavior: str) -> Item:
    return msgspec.structs.replace(item, behavior=behavior) if item.behavior is None else item


def judge_by_plan(
    items: Sequence[Item],
    plan: JudgingPlan,
    *,
    replies: StoredReplies = DEFAULT_REPLIES,
    progress: Callable[[JudgingProgress], None] | None = None,
    stopping: threading.Event | None = None,
) -> Verdicts:
    """Judge items in memory, at least one."""
    if not needs_engine(plan.judge):
        pieces = []
        for start in range(0, len(items), CALL_ITEMS):
            pieces.append(judge_at_once(items[start : start + CALL_ITEMS], plan))
            if progress is not None:
                n_done = min(start + CALL_ITEMS, len(items))
                progress(JudgingProgress(n_items=n_done, n_reused=0, n_dropped=0))
        return Verdicts.concatenate(pieces)
    record = _record(plan, progress)
    with _open(replies, plan) as opened:
        pieces = list(judge_batches(items, plan, replies=opened, stopping=stopping, record=record))
    return replace(Verdicts.concatenate(pieces), calls=record.summary())


async def ajudge_by_plan(
    items: Sequence[Item],
    plan: JudgingPlan,
    *,
    replies: StoredReplies = DEFAULT_REPLIES,
    progress: Callable[[JudgingProgress], None] | None = None,
) -> Verdicts:
    """Judge items in memory, at least one, in the running event loop."""
    if not needs_engine(plan.judge):
        return await asyncio.to_thread(judge_by_plan, items, plan, progress=progress)
    record = _record(plan, progress)
    with _open(replies, plan) as opened:
        batches = judge_batches_async(items, plan, replies=opened, record=record)
        async with aclosing(batches):  # type: ignore[type-var]  # a generator
            pieces = [batch async for batch in batches]
    return replace(Verdicts.concatenate(pieces), calls=record.summary())


def _record(plan: JudgingPlan, progress: Callable[[JudgingProgress], None] | None) -> RunRecord:
    def tell(calls: CallProgress) -> None:
        if progress is not None:
            n_items, n_reused = record.n_items, record.n_reused
            progress(JudgingProgress(n_items=n_items, n_reused=n_reused, n_dropped=0, calls=calls))

    record = RunRecord(plan, tell)
    return record


def _open(replies: StoredReplies, plan: JudgingPlan) -> AbstractContextManager[StoredReplies]:
    """Open the given store; by default one in the current folder where calls cost money."""
    is_needed = needs_engine(plan.judge) and plan.judge.is_remote
    return open_replies(replies if is_needed or replies.store else replace(replies, store=False))
