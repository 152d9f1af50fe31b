"""The writer of drafts: its instructions in English or Chinese, and the engine that calls it.

The words of the instructions are in ``data/writer.yaml``. The conversation is untrusted: it is
fenced as it is for judges, and the message with the task holds no part of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from voirdire.documents import document_from_text, hash_content
from voirdire.judging.caller import Caller
from voirdire.judging.calls import Call
from voirdire.judging.prompts import escape_invisible, fence_item, new_nonce, pick_language
from voirdire.models import ChatRequest
from voirdire.records import Message
from voirdire.records.items import as_bytes
from voirdire.records.reasoning import strip_reasoning
from voirdire.rewards.synthesis.plan import Draft
from voirdire.rewards.synthesis.recipes import make_seed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import Language, ReplyForm
    from voirdire.judging.caller import CallCounts
    from voirdire.judging.calls import Outcome
    from voirdire.judging.settings import StoredReplies
    from voirdire.records import Reply
    from voirdire.rewards.synthesis.plan import Assignment, SynthesisPlan

__all__ = ["Writer"]

_LARGEST_SEED = 2**31
"""Servers accept seeds below this."""

_HOTTEST = 2.0
_WARMER = 0.1
"""Each further draft has a higher temperature, so that it differs where a server ignores seeds."""

_SURROGATES = re.compile("[\ud800-\udfff]")
# Instructions ----------------------------------------------------------------------------------


@cache
def _read_words() -> dict[str, Any]:
    text = (files("voirdire") / "data" / "writer.yaml").read_text(encoding="utf-8")
    words: dict[str, Any] = document_from_text(text, source="writer.yaml", what="words").value
    return words


def _choose_words(language: Language) -> dict[str, str]:
    return {part: texts[language] for part, texts in _read_words()["words"].items()}


def _write_task(assignment: Assignment, plan: SynthesisPlan) -> str:
    """Write the system message: the role, the place of the conversation, and the task."""
    language = plan.writer.language
    words = _choose_words(language)
    points = {
        name: f"- {escape_invisible(_choose_instruction(name, plan, state=state))}"
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


def _choose_instruction(proposition: str, plan: SynthesisPlan, *, state: bool) -> str:
    """Choose the words that ask for a state of a proposition.

    They come from the recipes, else from the text of the question. Where the language has none, the
    other language is used.
    """
    instruction, language = plan.recipes.instructions.get(proposition), plan.writer.language
    if instruction is not None:
        return (
            pick_language(instruction.when_true if state else instruction.when_false, language)
            or ""
        )
    question = pick_language(plan.rubric.question(proposition).text, language) or proposition
    words = _read_words()
    text: str = words["asked"][language].replace("{answer}", words["answers"][language][state])
    return text.replace("{question}", question)


def _make_call(assignment: Assignment, plan: SynthesisPlan) -> Call[Draft]:
    """Make the call for the next draft."""
    attempt, writer = len(assignment.drafts) + 1, plan.writer
    task, temperature = _write_task(assignment, plan), writer.temperature
    if temperature is not None:
        temperature = round(min(temperature + _WARMER * (attempt - 1), _HOTTEST), 3)
    content_of_call = [task, temperature, writer.seed, assignment.number, attempt]
    digest = hashlib.sha256(as_bytes(content_of_call)).hexdigest()

    def request(form: ReplyForm) -> ChatRequest:  # noqa: ARG001  # always plain text
        words = _choose_words(writer.language)
        shown = fence_item(assignment.prompt.prompt, {}, nonce=new_nonce())
        content = f"{words['opening']}\n{shown}\n{words['closing']}"
        return ChatRequest(
            messages=(Message(role="system", content=task), Message(role="user", content=content)),
            form="text",
            max_tokens=plan.settings.max_tokens,
            temperature=temperature,
            seed=make_seed(f"{assignment.key.hex()}/{digest}") % _LARGEST_SEED,
        )

    return Call(item=assignment.key, name=f"write/{digest[:32]}", request=request, read=_read_draft)


def _read_draft(reply: Reply) -> Draft:
    """Read a draft from a reply; a fault of the reply becomes the reason of the draft."""
    answer = strip_reasoning(_SURROGATES.sub("\ufffd", reply.text))
    text = (answer or "").strip()
    if reply.finish_reason == "length" or answer is None:
        return Draft(response=text, reason="cut off: the reply ended at its most tokens")
    return Draft(response=text, reason=None if text else "empty reply")


# Calls -----------------------------------------------------------------------------------------


class Writer:
    """Writes drafts: finds them in the store, or calls the model and stores them."""

    def __init__(self, plan: SynthesisPlan, replies: StoredReplies) -> None:
        self._plan, self._replies = plan, replies
        self._caller = Caller(plan.writer, retry_failures=replies.retry_failures, live=None)
        self._tasks: list[asyncio.Task[Outcome[Draft]]] = []
        self.n_reused = 0

    @property
    def counts(self) -> CallCounts:
        """Counts of the calls."""
        return self._caller.counts

    async def start(self) -> None:
        """Open the store; drafts are found by all that they depend on besides prompt and task."""
        writer = self._plan.writer
        depends_on = {
            "writes": _read_words()["version"],
            "words": list(_choose_words(writer.language).values()),
            "model": dict(writer.chat_model.settings),
            "max_tokens": self._plan.settings.max_tokens,
        }
        described = {"name": writer.name, "writes": "completions", "language": writer.language}
        fingerprint = hash_content(depends_on)
        await self._caller.start(self._replies, fingerprint=fingerprint, description=described)

    async def write(self, assignments: Sequence[Assignment]) -> list[Draft]:
        """Write a draft for each, or raise what ends the run."""
        calls = [_make_call(each, self._plan) for each in assignments]
        stored: Any = {}
        seen = self._caller.n_by_others
        if self._caller.store is not None:
            keys = list({call.item for call in calls})
            stored = await self._caller.store.aget(self._caller.judge_id, keys)
        self._tasks = []
        for call in calls:
            blobs = stored.get(call.item, {}).get(call.name, ())
            answer = self._caller.answer(call, blobs, _do_nothing, seen=seen)
            self._tasks.append(asyncio.create_task(answer))
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            if task.exception() is not None:
                raise self._caller.error or task.exception() or AssertionError
        outcomes = [task.result() for task in self._tasks]
        self.n_reused += sum(outcome.is_reused for outcome in outcomes)
        return [
            outcome.value or Draft(reason=f"no reply: {getattr(outcome.failure, 'reason', '')}")
            for outcome in outcomes
        ]

    def stop(self) -> None:
        """Begin no more calls; calls that are sent may finish."""
        self._caller.stop()

    async def close(self, *, drain_s: float | None = None) -> None:
        """Wait for the calls that are sent, then close everything."""
        self.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=drain_s)
        for task in self._tasks:
            task.cancel()
        await self._caller.close()


def _do_nothing() -> None:
    """Note nothing when a call is sent."""
