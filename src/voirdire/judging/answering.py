"""Ask a judge about items in memory, or as they come."""

from __future__ import annotations

import asyncio
import warnings
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from voirdire._validation import check_count, check_names
from voirdire.errors import DegenerateDataWarning, DoubtfulLabelsWarning, NoDataError
from voirdire.io.declared import ItemLayout
from voirdire.judging.binding import EngineJudge, check_behavior, note_distrust, plan_judging
from voirdire.judging.engine import make_engine
from voirdire.judging.items import read_items_in_memory
from voirdire.judging.model_settings import ModelSettings
from voirdire.judging.outputs import open_replies
from voirdire.judging.run import ask_in_order, count_calls, judge_batches, split_into_batches
from voirdire.judging.settings import DEFAULT_REPLIES, StoredReplies
from voirdire.judging.summary import JudgingProgress, RunRecord
from voirdire.records.verdicts import Verdicts

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from voirdire._types import Judged, Threshold
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Dropped, Item
    from voirdire.rubrics import Rubric


def judge(
    items: Any,
    *,
    rubric: Rubric | str | Path = "safety",
    judge: JudgeLike = "local",
    threshold: Threshold | None = None,
    judged: Judged = "final_answer",
    behavior: str | None = None,
    make_item: Callable[[dict[str, Any]], Any] | None = None,
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
    make_item : callable, optional
        For rows of any other form: it takes a row and returns one that is read, or a list of them.
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
    plan = _plan(judge, rubric, settings, threshold=threshold, judged=judged)
    listed, dropped = _read(items, plan, ItemLayout(behavior=behavior, make_item=make_item))
    replies = StoredReplies(store, retry_failures)
    return _complete(judge_by_plan(listed, plan, replies=replies, progress=progress), dropped)


async def ajudge(
    items: Any,
    *,
    rubric: Rubric | str | Path = "safety",
    judge: JudgeLike = "local",
    threshold: Threshold | None = None,
    judged: Judged = "final_answer",
    behavior: str | None = None,
    make_item: Callable[[dict[str, Any]], Any] | None = None,
    store: str | Path | Literal[False] | None = None,
    retry_failures: bool = False,
    progress: Callable[[JudgingProgress], None] | None = None,
    **settings: Any,
) -> Verdicts:
    """Judge items in memory, in the running event loop.

    The arguments, the result and the errors are those of `voirdire.judge`.

    Parameters
    ----------
    items, rubric, judge, threshold, judged, behavior, make_item, store, retry_failures, progress
    **settings
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
    plan = _plan(judge, rubric, settings, threshold=threshold, judged=judged)
    listed, dropped = _read(items, plan, ItemLayout(behavior=behavior, make_item=make_item))
    replies = StoredReplies(store, retry_failures)
    verdicts = await ajudge_by_plan(listed, plan, replies=replies, progress=progress)
    return _complete(verdicts, dropped)


def _plan(judge: Any, rubric: Any, settings: dict[str, Any], **plain: Any) -> JudgingPlan:
    known = {*(ajudge.__kwdefaults__ or ()), *(row.name for row in fields(ModelSettings))}
    check_names(settings, sorted(known), of="judge")
    return plan_judging(judge, rubric, whole=False, settings=settings, **plain)


def _read(
    items: Any, plan: JudgingPlan, layout: ItemLayout
) -> tuple[Sequence[Item], tuple[Dropped, ...]]:
    check_behavior(layout.behavior, plan.rubric)
    listed, dropped = read_items_in_memory(items, plan.reading(layout))
    if not listed:
        why = f" The first was set aside: {dropped[0].reason}." if dropped else ""
        msg = f"`items` must hold at least one item, got none.{why}"
        raise NoDataError(msg)
    return listed, dropped


def _complete(verdicts: Verdicts, dropped: tuple[Dropped, ...]) -> Verdicts:
    """Add the dropped rows; warn where there is no answer at all."""
    if verdicts.questions and np.isnan(verdicts.probabilities).all():
        why = next(iter(verdicts.missing.values()), "")
        msg = f"none of {len(verdicts.items)} items got an answer: {why}"
        warnings.warn(msg, DegenerateDataWarning, stacklevel=3)
    return replace(verdicts, dropped=dropped)


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
        Items per batch, at least 1; a batch of long items ends earlier. Memory is
        O(`batch_size`).

    Yields
    ------
    Verdicts
        Probabilities, labels and completion classes of the next items, in their order.

    Warns
    -----
    DoubtfulLabelsWarning
        After the last batch, of what to beware of in a model's replies.

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
        change = msgspec.structs.replace
        pending = (change(x, behavior=behavior) if x.behavior is None else x for x in pending)
    record = RunRecord(plan)
    yield from judge_batches(pending, plan, record, batch_size=size)
    calls = record.summarize_calls()
    for note in calls.steps_down if calls else ():
        warnings.warn(note, DoubtfulLabelsWarning, stacklevel=2)


def judge_by_plan(
    items: Sequence[Item],
    plan: JudgingPlan,
    *,
    replies: StoredReplies = DEFAULT_REPLIES,
    progress: Callable[[JudgingProgress], None] | None = None,
    stopping: threading.Event | None = None,
) -> Verdicts:
    """Judge items in memory, at least one."""
    record = RunRecord(plan, progress)
    with open_if_paid(replies, plan) as opened:
        batches = list(judge_batches(items, plan, record, replies=opened, stopping=stopping))
    return _join(batches, plan, record)


async def ajudge_by_plan(
    items: Sequence[Item],
    plan: JudgingPlan,
    *,
    replies: StoredReplies = DEFAULT_REPLIES,
    progress: Callable[[JudgingProgress], None] | None = None,
) -> Verdicts:
    """Judge items in memory, at least one, in the running event loop.

    When it is cancelled, the calls in flight finish first, so that paid replies are stored.
    """
    if not isinstance(plan.judge, EngineJudge):
        return await asyncio.to_thread(judge_by_plan, items, plan, progress=progress)
    record = RunRecord(plan, progress)
    batches = []
    with open_if_paid(replies, plan) as opened:
        engine = make_engine(plan, opened)
        answered = ask_in_order(split_into_batches(items), engine, plan, record)
        try:
            await engine.start()
            async for verdicts in answered:
                batches.append(verdicts)
                record.report(count_calls(engine))
        finally:
            engine.stop()
            await answered.aclose()
            await asyncio.shield(engine.close())
            record.report(count_calls(engine))
    return _join(batches, plan, record)


def _join(batches: Sequence[Verdicts], plan: JudgingPlan, record: RunRecord) -> Verdicts:
    calls = record.summarize_calls()
    notes = (*record.notes(), *note_distrust(plan.judge), *(calls.steps_down if calls else ()))
    return replace(Verdicts.concatenate(batches), calls=calls, notes=notes)


def open_if_paid(
    replies: StoredReplies, plan: JudgingPlan
) -> AbstractContextManager[StoredReplies]:
    """Open the given store; by default one in the current folder where calls cost money."""
    is_needed = isinstance(plan.judge, EngineJudge) and plan.judge.is_remote
    return open_replies(replies if is_needed or replies.store else replace(replies, store=False))
