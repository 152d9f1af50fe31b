"""Estimates the calls and the cost of a run, without any call."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from voirdire._validation import change_fields, shorten
from voirdire.errors import InputError
from voirdire.judging.call_plan import explain_calls, hash_item
from voirdire.judging.client.call import read_stored_outcome
from voirdire.judging.engine.run import BATCH_ITEMS
from voirdire.judging.item_batches import CALL_CHARACTERS, split_into_batches
from voirdire.judging.judges.token_estimate import estimate_tokens
from voirdire.judging.plan import (
    ask_in_process,
    asks_a_model,
    check_behavior,
    is_cascade,
    is_jury,
    needs_engine,
    plan_judging,
)
from voirdire.judging.runs.item_source import ItemSource
from voirdire.judging.runs.outputs import SetAside, open_replies
from voirdire.judging.settings import JudgingSettings
from voirdire.records import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from voirdire.judging.bound import BoundJudge, JudgingPlan
    from voirdire.judging.call_plan import CallSpec
    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.judging.settings import StoredReplies
    from voirdire.records import Item
    from voirdire.rubrics import Rubric

__all__ = ["RunEstimate", "estimate_calls", "estimate_run"]

_NONCE = "0" * 16
_IMAGE_TOKENS = 1_000  # about, of an image of a page
"""A fixed nonce, so that the same run has the same estimate."""


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
    n_failed : int
        Stored failures, which are called again only with `retry_failures`.
    prompt_tokens, completion_tokens : int
        Estimates; see `estimate_tokens` for their error. The reply's tokens are those of a plain
        answer, without reasoning.
    cost : float or None
        US dollars, estimated without a prompt cache; None where no price is known.
    price_source : str
        Source of the price; empty where there is none.
    n_kept : int or None
        Items that the first judge of a cascade would answer, without a call; None where the judge
        is not a cascade.
    notes : tuple of str
        Why there are more calls than items.
    """

    judge: str
    n_items: int
    n_dropped: int
    n_calls: int
    n_stored: int
    n_failed: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    price_source: str = field(default="")
    n_kept: int | None = None
    notes: tuple[str, ...] = ()


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
            return _add_estimates(each, judge=plan.judge.name)
    if not asks_a_model(plan.judge):
        msg = (
            f"`judge` must be a language model, got {plan.judge.name!r}: other judges make no "
            "calls."
        )
        raise InputError(msg)
    n_items = 0
    counts = _Counts(plan.judge, replies)
    for stretch in split_into_batches(
        read(), most_items=BATCH_ITEMS, most_characters=CALL_CHARACTERS
    ):
        counts.add(_select_called_items(stretch, plan.judge))
        n_items += len(stretch)
    found = counts.estimate()
    if not is_cascade(plan.judge):
        return found
    return replace(found, judge=plan.judge.name, n_items=n_items, n_kept=n_items - found.n_items)


def _add_estimates(found: Sequence[RunEstimate], *, judge: str) -> RunEstimate:
    """Add up the estimates of the judges of a jury."""
    costs = [row.cost for row in found]
    names = ("n_calls", "n_stored", "n_failed", "prompt_tokens", "completion_tokens")
    return replace(
        found[0],
        judge=judge,
        n_items=max(row.n_items for row in found),
        cost=None if None in costs else sum(cost or 0.0 for cost in costs),
        price_source=", ".join(dict.fromkeys(row.price_source for row in found)),
        n_kept=None,
        notes=_notes_of_jury(found),
        **{name: sum(getattr(row, name) for row in found) for name in names},
    )


def _notes_of_jury(found: Sequence[RunEstimate]) -> tuple[str, ...]:
    """Write the calls of each judge, and why it needs more than one call an item."""
    calls = ", ".join(f"{shorten(row.judge)} {row.n_calls + row.n_stored:,}" for row in found)
    own = [f"{shorten(row.judge)}: {note}" for row in found for note in row.notes]
    return (f"calls of each judge of the jury: {calls}", *own)


def _select_called_items(items: Sequence[Item], bound: BoundJudge) -> Sequence[Item]:
    """Return the items that a model would be asked about."""
    if not is_cascade(bound):
        return items
    goes_on = bound.goes_on(ask_in_process(items, bound.first)).tolist()
    return [item for item, is_on in zip(items, goes_on, strict=True) if is_on]


class _Counts:
    """Sums over the items of an estimated run."""

    def __init__(self, bound: BoundJudge, replies: StoredReplies) -> None:
        self._bound, self._stored = bound, replies
        self._plan = bound.calls
        self._price = bound.judge.known_price
        self._cost = 0.0
        self._fixed: dict[int, int] = {}
        self.n_items = self.n_calls = self.n_stored = self.n_failed = 0
        self.prompt_tokens = self.completion_tokens = 0
        self._replies = {id(spec): _reply_tokens(spec) for spec in self._plan.specs}

    def add(self, items: Sequence[Item]) -> None:
        keys = [hash_item(item) for item in items]
        stored: Mapping[bytes, Sequence[Any]] = {}
        if (store := self._stored.opened) is not None:
            ids = {row.fingerprint: row.id for row in store.judges()}
            number = ids.get(self._bound.reply_fingerprint)
            stored = {} if number is None else store.get(number, keys)
        for item, key in zip(items, keys, strict=True):
            self.n_items += 1
            for spec in self._plan.specs:
                blobs = [call.blob for call in stored.get(key, ()) if call.name == spec.name]
                if not self._is_settled(spec, item, key=key, blobs=blobs):
                    self._call(spec, item)

    def _is_settled(
        self, spec: CallSpec, item: Item, *, key: bytes, blobs: Sequence[bytes]
    ) -> bool:
        """Return whether a call has ended in the store, and count it."""
        if not blobs:
            return False
        max_attempts = self._bound.judge.limits.max_attempts
        outcome = read_stored_outcome(spec.call(item, key=key), blobs, max_attempts=max_attempts)
        if outcome is None or (outcome.failure is not None and self._stored.retry_failures):
            return False
        self.n_stored += 1
        self.n_failed += outcome.failure is not None
        return True

    def estimate(self) -> RunEstimate:
        judge = self._bound.judge
        price = self._price
        return RunEstimate(
            judge=judge.name,
            n_items=self.n_items,
            n_dropped=0,
            n_calls=self.n_calls,
            n_stored=self.n_stored,
            n_failed=self.n_failed,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cost=None if price is None else self._cost,
            price_source="" if price is None else price.source,
            notes=explain_calls(judge, self._plan),
        )

    def _call(self, spec: CallSpec, item: Item) -> None:
        self.n_calls += 1
        first, *others = spec.request(item, "json_schema", nonce=_NONCE).messages
        if id(spec) not in self._fixed:  # the system message is the same for every item
            self._fixed[id(spec)] = estimate_tokens(first.content)
        shown = sum(
            estimate_tokens(message.content) + _IMAGE_TOKENS * len(message.images)
            for message in others
        )
        used = Usage(self._fixed[id(spec)] + shown, self._replies[id(spec)])
        self.prompt_tokens += used.prompt_tokens
        self.completion_tokens += used.completion_tokens
        if self._price is not None:
            self._cost += self._price.cost(used)


def _reply_tokens(spec: CallSpec) -> int:
    """Estimate the tokens of a plain answer: its keys, and values of the usual length."""
    typical = {"boolean": True, "scale": 3, "text": "word " * 60, "pairwise": "tie"}
    answer: dict[str, Any] = {}
    for question in spec.builder.ask.questions:
        longest = max(question.labels, key=len, default="")
        value = typical.get(question.kind, [longest] if question.kind == "multilabel" else longest)
        if question.kind == "boolean" and spec.builder.ask.probability == "stated":
            value = 0.05
        answer[question.id] = value
    return estimate_tokens(json.dumps(answer, ensure_ascii=False))
