"""Makes calls to a model: in turn, within limits, each reply stored before it is used."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, NoReturn, TypeVar

import msgspec

from voirdire.errors import (
    AccessError,
    InputError,
    ModelCallError,
    RateLimitError,
    StoppedError,
    UnsupportedError,
    VerdictParseError,
)
from voirdire.judging.calls.attempts import CallFailure, encode_attempt
from voirdire.judging.calls.call import Outcome
from voirdire.judging.calls.committing import commit_surely
from voirdire.judging.calls.gate import Gate
from voirdire.judging.calls.giving_up import GivingUp, without_log_probabilities
from voirdire.judging.calls.history import (
    n_unreadable,
    partial_outcome,
    stored_outcome,
)
from voirdire.judging.calls.ladder import Ladder
from voirdire.judging.calls.pace import LONGEST_WAIT_S
from voirdire.judging.calls.sending import send_one, send_together
from voirdire.judging.calls.state import CallerState, Counts
from voirdire.judging.calls.storable import storable
from voirdire.judging.calls.tries import Tries, is_transient
from voirdire.judging.reading import as_failure
from voirdire.models import BatchChatModel
from voirdire.records import Reply
from voirdire.store import StoredCall

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from voirdire._types import ReplyForm
    from voirdire.judging.calls.call import Call
    from voirdire.judging.calls.committing import Commit
    from voirdire.judging.calls.gate import Pass
    from voirdire.judging.calls.limits import Limits
    from voirdire.models import ChatModel, ChatRequest
    from voirdire.records import Usage

__all__ = ["Caller", "CallerState"]

T = TypeVar("T")


class Caller:
    """Takes calls to a model to their end: a value or a failure, whatever the server does.

    Parameters
    ----------
    model : ChatModel
        Who is called.
    limits : Limits
        How fast, how often, for how much.
    commit : callable, optional
        Stores a call and returns when it is there, such as `GroupCommit.put`. Storing the same
        call twice must be the same as storing it once. None stores nothing.
    price : callable, optional
        US dollars of a `Usage`, or None where nobody knows.
    rng : random.Random, optional
        Spreads the waiting after errors.
    is_trial : bool, optional
        Whether all it is to find out is if the server works again: an error that may pass ends the
        run at once, and nothing is kept of it, since it is not the call's.
    ends_hopeless : bool, optional
        Whether the run ends where replies cannot be used; see `Limits`.

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

    The clock is the event loop's. A caller works for one event loop at a time.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        limits: Limits,
        commit: Commit | None = None,
        price: Callable[[Usage], float | None] | None = None,
        rng: random.Random | None = None,
        is_trial: bool = False,
        ends_hopeless: bool = True,
    ) -> None:
        self._model = model
        self._is_trial = is_trial
        self._batch_model = model if isinstance(model, BatchChatModel) else None
        self._limits = limits
        self._commit = commit
        self._rng = random.Random() if rng is None else rng  # noqa: S311  # spreads waits only
        self._gate = Gate(limits, price=price)
        self._ladder = Ladder(model.capabilities.forms)
        self._giving_up = GivingUp(
            limits.max_failures_in_a_row,
            max_retries=limits.max_retries,
            address=str(model.settings.get("base_url") or ""),
            ends_hopeless=ends_hopeless,
        )
        self._counts = Counts()
        self._n_under_way = 0

    @property
    def state(self) -> CallerState:
        """How the calls stand now."""
        return self._counts.state(gate=self._gate, ladder=self._ladder)

    def stop(self) -> None:
        """Finish what is in flight and begin nothing: every other `answer` raises `StoppedError`.

        Call it from the event loop's thread, such as from `loop.add_signal_handler`.
        """
        self._gate.stop(StoppedError("The run was stopped; replies that came are stored."))

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
        if outcome is not None and retry_failures and (outcome.failure or outcome.is_partial):
            return None
        if outcome is not None and outcome.failure is None:
            self._giving_up.note_answer()
        return outcome

    async def answer(self, call: Call[T], *, stored: Sequence[bytes] = ()) -> Outcome[T]:
        """Make a call, as often as it takes.

        Parameters
        ----------
        call : Call
            What is asked.
        stored : sequence of bytes, optional
            Attempts of an earlier run; new ones are numbered on from there.

        Returns
        -------
        Outcome
            A value or a failure.

        Raises
        ------
        StoppedError
            If the run was stopped before this call came to its end; a `CostLimitReachedError`
            where its money is spent.
        ModelCallError
            If every other call would end the same way.
        """
        tries = self._tries(call, stored)
        self._n_under_way += 1
        try:
            while True:
                outcome = await self._try(tries)
                if outcome is not None:
                    return outcome
                if tries.wait_s:
                    await self._gate.pause(tries.wait_s)
        finally:
            self._n_under_way -= 1

    async def answer_together(
        self, calls: Sequence[Call[T]], *, stored: Sequence[Sequence[bytes]] | None = None
    ) -> list[Outcome[T]]:
        """Make several calls in one, for a model that answers many faster than one by one.

        Parameters
        ----------
        calls : sequence of Call
            What is asked.
        stored : sequence of sequences of bytes, optional
            For every call the attempts of an earlier run.

        Returns
        -------
        list of Outcome
            In the order of `calls`.

        Raises
        ------
        InputError
            If the model takes only one call at a time.
        StoppedError, ModelCallError
            As `answer` does.
        """
        if self._batch_model is None:
            msg = (
                f"`model` must be a BatchChatModel to answer calls together, got "
                f"{type(self._model).__name__}. Use `answer`."
            )
            raise InputError(msg)
        histories = stored if stored is not None else [()] * len(calls)
        tries = [self._tries(call, known) for call, known in zip(calls, histories, strict=True)]
        outcomes: list[Outcome[T] | None] = [None] * len(calls)
        while waiting := [i for i, outcome in enumerate(outcomes) if outcome is None]:
            wait_s = max(tries[i].wait_s for i in waiting)
            if wait_s:
                await self._gate.pause(wait_s)
            self._n_under_way += len(waiting)
            try:
                ended = await self._try_together([tries[i] for i in waiting], self._batch_model)
            finally:
                self._n_under_way -= len(waiting)
            for i, outcome in zip(waiting, ended, strict=True):
                outcomes[i] = outcome
        return [outcome for outcome in outcomes if outcome is not None]

    def _tries(self, call: Call[T], stored: Sequence[bytes]) -> Tries[T]:
        if not stored:
            return Tries(call, n_replies=self._counts.n_replies)
        n_unread = n_unreadable(call, stored)
        if n_unread >= self._limits.max_attempts:
            n_unread = 0  # it had failed, and whoever asks again means it
        return Tries(
            call, n_kept=len(stored), n_unreadable=n_unread, n_replies=self._counts.n_replies
        )

    async def _try(self, tries: Tries[T]) -> Outcome[T] | None:
        """Make the call once; None if it is to be made again."""
        gate = self._gate
        await gate.enter()
        try:
            request = tries.request(self._ladder.form)
            leave = await gate.send((request,))
            self._count_call(tries)
            sending = send_one(self._model, request, timeout_s=self._limits.timeout_s)
            (result,) = await self._settled(sending, (request,), leave)
            kept = self._kept(tries, request, result, leave)
            if kept is None:
                return None
            kept = await self._keep(tries, kept)
        finally:
            gate.leave()
        return self._ended(tries, kept)

    async def _try_together(
        self, several: Sequence[Tries[T]], model: BatchChatModel
    ) -> list[Outcome[T] | None]:
        gate = self._gate
        await gate.enter()
        try:
            requests = [tries.request(self._ladder.form) for tries in several]
            leave = await gate.send(requests)
            for tries in several:
                self._count_call(tries)
            sending = send_together(model, requests, timeout_s=self._limits.timeout_s)
            results = await self._settled(sending, requests, leave)
            kept: list[Reply | CallFailure | None] = []
            end: ModelCallError | None = None
            for tries, request, result in zip(several, requests, results, strict=True):
                try:
                    kept.append(self._kept(tries, request, result, leave))
                except ModelCallError as error:  # the others' replies are kept first
                    kept.append(None)
                    end = end or error
            kept = await asyncio.gather(
                *(self._keep_any(tries, what) for tries, what in zip(several, kept, strict=True))
            )
        finally:
            gate.leave()
        if end is not None:
            raise end
        return [
            None if what is None else self._ended(tries, what)
            for tries, what in zip(several, kept, strict=True)
        ]

    def _count_call(self, tries: Tries[T]) -> None:
        self._counts.n_calls += 1
        self._counts.n_retries += tries.n_tried > 0
        tries.n_tried += 1
        tries.wait_s = 0.0

    async def _settled(
        self,
        sending: Coroutine[None, None, Sequence[Reply | ModelCallError]],
        requests: Sequence[ChatRequest],
        leave: Pass,
    ) -> Sequence[Reply | ModelCallError]:
        """Send, and put right what was guessed of it."""
        try:
            results = await sending
        except BaseException:
            self._gate.abandon(leave)
            raise
        self._gate.settle(leave, requests, results)
        return results

    def _kept(
        self,
        tries: Tries[T],
        request: ChatRequest,
        result: Reply | ModelCallError,
        leave: Pass,
    ) -> Reply | CallFailure | None:
        """Say what is to be stored of a try; None if the call is to be made again."""
        if isinstance(result, Reply):
            self._giving_up.note_reply()
            self._gate.slots.grow()
            self._counts.add_reply(result, form=request.form)
            if result.headroom is not None:
                self._gate.observe(result.headroom, leave=leave)
            if result.form != request.form:
                result = msgspec.structs.replace(result, form=request.form)
            return result
        if isinstance(result, AccessError) or (self._is_trial and is_transient(result)):
            self._end(result)
        is_unreached = self._giving_up.is_unreached(result)
        if isinstance(result, UnsupportedError) and self._has_stepped(result, request.form):
            return None
        if is_unreached:
            self._soon_again(tries, result)
            return None
        self._slow_down(result, leave)
        return self._after(tries, result, form=request.form)

    def _has_stepped(self, error: UnsupportedError, form: ReplyForm) -> bool:
        if error.feature == "logprobs":
            self._end(without_log_probabilities(error))
        if error.feature not in ("json_schema", "json_object") or form == "text":
            return False
        if not self._ladder.step_down(form, reason=str(error)):
            self._end(error)
        return True

    def _slow_down(self, error: ModelCallError, leave: Pass) -> None:
        if isinstance(error, RateLimitError):
            self._counts.n_rate_limits += 1
            self._gate.slots.shrink(sent=leave.sent, n_sent=self._gate.n_sent)
        wait_s = error.retry_after_s
        if wait_s is not None and wait_s <= LONGEST_WAIT_S and is_transient(error):
            self._counts.rate_limit_wait_s += self._gate.hold(wait_s)

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
            tries.end = self._giving_up.note_failure(error)
        return failed

    def _soon_again(self, tries: Tries[T], error: ModelCallError) -> None:
        """Try again, or end the run: nobody has answered in it, and nothing is to be kept."""
        tries.n_unreached += 1
        tries.wait_s = self._giving_up.pause_s(tries.n_unreached, rng=self._rng)
        end = self._giving_up.note_unreached(
            error, n_tried=tries.n_unreached, n_under_way=self._n_under_way
        )
        if end is not None:
            self._end(end)

    def _end(self, error: ModelCallError) -> NoReturn:
        """End the run: every other call would end the same way."""
        self._gate.stop(StoppedError(f"The run ended: {error}"))
        raise error

    async def _keep(self, tries: Tries[T], what: Reply | CallFailure) -> Reply | CallFailure:
        """Store what came of a try, and give what was stored."""
        if self._commit is not None:
            try:
                blob = encode_attempt(what)
            except UnicodeEncodeError:
                what = storable(what)
                blob = encode_attempt(what)
            kept = StoredCall(tries.call.item, tries.call.name, tries.n_kept, blob)
            await commit_surely(self._commit, kept)
        tries.n_kept += 1
        return what

    async def _keep_any(
        self, tries: Tries[T], what: Reply | CallFailure | None
    ) -> Reply | CallFailure | None:
        return None if what is None else await self._keep(tries, what)

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
                self._giving_up.note_answer()
            elif end := self._giving_up.note_unusable(error, is_refusal=error.is_refusal):
                self._end(end)
            if not error.is_refusal and tries.n_unreadable < self._limits.max_attempts:
                return None
            if error.partial is not None:
                return partial_outcome(error, attempts=tries.n_kept)
            self._counts.n_failures += 1
            return Outcome(failure=as_failure(error), form=kept.form, attempts=tries.n_kept)
        except UnsupportedError as error:
            self._end(error)  # whoever reads says the way out
        self._giving_up.note_answer()
        return Outcome(value=value, form=kept.form, attempts=tries.n_kept)
