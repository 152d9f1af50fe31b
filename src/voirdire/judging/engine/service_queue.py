"""Makes the calls of a live judge, and makes none while the judge is out of order."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voirdire.errors import CostLimitReachedError, ModelCallError, StoppedError
from voirdire.judging.client import ClaimedElsewhereError, Client, Outcome
from voirdire.judging.client.failures import CircuitBreaker
from voirdire.judging.client.limits import LONGEST_WAIT_S
from voirdire.judging.engine.call_queue import (
    CLOSED,
    CallQueue,
    Job,
    LookUp,
    Stored,
    is_cancelled,
    now,
)
from voirdire.judging.engine.port import log_bug
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from voirdire.judging.bound import BoundJudge
    from voirdire.judging.client import Call, ClientState, ReplyLog
    from voirdire.judging.engine.batch import Batch, Unit
    from voirdire.judging.model_settings import LlmJudge
    from voirdire.judging.settings import LiveSettings
    from voirdire.store import StoredCall

__all__ = ["SPENT", "Clients", "ServiceQueue"]

SPENT = "the judge has spent its `max_cost`"
_OUT_OF_ORDER = "the judge is out of order"
_UNREADABLE = "the store cannot be read"
_log = logging.getLogger("voirdire")


class NotStoredError(Exception):
    """The store accepts no reply, or no claim of a call."""


class _NoStoreError(Exception):
    """The store cannot be read; the message is the reason of the failures."""


class _GuardedLog:
    """A log whose errors differ from those of the model."""

    def __init__(self, log: ReplyLog) -> None:
        self._log = log
        self.release = log.release

    async def put(self, call: StoredCall) -> None:
        try:
            await self._log.put(call)
        except Exception as error:
            raise NotStoredError from error

    async def claim(self, item: bytes, name: str, *, attempt: int) -> bool:
        try:
            return await self._log.claim(item, name, attempt=attempt)
        except Exception as error:
            raise NotStoredError from error


class Clients:
    """Makes a new client where none works, and sums up the calls of all clients."""

    def __init__(self, judge: LlmJudge) -> None:
        self._judge = judge
        self.log: ReplyLog | None = None
        self._old: list[Client] = []
        self._n_calls, self._cost, self._perhaps = 0, 0.0, 0.0
        self.reader = self._make_client(
            judge.limits.max_cost
        )  # reads stored replies; makes no calls
        self._current: Client | None = None

    @property
    def n_calls(self) -> int:
        """Calls of all clients."""
        return self._n_calls + sum(state.n_calls for state in self._states())

    @property
    def cost(self) -> float | None:
        """US dollars that all clients spent; None where the price is not known."""
        if self.reader.state.cost is None:
            return None
        return self._cost + sum(state.cost or 0.0 for state in self._states())

    @property
    def is_spent(self) -> bool:
        """Whether the cost limit is reached."""
        return self._remaining_cost is not None and self._remaining_cost <= 0

    def is_current(self, client: Client) -> bool:
        """Return whether a client is the one in use."""
        return client is self._current

    def current(self, *, trial_s: float = math.inf) -> Client:
        """Return the client in use, or a new one; None once the cost limit is reached.

        For a trial, a new client makes one try of at most `trial_s` seconds.
        """
        if trial_s < math.inf:
            self.give_up()
        if self._current is None:
            self._current = self._make_client(self._remaining_cost, trial_s=trial_s)
        return self._current

    def give_up(self) -> None:
        """Let the calls of the client in use finish, and begin no more with it."""
        if self._current is not None:
            self._current.stop()
            self._old.append(self._current)
            self._current = None
        self._add_up()

    @property
    def _remaining_cost(self) -> float | None:
        most = self._judge.limits.max_cost
        if most is None:
            return None
        perhaps = self._perhaps + sum(state.perhaps_cost for state in self._states())
        return most - (self.cost or 0.0) - perhaps

    def _make_client(self, max_cost: float | None, *, trial_s: float = math.inf) -> Client:
        limits = self._judge.limits
        limits = replace(limits, max_cost=max_cost, timeout_s=min(trial_s, limits.timeout_s))
        return Client(
            self._judge.chat_model,
            limits=limits,
            log=self.log,
            price=self._judge.known_price,
            is_trial=trial_s < math.inf,
            ends_hopeless=False,
        )

    def _states(self) -> list[ClientState]:
        clients = self._old if self._current is None else [*self._old, self._current]
        return [client.state for client in clients]

    def _add_up(self) -> None:
        """Keep only the sums of finished clients: a live judge runs for months."""
        under_way: list[Client] = []
        for client in self._old:
            state = client.state
            if state.n_in_flight:
                under_way.append(client)
                continue
            self._n_calls += state.n_calls
            self._cost += state.cost or 0.0
            self._perhaps += state.perhaps_cost
        self._old = under_way


class ServiceQueue(CallQueue):
    """The calls of a live judge.

    An error that concerns every call pauses the judge for a while. After the pause, one call tries
    whether the judge works again. Nothing of this try is stored if it fails for a reason that may
    pass. Other requests are refused at once, during the pause and during the try: a caller that
    waited for a server that hangs would wait in vain.
    """

    def __init__(self, bound: BoundJudge, *, look_up: LookUp, settings: LiveSettings) -> None:
        super().__init__(bound, look_up=look_up)
        # A call that waits for its retry leaves its place in the client to others.
        self._most_workers *= 2
        self.clients = Clients(bound.judge)
        self.reader = self.clients.reader
        self._breaker, self._reading = (CircuitBreaker(settings.rest_s) for _ in range(2))
        self._trial_s = settings.deadline_s
        self._is_trying = False
        self._last = _OUT_OF_ORDER  # why the last client was given up
        self._end: str | None = None

    def start(self, log: ReplyLog | None) -> None:
        """Store replies from now on in a log; None stores nothing."""
        self.clients.log = None if log is None else _GuardedLog(log)

    @property
    def spending(self) -> Clients:
        """Number and cost of the calls so far."""
        return self.clients

    def is_resting(self, at: float) -> bool:
        """Whether no calls are made at this time of the event loop, or the store cannot be read."""
        return bool(self.find_outage(at) or self._reading.pause_reason(at))

    async def watch_store(self, read: Callable[[], Awaitable[Stored]]) -> Stored:
        """Read the store; a store that fails is paused as well."""
        if (why := self._reading.pause_reason(now())) is not None:
            raise _NoStoreError(why)
        try:
            found = await read()
        except Exception as error:
            why = f"{_UNREADABLE}: {type(error).__name__}"
            self._reading.trip(why, now=now())
            _log.warning(why)
            raise _NoStoreError(why) from error
        self._reading.mend()
        return found

    def give_up(self, batch: Batch | None, error: BaseException) -> None:
        """Answer the items of a batch, so that no caller waits for ever."""
        if batch is None:
            raise error
        if isinstance(error, _NoStoreError):
            batch.give_up(str(error))
        elif isinstance(error, Exception):
            log_bug(error)
            batch.give_up(f"the judge raised {type(error).__name__}")
        else:
            batch.give_up(CLOSED)
            raise error

    def reuse(
        self, call: Call[Any], blobs: Sequence[bytes], *, retry_failures: bool = False
    ) -> Outcome[Any] | None:
        """Return the outcome of stored attempts, without the text of a reply."""
        found = super().reuse(call, blobs, retry_failures=retry_failures)
        return None if found is None else _strip_text(found)

    def find_outage(self, at: float) -> str | None:
        """Return why no calls are made at this time of the event loop; None where they are."""
        return self._end or (
            self._breaker.reason if self._is_trying else self._breaker.pause_reason(at)
        )

    def add(self, units: Sequence[Unit], *, first: bool = False) -> None:
        """Queue the calls of units; a unit whose calls are already queued waits for those."""
        new = self._new_jobs(units)
        if (why := self.find_outage(now())) is not None:
            self._fail(new, why)
        elif self._breaker.reason is not None:
            self._begin_trial(new)
        else:
            self._queue.add(new, first=first)
            self._start_workers()

    def stop(self) -> None:
        """Begin no more calls; calls that are sent may finish."""
        self._end_with(CLOSED)
        self.clients.give_up()

    def _begin_trial(self, jobs: Sequence[Job]) -> None:
        """Try with one of the jobs whether the judge works again, and refuse the others."""
        if not jobs:
            return
        at = now()
        trial = next((job for job in jobs if job.deadline > at), jobs[0])
        self._is_trying = True
        self._begin(self._try(trial))
        self._fail([job for job in jobs if job is not trial], str(self._breaker.reason))

    async def _try(self, job: Job) -> None:
        """Make one call to see whether the judge works again."""
        why = str(self._breaker.reason)
        try:
            if await self._answer(job, is_trial=True):
                self.clients.give_up()  # from here on with a full client
                self._breaker.mend()
                _log.warning("the judge works again")
        finally:
            self._is_trying = False
        if self._breaker.reason is not None and self.find_outage(now()) is None:
            self._trip(why)

    def _next_job(self) -> Job | None:
        return None if self._breaker.reason is not None else super()._next_job()

    async def _answer(self, job: Job, *, is_trial: bool = False) -> Sequence[Outcome[Any]]:
        if self.clients.is_spent:
            self._end_with(SPENT)
        if (why := self._end if is_trial else self.find_outage(now())) is not None:
            self._fail([job], why)
            return ()
        client = self.clients.current(trial_s=self._trial_s if is_trial else math.inf)
        try:
            outcomes = await self._outcomes(client, job)
        except ClaimedElsewhereError:
            self._wait_for_others(job)
            return ()
        except KeyboardInterrupt:
            self._fail([job], CLOSED)
            raise
        except BaseException as error:
            if is_cancelled():
                self._fail([job], CLOSED)
                raise
            self._fail([job], self._reason(client, error))
            return ()
        try:
            self._deliver(job, [_strip_text(outcome) for outcome in outcomes])
        except Exception as error:  # noqa: BLE001  # it is logged, and no caller waits for ever
            log_bug(error)
            self._fail([job], f"the verdict could not be put together: {type(error).__name__}")
        return outcomes

    def _handle_error(self, jobs: Sequence[Job], error: Exception) -> None:
        self._fail(jobs, self._reason(self.reader, error))

    def _reason(self, client: Client, error: BaseException) -> str:
        """Handle an error; return the reason for the items concerned."""
        if isinstance(error, CostLimitReachedError):
            self._end_with(SPENT)
        elif isinstance(error, NotStoredError | ModelCallError):
            if self.clients.is_current(client):
                self._trip(_describe_outage(error), error=error)
        elif not isinstance(error, StoppedError):
            log_bug(error)
            return f"the judge raised {type(error).__name__}"
        return self.find_outage(now()) or self._last

    def _trip(self, why: str, *, error: BaseException | None = None) -> None:
        """Begin no calls for a while."""
        self._last = why
        asked_s = getattr(error, "retry_after_s", None) or 0.0
        self._breaker.trip(why, now=now(), at_least_s=min(asked_s, LONGEST_WAIT_S))
        status = getattr(error, "status", None)
        _log.warning("%s%s", why, "" if status is None else f" (HTTP {status})")
        self.clients.give_up()
        self._fail(self._queue.clear(), why)

    def _end_with(self, why: str) -> None:
        """Begin no calls any more."""
        self._end = why
        jobs, self._elsewhere = [*self._queue.clear(), *self._elsewhere], []
        self._fail(jobs, why)


def _strip_text(outcome: Outcome[Any]) -> Outcome[Any]:
    """Keep the kind of a failure and drop its text, which may quote the item."""
    if outcome.failure is not None:
        return replace(outcome, failure=_kind(outcome.failure))
    if outcome.value is None or not outcome.is_partial:
        return outcome
    values = (_kind(row) if isinstance(row, Failure) else row for row in outcome.value.values)
    return replace(outcome, value=replace(outcome.value, values=tuple(values)))


def _kind(failure: Failure) -> Failure:
    return Failure(reason=failure.reason.partition(":")[0])


def _describe_outage(error: BaseException) -> str:
    what = (
        "the store accepts nothing" if isinstance(error, NotStoredError) else type(error).__name__
    )
    return f"{_OUT_OF_ORDER}: {what}"
