"""Makes calls to a model within limits, and stores each reply before it is used."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, NoReturn, Protocol, TypeVar

import msgspec
from msgspec.structs import astuple

from voirdire._messages import shorten
from voirdire.errors import (
    AccessError,
    InputError,
    ModelCallError,
    ModelTimeoutError,
    RateLimitError,
    StoppedError,
    UnsupportedError,
    VerdictParseError,
)
from voirdire.judging.client.call import (
    CallFailure,
    Outcome,
    encode_attempt,
    make_partial_outcome,
    make_storable,
    n_unreadable,
    read_stored_outcome,
)
from voirdire.judging.client.failures import (
    FailureMonitor,
    is_transient,
    make_no_logprobs_error,
)
from voirdire.judging.client.limits import LONGEST_WAIT_S
from voirdire.judging.client.throttle import Throttle
from voirdire.judging.reading import make_parse_failure
from voirdire.models import SamplingChatModel
from voirdire.records import Reply, Usage
from voirdire.store import StoredCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import ReplyForm
    from voirdire.judging.client.call import Call
    from voirdire.judging.client.limits import Limits
    from voirdire.judging.client.throttle import Permit
    from voirdire.judging.pricing import Price
    from voirdire.models import ChatModel, ChatRequest

__all__ = [
    "ClaimedElsewhereError",
    "Client",
    "ClientState",
    "ReplyLog",
    "StepDown",
    "add_states",
]

T = TypeVar("T")


@dataclass(kw_only=True)
class ClientState:
    """State of the calls of a run. A client keeps one and gives copies of it.

    Attributes
    ----------
    n_calls : int
        Requests that were sent; each try counts.
    n_replies : int
        How many of them brought a reply, readable or not.
    n_retries : int
        How many of them were not the first of their call.
    n_in_flight : int
        Calls that are about to be sent, that are sent, or whose reply is not committed yet.
    n_failures : int
        Calls that ended as a `Failure`.
    prompt_tokens, completion_tokens, cached_tokens : int
        As the server counts them; 0 where it does not.
    cost : float or None
        US dollars; None where the price is unknown.
    perhaps_cost : float
        US dollars that calls without a reply may have cost in addition.
    steps_down : tuple of StepDown
        Forms that the server does not support.
    concurrency : int
        Calls that may be in flight now.
    is_stopped : bool
        Whether nothing new is begun.
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
    perhaps_cost: float = 0.0
    steps_down: tuple[StepDown, ...] = ()
    concurrency: int = 0
    is_stopped: bool = False

    def add_reply(self, reply: Reply) -> None:
        """Count a reply."""
        self.n_replies += 1
        if reply.usage is not None:
            self.prompt_tokens += reply.usage.prompt_tokens
            self.completion_tokens += reply.usage.completion_tokens
            self.cached_tokens += reply.usage.cached_tokens


def add_states(states: Sequence[ClientState]) -> ClientState:
    """Add up the states of several clients."""
    costs = [state.cost for state in states]
    names = [
        "n_calls", "n_replies", "n_retries", "n_in_flight", "n_failures",
        "prompt_tokens", "completion_tokens", "cached_tokens", "concurrency", "perhaps_cost",
    ]  # fmt: skip
    return ClientState(
        **{name: sum(getattr(state, name) for state in states) for name in names},
        cost=None if None in costs else sum(cost or 0.0 for cost in costs),
        steps_down=tuple(step for state in states for step in state.steps_down),
        is_stopped=any(state.is_stopped for state in states),
    )


@dataclass(frozen=True, kw_only=True)
class StepDown:
    """A form of reply that a server does not support.

    Attributes
    ----------
    from_form, to_form : {"json_schema", "json_object", "text"}
        The form before, and the form after.
    reason : str
        The server's message, shortened.
    """

    from_form: ReplyForm
    to_form: ReplyForm
    reason: str


class ClaimedElsewhereError(Exception):
    """Another run makes the call now; its outcome will be in the store."""


class Client:
    """Makes calls to a model until each has a value or a failure.

    Parameters
    ----------
    model : ChatModel
        The model.
    limits : Limits
        Limits of rate, retries and cost.
    log : ReplyLog, optional
        Where replies are stored; None stores none.
    price : Price, optional
        Prices of tokens; None where they are not known.
    rng : random.Random, optional
        Random waiting times after errors.
    is_trial : bool, optional
        Whether the client only tests if the server works again: a transient error then ends the run
        at once and is not stored.
    ends_hopeless : bool, optional
        Whether the run ends where replies cannot be used; see `Limits`.

    Attributes
    ----------
    log : ReplyLog or None
        As given.

    Raises
    ------
    InputError
        If there is a cost limit and the price is not known.

    Notes
    -----
    *Order*: each answer belongs to its own call; calls may be made in any order. *Errors*: a
    refusal, a filter or a bad request is a `Failure` at once; rate limits, timeouts and errors of
    the server are tried again, replies that cannot be read are asked for again, and become a
    `Failure` after that. No access, no log-probabilities where they are needed, a server that
    refuses the first ten calls, one that was never reached, one that has failed for long, or
    replies of which none can be used end the run: raised, and everything else is stopped.
    *Cancellation*: a call whose reply has come is committed before it ends; one that is still
    waiting for its reply is given up. `stop` lets calls in flight finish. *Memory*: one request and
    one reply per call in flight. *Retries and caching*: retries are made here; `reuse` reads stored
    replies.

    The clock is the event loop's. A client works for one event loop at a time.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        limits: Limits,
        log: ReplyLog | None = None,
        price: Price | None = None,
        rng: random.Random | None = None,
        is_trial: bool = False,
        ends_hopeless: bool = True,
    ) -> None:
        if price is None and limits.max_cost is not None:
            msg = (
                f"`max_cost` needs the price of {model.name!r}, which is not known. Declare it "
                "with `--price IN,OUT`, or as `price`."
            )
            raise InputError(msg)
        self._model = model
        self._is_trial = is_trial
        self._sampling_model = model if isinstance(model, SamplingChatModel) else None
        self._limits = limits
        self.log = log
        self._rng = random.Random() if rng is None else rng  # noqa: S311  # only for waiting times
        self._throttle = Throttle(limits, price=price)
        self._forms = (
            model.capabilities.forms
        )  # the first is used; it is removed where the server does not support it
        self._steps_down: list[StepDown] = []
        self._monitor = FailureMonitor(
            limits.max_failures_in_a_row,
            max_retries=limits.max_retries,
            address=str(model.settings.get("base_url") or ""),
            ends_hopeless=ends_hopeless,
        )
        self._counts = ClientState()
        self._n_under_way = 0

    @property
    def state(self) -> ClientState:
        """State of the calls now."""
        throttle = self._throttle
        return replace(
            self._counts,
            n_in_flight=throttle.slots.n_taken,
            cost=throttle.budget.spent,
            perhaps_cost=throttle.budget.perhaps_spent,
            steps_down=tuple(self._steps_down),
            concurrency=int(throttle.slots.limit),
            is_stopped=throttle.is_stopped,
        )

    def stop(self) -> None:
        """Let calls in flight finish and begin no others: `answer` then raises `StoppedError`.

        Call it from the event loop's thread, such as from `loop.add_signal_handler`.
        """
        self._throttle.stop(StoppedError("The run was stopped; replies that came are stored."))

    def reuse(
        self, call: Call[T], stored: Sequence[bytes], *, retry_failures: bool = False
    ) -> Outcome[T] | None:
        """Answer a call from its stored attempts, in their order; None where it must be called.

        With `retry_failures` a stored failure is ignored.
        """
        if not stored:
            return None
        outcome = read_stored_outcome(call, stored, max_attempts=self._limits.max_attempts)
        if outcome is None or (retry_failures and (outcome.failure or outcome.is_partial)):
            return None
        if outcome.failure is None:
            self._monitor.note_answer()
        return outcome

    async def answer(
        self, calls: Sequence[Call[T]], *, stored: Sequence[Sequence[bytes]] | None = None
    ) -> list[Outcome[T]]:
        """Make calls, with retries; return values or failures in their order.

        Several calls ask the same: they go as one request for several replies where the model
        supports that, else one after another. New attempts are numbered after the `stored` ones.

        A stopped run raises `StoppedError` (`CostLimitReachedError` where the cost limit is
        reached). An error that every call would meet is a `ModelCallError`. Where another run makes
        one of the calls now, a `ClaimedElsewhereError` is raised.
        """
        histories = stored if stored is not None else [()] * len(calls)
        all_tries = [self._tries(call, known) for call, known in zip(calls, histories, strict=True)]
        self._n_under_way += len(calls)
        try:
            while waiting := [tries for tries in all_tries if tries.outcome is None]:
                if not self.gives_samples:
                    del waiting[1:]
                wait_s = max([tries.wait_s for tries in waiting])
                if wait_s:
                    await self._throttle.pause(wait_s)
                await self._try(waiting)
                for tries in waiting:
                    if tries.came is not None:
                        tries.outcome = self._outcome(tries, tries.came)
        finally:
            self._n_under_way -= len(calls)
            for tries in all_tries:
                self._release(tries)
        return [tries.outcome for tries in all_tries if tries.outcome is not None]

    @property
    def gives_samples(self) -> bool:
        """Whether the model gives several replies to one request, as far as it is known."""
        return self._sampling_model is not None

    def _tries(self, call: Call[T], stored: Sequence[bytes]) -> Tries[T]:
        n_unread = n_unreadable(call, stored) if stored else 0
        if n_unread >= self._limits.max_attempts:
            n_unread = 0  # a failed call that is asked again gets a new try
        return Tries(
            call=call,
            n_kept=len(stored),
            n_unreadable=n_unread,
            n_replies_before=self._counts.n_replies,
        )

    async def _try(self, several: Sequence[Tries[T]]) -> None:
        """Make calls once and store the results; None where they are to be made again."""
        throttle = self._throttle
        await throttle.enter()
        try:
            await self._claim(several)
            first = several[0]
            request = first.request(self._forms[0])
            permit = await throttle.send(request)
            for tries in several:
                tries.came = None
            self._counts.n_calls += 1
            self._counts.n_retries += first.n_tried > 0
            first.n_tried += 1
            first.wait_s = 0.0
            results = await self._results(request, permit, n_samples=len(several))
            for tries, result in zip(several, results, strict=False):
                tries.came = self._handle_result(tries, request, result, permit)
            # missing samples are asked for again; a failure is that of all samples
            if isinstance(first.came, CallFailure):
                for tries in several:
                    tries.came = first.came
            if len(several) == 1:
                await self._keep(first)
            else:
                await asyncio.gather(*map(self._keep, several))
        finally:
            throttle.slots.give_back()

    async def _results(
        self, request: ChatRequest, permit: Permit, *, n_samples: int
    ) -> Sequence[Reply | ModelCallError]:
        """Send a request, and replace the guessed usage by the actual usage."""
        is_sampled = n_samples > 1 and self._sampling_model is not None
        limit_s = self._limits.timeout_s
        results: Sequence[Reply | ModelCallError]
        try:
            async with asyncio.timeout(limit_s) as deadline:
                if n_samples > 1 and self._sampling_model is not None:
                    results = await self._sampling_model.samples(request, n_samples)
                else:
                    results = [await self._model.reply(request)]
        except ModelCallError as error:
            results = [error]
        except BaseException as error:
            if not (isinstance(error, TimeoutError) and deadline.expired()):
                self._throttle.abandon(permit)
                raise
            results = [ModelTimeoutError(f"no reply within {limit_s:g} s")]
        first = results[0]
        if is_sampled:
            is_refused = isinstance(first, UnsupportedError) and first.feature == "n"
            if is_refused or (len(results) == 1 and isinstance(first, Reply)):
                self._sampling_model = None  # it gives one reply a call
        self._throttle.settle(permit, request, _join_results(results))
        return results

    async def _claim(self, several: Sequence[Tries[T]]) -> None:
        """Claim calls, so that no other run makes them as well."""
        if self.log is None:
            return
        for tries in several:
            if tries.n_claimed == tries.n_kept:
                continue
            call = tries.call
            if not await self.log.claim(call.item, call.name, attempt=tries.n_kept):
                raise ClaimedElsewhereError
            tries.n_claimed = tries.n_kept

    def _release(self, tries: Tries[T]) -> None:
        """Release the claim of a try of which nothing was stored."""
        if self.log is not None and tries.n_claimed == tries.n_kept:
            self.log.release(tries.call.item, tries.call.name, attempt=tries.n_kept)

    def _handle_result(
        self,
        tries: Tries[T],
        request: ChatRequest,
        result: Reply | ModelCallError,
        permit: Permit,
    ) -> Reply | CallFailure | None:
        """Return what to store of a try; None where the call is to be made again."""
        if isinstance(result, Reply):
            self._monitor.note_reply()
            self._throttle.slots.grow()
            self._counts.add_reply(result)
            return result
        if isinstance(result, AccessError) or (self._is_trial and is_transient(result)):
            self._end(result)
        is_unreached = self._monitor.is_unreached(result)
        if isinstance(result, UnsupportedError) and self._has_stepped(result, request.form):
            return None
        if is_unreached:
            self._retry_unreached(tries, result)
            return None
        if (hopeless := self._monitor.note_error(result)) is not None:
            self._end(hopeless)
        self._slow_down(result, permit)
        return self._decide_retry(tries, result, form=request.form)

    def _has_stepped(self, error: UnsupportedError, form: ReplyForm) -> bool:
        if error.feature == "n":
            return True  # from now on each sample has a call of its own
        if error.feature == "logprobs":
            self._end(make_no_logprobs_error(error))
        if error.feature not in ("json_schema", "json_object") or form == "text":
            return False
        if form != self._forms[0]:  # another call in flight was refused for the same reason
            return True
        if len(self._forms) == 1:
            self._end(error)
        self._forms = self._forms[1:]
        reason = shorten(str(error), width=200)
        step = StepDown(from_form=form, to_form=self._forms[0], reason=reason)
        self._steps_down.append(step)
        return True

    def _slow_down(self, error: ModelCallError, permit: Permit) -> None:
        if isinstance(error, RateLimitError):
            self._throttle.slots.shrink(sent=permit.sent, n_sent=self._throttle.n_sent)
        wait_s = error.retry_after_s
        if wait_s is None or not is_transient(error):
            return
        if wait_s <= LONGEST_WAIT_S:
            wait_s = self._throttle.hold(wait_s)
        if end := self._monitor.note_wait(wait_s, error):
            self._end(end)

    def _decide_retry(
        self, tries: Tries[T], error: ModelCallError, *, form: ReplyForm
    ) -> CallFailure | None:
        """Decide after an error: another try after a wait, or a failure.

        A rate limit does not count against the call where other calls got replies since its last
        error: then the server works.
        """
        most, n_replies = self._limits.max_retries, self._counts.n_replies
        if isinstance(error, RateLimitError) and n_replies > tries.n_replies_before:
            tries.n_limited += 1
        else:
            tries.n_errors += 1
        tries.n_replies_before = n_replies
        is_tried_again = (
            is_transient(error)
            and tries.n_errors <= most
            and tries.n_limited <= _MOST_LIMITED * most
            and (error.retry_after_s or 0.0) <= LONGEST_WAIT_S
        )
        if is_tried_again:
            if error.retry_after_s is None:  # else every call waits as long as the server asks
                n_before = tries.n_errors + tries.n_limited - 1
                longest_s = min(_LONGEST_BACKOFF_S, _FIRST_BACKOFF_S * 2.0 ** min(n_before, 10))
                tries.wait_s = self._rng.random() * longest_s
            return None
        tries.end = self._monitor.note_failure(error)
        often = f" (tried {tries.n_tried} times)" if tries.n_tried > 1 else ""
        return CallFailure(
            reason=error.reason,
            message=shorten(str(error), width=240) + often,
            form=form,
            status=error.status,
            n_tries=tries.n_tried,
        )

    def _retry_unreached(self, tries: Tries[T], error: ModelCallError) -> None:
        """Try again, or end the run where no server has answered yet; store nothing."""
        tries.n_unreached += 1
        tries.wait_s = self._monitor.pause_s(tries.n_unreached, rng=self._rng)
        end = self._monitor.note_unreached(
            error, n_tried=tries.n_unreached, n_under_way=self._n_under_way
        )
        if end is not None:
            self._end(end)

    def _end(self, error: ModelCallError) -> NoReturn:
        """End the run, since every other call would meet the same error."""
        self._throttle.stop(StoppedError(f"The run ended: {error}"))
        raise error

    async def _keep(self, tries: Tries[T]) -> None:
        """Store the result of a try before it is used."""
        if tries.came is None:
            return
        if self.log is not None:
            try:
                blob = encode_attempt(tries.came)
            except UnicodeEncodeError:
                tries.came = make_storable(tries.came)
                blob = encode_attempt(tries.came)
            kept = StoredCall(tries.call.item, tries.call.name, tries.n_kept, blob)
            await _store_shielded(self.log, kept)
        tries.n_kept += 1

    def _outcome(self, tries: Tries[T], kept: Reply | CallFailure) -> Outcome[T] | None:
        """Read the stored result; None where the call is to be made again."""
        if isinstance(kept, CallFailure):
            self._counts.n_failures += 1
            if (
                tries.end is not None
            ):  # only now, so that the result that ends the run is stored too
                self._end(tries.end)
            return Outcome(failure=kept.failure())
        try:
            value = tries.call.read(kept)
        except VerdictParseError as error:
            tries.n_unreadable += 1
            tries.n_cut += kept.finish_reason == "length"
            if error.partial is not None:
                self._monitor.note_answer()
            elif end := self._monitor.note_unusable(error, is_refusal=error.is_refusal):
                self._end(end)
            is_last = error.is_refusal or tries.n_unreadable >= self._limits.max_attempts
            if not is_last:
                return None
            if error.partial is not None:
                return make_partial_outcome(error)
            self._counts.n_failures += 1
            return Outcome(failure=make_parse_failure(error))
        except UnsupportedError as error:
            self._end(error)  # the reader says what to do
        self._monitor.note_answer()
        return Outcome(value=value)


_FIRST_BACKOFF_S = 1.0
_LONGEST_BACKOFF_S = 60.0
_MOST_LIMITED = 5
"""How many times `max_retries` rate limits are tolerated while the server answers other calls."""


@dataclass(kw_only=True, eq=False, slots=True)
class Tries(Generic[T]):
    """A call and its tries so far."""

    call: Call[T]
    n_kept: int = 0
    n_unreadable: int = 0
    n_replies_before: int = 0
    n_claimed: int = -1
    n_tried: int = 0
    n_cut: int = 0
    n_errors: int = 0
    n_limited: int = 0
    n_unreached: int = 0
    wait_s: float = 0.0
    end: ModelCallError | None = None
    came: Reply | CallFailure | None = None
    outcome: Outcome[T] | None = None

    def request(self, form: ReplyForm) -> ChatRequest:
        """Make the request; after a reply that was cut off, with twice as many tokens."""
        request = self.call.request(form)
        if not self.n_cut or request.max_tokens is None:
            return request
        return msgspec.structs.replace(request, max_tokens=request.max_tokens * 2**self.n_cut)


def _join_results(results: Sequence[Reply | ModelCallError]) -> Reply | ModelCallError:
    """Join the results of a request with several replies into one, with their total usage."""
    first = results[0]
    usages = [each.usage for each in results if isinstance(each, Reply)]
    if not isinstance(first, Reply) or None in usages:
        return first
    usage = Usage(*(sum(parts) for parts in zip(*map(astuple, usages), strict=True)))  # type: ignore[arg-type]
    return msgspec.structs.replace(first, usage=usage)


class ReplyLog(Protocol):
    """Where replies are stored before they are used, such as `voirdire.store.GroupCommit`."""

    async def put(self, call: StoredCall) -> None:
        """Store a call and return when it is committed; storing it twice does no harm."""

    async def claim(self, item: bytes, name: str, *, attempt: int) -> bool:
        """Return whether a call may be made: not while another run makes it."""

    def release(self, item: bytes, name: str, *, attempt: int) -> None:
        """Release a claim."""


_CANCELLED_GRACE_S = 30.0
"""Seconds that a cancelled task may still use to store its reply."""


async def _store_shielded(log: ReplyLog, call: StoredCall) -> None:
    """Store a call, even where the task is cancelled meanwhile; then the cancellation goes on.

    A cancelled commit may or may not have been made. As a second one does no harm, it is made
    again, in a task that is not cancelled. A task for every commit would slow down the usual case.
    """
    try:
        await log.put(call)
    except asyncio.CancelledError:
        again = asyncio.ensure_future(_store_in_time(log, call))
        while not again.done():
            try:
                await asyncio.shield(again)
            except asyncio.CancelledError:
                continue
        if not again.cancelled():
            again.result()
        raise


async def _store_in_time(log: ReplyLog, call: StoredCall) -> None:
    async with asyncio.timeout(_CANCELLED_GRACE_S):
        await log.put(call)
