"""Verdict batches from a language model, and what the calls of a run came to."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from voirdire.judging.answering import verdict_batch
from voirdire.judging.llm.answer_arrays import answer_arrays
from voirdire.judging.llm.running import judged_chunks

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator

    from voirdire.judging.client.client import ClientState
    from voirdire.judging.llm.run_record import RunRecord
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item
    from voirdire.records.verdicts import Verdicts
    from voirdire.store import ReplyStore

__all__ = ["judged_batches"]


def judged_batches(
    items: Iterable[Item],
    plan: JudgingPlan,
    *,
    store: ReplyStore | None = None,
    retry_failures: bool = False,
    tick: Callable[[float, ClientState], None] | None = None,
    stopping: threading.Event | None = None,
    record: RunRecord | None = None,
) -> Iterator[Verdicts]:
    """Judge items with the plan's model; see `judged_chunks`.

    `record`, where one is given, adds up what the calls came to.
    """
    from voirdire.judging.cascade.bound_cascade import BoundCascade
    from voirdire.judging.llm.bound_judge import BoundJudge

    bound = plan.judge
    if not isinstance(bound, BoundJudge):
        msg = "a plan for a language model holds a bound judge"
        raise TypeError(msg)
    told = tick if record is None else record.heard(tick)
    if isinstance(bound, BoundCascade):
        from voirdire.judging.cascade.batches import cascade_batches

        yield from cascade_batches(
            items,
            plan,
            bound,
            store=store,
            retry_failures=retry_failures,
            tick=told,
            stopping=stopping,
            record=record,
        )
        return
    chunks = judged_chunks(
        items, bound, store=store, retry_failures=retry_failures, tick=told, stopping=stopping
    )
    with closing(chunks):  # type: ignore[type-var]  # a generator; whoever holds a traceback
        for chunk in chunks:
            arrays = answer_arrays(chunk.verdicts, plan.rubric)
            if record is not None:
                record.add(chunk, arrays)
            yield verdict_batch(
                chunk.items,
                plan,
                probabilities=arrays.probabilities,
                failures=arrays.failures,
                details=arrays.details,
            )
