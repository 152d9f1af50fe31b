"""Estimates the calls and the cost of a run, without any call."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from voirdire._validation import change_fields
from voirdire.errors import InputError
from voirdire.judging.binding import (
    ask_in_process,
    asks_a_model,
    check_behavior,
    is_cascade,
    is_jury,
    needs_engine,
    plan_judging,
)
from voirdire.judging.call_plan import hash_item
from voirdire.judging.calls import read_stored
from voirdire.judging.items import CALL_CHARACTERS, ItemSource, split_into_batches
from voirdire.judging.outputs import SetAside, open_replies
from voirdire.judging.run import BATCH_ITEMS
from voirdire.judging.server_watch import estimate_tokens
from voirdire.judging.settings import JudgingSettings
from voirdire.records import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from voirdire.judging.binding import BoundJudge, JudgingPlan
    from voirdire.judging.call_plan import CallSpec
    from voirdire.judging.jury import JudgeLike
    from voirdire.judging.settings import StoredReplies
    from voirdire.records import Item
    from voirdire.rubrics import Rubric

__all__ = ["RunEstimate", "estimate_calls", "estimate_run"]

_SAMPLE = 200
"""Calls whose tokens are estimated, for the mean of all."""

_IMAGE_TOKENS = 1_000  # about, of an image of a page
_ANSWER_TOKENS, _TEXT_TOKENS = 3, 80
"""Tokens of a plain answer, and of a text, beside the id of its question."""


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
    items = ItemSource(source=source, layout=told)
    set_aside = SetAside(None)

    def read() -> Iterator[Item]:
        nonlocal set_aside
        set_aside = SetAside(None)
        return items.stream(plan, set_aside)

    with open_replies(told.replies, output=output, makes=False) as replies:
        found = estimate_calls(read, plan, replies)
    if not found.n_items:
        items.refuse_empty(set_aside)
    return replace(found, n_dropped=set_aside.count)


def estimate_calls(
    read: Callable[[], Iterable[Item]], plan: JudgingPlan, replies: StoredReplies
) -> RunEstimate:
    """Estimate the calls and the cost of judging items; a jury reads them once per judge."""
    if is_jury(plan.judge):
        members = [row for row in plan.judge.members if needs_engine(row.judge)]
        each = [estimate_calls(read, row, replies) for row in members]
        if each:
            costs = [row.cost for row in each]
            names = ("n_calls", "n_stored", "prompt_tokens", "completion_tokens")
            return RunEstimate(
                judge=plan.judge.name,
                n_items=max(row.n_items for row in each),
                n_dropped=0,
                cost=None if None in costs else sum(cost or 0.0 for cost in costs),
                **{name: sum(getattr(row, name) for row in each) for name in names},
            )
    if not asks_a_model(plan.judge):
        msg = (
            f"`judge` must be a language model, got {plan.judge.name!r}: other judges make no "
            "calls."
        )
        raise InputError(msg)
    return _estimate_model(read(), plan.judge, replies)


def _estimate_model(
    items: Iterable[Item], bound: BoundJudge, replies: StoredReplies
) -> RunEstimate:
    """Count the calls that are not stored; the first of them stand for the tokens of all."""
    price = bound.judge.known_price
    store, judge_id = replies.opened, None
    if store is not None:
        ids = {row.fingerprint: row.id for row in store.judges()}
        judge_id = ids.get(bound.reply_fingerprint)
    n_items = n_kept = n_calls = n_stored = 0
    sample: list[Usage] = []
    for batch in split_into_batches(items, most_items=BATCH_ITEMS, most_characters=CALL_CHARACTERS):
        n_items += len(batch)
        asked = batch
        if is_cascade(bound):
            goes_on = bound.goes_on(ask_in_process(batch, bound.first)).tolist()
            asked = [item for item, is_on in zip(batch, goes_on, strict=True) if is_on]
        n_kept += len(batch) - len(asked)
        keys = [hash_item(item) for item in asked]
        stored: Mapping[bytes, Mapping[str, Sequence[bytes]]] = {}
        if store is not None and judge_id is not None:
            stored = store.get(judge_id, keys)
        for item, key in zip(asked, keys, strict=True):
            for spec in bound.calls.specs:
                blobs = stored.get(key, {}).get(spec.name, ())
                outcome, _ = read_stored(
                    spec.call(item, key=key), blobs, max_attempts=bound.judge.max_attempts
                )
                if outcome is None or (outcome.failure and replies.retry_failures):
                    n_calls += 1
                    if len(sample) < _SAMPLE:
                        sample.append(_estimate_usage(spec, item))
                else:
                    n_stored += 1
    share = n_calls / max(len(sample), 1)
    cost = None if price is None else share * math.fsum(price.cost(usage) for usage in sample)
    return RunEstimate(
        judge=bound.name,
        n_items=n_items,
        n_dropped=0,
        n_calls=n_calls,
        n_stored=n_stored,
        prompt_tokens=round(share * sum(usage.prompt_tokens for usage in sample)),
        completion_tokens=round(share * sum(usage.completion_tokens for usage in sample)),
        cost=cost,
        n_kept=n_kept if is_cascade(bound) else None,
    )


def _estimate_usage(spec: CallSpec, item: Item) -> Usage:
    """Estimate the tokens of a call with a plain answer."""
    messages = spec.request(item, "json_schema").messages
    return Usage(
        sum(estimate_tokens(row.content) + _IMAGE_TOKENS * len(row.images) for row in messages),
        sum(
            estimate_tokens(row.id) + (_TEXT_TOKENS if row.kind == "text" else _ANSWER_TOKENS)
            for row in spec.ask.questions
        ),
    )
