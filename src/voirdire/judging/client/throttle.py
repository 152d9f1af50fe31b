"""Decides when the next request may be sent, by concurrency, rates and budget together."""

from __future__ import annotations

import asyncio
import contextlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from voirdire.errors import (
    ContentFilterError,
    CostLimitReachedError,
    ModelTimeoutError,
    RefusalError,
    StoppedError,
)
from voirdire.judging.client.limits import (
    Budget,
    ConcurrencyLimiter,
    RateLimiter,
    UsageGuess,
    format_dollars,
)
from voirdire.records import Reply, Usage

if TYPE_CHECKING:
    from voirdire.errors import ModelCallError
    from voirdire.judging.client.limits import Limits
    from voirdire.judging.pricing import Price
    from voirdire.models import ChatRequest

__all__ = ["Permit", "Throttle"]


@dataclass(eq=False, slots=True)
class Permit:
    """Permission to send a request, with its guessed usage."""

    n_tokens: float = 0.0
    cost: float = 0.0
    is_guessed: bool = False
    sent: int = 0


class Throttle:
    """Lets calls through, one after another, as fast as all limits allow."""

    def __init__(self, limits: Limits, *, price: Price | None) -> None:
        self.slots = ConcurrencyLimiter(limits.concurrency)
        self.budget = Budget(price, max_cost=limits.max_cost)
        self.n_sent = 0
        self._limits = limits
        self._stopping = asyncio.Event()
        self._released = asyncio.Event()
        self._queue = asyncio.Lock()  # calls wait in the order of arrival
        self._guess = UsageGuess()
        self._end: StoppedError | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether no more calls are let through."""
        return self._end is not None

    def check_open(self) -> None:
        """Raise the error that ended the run, if there is one."""
        if self._end is not None:
            # a new one each time: raised twice, one exception would carry both tracebacks
            raise type(self._end)(*self._end.args)

    def stop(self, end: StoppedError) -> None:
        """Let no more calls through; waiting calls get the error."""
        if self._end is None:
            self._end = end
        self.slots.close()
        self._stopping.set()
        self._released.set()

    async def enter(self) -> None:
        """Wait for a place; return it with `slots.give_back`."""
        if not await self.slots.take():
            self.check_open()

    async def pause(self, seconds: float) -> None:
        """Wait so many seconds, or until a stop."""
        self.check_open()
        await _wait(self._stopping, seconds)
        self.check_open()

    async def send(self, request: ChatRequest) -> Permit:
        """Wait until a request may be sent; return the permit with `settle` or `abandon`."""
        async with self._queue:
            self.check_open()  # a stop may have come during the wait
            need = self._guess_permit(request)
            while (wait_s := self._wait_s(need)) > 0:
                self._released.clear()
                await _wait(self._released, wait_s)
                self.check_open()
                need = self._guess_permit(request)  # replies that came meanwhile improve the guess
        self._rates.take(need.n_tokens, now=self._now())
        self.budget.reserve(need.cost)
        self.n_sent += 1
        need.sent = self.n_sent
        return need

    def settle(self, permit: Permit, request: ChatRequest, result: Reply | ModelCallError) -> None:
        """Replace the guessed usage of a request by that of its result."""
        used: float | None = 0.0
        usage = result.usage if isinstance(result, Reply) else None
        if usage is not None:
            self.budget.spend(self.budget.of(usage))
            used = _n_tokens(usage)
            if permit.is_guessed:
                self._guess.learn(request, usage)
        elif isinstance(result, Reply | ModelTimeoutError) or _is_charged(result):
            used = None
        self._release(permit, used=used, perhaps_charged=used is None)

    def abandon(self, permit: Permit) -> None:
        """Release a permit whose request has no known result."""
        self._release(permit, used=None, perhaps_charged=True)

    def _release(self, permit: Permit, *, used: float | None, perhaps_charged: bool) -> None:
        if not permit.is_guessed:
            return
        self.budget.release(permit.cost, perhaps_charged=perhaps_charged)
        if used is not None:
            self._rates.take_tokens(used - permit.n_tokens, now=self._now())
        if self.budget.max_cost is not None:
            self._released.set()

    def hold(self, seconds: float) -> float:
        """Let no calls through for so many seconds; return the seconds that this adds."""
        return self._rates.hold(seconds, now=self._now())

    @cached_property
    def _rates(self) -> RateLimiter:
        return RateLimiter(self._limits, now=self._now())

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _guess_permit(self, request: ChatRequest) -> Permit:
        has_limit = self.budget.max_cost is not None
        if not (has_limit or self._rates.counts_tokens):
            return Permit()
        guess = self._guess.of(request)
        cost = self.budget.of(guess) if has_limit else 0.0
        return Permit(n_tokens=_n_tokens(guess), cost=cost, is_guessed=True)

    def _wait_s(self, need: Permit) -> float:
        allowed = self.budget.allows(need.cost)
        if allowed == "no":
            self.stop(self._cost_limit_reached(need.cost))
            self.check_open()
        if allowed == "wait":
            return math.inf
        return self._rates.wait_s(need.n_tokens, now=self._now())

    def _cost_limit_reached(self, cost: float) -> CostLimitReachedError:
        perhaps = self.budget.perhaps_spent
        msg = (
            f"`max_cost` of {format_dollars(self.budget.max_cost or 0.0)} is reached: "
            f"{format_dollars(self.budget.spent or 0.0)} is spent, "
            + (
                f"calls without a reply may have cost {format_dollars(perhaps)}, "
                if perhaps
                else ""
            )
            + f"and the next call may cost {format_dollars(cost)}. The same command with a higher "
            "`max_cost` continues from here: stored replies are not paid for twice, and each run "
            "has the limit anew."
        )
        return CostLimitReachedError(msg)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, at most so many seconds."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _is_charged(error: ModelCallError) -> bool:
    """Return whether the call may be charged: the reply was withheld without an error status."""
    return isinstance(error, RefusalError | ContentFilterError) and error.status is None


def _n_tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens
