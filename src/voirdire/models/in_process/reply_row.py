"""One reply while it is generated, token by token."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from voirdire.models.in_process.object_end import ObjectEnd
from voirdire.records import Reply, TokenStep, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from voirdire.models.in_process.reply_grammar import ReplyGrammar
    from voirdire.models.in_process.token_texts import TokenTexts
    from voirdire.models.port import ChatRequest
    from voirdire.records import TokenChoice

__all__ = ["ReplyRow"]


@dataclass(kw_only=True, eq=False)
class ReplyRow:
    """A reply under way.

    Attributes
    ----------
    request : ChatRequest
        What is asked.
    prompt : list of int
        Tokens of the prompt and of what the reply must begin with.
    grammar : ReplyGrammar or None
        What the reply may be; None where anything goes.
    texts : TokenTexts
        Texts of tokens.
    ends : set of int
        Tokens that end a reply.
    specials : set of int
        Tokens that never stand in one that has a grammar.
    room : int
        Tokens that it may have at most.
    temperature : float
        0 takes the likeliest token.
    n_shared : int
        Tokens of the prompt that were encoded with another one's.
    """

    request: ChatRequest
    prompt: list[int]
    grammar: ReplyGrammar | None
    texts: TokenTexts
    ends: AbstractSet[int]
    specials: AbstractSet[int]
    room: int
    temperature: float = 0.0
    n_shared: int = 0
    tokens: list[int] = field(default_factory=list, init=False)
    text: str = field(default="", init=False)
    finish_reason: str | None = field(default=None, init=False)
    _steps: list[TokenStep] = field(default_factory=list, init=False)
    _data: bytes = field(default=b"", init=False)
    _pending: list[int] = field(default_factory=list, init=False)
    _end: ObjectEnd = field(default_factory=ObjectEnd, init=False)

    def __post_init__(self) -> None:
        prefill = self.request.prefill
        if prefill:
            self._steps.append(TokenStep(token=prefill, logprob=0.0))
            self._add(prefill, data=prefill.encode())

    def first_possible(self, candidates: Iterable[int]) -> int | None:
        """Choose the first candidate that the reply can go on with; None if there is none."""
        return next((token for token in candidates if self._is_possible(token)), None)

    def take(self, token: int, *, logprob: float, top: tuple[TokenChoice, ...]) -> None:
        """Go on with a token; `finish_reason` says afterwards whether it was the last."""
        self.tokens.append(token)
        if self.grammar is None and token in self.ends:
            self.finish_reason = "stop"
            return
        added = self.texts.after(self._pending, token)
        self._pending = [*self._pending, token] if added is None else []
        self._steps.append(TokenStep(token=added or "", logprob=logprob, top=top))
        self._add(added or "", data=self.texts.data(token) or b"")
        if self.finish_reason is None and len(self.tokens) >= self.room:
            self.finish_reason = "length"

    def reply(self, *, model: str) -> Reply:
        """Make the record of what was said."""
        is_asked = self.request.top_logprobs is not None
        return Reply(
            text=self.text,
            steps=tuple(self._steps) if is_asked else None,
            form=self.request.form,
            finish_reason=self.finish_reason,
            model=model,
            usage=Usage(
                prompt_tokens=len(self.prompt),
                completion_tokens=len(self.tokens),
                cached_tokens=self.n_shared,
            ),
        )

    def _is_possible(self, token: int) -> bool:
        if self.grammar is None:
            return True
        if token in self.specials or token in self.ends:
            return False
        data = self.texts.data(token)
        return bool(data) and self.grammar.state(self._data + (data or b"")) != "impossible"

    def _add(self, text: str, *, data: bytes) -> None:
        self.text += text
        self._data += data
        if self._is_whole(text):
            self.finish_reason = "stop"

    def _is_whole(self, added: str) -> bool:
        if self.grammar is None:
            return self._end.reached(added)
        return self.grammar.state(self._data) == "complete"
