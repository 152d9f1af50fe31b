"""Judges items in order with an engine, a bounded number at a time and without a deadline."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Self, TypeVar

from voirdire.errors import CostLimitReachedError
from voirdire.judging.background_loop import BackgroundLoop, collect_garbage_less_often
from voirdire.judging.engine import in_thread, make_engine
from voirdire.judging.items import CALL_CHARACTERS, split_into_batches
from voirdire.judging.settings import DEFAULT_REPLIES, StoredReplies
from voirdire.judging.tables import make_run_verdicts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.caller import CallCounts
    from voirdire.judging.engine import Engine
    from voirdire.judging.summary import RunRecord
    from voirdire.records import Item, Verdicts

__all__ = ["BATCH_ITEMS", "Stopping", "Watch", "judge_batches", "judge_batches_async"]

BATCH_ITEMS = 500
"""Items per batch: they are looked up together, and their verdicts come together."""

_LEAST_AHEAD = 4
"""Batches that are read ahead, at least."""

T = TypeVar("T")


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


async def judge_in_order(
    source: Iterator[list[Item]], engine: Engine
) -> AsyncIterator[tuple[list[Item], list[Any]]]:
    """Judge batches, several at once, and yield each with its verdicts in the order of the input.

    An error that ends the run is raised as soon as it comes.
    """
    n_workers = 1 if engine.counts is None else engine.counts.concurrency
    n_ahead = _LEAST_AHEAD + 2 * n_workers // BATCH_ITEMS
    window: deque[tuple[list[Item], asyncio.Task[list[Any]]]] = deque()
    reading: asyncio.Task[list[Item] | None] | None = asyncio.create_task(_take_next(source))
    try:
        while reading is not None or window:
            under_way: set[asyncio.Task[Any]] = {task for _, task in window if not task.done()}
            if reading is not None and len(window) < n_ahead:
                under_way.add(reading)
            done, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # raises what ends the run
            if reading in done:
                items = reading.result()
                reading = None
                if items is not None:
                    window.append((items, asyncio.create_task(engine.ask(items))))
                    reading = asyncio.create_task(_take_next(source))
            while window and window[0][1].done():
                items, task = window.popleft()
                yield items, task.result()
    finally:
        for task in [*(task for _, task in window), *filter(None, [reading])]:
            task.cancel()


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
        Sums up the calls, and gets their counts a few times a second.

    Yields
    ------
    Verdicts
        On the next items.

    Notes
    -----
    Ctrl-C waits for the calls in flight, so that paid replies are stored; a second Ctrl-C does not
    wait.
    """
    engine = make_engine(plan, replies)
    batches = split_into_batches(items, most_items=BATCH_ITEMS, most_characters=CALL_CHARACTERS)
    judged = judge_in_order(batches, engine)
    report = None if record is None else record.note
    with collect_garbage_less_often(), BackgroundLoop() as loop:
        loop.held = engine
        with Watch(engine, loop, stopping=stopping, report=report, judged=judged) as watch:
            loop.run(engine.start())
            while True:
                try:
                    batch = loop.run(_take_batch(judged), watch=watch.check)
                except CostLimitReachedError as error:
                    loop.run(engine.close())  # the calls in flight finish as well
                    raise CostLimitReachedError(f"{error} {_say_done(engine)}") from error
                if batch is None:
                    return
                yield make_run_verdicts(*batch, plan, record=record)


async def _take_batch(judged: AsyncIterator[T]) -> T | None:
    return await anext(judged, None)


class Watch:
    """Context manager that reports the progress of an engine's calls, and ends them at its exit."""

    def __init__(
        self,
        engine: Any,
        loop: BackgroundLoop,
        *,
        stopping: threading.Event | None,
        report: Callable[..., None] | None,
        judged: AsyncIterator[Any] | None = None,
    ) -> None:
        self._engine, self._loop, self._judged = engine, loop, judged
        self._stopping, self._on_progress = stopping, report

    def __enter__(self) -> Self:
        return self

    def check(self) -> None:
        """Report the progress; raise the error that ends the run."""
        if self._stopping is not None and self._stopping.is_set():
            raise KeyboardInterrupt
        counts = self._engine.counts
        if counts is not None and not counts.is_stopped:  # an exception says that it has ended
            self._report(counts)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Report, then wait for the calls in flight; a second Ctrl-C ends the wait."""
        loop = self._loop
        if loop.is_out_of_reach:
            loop.stop_after(self._close)
            return
        try:
            if _is_interrupted(error) and (counts := self._engine.counts) is not None:
                counts.is_stopped = True
                self._report(counts)
            loop.run(self._close(), watch=self._raise_if_interrupted)
        except KeyboardInterrupt:
            loop.run(self._close(drain_s=0.0))
            raise
        if error is None:
            self._report(self._engine.counts)

    async def _close(self, drain_s: float | None = None) -> None:
        self._engine.stop()
        if self._judged is not None:
            with contextlib.suppress(RuntimeError):  # it may be running when a thread was left
                await self._judged.aclose()  # type: ignore[attr-defined]  # a generator
        await self._engine.close(drain_s=drain_s)

    def _raise_if_interrupted(self) -> None:
        if isinstance(self._stopping, Stopping) and self._stopping.at_once.is_set():
            raise KeyboardInterrupt

    def _report(self, counts: CallCounts | None) -> None:
        if self._on_progress is not None and counts is not None:
            self._on_progress(counts, n_answered=self._engine.n_done)


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
    engine = make_engine(plan, replies)
    batches = split_into_batches(items, most_items=BATCH_ITEMS, most_characters=CALL_CHARACTERS)

    def report() -> None:
        if record is not None and (counts := engine.counts) is not None:
            record.note(counts, n_answered=engine.n_done)

    await engine.start()
    judged = judge_in_order(batches, engine)
    try:
        async for found, verdicts in judged:
            report()
            yield make_run_verdicts(found, verdicts, plan, record=record)
    except CostLimitReachedError as error:
        await engine.close()
        raise CostLimitReachedError(f"{error} {_say_done(engine)}") from error
    finally:
        engine.stop()
        await judged.aclose()  # type: ignore[attr-defined]  # a generator
        await asyncio.shield(engine.close())
        report()


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused the error; Ctrl-C between two batches closes this generator."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _say_done(engine: Engine) -> str:
    n = engine.n_done
    return "1 item is done." if n == 1 else f"{n:,} items are done."


async def _take_next(source: Iterator[T]) -> T | None:
    """Take the next value of an iterator in a thread; None after the last."""
    value, error = await in_thread(_next, source)
    if error is not None and not isinstance(error, Exception):
        msg = f"the items must not raise {type(error).__name__}"
        raise RuntimeError(msg) from error
    if error is not None:
        raise error
    return value


def _next(source: Iterator[T]) -> T | None:
    return next(source, None)
