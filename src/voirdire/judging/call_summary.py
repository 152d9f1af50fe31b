"""What the calls of a run came to: tokens, cost, failures, and how far answers can be trusted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AnswerSummary", "CallProgress", "CallSummary", "JudgingProgress"]


@dataclass(frozen=True, kw_only=True)
class AnswerSummary:
    """What was answered to a question that is not boolean.

    Attributes
    ----------
    question : str
        Its id.
    kind : str
        What it asks for.
    n_answered, n_failed : int
        Items with an answer, and without.
    shares : mapping of str to float
        How often each label was given, in [0, 1] of the items with an answer; the shares of a set
        of labels may add up to more than 1. Empty for scales and texts.
    mean : float
        Mean of a scale; nan for other kinds and where nothing was answered.
    """

    question: str
    kind: str
    n_answered: int
    n_failed: int
    shares: Mapping[str, float]
    mean: float


@dataclass(frozen=True, kw_only=True)
class CallSummary:
    """What the calls to a language model came to.

    Attributes
    ----------
    n_calls : int
        Calls that were made in this run, those that were tried again each time.
    n_retries : int
        How many of them were.
    n_reused : int
        Items about which nothing was called: their replies were in the store.
    prompt_tokens, cached_tokens, completion_tokens : int
        Tokens of this run, as far as the server counted them.
    cost : float or None
        US dollars of this run; None where the model's price is not known.
    forms : mapping of str to int
        Items by the loosest form in which a reply about them was asked for.
    steps_down : tuple of str
        Why a stricter form was given up.
    failures : mapping of str to int
        Items by the reason of a failure about them.
    examples : mapping of str to str
        For each of these reasons all that one of the failures says, shortened.
    n_rate_limited : int
        Calls that had to wait because the server said so.
    missing_mass : mapping of str to float
        Mean probability, per proposition, of tokens that are neither true nor false.
    order_shift : mapping of str to float
        How far probabilities move when the questions stand in another order: the mean absolute
        difference where some items were checked, the mean range where all were asked in several;
        for pairs the share that was judged otherwise with the responses swapped.
    n_order_checked : int
        Items that `order_shift` rests on.
    n_kept : int or None
        Items that the first judge of a cascade answered, so that nothing was called; None where
        the judge is no cascade.
    answers : tuple of AnswerSummary
        One per question that is not boolean.
    """

    n_calls: int
    n_retries: int
    n_reused: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: float | None
    forms: Mapping[str, int]
    steps_down: tuple[str, ...]
    failures: Mapping[str, int]
    n_rate_limited: int
    missing_mass: Mapping[str, float]
    order_shift: Mapping[str, float]
    n_order_checked: int
    n_kept: int | None = None
    answers: tuple[AnswerSummary, ...] = field(default=())
    examples: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CallProgress:
    """How the calls to a language model go.

    Attributes
    ----------
    n_answered : int
        Items that are answered, those in unfinished stretches included.
    n_calls, n_retries : int
        Calls of this run, and how many of them were tried again.
    n_in_flight : int
        Calls that wait for their reply now.
    concurrency : int
        How many may wait at once, as far as the server puts up with it.
    cost : float or None
        US dollars of this run so far; None where the price is not known.
    n_failed : int
        Calls without a usable reply.
    stopping : bool
        Whether the run was interrupted, and the calls in flight are waited for.
    """

    n_answered: int
    n_calls: int
    n_retries: int
    n_in_flight: int
    concurrency: int
    cost: float | None
    n_failed: int
    stopping: bool = False


@dataclass(frozen=True, kw_only=True)
class JudgingProgress:
    """How far a run of judging has come.

    Attributes
    ----------
    n_items : int
        Items with verdicts, in finished parts.
    n_reused : int
        How many of them an earlier run had judged.
    n_dropped : int
        Rows that were set aside so far.
    finishing : bool
        Whether every item is judged and the parts are being put together.
    calls : CallProgress or None
        How the calls go, where the judge is a language model.
    """

    n_items: int
    n_reused: int
    n_dropped: int
    finishing: bool = False
    calls: CallProgress | None = None
