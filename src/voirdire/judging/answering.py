"""Ask a judge about items, batch by batch, and work out the completion classes."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._validation import check_count
from voirdire.errors import NoDataError
from voirdire.judging.engine.call_summary import JudgingProgress
from voirdire.judging.given_items import given_items
from voirdire.judging.notes import SeenItems, distrust
from voirdire.judging.plan import asks_a_model, check_behavior, plan_judging
from voirdire.judging.verdict_making import verdicts_on
from voirdire.records.verdicts import Verdicts

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from voirdire._types import Judged, Threshold
    from voirdire.judging.client.client import ClientState
    from voirdire.judging.judges.cascade import CascadeJudge
    from voirdire.judging.judges.llm_judge import LlmJudge
    from voirdire.judging.plan import JudgingPlan
    from voirdire.judging.port import Judge
    from voirdire.records import Item
    from voirdire.rubrics import Rubric

_BATCH_ITEMS = 1_000

__all__ = [
    "judge",
    "judge_by_plan",
    "judge_items",
]


def judge(
    items: Any,
    *,
    rubric: Rubric | str | Path = "safety",
    judge: Judge | LlmJudge | CascadeJudge | str | Path = "local",
    threshold: Threshold | None = None,
    judged: Judged = "final_answer",
    behavior: str | None = None,
    store: str | Path | None = None,
    retry_failures: bool = False,
) -> Verdicts:
    """Judge items in memory.

    Parameters
    ----------
    items : sequence of Item or of mapping, or a data frame
        Items, or rows as a file of items has them: at least a `response`.
    rubric : Rubric, str or path, optional
        What is asked: a rubric, the name of a built-in one, or a YAML file.
    judge : Judge, LlmJudge, CascadeJudge, str or path, optional
        Who answers: ``"local"`` is the judge of this package, a path one of your own,
        ``"openai/gpt-4o-mini"`` a language model, a YAML file a cascade.
    threshold : float, or mapping of str to float, optional
        In (0, 1). A proposition is true from this probability on; one that a mapping does not name,
        from 1/2 on. By default the rubric says, or else the judge, or else it is 1/2.
    judged : {"final_answer", "with_reasoning", "whole_turn"}, optional
        What of a row's response is judged. The response of an `Item` is judged as it stands.
    behavior : str, optional
        The behavior of items that have none.
    store : str or path, optional
        Where a language model's replies are kept and found again: a file for SQLite, or a
        ``postgresql://`` address. By default they are kept nowhere.
    retry_failures : bool, optional
        Call a language model again where it failed in an earlier run.

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
    plan = plan_judging(judge, rubric, threshold=threshold, judged=judged, whole=False)
    check_behavior(behavior, plan.rubric)
    found, dropped = given_items(
        items, judged=judged, behavior=behavior, pairs=plan.asks_about_pairs
    )
    if not found:
        why = f" The first was set aside: {dropped[0].reason}." if dropped else ""
        msg = f"`items` must hold at least one item, got none.{why}"
        raise NoDataError(msg)
    seen = SeenItems(plan)
    for item in found:
        seen.add(item)
    return replace(
        judge_by_plan(found, plan, store=store, retry_failures=retry_failures),
        dropped=tuple(dropped),
        notes=(*plan.notes, *seen.notes(), *distrust(plan.judge)),
    )


def judge_items(
    items: Iterable[Item],
    judge: Judge | LlmJudge | CascadeJudge | str | Path = "local",
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
    judge : Judge, LlmJudge, CascadeJudge, str or path, optional
        Who answers: ``"local"`` is the judge of this package, a path one of your own,
        ``"openai/gpt-4o-mini"`` a language model, a YAML file a cascade.
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
    if asks_a_model(plan.judge):
        from voirdire.judging.engine.run import judged_batches

        yield from judged_batches(pending, plan)
        return
    while batch := list(islice(pending, size)):
        yield verdicts_on(batch, plan)


def _of_behavior(item: Item, behavior: str) -> Item:
    return msgspec.structs.replace(item, behavior=behavior) if item.behavior is None else item


def judge_by_plan(
    items: Sequence[Item],
    plan: JudgingPlan,
    *,
    store: str | Path | None = None,
    retry_failures: bool = False,
    progress: Callable[[JudgingProgress], None] | None = None,
    stopping: threading.Event | None = None,
) -> Verdicts:
    """Judge items in memory, at least one."""
    if not asks_a_model(plan.judge):
        pieces = []
        for start in range(0, len(items), _BATCH_ITEMS):
            pieces.append(verdicts_on(items[start : start + _BATCH_ITEMS], plan))
            if progress is not None:
                n_done = min(start + _BATCH_ITEMS, len(items))
                progress(JudgingProgress(n_items=n_done, n_reused=0, n_dropped=0))
        return Verdicts.concatenate(pieces)
    from voirdire.judging.engine.call_summary import RunRecord, call_progress
    from voirdire.judging.engine.run import judged_batches
    from voirdire.store import open_store

    record = RunRecord(plan)

    def tick(n_answered: float, state: ClientState) -> None:
        if progress is not None:
            calls = call_progress(n_answered, state)
            progress(
                JudgingProgress(
                    n_items=record.n_items, n_reused=record.n_reused, n_dropped=0, calls=calls
                )
            )

    with nullcontext() if store is None else open_store(store) as replies:
        pieces = list(
            judged_batches(
                items,
                plan,
                store=replies,
                retry_failures=retry_failures,
                tick=tick,
                stopping=stopping,
                record=record,
            )
        )
    return replace(Verdicts.concatenate(pieces), calls=record.summary())
