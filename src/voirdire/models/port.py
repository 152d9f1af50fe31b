"""Defines the interface of language models: a name, settings, and a reply to a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import msgspec

from voirdire._types import ReplyForm  # noqa: TC001  # msgspec reads the annotation
from voirdire.records import Message  # noqa: TC001  # msgspec reads the annotation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.records import Reply

RULES = "rules"
"""The judge that asks no model: rules in code answer everything."""

# All forms of reply, the strictest first.
FORMS: tuple[ReplyForm, ...] = ("json_schema", "json_object", "text")


class TypedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a decision model, which gives a probability for each of its options.

    Attributes
    ----------
    name : str
        Its name, unique in a request.
    kind : {"predicate", "choice", "score"}
        Whether something is true, which of several, or which of ordered levels.
    instructions : str
        The question.
    options : tuple of (str, str or None)
        Names and meanings, of levels the lowest first; of a predicate those of true and false, or
        none.
    """

    name: str
    kind: Literal["predicate", "choice", "score"]
    instructions: str
    options: tuple[tuple[str, str | None], ...] = ()


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One call to a model.

    Attributes
    ----------
    messages : tuple of Message
        The conversation, with the system message first.
    form : {"json_schema", "json_object", "text"}
        How the form of the reply is enforced.
    schema : bytes
        JSON Schema of the reply, as JSON; empty where the form is ``"text"``.
    top_logprobs : int or None
        How many likely tokens to give per token of the reply; None asks for none.
    max_tokens : int or None
        Tokens of the reply at most, those of its reasoning apart; None leaves it to the server.
    temperature : float or None
        At least 0; None takes the model's own setting.
    seed : int or None
        For servers that can repeat themselves.
    n : int
        How many replies; see `SamplingChatModel`.
    questions : tuple of TypedQuestion
        What a decision model is asked about the last message; empty for any other model.
    """

    messages: tuple[Message, ...]
    form: ReplyForm = "text"
    schema: bytes = b""
    top_logprobs: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    seed: int | None = None
    n: int = 1
    questions: tuple[TypedQuestion, ...] = ()


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """Abilities of a model's server, declared or found by a check.

    Attributes
    ----------
    forms : tuple of {"json_schema", "json_object", "text"}
        The forms of reply that it knows, the strictest first; never empty.
    top_logprobs : int or None
        How many likely tokens it gives at most; 0 where it gives no log-probabilities; None where
        it is not yet known.
    images : bool
        Whether it sees images.
    """

    forms: tuple[ReplyForm, ...] = FORMS
    top_logprobs: int | None = None
    images: bool = False


@runtime_checkable
class ChatModel(Protocol):
    """A language model, which replies to a conversation.

    A model may also have `is_remote`, true where it is on a server, so that replies are stored by
    default; and `adaptations`, sentences of what its server refused and what is done instead.
    """

    @property
    def name(self) -> str:
        """Its name in verdicts, such as ``"openai/gpt-4o-mini"``."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings that its replies depend on, as JSON values; part of the fingerprint.

        Never a key or another secret.
        """

    @property
    def capabilities(self) -> Capabilities:
        """Its known abilities."""

    async def reply(self, request: ChatRequest) -> Reply:
        """Answer one request; raise a `ModelCallError` where there is no reply.

        Its `form` is the one that was really asked for. It neither waits for rate limits nor
        retries: the caller does. Where the server refuses a parameter, the model asks again
        without it, and from then on; log-probabilities that are refused altogether are an
        `UnsupportedError` with the feature ``"logprobs"``.
        """

    async def close(self) -> None:
        """Close connections; calling it twice is fine, and so is using the model again."""


@runtime_checkable
class SamplingChatModel(ChatModel, Protocol):
    """A model that gives several replies to one request for the price of one prompt."""

    async def samples(self, request: ChatRequest, n: int) -> Sequence[Reply]:
        """Return up to `n` replies to one request; a `ModelCallError` says why there is none.

        A server may give fewer than it is asked for. The first has the usage of the whole call, the
        others have none.
        """
