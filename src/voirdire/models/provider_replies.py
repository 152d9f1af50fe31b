"""Completions in OpenAI's shape, which any-llm makes of what every provider says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import ContentFilterError, RefusalError, ServerError
from voirdire.records import Reply, TokenChoice, TokenStep, Usage

if TYPE_CHECKING:
    from voirdire.models.openai_compatible.keys import Keys
    from voirdire.models.port import ChatRequest

__all__ = ["read_completion"]


def read_completion(said: Any, *, request: ChatRequest, model: str, keys: Keys) -> Reply:
    """Read a completion.

    Parameters
    ----------
    said : any_llm.types.completion.ChatCompletion
        What came.
    request : ChatRequest
        What was asked.
    model : str
        What messages call the model.
    keys : Keys
        What must not be shown.

    Returns
    -------
    Reply
        Its text, and what came with it.

    Raises
    ------
    ModelCallError
        If it holds no reply.
    """
    if not said.choices:
        msg = f"{model}: the reply holds no choice."
        raise ServerError(msg)
    choice = said.choices[0]
    if choice.finish_reason == "content_filter":
        msg = f"{model}: the provider's filter held the reply back."
        raise ContentFilterError(msg)
    if choice.message.refusal:
        msg = f"{model}: declined: {shorten(keys.hide(choice.message.refusal), width=200)}"
        raise RefusalError(msg)
    return Reply(
        text=choice.message.content or "",
        steps=None if request.top_logprobs is None else _steps(choice.logprobs),
        form=request.form,
        finish_reason=choice.finish_reason,
        model=said.model,
        usage=_usage(said.usage),
    )


def _steps(logprobs: Any) -> tuple[TokenStep, ...] | None:
    content = getattr(logprobs, "content", None)
    if not content:
        return None
    return tuple(
        TokenStep(
            token=step.token,
            logprob=step.logprob,
            top=tuple(
                TokenChoice(token=choice.token, logprob=choice.logprob)
                for choice in step.top_logprobs or ()
            ),
        )
        for step in content
    )


def _usage(usage: Any) -> Usage | None:
    if usage is None:
        return None
    prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
    return Usage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=getattr(prompt, "cached_tokens", None) or 0,
        reasoning_tokens=getattr(completion, "reasoning_tokens", None) or 0,
    )
