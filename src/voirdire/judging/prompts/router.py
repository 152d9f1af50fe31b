"""Which behavior does a prompt deserve? The request that asks a model, for items that have none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.judging.prompts.builder import prompt_digest
from voirdire.judging.prompts.fence import fenced
from voirdire.judging.prompts.harmless import json_text, visible
from voirdire.judging.prompts.questions import said
from voirdire.judging.prompts.schema import name_tokens, object_schema
from voirdire.judging.prompts.wording import Wording, wording_of
from voirdire.models import ChatRequest
from voirdire.records import Message

if TYPE_CHECKING:
    from voirdire._types import Language, ReplyForm
    from voirdire.records import Item
    from voirdire.rubrics import Rubric

__all__ = ["RouterPrompt"]

_KEY = "behavior"


class RouterPrompt:
    """Makes the requests that ask which behavior a prompt deserves.

    The model sees the conversation and never the response: a bad response must not choose the
    yardstick that it is measured by.

    Parameters
    ----------
    rubric : Rubric
        One with behaviors.
    language : {"en", "zh"}, optional
        Of the instructions and descriptions.

    Attributes
    ----------
    behaviors : tuple of str
        Ids that may be answered.
    schema : bytes
        JSON Schema of the reply ``{"behavior": "<id>"}``, as JSON.
    max_tokens : int
        Tokens that a reply needs at most; reasoning comes on top of it.
    prefill : str
        What every reply begins with, apart from white space.
    fingerprint : str
        ``sha256:`` and 64 hexadecimal digits over everything that does not come from the item.

    Raises
    ------
    InputError
        If the rubric has no behaviors.
    """

    def __init__(self, rubric: Rubric, language: Language = "en") -> None:
        self.behaviors = tuple(row.id for row in rubric.behaviors)
        if not self.behaviors:
            msg = (
                f"`rubric` must have behaviors to choose from, got {rubric.name!r} without any. "
                "Add `behaviors`, or judge without a router."
            )
            raise InputError(msg)
        words = wording_of(language)
        values = {_KEY: {"type": "string", "enum": list(self.behaviors)}}
        self.schema = msgspec.json.encode(object_schema(values))
        self.max_tokens = 32 + name_tokens(self.behaviors)
        self.prefill = f'{{"{_KEY}":'
        self._system = Message(role="system", content=_system_text(rubric, language, words))
        self._opening = f"{words.item.opening}\n"
        self._closing = f"\n{words.item.closing}"
        self.fingerprint = prompt_digest(
            self._system.content, self._opening, self._closing, self.schema.decode()
        )

    def request(
        self,
        prompt_item: Item,
        *,
        nonce: str,
        form: ReplyForm,
        top_logprobs: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        max_tokens: int | Literal["from_ask"] | None = "from_ask",
    ) -> ChatRequest:
        """Ask about the prompt of one item.

        Parameters
        ----------
        prompt_item : Item
            An item whose `prompt` is not empty; its response is not shown.
        nonce : str
            Random code of its fence, from `new_nonce`.
        form : {"json_schema", "json_object", "text"}
            How the model is held to the form of its reply.
        top_logprobs : int, optional
            How many likely tokens to give per token of the reply.
        temperature : float, optional
            At least 0; None takes the model's own setting.
        seed : int, optional
            For servers that can repeat themselves.
        max_tokens : int or "from_ask", optional
            Tokens of the reply at most; None sets no limit, for models whose reasoning counts.

        Returns
        -------
        ChatRequest
            Two messages: the system's and the user's.

        Raises
        ------
        InputError
            If the item has no prompt, or if `nonce` is not 16 to 64 hexadecimal digits.
        """
        if not prompt_item.prompt:
            msg = (
                "`prompt_item` must have a prompt to find the behavior of, got item "
                f"{shorten(prompt_item.id, width=40)!r} without one. Give it `behavior`."
            )
            raise InputError(msg)
        content = f"{self._opening}{fenced(prompt_item.prompt, {}, nonce=nonce)}{self._closing}"
        return ChatRequest(
            messages=(self._system, Message(role="user", content=content)),
            form=form,
            schema=b"" if form == "text" else self.schema,
            top_logprobs=top_logprobs,
            max_tokens=self.max_tokens if max_tokens == "from_ask" else max_tokens,
            temperature=temperature,
            seed=seed,
            prefill=self.prefill,
        )


def _system_text(rubric: Rubric, language: Language, words: Wording) -> str:
    own = words.item
    item = [
        f"{own.heading}\n",
        own.place_joint,
        own.conversation_to_route,
        "",
        own.is_data,
        own.escapes,
    ]
    behaviors = [f"{words.behaviors_heading}\n", words.behaviors]
    for row in rubric.behaviors:
        description = visible(said(row.description, language) or "")
        meaning = f"{words.questions.colon}{description}" if description else ""
        behaviors.append(f"- {json_text(row.id)}{meaning}")
    rules = [f"{words.rules_heading}\n", *words.rules_router]
    reply = [
        f"{words.reply.heading}\n",
        words.reply.form_single,
        f'{{"{_KEY}": {words.reply.behavior}}}',
    ]
    sections = [[words.role_router], item, behaviors, rules, reply]
    return "\n\n".join("\n".join(section) for section in sections)
