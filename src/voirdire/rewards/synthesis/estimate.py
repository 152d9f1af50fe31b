"""What a synthesis would call and cost, without calling anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.judging.client.call import stored_outcome
from voirdire.judging.judges.token_estimate import estimate_tokens
from voirdire.judging.plan import asks_a_model, is_cascade
from voirdire.judging.runs.outputs import SetAside, store_of
from voirdire.records import Usage
from voirdire.rewards.synthesis.assignment import assignments_of
from voirdire.rewards.synthesis.plan import plan_synthesis
from voirdire.rewards.synthesis.prompt_source import PromptSource
from voirdire.rewards.synthesis.synthesize import MAX_TOKENS
from voirdire.rewards.synthesis.writing import draft_call

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from voirdire._types import Language
    from voirdire.judging.client.limits import Limits
    from voirdire.judging.judges.cascade import CascadeJudge
    from voirdire.judging.judges.llm_judge import LlmJudge
    from voirdire.judging.judges.pricing import Price
    from voirdire.judging.port import Judge
    from voirdire.models import ChatModel
    from voirdire.records import Item
    from voirdire.rewards.synthesis.assignment import Assignment
    from voirdire.rewards.synthesis.plan import SynthesisPlan
    from voirdire.rewards.synthesis.recipe import Recipes
    from voirdire.rubrics import Rubric
    from voirdire.store import ReplyStore

__all__ = ["SynthesisEstimate", "estimate_synthesis"]

_COMPLETION_TOKENS = 150
"""Of a usual completion; nobody knows how much a model writes before it has."""

_NONCE = "0" * 16
"""Stands for the random code of a fence, so that an estimate is the same every time."""

_SAMPLE = "word " * _COMPLETION_TOKENS


@dataclass(frozen=True, kw_only=True)
class SynthesisEstimate:
    """What a synthesis would call and cost.

    Attributes
    ----------
    model, judge : str
        Who would write, and who verify.
    n_prompts, n_dropped : int
        Prompts of a known behavior, and those that would be set aside.
    n_completions : int
        Completions that the prompts are to get.
    n_stored : int
        How many first drafts are stored already.
    n_calls, n_calls_most : int
        Calls to write what is not stored: where every first draft is right, and where none of
        their drafts ever is.
    prompt_tokens, completion_tokens : int
        About, of `n_calls`; reasoning comes on top.
    cost, cost_most : float or None
        US dollars of the writing, about, for `n_calls` and `n_calls_most`; None where no price is
        known.
    n_judge_calls : int
        Calls to verify the first drafts that are not stored; 0 where the judge calls nothing. Of a
        cascade it is the most, since the first judge answers some of them.
    judge_cost, judge_cost_most : float or None
        US dollars of the verifying, about; None where no price is known.
    price_source : str
        Where the writer's price is from; empty where there is none.
    is_cascade : bool
        Whether the judge is one.
    """

    model: str
    judge: str
    n_prompts: int
    n_dropped: int
    n_completions: int
    n_stored: int
    n_calls: int
    n_calls_most: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    cost_most: float | None
    n_judge_calls: int
    judge_cost: float | None
    judge_cost_most: float | None
    price_source: str = ""
    is_cascade: bool = False


def estimate_synthesis(
    source: Any,
    *,
    rubric: Rubric | str | Path = "safety",
    model: ChatModel | str,
    judge: Judge | LlmJudge | CascadeJudge | str | Path = "local",
    recipes: Recipes | str | Path | None = None,
    language: Language = "en",
    n_attempts: int = 3,
    seed: int = 0,
    temperature: float | None = 1.0,
    max_tokens: int | None = MAX_TOKENS,
    behavior: str | None = None,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002  # the word people use for it
    output: str | Path | None = None,
    store: str | Path | None = None,
    limits: Limits | None = None,
    price: Price | None = None,
) -> SynthesisEstimate:
    """Work out what `synthesize_file` would call and cost; the arguments are the same.

    Parameters
    ----------
    source : path, or prompts as `synthesize` takes them
        The prompts.
    rubric, model, judge, recipes, language, n_attempts, seed, temperature, max_tokens
        As for `synthesize_file`.
    behavior, columns, format
        As for `synthesize_file`.
    output : str or path, optional
        Where the completions would go; a store beside it is looked at.
    store : str or path, optional
        The store, where it is another one. One that does not exist is not made.
    limits, price
        As for `synthesize_file`.

    Returns
    -------
    SynthesisEstimate
        Calls, tokens, price.

    Raises
    ------
    NoDataError
        If there is no prompt of a known behavior.
    InputError
        If an argument breaks its rule.
    """
    plan = plan_synthesis(
        rubric=rubric,
        model=model,
        judge=judge,
        recipes=recipes,
        language=language,
        n_attempts=n_attempts,
        seed=seed,
        temperature=temperature,
        max_tokens=max_tokens,
        threshold=None,
        limits=limits,
        price=price,
    )
    prompts = PromptSource(given=source, format=format, columns=columns, behavior=behavior)
    set_aside = SetAside(None)
    counts = _Counts(plan)
    with store_of(store, output=output) as replies:
        stored = _Stored(plan, replies)
        for prompt in prompts.stream(plan.recipes, set_aside):
            counts.add(prompt, stored)
    return counts.estimate(n_dropped=set_aside.count)


class _Stored:
    """The first drafts that a store holds."""

    def __init__(self, plan: SynthesisPlan, store: ReplyStore | None) -> None:
        self._store = store
        self._plan = plan
        ids = {} if store is None else {row.fingerprint: row.id for row in store.judges()}
        self._number = ids.get(plan.writer_fingerprint)

    def has(self, assignment: Assignment) -> bool:
        """Say whether a draft is settled."""
        if self._store is None or self._number is None:
            return False
        call = draft_call(assignment, self._plan)
        known = self._store.get(self._number, [call.item]).get(call.item, ())
        blobs = [row.blob for row in known if row.name == call.name]
        return bool(blobs) and stored_outcome(call, blobs, max_attempts=1) is not None


class _Counts:
    """Sums over the completions of a run that is only imagined."""

    def __init__(self, plan: SynthesisPlan) -> None:
        self._plan = plan
        self._cost = self._judge_cost = 0.0
        self._n_prompts = self._n_completions = self._n_stored = self._n_judge_calls = 0
        self._prompt_tokens = self._completion_tokens = 0
        self._tokens: dict[str, int] = {}

    def add(self, prompt: Item, stored: _Stored) -> None:
        self._n_prompts += 1
        for assignment in assignments_of(prompt, self._plan):
            self._n_completions += 1
            if stored.has(assignment):
                self._n_stored += 1
                continue
            call = draft_call(assignment, self._plan, nonce=_NONCE)
            request = call.request("text")
            used = Usage(
                sum(self._of(message.content) for message in request.messages), _COMPLETION_TOKENS
            )
            self._prompt_tokens += used.prompt_tokens
            self._completion_tokens += used.completion_tokens
            if self._plan.price is not None:
                self._cost += self._plan.price.cost(used)
            self._judge(prompt)

    def estimate(self, *, n_dropped: int) -> SynthesisEstimate:
        plan = self._plan
        price = plan.price
        n_calls = self._n_completions - self._n_stored
        judge = plan.judging.judge
        judge_price = judge.judge.known_price if asks_a_model(judge) else None
        judge_cost = None if asks_a_model(judge) and judge_price is None else self._judge_cost
        return SynthesisEstimate(
            model=plan.model.name,
            judge=judge.name,
            n_prompts=self._n_prompts,
            n_dropped=n_dropped,
            n_completions=self._n_completions,
            n_stored=self._n_stored,
            n_calls=n_calls,
            n_calls_most=n_calls * plan.n_attempts,
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
            cost=None if price is None else self._cost,
            cost_most=None if price is None else self._cost * plan.n_attempts,
            n_judge_calls=self._n_judge_calls,
            judge_cost=judge_cost,
            judge_cost_most=None if judge_cost is None else judge_cost * plan.n_attempts,
            price_source="" if price is None else price.source,
            is_cascade=is_cascade(judge),
        )

    def _judge(self, prompt: Item) -> None:
        bound = self._plan.judging.judge
        if not asks_a_model(bound):
            return
        price = bound.judge.known_price
        item = msgspec.structs.replace(prompt, response=_SAMPLE)
        for spec in bound.calls.specs:
            self._n_judge_calls += 1
            if price is not None:
                messages = spec.request(item, "json_schema", nonce=_NONCE).messages
                tokens = sum(self._of(message.content) for message in messages)
                n_reply = 6 * len(spec.places)
                self._judge_cost += price.cost(Usage(tokens, n_reply))

    def _of(self, text: str) -> int:
        """Estimate once what comes again and again, such as a task or the judge's questions."""
        known = self._tokens.get(text)
        if known is None:
            if len(self._tokens) > 1_000:
                self._tokens.clear()
            known = self._tokens[text] = estimate_tokens(text)
        return known
