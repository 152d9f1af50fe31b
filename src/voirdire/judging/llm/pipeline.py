"""Items through a model in flat memory: looked up in stretches, called by workers, in order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError, StoppedError
from voirdire.judging.client.client import Client
from voirdire.judging.llm.chunk import Chunk
from voirdire.judging.llm.combining import combine
from voirdire.judging.llm.waiting_source import next_of
from voirdire.models import BatchChatModel
from voirdire.store import GroupCommit
from voirdire.store.stored_calls import blobs_by_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voirdire.judging.client.call import Outcome
    from voirdire.judging.llm.bound_judge import BoundJudge
    from voirdire.judging.llm.chunk import Unit
    from voirdire.judging.llm.combining import ItemVerdict
    from voirdire.records import Item
    from voirdire.store import ReplyStore

__all__ = ["CHUNK_ITEMS", "JudgedChunk", "Pipeline"]

CHUNK_ITEMS = 500
"""Items that are looked up together; results come in stretches of so many."""

_ENDING = (asyncio.CancelledError, KeyboardInterrupt, SystemExit)
"""What ends a task without a word, or the whole event loop: then nobody would be told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedChunk:
    """Items with their verdicts.

    Attributes
    ----------
    items : list of Item
        In the order of the source.
    verdicts : list of ItemVerdict
        One per item.
    checked : list of tuple
        Pairs of answers to the same questions in two orders, for the first items of a run.
    n_reused : int
        Items about which nothing was called.
    """

    items: list[Item]
    verdicts: list[ItemVerdict]
    checked: list[tuple[Sequence[Any], Sequence[Any]]]
    n_reused: int


class Pipeline:
    """Judges stretches of items with a model, a bounded number of them at once.

    Parameters
    ----------
    source : iterator of list of Item
        Stretches of items; read in a thread, one at a time.
    bound : BoundJudge
        Who answers what.
    store : ReplyStore, optional
        Where replies are kept and found again.
    retry_failures : bool, optional
        Whether calls that failed in an earlier run are made again.

    Notes
    -----
    *Order*: stretches come out as they went in. *Errors*: what fails about an item is a failure
    in its verdict; what would fail about every item (no access, no log-probabilities, the cost
    limit) ends the run as an exception from `following`. *Cancellation*: `stop` lets the calls
    in flight end and be stored; `close` waits for them, or cancels them if it is told to.
    *Memory*: as many workers as `Limits.concurrency`, and a few stretches of items. *Retries and
    caching*: the `Client` tries again; stored replies are used before anything is called.
    """

    def __init__(
        self,
        source: Iterator[list[Item]],
        bound: BoundJudge,
        *,
        store: ReplyStore | None = None,
        retry_failures: bool = False,
    ) -> None:
        self._source = source
        self._bound = bound
        self._plan = bound.calls
        self._store = store
        self._retry_failures = retry_failures
        judge = bound.judge
        self._together = isinstance(judge.model, BatchChatModel)
        self._n_to_check = self._plan.n_check
        self._error: BaseException | None = None
        self.n_answered = 0.0
        if store is None:
            self._judge_id, self._commit = 0, None
        else:
            described = {"name": judge.name, "asking": judge.asking}
            self._judge_id = store.judge_id(bound.reply_fingerprint, description=described)
            self._commit = GroupCommit(store, self._judge_id)
        price = judge.known_price
        if price is None and judge.limits.max_cost is not None:
            msg = (
                f"`max_cost` needs the price of {judge.model.name!r}, which is not known. Declare "
                "it with `--price IN,OUT`, or as `price` of the judge."
            )
            raise InputError(msg)
        self.caller: Client = Client(
            judge.model,
            limits=judge.limits,
            commit=None if self._commit is None else self._commit.put,
            price=None if price is None else price.cost,
        )

    async def start(self) -> None:
        """Begin to read and to call."""
        n_workers = self._bound.judge.limits.concurrency
        self._work: asyncio.Queue[Unit | None] = asyncio.Queue(maxsize=2 * n_workers)
        self._chunks: asyncio.Queue[Chunk | None] = asyncio.Queue()
        self._window = asyncio.Semaphore(4 + 2 * n_workers // CHUNK_ITEMS)
        self._ended = asyncio.Event()
        self._producer = asyncio.create_task(self._produce())
        self._workers = [asyncio.create_task(self._call()) for _ in range(n_workers)]

    async def following(self) -> JudgedChunk | None:
        """Give the next stretch, or None after the last.

        Raises
        ------
        ModelCallError, CostLimitReachedError, StoppedError
            What ended the run.
        """
        chunk = await self._unless_ended(self._chunks.get())
        if chunk is None:
            return None
        await self._unless_ended(chunk.done.wait())
        self._window.release()
        return self._judged(chunk)

    def stop(self) -> None:
        """Start nothing more; what is in flight ends and is stored."""
        self.caller.stop()

    async def close(self, *, cancel: bool = False) -> None:
        """Let the calls in flight end, or cancel them, and write down what came."""
        self.stop()
        self._producer.cancel()
        for worker in self._workers:
            if cancel:
                worker.cancel()
        while not self._work.empty():
            self._work.get_nowait()
        ending = [asyncio.create_task(self._work.put(None)) for _ in self._workers]
        await asyncio.gather(self._producer, *self._workers, return_exceptions=True)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        if self._commit is not None:
            await self._commit.close()
        await self._bound.judge.model.close()

    async def _unless_ended(self, waiting: Any) -> Any:
        """Wait for something, or raise what ended the run meanwhile."""
        task = asyncio.ensure_future(waiting)
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if self._error is None:
                return await task
            raise self._error
        finally:
            for each in (task, ended):
                each.cancel()

    async def _produce(self) -> None:
        try:
            while True:
                await self._window.acquire()
                items = await next_of(self._source)
                if items is None:
                    break
                chunk, units = await self._looked_up(items)
                self._chunks.put_nowait(chunk)
                for unit in units:
                    await self._work.put(unit)
            self._chunks.put_nowait(None)
        except Exception as error:  # noqa: BLE001  # raised again where results are waited for
            self._end(error)
        except _ENDING as error:
            if _is_told_to_stop():
                raise
            self._end(_unusual(error, whose="the items"))

    async def _looked_up(self, items: list[Item]) -> tuple[Chunk, list[Unit]]:
        chunk = Chunk.of(items, self._plan)
        stored: Mapping[bytes, Mapping[str, Sequence[bytes]]] = {}
        if self._store is not None:
            found = await asyncio.to_thread(self._store.get, self._judge_id, chunk.all_keys)
            stored = {key: blobs_by_name(calls) for key, calls in found.items()}
        n_check = min(self._n_to_check, len(items))
        self._n_to_check -= n_check
        units = chunk.units(
            self._plan,
            stored=stored,
            reuse=self._reused,
            n_check=n_check,
            together=self._together,
        )
        self.n_answered += len(items) - len({unit.key for unit in units})
        return chunk, units

    def _reused(self, call: Any, blobs: Sequence[bytes]) -> Outcome[Any] | None:
        return self.caller.reuse(call, blobs, retry_failures=self._retry_failures)

    async def _call(self) -> None:
        """Work on units until there are no more."""
        try:
            while (unit := await self._work.get()) is not None:
                unit.deliver(await self._outcomes(unit))
                self.n_answered += len(unit.calls) / len(self._plan.specs)
        except Exception as error:  # noqa: BLE001  # raised again where results are waited for
            self._end(error)
        except _ENDING as error:
            if _is_told_to_stop():
                raise
            self._end(_unusual(error, whose="a model"))

    async def _outcomes(self, unit: Unit) -> Sequence[Outcome[Any]]:
        if self._together:
            stored = [unit.stored.get(call.name, ()) for call in unit.calls]
            return await self.caller.answer_together(unit.calls, stored=stored)
        call = unit.calls[0]
        return [await self.caller.answer(call, stored=unit.stored.get(call.name, ()))]

    def _end(self, error: BaseException) -> None:
        """Remember the first error that says something, and start nothing more."""
        if self._error is None or type(self._error) is StoppedError:
            self._error = error
        self.caller.stop()
        self._ended.set()

    def _judged(self, chunk: Chunk) -> JudgedChunk:
        n_specs = len(self._plan.specs)
        votes = self._bound.judge.probability == "vote"
        questions = self._bound.rubric.questions
        verdicts = [
            combine(row[:n_specs], specs=self._plan.specs, questions=questions, votes=votes)  # type: ignore[arg-type]  # done: every slot is filled
            for row in chunk.rows
        ]
        return JudgedChunk(
            items=chunk.items,
            verdicts=verdicts,
            checked=list(self._checked(chunk)),
            n_reused=sum(
                all(outcome is None or outcome.is_reused for outcome in row) for row in chunk.rows
            ),
        )

    def _checked(self, chunk: Chunk) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
        """Pair the answers in the rubric's order with those in the other order."""
        check = self._plan.check
        n_specs = len(self._plan.specs)
        for row in chunk.rows if check is not None else ():
            first, other = row[0], row[n_specs]
            if other is None or first is None or other.value is None or first.value is None:
                continue
            back = dict(zip(check.places, other.value.values, strict=True))  # type: ignore[union-attr]
            yield first.value.values, [back[place] for place in range(len(back))]


def _is_told_to_stop() -> bool:
    """Whether this task itself was cancelled, by `close` or with the whole loop."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _unusual(error: BaseException, *, whose: str) -> RuntimeError:
    """Make an error of what may not go on its way here."""
    found = RuntimeError(f"{whose} must not raise {type(error).__name__}, which ends the run")
    found.__cause__ = error
    return found
