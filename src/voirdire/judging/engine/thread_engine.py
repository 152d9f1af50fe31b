"""The engine of a judge in this process: calls it in a thread, batch by batch."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from voirdire.judging.binding import ask_in_process
from voirdire.judging.engine.call_queue import CLOSED, LATE
from voirdire.judging.engine.combining import ItemVerdict, failed_verdict
from voirdire.judging.engine.port import Engine, LiveState, log_bug, make_exit_error
from voirdire.judging.engine.queues import DeadlineQueue
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.engine.batch import ItemRequest
    from voirdire.judging.settings import LiveSettings
    from voirdire.records import Item

__all__ = ["ThreadEngine"]

RUN_ITEMS = 500
"""Items per batch in a run."""

_MOST_LEFT = 3
"""Threads that may hang at most: each keeps its memory until the program ends."""

_DEADLINES = 2
"""A batch that takes longer than this many deadlines is given up."""

_HANGS = f"the judge is out of order: {_MOST_LEFT} calls of it hang"
_NO_NUMBER = "the judge gave no probability"
_OUTSIDE = "the judge gave a probability outside [0, 1]"
_SHAPE = "the judge gave probabilities of another shape than it was asked for"
_log = logging.getLogger("voirdire")

T = TypeVar("T")
R = TypeVar("R")


class ThreadEngine(Engine):
    """Answers items with a plan whose judge is called like a function.

    Parameters
    ----------
    plan : JudgingPlan
        The judge and the rubric.
    settings : LiveSettings or None
        Batch size and time limit of a live judge; None in a run, which waits for the judge and ends
        when the judge raises.

    Notes
    -----
    *Order*: each answer belongs to its own item; batches follow each other. *Errors*: where a live
    judge raises, each item of the batch is asked about alone; an error or a value that is not a
    probability is then that item's failure. A thread that hangs is abandoned and replaced by
    another; after a few of these the judge is not asked until one of them returns. *Cancellation*:
    `close` waits for the batch that is being judged. *Memory*: the items that wait. *Retries and
    caching*: no others.
    """

    def __init__(self, plan: JudgingPlan, settings: LiveSettings | None) -> None:
        super().__init__()
        self._plan = plan
        self._is_run = settings is None
        self._size = RUN_ITEMS if settings is None else settings.batch_size
        deadline_s = math.inf if settings is None else settings.deadline_s
        self._bound_s = _DEADLINES * deadline_s
        self._queue: DeadlineQueue[ItemRequest] = DeadlineQueue(self._drop, patience_s=deadline_s)
        self._answers = ask_judge if settings is None else _ask_judge_safely
        self._thread: JudgeThread[Sequence[Item], list[ItemVerdict]] | None = None
        self._working: asyncio.Task[None] | None = None
        self._n_asked = self._n_calls = self._n_left = 0
        self._is_closed = False

    @property
    def state(self) -> LiveState:
        """State of the engine."""
        return LiveState(
            n_waiting=len(self._queue) + self._n_asked,
            n_calls=self._n_calls,
            n_failures=self._n_failures,
            is_broken=self._find_outage() is not None,
        )

    async def start(self) -> None:
        """Begin."""

    def submit(self, asked: Sequence[ItemRequest]) -> None:
        """Take items."""
        if (why := self._find_outage()) is not None:
            self._fail(asked, why)
            return
        self._queue.add(asked)
        if self._working is None:  # items that come at the same moment are judged together
            self._working = asyncio.get_running_loop().create_task(self._work())

    async def close(self, *, drain_s: float | None = None) -> None:
        """Take no more items, and wait `drain_s` seconds for the batch that is being judged."""
        self._is_closed = True
        self._fail(self._queue.clear(), CLOSED)
        if self._working is not None:
            working = self._working
            try:
                await asyncio.wait([working], timeout=drain_s)
            finally:
                working.cancel()
            await asyncio.wait([working])
        if self._thread is not None:
            self._thread.stop()
            self._thread = None

    def _find_outage(self) -> str | None:
        if self._is_closed:
            return CLOSED
        return _HANGS if self._n_left >= _MOST_LEFT else None

    async def _work(self) -> None:
        """Judge batch after batch, until no item waits."""
        batch: list[ItemRequest] = []
        try:
            while self.error is None and (batch := self._take_batch()):
                await self._judge(batch)
        finally:
            self._n_asked = 0
            self._working = None
            if self.error is None:
                self._fail(batch, CLOSED)  # where this was cancelled

    def _take_batch(self) -> list[ItemRequest]:
        batch: list[ItemRequest] = []
        at = asyncio.get_running_loop().time()
        while len(batch) < self._size and (asked := self._queue.next(at)) is not None:
            batch.append(asked)
        self._n_asked = len(batch)
        return batch

    async def _judge(self, batch: Sequence[ItemRequest]) -> None:
        if self._thread is None:
            self._thread = JudgeThread(partial(self._answers, plan=self._plan))
        self._n_calls += 1
        done = self._thread.ask([asked.item for asked in batch])
        bound_s = self._time_limit_s(batch)
        await asyncio.wait([done], timeout=None if math.isinf(bound_s) else bound_s)
        if not done.done():
            self._abandon_thread(done)
            self._fail(batch, f"the judge did not answer within {bound_s:.3g} s")
            return
        found = done.result()
        if isinstance(found, BaseException):
            self._handle_error(found, batch)
            return
        for asked, verdict in zip(batch, found, strict=True):
            self._n_failures += bool(verdict.failures)
            self._n_answered += 1
            asked.answer(verdict)

    def _handle_error(self, error: BaseException, batch: Sequence[ItemRequest]) -> None:
        """End the run with the judge's error, or fail the items concerned."""
        if not self._is_run:
            log_bug(error)
            self._fail(batch, f"the judge raised {type(error).__name__}")
            return
        if not isinstance(error, Exception):
            error = make_exit_error("a judge", error)
        self.end(error)

    def _time_limit_s(self, batch: Sequence[ItemRequest]) -> float:
        """Seconds that a batch may take: until no caller waits, and live at most a limit."""
        at = asyncio.get_running_loop().time()
        wanted = [each.deadline for each in batch if not math.isinf(each.deadline)]
        return max(self._bound_s, max(wanted, default=at) - at)

    def _abandon_thread(self, done: asyncio.Future[list[ItemVerdict] | BaseException]) -> None:
        """Replace a thread that hangs; it may still return later."""
        self._n_left += 1
        done.add_done_callback(self._note_return)
        if self._thread is not None:
            self._thread.stop()
            self._thread = None
        _log.warning("the judge hangs; its thread is abandoned (%d of them now)", self._n_left)
        if (why := self._find_outage()) is not None:
            self._fail(self._queue.clear(), why)

    def _note_return(self, _: object) -> None:
        self._n_left -= 1

    def _fail(self, several: Sequence[ItemRequest], why: str) -> None:
        verdict = failed_verdict(len(self._plan.rubric.questions), why)
        for asked in several:
            if not asked.is_answered:
                self._n_failures += 1
                asked.answer(verdict)

    def _drop(self, asked: ItemRequest) -> None:
        self._fail([asked], LATE)


class JudgeThread(Generic[T, R]):
    """A daemon thread for one judge: does one task after another.

    Parameters
    ----------
    work : callable
        Called in the thread with the task.
    """

    def __init__(self, work: Callable[[T], R]) -> None:
        self._work = work
        self._todo: SimpleQueue[tuple[T, asyncio.Future[R | BaseException]] | None] = SimpleQueue()
        thread = threading.Thread(target=self._serve, name="voirdire-judge", daemon=True)
        thread.start()

    def ask(self, task: T) -> asyncio.Future[R | BaseException]:
        """Do a task in the thread; return its result or raise its error."""
        done: asyncio.Future[R | BaseException] = asyncio.get_running_loop().create_future()
        self._todo.put((task, done))
        return done

    def stop(self) -> None:
        """Let the thread end after its current task."""
        self._todo.put(None)

    def _serve(self) -> None:
        while (given := self._todo.get()) is not None:
            task, done = given
            found: R | BaseException
            try:
                found = self._work(task)
            except BaseException as raised:  # noqa: BLE001  # the waiting task handles it
                found = raised
            with contextlib.suppress(RuntimeError):  # the loop has ended, so no task waits
                done.get_loop().call_soon_threadsafe(_settle, done, found)
            del given, task, done, found  # keep no references while it waits


def _settle(done: asyncio.Future[R | BaseException], found: R | BaseException) -> None:
    if not done.done():
        done.set_result(found)


def ask_judge(items: Sequence[Item], plan: JudgingPlan) -> list[ItemVerdict]:
    """Ask a judge about all items in one call."""
    return _make_verdicts(ask_in_process(items, plan), plan, faults={})


def _ask_judge_safely(items: Sequence[Item], plan: JudgingPlan) -> list[ItemVerdict]:
    """Ask a judge about all items in one call; one by one if that raises."""
    why = _SHAPE
    try:
        given = np.asarray(plan.judge.probabilities(items), dtype=np.float64)  # type: ignore[attr-defined]  # a judge in process
        is_whole = given.shape == (len(items), len(plan.judge.questions))
    except Exception as error:  # noqa: BLE001  # a fault of the judge: each item records it
        is_whole = False
        if len(items) == 1:
            log_bug(error)
            why = f"the judge raised {type(error).__name__}"
    if is_whole:
        found = given[:, list(plan.columns)]
        outside = np.flatnonzero(((found < 0) | (found > 1)).any(axis=1)).tolist()
        return _make_verdicts(found, plan, faults=dict.fromkeys(outside, _OUTSIDE))
    if len(items) > 1:
        return [verdict for item in items for verdict in _ask_judge_safely([item], plan)]
    return [failed_verdict(len(plan.rubric.questions), why)]


def _make_verdicts(
    found: NDArray[np.float64], plan: JudgingPlan, *, faults: dict[int, str]
) -> list[ItemVerdict]:
    """Make verdicts with the probabilities at the places of the propositions."""
    questions = plan.rubric.questions
    n_questions = len(questions)
    asked = [place for place, row in enumerate(questions) if row.kind == "boolean"]
    missing = np.isnan(found.sum(axis=1)).tolist()
    no_number = Failure(reason=_NO_NUMBER)
    verdicts: list[ItemVerdict] = []
    for row, given in enumerate(found.tolist()):
        if row in faults:
            verdicts.append(failed_verdict(n_questions, faults[row]))
            continue
        values = given
        if missing[row]:
            values = [None if math.isnan(value) else value for value in given]
        if len(asked) < n_questions:
            placed: list[float | None] = [None] * n_questions
            for place, value in zip(asked, values, strict=True):
                placed[place] = value
            values = placed
        failures = tuple((k, no_number) for k in asked if values[k] is None)
        verdicts.append(ItemVerdict(values=tuple(values), failures=failures))
    return verdicts
