"""Checks the abilities of a model's server with test calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from voirdire.errors import AccessError, ModelCallError
from voirdire.models.port import ChatRequest
from voirdire.records import Message

if TYPE_CHECKING:
    from voirdire._types import ReplyForm
    from voirdire.models.port import ChatModel

__all__ = ["check_model"]

_FORMS: tuple[ReplyForm, ...] = ("json_schema", "json_object", "text")
_LIKELY_TOKENS = 20
_KEY = "leaves_are_green"
_SCHEMA = msgspec.json.encode(
    {
        "type": "object",
        "properties": {_KEY: {"type": "boolean"}},
        "required": [_KEY],
        "additionalProperties": False,
    }
)
_SYSTEM = "You answer with one JSON object and nothing else: no code fence, no other words."
_QUESTION = f'Are most leaves green in summer? One JSON object with the one key "{_KEY}".'


async def check_model(model: ChatModel) -> dict[str, str | None]:
    """Check what a model's server can do: forms of reply, and log-probabilities.

    Parameters
    ----------
    model : ChatModel
        Who is asked, four short questions one after the other.

    Returns
    -------
    dict
        Why it failed, by what was asked for: a form of reply, or ``"logprobs"``; None where it
        works.

    Raises
    ------
    ModelCallError
        If every call would fail, such as with a wrong key, or no form of reply works.
    """
    messages = (
        Message(role="system", content=_SYSTEM),
        Message(role="user", content=_QUESTION),
    )
    requests = {
        form: ChatRequest(
            messages=messages, form=form, schema=b"" if form == "text" else _SCHEMA, max_tokens=64
        )
        for form in _FORMS
    }
    errors: dict[str, str | None] = {}
    for form, request in requests.items():
        try:
            await model.reply(request)
            errors[form] = None
        except AccessError:
            raise
        except ModelCallError as error:
            errors[form], last = str(error), error
    working = [form for form in _FORMS if errors[form] is None]
    if not working:
        raise last
    asking = msgspec.structs.replace(requests[working[0]], top_logprobs=_LIKELY_TOKENS)
    try:
        reply = await model.reply(asking)
        is_told = any(step.top for step in reply.steps or ())
        errors["logprobs"] = None if is_told else "the reply came without them"
    except ModelCallError as error:
        errors["logprobs"] = str(error)
    return errors
