"""How a run of calls stands: counts, cost, and how fast it goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire._types import ReplyForm
    from voirdire.judging.calls.gate import Gate
    from voirdire.judging.calls.ladder import Ladder, StepDown
    from voirdire.records import Reply

__all__ = ["CallerState", "Counts"]


@dataclass(frozen=True, kw_only=True)
class CallerState:
    """How the calls of a run stand.

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

    n_calls: int
    n_replies: int
    n_retries: int
    n_in_flight: int
    n_unreadable: int
    n_failures: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost: float | None
    forms: Mapping[ReplyForm, int]
    steps_down: tuple[StepDown, ...]
    n_rate_limits: int
    rate_limit_wait_s: float
    concurrency: int
    is_stopped: bool
    perhaps_cost: float = 0.0


class Counts:
    """The counters behind a `CallerState`; they only grow."""

    __slots__ = (
        "cached_tokens",
        "completion_tokens",
        "forms",
        "n_calls",
        "n_failures",
        "n_rate_limits",
        "n_replies",
        "n_retries",
        "n_unreadable",
        "prompt_tokens",
        "rate_limit_wait_s",
    )

    def __init__(self) -> None:
        self.n_calls = 0
        self.n_replies = 0
        self.n_retries = 0
        self.n_unreadable = 0
        self.n_failures = 0
        self.n_rate_limits = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.cached_tokens = 0
        self.rate_limit_wait_s = 0.0
        self.forms: dict[ReplyForm, int] = {}

    def add_reply(self, reply: Reply, *, form: ReplyForm) -> None:
        """Count a reply."""
        self.n_replies += 1
        self.forms[form] = self.forms.get(form, 0) + 1
        usage = reply.usage
        if usage is not None:
            self.prompt_tokens += usage.prompt_tokens
            self.completion_tokens += usage.completion_tokens
            self.cached_tokens += usage.cached_tokens

    def state(self, *, gate: Gate, ladder: Ladder) -> CallerState:
        """Make a record of them."""
        return CallerState(
            n_calls=self.n_calls,
            n_replies=self.n_replies,
            n_retries=self.n_retries,
            n_in_flight=gate.n_in_flight,
            n_unreadable=self.n_unreadable,
            n_failures=self.n_failures,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cached_tokens=self.cached_tokens,
            cost=gate.spending.spent,
            perhaps_cost=gate.spending.perhaps_spent,
            forms=dict(self.forms),
            steps_down=tuple(ladder.steps_down),
            n_rate_limits=self.n_rate_limits,
            rate_limit_wait_s=self.rate_limit_wait_s,
            concurrency=int(gate.slots.limit),
            is_stopped=gate.is_stopped,
        )
