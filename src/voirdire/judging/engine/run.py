"""Judges items in order with an engine, a bounded number at a time and without a deadline."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from voirdire.errors import CostLimitReachedError
from voirdire.judging.engine.background_loop import BackgroundLoop, collect_garbage_less_often
from voirdire.judging.engine.batch import ItemRequest
from voirdire.judging.engine.call_queue import is_cancelled
from voirdire.judging.engine.engines import make_engine
from voirdire.judging.engine.port import make_exit_error
from voirdire.judging.engine.verdict_making import make_run_verdicts
from voirdire.judging.items import CALL_CHARACTERS, split_into_batches
from voirdire.judging.settings import DEFAULT_REPLIES, StoredReplies

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator

    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.engine.call_summary import RunRecord
    from voirdire.judging.engine.combining import ItemVerdict
    from voirdire.judging.engine.port import Engine
    from voirdire.records import Item, Verdicts

__all__ = [
    "BATCH_ITEMS",
    "JudgedBatch",
    "Stopping",
    "Watch",
    "judge_batches",
    "judge_batches_async",
]


class Stopping(threading.Event):
    """Event that ends a run as Ctrl-C does; with `at_once` set too, as a second Ctrl-C does.

    Attributes
    ----------
    at_once : threading.Event
        Set it to end the run without waiting for the calls in flight.
    """

    def __init__(self) -> None:
        super().__init__()
        self.at_once = threading.Event()


BATCH_ITEMS = 500
"""Items per batch: they are looked up together, and their verdicts come together."""

_LEAST_AHEAD = 4
"""Batches that are read ahead, at least."""

T = TypeVar("T")


class JudgedBatch:
    """Items, and their verdicts as they come."""

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.done = asyncio.Event()
        self._verdicts: list[ItemVerdict | None] = [None] * len(items)
        self._n_open = len(items)

    @property
    def verdicts(self) -> list[ItemVerdict]:
        """One verdict per item, once all are answered."""
        return [verdict for verdict in self._verdicts if verdict is not None]

    def asked(self) -> list[ItemRequest]:
        """Return the items in the form that engines take."""
        return [_Row(item, self, place) for place, item in enumerate(self.items)]

    def is_answered(self, place: int) -> bool:
        """Return whether an item has its verdict."""
        return self._verdicts[place] is not None

    def take(self, place: int, verdict: ItemVerdict) -> None:
        """Set the verdict on an item."""
        if self._verdicts[place] is None:
            self._verdicts[place] = verdict
            self._n_open -= 1
            if not self._n_open:
                self.done.set()


class _Row(ItemRequest):
    """An item of a run."""

    __slots__ = ("_batch", "_place")

    def __init__(self, item: Item, batch: JudgedBatch, place: int) -> None:
        super().__init__(item)
        self._batch, self._place = batch, place

    @property
    def is_answered(self) -> bool:
        return self._batch.is_answered(self._place)

    def answer(self, verdict: ItemVerdict) -> None:
        self._batch.take(self._place, verdict)


class Run:
    """Judges batches of items in their order, a bounded number of them at once.

    *Order*: batches come out as they went in. *Errors*: `next_batch` raises the error that ends the
    engine's run. *Cancellation*: `stop` lets the calls in flight end and be stored; `close` waits
    for them, or cancels them with `cancel=True`. *Memory*: `n_ahead` batches.
    """

    def __init__(self, source: Iterator[list[Item]], engine: Engine, *, n_ahead: int) -> None:
        self.engine = engine
        self._source = source
        self._window = asyncio.Semaphore(n_ahead)
        self._batches: asyncio.Queue[JudgedBatch | None] = asyncio.Queue()
        self._producer: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start to read and to judge."""
        await self.engine.start()
        self._producer = asyncio.create_task(self._produce())

    async def next_batch(self) -> JudgedBatch | None:
        """Return the next batch, or None after the last; raise the error that ended the run."""
        batch: JudgedBatch | None = await self.engine.wait_unless_ended(self._batches.get())
        if batch is None:
            return None
        await self.engine.wait_unless_ended(batch.done.wait())
        self._window.release()
        return batch

    async def close(self, *, cancel: bool = False) -> None:
        """Let the calls in flight end, or cancel them; store the replies that came."""
        self.engine.stop()
        if self._producer is not None:
            self._producer.cancel()
            await asyncio.gather(self._producer, return_exceptions=True)
        await self.engine.close(drain_s=0.0 if cancel else None)

    async def _produce(self) -> None:
        try:
            while True:
                await self._window.acquire()
                items = await _take_next(self._source)
                if items is None:
                    break
                batch = JudgedBatch(items)
                self._batches.put_nowait(batch)
                self.engine.submit(batch.asked())
            self._batches.put_nowait(None)
        except Exception as error:  # noqa: BLE001  # raised again in `next_batch`
            self.engine.end(error)
        except BaseException as error:
            if is_cancelled():
                raise
            self.engine.end(make_exit_error("the items", error))


def judge_batches(
    items: Iterable[Item],
    plan: JudgingPlan,
    *,
    replies: StoredReplies = DEFAULT_REPLIES,
    stopping: threading.Event | None = None,
    record: RunRecord | None = None,
) -> Iterator[Verdicts]:
    """Judge items with the plan's engine, batch by batch and in order, from code without async.

    Parameters
    ----------
    items : iterable of Item
        Read in a thread, a few batches ahead.
    plan : JudgingPlan
        The judge and the rubric.
    replies : StoredReplies, optional
        Where replies are stored and found: an open store, or none.
    stopping : threading.Event, optional
        Once it is set, the calls in flight finish, and the run ends with `KeyboardInterrupt`.
    record : RunRecord, optional
        Sums up the calls, and gets their state a few times a second.

    Yields
    ------
    Verdicts
        On the next items.

    Notes
    -----
    Ctrl-C waits for the calls in flight, so that paid replies are stored; a second Ctrl-C does not
    wait.
    """
    with collect_garbage_less_often(), BackgroundLoop() as loop:
        run = loop.run(_start_run(items, plan, replies))
        loop.held = run
        try:
            report = None if record is None else record.note
            watched = Watch(run.engine, loop, close=run.close, stopping=stopping, report=report)
            with watched as watch:
                while (batch := loop.run(run.next_batch(), watch=watch.check)) is not None:
                    yield make_run_verdicts(batch.items, batch.verdicts, plan, record=record)
        except CostLimitReachedError as error:  # the calls in flight have finished as well
            raise CostLimitReachedError(
                f"{error} {_describe_progress(run.engine.n_answered)}"
            ) from error


class Watch:
    """Context manager that reports the progress of an engine's calls, and ends them at its exit."""

    def __init__(
        self,
        engine: Engine,
        loop: BackgroundLoop,
        *,
        close: Callable[..., Coroutine[Any, Any, None]],
        stopping: threading.Event | None,
        report: Callable[..., None] | None,
    ) -> None:
        self._engine, self._loop, self._close = engine, loop, close
        self._stopping, self._on_progress = stopping, report

    def __enter__(self) -> Self:
        return self

    def check(self) -> None:
        """Report the progress; raise the error that ends the run."""
        if self._stopping is not None and self._stopping.is_set():
            raise KeyboardInterrupt
        state = self._engine.calls
        if state is not None and not state.is_stopped:  # an exception says that it has ended
            self._report()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Report, then wait for the calls in flight; a second Ctrl-C ends the wait."""
        loop = self._loop
        if loop.is_out_of_reach:
            loop.stop_after(self._close)
            return
        try:
            if _is_interrupted(error):
                self._report(is_stopped=True)
            loop.run(self._close(), watch=self._raise_if_interrupted)
        except KeyboardInterrupt:
            loop.run(self._close(cancel=True))
            raise
        if error is None:
            self._report()

    def _raise_if_interrupted(self) -> None:
        if isinstance(self._stopping, Stopping) and self._stopping.at_once.is_set():
            raise KeyboardInterrupt

    def _report(self, **changed: Any) -> None:
        state = self._engine.calls
        if self._on_progress is not None and state is not None:
            self._on_progress(replace(state, **changed), n_answered=self._engine.n_answered)


async def judge_batches_async(
    items: Iterable[Item],
    plan: JudgingPlan,
    *,
    replies: StoredReplies = DEFAULT_REPLIES,
    record: RunRecord | None = None,
) -> AsyncIterator[Verdicts]:
    """Judge items in the running event loop; the arguments are those of `judge_batches`.

    When it is cancelled, the calls in flight finish first, so that paid replies are stored.
    """
    run = await _start_run(items, plan, replies)
    try:
        while (batch := await run.next_batch()) is not None:
            _note(run.engine, record)
            yield make_run_verdicts(batch.items, batch.verdicts, plan, record=record)
    except CostLimitReachedError as error:
        await run.close()
        raise CostLimitReachedError(
            f"{error} {_describe_progress(run.engine.n_answered)}"
        ) from error
    finally:
        await asyncio.shield(run.close())
        _note(run.engine, record)


def _note(engine: Engine, record: RunRecord | None) -> None:
    """Report the state of the calls."""
    if record is not None and (state := engine.calls) is not None:
        record.note(state, n_answered=engine.n_answered)


async def _start_run(items: Iterable[Item], plan: JudgingPlan, replies: StoredReplies) -> Run:
    engine = make_engine(plan, replies)
    n_workers = 1 if engine.calls is None else engine.calls.concurrency
    batches = split_into_batches(items, most_items=BATCH_ITEMS, most_characters=CALL_CHARACTERS)
    run = Run(batches, engine, n_ahead=_LEAST_AHEAD + 2 * n_workers // BATCH_ITEMS)
    await run.start()
    return run


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused the error; Ctrl-C between two batches closes this generator."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _describe_progress(n_answered: int) -> str:
    return "1 item is done." if n_answered == 1 else f"{n_answered:,} items are done."


async def _take_next(source: Iterator[T]) -> T | None:
    """Take the next value of an iterator in a thread; None after the last.

    The thread is a daemon and not one of the loop's own: a program waits for those when it ends,
    and a read that waits for input would keep it running.
    """
    loop = asyncio.get_running_loop()
    taken: asyncio.Future[T | None] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if taken.done():  # the waiting task was cancelled
            return
        if error is None:
            taken.set_result(value)
        else:
            taken.set_exception(error)

    def take() -> None:
        value: T | None = None
        failed: BaseException | None = None
        try:
            value = next(source, None)
        except BaseException as error:  # noqa: BLE001  # raised again where it is awaited
            failed = error
        with contextlib.suppress(RuntimeError):  # the loop may have ended meanwhile
            loop.call_soon_threadsafe(settle, value, failed)

    threading.Thread(target=take, name="voirdire-items", daemon=True).start()
    return await taken
