"""What the judge says of drafts: whether the traits hold, and which class it is."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from voirdire.errors import CostLimitReachedError
from voirdire.judging.client.limits import dollars
from voirdire.judging.plan import asks_a_model
from voirdire.judging.verdict_making import verdicts_on
from voirdire.records.thresholds import threshold_of_each

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence

    from voirdire.judging.engine.call_summary import CallSummary
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item, Verdicts
    from voirdire.rewards.synthesis.assignment import Assignment, Draft
    from voirdire.rewards.synthesis.plan import SynthesisPlan
    from voirdire.store import ReplyStore

__all__ = ["Verifier"]

_ITEMS = 1_000


class Verifier:
    """Judges drafts, any judge's way.

    Parameters
    ----------
    plan : SynthesisPlan
        Who judges.
    store : ReplyStore or None
        Where a language model's verdicts are kept and found again.
    retry_failures : bool
        Whether a language model is called again where it failed in an earlier run.
    stopping : threading.Event or None
        Set, a language model's run ends as by Ctrl-C.
    """

    def __init__(
        self,
        plan: SynthesisPlan,
        *,
        store: ReplyStore | None,
        retry_failures: bool,
        stopping: threading.Event | None,
    ) -> None:
        self._judging = plan.judging
        self._store = store
        self._retry_failures = retry_failures
        self._stopping = stopping
        self.calls: CallSummary | None = None

    def verify(self, assignments: Sequence[Assignment], drafts: Sequence[Draft]) -> list[Draft]:
        """Complete drafts by what the judge says; those without a text stay as they are."""
        found = list(drafts)
        places = [place for place, draft in enumerate(drafts) if draft.reason is None]
        for start in range(0, len(places), _ITEMS):
            some = places[start : start + _ITEMS]
            items = [_item(assignments[place], drafts[place]) for place in some]
            offset = 0
            for batch in self._batches(items):
                for row in range(len(batch.items)):
                    place = some[offset + row]
                    found[place] = _verified(assignments[place], drafts[place], batch, row)
                offset += len(batch.items)
        return found

    def _batches(self, items: Sequence[Item]) -> Sequence[Verdicts]:
        if not asks_a_model(self._judging.judge):
            return [verdicts_on(items, self._judging)]
        from voirdire.judging.engine.call_summary import RunRecord
        from voirdire.judging.engine.run import judged_batches

        plan = self._within_budget()
        record = RunRecord(plan)
        batches = judged_batches(
            items,
            plan,
            store=self._store,
            retry_failures=self._retry_failures,
            stopping=self._stopping,
            record=record,
        )
        with closing(batches):  # type: ignore[type-var]  # a generator
            found = list(batches)
        if (made := record.summary()) is not None:
            self.calls = _added(self.calls, made)
        return found

    def _within_budget(self) -> JudgingPlan:
        """Leave a judge that may spend so much what it has not spent yet."""
        plan = self._judging
        if not asks_a_model(plan.judge):
            return plan
        judge = plan.judge.judge
        most, spent = judge.limits.max_cost, 0.0 if self.calls is None else self.calls.cost
        if most is None or not spent:
            return plan
        if spent >= most:
            msg = (
                f"`max_cost` of {dollars(most)} is reached by the judge: {dollars(spent)} is "
                "spent. The same command with a higher `max_cost` goes on from here."
            )
            raise CostLimitReachedError(msg)
        limited = replace(judge, limits=replace(judge.limits, max_cost=most - spent))
        return replace(plan, judge=replace(plan.judge, judge=limited))


def _item(assignment: Assignment, draft: Draft) -> Item:
    return msgspec.structs.replace(
        assignment.prompt, id=assignment.id, response=draft.response or ""
    )


def _verified(assignment: Assignment, draft: Draft, batch: Verdicts, row: int) -> Draft:
    values = batch.probabilities[row].tolist()
    known = dict(zip(batch.questions, values, strict=True))
    probabilities = {name: None if math.isnan(p) else float(p) for name, p in known.items()}
    wanted, slot = assignment.traits.wanted, assignment.slot
    lacking = [name for name in wanted if probabilities.get(name) is None]
    needed = [name for name in lacking if name in assignment.traits.checked]
    if needed and slot.verify != "class":
        reason = f"no verdict about {needed[0]}"
        return replace(draft, reason=reason, probabilities=probabilities)
    limits = dict(
        zip(batch.questions, threshold_of_each(batch.threshold, batch.questions), strict=True)
    )
    missed = tuple(
        name
        for name, state in wanted.items()
        if name not in lacking and ((probabilities[name] or 0.0) >= limits[name]) != state
    )
    unmet = tuple(name for name in missed if name in assignment.traits.checked)
    name = _class_of(assignment, batch, row)
    return replace(
        draft,
        probabilities=probabilities,
        completion_class=name,
        missed=missed,
        unmet=() if slot.verify == "class" else unmet,
        wrong_class=slot.verify != "traits" and name != slot.label,
    )


def _class_of(assignment: Assignment, batch: Verdicts, row: int) -> str | None:
    for classes in batch.completion_classes:
        if classes.behavior == assignment.prompt.behavior:
            place = int(np.searchsorted(classes.rows, row))
            number = int(classes.hard[place])
            return classes.classes[number] if number >= 0 else None
    return None


def _added(before: CallSummary | None, now: CallSummary) -> CallSummary:
    """Add up counts, tokens and cost; the rest is the latest's."""
    if before is None:
        return now
    names = (
        "n_calls", "n_retries", "n_reused", "prompt_tokens", "cached_tokens", "completion_tokens",
        "n_rate_limited",
    )  # fmt: skip
    sums = {name: getattr(before, name) + getattr(now, name) for name in names}
    is_known = before.cost is not None and now.cost is not None
    cost = (before.cost or 0.0) + (now.cost or 0.0) if is_known else None
    reasons = {*before.failures, *now.failures}
    failures = {row: before.failures.get(row, 0) + now.failures.get(row, 0) for row in reasons}
    examples = {**now.examples, **before.examples}
    kept = None if now.n_kept is None else (before.n_kept or 0) + now.n_kept
    return replace(now, cost=cost, failures=failures, examples=examples, n_kept=kept, **sums)
