"""From questions and an item to a request."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.judging.prompts.fence import fenced, responses_of
from voirdire.judging.prompts.harmless import json_text
from voirdire.judging.prompts.questions import written_questions, written_reply
from voirdire.judging.prompts.schema import reply_schema, reply_tokens
from voirdire.judging.prompts.wording import Wording, wording_of
from voirdire.models import ChatRequest
from voirdire.records import Message

if TYPE_CHECKING:
    from voirdire._types import ReplyForm
    from voirdire.judging.asking import Ask
    from voirdire.records import Item

__all__ = ["PromptBuilder", "prompt_digest"]


class PromptBuilder:
    """Makes the requests of one `Ask`, item after item.

    In joint mode the questions come first, in a system message that is the same object for every
    item, and the item last: servers keep the beginning of a prompt across items. In single mode
    the system message is short, the item comes next and the question last: servers keep the
    beginning across the questions of an item, as long as these share a nonce.

    Parameters
    ----------
    ask : Ask
        What to ask. Pairwise questions are asked apart from others, since they show two responses.

    Attributes
    ----------
    ask : Ask
        As given.
    schema : bytes
        JSON Schema of the reply, as JSON.
    max_tokens : int
        Tokens that a reply needs at most; reasoning comes on top of it.
    prefill : str
        What every reply begins with, apart from white space.
    fingerprint : str
        ``sha256:`` and 64 hexadecimal digits over everything that does not come from the item.

    Raises
    ------
    InputError
        If nothing is asked, if an id is asked twice, if the mode is single and there are several
        questions, or if pairwise questions stand beside others.
    """

    def __init__(self, ask: Ask) -> None:
        _check(ask)
        words = wording_of(ask.language)
        self.ask = ask
        self.schema = msgspec.json.encode(reply_schema(ask))
        self.max_tokens = reply_tokens(ask)
        self.prefill = f"{{{json_text(ask.questions[0].id)}:"
        self._is_pair = ask.questions[0].kind == "pairwise"
        self._system = Message(role="system", content=_system_text(ask, words))
        self._opening = f"{words.item.opening}\n"
        self._closing = f"\n{_closing_text(ask, words)}"
        self.fingerprint = prompt_digest(
            self._system.content, self._opening, self._closing, self.schema.decode()
        )

    def request(
        self,
        item: Item,
        *,
        nonce: str,
        form: ReplyForm,
        top_logprobs: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        max_tokens: int | Literal["from_ask"] | None = "from_ask",
    ) -> ChatRequest:
        """Ask about one item.

        Parameters
        ----------
        item : Item
            What is judged.
        nonce : str
            Random code of its fence, from `new_nonce`. The single questions about an item may
            share one, so that servers keep what they have read of it.
        form : {"json_schema", "json_object", "text"}
            How the model is held to the form of its reply; the words are the same for all three.
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
            If the question is pairwise and the item has no second response, or if `nonce` is not
            16 to 64 hexadecimal digits.
        """
        responses = responses_of(item, is_pair=self._is_pair, swapped=self.ask.swapped)
        shown = fenced(item.prompt, responses, nonce=nonce)
        content = f"{self._opening}{shown}{self._closing}"
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


def prompt_digest(*texts: str) -> str:
    """Hash the texts of a prompt, each with its place."""
    return f"sha256:{hashlib.sha256(msgspec.json.encode(texts)).hexdigest()}"


def _check(ask: Ask) -> None:
    ids = [row.id for row in ask.questions]
    if not ids or (ask.mode == "single" and len(ids) > 1):
        wanted = "one question in single mode" if ids else "at least one question"
        msg = f"`ask` must have {wanted}, got {len(ids)}. Make one `Ask` per call."
        raise InputError(msg)
    if len(set(ids)) < len(ids):
        again = next(name for name in ids if ids.count(name) > 1)
        msg = f"`ask` must name each question once, got {shorten(again)!r} again. Take one out."
        raise InputError(msg)
    n_pairwise = sum(row.kind == "pairwise" for row in ask.questions)
    if n_pairwise not in (0, len(ids)):
        msg = (
            "`ask` must hold pairwise questions alone, as they show two responses, got "
            f"{n_pairwise} of {len(ids)}. Ask the others in a call of their own."
        )
        raise InputError(msg)


def _system_text(ask: Ask, words: Wording) -> str:
    """Put together what comes before the item and is the same for all items."""
    is_joint, is_pair = ask.mode == "joint", ask.questions[0].kind == "pairwise"
    own = words.item
    if is_pair:
        role = words.role_pair_joint if is_joint else words.role_pair_single
    else:
        role = words.role_joint if is_joint else words.role_single
    item = [
        f"{own.heading}\n",
        own.place_joint if is_joint else own.place_single,
        own.conversation,
        own.responses if is_pair else own.response,
        "",
        own.is_data,
        own.escapes,
    ]
    rules = [f"{words.rules_heading}\n", *words.rules, *(words.rules_pair if is_pair else ())]
    if is_joint:
        rules.append(words.rule_joint)
    sections = [role, "\n".join(item), "\n".join(rules)]
    if is_joint:
        sections += [written_questions(ask, words), written_reply(ask, words)]
    return "\n\n".join(sections)


def _closing_text(ask: Ask, words: Wording) -> str:
    if ask.mode == "joint":
        return words.item.closing
    sections = [
        words.item.closing_single,
        written_questions(ask, words),
        written_reply(ask, words),
    ]
    return "\n\n".join(sections)
