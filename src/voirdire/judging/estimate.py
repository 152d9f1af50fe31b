"""Estimates the calls and the cost of a run, without any call."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import compress
from statistics import fmean
from typing import TYPE_CHECKING, Any

from voirdire._validation import change_fields
from voirdire.errors import InputError
from voirdire.judging.binding import (
    BoundCascade,
    BoundJudge,
    BoundJury,
    ask_in_process,
    check_behavior,
    plan_judging,
)
from voirdire.judging.call_plan import hash_item
from voirdire.judging.calls import read_stored
from voirdire.judging.items import ItemSource
from voirdire.judging.outputs import SetAside, open_replies
from voirdire.judging.run import split_into_batches
from voirdire.judging.server_watch import estimate_tokens
from voirdire.judging.settings import JudgingSettings
from voirdire.records import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.call_plan import CallSpec
    from voirdire.judging.jury import JudgeLike
    from voirdire.judging.settings import StoredReplies
    from voirdire.records import Item
    from voirdire.rubrics import Rubric

_SAMPLE = 200
"""Calls whose tokens are estimated, for the mean of all."""


@dataclass(frozen=True, kw_only=True)
class RunEstimate:
    """Estimated calls and cost of a run.

    Attributes
    ----------
    judge : str
        Name of the judge.
    n_items : int
        Items that can be judged.
    n_dropped : int
        Rows that would be set aside.
    n_calls : int
        Calls to make, without retries.
    n_stored : int
        Calls whose replies or failures are stored already.
    prompt_tokens, completion_tokens : int
        Estimates from the first 200 calls: four characters a token, one for Chinese. The reply's
        tokens are those of a plain answer, without reasoning.
    cost : float or None
        US dollars, estimated without a prompt cache; None where no price is known.
    n_kept : int or None
        Items that the first judge of a cascade would answer, without a call; None where the judge
        is not a cascade.
    """

    judge: str
    n_items: int
    n_dropped: int
    n_calls: int
    n_stored: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    n_kept: int | None = None


def estimate_run(
    source: str | Path,
    *,
    judge: JudgeLike,
    rubric: Rubric | str | Path = "safety",
    output: str | Path | None = None,
    settings: JudgingSettings | None = None,
    **fields: Any,
) -> RunEstimate:
    """Estimate the calls and the cost of `judge_file`; the arguments are the same.

    Parameters
    ----------
    source : str or path
        The items.
    judge : LlmJudge, CascadeJudge, JuryJudge, str or path
        A language model, a jury, or a cascade, whose first judge is asked now.
    rubric : Rubric, str or path, optional
        As for `judge_file`.
    output : str or path, optional
        The file of verdicts; a store beside it is read.
    settings : JudgingSettings, optional
        As for `judge_file`. A `store` that does not exist is not created.
    **fields
        Fields of `JudgingSettings`, each of which counts before that of `settings`.

    Returns
    -------
    RunEstimate
        Calls, tokens, cost.

    Raises
    ------
    NoDataError
        If no item of the file can be judged.
    InputError
        If `judge` is no language model, or an argument breaks its rule.
    """
    told = change_fields(settings or JudgingSettings(), fields)
    plan = plan_judging(judge, rubric, threshold=told.threshold, judged=told.judged)
    check_behavior(told.behavior, plan.rubric)
    items, set_aside = ItemSource(source=source, layout=told), SetAside()
    with open_replies(told.replies, output=output, makes=False) as replies:
        estimate = estimate_calls(items.stream(plan, set_aside), plan, replies)
    if not estimate.n_items:
        items.refuse_empty(set_aside)
    return replace(estimate, n_dropped=set_aside.count)


def estimate_calls(items: Iterable[Item], plan: JudgingPlan, replies: StoredReplies) -> RunEstimate:
    """Estimate the calls and the cost of judging items, of all judges of a jury together."""
    plans = plan.judge.members if isinstance(plan.judge, BoundJury) else (plan,)
    models = [row.judge for row in plans if isinstance(row.judge, BoundJudge)]
    if not models:
        msg = f"`judge` must be a language model, got {plan.judge.name!r}: other judges make no"
        raise InputError(f"{msg} calls.")
    n_items = n_stored = 0
    n_calls = [0] * len(models)
    samples: list[list[tuple[int, int]]] = [[] for _ in models]
    for batch in split_into_batches(items):
        n_items += len(batch)
        for place, model in enumerate(models):
            for item, spec, is_stored in _list_calls(batch, model, replies):
                n_stored += is_stored
                n_calls[place] += not is_stored
                if not is_stored and len(samples[place]) < _SAMPLE:
                    samples[place].append(_estimate_tokens(item, spec))
    usages = [
        Usage(*(round(n * fmean(tokens)) for tokens in zip(*(sample or [(0, 0)]), strict=True)))
        for n, sample in zip(n_calls, samples, strict=True)
    ]
    prices = [model.judge.known_price for model in models]
    costs = [
        None if price is None else price.cost(usage)
        for price, usage in zip(prices, usages, strict=True)
    ]
    n_asked = (sum(n_calls) + n_stored) // max(1, len(models[0].calls.specs))
    return RunEstimate(
        judge=plan.judge.name,
        n_items=n_items,
        n_dropped=0,
        n_calls=sum(n_calls),
        n_stored=n_stored,
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
        cost=None if None in costs else math.fsum(filter(None, costs)),
        n_kept=n_items - n_asked if isinstance(plan.judge, BoundCascade) else None,
    )


def _list_calls(
    items: Sequence[Item], bound: BoundJudge, replies: StoredReplies
) -> Iterator[tuple[Item, CallSpec, bool]]:
    """List the calls about items, and whether a stored reply or failure answers each."""
    if isinstance(bound, BoundCascade):
        goes_on = bound.goes_on(ask_in_process(items, bound.first)).tolist()
        items = list(compress(items, goes_on))
    keys = [hash_item(item) for item in items]
    stored: Mapping[bytes, Mapping[str, Sequence[bytes]]] = {}
    if (store := replies.opened) is not None:
        ids = {row.fingerprint: row.id for row in store.judges()}
        if bound.reply_fingerprint in ids:
            stored = store.get(ids[bound.reply_fingerprint], keys)
    for item, key in zip(items, keys, strict=True):
        for spec in bound.calls_of(item).specs:
            blobs, most = stored.get(key, {}).get(spec.name, ()), bound.judge.max_attempts
            outcome, _ = read_stored(spec.call(item, key=key), blobs, max_attempts=most)
            asks_again = outcome is None or (outcome.failure and replies.retry_failures)
            yield item, spec, not asks_again


def _estimate_tokens(item: Item, spec: CallSpec) -> tuple[int, int]:
    """Estimate the tokens of a request and of its answer."""
    messages = spec.request(item, "json_schema").messages
    n_images = sum(len(row.images) for row in messages)
    prompt = sum(estimate_tokens(row.content) for row in messages)
    answer = 0
    for row in spec.ask.questions:
        answer += estimate_tokens(row.id) + (80 if row.kind == "text" else 3)  # plain answers
    return prompt + 1_000 * n_images, answer  # an image of a page, about
