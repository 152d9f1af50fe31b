"""A run that judges a file with a language model: the store of replies is what goes on."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.io.verdict_files import encode_part
from voirdire.judging.call_summary import CallProgress, JudgingProgress
from voirdire.judging.engine.run import judged_batches
from voirdire.judging.engine.run_record import RunRecord
from voirdire.judging.file_run import FileRun
from voirdire.judging.llm.collecting import collected_seldom
from voirdire.judging.parts import PART_ITEMS
from voirdire.judging.tally import add_tallies, tally_of

if TYPE_CHECKING:
    import threading

    from voirdire.judging.call_summary import CallSummary
    from voirdire.judging.client.client import ClientState
    from voirdire.judging.tally import Tally
    from voirdire.records.verdicts import Verdicts
    from voirdire.store import ReplyStore

__all__ = ["ModelRun", "call_progress"]


class ModelRun(FileRun):
    """Parts are only how the file is put together: every reply is in the store already."""

    def __init__(
        self,
        *,
        store: ReplyStore | None,
        retry_failures: bool,
        stopping: threading.Event | None,
        **about: Any,
    ) -> None:
        super().__init__(**about)
        self.store = store
        self.retry_failures = retry_failures
        self.stopping = stopping
        self.record = RunRecord(self.plan)

    def tally(self) -> Tally:
        """Judge every item, and write parts of a few thousand."""
        total: Tally | None = None
        waiting: list[Verdicts] = []
        batches = judged_batches(
            self.items.stream(self.plan, self.set_aside),
            self.plan,
            store=self.store,
            retry_failures=self.retry_failures,
            tick=self._tick,
            stopping=self.stopping,
            record=self.record,
        )
        with collected_seldom(), closing(batches):  # type: ignore[type-var]  # a generator
            for batch in batches:
                found = tally_of(batch)
                total = found if total is None else add_tallies([total, found])
                self.n_reused = self.record.n_reused
                waiting.append(batch)
                if sum(len(each.items) for each in waiting) >= PART_ITEMS:
                    self._write(waiting)
                    waiting = []
        if waiting:
            self._write(waiting)
        if total is None:
            self.items.refuse_empty(self.set_aside)
        return total

    def call_summary(self) -> CallSummary:
        """Say what the calls came to."""
        return self.record.summary()

    def _write(self, batches: list[Verdicts]) -> None:
        import polars as pl

        frame = pl.concat([batch.frame(self.layout) for batch in batches])
        path = self.folder.part(self.n_parts)
        try:
            path.write_bytes(encode_part(frame, self.folder.written_as))
        except OSError as error:
            msg = (
                f"{path}: cannot be written ({error.strerror}). Every reply is in the store: make "
                "room, and run the same command again."
            )
            raise InputError(msg) from error
        self.n_parts += 1

    def _tick(self, n_answered: float, state: ClientState) -> None:
        if self.progress is not None:
            self.progress(
                JudgingProgress(
                    n_items=self.record.n_items,
                    n_reused=self.record.n_reused,
                    n_dropped=self.set_aside.count,
                    calls=call_progress(n_answered, state),
                )
            )


def call_progress(n_answered: float, state: ClientState) -> CallProgress:
    """Take from the state of the calls what a progress bar shows."""
    return CallProgress(
        n_answered=int(n_answered + 1e-9),
        n_calls=state.n_calls,
        n_retries=state.n_retries,
        n_in_flight=state.n_in_flight,
        concurrency=state.concurrency,
        cost=state.cost,
        n_failed=state.n_failures,
        stopping=state.is_stopped and state.n_in_flight > 0,
    )
