"""Engines: ask a judge about items, whatever it is; find stored replies, call, combine.

`Engine.ask` is the whole port. A language model, a function in this process, a cascade and a jury
are asked in the same way, by a run over a file and by a live judge with a deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import traceback
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from functools import reduce
from operator import add, attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec
import numpy as np

from voirdire.errors import InputError
from voirdire.judging.binding import (
    BoundCascade,
    BoundJudge,
    BoundJury,
    ask_in_process,
    take_columns,
)
from voirdire.judging.call_plan import hash_item
from voirdire.judging.caller import CallCounts, Caller, CircuitBreaker, OutOfOrderError
from voirdire.judging.combine import (
    ItemVerdict,
    add_rules,
    combine_ballots,
    combine_outcomes,
    failed_verdict,
    is_enough,
    reorder_criteria,
)
from voirdire.judging.prompts import new_nonce
from voirdire.records import Failure
from voirdire.rubrics import apply_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.call_plan import CallPlan
    from voirdire.judging.settings import LiveSettings, StoredReplies
    from voirdire.records import Item

T = TypeVar("T")

LATE = "no verdict within the deadline"
"""Reason of a failure whose reply may still come, for the next time the item is asked about."""

CLOSED = "the judge is closed"
_LOOKED_UP = 250
"""Items that are looked up in the store, or asked of a function, together."""

_AT_ONCE = 256
"""Items of one request that wait for calls together, so that no request waits for another's."""

_CANCELLED_S = 40.0
"""Seconds that cancelled tasks get to store the replies that came."""

_log = logging.getLogger("voirdire")


@dataclass(frozen=True, kw_only=True)
class LiveState:
    """State of a live judge.

    Attributes
    ----------
    n_waiting : int
        Items that a caller waits for.
    n_calls, n_failures : int
        Calls made, and items that failed, since it started.
    cost : float or None
        US dollars spent; None where the price is not known.
    is_broken : bool
        Whether the judge is out of order now, so that it makes no calls.
    """

    n_waiting: int = 0
    n_calls: int = 0
    n_failures: int = 0
    cost: float | None = None
    is_broken: bool = False


class Engine(ABC):
    """Asks a judge about items; belongs to one event loop.

    *Order*: verdicts follow the items. *Errors*: an error about one item is a failure in its
    verdict; an error that every item would meet is raised in a run, and a reason of failures of a
    live judge, which never raises. *Cancellation*: a caller may be cancelled or reach its deadline;
    calls that are sent go on, since others may wait for them, and are stored. *Memory*: the items
    that wait. *Retries and caching*: those of the judge.

    Attributes
    ----------
    n_answered : int
        Items that have a verdict.
    on_verdict : callable or None
        Called with every item and its verdict, also after the deadline of its caller.
    """

    def __init__(self) -> None:
        self.n_answered = self.n_failures = self.n_calls = 0
        self.on_verdict: Callable[[Item, ItemVerdict], None] | None = None

    async def start(self) -> None:  # noqa: B027  # many have nothing to open
        """Open what is needed; raise an `InputError` where a store cannot be used."""

    @abstractmethod
    async def ask(
        self, items: Sequence[Item], *, deadline_s: float | None = None
    ) -> list[ItemVerdict]:
        """Answer items in their order; after `deadline_s` seconds late ones get a failure."""

    @abstractmethod
    async def close(self, *, drain_s: float | None = None) -> None:
        """Begin nothing new, wait `drain_s` seconds for what is under way; None waits for all."""

    def stop(self) -> None:  # noqa: B027  # without calls there is nothing to stop
        """Begin no more calls; calls that are sent may finish."""

    @property
    @abstractmethod
    def n_waiting(self) -> int:
        """Items that wait for the judge."""

    @property
    @abstractmethod
    def is_broken(self) -> bool:
        """Whether the judge is out of order now, so that it makes no calls."""

    @property
    def state(self) -> LiveState:
        """State of a live judge."""
        counts = self.counts or CallCounts(n_calls=self.n_calls, cost=None)
        return LiveState(
            n_waiting=self.n_waiting,
            n_calls=counts.n_calls,
            n_failures=self.n_failures,
            cost=counts.cost,
            is_broken=self.is_broken,
        )

    @property
    def counts(self) -> CallCounts | None:
        """Counts of the calls; None where the judge makes none."""
        return None

    @property
    def n_done(self) -> int:
        """Items that have a verdict, those of unfinished batches too."""
        return self.n_answered

    def _note(self, item: Item, verdict: ItemVerdict) -> None:
        self.n_answered += 1
        self.n_failures += bool(verdict.failures)
        if self.on_verdict is not None:
            self.on_verdict(item, verdict)


class _Pending:
    """An item that callers wait for; equal items share it."""

    __slots__ = ("future", "is_begun", "item", "key", "n_waiting", "task", "until")

    def __init__(self, key: bytes, item: Item) -> None:
        self.key, self.item = key, item
        self.future: asyncio.Future[ItemVerdict] = asyncio.get_running_loop().create_future()
        self.task: asyncio.Task[None] | None = None
        self.n_waiting, self.until = 0, 0.0
        self.is_begun = False

    def note_begun(self) -> None:
        """Note that a call about it is made: from now on it is finished, whoever waits."""
        self.is_begun = True


class _SharingEngine(Engine):
    """Asks one judge; a dict leads from an item to who waits for it, so that equal items share."""

    def __init__(self, n_questions: int, *, live: LiveSettings | None) -> None:
        super().__init__()
        self._n_questions, self._live = n_questions, live
        self._in_flight: dict[bytes, _Pending] = {}

    @property
    def error(self) -> Exception | None:
        """What ended the run."""
        return None

    @property
    def n_waiting(self) -> int:
        """Items that wait for the judge, also those that their callers have left."""
        return len(self._in_flight)

    @abstractmethod
    def _key(self, item: Item) -> bytes:
        """Name an item; equal ones have one name."""

    @abstractmethod
    def _begin(self, new: list[_Pending]) -> asyncio.Task[None] | None:
        """Begin to answer items; the task, if any, ends when what is stored is read."""

    async def ask(
        self, items: Sequence[Item], *, deadline_s: float | None = None
    ) -> list[ItemVerdict]:
        """Answer items in their order; after `deadline_s` seconds late ones get a failure."""
        waiting: list[_Pending] = []
        new: list[_Pending] = []
        until = math.inf if deadline_s is None else _now() + deadline_s
        for item in items:
            key = self._key(item)
            pending = self._in_flight.get(key)
            if pending is None:
                pending = self._in_flight[key] = _Pending(key, item)
                new.append(pending)
            pending.n_waiting += 1
            pending.until = max(pending.until, until)
            waiting.append(pending)
        try:
            if new:
                reading = self._begin(new)
                if reading is not None and self._live is None:  # many are answered by its end
                    await asyncio.wait([reading])
            futures = [row.future for row in waiting]
            if futures := [row for row in futures if not row.done() or row.exception()]:
                ends = asyncio.FIRST_EXCEPTION if self._live is None else asyncio.ALL_COMPLETED
                await asyncio.wait(futures, timeout=deadline_s, return_when=ends)
            for pending in waiting:
                if pending.future.done() and (error := pending.future.exception()) is not None:
                    raise self.error or error
        finally:
            for pending in waiting:
                pending.n_waiting -= 1
                if not (pending.n_waiting or pending.is_begun or pending.future.done()):
                    self._drop(pending, LATE)
        late = failed_verdict(self._n_questions, LATE)
        return [
            reorder_criteria(row.future.result(), row.item, item) if row.future.done() else late
            for row, item in zip(waiting, items, strict=True)
        ]

    def _settle(self, pending: _Pending, verdict: ItemVerdict) -> None:
        self._forget(pending)
        if not pending.future.done():
            self._note(pending.item, verdict)
            pending.future.set_result(verdict)

    def _fail(self, pending: _Pending, error: BaseException) -> None:
        """Give an item the error: raised in a run, a reason of a failure in a live judge."""
        if isinstance(error, asyncio.CancelledError) and _is_cancelled():
            self._settle(pending, failed_verdict(self._n_questions, CLOSED))
        elif self._live is not None:
            why = str(error)
            if not isinstance(error, OutOfOrderError):
                log_bug(error)
                why = f"the judge raised {type(error).__name__}"
            self._settle(pending, failed_verdict(self._n_questions, why))
        else:
            if not isinstance(error, Exception):
                cause = error
                error = RuntimeError(f"a judge must not raise {type(cause).__name__} in a run")
                error.__cause__ = cause
            self._forget(pending)
            if not pending.future.done():
                pending.future.set_exception(error)
                pending.future.exception()  # nobody may wait for it

    def _drop(self, pending: _Pending, why: str) -> None:
        """Give up an item that was not begun."""
        self._forget(pending)
        if pending.task is not None:
            pending.task.cancel()
        if not pending.future.done():
            pending.future.set_result(failed_verdict(self._n_questions, why))

    def _forget(self, pending: _Pending) -> None:
        if self._in_flight.get(pending.key) is pending:
            del self._in_flight[pending.key]


# Language models --------------------------------------------------------------------------------


_Unanswered: TypeAlias = tuple[_Pending, "Mapping[str, Sequence[bytes]]", int]
"""An item, its stored replies, and how often others had stored something when they were read."""


class ModelEngine(_SharingEngine):
    """Asks a language model: looks up, calls, stores, reads, combines.

    Every item has a task; items that equal each other share it.
    """

    def __init__(
        self, bound: BoundJudge, replies: StoredReplies, *, live: LiveSettings | None = None
    ) -> None:
        super().__init__(len(bound.rubric.questions), live=live)
        self.bound = bound
        self.caller = Caller(bound.judge, retry_failures=replies.retry_failures, live=live)
        _ = bound.calls  # raises where the judge cannot be asked
        self._replies = replies
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading = CircuitBreaker(1.0 if live is None else live.rest_s)
        most = 2 * bound.judge.concurrency  # in a run; no live request waits for another's items
        self._window = None if live is not None else asyncio.Semaphore(most)
        # Two runs that look up in one order meet in one place.
        self._in_order = asyncio.Lock() if live is None else contextlib.nullcontext()
        self._queue: deque[_Unanswered] = deque()
        self._held = contextlib.ExitStack()
        self._goes_back = False

    @property
    def is_broken(self) -> bool:
        """Whether no calls are made now, or the store cannot be read."""
        return bool(self.caller.outage or self._reading.is_open(_now()))

    @property
    def counts(self) -> CallCounts:
        """Counts of the calls."""
        return self.caller.counts

    async def start(self) -> None:
        """Open the store; a second run begins at the other end, so that both share the items."""
        fingerprint, description = self.bound.reply_fingerprint, self.bound.described
        await self.caller.start(self._replies, fingerprint=fingerprint, description=description)
        if self._live is None and (store := self.caller.store) is not None:
            try:
                lock = store.lock(f"first run of {fingerprint}")
                await asyncio.to_thread(self._held.enter_context, lock)
            except InputError:
                self._goes_back = True

    @property
    def error(self) -> Exception | None:
        """What ended the run."""
        return self.caller.error

    def _key(self, item: Item) -> bytes:
        return hash_item(item)

    def _begin(self, new: list[_Pending]) -> asyncio.Task[None]:
        if self._window is not None and self.caller.store is not None:
            new.sort(key=attrgetter("key"))  # in one order, whatever that of the file
        return self._start_task(self._look_up_all(new))

    async def close(self, *, drain_s: float | None = None) -> None:
        """Let the calls that are sent finish and be stored; cancel the others."""
        self.stop()
        for pending in list(self._in_flight.values()):
            if not pending.is_begun:
                self._drop(pending, CLOSED)
        try:
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=drain_s)
        finally:
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=_CANCELLED_S)
            self._held.close()
            await self.caller.close()

    def stop(self) -> None:
        """Begin no more calls; calls that are sent may finish."""
        self.caller.stop(*([] if self._live is None else [CLOSED]))

    # One item ------------------------------------------------------------------------------------

    async def _look_up_all(self, new: Sequence[_Pending]) -> None:
        """Look items up in the store, and begin the calls about the others."""
        queue, window = self._queue, self._window
        if window is None:
            most = max(_AT_ONCE, 2 * self.bound.judge.concurrency)
            queue, window = deque(), asyncio.Semaphore(most)
        n_open = 0
        async with self._in_order:
            for start in range(0, len(new), _LOOKED_UP):
                part = new[start : start + _LOOKED_UP]
                try:
                    seen = self.caller.n_by_others
                    stored = await self._look_up([pending.key for pending in part])
                    open_ones = [row for row in part if not self._answer_from(row, stored)]
                except BaseException as error:  # each item gets it
                    for pending in part if isinstance(error, Exception) else new:
                        self._fail(pending, error)
                    if _is_cancelled():
                        raise
                    continue
                queue.extend((row, stored.get(row.key, {}), seen) for row in open_ones)
                n_open += len(open_ones)
        if n_open:
            self._start_task(self._judge_open(n_open, queue, window))

    async def _judge_open(
        self, n_items: int, queue: deque[_Unanswered], window: asyncio.Semaphore
    ) -> None:
        """Judge so many items of a queue."""
        for _ in range(n_items):
            await window.acquire()
            pending, known, seen = queue.pop() if self._goes_back else queue.popleft()
            if pending.future.done():  # nobody waits for it any more
                window.release()
                continue
            pending.task = self._start_task(self._judge(pending, known, seen))
            pending.task.add_done_callback(lambda _: window.release())

    def _answer_from(
        self, pending: _Pending, stored: Mapping[bytes, Mapping[str, Sequence[bytes]]]
    ) -> bool:
        """Answer an item from its stored replies; False where a call is missing."""
        known = stored.get(pending.key)
        if known is None and self.bound.needs_calls(pending.item):
            return False
        known, outcomes = known or {}, []
        calls = self.bound.calls_of(pending.item)
        for spec in calls.specs:
            call = spec.call(pending.item, key=pending.key)
            outcome, _ = self.caller.reuse(call, known.get(call.name, ()))
            if outcome is None:
                return False
            outcomes.append(outcome)
        self._settle(pending, self._combine(outcomes, calls, pending.item))
        return True

    def _combine(self, outcomes: Sequence[Any], calls: CallPlan, item: Item) -> ItemVerdict:
        verdict = combine_outcomes(outcomes, self.bound, calls)
        verdict = add_rules(verdict, calls.apply_rules(item))
        if self._live is None or not verdict.failures:
            return verdict
        # the kind of a failure without its text, which may quote the item
        kinds = ((k, why.reason.partition(":")[0]) for k, why in verdict.failures)
        failures = tuple((k, Failure(reason=kind)) for k, kind in kinds)
        return msgspec.structs.replace(verdict, failures=failures)

    async def _judge(
        self, pending: _Pending, stored: Mapping[str, Sequence[bytes]], seen: int
    ) -> None:
        """Make the calls about an item, and combine their outcomes."""
        plan, caller = self.bound.calls_of(pending.item), self.caller
        nonce = new_nonce() if plan.shares_fence else None
        groups: dict[object, list[Any]] = {}
        for place, spec in enumerate(plan.specs):
            call = spec.call(pending.item, key=pending.key, nonce=nonce)
            is_new_sample = spec.seed is not None and not stored.get(call.name)
            group = (spec.places, spec.ask.swapped) if is_new_sample else place
            groups.setdefault(group, []).append((place, call))
        outcomes: list[Any] = [None] * len(plan.specs)

        async def make(group: Sequence[tuple[int, Any]]) -> None:
            places, calls = zip(*group, strict=True)
            if len(calls) > 1:
                found = await caller.answer_together(calls, pending.note_begun, seen=seen)
            else:
                blobs = stored.get(calls[0].name, ())
                answer = caller.answer(calls[0], blobs, pending.note_begun, seen=seen)
                found = [await answer]
            for place, outcome in zip(places, found, strict=True):
                outcomes[place] = outcome

        try:
            first, *others = groups.values()
            if plan.shares_fence or not others:  # the first call fills the server's prompt cache
                await make(first)
            else:
                others = [first, *others]
            if others:
                await asyncio.gather(*map(make, others))
            verdict = self._combine(outcomes, plan, pending.item)
        except BaseException as error:  # its callers get it
            self._fail(pending, error)
            if isinstance(error, asyncio.CancelledError):
                raise
        else:
            self._settle(pending, verdict)

    async def _look_up(
        self, keys: Sequence[bytes]
    ) -> Mapping[bytes, Mapping[str, Sequence[bytes]]]:
        store = self.caller.store
        if store is None:
            return {}
        if self._reading.is_open(_now()):
            raise OutOfOrderError(self._reading.reason)
        try:
            stored = await store.aget(self.caller.judge_id, keys)
        except Exception as error:
            if self._live is None:
                raise
            why = f"the store cannot be read: {type(error).__name__}"
            self._reading.trip(why, now=_now())
            _log.warning(why)
            raise OutOfOrderError(why) from error
        self._reading.mend()
        return stored

    def _start_task(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


# Functions in this process ----------------------------------------------------------------------

_MOST_LEFT = 3
"""Threads that may hang at most: each keeps its memory until the program ends."""

_DEADLINES = 2
"""A batch that takes longer than this many deadlines is given up."""

_HANGS = f"the judge is out of order: {_MOST_LEFT} calls of it hang"


class FunctionEngine(_SharingEngine):
    """Asks a judge in this process, batch after batch, each in a thread of its own.

    Items of several callers are judged together. Where a live judge raises, each item of the batch
    is asked about alone. A thread that hangs is abandoned and replaced; after a few of these the
    judge is not asked until one of them returns.
    """

    def __init__(self, plan: JudgingPlan, *, live: LiveSettings | None = None) -> None:
        super().__init__(len(plan.rubric.questions), live=live)
        self._plan = plan
        self._size = _LOOKED_UP if live is None else live.batch_size
        self._waiting: deque[_Pending] = deque()
        self._working: asyncio.Task[None] | None = None
        self._n_left = 0
        self._is_closed = False

    @property
    def is_broken(self) -> bool:
        """Whether the judge is closed, or too many of its threads hang."""
        return self._outage is not None

    @property
    def _outage(self) -> str | None:
        return CLOSED if self._is_closed else _HANGS if self._n_left >= _MOST_LEFT else None

    def _key(self, item: Item) -> bytes:
        # in a run a function may look at anything about an item, also at its id
        return item.id.encode("utf-8", "replace") if self._live is None else item.content_hash()

    def _begin(self, new: list[_Pending]) -> None:
        if (why := self._outage) is not None:
            self._answer_all(new, why)
            return
        self._waiting.extend(new)
        if self._working is None:
            self._working = asyncio.get_running_loop().create_task(self._work())

    async def close(self, *, drain_s: float | None = None) -> None:
        """Take no more items, and wait `drain_s` seconds for the batch that is being judged."""
        self._is_closed = True
        self._answer_all(list(self._waiting), CLOSED)
        if (working := self._working) is not None:
            await asyncio.wait([working], timeout=drain_s)
            working.cancel()
            await asyncio.wait([working])

    async def _work(self) -> None:
        """Judge batch after batch, until no item waits."""
        batch: list[_Pending] = []
        try:
            await asyncio.sleep(0)  # items that come at the same moment are judged together
            while self._waiting and self._outage is None:
                batch = []
                while self._waiting and len(batch) < self._size:
                    if not (pending := self._waiting.popleft()).future.done():
                        pending.is_begun = True
                        batch.append(pending)
                if batch:
                    await self._judge(batch)
        finally:
            self._working = None
            self._answer_all([*batch, *self._waiting], self._outage or CLOSED)
            self._waiting.clear()

    async def _judge(self, batch: Sequence[_Pending]) -> None:
        def note_return(_: object) -> None:
            self._n_left -= 1

        self.n_calls += 1
        done = in_thread(self._ask_judge, [pending.item for pending in batch])
        limit_s = None
        if self._live is not None:  # at least until no caller waits
            until = max(pending.until for pending in batch) - _now()
            limit_s = max(_DEADLINES * self._live.deadline_s, until)
        await asyncio.wait([done], timeout=limit_s)
        if not done.done():  # the thread hangs; it may still return later
            self._n_left += 1
            done.add_done_callback(note_return)
            _log.warning("the judge hangs; its thread is abandoned (%d of them now)", self._n_left)
            self._answer_all(batch, f"the judge did not answer within {limit_s:.3g} s")
            return
        verdicts, error = done.result()
        if error is not None:
            for pending in batch:
                self._fail(pending, error)
        for pending, verdict in zip(batch, verdicts or (), strict=error is None):
            self._settle(pending, verdict)

    def _answer_all(self, rows: Sequence[_Pending], why: str) -> None:
        for pending in rows:
            self._settle(pending, failed_verdict(self._n_questions, why))

    def _ask_judge(self, items: Sequence[Item]) -> list[ItemVerdict]:
        """Ask the judge about all items in one call; a live judge one by one if that raises."""
        if self._live is None:
            return make_function_verdicts(items, ask_in_process(items, self._plan), self._plan)
        why = "the judge gave probabilities of another shape than it was asked for"
        judge: Any = self._plan.judge
        try:
            given = np.asarray(judge.probabilities(items), dtype=np.float64)
            if given.shape == (len(items), len(judge.questions)):
                found = take_columns(given, items, self._plan)
                return make_function_verdicts(items, found, self._plan)
        except Exception as error:  # noqa: BLE001  # a fault of the judge: each item records it
            if len(items) == 1:
                log_bug(error)
                why = f"the judge raised {type(error).__name__}"
        if len(items) > 1:
            return [verdict for item in items for verdict in self._ask_judge([item])]
        return [failed_verdict(len(self._plan.rubric.questions), why)]


def make_function_verdicts(
    items: Sequence[Item], found: NDArray[np.float64], plan: JudgingPlan
) -> list[ItemVerdict]:
    """Make verdicts with the probabilities at the places of the propositions."""
    questions = plan.rubric.questions
    places = [place for place, row in enumerate(questions) if row.kind == "boolean"]
    missing = Failure(reason="the judge gave no probability")
    verdicts = []
    for item, row in zip(items, found.tolist(), strict=True):
        if any(value < 0 or value > 1 for value in row):
            why = "the judge gave a probability outside [0, 1]"
            verdicts.append(failed_verdict(len(questions), why))
            continue
        values: list[float | None] = [None] * len(questions)
        for place, value in zip(places, row, strict=True):
            values[place] = None if math.isnan(value) else value
        lacking = [place for place in places if values[place] is None]
        rules = [(place, questions[place].rule) for place in lacking]
        answers = [(place, rule and apply_rule(rule, item)) for place, rule in rules]
        failures = tuple((k, x if isinstance(x, Failure) else missing) for k, x in answers)
        verdicts.append(ItemVerdict(values=tuple(values), failures=failures))
    return verdicts


def in_thread(
    work: Callable[..., T], *args: Any
) -> asyncio.Future[tuple[T | None, BaseException | None]]:
    """Call a function in a thread of its own; the future has its result, or what it raised.

    The thread is a daemon and not one of the loop's own: a program waits for those when it ends,
    and a call that hangs would keep it running.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()

    def settle(result: tuple[T | None, BaseException | None]) -> None:
        if not done.done():
            done.set_result(result)

    def serve() -> None:
        result: tuple[T | None, BaseException | None]
        try:
            result = work(*args), None
        except BaseException as error:  # noqa: BLE001  # the waiting task handles it
            result = None, error
        with contextlib.suppress(RuntimeError):  # the loop has ended, so no task waits
            loop.call_soon_threadsafe(settle, result)

    threading.Thread(target=serve, name=f"voirdire {work.__name__}", daemon=True).start()
    return done


# Judges made of judges --------------------------------------------------------------------------


class _CompositeEngine(Engine):
    """Asks the engines of several judges."""

    def __init__(self, members: Sequence[Engine]) -> None:
        super().__init__()
        self._members = tuple(members)

    @property
    def counts(self) -> CallCounts | None:
        """Counts of the calls of all judges together."""
        made = [counts for each in self._members if (counts := each.counts) is not None]
        return reduce(add, made) if made else None

    @property
    def n_waiting(self) -> int:
        """Items that wait for the judge that has most of them."""
        return max(member.n_waiting for member in self._members)

    async def start(self) -> None:
        """Start all; raise an `InputError` where a store cannot be used."""
        for member in self._members:
            await member.start()

    async def close(self, *, drain_s: float | None = None) -> None:
        """Close all within the same time."""
        self.stop()
        await asyncio.gather(*(member.close(drain_s=drain_s) for member in self._members))

    def stop(self) -> None:
        """Begin no more calls; calls that are sent may finish."""
        for member in self._members:
            member.stop()


class CascadeEngine(_CompositeEngine):
    """Asks a first engine, and a second one about the items of which the first judge is unsure.

    An item that the first judge cannot answer is passed on, whatever the reason, unless it is late.
    """

    def __init__(self, bound: BoundCascade, *, first: Engine, then: Engine) -> None:
        super().__init__((first, then))
        self._bound, self._first, self._then = bound, first, then
        self._n_kept = 0
        kinds = [row.kind for row in bound.rubric.questions]
        self._places = [place for place, kind in enumerate(kinds) if kind == "boolean"]

    @property
    def is_broken(self) -> bool:
        """Whether the language model is out of order."""
        return self._then.is_broken

    async def ask(
        self, items: Sequence[Item], *, deadline_s: float | None = None
    ) -> list[ItemVerdict]:
        """Answer items in their order; the second judge gets what is left of the time."""
        ends = None if deadline_s is None else _now() + deadline_s
        first, then = self._bound.answerers
        verdicts = await self._first.ask(items, deadline_s=deadline_s)
        values = [[verdict.values[place] for place in self._places] for verdict in verdicts]
        answers = np.array(values, dtype=np.float64).reshape(len(items), len(self._places))
        is_over = [bool(v.failures) and v.failures[0][1].reason in (LATE, CLOSED) for v in verdicts]
        is_unsure = self._bound.goes_on(answers) & ~np.array(is_over, dtype=bool)
        goes_on: list[int] = np.flatnonzero(is_unsure).tolist()
        self._n_kept += len(items) - len(goes_on)
        who: list[str | None] = [None if over else first for over in is_over]
        if goes_on:
            left_s = None if ends is None else max(0.0, ends - _now())
            asked = await self._then.ask([items[k] for k in goes_on], deadline_s=left_s)
            for place, verdict in zip(goes_on, asked, strict=True):
                verdicts[place], who[place] = verdict, then
        verdicts = [
            msgspec.structs.replace(verdict, answered_by=name)
            for verdict, name in zip(verdicts, who, strict=True)
        ]
        for item, verdict in zip(items, verdicts, strict=True):
            self._note(item, verdict)
        return verdicts

    @property
    def n_done(self) -> int:
        """Items that have a verdict, those of unfinished batches too."""
        return self._n_kept + self._then.n_answered


class JuryEngine(_CompositeEngine):
    """Asks several engines, and combines their verdicts.

    A judge without an answer is left out where the others weigh more than half.
    """

    def __init__(self, bound: BoundJury, members: Sequence[Engine]) -> None:
        super().__init__(members)
        self._bound = bound

    @property
    def is_broken(self) -> bool:
        """Whether too few judges work to answer."""
        pairs = zip(self._bound.jury.shares, self._members, strict=True)
        return not is_enough(sum(share for share, member in pairs if not member.is_broken))

    async def ask(
        self, items: Sequence[Item], *, deadline_s: float | None = None
    ) -> list[ItemVerdict]:
        """Answer items in their order; after `deadline_s` seconds judges that are late are out."""
        asking = (member.ask(items, deadline_s=deadline_s) for member in self._members)
        ballots = await asyncio.gather(*asking)
        verdicts = [combine_ballots(row, self._bound) for row in zip(*ballots, strict=True)]
        for item, verdict in zip(items, verdicts, strict=True):
            self._note(item, verdict)
        return verdicts


def make_engine(
    plan: JudgingPlan, replies: StoredReplies, *, live: LiveSettings | None = None
) -> Engine:
    """Make the engine for a plan: of a live judge where there are settings, else of a run.

    Nothing is opened or called yet. A judge that cannot be asked this way raises an `InputError`.
    """
    judge: Any = plan.judge
    if isinstance(judge, BoundJury):
        return JuryEngine(judge, [make_engine(row, replies, live=live) for row in judge.members])
    if isinstance(judge, BoundCascade):
        first = FunctionEngine(judge.first, live=live)
        then = ModelEngine(judge.then, replies, live=live)
        return CascadeEngine(judge, first=first, then=then)
    if isinstance(judge, BoundJudge):
        return ModelEngine(judge, replies, live=live)
    return FunctionEngine(plan, live=live)


def _is_cancelled() -> bool:
    """Whether this task itself was cancelled, and not only something that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _now() -> float:
    return asyncio.get_running_loop().time()


_logged: set[tuple[str, str, int]] = set()


def log_bug(error: BaseException) -> None:
    """Log the place of an unexpected error once, without its message, which may quote an item."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    place = (type(error).__name__, last.filename if last else "", (last.lineno or 0) if last else 0)
    if place not in _logged and len(_logged) < 100:
        _logged.add(place)
        words = "the judge raised %s; the items concerned have no verdict\n%s"
        _log.error(words, type(error).__name__, "".join(frames.format()).rstrip())
