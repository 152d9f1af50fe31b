"""A run of a language model whose verdicts go to standard output as they come."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

from voirdire.io.verdict_files import encode_part
from voirdire.judging.call_summary import JudgingProgress
from voirdire.judging.engine.run import judged_batches
from voirdire.judging.engine.run_record import RunRecord
from voirdire.judging.llm.collecting import collected_seldom
from voirdire.judging.llm.model_run import call_progress
from voirdire.judging.set_aside import SetAside
from voirdire.judging.summary import JudgingSummary, summarize
from voirdire.judging.tally import add_tallies, tally_of
from voirdire.judging.verdict_making import table_columns

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from voirdire.judging.client.client import ClientState
    from voirdire.judging.item_source import ItemSource
    from voirdire.judging.plan import JudgingPlan
    from voirdire.judging.tally import Tally
    from voirdire.records.verdict_tables import VerdictLayout
    from voirdire.store import ReplyStore

__all__ = ["stream_verdicts"]


def stream_verdicts(
    items: ItemSource,
    plan: JudgingPlan,
    *,
    layout: VerdictLayout,
    store: ReplyStore,
    retry_failures: bool,
    stopping: threading.Event | None,
    progress: Callable[[JudgingProgress], None] | None,
) -> JudgingSummary:
    """Write verdicts as JSONL, stretch by stretch; the store is what a later run goes on from."""
    table_columns(plan, layout)
    set_aside = SetAside(None)
    record = RunRecord(plan)

    def tick(n_answered: float, state: ClientState) -> None:
        if progress is not None:
            progress(
                JudgingProgress(
                    n_items=record.n_items,
                    n_reused=record.n_reused,
                    n_dropped=set_aside.count,
                    calls=call_progress(n_answered, state),
                )
            )

    total: Tally | None = None
    batches = judged_batches(
        items.stream(plan, set_aside),
        plan,
        store=store,
        retry_failures=retry_failures,
        tick=tick,
        stopping=stopping,
        record=record,
    )
    with collected_seldom(), closing(batches):  # type: ignore[type-var]  # a generator
        for batch in batches:
            sys.stdout.buffer.write(encode_part(batch.frame(layout), "jsonl"))
            sys.stdout.buffer.flush()
            found = tally_of(batch)
            total = found if total is None else add_tallies([total, found])
    if total is None:
        items.refuse_empty(set_aside)
    return summarize(
        total,
        plan,
        output="-",
        layout=layout,
        notes=items.notes(),
        n_reused=record.n_reused,
        n_dropped=set_aside.count,
        dropped=set_aside.first,
        calls=record.summary(),
    )
