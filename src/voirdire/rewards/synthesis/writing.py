"""Drafts of completions from a model: many at once, each stored before it is used."""

from __future__ import annotations

import asyncio
import hashlib
import re
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from voirdire.errors import StoppedError
from voirdire.io.messages import without_reasoning
from voirdire.judging.client.call import Call
from voirdire.judging.client.client import Client
from voirdire.judging.prompts import new_nonce
from voirdire.models import BatchChatModel
from voirdire.records.items import as_bytes
from voirdire.rewards.synthesis.assignment import Draft
from voirdire.rewards.synthesis.draws import seed_of
from voirdire.rewards.synthesis.writer_prompt import task_text, writer_request
from voirdire.store import GroupCommit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire._types import ReplyForm
    from voirdire.judging.client.call import Outcome
    from voirdire.judging.client.client import ClientState
    from voirdire.models import ChatRequest
    from voirdire.records import Reply
    from voirdire.rewards.synthesis.assignment import Assignment
    from voirdire.rewards.synthesis.plan import SynthesisPlan
    from voirdire.store import ReplyStore, StoredCall

__all__ = ["Writer", "draft_call"]

_HALVES = re.compile("[\ud800-\udfff]")
_TOGETHER = 16
"""Drafts that a model of this process writes in one go."""

_LARGEST_SEED = 2**31
"""What servers take."""


class Writer:
    """Writes drafts, within limits; belongs to one event loop.

    Parameters
    ----------
    plan : SynthesisPlan
        Who writes what.
    store : ReplyStore or None
        Where drafts are kept and found again.
    retry_failures : bool
        Whether calls that failed in an earlier run are made again.

    Notes
    -----
    *Order*: drafts come in the order of the assignments. *Errors*: a call without a reply is a
    draft with a reason; what would fail about every call (no access, the cost limit) is raised
    when the calls in flight have ended. *Cancellation*: after `stop` calls in flight end and are
    stored; cancelled, they are given up. *Memory*: a task per call that may be in flight, and a
    draft per assignment. *Retries and caching*: the `Client` tries again after errors; what is
    stored is used before anything is called.
    """

    def __init__(
        self, plan: SynthesisPlan, *, store: ReplyStore | None, retry_failures: bool
    ) -> None:
        self._plan = plan
        self._store = store
        self._retry_failures = retry_failures
        self._judge_id = 0
        self._commit: GroupCommit | None = None
        if store is not None:
            fingerprint = plan.writer_fingerprint
            self._judge_id = store.judge_id(fingerprint, description=plan.described)
            self._commit = GroupCommit(store, self._judge_id)
        self._caller = Client(
            plan.model,
            limits=plan.limits,
            commit=None if self._commit is None else self._commit.put,
            price=None if plan.price is None else plan.price.cost,
        )
        self.n_reused = 0

    @property
    def state(self) -> ClientState:
        """How the calls stand now."""
        return self._caller.state

    def stop(self) -> None:
        """Begin nothing more."""
        self._caller.stop()

    async def close(self) -> None:
        """Write down what came, and let the model go."""
        if self._commit is not None:
            await self._commit.close()
        await self._plan.model.close()

    async def drafts(self, assignments: Sequence[Assignment]) -> list[Draft]:
        """Write a draft for each assignment."""
        calls = [draft_call(each, self._plan) for each in assignments]
        stored = await self._stored(calls)
        outcomes: dict[int, Outcome[Draft]] = {}
        for place, call in enumerate(calls):
            found = self._caller.reuse(call, stored[place], retry_failures=self._retry_failures)
            if found is not None:
                outcomes[place] = found
        self.n_reused += len(outcomes)
        waiting = [place for place in range(len(calls)) if place not in outcomes]
        await self._call(calls, stored, waiting, outcomes)
        return [_draft(outcomes[place]) for place in range(len(calls))]

    async def _stored(self, calls: Sequence[Call[Draft]]) -> list[Sequence[bytes]]:
        if self._store is None:
            return [()] * len(calls)
        keys = list({call.item for call in calls})
        found = await asyncio.to_thread(self._store.get, self._judge_id, keys)
        return [_blobs(found, call) for call in calls]

    async def _call(
        self,
        calls: Sequence[Call[Draft]],
        stored: Sequence[Sequence[bytes]],
        waiting: Sequence[int],
        outcomes: dict[int, Outcome[Draft]],
    ) -> None:
        """Make the calls that are left; the first error is raised when all have ended."""
        together = isinstance(self._plan.model, BatchChatModel)
        size, places_left = _TOGETHER if together else 1, iter(waiting)
        pending = iter(lambda: tuple(islice(places_left, size)), ())
        errors: list[Exception] = []

        async def work() -> None:
            for places in pending:
                try:
                    some = [calls[place] for place in places]
                    known = [stored[place] for place in places]
                    found = await self._answers(some, known, together=together)
                    outcomes.update(zip(places, found, strict=True))
                except Exception as error:  # noqa: BLE001  # raised again below
                    errors.append(error)
                    self._caller.stop()
                    return

        n_workers = min(self._plan.limits.concurrency, len(waiting))
        await asyncio.gather(*(work() for _ in range(n_workers)))
        if errors:
            raise next((each for each in errors if type(each) is not StoppedError), errors[0])

    async def _answers(
        self, calls: Sequence[Call[Draft]], stored: Sequence[Sequence[bytes]], *, together: bool
    ) -> Sequence[Outcome[Draft]]:
        if together:
            return await self._caller.answer_together(calls, stored=stored)
        return [await self._caller.answer(calls[0], stored=stored[0])]


def draft_call(
    assignment: Assignment, plan: SynthesisPlan, *, nonce: str | None = None
) -> Call[Draft]:
    """Make the call for the next draft of an assignment; its fence has a new code, or a given one.

    A call that is only counted and never made is given one, so that the count is the same again.
    """
    attempt = len(assignment.drafts) + 1
    task = task_text(
        assignment.traits.wanted,
        slot=assignment.slot,
        missed=assignment.missed,
        recipes=plan.recipes,
        rubric=plan.rubric,
        language=plan.language,
    )
    temperature = plan.temperature_of(attempt)
    told = [task, temperature, plan.seed, assignment.number, attempt]
    digest = hashlib.sha256(as_bytes(told)).hexdigest()
    request = partial(
        _request,
        assignment=assignment,
        plan=plan,
        task=task,
        temperature=temperature,
        nonce=nonce,
        seed=seed_of(f"{assignment.key.hex()}/{digest}") % _LARGEST_SEED,
    )
    return Call(item=assignment.key, name=f"write/{digest[:32]}", request=request, read=read_draft)


def read_draft(reply: Reply) -> Draft:
    """Take the text of a reply; a reply is read once, and what is wrong with it is no error."""
    answer = without_reasoning(_HALVES.sub("\ufffd", reply.text))
    text = answer.text.strip()
    if reply.finish_reason == "length" or answer.is_unfinished:
        return Draft(response=text, reason="cut off: the reply ended at its most tokens")
    if not text:
        return Draft(response=text, reason="empty reply")
    return Draft(response=text)


def _request(
    form: ReplyForm,  # noqa: ARG001  # completions are plain text, whatever else a server knows
    *,
    assignment: Assignment,
    plan: SynthesisPlan,
    task: str,
    temperature: float | None,
    nonce: str | None,
    seed: int,
) -> ChatRequest:
    return writer_request(
        task,
        assignment.prompt.prompt,
        nonce=nonce or new_nonce(),
        language=plan.language,
        temperature=temperature,
        seed=seed,
        max_tokens=plan.max_tokens,
    )


def _draft(outcome: Outcome[Draft]) -> Draft:
    if outcome.value is not None:
        return outcome.value
    why = "" if outcome.failure is None else f": {outcome.failure.reason}"
    return Draft(reason=f"no reply{why}")


def _blobs(found: Mapping[bytes, Sequence[StoredCall]], call: Call[Any]) -> Sequence[bytes]:
    return [row.blob for row in found.get(call.item, ()) if row.name == call.name]
