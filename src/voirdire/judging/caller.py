"""Makes calls to one model: within limits, with retries, each reply stored before it is used."""

from __future__ import annotations

import asyncio
import logging
import random
from dataclasses import dataclass, fields
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import msgspec
from msgspec.structs import astuple

from voirdire._messages import shorten
from voirdire.errors import (
    AccessError,
    BadRequestError,
    ContentFilterError,
    CostLimitReachedError,
    InputError,
    ModelCallError,
    ModelTimeoutError,
    NoAnswersError,
    RateLimitError,
    RefusalError,
    ServerError,
    StoppedError,
    UnsupportedError,
    VerdictParseError,
    VoirdireError,
)
from voirdire.judging.calls import (
    CallFailure,
    Outcome,
    decode_attempt,
    encode_attempt,
    end_unreadable,
    read_stored,
)
from voirdire.judging.pace import LONGEST_WAIT_S, Pace
from voirdire.judging.server_watch import ServerWatch
from voirdire.models import SamplingChatModel
from voirdire.records import Reply, Usage
from voirdire.store import ReplyStore, StoredCall, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voirdire._types import ReplyForm
    from voirdire.judging.calls import Call
    from voirdire.judging.model_settings import LlmJudge
    from voirdire.judging.settings import LiveSettings, StoredReplies
    from voirdire.models import ChatRequest

T = TypeVar("T")
_log = logging.getLogger("voirdire")

SPENT = "the judge has spent its `max_cost`"
_TRANSIENT = (RateLimitError, ModelTimeoutError, ServerError)
_MOST_IN_A_ROW, _FIRST_TRIES, _RETRIES_UNREACHED, _ACCOUNT_ERRORS = 100, 50, 2, 3
"""Calls in a row and first tries without an answer, retries without a connection, refused keys:
so many end a run."""

_FIRST_BACKOFF_S, _LONGEST_BACKOFF_S = 1.0, 60.0
_MOST_LIMITED = 5
"""How many times `max_retries` rate limits are tolerated while the server answers other calls."""


class OutOfOrderError(Exception):
    """A live judge makes no calls now; the message is the reason of the failures."""


@dataclass(frozen=True, kw_only=True)
class CallCounts:
    """Counts of the calls of a run.

    Attributes
    ----------
    n_calls : int
        Requests that were sent; each try counts.
    n_replies : int
        How many of them brought a reply, readable or not.
    n_retries : int
        How many of them were not the first of their call.
    n_in_flight : int
        Calls that are sent, or whose reply is not committed yet.
    n_failures : int
        Calls that ended as a `Failure`.
    prompt_tokens, completion_tokens, cached_tokens : int
        As the server counts them; 0 where it does not.
    cost : float or None
        US dollars; None where the price is unknown.
    concurrency : int
        Calls that may be in flight now.
    is_stopped : bool
        Whether nothing new is begun.
    adaptations : tuple of str
        What the server refused or said of itself, and how it is asked instead.
    check : str
        What the first reply showed of the server; empty before it.
    n_answered : int
        Items that are answered, those in unfinished batches included.
    """

    n_calls: int = 0
    n_replies: int = 0
    n_retries: int = 0
    n_in_flight: int = 0
    n_failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = 0.0
    concurrency: int = 0
    is_stopped: bool = False
    adaptations: tuple[str, ...] = ()
    check: str = ""
    n_answered: int = 0

    def __add__(self, other: CallCounts) -> CallCounts:
        """Add the counts of another judge."""
        pairs = {
            row.name: (getattr(self, row.name), getattr(other, row.name)) for row in fields(self)
        }
        costs = pairs.pop("cost")
        checks = "; ".join(filter(None, pairs.pop("check")))
        total = {name: one + another for name, (one, another) in pairs.items()}
        cost = None if None in costs else costs[0] + costs[1]
        return CallCounts(**total | {"cost": cost, "check": checks})


class CircuitBreaker:
    """Pauses the calls to something that failed; each further pause is longer, up to a minute."""

    def __init__(self, rest_s: float) -> None:
        self.reason: str | None = None
        self._first_s = self._next_s = rest_s
        self._until = 0.0

    def trip(self, reason: str, *, now: float, at_least_s: float = 0.0) -> None:
        """Note a failure, and pause; for `at_least_s` seconds at least."""
        self.reason = reason
        self._until = now + max(self._next_s, at_least_s)
        self._next_s = min(2 * self._next_s, max(_LONGEST_BACKOFF_S, self._first_s))

    def mend(self) -> None:
        """Note a success."""
        self.reason = None
        self._next_s = self._first_s

    def is_open(self, now: float) -> bool:
        """Whether this is a pause."""
        return self.reason is not None and now < self._until


class Caller:
    """Makes calls to a model until each has a value or a failure.

    Parameters
    ----------
    judge : LlmJudge
        The model with its limits.
    retry_failures : bool
        Whether a call with a stored failure is made again.
    live : LiveSettings or None
        Of a live judge, which pauses where a run would end.

    Raises
    ------
    InputError
        If there is a cost limit and the price is not known.

    Notes
    -----
    *Order*: each outcome belongs to its own call; calls are made in the order of arrival.
    *Errors*: a refusal, a filter or a bad request is a `Failure` at once; rate limits, timeouts and
    errors of the server are tried again; replies that cannot be read are asked for again. No
    access, no log-probabilities where they are needed, a server that was never reached or gives
    nothing usable, a limit that holds for hours: these end a run, and pause a live judge.
    *Cancellation*: a call whose reply has come is stored; one that waits for its reply is given up.
    *Memory*: one request and one reply per call in flight. *Retries and caching*: made here; stored
    attempts are read first. The clock is the event loop's.
    """

    def __init__(self, judge: LlmJudge, *, retry_failures: bool, live: LiveSettings | None) -> None:
        if judge.known_price is None and judge.max_cost is not None:
            msg = (
                f"`max_cost` needs the price of {judge.chat_model.name!r}, which is not known. "
                "Declare it with `--price IN,OUT`, or as `price`."
            )
            raise InputError(msg)
        self.judge = judge
        self.store: ReplyStore | None = None
        self._own_store: ReplyStore | None = None
        self.judge_id = 0
        self.pace = Pace(judge)
        self.error: Exception | None = None
        self._model = judge.chat_model
        self._form: ReplyForm = self._model.capabilities.forms[0]
        self._address = str(self._model.settings.get("base_url") or "")
        self._retry_failures = retry_failures
        self._live = live
        self._breaker = CircuitBreaker(1.0 if live is None else live.rest_s)
        self._is_trying = self._was_reached = self._has_answer = False
        self._gives_samples = isinstance(self._model, SamplingChatModel)
        self._counts = SimpleNamespace(**vars(CallCounts()))
        self._watch = ServerWatch()
        self._n_trips = self._n_unreached = self._n_nothing = self._n_in_a_row = 0
        self._n_account_errors = 0
        self._waited_s = 0.0
        self._last = ""  # why a live judge was out of order the last time
        self._checked: asyncio.Event | None = None
        # a call keeps its place until its reply is stored, also while it waits for a retry
        self._under_way = asyncio.Semaphore(self.judge.concurrency)

    async def start(
        self, replies: StoredReplies, *, fingerprint: str, description: Mapping[str, Any]
    ) -> None:
        """Open the store, where replies are stored under a fingerprint."""
        place = replies.store
        if place:
            if isinstance(place, ReplyStore):
                store = place
            else:
                store = self._own_store = await asyncio.to_thread(open_store, place)
            self.store = store
            register = partial(store.judge_id, fingerprint, description=description)
            self.judge_id = await asyncio.to_thread(register)

    @property
    def n_by_others(self) -> int:
        """How often other runs have stored calls of this judge, as far as is known."""
        return 0 if self.store is None else self.store.n_by_others(self.judge_id)

    async def close(self) -> None:
        """Close the model, and a store that was opened here."""
        await self._model.close()
        if self._own_store is not None:
            await asyncio.to_thread(self._own_store.close)

    @property
    def counts(self) -> CallCounts:
        """Counts of the calls until now."""
        counts, pace = self._counts, self.pace
        counts.n_in_flight, counts.concurrency = pace.n_in_flight, int(pace.limit)
        counts.cost, counts.is_stopped = pace.spent, pace.error is not None
        counts.adaptations = (*getattr(self._model, "adaptations", ()), *self._watch.notes)
        return CallCounts(**vars(counts))

    @property
    def outage(self) -> str | None:
        """Why a live judge makes no calls now."""
        if self.pace.error is not None:
            return str(self.pace.error)
        is_open = self._is_trying or self._breaker.is_open(asyncio.get_running_loop().time())
        return self._breaker.reason if is_open else None

    def stop(self, reason: str = "The run was stopped; replies that came are stored.") -> None:
        """Begin no more calls; calls that are sent may finish."""
        if self.pace.error is None:
            kind = StoppedError if self._live is None else OutOfOrderError
            self.pace.stop(kind(reason))

    def reuse(self, call: Call[T], blobs: Sequence[bytes]) -> tuple[Outcome[T] | None, int]:
        """Read what is stored: the outcome, None where the call must be made; unread replies."""
        outcome, n_unread = read_stored(call, blobs, max_attempts=self.judge.max_attempts)
        if outcome is None:
            return None, n_unread
        if self._retry_failures and (outcome.failure or outcome.is_partial):
            return None, 0
        self._has_answer = self._has_answer or outcome.failure is None
        return outcome, n_unread

    async def answer_together(
        self, calls: Sequence[Call[T]], on_send: Callable[[], None], *, seen: int
    ) -> list[Outcome[T]]:
        """Make calls that ask the same: one request for several replies where the model can.

        Samples that are missing are asked for alone; a failure is that of all samples.
        """
        tries = [_Attempts(call=call, on_send=on_send, seen=seen) for call in calls]
        first, *others = tries
        first.n_samples = len(calls) if self._gives_samples else 1
        outcomes = [await self._answer(first)]
        if first.failure is not None and first.n_samples > 1:
            for other in others:
                await self._keep(other, first.failure)
            return outcomes * len(calls)
        for other, reply in zip(others, first.others, strict=False):
            other.reply = reply
        return outcomes + await asyncio.gather(*map(self._answer, others))

    async def answer(
        self,
        call: Call[T],
        blobs: Sequence[bytes],
        on_send: Callable[[], None],
        *,
        seen: int,
    ) -> Outcome[T]:
        """Make one call until it has an outcome; new attempts are numbered after stored ones.

        When the stored ones were looked up, others had stored `seen` times.
        """
        outcome, n_unread = self.reuse(call, blobs) if blobs else (None, 0)
        if outcome is not None:
            return outcome
        n_unread = 0 if n_unread >= self.judge.max_attempts else n_unread
        tries = _Attempts(
            call=call,
            on_send=on_send,
            seen=seen,
            n_unread=n_unread,
            n_kept=len(blobs),
        )
        return await self._answer(tries)

    async def _answer(self, tries: _Attempts[T]) -> Outcome[T]:
        async with self._under_way:
            outcome: Outcome[T] | None = None
            while outcome is None:
                tries.n_trips, n_replies = self._n_trips, self._counts.n_replies
                try:
                    reply, tries.reply = tries.reply or await self._ask(tries), None
                except _StoredMeanwhileError as stored:
                    outcome, tries.n_unread = self.reuse(tries.call, stored.args[0])
                    tries.n_kept, tries.n = len(stored.args[0]), 1
                except ModelCallError as error:
                    tries.n += 1
                    server_works = self._is_checking or self._counts.n_replies > n_replies
                    if isinstance(error, RateLimitError) and server_works:
                        tries.n_limited += 1  # this says nothing about the call
                    else:
                        tries.n_errors += 1
                    pause_s = self._handle_error(error, tries)
                    if self._breaker.reason is not None:
                        raise OutOfOrderError(self._breaker.reason) from None
                    most, wait_s = self.judge.max_retries, error.retry_after_s or 0.0
                    is_within = tries.n_errors <= most and tries.n_limited <= _MOST_LIMITED * most
                    if isinstance(error, _TRANSIENT) and is_within and wait_s <= LONGEST_WAIT_S:
                        await self.pace.pause(tries.backoff_s() if pause_s is None else pause_s)
                    else:
                        outcome = await self._fail(tries, error)
                else:
                    tries.n += 1
                    reply = await self._keep(tries, reply)  # stored before it is used
                    outcome = self._read(tries, reply)
                    if self._breaker.reason is not None:
                        self._breaker.mend()
                        _log.warning("the judge works again")
            return outcome

    async def _ask(self, tries: _Attempts[Any]) -> Reply:
        """Send the request of a call; after a reply that was cut off, with twice as many tokens."""
        if self._live is None:  # the first call of a run goes alone, and checks the server
            if self._checked is None:
                self._checked = asyncio.Event()
            elif self._is_checking and not tries.n:
                await self._checked.wait()
        request = tries.call.request(self._form)
        if tries.n_cut and request.max_tokens is not None:
            max_tokens = request.max_tokens * 2**tries.n_cut
            request = msgspec.structs.replace(request, max_tokens=max_tokens)
        replies = await self._send(request, tries)
        self._watch.check(request, replies[0])
        if tries.n_samples > 1:
            self._gives_samples = self._gives_samples and len(replies) > 1
            tries.n_samples, tries.others = 1, replies[1:]
        return replies[0]

    def _read(self, tries: _Attempts[T], reply: Reply) -> Outcome[T] | None:
        """Read a reply; None where the call is to be made again."""
        try:
            value = tries.call.read(reply)
        except (VerdictParseError, UnsupportedError) as caught:
            if isinstance(caught, UnsupportedError) and not self._has_answer:
                self._end(caught, tries)  # the reader says what to do
            error = caught
            if isinstance(error, UnsupportedError):  # others had log-probabilities
                error = VerdictParseError(str(error), reply=reply)
            tries.n_unread += 1
            tries.n_cut += reply.finish_reason == "length"
            if error.partial is not None:
                self._has_answer, self._n_in_a_row = True, 0
            else:
                self._n_nothing += 1
                # sorted items may give many refusals in a row: only before the first answer
                self._n_in_a_row += self._live is None and not error.is_refusal
                self._end_if_hopeless(error, tries)
            if not error.is_refusal and tries.n_unread < self.judge.max_attempts:
                return None
            self._counts.n_failures += error.partial is None
            self._finish_check(None)
            return end_unreadable(error)
        self._has_answer = True
        self._n_in_a_row = self._n_account_errors = 0
        self._finish_check(reply)
        return Outcome(value=value)

    async def _fail(self, tries: _Attempts[T], error: ModelCallError) -> Outcome[T]:
        """Store that a call failed for good."""
        often = f" (tried {tries.n} times)" if tries.n > 1 else ""
        tries.failure = CallFailure(
            reason=error.reason,
            message=shorten(str(error), width=240) + often,
            form=self._form,
            status=error.status,
            n_tries=tries.n,
        )
        await self._keep(tries, tries.failure)
        self._counts.n_failures += 1
        self._n_nothing += isinstance(error, BadRequestError | RefusalError | ContentFilterError)
        self._n_in_a_row += isinstance(error, (*_TRANSIENT, AccessError, BadRequestError))
        self._finish_check(None)
        self._end_if_hopeless(error, tries)
        return Outcome(failure=tries.failure.failure())

    # One request ---------------------------------------------------------------------------------

    async def _send(self, request: ChatRequest, tries: _Attempts[Any]) -> Sequence[Reply]:
        """Send a request when all limits allow."""
        is_trial = self._admit()
        try:
            try:
                number = await self.pace.enter(request)
            except CostLimitReachedError as error:
                self.stop(SPENT)
                if self._live is not None:
                    raise OutOfOrderError(SPENT) from None
                self.error = self.error or error
                raise
            usage, may_cost = None, False
            try:
                if self._breaker.reason is not None and not is_trial:  # since it waited
                    raise OutOfOrderError(self._breaker.reason)
                await self._check_stored(tries)
                tries.on_send()
                self._counts.n_calls += 1
                self._counts.n_retries += tries.n > 0
                may_cost = True
                replies = await self._reply(request, tries.n_samples, is_trial=is_trial)
                usages = [reply.usage for reply in replies]
                if None not in usages:
                    parts = zip(*map(astuple, usages), strict=True)  # type: ignore[arg-type]
                    usage = Usage(*map(sum, parts))
            except ModelCallError as error:
                # a reply that was withheld without an error status may be charged
                may_cost = isinstance(error, ModelTimeoutError) or (
                    isinstance(error, RefusalError | ContentFilterError) and error.status is None
                )
                if isinstance(error, RateLimitError):
                    self.pace.shrink(number)
                if is_trial and isinstance(error, _TRANSIENT):
                    self._trip(error)
                raise
            finally:
                self.pace.leave(request, usage, may_cost=may_cost)
        finally:
            if is_trial:
                self._is_trying = False
        self.pace.grow()
        self._counts.n_replies += 1
        self._was_reached, self._waited_s = True, 0.0
        for used in filter(None, (reply.usage for reply in replies)):
            self._counts.prompt_tokens += used.prompt_tokens
            self._counts.completion_tokens += used.completion_tokens
            self._counts.cached_tokens += used.cached_tokens
        return replies

    async def _reply(
        self, request: ChatRequest, n_samples: int, *, is_trial: bool
    ) -> Sequence[Reply]:
        limit_s = self.judge.timeout_s
        if is_trial and self._live is not None:
            limit_s = min(limit_s, self._live.deadline_s)
        try:
            async with asyncio.timeout(limit_s) as deadline:
                if n_samples > 1 and isinstance(self._model, SamplingChatModel):
                    return await self._model.samples(request, n_samples)
                return [await self._model.reply(request)]
        except TimeoutError:
            if not deadline.expired():
                raise
        msg = f"no reply within {limit_s:g} s"
        raise ModelTimeoutError(msg)

    async def _check_stored(self, tries: _Attempts[Any]) -> None:
        """Before the first try, look anew where another run has stored something meanwhile."""
        if self.store is None or tries.n or self.n_by_others == tries.seen:
            return
        stored = await self.store.aget(self.judge_id, [tries.call.item])
        blobs = stored.get(tries.call.item, {}).get(tries.call.name, [])
        if len(blobs) > tries.n_kept:
            raise _StoredMeanwhileError(blobs)

    async def _keep(self, tries: _Attempts[Any], result: Any) -> Any:
        """Store a result before it is used; return it as it is stored."""
        is_access = getattr(result, "reason", None) == AccessError.reason
        if self.store is None or is_access:  # with another key there may be a reply
            return result
        blob = encode_attempt(result)
        row = StoredCall(tries.call.item, tries.call.name, tries.n_kept, blob)
        try:
            await self.store.put(self.judge_id, row)
        except Exception as error:
            if self._live is None:
                self._end(error, tries)
            if not self._breaker.is_open(asyncio.get_running_loop().time()):
                self._trip(error, "the store accepts nothing")
            raise OutOfOrderError(self._last) from error
        tries.n_kept += 1
        return result if blob[:1] == b"\x04" or result.text.isascii() else decode_attempt(blob)

    # What a run of calls learns ------------------------------------------------------------------

    @property
    def _is_checking(self) -> bool:
        return self._checked is not None and not self._checked.is_set()

    def _finish_check(self, reply: Reply | None) -> None:
        """Say what the first reply showed, and let the other calls go."""
        if self._checked is None or self._checked.is_set():
            return
        self._checked.set()
        if reply is None:
            return
        n_top = max((len(step.top) for step in reply.steps or ()), default=0)
        words = [
            f"{self._model.name} replied" + (f" as {reply.model!r}" if reply.model else ""),
            f"form {reply.form}",
            f"{n_top} log-probabilities a token" if n_top else "no log-probabilities",
        ]
        if self.pace.price is not None and reply.usage is not None:
            words.append(f"${self.pace.price.cost(reply.usage):.2g} this call")
        self._counts.check = ", ".join(words)

    def _end_if_hopeless(self, error: VoirdireError, tries: _Attempts[Any]) -> None:
        most = None if self.judge.keep_going else _MOST_IN_A_ROW
        if most is None:
            return
        if self._live is None and not self._has_answer and self._n_nothing >= _FIRST_TRIES:
            what = f"None of the first {self._n_nothing} tries gave an answer."
        elif self._n_in_a_row >= most:
            what = f"{self._n_in_a_row} calls in a row gave no answer."
        else:
            return
        msg = (
            f"{what} {_last(error)} Mend the server or the settings, or take another model, mode "
            "or probability, and run again with `--retry-failures`; `--keep-going` (in Python "
            "`keep_going=True`) goes on."
        )
        kind = ServerError if isinstance(error, _TRANSIENT) else NoAnswersError
        self._end(kind(msg), tries)

    def _handle_error(self, error: ModelCallError, tries: _Attempts[Any]) -> float | None:
        """End the calls where every call would meet the error; return the seconds to wait."""
        if isinstance(error, UnsupportedError) and error.feature == "logprobs":
            msg = (
                f"{str(error).rstrip('.')}. Use a server that gives log-probabilities, or choose "
                "another source: `--probability stated` or `--probability vote`."
            )
            self._end(UnsupportedError(msg, feature="logprobs", status=error.status), tries)
        if isinstance(error, UnsupportedError):
            self._end(error, tries)
        if isinstance(error, AccessError):
            self._n_account_errors += 1
            # a firewall may hold back the first text alone
            may_pass = self._has_answer or error.status == 403
            if not may_pass or self._n_account_errors >= _ACCOUNT_ERRORS:
                self._end(error, tries)
        wait_s = error.retry_after_s
        is_answer = error.status is not None or wait_s is not None
        if isinstance(error, ServerError | ModelTimeoutError):
            self._n_nothing += 1
            is_reached = is_answer or self._was_reached or not self._address
            if isinstance(error, ServerError) and not is_reached:
                return self._note_unreached(error, tries)
            self._end_if_hopeless(error, tries)
        else:
            is_answer = True
        self._was_reached = self._was_reached or is_answer
        if wait_s is None or not isinstance(error, _TRANSIENT):
            return None
        if wait_s > LONGEST_WAIT_S:
            hours = f"{wait_s / 3600:.2g} hours" if wait_s >= 3600 else f"{wait_s / 60:.0f} minutes"
            what = f"The server's limit holds for {hours} more."
        else:
            self._waited_s += self.pace.hold(wait_s)
            what = "The server asked for waits of more than 10 minutes, with no reply in between."
        most = None if self.judge.keep_going else _MOST_IN_A_ROW
        if most is not None and max(wait_s, self._waited_s) > LONGEST_WAIT_S:
            msg = f"{what} {_last(error)} When it replies again, repeat the same run."
            self._end(ServerError(msg, status=error.status, retry_after_s=wait_s), tries)
        return 0.0  # every call waits as long as the server asks

    def _note_unreached(self, error: ModelCallError, tries: _Attempts[Any]) -> float:
        """Note a call that reached no server: it may be down, or the address wrong."""
        self._n_unreached += 1
        if self._n_unreached > min(_RETRIES_UNREACHED, self.judge.max_retries):
            msg = (
                f"No call of this run got a reply from {self._address}. {_last(error)} Check that "
                "the server runs and that its address is right, then repeat the run."
            )
            self._end(ServerError(msg), tries)
        return random.random() * 0.5 * self._n_unreached  # noqa: S311  # so that calls part ways

    # Ends and pauses -----------------------------------------------------------------------------

    def _end(self, error: Exception, tries: _Attempts[Any]) -> NoReturn:
        """End a run, since every other call would meet the same error; pause a live judge."""
        self._finish_check(None)
        if self._live is not None:
            if tries.n_trips == self._n_trips:  # else it was sent before the last pause
                self._trip(error)
            raise OutOfOrderError(self._last)
        self.error = self.error or error
        self.pace.stop(StoppedError(f"The run ended: {error}"))
        raise error

    def _trip(self, error: Exception, what: str | None = None) -> None:
        """Begin no calls for a while."""
        self._n_trips += 1
        why = self._last = f"the judge is out of order: {what or type(error).__name__}"
        asked_s = min(getattr(error, "retry_after_s", None) or 0.0, LONGEST_WAIT_S)
        now = asyncio.get_running_loop().time()
        self._breaker.trip(why, now=now, at_least_s=asked_s)
        status = getattr(error, "status", None)
        _log.warning("%s%s", why, "" if status is None else f" (HTTP {status})")
        self._n_in_a_row = self._n_unreached = self._n_account_errors = 0
        self._waited_s = 0.0
        self.pace.interrupt(OutOfOrderError(why))

    def _admit(self) -> bool:
        """Raise where no calls are made; return whether this one tries if the judge works again."""
        self.pace.check_open()
        if self._breaker.reason is None:
            return False
        if (why := self.outage) is not None:
            raise OutOfOrderError(why)
        self._is_trying = True
        return True


@dataclass(kw_only=True, slots=True)
class _Attempts(Generic[T]):
    """A call, and the tries until now."""

    call: Call[T]
    on_send: Callable[[], None]
    seen: int
    n: int = 0
    n_errors: int = 0
    n_limited: int = 0
    n_unread: int = 0
    n_cut: int = 0
    n_kept: int = 0
    n_trips: int = 0
    n_samples: int = 1
    reply: Reply | None = None
    others: Sequence[Reply] = ()
    failure: CallFailure | None = None

    def backoff_s(self) -> float:
        """Draw the seconds until the next try."""
        n_before = min(self.n_errors + self.n_limited - 1, 10)
        longest_s = min(_LONGEST_BACKOFF_S, _FIRST_BACKOFF_S * 2.0**n_before)
        return random.random() * longest_s  # noqa: S311  # so that calls part ways


class _StoredMeanwhileError(Exception):
    """Another run has made the call; the argument has its stored attempts."""


def _last(error: VoirdireError) -> str:
    return f"The last error: {shorten(str(error), width=240).rstrip('.')}."
