"""Judges batches in worker processes, and returns their results in order.

Nothing heavy is imported here: a worker process limits the threads of numpy and polars before the
judge imports them.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain
from multiprocessing import get_context, parent_process
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any, TypeVar

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

T = TypeVar("T")
R = TypeVar("R")
_MOST_AUTOMATIC = 8
_POOLS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def judge_in_processes(
    judge: Callable[[T], R], batches: Iterator[T], *, workers: Any, name: str
) -> Generator[tuple[T, R]]:
    """Call `judge` with every batch in worker processes; yield both in order."""
    n_workers = workers
    if workers == "auto":
        can_ask = hasattr(os, "sched_getaffinity")  # for the cores that this process may use
        n_cores = len(os.sched_getaffinity(0)) if can_ask else os.cpu_count() or 1
        n_workers = min(n_cores, _MOST_AUTOMATIC)
    if n_workers == 1:
        yield from ((batch, judge(batch)) for batch in batches)
        return
    if (first := next(batches, None)) is None:
        return
    try:
        pickled = bytes(ForkingPickler.dumps(judge))
    except Exception as error:
        msg = (
            f"`judge` must be an object that can be sent to other processes, got {shorten(name)!r} "
            f"({shorten(error)}). Judge with `workers` 1."
        )
        raise InputError(msg) from error
    pool = ProcessPoolExecutor(
        n_workers, mp_context=get_context("spawn"), initializer=_start, initargs=(pickled,)
    )
    running: deque[tuple[T, Future[R]]] = deque()
    try:
        for batch in chain([first], batches):
            with _quiet_start():
                running.append((batch, pool.submit(_judge, batch)))
            if len(running) > 2 * n_workers:
                judged, future = running.popleft()
                yield judged, future.result()
        for judged, future in running:
            yield judged, future.result()
    except BrokenProcessPool as error:
        msg = "a worker process ended before its work was done (out of memory?). Judge with "
        raise InputError(f"{msg}`workers` 1.") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _quiet_start() -> Iterator[None]:
    """Let processes that start here ignore Ctrl-C from their beginning."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_function: Any = None


def _start(pickled: bytes) -> None:
    """Prepare a worker process, which ends when its parent ends, even where that was killed."""
    global _function  # noqa: PLW0603  # one per process, set once
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    os.environ.update(dict.fromkeys(_POOLS, "1"))
    _function = ForkingPickler.loads(pickled)


def _leave_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _judge(batch: Any) -> Any:
    return _function(batch)
