"""Run a pipeline from code that is not async, notebooks included: a loop in a thread of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voirdire.errors import CostLimitReachedError
from voirdire.judging.llm.background_loop import BackgroundLoop
from voirdire.judging.llm.pipeline import CHUNK_ITEMS, Pipeline
from voirdire.judging.llm.stopping import Stopping
from voirdire.judging.parts import CALL_CHARACTERS, stretches

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator

    from voirdire.judging.client.client import ClientState
    from voirdire.judging.llm.bound_judge import BoundJudge
    from voirdire.judging.llm.combining import ItemVerdict
    from voirdire.judging.llm.pipeline import JudgedChunk
    from voirdire.records import Item
    from voirdire.store import ReplyStore

__all__ = ["judged_chunks", "judged_items", "judged_stretches"]


def judged_chunks(
    items: Iterable[Item],
    bound: BoundJudge,
    *,
    store: ReplyStore | None = None,
    retry_failures: bool = False,
    tick: Callable[[float, ClientState], None] | None = None,
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

    Returns
    -------
    iterator of JudgedChunk
        Items with their verdicts.

    Notes
    -----
    An interruption (Ctrl-C) waits for the calls in flight, so that what is paid for is stored; a
    second one does not wait.
    """
    return judged_stretches(
        stretches(items, most_items=CHUNK_ITEMS, most_characters=CALL_CHARACTERS),
        bound,
        store=store,
        retry_failures=retry_failures,
        tick=tick,
        stopping=stopping,
    )


def judged_stretches(
    source: Iterator[list[Item]],
    bound: BoundJudge,
    *,
    store: ReplyStore | None,
    retry_failures: bool,
    tick: Callable[[float, ClientState], None] | None,
    stopping: threading.Event | None,
    n_elsewhere: Callable[[], int] = int,
) -> Iterator[JudgedChunk]:
    """Judge stretches of items, of which some may be empty; one chunk for each, as they come.

    The arguments are those of `judged_chunks`; `n_elsewhere` counts items that somebody else has
    answered on the way.
    """
    with BackgroundLoop() as loop:
        pipeline = loop.run(_started(source, bound, store=store, retry_failures=retry_failures))
        in_time, is_interrupted = False, False

        tell = _telling(pipeline, tick, n_elsewhere)

        def watch() -> None:
            if stopping is not None and stopping.is_set():
                raise KeyboardInterrupt
            state = pipeline.caller.state
            if not state.is_stopped:  # its end is told by an exception
                tell(state)

        try:
            while (chunk := loop.run(pipeline.following(), watch=watch)) is not None:
                yield chunk
            in_time = True
        except CostLimitReachedError as error:
            _close(pipeline, loop, stopping=stopping)  # what is in flight is done then too
            done = _done(pipeline.n_answered + n_elsewhere())
            raise CostLimitReachedError(f"{error} {done}") from error
        except (KeyboardInterrupt, GeneratorExit) as error:
            is_interrupted = _is_interrupted(error)
            raise
        finally:
            if loop.is_out_of_reach:
                loop.leave(pipeline.close)
            else:
                _close(pipeline, loop, stopping=stopping, tell=tell if is_interrupted else None)
            if in_time:
                tell(pipeline.caller.state)


def _telling(
    pipeline: Pipeline,
    tick: Callable[[float, ClientState], None] | None,
    n_elsewhere: Callable[[], int],
) -> Callable[[ClientState], None]:
    """Tell whoever wants to know how many items are answered."""

    def tell(state: ClientState) -> None:
        if tick is not None:
            tick(pipeline.n_answered + n_elsewhere(), state)

    return tell


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind it; where it comes between two stretches, this code is closed."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _done(n_answered: float) -> str:
    n_items = int(n_answered + 1e-9)
    return "1 item is done." if n_items == 1 else f"{n_items:,} items are done."


def _close(
    pipeline: Pipeline,
    loop: BackgroundLoop,
    *,
    stopping: threading.Event | None,
    tell: Callable[[ClientState], None] | None = None,
) -> None:
    """Wait for what is in flight, after a word about it; a second Ctrl-C ends even that."""

    def hurry() -> None:
        if isinstance(stopping, Stopping) and stopping.at_once.is_set():
            raise KeyboardInterrupt

    try:
        if tell is not None:
            tell(replace(pipeline.caller.state, is_stopped=True))
        loop.run(pipeline.close(), watch=hurry)
    except KeyboardInterrupt:
        loop.run(pipeline.close(cancel=True))
        raise


def judged_items(items: Iterable[Item], bound: BoundJudge) -> list[ItemVerdict]:
    """Judge a few items in memory."""
    return [row for chunk in judged_chunks(items, bound) for row in chunk.verdicts]


async def _started(source: Iterator[list[Item]], bound: BoundJudge, **settings: Any) -> Pipeline:
    pipeline = Pipeline(source, bound, **settings)
    await pipeline.start()
    return pipeline
