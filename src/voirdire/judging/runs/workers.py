"""Judges parts in this process or in several, and returns their records in order.

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
from typing import TYPE_CHECKING, Literal, TypeAlias

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.runs.parts import Part, PartRecord

__all__ = ["Work", "available_cores", "run_in_order"]

Work: TypeAlias = "Part | PartRecord"
"""A part to judge, or the record of a finished part."""

ALONE_PARTS = 10
"""Parts that are judged before worker processes are started, since their start is slow."""

_MOST_AUTOMATIC = 8
_POOLS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def available_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_in_order(
    work: Iterable[Work], plan: JudgingPlan, *, workers: int | Literal["auto"]
) -> Generator[PartRecord, None, None]:
    """Judge the unfinished parts, and return the record of every part in order."""
    pending = iter(work)
    n_workers = min(available_cores(), _MOST_AUTOMATIC) if workers == "auto" else workers
    if workers == "auto" or n_workers == 1:
        yield from _run_in_process(pending, plan, n_parts=None if n_workers == 1 else ALONE_PARTS)
    if n_workers > 1 and (first := next(pending, None)) is not None:
        yield from _run_in_pool(_chain(first, pending), plan, n_workers=n_workers)


def _run_in_process(
    work: Iterator[Work], plan: JudgingPlan, *, n_parts: int | None
) -> Iterator[PartRecord]:
    from voirdire.judging.runs.parts import Part, judge_part

    n_judged = 0
    while n_parts is None or n_judged < n_parts:
        entry = next(work, None)
        if entry is None:
            return
        if isinstance(entry, Part):
            n_judged += 1
            entry = judge_part(entry, plan)
        yield entry


def _chain(first: Work, rest: Iterator[Work]) -> Iterator[Work]:
    yield first
    yield from rest


def _run_in_pool(
    work: Iterator[Work], plan: JudgingPlan, *, n_workers: int
) -> Iterator[PartRecord]:
    from voirdire.judging.runs.parts import Part

    _check_sendable(plan)
    pool = ProcessPoolExecutor(
        n_workers, mp_context=get_context("spawn"), initializer=_start, initargs=(plan,)
    )
    running: deque[Future[PartRecord] | PartRecord] = deque()
    try:
        for entry in work:
            running.append(_submit(pool, entry) if isinstance(entry, Part) else entry)
            while len(running) > 2 * n_workers:
                yield _result(running.popleft())
        while running:
            yield _result(running.popleft())
    except BrokenProcessPool as error:
        msg = (
            "a worker process ended before its work was done (out of memory?). The finished parts "
            "are kept: run the same command again with `workers` 1."
        )
        raise InputError(msg) from error
    finally:
        # workers finish their current part; the others remain for the next run
        pool.shutdown(wait=True, cancel_futures=True)


def _check_sendable(plan: JudgingPlan) -> None:
    """Refuse a judge that cannot be pickled for another process, such as one with a lambda."""
    try:
        ForkingPickler.dumps(plan)
    except Exception as error:
        msg = (
            f"`judge` must be an object that can be sent to other processes, got "
            f"{shorten(plan.judge.name)!r} ({shorten(error)}). Judge with `workers` 1."
        )
        raise InputError(msg) from error


def _submit(pool: ProcessPoolExecutor, part: Part) -> Future[PartRecord]:
    with _quiet_start():
        return pool.submit(_judge, part)


def _result(entry: Future[PartRecord] | PartRecord) -> PartRecord:
    return entry.result() if isinstance(entry, Future) else entry


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
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_plan: JudgingPlan | None = None


def _start(plan: JudgingPlan) -> None:
    """Prepare a worker process."""
    global _plan  # noqa: PLW0603  # one per process, set once
    _plan = plan
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """End this worker when its parent process ends, even where that was killed."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _judge(part: Part) -> PartRecord:
    from voirdire.judging.runs.parts import judge_part

    if _plan is None:
        msg = "a worker judges only after it was started with a plan"
        raise RuntimeError(msg)
    return judge_part(part, _plan)
