"""A prompt as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from voirdire.judging.prompts.builder import PromptBuilder
from voirdire.judging.prompts.wording import wording_of
from voirdire.records import Item, Message

if TYPE_CHECKING:
    from voirdire._types import ReplyForm
    from voirdire.judging.asking import Ask

__all__ = ["show_prompt"]

_SHOWN_NONCE = "0" * 16


def show_prompt(ask: Ask, item: Item | None = None, *, form: ReplyForm = "json_schema") -> str:
    """Show what a model would be sent.

    Parameters
    ----------
    ask : Ask
        What is asked.
    item : Item, optional
        What is judged; a stand-in where it is left out.
    form : {"json_schema", "json_object", "text"}, optional
        How the model is held to the form of its reply.

    Returns
    -------
    str
        Every message under its role, then the JSON Schema where one is sent. The random code of
        the fence is shown as zeros.

    Examples
    --------
    >>> from voirdire.judging.asking import Ask
    >>> from voirdire.rubrics import load_rubric
    >>> apology = load_rubric("safety").question("apology")
    >>> print(show_prompt(Ask(questions=(apology,)))[:24])
    === system ===
    You are a
    """
    request = PromptBuilder(ask).request(item or _sample_item(ask), nonce=_SHOWN_NONCE, form=form)
    parts = [f"=== {message.role} ===\n{message.content}\n" for message in request.messages]
    if request.schema:
        shown = msgspec.json.format(request.schema, indent=2).decode()
        parts.append(f"=== JSON Schema of the reply ===\n{shown}\n")
    return "\n".join(parts)


def _sample_item(ask: Ask) -> Item:
    words = wording_of(ask.language)
    return Item(
        id="sample",
        prompt=(Message(role="user", content=words.sample_prompt),),
        response=words.sample_response,
        other=words.sample_other,
    )
