"""Who writes drafts: what the model is told, in English or in Chinese, and the engine that asks it.

The words stand in ``data/writer.yaml``. The conversation is untrusted: it is fenced as judges see
it, and the message with the task holds nothing of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from voirdire.documents import document_from_text
from voirdire.io.messages import strip_reasoning
from voirdire.judging.bound import BoundJudge
from voirdire.judging.call_plan import CallPlan
from voirdire.judging.client.call import Call, read_stored_outcome
from voirdire.judging.engine.batch import Unit
from voirdire.judging.engine.model_engine import ModelEngine
from voirdire.judging.fingerprint import hash_content
from voirdire.judging.judges.token_estimate import estimate_tokens
from voirdire.judging.prompts import escape_invisible, fence_item, new_nonce, pick_language
from voirdire.models import BatchChatModel, ChatRequest
from voirdire.records import Message
from voirdire.records.items import as_bytes
from voirdire.rewards.synthesis.plan import Draft
from voirdire.rewards.synthesis.recipes import seed_of
from voirdire.store.stored_calls import group_by_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire._types import Language, ReplyForm
    from voirdire.judging.client.call import Outcome
    from voirdire.records import Reply
    from voirdire.rewards.synthesis.plan import Assignment, SynthesisPlan
    from voirdire.store import ReplyStore

__all__ = ["Writer", "tokens_to_write"]

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
_tokens_of = lru_cache(1_000)(estimate_tokens)  # a task comes again and again


# What it is told -------------------------------------------------------------------------------


@cache
def _read_words() -> dict[str, Any]:
    text = (files("voirdire") / "data" / "writer.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = document_from_text(text, source="writer.yaml", what="words").value
    return found


def _words(language: Language) -> dict[str, str]:
    return {part: texts[language] for part, texts in _read_words()["words"].items()}


def _write_task(assignment: Assignment, plan: SynthesisPlan) -> str:
    """Write the system's message: who writes, where the conversation is, and what is wanted."""
    language = plan.writer.language
    words = _words(language)
    points = {
        name: f"- {escape_invisible(_instruction(name, plan, state=state))}"
        for name, state in assignment.traits.wanted.items()
    }
    brief = pick_language(assignment.slot.brief, language)
    task = [words["brief"].replace("{brief}", escape_invisible(brief))] if brief else []
    task += [words["task"], *points.values()]
    if assignment.missed:
        task += ["", words["missed"], *(points[name] for name in assignment.missed)]
    place = [words[part] for part in ("conversation", "is_data", "escapes")]
    sections = [
        [words["role"]],
        [words["conversation_heading"], "", *place],
        [words["task_heading"], "", *task],
        [words["reply_heading"], "", words["reply"]],
    ]
    return "\n\n".join("\n".join(section) for section in sections)


def _instruction(proposition: str, plan: SynthesisPlan, *, state: bool) -> str:
    """Give the words that ask for a state of a proposition.

    Those of the recipes count; without any, the question's own text is turned into words. Where
    one language lacks them, the other stands in.
    """
    known, language = plan.recipes.instructions.get(proposition), plan.writer.language
    if known is not None:
        return pick_language(known.when_true if state else known.when_false, language) or ""
    question = pick_language(plan.rubric.question(proposition).text, language) or proposition
    words = _read_words()
    text: str = words["asked"][language].replace("{answer}", words["answers"][language][state])
    return text.replace("{question}", question)


def _draft_call(
    assignment: Assignment, plan: SynthesisPlan, *, nonce: str | None = None
) -> Call[Draft]:
    """Make the call for the next draft; its fence has a given code, or a new one each time."""
    attempt, writer = len(assignment.drafts) + 1, plan.writer
    task, temperature = _write_task(assignment, plan), writer.temperature
    if temperature is not None:
        temperature = round(min(temperature + _WARMER * (attempt - 1), _HOTTEST), 3)
    told = [task, temperature, writer.seed, assignment.number, attempt]
    digest = hashlib.sha256(as_bytes(told)).hexdigest()

    def request(form: ReplyForm) -> ChatRequest:  # noqa: ARG001  # always plain text
        words = _words(writer.language)
        shown = fence_item(assignment.prompt.prompt, {}, nonce=nonce or new_nonce())
        content = f"{words['opening']}\n{shown}\n{words['closing']}"
        return ChatRequest(
            messages=(Message(role="system", content=task), Message(role="user", content=content)),
            form="text",
            max_tokens=plan.settings.max_tokens,
            temperature=temperature,
            seed=seed_of(f"{assignment.key.hex()}/{digest}") % _LARGEST_SEED,
        )

    return Call(item=assignment.key, name=f"write/{digest[:32]}", request=request, read=_read_draft)


def _read_draft(reply: Reply) -> Draft:
    """Take the text of a reply; a reply is read once, and what is wrong with it is no error."""
    answer = strip_reasoning(_HALVES.sub("\ufffd", reply.text))
    text = answer.text.strip()
    if reply.finish_reason == "length" or answer.is_unfinished:
        return Draft(response=text, reason="cut off: the reply ended at its most tokens")
    return Draft(response=text, reason=None if text else "empty reply")


# Asking it -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _BoundWriter(BoundJudge):
    """The writer as an engine has it; its drafts are kept under a hash of their own."""

    plan: SynthesisPlan

    @property
    def calls(self) -> CallPlan:
        """No question of a rubric is asked."""
        return CallPlan(specs=())

    @cached_property
    def reply_fingerprint(self) -> str:
        """Hash over everything that a draft depends on besides its prompt and task."""
        return hash_content(
            {
                "writes": _read_words()["version"],
                "words": list(_words(self.judge.language).values()),
                "model": dict(self.judge.chat_model.settings),
                "max_tokens": self.plan.settings.max_tokens,
            }
        )

    @property
    def described(self) -> dict[str, Any]:
        """What a store says of whose drafts it holds."""
        return {"name": self.name, "writes": "completions", "language": self.judge.language}


def _bound(plan: SynthesisPlan) -> _BoundWriter:
    return _BoundWriter(judge=plan.writer, rubric=plan.rubric, plan=plan)


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

    def deadline(self, _: bytes) -> float:
        return math.inf

    def is_answered(self, _: bytes) -> bool:
        return False


class Writer(ModelEngine):
    """The engine of drafts: looked up, called, stored and used as replies about items are."""

    def __init__(
        self, plan: SynthesisPlan, *, store: ReplyStore | None, retry_failures: bool
    ) -> None:
        super().__init__(_bound(plan), store=store, retry_failures=retry_failures)
        if isinstance(plan.writer.chat_model, BatchChatModel):
            self._queue.jobs_together = _DRAFTS_AT_ONCE
        self._plan = plan
        self.n_reused = 0

    async def write(self, assignments: Sequence[Assignment]) -> list[Draft]:
        """Write a draft for each, or raise what ends the run."""
        calls = [_draft_call(each, self._plan) for each in assignments]
        stored = await self._look_up(list({call.item for call in calls}))
        drafts, units = _Drafts(len(calls)), []
        for place, call in enumerate(calls):
            unit = Unit(drafts, call.item, [call], [place], stored.get(call.item, {}))
            found = self._queue.reuse(
                call, unit.stored.get(call.name, ()), retry_failures=self._retry_failures
            )
            if found is None:
                units.append(unit)
            else:
                drafts.deliver(unit, [found])
        self.n_reused += len(calls) - len(units)
        self._queue.add(units)
        await self.wait_unless_ended(drafts.done.wait())
        return drafts.written


def tokens_to_write(
    assignments: Sequence[Assignment], plan: SynthesisPlan, store: ReplyStore | None
) -> Iterator[int]:
    """Give about how many tokens would ask for each first draft of a prompt that is not stored."""
    ids = {} if store is None else {row.fingerprint: row.id for row in store.judges()}
    number = ids.get(_bound(plan).reply_fingerprint)
    calls = [_draft_call(each, plan, nonce=_NONCE) for each in assignments]
    found = {} if store is None or number is None else store.get(number, [calls[0].item])
    for call in calls:
        blobs = group_by_name(found.get(call.item, ())).get(call.name, ())
        if read_stored_outcome(call, blobs, max_attempts=plan.writer.limits.max_attempts) is None:
            yield sum(_tokens_of(message.content) for message in call.request("text").messages)
