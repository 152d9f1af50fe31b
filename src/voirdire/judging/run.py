"""Judges items in order, a bounded number at a time and without a deadline."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from voirdire.errors import CostLimitReachedError
from voirdire.judging.background_loop import BackgroundLoop
from voirdire.judging.binding import EngineJudge
from voirdire.judging.engine import in_thread, make_engine
from voirdire.judging.settings import DEFAULT_REPLIES, StoredReplies
from voirdire.judging.tables import judge_in_process, make_verdicts
from voirdire.judging.workers import judge_in_processes

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Iterator

    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.caller import CallCounts
    from voirdire.judging.engine import Engine
    from voirdire.judging.summary import RunRecord
    from voirdire.records import Item, Verdicts

BATCH_ITEMS = 1_000
_BATCH_CHARACTERS = 1 << 21
"""Items and characters, about, of a batch: its verdicts come together."""

_LEAST_AHEAD = 4
"""Batches that are read ahead, at least."""

_ALONE_ITEMS = 20_000
"""Items that are judged before worker processes are started, since their start is slow."""


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


def split_into_batches(
    items: Iterable[Item | None], most: int | None = None
) -> Iterator[list[Item]]:
    """Cut items into batches of at most so many, and of a bounded length; None ends a batch."""
    most = most or BATCH_ITEMS
    waiting: list[Item] = []
    n_characters = 0
    for item in items:
        if item is None:
            if waiting:
                yield waiting
            waiting, n_characters = [], 0
            continue
        waiting.append(item)
        n_characters += len(item.response)
        for message in item.prompt:
            n_characters += len(message.content) + sum(map(len, message.images))
        if len(waiting) >= most or n_characters >= _BATCH_CHARACTERS:
            yield waiting
            waiting, n_characters = [], 0
    if waiting:
        yield waiting


def judge_batches(
    items: Iterable[Item | None],
    plan: JudgingPlan,
    record: RunRecord,
    *,
    replies: StoredReplies = DEFAULT_REPLIES,
    stopping: threading.Event | None = None,
    workers: Any = 1,
    batch_size: int | None = None,
) -> Generator[Verdicts]:
    """Judge items batch by batch and in order, from code without async.

    Parameters
    ----------
    items : iterable of Item or None
        For a judge that makes calls, it is read in a thread, a few batches ahead. None ends a
        batch.
    plan : JudgingPlan
        The judge and the rubric.
    record : RunRecord
        Sums up the run, and is told its progress: after every batch, or a few times a second.
    replies : StoredReplies, optional
        Where replies are stored and found: an open store, or none.
    stopping : threading.Event, optional
        Once it is set, the calls in flight finish, and the run ends with `KeyboardInterrupt`.
    workers : int or "auto", optional
        Processes of a judge that makes no calls.
    batch_size : int, optional
        Items in a batch.

    Yields
    ------
    Verdicts
        On the next items.
    """
    if isinstance(plan.judge, EngineJudge):
        engine = make_engine(plan, replies)
        answered = ask_in_order(split_into_batches(items, batch_size), engine, plan, record)

        async def take_next() -> Verdicts | None:
            return await anext(answered, None)

        watched: dict[str, Any] = {"stopping": stopping, "report": record.report}
        with run_engine(engine, answered=answered, **watched) as ask:
            while (verdicts := ask(take_next())) is not None:
                yield verdicts
        return
    judge, items = partial(judge_in_process, plan=plan), iter(items)
    alone = items if workers == 1 else islice(items, _ALONE_ITEMS if workers == "auto" else 0)
    here = ((batch, judge(batch)) for batch in split_into_batches(alone, batch_size))
    batches = split_into_batches(items, batch_size)
    with closing(judge_in_processes(judge, batches, workers=workers, name=plan.judge.name)) as rest:
        for batch, verdicts in chain(here, rest):
            record.add(batch, verdicts)
            record.report()
            yield verdicts


async def ask_in_order(
    batches: Iterator[list[Item]], engine: Engine, plan: JudgingPlan, record: RunRecord
) -> AsyncGenerator[Verdicts, None]:
    """Ask an engine about batches, several at once, and yield verdicts in the order of the input.

    An error that ends the run is raised as soon as it comes.
    """
    n_calls = 1 if engine.counts is None else engine.counts.concurrency
    n_ahead = _LEAST_AHEAD + 2 * n_calls // BATCH_ITEMS
    window: deque[tuple[list[Item], asyncio.Task[list[Any]]]] = deque()
    reading: asyncio.Task[Any] | None = asyncio.create_task(_take_next(batches))
    try:
        while reading is not None or window:
            under_way: set[asyncio.Future[Any]] = {task for _, task in window if not task.done()}
            if reading is not None and len(window) < n_ahead:
                under_way.add(reading)
            done, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # raises what ends the run
            if reading in done:
                batch, reading = reading.result(), None
                if batch is not None:
                    window.append((batch, asyncio.create_task(engine.ask(batch))))
                    reading = asyncio.create_task(_take_next(batches))
            while window and window[0][1].done():
                batch, task = window.popleft()
                verdicts = make_verdicts(batch, task.result(), plan)
                record.add(batch, verdicts, task.result())
                yield verdicts
    except CostLimitReachedError as error:
        await engine.close()  # the calls in flight finish as well
        n = engine.n_done
        words = "1 item is done." if n == 1 else f"{n:,} items are done."
        raise CostLimitReachedError(f"{error} {words}") from error
    finally:
        for task in filter(None, [reading, *(task for _, task in window)]):
            task.cancel()


async def _take_next(batches: Iterator[list[Item]]) -> list[Item] | None:
    """Read the next batch in a thread; None after the last."""
    batch, error = await in_thread(next, batches, None)
    if isinstance(error, Exception):
        raise error
    if error is not None:
        msg = f"the items must not raise {type(error).__name__}"
        raise RuntimeError(msg) from error
    return batch


def count_calls(engine: Any) -> CallCounts | None:
    """Count the calls of an engine, and the items that it answered."""
    counts: CallCounts | None = engine.counts
    return None if counts is None else replace(counts, n_answered=engine.n_done)


@contextmanager
def run_engine(
    engine: Any,
    *,
    stopping: threading.Event | None = None,
    report: Callable[[CallCounts], None] | None = None,
    answered: AsyncGenerator[Any, None] | None = None,
) -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Start an engine in a background loop, give what runs its coroutines, and close it.

    The counts of its calls are reported a few times a second. Ctrl-C waits for the calls in flight,
    so that paid replies are stored; a second Ctrl-C does not wait.
    """
    loop = BackgroundLoop()
    loop.held = engine

    def tell(**changes: Any) -> None:
        counts = count_calls(engine)
        if report is None or counts is None or (counts.is_stopped and counts.n_in_flight):
            return  # where a run ends by itself, an exception says so
        report(replace(counts, **changes))

    def watch() -> None:
        _raise_if_set(stopping)
        tell()

    async def close(drain_s: float | None = None) -> None:
        engine.stop()
        if answered is not None:
            with suppress(RuntimeError):  # it may be running when a thread was left
                await answered.aclose()
        await engine.close(drain_s=drain_s)

    with loop:
        try:
            loop.run(engine.start())
            yield partial(loop.run, watch=watch)
        except BaseException as error:
            if _is_interrupted(error):
                tell(is_stopped=True)
            raise
        finally:
            if loop.is_out_of_reach:
                loop.stop_after(close)
            else:
                try:
                    loop.run(
                        close(), watch=partial(_raise_if_set, getattr(stopping, "at_once", None))
                    )
                except KeyboardInterrupt:
                    loop.run(close(drain_s=0.0))
                    raise
    tell()


def _is_interrupted(error: BaseException | None) -> bool:
    """Return whether Ctrl-C caused an error; between two batches it closes the generator."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _raise_if_set(event: threading.Event | None) -> None:
    if event is not None and event.is_set():
        raise KeyboardInterrupt
