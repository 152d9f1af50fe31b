"""What calls cost: guessed before they are made, known after, and never above what was allowed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from voirdire.errors import InputError
from voirdire.records import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from voirdire.models import ChatRequest

__all__ = ["Spending", "UsageGuess", "dollars"]

_FIRST_TOKENS_PER_CHARACTER = 0.4
"""Between English (about 0.25) and Chinese (up to 1); the first reply corrects it."""

_FIRST_COMPLETION = 300
_WEIGHT = 0.1
"""Of the newest call in what is expected of the next."""


def dollars(amount: float) -> str:
    """Write US dollars with as many digits as say something, and at least with cents.

    Examples
    --------
    >>> [dollars(amount) for amount in (1234.5, 0.02, 0.001, 0.0000123456)]
    ['$1,234.50', '$0.02', '$0.001', '$0.0000123']
    """
    n_digits = 4 if amount <= 0 else max(4, 2 - math.floor(math.log10(amount)))
    whole, _, cents = f"{amount:,.{min(n_digits, 12)}f}".partition(".")
    return f"${whole}.{cents.rstrip('0'):0<2}"


class UsageGuess:
    """How many tokens a call will take, learnt from those before it."""

    def __init__(self) -> None:
        self._per_character = _FIRST_TOKENS_PER_CHARACTER
        self._completion: float | None = None

    def of(self, request: ChatRequest) -> Usage:
        """Guess the usage of a call."""
        completion = self._completion
        if completion is None:
            completion = min(request.max_tokens or _FIRST_COMPLETION, _FIRST_COMPLETION)
        return Usage(round(_n_characters(request) * self._per_character), round(completion))

    def learn(self, request: ChatRequest, usage: Usage) -> None:
        """Note what a call took."""
        per_character = usage.prompt_tokens / max(1, _n_characters(request))
        if self._completion is None:
            self._per_character, self._completion = per_character, usage.completion_tokens
            return
        self._per_character += _WEIGHT * (per_character - self._per_character)
        self._completion += _WEIGHT * (usage.completion_tokens - self._completion)


def _n_characters(request: ChatRequest) -> int:
    return sum(len(message.content) for message in request.messages) + len(request.schema)


class Spending:
    """What a run has spent, and what the calls in flight will cost.

    Parameters
    ----------
    price : callable or None
        US dollars of a `Usage`; None where nobody knows.
    max_cost : float or None
        US dollars that may be spent.

    Raises
    ------
    InputError
        If there is a limit but no price.
    """

    def __init__(
        self, price: Callable[[Usage], float | None] | None, *, max_cost: float | None
    ) -> None:
        self._price = price
        self.max_cost = max_cost
        self.spent: float | None = 0.0
        self.perhaps_spent = 0.0
        self._reserved = 0.0
        if price is None or price(Usage(1_000, 1_000)) is None:
            self._price, self.spent = None, None
        if max_cost is not None and self._price is None:
            msg = (
                f"`max_cost` must come with a known price, got {max_cost!r} for a model without "
                "one. Declare the price of its tokens, or leave `max_cost` out."
            )
            raise InputError(msg)

    def of(self, usage: Usage) -> float:
        """US dollars of a usage, 0 where nobody knows."""
        return (self._price(usage) or 0.0) if self._price is not None else 0.0

    def allows(self, cost: float) -> Literal["yes", "wait", "no"]:
        """Say whether a call of that cost may be made now.

        What calls in flight will cost is a guess: while there are any, waiting may still help.
        """
        if self.max_cost is None:
            return "yes"
        certain = (self.spent or 0.0) + self.perhaps_spent
        if certain >= self.max_cost:
            return "no"
        if certain + self._reserved + cost <= self.max_cost:
            return "yes"
        return "wait" if self._reserved > 0 else "no"

    def reserve(self, cost: float) -> None:
        """Note that a call is made."""
        self._reserved += cost

    def release(self, cost: float, *, perhaps_charged: bool = False) -> None:
        """Note that a call ended that was reserved; perhaps it is charged though nothing came."""
        # sums of floats leave crumbs, and a crumb would look like a call in flight
        self._reserved = max(0.0, self._reserved - cost)
        if self._reserved < 1e-12:
            self._reserved = 0.0
        if perhaps_charged:
            self.perhaps_spent += cost

    def spend(self, cost: float) -> None:
        """Note what a call cost."""
        if self.spent is not None:
            self.spent += cost
