"""Judges batches in worker processes, and returns their results in order.

Nothing heavy is imported here: a worker process limits its threads before numpy and polars are
imported, since they count the cores then.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any, TypeVar

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["available_cores", "judge_in_processes"]

T = TypeVar("T")
R = TypeVar("R")
_MOST_AUTOMATIC = 8
_POOLS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def available_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def judge_in_processes(
    judge: Callable[[T], R], batches: Iterator[T], *, workers: Any, name: str
) -> Iterator[R]:
    """Call `judge` with every batch in worker processes; yield the results in order."""
    n_workers = min(available_cores(), _MOST_AUTOMATIC) if workers == "auto" else workers
    if (first := next(batches, None)) is None:
        return
    if n_workers == 1:
        yield judge(first)
        yield from map(judge, batches)
        return
    try:
        ForkingPickler.dumps(judge)
    except Exception as error:
        msg = (
            f"`judge` must be an object that can be sent to other processes, got {shorten(name)!r} "
            f"({shorten(error)}). Judge with `workers` 1."
        )
        raise InputError(msg) from error
    pool = ProcessPoolExecutor(
        n_workers, mp_context=get_context("spawn"), initializer=_start, initargs=(judge,)
    )
    running: deque[Future[R]] = deque()
    try:
        with _quiet_start():
            running.append(pool.submit(_judge, first))
        for batch in batches:
            with _quiet_start():
                running.append(pool.submit(_judge, batch))
            while len(running) > 2 * n_workers:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    except BrokenProcessPool as error:
        msg = "a worker process ended before its work was done (out of memory?). Judge with "
        raise InputError(f"{msg}`workers` 1.") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _quiet_start() -> Iterator[None]:
    """Let processes that start here use one thread each and ignore Ctrl-C."""
    before = {name: os.environ.get(name) for name in _POOLS}
    masks = hasattr(signal, "pthread_sigmask")
    os.environ.update(dict.fromkeys(_POOLS, "1"))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else set()
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_function: Any = None


def _start(judge: Callable[[Any], Any]) -> None:
    """Prepare a worker process, which ends when its parent ends, even where that was killed."""
    global _function  # noqa: PLW0603  # one per process, set once
    _function = judge
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _judge(batch: Any) -> Any:
    return _function(batch)
