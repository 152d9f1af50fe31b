"""Run a pipeline from code that is not async, notebooks included: a loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import TimeoutError as NotYetError
from typing import TYPE_CHECKING, Any, Self, TypeVar

from voirdire.judging.llm.pipeline import CHUNK_ITEMS, Pipeline
from voirdire.judging.parts import CALL_CHARACTERS, stretches

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator

    from voirdire.judging.calls.caller import CallerState
    from voirdire.judging.llm.bound_judge import BoundJudge
    from voirdire.judging.llm.combining import ItemVerdict
    from voirdire.judging.llm.pipeline import JudgedChunk
    from voirdire.records import Item
    from voirdire.store import ReplyStore

__all__ = ["judged_chunks", "judged_items"]

T = TypeVar("T")
_TICK_S = 0.25


def judged_chunks(
    items: Iterable[Item],
    bound: BoundJudge,
    *,
    store: ReplyStore | None = None,
    retry_failures: bool = False,
    tick: Callable[[float, CallerState], None] | None = None,
    stopping: threading.Event | None = None,
) -> Iterator[JudgedChunk]:
    """Judge items with a model, stretch by stretch and in order.

    Parameters
    ----------
    items : iterable of Item
        Read in a thread, as far ahead as there are workers for.
    bound : BoundJudge
        Who answers what.
    store : ReplyStore, optional
        Where replies are kept and found again.
    retry_failures : bool, optional
        Whether calls that failed in an earlier run are made again.
    tick : callable, optional
        Called a few times a second with the items answered so far and the state of the calls.
    stopping : threading.Event, optional
        Once it is set, the calls in flight end, and then the run does with `KeyboardInterrupt`.

    Yields
    ------
    JudgedChunk
        Items with their verdicts.

    Notes
    -----
    An interruption (Ctrl-C) waits for the calls in flight, so that what is paid for is stored; a
    second one does not wait.
    """
    source = stretches(items, most_items=CHUNK_ITEMS, most_characters=CALL_CHARACTERS)
    with _Loop() as loop:
        pipeline = loop.run(_started(source, bound, store=store, retry_failures=retry_failures))
        in_time = False

        def watch() -> None:
            if stopping is not None and stopping.is_set():
                raise KeyboardInterrupt
            if tick is not None:
                tick(pipeline.n_answered, pipeline.caller.state)

        try:
            while (chunk := loop.run(pipeline.following(), watch=watch)) is not None:
                yield chunk
            in_time = True
        finally:
            try:
                loop.run(pipeline.close())
            except KeyboardInterrupt:
                loop.run(pipeline.close(cancel=True))
                raise
            if in_time and tick is not None:
                tick(pipeline.n_answered, pipeline.caller.state)


def judged_items(items: Iterable[Item], bound: BoundJudge) -> list[ItemVerdict]:
    """Judge a few items in memory."""
    return [row for chunk in judged_chunks(items, bound) for row in chunk.verdicts]


async def _started(source: Iterator[list[Item]], bound: BoundJudge, **settings: Any) -> Pipeline:
    pipeline = Pipeline(source, bound, **settings)
    await pipeline.start()
    return pipeline


class _Loop:
    """An event loop in a thread, which a notebook's own loop does not disturb."""

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(
        self, coroutine: Coroutine[Any, Any, T], *, watch: Callable[[], None] | None = None
    ) -> T:
        """Wait for a coroutine, looking around a few times a second."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            while True:
                if watch is not None:
                    watch()
                try:
                    return future.result(timeout=_TICK_S)
                except NotYetError:
                    if future.done():  # the coroutine's own timeout, not ours
                        raise
        except BaseException:
            future.cancel()
            raise
