"""Makes calls to a model: in turn, within limits, each reply stored before it is used."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, NoReturn, Protocol, TypeVar

import msgspec
from msgspec.structs import astuple

from voirdire._validation import shorten
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
    n_unreadable,
    partial_outcome,
    storable,
    stored_outcome,
)
from voirdire.judging.client.failures import (
    FailureMonitor,
    is_transient,
    without_log_probabilities,
)
from voirdire.judging.client.limits import LONGEST_WAIT_S
from voirdire.judging.client.throttle import Throttle
from voirdire.judging.reading import as_failure
from voirdire.models import BatchChatModel, SamplingChatModel
from voirdire.records import Reply, Usage
from voirdire.store import StoredCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from voirdire._types import ReplyForm
    from voirdire.judging.client.call import Call
    from voirdire.judging.client.limits import Limits
    from voirdire.judging.client.throttle import Permit
    from voirdire.judging.judges.pricing import Price
    from voirdire.models import ChatModel, ChatRequest

__all__ = [
    "ClaimedElsewhereError",
    "Client",
    "ClientState",
    "ReplyLog",
    "StepDown",
    "added_states",
]

T = TypeVar("T")


@dataclass(kw_only=True)
class ClientState:
    """How the calls of a run stand: a client counts in one of its own, and gives copies of it.

    Attributes
    ----------
    n_calls : int
        Requests that were sent, those that were tried again counted again.
    n_replies : int
        How many of them brought a reply, readable or not.
    n_retries : int
        How many of them were not the first of their call.
    n_in_flight : int
        Calls that have a place: about to be sent, sent, or with a reply that is not committed yet.
    n_unreadable : int
        Replies that could not be read.
    n_failures : int
        Calls that ended as a `Failure`.
    prompt_tokens, completion_tokens, cached_tokens : int
        As the server counts them; 0 where it does not.
    cost : float or None
        US dollars; None where the price is unknown.
    perhaps_cost : float
        US dollars that calls without a reply may have cost beside it.
    forms : mapping of str to int
        Replies per form in which they were asked for.
    steps_down : tuple of StepDown
        Forms that the server turned out not to know.
    n_rate_limits : int
        How often the server said "too many".
    rate_limit_wait_s : float
        Seconds in which nothing is sent because it asked for that.
    concurrency : int
        Calls that may be in flight now.
    is_stopped : bool
        Whether nothing new is begun.
    """

    n_calls: int = 0
    n_replies: int = 0
    n_retries: int = 0
    n_in_flight: int = 0
    n_unreadable: int = 0
    n_failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = 0.0
    perhaps_cost: float = 0.0
    forms: dict[ReplyForm, int] = field(default_factory=dict)
    steps_down: tuple[StepDown, ...] = ()
    n_rate_limits: int = 0
    rate_limit_wait_s: float = 0.0
    concurrency: int = 0
    is_stopped: bool = False

    def add_reply(self, reply: Reply, *, form: ReplyForm) -> None:
        """Count a reply."""
        self.n_replies += 1
        self.forms[form] = self.forms.get(form, 0) + 1
        if reply.usage is not None:
            self.prompt_tokens += reply.usage.prompt_tokens
            self.completion_tokens += reply.usage.completion_tokens
            self.cached_tokens += reply.usage.cached_tokens


def added_states(states: Sequence[ClientState]) -> ClientState:
    """Add up how the calls of several clients stand."""
    forms: dict[ReplyForm, int] = {}
    for state in states:
        for form, n in state.forms.items():
            forms[form] = forms.get(form, 0) + n
    costs = [state.cost for state in states]
    names = [
        "n_calls", "n_replies", "n_retries", "n_in_flight", "n_unreadable", "n_failures",
        "prompt_tokens", "completion_tokens", "cached_tokens", "n_rate_limits",
        "rate_limit_wait_s", "concurrency", "perhaps_cost",
    ]  # fmt: skip
    return ClientState(
        **{name: sum(getattr(state, name) for state in states) for name in names},
        cost=None if None in costs else sum(cost or 0.0 for cost in costs),
        forms=forms,
        steps_down=tuple(step for state in states for step in state.steps_down),
        is_stopped=any(state.is_stopped for state in states),
    )


@dataclass(frozen=True, kw_only=True)
class StepDown:
    """A form of reply that a server turned out not to know.

    Attributes
    ----------
    from_form, to_form : {"json_schema", "json_object", "text"}
        How replies were asked for before, and since.
    reason : str
        What the server said, shortened.
    """

    from_form: ReplyForm
    to_form: ReplyForm
    reason: str


class FormLadder:
    """How replies are asked for now; it only ever goes down, and for the whole run."""

    def __init__(self, forms: Sequence[ReplyForm]) -> None:
        self._forms = tuple(forms)
        self.form: ReplyForm = self._forms[0]
        self.steps_down: list[StepDown] = []

    def step_down(self, form: ReplyForm, *, reason: str) -> bool:
        """Leave `form`; False where there is nothing below it.

        Several calls in flight may be refused for the same form: the first of them steps down,
        the others find it done.
        """
        below = self._forms[self._forms.index(form) + 1 :]
        if not below:
            return False
        if form == self.form:
            self.form = below[0]
            step = StepDown(from_form=form, to_form=self.form, reason=shorten(reason, width=200))
            self.steps_down.append(step)
        return True


class ClaimedElsewhereError(Exception):
    """Another run makes the call just now; what comes of it will be in the store."""


class Client:
    """Takes calls to a model to their end: a value or a failure, whatever the server does.

    Parameters
    ----------
    model : ChatModel
        Who is called.
    limits : Limits
        How fast, how often, for how much.
    log : ReplyLog, optional
        Where replies are kept; None keeps none.
    price : Price, optional
        What tokens cost; None where nobody knows.
    rng : random.Random, optional
        Spreads the waiting after errors.
    is_trial : bool, optional
        Whether all it is to find out is if the server works again: an error that may pass ends the
        run at once, and nothing is kept of it, since it is not the call's.
    ends_hopeless : bool, optional
        Whether the run ends where replies cannot be used; see `Limits`.

    Attributes
    ----------
    log : ReplyLog or None
        As given.

    Raises
    ------
    InputError
        If the limits hold a cost and nobody knows the price.

    Notes
    -----
    *Order*: each answer belongs to its own call; nothing is said of the order between calls.
    *Errors*: a refusal, a filter or a bad request is a `Failure` at once; rate limits, timeouts
    and errors of the server are tried again, replies that cannot be read are asked for again, and
    become a `Failure` after that. No access, no log-probabilities where they are needed, a server
    that refuses the first ten calls, one that was never reached, one that has failed for long, or
    replies of which none can be used end the run: raised, and everything else is stopped.
    *Cancellation*: a call whose reply has come is committed before it ends; one that is still
    waiting for its reply is given up. `stop` lets calls in flight finish. *Memory*: one request
    and one reply per call in flight. *Retries and caching*: retries are made here; what is stored
    is read by `reuse`.

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
        self._batch_model = model if isinstance(model, BatchChatModel) else None
        self._sampling_model = model if isinstance(model, SamplingChatModel) else None
        self._limits = limits
        self.log = log
        self._rng = random.Random() if rng is None else rng  # noqa: S311  # spreads waits only
        self._throttle = Throttle(limits, price=price)
        self._ladder = FormLadder(model.capabilities.forms)
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
        """How the calls stand now."""
        throttle = self._throttle
        return replace(
            self._counts,
            n_in_flight=throttle.n_in_flight,
            cost=throttle.budget.spent,
            perhaps_cost=throttle.budget.perhaps_spent,
            forms=dict(self._counts.forms),
            steps_down=tuple(self._ladder.steps_down),
            concurrency=int(throttle.slots.limit),
            is_stopped=throttle.is_stopped,
        )

    def stop(self) -> None:
        """Finish what is in flight and begin nothing: every other `answer` raises `StoppedError`.

        Call it from the event loop's thread, such as from `loop.add_signal_handler`.
        """
        self._throttle.stop(StoppedError("The run was stopped; replies that came are stored."))

    def reuse(
        self, call: Call[T], stored: Sequence[bytes], *, retry_failures: bool = False
    ) -> Outcome[T] | None:
        """Answer a call from what is stored of it.

        Parameters
        ----------
        call : Call
            What is asked.
        stored : sequence of bytes
            Its attempts, in their order.
        retry_failures : bool, optional
            Whether a stored failure counts for nothing.

        Returns
        -------
        Outcome or None
            None: it must be called.
        """
        if not stored:
            return None
        outcome = stored_outcome(call, stored, max_attempts=self._limits.max_attempts)
        if outcome is not None and retry_failures:
            is_open = outcome.is_partial and not call.is_enough(outcome.value)
            if outcome.failure is not None or is_open:
                return None
        if outcome is not None and outcome.failure is None:
            self._monitor.note_answer()
        return outcome

    async def answer(
        self, calls: Sequence[Call[T]], *, stored: Sequence[Sequence[bytes]] | None = None
    ) -> list[Outcome[T]]:
        """Make calls, each as often as it takes.

        Several go together: to a model that answers many faster than one by one, or as one request
        for several replies where they ask the same and the model gives some. Else they go one
        after another.

        Parameters
        ----------
        calls : sequence of Call
            What is asked; several only where `goes_together` or `gives_samples`.
        stored : sequence of sequences of bytes, optional
            For every call the attempts of an earlier run; new ones are numbered on from there.

        Returns
        -------
        list of Outcome
            Values or failures, in the order of `calls`.

        Raises
        ------
        StoppedError
            If the run was stopped before a call came to its end; a `CostLimitReachedError` where
            its money is spent.
        ModelCallError
            If every other call would end the same way.
        ClaimedElsewhereError
            If another run makes one of the calls just now.
        """
        histories = stored if stored is not None else [()] * len(calls)
        all_tries = [self._tries(call, known) for call, known in zip(calls, histories, strict=True)]
        outcomes: dict[int, Outcome[T]] = {}
        self._n_under_way += len(calls)
        try:
            while waiting := [k for k in range(len(calls)) if k not in outcomes]:
                if not (self.goes_together or self.gives_samples):
                    waiting = waiting[:1]
                several = [all_tries[k] for k in waiting]
                wait_s = max(tries.wait_s for tries in several)
                if wait_s:
                    await self._throttle.pause(wait_s)
                ended = await self._try(several)
                outcomes |= {
                    k: outcome
                    for k, outcome in zip(waiting, ended, strict=True)
                    if outcome is not None
                }
        finally:
            self._n_under_way -= len(calls)
            for tries in all_tries:
                self._release(tries)
        return [outcomes[k] for k in range(len(calls))]

    @property
    def goes_together(self) -> bool:
        """Whether the model answers many requests faster together than one by one."""
        return self._batch_model is not None

    @property
    def gives_samples(self) -> bool:
        """Whether the model gives several replies to one request, as far as it is known."""
        return self._sampling_model is not None

    def _tries(self, call: Call[T], stored: Sequence[bytes]) -> Tries[T]:
        n_unread = n_unreadable(call, stored)
        if n_unread >= self._limits.max_attempts:
            n_unread = 0  # it had failed, and whoever asks again means it
        return Tries(
            call=call,
            n_kept=len(stored),
            n_unreadable=n_unread,
            n_replies_before=self._counts.n_replies,
        )

    async def _try(self, several: Sequence[Tries[T]]) -> list[Outcome[T] | None]:
        """Make calls once; None for each that is to be made again."""
        throttle = self._throttle
        await throttle.enter()
        try:
            await self._claim(several)
            requests = [tries.request(self._ladder.form) for tries in several]
            sent = requests if self.goes_together else requests[:1]
            permit = await throttle.send(sent)
            for tries in several[: len(sent)]:
                self._count_call(tries)
            results = await self._results(sent, permit, n_samples=len(several))
            kept: list[Reply | CallFailure | None] = []
            end: ModelCallError | None = None
            for tries, request, result in zip(several, requests, results, strict=False):
                try:
                    kept.append(self._kept(tries, request, result, permit))
                except ModelCallError as error:  # the others' replies are kept first
                    kept.append(None)
                    end = end or error
            # what the server did not give is asked for again; a failure is that of all samples
            is_failed = len(kept) == 1 and isinstance(kept[0], CallFailure)
            kept += [kept[0] if is_failed else None] * (len(several) - len(kept))
            ended = await self._keep_all(several, kept)
        finally:
            throttle.leave()
        if end is not None:
            raise end
        return [
            None if what is None else self._ended(tries, what)
            for tries, what in zip(several, ended, strict=True)
        ]

    async def _results(
        self, sent: Sequence[ChatRequest], permit: Permit, *, n_samples: int
    ) -> Sequence[Reply | ModelCallError]:
        """Send requests, and put right what was guessed of them."""
        timeout_s = self._limits.timeout_s
        is_sampled = n_samples > len(sent) and self._sampling_model is not None
        try:
            if self._batch_model is not None:
                asking = self._batch_model.replies(sent)
            elif is_sampled and self._sampling_model is not None:
                asking = self._sampling_model.samples(sent[0], n_samples)
            else:
                asking = _one_reply(self._model, sent[0])
            results = await _send(asking, n=len(sent), timeout_s=timeout_s)
        except BaseException:
            self._throttle.abandon(permit)
            raise
        first = results[0]
        if is_sampled:
            is_refused = isinstance(first, UnsupportedError) and first.feature == "n"
            if is_refused or (len(results) == 1 and isinstance(first, Reply)):
                self._sampling_model = None  # it gives one reply a call
            self._throttle.settle(permit, sent, [_whole(results)])
        else:
            self._throttle.settle(permit, sent, results)
        return results

    async def _claim(self, several: Sequence[Tries[T]]) -> None:
        """Claim calls, so that no other run pays for them as well."""
        if self.log is None or self.goes_together:
            return
        for tries in several:
            if tries.n_claimed == tries.n_kept:
                continue
            call = tries.call
            if not await self.log.claim(call.item, call.name, attempt=tries.n_kept):
                raise ClaimedElsewhereError
            tries.n_claimed = tries.n_kept

    def _release(self, tries: Tries[T]) -> None:
        """Give up the claim of a try of which nothing was kept."""
        if self.log is not None and tries.n_claimed == tries.n_kept:
            self.log.release(tries.call.item, tries.call.name, attempt=tries.n_kept)

    def _count_call(self, tries: Tries[T]) -> None:
        self._counts.n_calls += 1
        self._counts.n_retries += tries.n_tried > 0
        tries.n_tried += 1
        tries.wait_s = 0.0

    def _kept(
        self,
        tries: Tries[T],
        request: ChatRequest,
        result: Reply | ModelCallError,
        permit: Permit,
    ) -> Reply | CallFailure | None:
        """Say what is to be stored of a try; None if the call is to be made again."""
        if isinstance(result, Reply):
            self._monitor.note_reply()
            self._throttle.slots.grow()
            self._counts.add_reply(result, form=request.form)
            if result.headroom is not None:
                self._throttle.observe(result.headroom, permit=permit)
            if result.form != request.form:
                result = msgspec.structs.replace(result, form=request.form)
            return result
        if isinstance(result, AccessError) or (self._is_trial and is_transient(result)):
            self._end(result)
        is_unreached = self._monitor.is_unreached(result)
        if isinstance(result, UnsupportedError) and self._has_stepped(result, request.form):
            return None
        if is_unreached:
            self._soon_again(tries, result)
            return None
        if (hopeless := self._monitor.note_error(result)) is not None:
            self._end(hopeless)
        self._slow_down(result, permit)
        return self._after(tries, result, form=request.form)

    def _has_stepped(self, error: UnsupportedError, form: ReplyForm) -> bool:
        if error.feature == "n":
            return True  # each sample has a call of its own from now on
        if error.feature == "logprobs":
            self._end(without_log_probabilities(error))
        if error.feature not in ("json_schema", "json_object") or form == "text":
            return False
        if not self._ladder.step_down(form, reason=str(error)):
            self._end(error)
        return True

    def _slow_down(self, error: ModelCallError, permit: Permit) -> None:
        if isinstance(error, RateLimitError):
            self._counts.n_rate_limits += 1
            self._throttle.slots.shrink(sent=permit.sent, n_sent=self._throttle.n_sent)
        wait_s = error.retry_after_s
        if wait_s is None or not is_transient(error):
            return
        if wait_s <= LONGEST_WAIT_S:
            wait_s = self._throttle.hold(wait_s)
            self._counts.rate_limit_wait_s += wait_s
        if end := self._monitor.note_wait(wait_s, error):
            self._end(end)

    def _after(
        self, tries: Tries[T], error: ModelCallError, *, form: ReplyForm
    ) -> CallFailure | None:
        failed = tries.after(
            error,
            form=form,
            limits=self._limits,
            n_replies=self._counts.n_replies,
            rng=self._rng,
        )
        if failed is not None:
            tries.end = self._monitor.note_failure(error)
        return failed

    def _soon_again(self, tries: Tries[T], error: ModelCallError) -> None:
        """Try again, or end the run: nobody has answered in it, and nothing is to be kept."""
        tries.n_unreached += 1
        tries.wait_s = self._monitor.pause_s(tries.n_unreached, rng=self._rng)
        end = self._monitor.note_unreached(
            error, n_tried=tries.n_unreached, n_under_way=self._n_under_way
        )
        if end is not None:
            self._end(end)

    def _end(self, error: ModelCallError) -> NoReturn:
        """End the run: every other call would end the same way."""
        self._throttle.stop(StoppedError(f"The run ended: {error}"))
        raise error

    async def _keep_all(
        self, several: Sequence[Tries[T]], given: Sequence[Reply | CallFailure | None]
    ) -> Sequence[Reply | CallFailure | None]:
        """Store what came of tries, all at once, and give what was stored."""
        if len(several) == 1:
            return [await self._keep(several[0], given[0])]
        pairs = zip(several, given, strict=True)
        return await asyncio.gather(*(self._keep(tries, what) for tries, what in pairs))

    async def _keep(
        self, tries: Tries[T], what: Reply | CallFailure | None
    ) -> Reply | CallFailure | None:
        if what is None:
            return None
        if self.log is not None:
            try:
                blob = encode_attempt(what)
            except UnicodeEncodeError:
                what = storable(what)
                blob = encode_attempt(what)
            kept = StoredCall(tries.call.item, tries.call.name, tries.n_kept, blob)
            await _put_surely(self.log, kept)
        tries.n_kept += 1
        return what

    def _ended(self, tries: Tries[T], kept: Reply | CallFailure) -> Outcome[T] | None:
        """Read what was kept; None if the call is to be made again."""
        if isinstance(kept, CallFailure):
            self._counts.n_failures += 1
            if tries.end is not None:  # only now: what ended the run is kept too
                self._end(tries.end)
            return Outcome(failure=kept.failure(), form=kept.form, attempts=tries.n_kept)
        try:
            value = tries.call.read(kept)
        except VerdictParseError as error:
            self._counts.n_unreadable += 1
            tries.n_unreadable += 1
            tries.n_cut += kept.finish_reason == "length"
            if error.partial is not None:
                self._monitor.note_answer()
            elif end := self._monitor.note_unusable(error, is_refusal=error.is_refusal):
                self._end(end)
            is_last = error.is_refusal or tries.n_unreadable >= self._limits.max_attempts
            if not is_last and not tries.call.is_enough(error.partial):
                return None
            if error.partial is not None:
                return partial_outcome(error, attempts=tries.n_kept)
            self._counts.n_failures += 1
            return Outcome(failure=as_failure(error), form=kept.form, attempts=tries.n_kept)
        except UnsupportedError as error:
            self._end(error)  # whoever reads says the way out
        self._monitor.note_answer()
        return Outcome(value=value, form=kept.form, attempts=tries.n_kept)


_FIRST_BACKOFF_S = 1.0
_LONGEST_BACKOFF_S = 60.0
_MOST_LIMITED = 5
"""Rate limits that are nobody's fault are borne for so many times `max_retries`."""


@dataclass(kw_only=True, eq=False, slots=True)
class Tries(Generic[T]):
    """A call and what has become of it so far."""

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

    def request(self, form: ReplyForm) -> ChatRequest:
        """Make the request, with twice as many tokens as the one whose reply was cut off."""
        request = self.call.request(form)
        if not self.n_cut or request.max_tokens is None:
            return request
        return msgspec.structs.replace(request, max_tokens=request.max_tokens * 2**self.n_cut)

    def after(
        self,
        error: ModelCallError,
        *,
        form: ReplyForm,
        limits: Limits,
        n_replies: int,
        rng: random.Random,
    ) -> CallFailure | None:
        """Decide what follows an error: another try after `wait_s`, or a failure.

        A rate limit does not count against the call where other calls got replies since it last
        failed: the server works, and this call was unlucky.
        """
        if not is_transient(error):
            return self._failed(error, form=form)
        if isinstance(error, RateLimitError) and n_replies > self.n_replies_before:
            self.n_limited += 1
        else:
            self.n_errors += 1
        self.n_replies_before = n_replies
        is_over = (
            self.n_errors > limits.max_retries
            or self.n_limited > _MOST_LIMITED * limits.max_retries
            or (error.retry_after_s or 0.0) > LONGEST_WAIT_S
        )
        if is_over:
            return self._failed(error, form=form)
        # what the server asks for is waited for by every call, so here nothing is added to it
        self.wait_s = 0.0 if error.retry_after_s is not None else self._backoff_s(rng)
        return None

    def _backoff_s(self, rng: random.Random) -> float:
        n_before = self.n_errors + self.n_limited - 1
        longest = min(_LONGEST_BACKOFF_S, _FIRST_BACKOFF_S * 2.0 ** min(n_before, 10))
        return rng.random() * longest

    def _failed(self, error: ModelCallError, *, form: ReplyForm) -> CallFailure:
        often = f" (tried {self.n_tried} times)" if self.n_tried > 1 else ""
        return CallFailure(
            reason=error.reason,
            message=shorten(str(error), width=240) + often,
            form=form,
            status=error.status,
            n_tries=self.n_tried,
        )


async def _one_reply(model: ChatModel, request: ChatRequest) -> Sequence[Reply]:
    return (await model.reply(request),)


async def _send(
    asking: Awaitable[Sequence[Reply | ModelCallError]], *, n: int, timeout_s: float
) -> Sequence[Reply | ModelCallError]:
    """Wait for the results of `n` requests, which have the time of as many one by one."""
    in_all_s = timeout_s * n
    try:
        async with asyncio.timeout(in_all_s) as deadline:
            return await asking
    except TimeoutError:
        if not deadline.expired():
            raise
        late = ModelTimeoutError(f"no reply within {in_all_s:g} s")
        return [late] * n
    except ModelCallError as error:
        return [error] * n


def _whole(results: Sequence[Reply | ModelCallError]) -> Reply | ModelCallError:
    """Give one result for a request with several replies: what all of them were charged."""
    first = results[0]
    usages = [each.usage for each in results if isinstance(each, Reply)]
    if not isinstance(first, Reply) or None in usages:
        return first
    usage = Usage(*(sum(parts) for parts in zip(*map(astuple, usages), strict=True)))  # type: ignore[arg-type]
    return msgspec.structs.replace(first, usage=usage)


class ReplyLog(Protocol):
    """Where replies are kept before they are used, such as `voirdire.store.GroupCommit`."""

    async def put(self, call: StoredCall) -> None:
        """Store a call and return when it is there; storing it twice is storing it once."""

    async def claim(self, item: bytes, name: str, *, attempt: int) -> bool:
        """Say whether a call may be made: not while another run makes it."""

    def release(self, item: bytes, name: str, *, attempt: int) -> None:
        """Give up a claim."""


_LAST_CHANCE_S = 30.0
"""Nobody who was cancelled is kept for longer."""


async def _put_surely(log: ReplyLog, call: StoredCall) -> None:
    """Store a call, even where the wait for it is cancelled; the cancellation goes on then.

    A cancelled commit may or may not have been made. As making it twice does no harm, it is made
    again, in a task that the cancellation does not reach. That costs the usual case nothing, which
    a task for every commit would not.
    """
    try:
        await log.put(call)
    except asyncio.CancelledError:
        again = asyncio.ensure_future(_put_soon(log, call))
        while not again.done():
            try:
                await asyncio.shield(again)
            except asyncio.CancelledError:
                continue
        if not again.cancelled():
            again.result()
        raise


async def _put_soon(log: ReplyLog, call: StoredCall) -> None:
    async with asyncio.timeout(_LAST_CHANCE_S):
        await log.put(call)
