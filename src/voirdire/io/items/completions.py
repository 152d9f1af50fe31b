"""OpenAI's shapes: chat completions with their requests, and lines of the Batch API."""

from __future__ import annotations

from typing import Any

import msgspec

from voirdire.io.items.messages import Said, as_prompt, said_by, said_by_all
from voirdire.io.items.row_errors import RowError, got
from voirdire.records import Message

__all__ = ["Choice", "choices_of", "failure_of", "is_completion", "reply_of", "request_prompt"]


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One of the answers to a request.

    Attributes
    ----------
    said : Said
        The message; of a plain completion its text.
    index : int
        Its number among the choices.
    finish_reason : str or None
        Why it ended.
    """

    said: Said
    index: int
    finish_reason: str | None


def is_completion(response: dict[str, Any]) -> bool:
    """Tell a reply of a server, bare or as the Batch API wraps it, by its keys."""
    return "choices" in response or "body" in response or "status_code" in response


def reply_of(response: dict[str, Any], *, error: Any, column: str) -> dict[str, Any]:
    """Unwrap the reply, or say why the request failed."""
    body = response.get("body", response) if "choices" not in response else response
    if isinstance(body, dict) and body.get("choices") is not None:
        return body
    within = body.get("error") if isinstance(body, dict) else None
    error = error if error is not None else within
    status = response.get("status_code")
    if error is None and status in (None, 200):
        found = got(list(body) if isinstance(body, dict) else body)
        raise RowError(f"reply must hold `choices`, got {found}", column=column)
    failure = failure_of(error)
    if status is not None:
        failure = f"{failure} (status {got(status)})"
    raise RowError(failure, column=column)


def failure_of(error: Any) -> str:
    """Say of a request that failed why it did."""
    if isinstance(error, dict):
        words = [error[key] for key in ("code", "message") if error.get(key) is not None]
        error = ": ".join(str(word) for word in words) or None
    return "the request failed" if error is None else f"the request failed: {got(str(error))}"


def choices_of(reply: dict[str, Any], *, column: str) -> list[Choice | RowError]:
    """Read the choices of a reply, each for itself."""
    choices = reply.get("choices")
    if not isinstance(choices, list | tuple) or not choices:
        raise RowError(f"`choices` must be a list of choices, got {got(choices)}", column=column)
    found: list[Choice | RowError] = []
    for place, choice in enumerate(choices):
        try:
            found.append(_choice(choice, place, column=column))
        except RowError as error:
            found.append(error)
    return found


def _choice(choice: Any, place: int, *, column: str) -> Choice:
    if not isinstance(choice, dict):
        raise RowError(f"choice {place} must be an object, got {got(choice)}", column=column)
    message, text = choice.get("message"), choice.get("text")
    if message is None and isinstance(text, str):
        said = Said(role="assistant", text=text)
    elif isinstance(message, dict):
        said = said_by({"role": "assistant", **message}, place, column=column)
    else:
        raise RowError(f"choice {place} must have a message, got {got(choice)}", column=column)
    index, reason = choice.get("index"), choice.get("finish_reason")
    return Choice(
        said=said,
        index=place if not isinstance(index, int) or isinstance(index, bool) else index,
        finish_reason=reason if isinstance(reason, str) else None,
    )


def request_prompt(request: Any) -> tuple[Message, ...]:
    """Read the prompt of a request, bare or as the Batch API wraps it; text is the prompt."""
    if isinstance(request, str):
        request = {"prompt": request}
    if isinstance(request, dict) and isinstance(request.get("body"), dict):
        request = request["body"]
    if not isinstance(request, dict):
        raise RowError(f"request must be an object, got {got(request)}", column="request")
    messages, prompt = request.get("messages"), request.get("prompt")
    if messages is None and isinstance(prompt, str):
        return (Message(role="user", content=prompt),) if prompt else ()
    return as_prompt(said_by_all([] if messages is None else messages, column="request"))
