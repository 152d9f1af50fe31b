"""From the body of an answer to a `Reply`, or to the error that it is instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.errors import ContentFilterError, ModelCallError, RefusalError, ServerError
from voirdire.models.openai_compatible.headroom import headroom_of
from voirdire.models.openai_compatible.steps import steps_of
from voirdire.models.openai_compatible.wire import Choice, decode_completion, usage_of
from voirdire.records import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.models.openai_compatible.refusals import Refusals
    from voirdire.models.openai_compatible.wire import PlainChoice
    from voirdire.models.port import ChatRequest
    from voirdire.records import TokenStep

__all__ = ["read_reply"]


def read_reply(
    body: bytes, *, headers: Mapping[str, str], request: ChatRequest, refusals: Refusals
) -> Reply:
    """Read the body of an answer whose status says that it is a reply.

    Parameters
    ----------
    body : bytes
        As it came.
    headers : mapping of str to str
        Of the answer.
    request : ChatRequest
        What was asked.
    refusals : Refusals
        Places what is no reply.

    Returns
    -------
    Reply
        Its text without what the server parted from it as reasoning.

    Raises
    ------
    ModelCallError
        If it is an error, a refusal, held back by a filter, or nothing that can be read.
    """
    completion = decode_completion(body, with_logprobs=request.top_logprobs is not None)
    if completion is None:
        raise ServerError(refusals.sentence("sent what is no chat completion", quoted=body))
    if not completion.choices:
        if completion.error is not None:
            raise refusals.of_error(completion.error, headers=headers, request=request)
        raise ServerError(refusals.sentence("sent a chat completion without a reply", quoted=body))
    choice = completion.choices[0]
    failure = _failure(choice, headers=headers, request=request, refusals=refusals)
    if failure is not None:
        raise failure
    text = _text(choice.message.content)
    return Reply(
        text=text,
        steps=_steps(choice, text=text, body=body),
        form=request.form,
        finish_reason=choice.finish_reason,
        model=completion.model,
        usage=usage_of(completion.usage),
        headroom=headroom_of(headers),
    )


def _failure(
    choice: Choice | PlainChoice,
    *,
    headers: Mapping[str, str],
    request: ChatRequest,
    refusals: Refusals,
) -> ModelCallError | None:
    reason = choice.finish_reason
    if reason == "stop" and not choice.message.refusal:
        return None
    if choice.error is not None:
        return refusals.of_error(choice.error, headers=headers, request=request)
    if reason == "error":
        return ServerError(refusals.sentence("broke off with an error"))
    if reason is not None and reason.startswith("content_filter"):
        return ContentFilterError(refusals.sentence("held its reply back: content filter"))
    if reason == "refusal":
        return RefusalError(refusals.sentence("declined to reply"))
    if choice.message.refusal:
        said = refusals.sentence("declined to reply", quoted=choice.message.refusal)
        return RefusalError(said)
    return None


def _text(content: str | list[Any] | None) -> str:
    """Give the text of a message, without the parts that are something else, such as thoughts."""
    if isinstance(content, str):
        return content
    parts = [part for part in content or () if isinstance(part, dict)]
    texts = [part.get("text") for part in parts if part.get("type") in ("text", "output_text")]
    return "".join(text for text in texts if isinstance(text, str))


def _steps(choice: Choice | PlainChoice, *, text: str, body: bytes) -> tuple[TokenStep, ...] | None:
    if not isinstance(choice, Choice) or choice.logprobs is None:
        return None
    try:
        return steps_of(choice.logprobs, text=text, body=body)
    except msgspec.DecodeError:  # alternatives of an unknown shape
        return None
