"""Makes each call that items wait for once, with as many workers as it takes."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from voirdire.judging.client import ClaimedElsewhereError, Client, Outcome
from voirdire.judging.engine.bugs import foreign_exit
from voirdire.judging.engine.queues import DeadlineQueue
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

    from voirdire.judging.bound import BoundJudge
    from voirdire.judging.client import Call, ClientState, ReplyLog
    from voirdire.judging.engine.batch import Batch, Unit, UnitName
    from voirdire.judging.engine.service_queue import Clients

__all__ = [
    "CLOSED",
    "LATE",
    "CallQueue",
    "Job",
    "LookUp",
    "RunQueue",
    "Stored",
    "is_cancelled",
    "now",
]

Stored: TypeAlias = "Mapping[bytes, Mapping[str, Sequence[bytes]]]"
"""What is stored of items by their hashes: attempts by the name of their call."""

LookUp: TypeAlias = "Callable[[Sequence[bytes]], Awaitable[Stored]]"
"""Gives what is stored of items by their hashes."""

LATE = "no verdict within the deadline"
"""Why an item has no verdict whose answer may still come, for the next time it is asked about."""

CLOSED = "the judge is closed"

_FIRST_LOOK_S, _LONGEST_LOOK_S = 0.05, 1.0
"""Seconds between two looks for what another run has called."""

_CANCELLED_S = 40.0
"""Who is cancelled may still commit what came, and is waited for so long."""


@dataclass(eq=False, slots=True)
class Job:
    """Calls to make, and all units that wait for what comes of them.

    Attributes
    ----------
    name : tuple
        What is called; two jobs of one name at a time would pay twice.
    units : list of Unit
        Who waits, the first of them with the calls to make.
    found : list of Outcome or None
        What came of the calls that another run has made meanwhile; empty where none was looked for.
    """

    name: UnitName
    units: list[Unit]
    found: list[Outcome[Any] | None] = field(default_factory=list)

    @property
    def calls(self) -> Sequence[Call[Any]]:
        """What is called."""
        return self.units[0].calls

    @property
    def stored(self) -> list[Sequence[bytes]]:
        """For every call its attempts that are stored."""
        unit = self.units[0]
        return [unit.stored.get(call.name, ()) for call in unit.calls]

    @property
    def deadline(self) -> float:
        """When the last who waits for it gives up."""
        return max([unit.deadline for unit in self.units])

    @property
    def is_answered(self) -> bool:
        """Whether nobody can get an answer from it any more."""
        return all(unit.is_answered for unit in self.units)


class CallQueue(ABC):
    """Makes the calls that items wait for, within the limits of their judge.

    Attributes
    ----------
    reader : Client
        One that reads what is stored.
    """

    reader: Client

    def __init__(self, bound: BoundJudge, *, look_up: LookUp) -> None:
        self._look_up = look_up
        self._elsewhere: list[Job] = []
        limits = bound.judge.limits
        self._most_workers, self.jobs_together = limits.concurrency, 1
        self._queue: DeadlineQueue[Job] = DeadlineQueue(self._drop, patience_s=limits.timeout_s)
        self._jobs: dict[UnitName, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._n_working = 0

    @abstractmethod
    def start(self, log: ReplyLog | None) -> None:
        """Begin; every reply is kept in the log before it is used, where there is one."""

    @property
    @abstractmethod
    def spending(self) -> ClientState | Clients:
        """What was called and spent."""

    def rests(self, at: float) -> bool:  # noqa: ARG002  # a run ends instead
        """Whether nothing is called at a time of the event loop."""
        return False

    async def watch_store(self, read: Callable[[], Awaitable[Stored]]) -> Stored:
        """Read the store."""
        return await read()

    @abstractmethod
    def give_up(self, batch: Batch | None, error: BaseException) -> None:
        """Draw the consequences of what was raised where a batch began."""

    def reuse(
        self, call: Call[Any], blobs: Sequence[bytes], *, retry_failures: bool = False
    ) -> Outcome[Any] | None:
        """Give what stored attempts at a call come to; None where it must be called."""
        return self.reader.reuse(call, blobs, retry_failures=retry_failures)

    def add(self, units: Sequence[Unit], *, first: bool = False) -> None:
        """Have units called; calls that are under way already are only waited for."""
        if new := self._new_jobs(units):
            self._queue.add(new, first=first)
            self._start_workers()

    @abstractmethod
    def stop(self) -> None:
        """Begin nothing more; what is sent comes to its end."""

    async def close(self, *, drain_s: float | None) -> None:
        """Begin nothing more, wait so long for what is sent, then cancel it; None waits on."""
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
        """Have as many workers as there is work for."""
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
            while jobs := self._take_jobs():
                await self._answer(jobs)
        finally:
            self._n_working -= 1

    def _take_jobs(self) -> list[Job]:
        jobs: list[Job] = []
        while len(jobs) < self.jobs_together and (job := self._queue.next(now())) is not None:
            jobs.append(job)
        return jobs

    @abstractmethod
    async def _answer(self, jobs: Sequence[Job]) -> Sequence[Outcome[Any]]:
        """Take jobs to their end, whatever happens; give what came of the calls, if anything."""

    async def _outcomes(self, client: Client, jobs: Sequence[Job]) -> Sequence[Outcome[Any]]:
        calls = [call for job in jobs for call in job.calls]
        stored = [blobs for job in jobs for blobs in job.stored]
        found = [each for job in jobs for each in job.found or [None] * len(job.calls)]
        left = [place for place, outcome in enumerate(found) if outcome is None]
        answers = iter(
            await client.answer([calls[k] for k in left], stored=[stored[k] for k in left])
        )
        return [next(answers) if outcome is None else outcome for outcome in found]

    def _wait_for_others(self, jobs: Sequence[Job]) -> None:
        """Look from time to time for what another run makes just now."""
        self._elsewhere += jobs
        if len(self._elsewhere) == len(jobs):
            self._begin(self._poll_claimed_jobs())

    async def _poll_claimed_jobs(self) -> None:
        """Give calls that others made to those who wait, or try to make them after all."""
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
                    self._deliver([job], job.found)  # type: ignore[arg-type]  # each is there
                else:
                    self._queue.add([job], first=True)
            self._start_workers()

    @abstractmethod
    def _handle_error(self, jobs: Sequence[Job], error: Exception) -> None:
        """Draw the consequences of an error that concerns every call."""

    def _deliver(self, jobs: Sequence[Job], outcomes: Sequence[Outcome[Any]]) -> None:
        """Hand the outcomes to everybody who waits, and have called what follows."""
        given = iter(outcomes)
        for job in jobs:
            self._jobs.pop(job.name, None)
            found = [next(given) for _ in job.calls]
            following = [each for unit in job.units for each in unit.batch.deliver(unit, found)]
            if following:
                self.add(following, first=True)  # what finishes an item comes before another item

    def _fail(self, jobs: Sequence[Job], why: str) -> None:
        """Tell everybody who waits that nothing comes."""
        outcome: Outcome[Any] = Outcome(failure=Failure(reason=why))
        for job in jobs:
            self._jobs.pop(job.name, None)
            for unit in job.units:
                unit.batch.fail(unit, outcome)

    def _drop(self, job: Job) -> None:
        self._fail([job], LATE)


class RunQueue(CallQueue):
    """The calls of a run: what concerns every call ends it."""

    def __init__(
        self, bound: BoundJudge, *, look_up: LookUp, end: Callable[[BaseException], None]
    ) -> None:
        super().__init__(bound, look_up=look_up)
        self._end = end
        judge = bound.judge
        self.reader = Client(judge.chat_model, limits=judge.limits, price=judge.known_price)
        self._is_stopped = False

    def start(self, log: ReplyLog | None) -> None:
        """Begin; every reply is kept in the log before it is used, where there is one."""
        self.reader.log = log

    @property
    def spending(self) -> ClientState:
        """What was called and spent."""
        return self.reader.state

    def give_up(self, batch: Batch | None, error: BaseException) -> None:  # noqa: ARG002  # all end
        """End the run with an error."""
        if not isinstance(error, Exception):
            raise error
        self._end(error)

    def stop(self) -> None:
        """Begin nothing more; what is sent comes to its end."""
        self._is_stopped = True
        self._queue.clear()
        self._elsewhere.clear()
        self.reader.stop()

    def add(self, units: Sequence[Unit], *, first: bool = False) -> None:
        """Have units called, unless the run has ended."""
        if not self._is_stopped:
            super().add(units, first=first)

    async def close(self, *, drain_s: float | None) -> None:
        """Wait for what is sent; nobody is told of what was not begun."""
        self.stop()
        self._jobs.clear()
        await super().close(drain_s=drain_s)

    async def _answer(self, jobs: Sequence[Job]) -> Sequence[Outcome[Any]]:
        try:
            outcomes = await self._outcomes(self.reader, jobs)
            self._deliver(jobs, outcomes)
        except ClaimedElsewhereError:
            self._wait_for_others(jobs)
            return ()
        except Exception as error:  # noqa: BLE001  # raised again where results are waited for
            self._end(error)
            return ()
        except BaseException as error:
            if is_cancelled():
                raise
            self._end(foreign_exit("a model", error))
            return ()
        return outcomes

    def _handle_error(self, jobs: Sequence[Job], error: Exception) -> None:  # noqa: ARG002  # all end
        self._end(error)


def now() -> float:
    """Give the time of the running event loop."""
    return asyncio.get_running_loop().time()


def is_cancelled() -> bool:
    """Whether this task itself was cancelled, and not only something in it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
