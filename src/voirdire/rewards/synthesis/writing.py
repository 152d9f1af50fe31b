"""Asks a model for drafts of completions: what it is told, and how its replies are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from voirdire.documents import document_from_text, hash_content
from voirdire.judging.asking import Answers
from voirdire.judging.calls import Call
from voirdire.judging.prompts import fence_item, new_nonce
from voirdire.models import ChatRequest
from voirdire.records import Item, Message
from voirdire.records.reasoning import strip_reasoning

if TYPE_CHECKING:
    from voirdire._types import ReplyForm
    from voirdire.judging import LlmJudge
    from voirdire.records import Reply
    from voirdire.rewards.settings import SynthesisSettings

_SURROGATES = re.compile("[\ud800-\udfff]")


@cache
def read_words() -> dict[str, Any]:
    """Read what a writer is told, in both languages."""
    text = (files("voirdire") / "data" / "writer.yaml").read_text(encoding="utf-8")
    words: dict[str, Any] = document_from_text(text, source="writer.yaml", what="words").value
    return words


def choose_words(language: str) -> dict[str, str]:
    """Return the parts of what a writer is told, in a language."""
    return {part: texts[language] for part, texts in read_words()["words"].items()}


@dataclass
class Writing:
    """What an engine asks of a judge: one call about each draft, found by all it depends on."""

    judge: LlmJudge
    settings: SynthesisSettings
    name = "write"
    places = (0,)
    seed = None
    shares_fence = False
    asks_reasons = False
    questions = (None,)

    def __post_init__(self) -> None:
        writer = self.judge
        self.words = choose_words(writer.language)
        self.rubric, self.calls, self.specs = SimpleNamespace(questions=(None,)), self, (self,)
        self.described = {"name": writer.name, "writes": "completions", "language": writer.language}
        self.reply_fingerprint = hash_content(
            {
                "writes": read_words()["version"],
                "words": list(self.words.values()),
                "model": dict(writer.chat_model.settings),
                "max_tokens": self.settings.max_tokens,
            }
        )

    def needs_calls(self, _item: Item) -> bool:
        """Whether anything is asked about a draft: always."""
        return True

    def apply_rules(self, _item: Item) -> dict[int, Any]:
        """Return what rules in code answer: nothing."""
        return {}

    def calls_of(self, _item: Item) -> Writing:
        """Give the calls about a draft: one."""
        return self

    def calibrators_of(self, _n_questions: int) -> tuple[()]:
        """Calibrate nothing."""
        return ()

    def call(self, item: Item, *, key: bytes, nonce: str | None = None) -> Call[Answers]:
        """Make the call about a draft."""
        about = item.metadata

        def request(form: ReplyForm) -> ChatRequest:  # noqa: ARG001  # always plain text
            shown = fence_item(item.prompt, {}, nonce=nonce or new_nonce())
            content = f"{self.words['opening']}\n{shown}\n{self.words['closing']}"
            return ChatRequest(
                messages=(
                    Message(role="system", content=about["task"]),
                    Message(role="user", content=content),
                ),
                form="text",
                max_tokens=self.settings.max_tokens,
                temperature=about["temperature"],
                seed=about["seed"],
            )

        return Call(item=key, name=self.name, request=request, read=_read_draft)


def _read_draft(reply: Reply) -> Answers:
    """Read a draft from a reply, and what is wrong with its text."""
    answer = strip_reasoning(_SURROGATES.sub("\ufffd", reply.text))
    text = (answer or "").strip()
    fault = "" if text else "empty reply"
    if reply.finish_reason == "length" or answer is None:
        fault = "cut off: the reply ended at its most tokens"
    return Answers(values=((text, fault),))
