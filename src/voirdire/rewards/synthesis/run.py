"""A run of synthesis: the model writes drafts, the judge verifies them, and some are written again.

Everything that a synthesis takes from the engine of judging it takes in this file.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import CostLimitReachedError, StoppedError
from voirdire.io.messages import without_reasoning
from voirdire.judging.client import ClaimedElsewhereError, Client
from voirdire.judging.client.call import Call
from voirdire.judging.client.limits import dollars
from voirdire.judging.engine.background_loop import BackgroundLoop
from voirdire.judging.engine.stopping import Stopping
from voirdire.judging.judges.token_estimate import estimate_tokens
from voirdire.judging.plan import asks_a_model, needs_engine
from voirdire.judging.prompts import new_nonce
from voirdire.judging.verdict_making import verdicts_on
from voirdire.models import ChatRequest
from voirdire.records import Item
from voirdire.records.items import as_bytes
from voirdire.records.thresholds import threshold_of_each
from voirdire.rewards.synthesis.plan import Draft, assignments_of
from voirdire.rewards.synthesis.recipe import seed_of
from voirdire.rewards.synthesis.result import SynthesisProgress, SynthesisTally, WriterCalls
from voirdire.rewards.synthesis.writer_prompt import task_text, writer_messages
from voirdire.store import GroupCommit

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from voirdire._types import ReplyForm
    from voirdire.judging import CallSummary
    from voirdire.judging.client.call import Outcome
    from voirdire.judging.plan import JudgingPlan
    from voirdire.judging.runs.outputs import SetAside
    from voirdire.records import Reply, Verdicts
    from voirdire.rewards.synthesis.plan import Assignment, SynthesisPlan
    from voirdire.rewards.synthesis.result import SynthesisSummary
    from voirdire.store import ReplyStore, StoredCall

__all__ = ["SynthesisRun", "drafts_to_write"]

_PROMPTS_AT_ONCE = 200
"""Prompts that are worked on together; memory is of their completions."""

_DRAFTS_AT_ONCE = 16
"""That a model of this process writes in one go."""

_LOOK_S = 0.5
"""Between two looks for a draft that another run writes just now."""

_ITEMS_AT_ONCE = 1_000
"""That a judge without calls answers in one go."""

_LARGEST_SEED = 2**31
"""What servers take."""

_NONCE = "0" * 16
"""Stands for the random code of a fence, so that an estimate is the same every time."""

_HALVES = re.compile("[\ud800-\udfff]")


class SynthesisRun:
    """One run; `completions` does it, `summary` says afterwards how it went.

    Parameters
    ----------
    plan : SynthesisPlan
        Who writes what, who verifies.
    prompts : sequence of Item
        For what.
    store : ReplyStore or None
        Where replies are kept and found again.
    retry_failures : bool
        Whether calls that failed in an earlier run are made again.
    stopping : threading.Event or None
        Set, the run ends as by Ctrl-C.
    progress : callable or None
        Told how far it is.
    """

    def __init__(
        self,
        plan: SynthesisPlan,
        prompts: Sequence[Item],
        *,
        store: ReplyStore | None,
        retry_failures: bool = False,
        stopping: threading.Event | None = None,
        progress: Callable[[SynthesisProgress], None] | None = None,
    ) -> None:
        self._plan = plan
        self._prompts = prompts
        self._stopping = stopping
        self._progress = progress
        self._tally = SynthesisTally(plan)
        self._groups: list[list[Assignment]] = []
        self._writer = _Writer(plan, store=store, retry_failures=retry_failures)
        settings = {"store": store, "retry_failures": retry_failures, "stopping": stopping}
        self._verifier = _Verifier(plan.judging, settings)

    def completions(self) -> Iterator[list[Assignment]]:
        """Give the completions of each prompt, in the order of the prompts."""
        prompts = iter(self._prompts)
        with BackgroundLoop() as loop:
            try:
                while some := list(islice(prompts, _PROMPTS_AT_ONCE)):
                    groups = [list(assignments_of(prompt, self._plan)) for prompt in some]
                    self._groups = groups
                    self._complete([each for group in groups for each in group], loop)
                    for group in groups:
                        self._tally.add(group)
                    self._groups = []
                    self._report()
                    yield from groups
            except CostLimitReachedError as error:
                n_done = self._tally.n_prompts
                done = "1 prompt is" if n_done == 1 else f"{n_done:,} prompts are"
                raise CostLimitReachedError(f"{error} {done} done.") from error
            finally:
                loop.run(self._writer.close())

    def summary(self, set_aside: SetAside, **outputs: str | None) -> SynthesisSummary:
        """Say how it went; `outputs` are the files that were written."""
        state = self._writer.caller.state
        names = ("n_calls", "n_retries", "n_failures", "prompt_tokens", "cached_tokens")
        calls = WriterCalls(
            n_reused=self._writer.n_reused,
            completion_tokens=state.completion_tokens,
            cost=state.cost,
            **{name: getattr(state, name) for name in names},
        )
        return self._tally.summary(
            calls=calls,
            judge_calls=self._verifier.calls,
            n_dropped=set_aside.count,
            dropped=set_aside.first,
            **{"output": None, "rejected_output": None, "dropped_output": None} | outputs,
        )

    def _complete(self, assignments: list[Assignment], loop: BackgroundLoop) -> None:
        """Write, verify, and write anew what is not right, so often at most."""
        left = assignments
        for _ in range(self._plan.n_attempts):
            if not left:
                return
            drafts = self._write_drafts(left, loop)
            self._report(is_judging=True)
            for each, draft in zip(left, self._verifier.verify(left, drafts), strict=True):
                each.drafts.append(draft)
            left = [each for each in left if not each.is_done]

    def _write_drafts(self, assignments: list[Assignment], loop: BackgroundLoop) -> list[Draft]:
        """Wait for drafts; whatever ends the waiting, replies in flight are stored first."""
        future = loop.begin(self._writer.write(assignments))
        try:
            return loop.wait(future, watch=self._watch)
        except BaseException as error:
            if not future.done():
                self._drain(future, loop, is_told=isinstance(error, KeyboardInterrupt))
            raise

    def _drain(self, future: Future[list[Draft]], loop: BackgroundLoop, *, is_told: bool) -> None:
        """Begin nothing more, and wait for what is under way; a second Ctrl-C does not wait.

        Whoever watches is told of it, unless that is where the error came from.
        """
        loop.call(self._writer.caller.stop)
        try:
            loop.wait(future, watch=partial(self._watch, is_ending=True, tells=is_told))
        except StoppedError:
            pass
        except BaseException:
            future.cancel()
            raise

    def _watch(self, *, is_ending: bool = False, tells: bool = True) -> None:
        """Look whether the run is to end, or to end at once, and say how far it is."""
        wish = self._stopping
        if is_ending:
            wish = wish.at_once if isinstance(wish, Stopping) else None
        if wish is not None and wish.is_set():
            raise KeyboardInterrupt
        if tells:
            self._report(stopping=is_ending)

    def _report(self, *, is_judging: bool = False, stopping: bool = False) -> None:
        if self._progress is None:
            return
        state, tally = self._writer.caller.state, self._tally
        n_done = [sum(each.is_done for each in group) for group in self._groups]
        n_complete = sum(n == len(group) for n, group in zip(n_done, self._groups, strict=True))
        self._progress(
            SynthesisProgress(
                n_prompts=tally.n_prompts + n_complete,
                n_prompts_in_all=len(self._prompts),
                n_written=tally.n_written + sum(n_done),
                n_rejected=tally.n_rejected,
                n_calls=state.n_calls,
                n_in_flight=state.n_in_flight,
                concurrency=state.concurrency,
                cost=state.cost,
                is_judging=is_judging,
                stopping=stopping,
            )
        )


# Writing ---------------------------------------------------------------------------------------


class _Writer:
    """Writes drafts, within limits; each is stored before it is used. It is of one event loop."""

    def __init__(
        self, plan: SynthesisPlan, *, store: ReplyStore | None, retry_failures: bool
    ) -> None:
        self._plan = plan
        self._store = store
        self._retry_failures = retry_failures
        self._judge_id = 0
        self._commit: GroupCommit | None = None
        if store is not None:
            about = {"name": plan.model.name, "writes": "completions", "language": plan.language}
            self._judge_id = store.judge_id(plan.writer_fingerprint, description=about)
            self._commit = GroupCommit(store, self._judge_id)
        self.caller = _caller(plan, self._commit)
        self.n_reused = 0

    async def close(self) -> None:
        """Write down what came, and let the model go."""
        if self._commit is not None:
            await self._commit.close()
        await self._plan.model.close()

    async def write(self, assignments: Sequence[Assignment]) -> list[Draft]:
        """Write a draft for each; the first error is raised when all calls have ended."""
        calls = [_draft_call(each, self._plan) for each in assignments]
        stored = await asyncio.to_thread(_find_stored, self._store, self._judge_id, calls)
        outcomes: dict[int, Outcome[Draft]] = {}
        for place, call in enumerate(calls):
            found = self.caller.reuse(call, stored[place], retry_failures=self._retry_failures)
            if found is not None:
                outcomes[place] = found
        self.n_reused += len(outcomes)
        waiting = [place for place in range(len(calls)) if place not in outcomes]
        n_at_once = _DRAFTS_AT_ONCE if self.caller.goes_together else 1
        places_left = iter(waiting)
        pending = iter(lambda: tuple(islice(places_left, n_at_once)), ())
        errors: list[Exception] = []

        async def work() -> None:
            for places in pending:
                some = [calls[place] for place in places]
                known = [stored[place] for place in places]
                try:
                    found = await self._answer(some, known)
                except Exception as error:  # noqa: BLE001  # raised again below
                    errors.append(error)
                    self.caller.stop()
                    return
                outcomes.update(zip(places, found, strict=True))

        n_workers = min(self._plan.limits.concurrency, len(waiting))
        await asyncio.gather(*(work() for _ in range(n_workers)))
        if errors:
            raise next((each for each in errors if type(each) is not StoppedError), errors[0])
        return [_draft_of(outcomes[place]) for place in range(len(calls))]

    async def _answer(
        self, calls: Sequence[Call[Draft]], stored: Sequence[Sequence[bytes]]
    ) -> Sequence[Outcome[Draft]]:
        """Make calls, or wait for what another run makes of them."""
        while True:
            try:
                return await self.caller.answer(calls, stored=stored)
            except ClaimedElsewhereError:
                await asyncio.sleep(_LOOK_S)
            stored = await asyncio.to_thread(_find_stored, self._store, self._judge_id, calls)
            pairs = zip(calls, stored, strict=True)
            found = [self.caller.reuse(call, blobs) for call, blobs in pairs]
            if all(outcome is not None for outcome in found):
                return [outcome for outcome in found if outcome is not None]


def drafts_to_write(
    assignments: Sequence[Assignment], plan: SynthesisPlan, store: ReplyStore | None
) -> Iterator[tuple[Assignment, int]]:
    """Give those whose next draft is not stored, with about how many tokens would ask for it."""
    ids = {} if store is None else {row.fingerprint: row.id for row in store.judges()}
    number = ids.get(plan.writer_fingerprint)
    calls = [_draft_call(each, plan, nonce=_NONCE) for each in assignments]
    stored = _find_stored(None if number is None else store, number or 0, calls)
    caller = _caller(plan, None)
    for each, call, blobs in zip(assignments, calls, stored, strict=True):
        if caller.reuse(call, blobs) is None:
            messages = call.request("text").messages
            yield each, sum(_tokens_of(message.content) for message in messages)


@lru_cache(1_000)
def _tokens_of(text: str) -> int:
    """Estimate once what comes again and again, such as a task."""
    return estimate_tokens(text)


def _caller(plan: SynthesisPlan, log: GroupCommit | None) -> Client:
    return Client(plan.model, limits=plan.limits, log=log, price=plan.price)


def _find_stored(
    store: ReplyStore | None, judge_id: int, calls: Sequence[Call[Draft]]
) -> list[Sequence[bytes]]:
    if store is None:
        return [()] * len(calls)
    found = store.get(judge_id, list({call.item for call in calls}))

    def is_of(row: StoredCall, call: Call[Draft]) -> bool:
        return row.name == call.name

    return [[row.blob for row in found.get(call.item, ()) if is_of(row, call)] for call in calls]


def _draft_call(
    assignment: Assignment, plan: SynthesisPlan, *, nonce: str | None = None
) -> Call[Draft]:
    """Make the call for the next draft; its fence has a given code, or a new one each time."""
    attempt = len(assignment.drafts) + 1
    task = task_text(assignment, plan)
    temperature = plan.temperature_of(attempt)
    told = [task, temperature, plan.seed, assignment.number, attempt]
    digest = hashlib.sha256(as_bytes(told)).hexdigest()

    def request(form: ReplyForm) -> ChatRequest:  # noqa: ARG001  # always plain text
        return ChatRequest(
            messages=writer_messages(
                task,
                assignment.prompt.prompt,
                nonce=nonce or new_nonce(),
                language=plan.language,
            ),
            form="text",
            max_tokens=plan.max_tokens,
            temperature=temperature,
            seed=seed_of(f"{assignment.key.hex()}/{digest}") % _LARGEST_SEED,
        )

    return Call(item=assignment.key, name=f"write/{digest[:32]}", request=request, read=_read_draft)


def _read_draft(reply: Reply) -> Draft:
    """Take the text of a reply; a reply is read once, and what is wrong with it is no error."""
    answer = without_reasoning(_HALVES.sub("\ufffd", reply.text))
    text = answer.text.strip()
    if reply.finish_reason == "length" or answer.is_unfinished:
        return Draft(response=text, reason="cut off: the reply ended at its most tokens")
    return Draft(response=text, reason=None if text else "empty reply")


def _draft_of(outcome: Outcome[Draft]) -> Draft:
    if outcome.value is not None:
        return outcome.value
    why = "" if outcome.failure is None else f": {outcome.failure.reason}"
    return Draft(reason=f"no reply{why}")


# Verifying -------------------------------------------------------------------------------------


@dataclass
class _Verifier:
    """Judges drafts, any judge's way; `settings` are those of a language model's run."""

    plan: JudgingPlan
    settings: Mapping[str, Any]
    calls: CallSummary | None = None

    def verify(self, assignments: Sequence[Assignment], drafts: Sequence[Draft]) -> list[Draft]:
        """Complete drafts by what the judge says; those without a text stay as they are."""
        found = list(drafts)
        places = [place for place, draft in enumerate(drafts) if draft.reason is None]
        items = [_item_of(assignments[place], drafts[place]) for place in places]
        judged = iter(places)
        for batch in self._batches(items) if items else ():
            for row in range(len(batch.items)):
                place = next(judged)
                found[place] = _check_draft(assignments[place], drafts[place], batch, row)
        return found

    def _batches(self, items: Sequence[Item]) -> Iterable[Verdicts]:
        if not needs_engine(self.plan.judge):
            starts = range(0, len(items), _ITEMS_AT_ONCE)
            return [verdicts_on(items[k : k + _ITEMS_AT_ONCE], self.plan) for k in starts]
        from voirdire.judging.engine.call_summary import RunRecord
        from voirdire.judging.engine.run import judged_batches

        record = RunRecord(self.plan)
        batches = judged_batches(items, self._plan_within_budget(), record=record, **self.settings)
        with closing(batches):  # type: ignore[type-var]  # a generator
            found = list(batches)
        if (made := record.summary()) is not None:
            self.calls = _add_up(self.calls, made)
        return found

    def _plan_within_budget(self) -> JudgingPlan:
        """Leave a judge that may spend so much what it has not spent yet."""
        plan = self.plan
        spent = 0.0 if self.calls is None else self.calls.cost
        if not (asks_a_model(plan.judge) and spent):
            return plan
        judge = plan.judge.judge
        most = judge.limits.max_cost
        if most is None:
            return plan
        if spent >= most:
            msg = (
                f"`max_cost` of {dollars(most)} is reached by the judge: {dollars(spent)} is "
                "spent. The same command with a higher `max_cost` goes on from here."
            )
            raise CostLimitReachedError(msg)
        limited = replace(judge, limits=replace(judge.limits, max_cost=most - spent))
        return replace(plan, judge=replace(plan.judge, judge=limited))


def _item_of(assignment: Assignment, draft: Draft) -> Item:
    prompt = assignment.prompt
    return Item(
        id=assignment.id,
        prompt=prompt.prompt,
        response=draft.response or "",
        behavior=prompt.behavior,
    )


def _check_draft(assignment: Assignment, draft: Draft, batch: Verdicts, row: int) -> Draft:
    """Say which traits do not hold, and whether the class is another one."""
    slot, wanted = assignment.slot, assignment.traits.wanted
    values = zip(batch.questions, batch.probabilities[row].tolist(), strict=True)
    probabilities = {name: None if math.isnan(p) else p for name, p in values}
    checked = assignment.traits.checked if slot.verify != "class" else frozenset()
    for name in wanted:
        if name in checked and probabilities.get(name) is None:
            return replace(draft, reason=f"no verdict about {name}", probabilities=probabilities)
    limits = threshold_of_each(batch.threshold, batch.questions)
    is_true = {
        name: p >= limit
        for (name, p), limit in zip(probabilities.items(), limits, strict=True)
        if p is not None
    }
    missed = tuple(name for name, state in wanted.items() if is_true.get(name, state) != state)
    found = _class_of(assignment, batch, row)
    return replace(
        draft,
        probabilities=probabilities,
        completion_class=found,
        missed=missed,
        unmet=tuple(name for name in missed if name in checked),
        wrong_class=slot.verify != "traits" and found != slot.label,
    )


def _class_of(assignment: Assignment, batch: Verdicts, row: int) -> str | None:
    for classes in batch.completion_classes:
        if classes.behavior == assignment.prompt.behavior:
            number = int(classes.hard[np.searchsorted(classes.rows, row)])
            return classes.classes[number] if number >= 0 else None
    return None


def _add_up(before: CallSummary | None, now: CallSummary) -> CallSummary:
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
