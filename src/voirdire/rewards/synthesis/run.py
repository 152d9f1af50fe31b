"""A run of synthesis: the model writes drafts, the judge verifies them, and some are written again.

Writer and judge are asked by engines, as everywhere; all that is async about it is in this file.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from voirdire.errors import CostLimitReachedError
from voirdire.io.messages import without_reasoning
from voirdire.judging.bound import BoundJudge
from voirdire.judging.call_plan import CallPlan
from voirdire.judging.client.call import Call, stored_outcome
from voirdire.judging.engine.background_loop import BackgroundLoop, collected_seldom
from voirdire.judging.engine.batch import Unit
from voirdire.judging.engine.call_summary import RunRecord
from voirdire.judging.engine.engines import engine_of
from voirdire.judging.engine.model_engine import RunModelEngine
from voirdire.judging.engine.run import JudgedBatch, Watch
from voirdire.judging.judges.token_estimate import estimate_tokens
from voirdire.judging.prompts import new_nonce
from voirdire.judging.verdict_making import verdicts_of_run
from voirdire.models import ChatRequest
from voirdire.records import Item
from voirdire.records.items import as_bytes
from voirdire.rewards.synthesis.plan import Draft, assignments_of
from voirdire.rewards.synthesis.recipe import seed_of
from voirdire.rewards.synthesis.result import SynthesisProgress, SynthesisTally, WriterCalls
from voirdire.rewards.synthesis.writer_prompt import task_text, writer_messages
from voirdire.store.stored_calls import blobs_by_name

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from voirdire._types import ReplyForm
    from voirdire.judging.client import ClientState
    from voirdire.judging.client.call import Outcome
    from voirdire.judging.runs.outputs import SetAside
    from voirdire.records import Reply
    from voirdire.rewards.synthesis.plan import Assignment, SynthesisPlan
    from voirdire.rewards.synthesis.result import SynthesisSummary
    from voirdire.store import ReplyStore

__all__ = ["SynthesisRun", "tokens_to_write"]

_PROMPTS_AT_ONCE = 200
"""Prompts that are worked on together; memory is of their completions."""

_DRAFTS_AT_ONCE = 16
"""That a model of this process writes in one go."""

_LARGEST_SEED = 2**31
"""What servers take."""

_HOTTEST = 2.0
_WARMER = 0.1
"""Every further draft is a little warmer, so that it differs where a server knows no seeds."""

_NONCE = "0" * 16
"""Stands for the random code of a fence, so that an estimate is the same every time."""

_HALVES = re.compile("[\ud800-\udfff]")


class SynthesisRun:
    """One run; `completions` does it, `summary` says afterwards how it went."""

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
        self._tally = SynthesisTally()
        self._groups: list[list[Assignment]] = []
        self._is_judging = False
        self._writer = _Writer(plan, store=store, retry_failures=retry_failures)
        self._judge = engine_of(plan.judging, store=store, retry_failures=retry_failures)
        self._record = RunRecord(plan.judging)

    def completions(self) -> Iterator[Assignment]:
        """Give the completions of each prompt, in the order of the prompts."""
        prompts = iter(self._prompts)
        with collected_seldom(), BackgroundLoop() as loop:
            loop.held = self
            tell = None if self._progress is None else self._tell
            watched = Watch(
                self._writer, loop, close=self._close, stopping=self._stopping, tell=tell
            )
            try:
                with watched as watch:
                    loop.run(self._start())
                    while some := list(islice(prompts, _PROMPTS_AT_ONCE)):
                        self._groups = [list(assignments_of(each, self._plan)) for each in some]
                        self._complete(loop, watch)
                        for group in self._groups:
                            self._tally.add(group)
                        groups, self._groups = self._groups, []
                        watch.look()
                        for group in groups:
                            yield from group
            except CostLimitReachedError as error:
                n_done = self._tally.counts["n_prompts"]
                done = "1 prompt is" if n_done == 1 else f"{n_done:,} prompts are"
                raise CostLimitReachedError(f"{error} {done} done.") from error

    def summary(self, set_aside: SetAside, **outputs: str | None) -> SynthesisSummary:
        """Say how it went; `outputs` are the files that were written."""
        if (judged := self._judge.calls) is not None:
            self._record.note(judged, n_answered=self._judge.n_answered)
        known = {**vars(self._writer.calls), "n_reused": self._writer.n_reused}
        return self._tally.summary(
            self._plan,
            calls=WriterCalls(**{row.name: known[row.name] for row in fields(WriterCalls)}),
            judge_calls=self._record.summary(),
            n_dropped=set_aside.count,
            dropped=set_aside.first,
            **{"output": None, "rejected_output": None, "dropped_output": None} | outputs,
        )

    async def _start(self) -> None:
        await self._writer.start()
        await self._judge.start()

    async def _close(self, *, cancel: bool = False) -> None:
        """Let the calls in flight end, or cancel them, and write down what came."""
        drain_s = 0.0 if cancel else None
        self._judge.stop()
        try:
            await self._writer.close(drain_s=drain_s)
        finally:
            await self._judge.close(drain_s=drain_s)

    def _complete(self, loop: BackgroundLoop, watch: Watch) -> None:
        """Write, verify, and write anew what is not right, so often at most."""
        left = [each for group in self._groups for each in group]
        for _ in range(self._plan.n_attempts):
            drafts = loop.run(self._writer.write(left), watch=watch.look)
            self._is_judging = True
            drafts = loop.run(self._verify(left, drafts), watch=watch.look)
            self._is_judging = False
            for each, draft in zip(left, drafts, strict=True):
                each.drafts.append(draft)
            left = [each for each in left if not each.is_done]
            if not left:
                return

    async def _verify(
        self, assignments: Sequence[Assignment], drafts: Sequence[Draft]
    ) -> Sequence[Draft]:
        """Complete drafts by what the judge says; those without a text stay as they are."""
        pairs = list(zip(assignments, drafts, strict=True))
        items = [
            Item(
                id=each.id,
                prompt=each.prompt.prompt,
                response=draft.response or "",
                behavior=each.prompt.behavior,
            )
            for each, draft in pairs
            if draft.reason is None
        ]
        if not items:
            return drafts
        batch = JudgedBatch(items)
        self._judge.submit(batch.asked())
        await self._judge.unless_ended(batch.done.wait())
        judged = verdicts_of_run(items, batch.verdicts, self._plan.judging, record=self._record)
        classes = {
            row: each.classes[number]
            for each in judged.completion_classes
            for row, number in zip(each.rows.tolist(), each.hard.tolist(), strict=True)
            if number >= 0
        }
        numbers = zip(judged.probabilities.tolist(), judged.labels.tolist(), strict=True)
        rows = enumerate(numbers)

        def checked(assignment: Assignment, draft: Draft) -> Draft:
            row, (probabilities, labels) = next(rows)
            return _check_draft(
                assignment,
                replace(draft, completion_class=classes.get(row)),
                probabilities=dict(zip(judged.questions, probabilities, strict=True)),
                labels=dict(zip(judged.questions, labels, strict=True)),
            )

        return [draft if draft.reason else checked(each, draft) for each, draft in pairs]

    def _tell(self, state: ClientState, **_: object) -> None:
        """Say how far it is, by how the calls of the writer stand."""
        n_done = [sum(each.is_done for each in group) for group in self._groups]
        n_complete = sum(n == len(group) for n, group in zip(n_done, self._groups, strict=True))
        counts = self._tally.counts
        if self._progress is not None:
            self._progress(
                SynthesisProgress(
                    n_prompts=counts["n_prompts"] + n_complete,
                    n_prompts_in_all=len(self._prompts),
                    n_written=counts["n_written"] + sum(n_done),
                    n_rejected=counts["n_rejected"],
                    n_calls=state.n_calls,
                    n_in_flight=state.n_in_flight,
                    concurrency=state.concurrency,
                    cost=state.cost,
                    is_judging=self._is_judging,
                    stopping=state.is_stopped and state.n_in_flight > 0,
                )
            )


def _check_draft(
    assignment: Assignment,
    draft: Draft,
    *,
    probabilities: Mapping[str, float],
    labels: Mapping[str, bool],
) -> Draft:
    """Say which traits do not hold, and whether the class is another one."""
    slot, wanted = assignment.slot, assignment.traits.wanted
    known = {name: None if math.isnan(p) else p for name, p in probabilities.items()}
    checked = assignment.traits.checked if slot.verify != "class" else frozenset()
    unclear = next((name for name in wanted if name in checked and known[name] is None), None)
    if unclear is not None:
        return replace(draft, reason=f"no verdict about {unclear}", probabilities=known)
    missed = [
        name for name, state in wanted.items() if known[name] is not None and labels[name] != state
    ]
    return replace(
        draft,
        probabilities=known,
        missed=tuple(missed),
        unmet=tuple(name for name in missed if name in checked),
        wrong_class=slot.verify != "traits" and draft.completion_class != slot.label,
    )


# Writing ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _BoundWriter(BoundJudge):
    """The writer as an engine has it; its drafts are kept under a hash of their own."""

    plan: SynthesisPlan

    @property
    def calls(self) -> CallPlan:
        """No question of a rubric is asked."""
        return CallPlan(specs=())

    @property
    def reply_fingerprint(self) -> str:
        """Where its drafts are kept."""
        return self.plan.writer_fingerprint

    @property
    def described(self) -> dict[str, Any]:
        """What a store says of whose drafts it holds."""
        return {"name": self.name, "writes": "completions", "language": self.judge.language}


class _Drafts:
    """Takes what comes of calls to write, each in its place."""

    def __init__(self, n_calls: int) -> None:
        self.done = asyncio.Event()
        self._found: list[Draft | None] = [None] * n_calls

    @property
    def written(self) -> list[Draft]:
        return [draft for draft in self._found if draft is not None]

    def deliver(self, unit: Unit, outcomes: Sequence[Outcome[Draft]]) -> list[Unit]:
        [place], [outcome] = unit.slots, outcomes
        why = "" if outcome.failure is None else f": {outcome.failure.reason}"
        self._found[place] = outcome.value or Draft(reason=f"no reply{why}")
        if None not in self._found:
            self.done.set()
        return []

    def fail(self, unit: Unit, outcome: Outcome[Draft]) -> None:
        self.deliver(unit, [outcome])

    def wanted_until(self, _: bytes) -> float:
        return math.inf

    def is_answered(self, _: bytes) -> bool:
        return False


class _Writer(RunModelEngine):
    """The engine of drafts: looked up, called, stored and used as replies about items are."""

    def __init__(
        self, plan: SynthesisPlan, *, store: ReplyStore | None, retry_failures: bool
    ) -> None:
        bound = _BoundWriter(judge=plan.writer, rubric=plan.rubric, plan=plan)
        super().__init__(bound, store=store, retry_failures=retry_failures)
        if self._queue.together:
            self._queue.jobs_together = _DRAFTS_AT_ONCE
        self._plan = plan
        self.n_reused = 0

    async def write(self, assignments: Sequence[Assignment]) -> Sequence[Draft]:
        """Write a draft for each, or raise what ends the run."""
        calls = [_draft_call(each, self._plan) for each in assignments]
        stored = await self.look_up(list({call.item for call in calls}))
        drafts, units = _Drafts(len(calls)), []
        for place, call in enumerate(calls):
            unit = Unit(drafts, call.item, [call], [place], stored.get(call.item, {}))
            found = self._reused(call, unit.stored.get(call.name, ()))
            if found is None:
                units.append(unit)
            else:
                drafts.deliver(unit, [found])
        self.n_reused += len(calls) - len(units)
        self._queue.add(units)
        await self.unless_ended(drafts.done.wait())
        return drafts.written


def tokens_to_write(
    assignments: Sequence[Assignment], plan: SynthesisPlan, store: ReplyStore | None
) -> Iterator[int]:
    """Give about how many tokens would ask for the next drafts, of those that are not stored."""
    ids = {} if store is None else {row.fingerprint: row.id for row in store.judges()}
    number = ids.get(plan.writer_fingerprint)
    calls = [_draft_call(each, plan, nonce=_NONCE) for each in assignments]
    found = {} if store is None or number is None else store.get(number, [calls[0].item])
    for call in calls:
        blobs = blobs_by_name(found.get(call.item, ())).get(call.name, ())
        if stored_outcome(call, blobs, max_attempts=plan.writer.limits.max_attempts) is None:
            yield sum(_tokens_of(message.content) for message in call.request("text").messages)


@lru_cache(1_000)
def _tokens_of(text: str) -> int:
    """Estimate once what comes again and again, such as a task."""
    return estimate_tokens(text)


def _draft_call(
    assignment: Assignment, plan: SynthesisPlan, *, nonce: str | None = None
) -> Call[Draft]:
    """Make the call for the next draft; its fence has a given code, or a new one each time."""
    attempt, writer = len(assignment.drafts) + 1, plan.writer
    task, temperature = task_text(assignment, plan), writer.temperature
    if temperature is not None:
        temperature = round(min(temperature + _WARMER * (attempt - 1), _HOTTEST), 3)
    told = [task, temperature, writer.seed, assignment.number, attempt]
    digest = hashlib.sha256(as_bytes(told)).hexdigest()

    def request(form: ReplyForm) -> ChatRequest:  # noqa: ARG001  # always plain text
        return ChatRequest(
            messages=writer_messages(
                task, assignment.prompt.prompt, nonce=nonce or new_nonce(), language=writer.language
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
