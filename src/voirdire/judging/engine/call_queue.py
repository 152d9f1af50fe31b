"""Queues the calls that items wait for, and makes each of them once."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from voirdire.judging.client import ClaimedElsewhereError, Client, Outcome
from voirdire.judging.engine.port import make_exit_error
from voirdire.judging.engine.queues import DeadlineQueue
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

    from voirdire.judging.binding import BoundJudge
    from voirdire.judging.client import Call, ClientState, ReplyLog
    from voirdire.judging.engine.batch import Batch, Unit, UnitName

__all__ = [
    "CLOSED",
    "LATE",
    "CallQueue",
    "Job",
    "LookUp",
    "RunQueue",
    "Spending",
    "Stored",
    "is_cancelled",
    "now",
]

Stored: TypeAlias = "Mapping[bytes, Mapping[str, Sequence[bytes]]]"
"""Stored attempts by item hash, then by the name of the call."""

LookUp: TypeAlias = "Callable[[Sequence[bytes]], Awaitable[Stored]]"
"""Returns the stored attempts for item hashes."""

LATE = "no verdict within the deadline"
"""Reason of a failure whose reply may still come, for the next time the item is asked about."""

CLOSED = "the judge is closed"

_FIRST_LOOK_S, _LONGEST_LOOK_S = 0.05, 1.0
"""Seconds between two checks for calls that another run makes."""

_CANCELLED_S = 40.0
"""Seconds that cancelled workers get to store the replies that came."""


class Spending(Protocol):
    """Number and cost of calls."""

    @property
    def n_calls(self) -> int:
        """Calls so far."""

    @property
    def cost(self) -> float | None:
        """US dollars so far; None where the price is not known."""


@dataclass(eq=False, slots=True)
class Job:
    """Calls to make, and all units that wait for their outcomes.

    Attributes
    ----------
    name : tuple
        Names the calls; two jobs with one name at the same time would pay twice.
    units : list of Unit
        The units that wait; the first one has the calls to make.
    found : list of Outcome or None
        Outcomes of calls that another run has made; empty where none was looked for.
    """

    name: UnitName
    units: list[Unit]
    found: list[Outcome[Any] | None] = field(default_factory=list)

    @property
    def calls(self) -> Sequence[Call[Any]]:
        """The calls."""
        return self.units[0].calls

    @property
    def stored(self) -> list[Sequence[bytes]]:
        """The stored attempts of every call."""
        unit = self.units[0]
        return [unit.stored.get(call.name, ()) for call in unit.calls]

    @property
    def deadline(self) -> float:
        """When the last caller stops waiting for it."""
        return max([unit.deadline for unit in self.units])

    @property
    def is_answered(self) -> bool:
        """Whether no caller can get an answer from it any more."""
        return all(unit.is_answered for unit in self.units)


class CallQueue(ABC):
    """Makes the calls that items wait for, within the limits of the judge.

    Attributes
    ----------
    reader : Client
        Reads stored replies; makes no calls.
    """

    reader: Client

    def __init__(self, bound: BoundJudge, *, look_up: LookUp) -> None:
        self._look_up = look_up
        self._elsewhere: list[Job] = []
        limits = bound.judge.limits
        self._most_workers = limits.concurrency
        self._queue: DeadlineQueue[Job] = DeadlineQueue(self._drop, patience_s=limits.timeout_s)
        self._jobs: dict[UnitName, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._n_working = 0

    @abstractmethod
    def start(self, log: ReplyLog | None) -> None:
        """Start; where there is a log, every reply is stored in it before it is used."""

    @property
    @abstractmethod
    def spending(self) -> Spending:
        """Number and cost of the calls so far."""

    def is_resting(self, at: float) -> bool:  # noqa: ARG002  # a run ends instead
        """Whether no calls are made at this time of the event loop."""
        return False

    async def watch_store(self, read: Callable[[], Awaitable[Stored]]) -> Stored:
        """Read the store."""
        return await read()

    @abstractmethod
    def give_up(self, batch: Batch | None, error: BaseException) -> None:
        """Handle an error that was raised when a batch began."""

    def reuse(
        self, call: Call[Any], blobs: Sequence[bytes], *, retry_failures: bool = False
    ) -> Outcome[Any] | None:
        """Return the outcome of stored attempts; None where the call must be made."""
        return self.reader.reuse(call, blobs, retry_failures=retry_failures)

    def add(self, units: Sequence[Unit], *, first: bool = False) -> None:
        """Queue the calls of units; a unit whose calls are already queued waits for those."""
        if new := self._new_jobs(units):
            self._queue.add(new, first=first)
            self._start_workers()

    @abstractmethod
    def stop(self) -> None:
        """Begin no more calls; calls that are sent may finish."""

    async def close(self, *, drain_s: float | None) -> None:
        """Begin no more calls, wait `drain_s` seconds for those that are sent, then cancel them.

        None waits without limit.
        """
        self.stop()
        try:
            while self._tasks and drain_s is None:
                await asyncio.wait(self._tasks)
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=drain_s)
        finally:
            for task in self._tasks:
                task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CANCELLED_S)
        self._fail(list(self._jobs.values()), CLOSED)

    def _new_jobs(self, units: Sequence[Unit]) -> list[Job]:
        new: list[Job] = []
        for unit in units:
            name = unit.name
            if (job := self._jobs.get(name)) is not None:
                job.units.append(unit)
            else:
                job = self._jobs[name] = Job(name, [unit])
                new.append(job)
        return new

    def _start_workers(self) -> None:
        """Start as many workers as there is work for."""
        for _ in range(min(len(self._queue), self._most_workers - self._n_working)):
            self._n_working += 1
            self._begin(self._work())

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self) -> None:
        """Work on jobs until there are none."""
        try:
            while (job := self._next_job()) is not None:
                await self._answer(job)
        finally:
            self._n_working -= 1

    def _next_job(self) -> Job | None:
        return self._queue.next(now())

    @abstractmethod
    async def _answer(self, job: Job) -> Sequence[Outcome[Any]]:
        """Make the calls of a job and deliver the outcomes; return them, or nothing."""

    async def _outcomes(self, client: Client, job: Job) -> Sequence[Outcome[Any]]:
        calls, stored = job.calls, job.stored
        found = job.found or [None] * len(calls)
        left = [place for place, outcome in enumerate(found) if outcome is None]
        answers = iter(
            await client.answer([calls[k] for k in left], stored=[stored[k] for k in left])
        )
        return [next(answers) if outcome is None else outcome for outcome in found]

    def _wait_for_others(self, job: Job) -> None:
        """Check from time to time for the calls that another run makes now."""
        self._elsewhere.append(job)
        if len(self._elsewhere) == 1:
            self._begin(self._poll_claimed_jobs())

    async def _poll_claimed_jobs(self) -> None:
        """Deliver the calls that another run has made; queue the others to be made here."""
        wait_s = _FIRST_LOOK_S
        while self._elsewhere:
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_LOOK_S)
            jobs, self._elsewhere = self._elsewhere, []
            try:
                stored = await self._look_up([unit.key for job in jobs for unit in job.units])
            except Exception as error:  # noqa: BLE001  # as where items are looked up
                self._handle_error(jobs, error)
                continue
            for job in jobs:
                for unit in job.units:
                    unit.stored = stored.get(unit.key, unit.stored)
                pairs = zip(job.calls, job.stored, strict=True)
                job.found = [self.reuse(call, blobs) if blobs else None for call, blobs in pairs]
                if None not in job.found:
                    self._deliver(job, job.found)  # type: ignore[arg-type]  # each is there
                else:
                    self._queue.add([job], first=True)
            self._start_workers()

    @abstractmethod
    def _handle_error(self, jobs: Sequence[Job], error: Exception) -> None:
        """Handle an error that concerns every call."""

    def _deliver(self, job: Job, outcomes: Sequence[Outcome[Any]]) -> None:
        """Deliver the outcomes to all units that wait, and queue the calls that follow."""
        self._jobs.pop(job.name, None)
        following = [each for unit in job.units for each in unit.batch.deliver(unit, outcomes)]
        if following:
            self.add(following, first=True)  # finish this item before the next one begins

    def _fail(self, jobs: Sequence[Job], why: str) -> None:
        """Deliver a failure to all units that wait."""
        outcome: Outcome[Any] = Outcome(failure=Failure(reason=why))
        for job in jobs:
            self._jobs.pop(job.name, None)
            for unit in job.units:
                unit.batch.fail(unit, outcome)

    def _drop(self, job: Job) -> None:
        self._fail([job], LATE)


class RunQueue(CallQueue):
    """The calls of a run. An error that concerns every call ends the run."""

    def __init__(
        self, bound: BoundJudge, *, look_up: LookUp, end: Callable[[BaseException], None]
    ) -> None:
        super().__init__(bound, look_up=look_up)
        self._end = end
        judge = bound.judge
        self.reader = Client(judge.chat_model, limits=judge.limits, price=judge.known_price)
        self._is_stopped = False

    def start(self, log: ReplyLog | None) -> None:
        """Start; where there is a log, every reply is stored in it before it is used."""
        self.reader.log = log

    @property
    def spending(self) -> ClientState:
        """Number and cost of the calls so far."""
        return self.reader.state

    def give_up(self, batch: Batch | None, error: BaseException) -> None:  # noqa: ARG002  # all end
        """End the run with an error."""
        if not isinstance(error, Exception):
            raise error
        self._end(error)

    def stop(self) -> None:
        """Begin no more calls; calls that are sent may finish."""
        self._is_stopped = True
        self._queue.clear()
        self._elsewhere.clear()
        self.reader.stop()

    def add(self, units: Sequence[Unit], *, first: bool = False) -> None:
        """Have units called, unless the run has ended."""
        if not self._is_stopped:
            super().add(units, first=first)

    async def close(self, *, drain_s: float | None) -> None:
        """Wait for the calls that are sent; calls that were not begun get no outcome."""
        self.stop()
        self._jobs.clear()
        await super().close(drain_s=drain_s)

    async def _answer(self, job: Job) -> Sequence[Outcome[Any]]:
        try:
            outcomes = await self._outcomes(self.reader, job)
            self._deliver(job, outcomes)
        except ClaimedElsewhereError:
            self._wait_for_others(job)
            return ()
        except Exception as error:  # noqa: BLE001  # raised again where results are waited for
            self._end(error)
            return ()
        except BaseException as error:
            if is_cancelled():
                raise
            self._end(make_exit_error("a model", error))
            return ()
        return outcomes

    def _handle_error(self, jobs: Sequence[Job], error: Exception) -> None:  # noqa: ARG002  # all end
        self._end(error)


def now() -> float:
    """Return the time of the running event loop."""
    return asyncio.get_running_loop().time()


def is_cancelled() -> bool:
    """Whether this task itself was cancelled, and not only something that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
