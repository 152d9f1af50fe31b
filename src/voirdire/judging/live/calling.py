"""Calls of a live judge: made by as many workers as it takes, and none while it is out of order."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from voirdire.errors import CostLimitReachedError, ModelCallError, StoppedError
from voirdire.judging.client.breaker import CircuitBreaker
from voirdire.judging.client.limits import LONGEST_WAIT_S
from voirdire.judging.live.answers import CLOSED, LATE
from voirdire.judging.live.bugs import tell_bug
from voirdire.judging.live.callers import Callers
from voirdire.judging.live.job import Job, job_name
from voirdire.judging.live.line import Line
from voirdire.models import BatchChatModel

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from voirdire.judging.client.call import Outcome
    from voirdire.judging.client.client import Client
    from voirdire.judging.live.job import JobName
    from voirdire.judging.live.settings import LiveSettings
    from voirdire.judging.live.stretch import Stretch
    from voirdire.judging.llm.bound_judge import BoundJudge
    from voirdire.judging.llm.chunk import Unit
    from voirdire.store import GroupCommit, StoredCall

__all__ = ["Calling"]

SPENT = "the judge has spent its `max_cost`"
_JOBS_TOGETHER = 16
"""Items that a model in this process is asked about in one batch."""

_BATCHES = 2
"""One that is worked on, and one that waits for its turn while others gather."""

_CANCELLED_S = 40.0
"""Who is cancelled may still commit what came, and is waited for so long."""


class NotStoredError(Exception):
    """A reply came, and the store did not take it."""


_OUT_OF_ORDER = "the judge is out of order"
_ENDING = (StoppedError, ModelCallError, NotStoredError)
"""What concerns every call, and not those in which it was met."""

_log = logging.getLogger("voirdire")


class Calling:
    """Makes the calls that live items wait for, each once, within the limits of the judge.

    Parameters
    ----------
    bound : BoundJudge
        Who is called.
    settings : LiveSettings
        How long it rests when it is out of order, and how long a trial may take.

    Attributes
    ----------
    callers : Callers
        Who makes the calls.

    Raises
    ------
    InputError
        If the limits hold a cost and nobody knows the price.

    Notes
    -----
    After a rest the next call tries whether the judge works again: one try, nothing of which is
    kept if it fails for a reason that may pass. Whoever asks meanwhile is refused at once, as
    during the rest, save for what waits for this very call. Nobody knows yet whether more than a
    refusal would come of waiting, and who waited for a server that hangs would wait in vain.
    """

    def __init__(self, bound: BoundJudge, *, settings: LiveSettings) -> None:
        judge = bound.judge
        self.callers = Callers(judge)
        self._commit: GroupCommit | None = None
        self.together = isinstance(judge.model, BatchChatModel)
        most = judge.limits.concurrency
        # A call that waits until it is made again leaves its place in the caller to others.
        self._most_workers = min(most, _BATCHES) if self.together else 2 * most
        self._line: Line[Job] = Line(self._drop, patience_s=judge.limits.timeout_s)
        self._jobs: dict[JobName, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._n_working = 0
        self._breaker = CircuitBreaker(settings.rest_s)
        self._trial_s = settings.deadline_s
        self._is_trying = False
        self._last = _OUT_OF_ORDER  # why the last of the callers was given up
        self._end: str | None = None

    def start(self, commit: GroupCommit | None) -> None:
        """Store what comes from now on; None stores nothing."""
        self._commit = commit
        self.callers.commit = None if commit is None else self._committed

    def out_of_order(self, now: float) -> str | None:
        """Say why nothing is called at a time of the event loop; None where something would be."""
        return self._end or (self._breaker.reason if self._is_trying else self._breaker.rests(now))

    def add(self, stretch: Stretch, units: Sequence[Unit]) -> None:
        """Have units called; calls that are under way already are only waited for."""
        new: list[Job] = []
        for unit in units:
            name = job_name(unit)
            if (job := self._jobs.get(name)) is not None:
                job.parts.append((stretch, unit))
            else:
                job = self._jobs[name] = Job(name, [(stretch, unit)])
                new.append(job)
        if (why := self.out_of_order(_now())) is not None:
            self._fail(new, why)
        elif self._breaker.reason is not None:
            self._begin_trial(new)
        else:
            self._line.add(new)
            self._feed()

    def stop(self) -> None:
        """Begin nothing more; what is sent comes to its end."""
        self._end_with(CLOSED)
        self.callers.give_up()

    async def close(self, *, drain_s: float) -> None:
        """Begin nothing more, wait so long for what is sent, then cancel it."""
        self.stop()
        try:
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=drain_s)
        finally:
            for task in self._tasks:
                task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CANCELLED_S)
        self._fail(list(self._jobs.values()), CLOSED)

    def _feed(self) -> None:
        """Have as many workers as there is work for."""
        for _ in range(min(len(self._line), self._most_workers - self._n_working)):
            self._n_working += 1
            self._begin(self._work())

    def _begin_trial(self, jobs: Sequence[Job]) -> None:
        """Try whether the judge works again with one of the jobs, and refuse the others."""
        if not jobs:
            return
        now = _now()
        trial = next((job for job in jobs if job.wanted_until > now), jobs[0])
        self._is_trying = True
        self._begin(self._try(trial))
        self._fail([job for job in jobs if job is not trial], str(self._breaker.reason))

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self) -> None:
        """Work on jobs until there are none, or the judge is out of order."""
        try:
            while self._breaker.reason is None and (jobs := self._taken()):
                await self._answer(jobs)
        finally:
            self._n_working -= 1

    async def _try(self, job: Job) -> None:
        """Make one call and see whether the judge works again."""
        why = str(self._breaker.reason)
        try:
            if await self._answer([job], is_trial=True):
                self.callers.give_up()  # from here on with one that makes calls again
                self._breaker.mend()
                _log.warning("the judge works again")
        finally:
            self._is_trying = False
        if self._breaker.reason is not None and self.out_of_order(_now()) is None:
            self._trip(why)

    def _taken(self) -> list[Job]:
        jobs: list[Job] = []
        most = _JOBS_TOGETHER if self.together else 1
        while len(jobs) < most and (job := self._line.next(_now())) is not None:
            jobs.append(job)
        return jobs

    async def _answer(
        self, jobs: Sequence[Job], *, is_trial: bool = False
    ) -> Sequence[Outcome[Any]]:
        """Take jobs to their end, whatever happens; give what came of the calls, if anything."""
        if self.callers.is_spent:
            self._end_with(SPENT)
        if (why := self._end if is_trial else self.out_of_order(_now())) is not None:
            self._fail(jobs, why)
            return ()
        caller = self.callers.trial(timeout_s=self._trial_s) if is_trial else self.callers.current()
        try:
            outcomes = await self._outcomes(caller, jobs)
        except KeyboardInterrupt:
            self._fail(jobs, CLOSED)
            raise
        except BaseException as error:
            if _is_told_to_stop():
                self._fail(jobs, CLOSED)
                raise
            if len(jobs) > 1 and not isinstance(error, _ENDING):  # one of them may be to blame
                return [found for job in jobs for found in await self._answer([job])]
            self._fail(jobs, self._reason(caller, error))
            return ()
        given = iter(outcomes)
        for job in jobs:
            self._jobs.pop(job.name, None)
            job.deliver([next(given) for _ in job.calls])
        return outcomes

    async def _outcomes(self, caller: Client, jobs: Sequence[Job]) -> Sequence[Outcome[Any]]:
        calls = [call for job in jobs for call in job.calls]
        stored = [blobs for job in jobs for blobs in job.stored]
        if self.together:
            return await caller.answer_together(calls, stored=stored)
        return [await caller.answer(calls[0], stored=stored[0])]

    async def _committed(self, call: StoredCall) -> None:
        if self._commit is None:
            return
        try:
            await self._commit.put(call)
        except Exception as error:
            raise NotStoredError from error

    def _reason(self, caller: Client, error: BaseException) -> str:
        """Draw the consequences of an error; say to those concerned what it was."""
        if isinstance(error, CostLimitReachedError):
            self._end_with(SPENT)
        elif isinstance(error, NotStoredError | ModelCallError):
            if self.callers.is_current(caller):
                self._trip(_out_of_order(error), error=error)
        elif not isinstance(error, StoppedError):
            tell_bug(error)
            return f"the judge raised {type(error).__name__}"
        return self.out_of_order(_now()) or self._last

    def _trip(self, why: str, *, error: BaseException | None = None) -> None:
        """Begin nothing for a while."""
        self._last = why
        asked_s = getattr(error, "retry_after_s", None) or 0.0
        self._breaker.trip(why, now=_now(), at_least_s=min(asked_s, LONGEST_WAIT_S))
        status = getattr(error, "status", None)
        _log.warning("%s%s", why, "" if status is None else f" (HTTP {status})")
        self.callers.give_up()
        self._fail(self._line.clear(), why)

    def _end_with(self, why: str) -> None:
        """Begin nothing for ever."""
        self._end = why
        self._fail(self._line.clear(), why)

    def _fail(self, jobs: Sequence[Job], why: str) -> None:
        for job in jobs:
            self._jobs.pop(job.name, None)
            job.fail(why)

    def _drop(self, job: Job) -> None:
        self._fail([job], LATE)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_told_to_stop() -> bool:
    """Whether this task itself was cancelled, and not only something in it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _out_of_order(error: BaseException) -> str:
    what = "the store takes nothing" if isinstance(error, NotStoredError) else type(error).__name__
    return f"{_OUT_OF_ORDER}: {what}"
