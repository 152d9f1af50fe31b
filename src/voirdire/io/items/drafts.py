"""What each shape of row says of its items: prompt and answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.io.items.completions import (
    choices_of,
    failure_of,
    is_completion,
    reply_of,
    request_prompt,
)
from voirdire.io.items.json_values import decoded
from voirdire.io.items.judged_text import judged_text, judged_turn, turn_start
from voirdire.io.items.messages import as_prompt, said_by_all
from voirdire.io.items.preferences import sides_of
from voirdire.io.items.row_errors import RowError, got
from voirdire.records import Message

if TYPE_CHECKING:
    from voirdire._types import Judged
    from voirdire.io.items.messages import Said
    from voirdire.io.items.preferences import Side
    from voirdire.io.items.reasoning import Answer
    from voirdire.io.items.row_shapes import RowShape

__all__ = ["Draft", "drafts_of"]


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """An item without what its row says of all its items.

    Attributes
    ----------
    prompt : tuple of Message
        The conversation before the response.
    answer : Answer
        The text that is judged.
    other : Answer or None
        The second response of a pair.
    suffix : str
        What makes the ids of several items of one row differ.
    metadata : dict, optional
        What the row says of this item alone.
    """

    prompt: tuple[Message, ...]
    answer: Answer
    other: Answer | None = None
    suffix: str = ""
    metadata: dict[str, Any] | None = None


def drafts_of(
    row: dict[str, Any], shape: RowShape, *, judged: Judged, pairs: bool
) -> list[Draft | RowError]:
    """Give every item of a row, or why it is none; `pairs` makes one item of a preference.

    Raises
    ------
    RowError
        If the whole row is to be set aside.
    """
    if shape.name == "chat":
        return [_chat(row, shape.body or "", judged=judged)]
    if shape.name == "pair":
        return [_pair(row, shape, judged=judged)]
    if shape.name == "preference" and pairs:
        return [_pair(row, shape, judged=judged, metadata={"preference": "A"})]
    if shape.name == "preference":
        return _preference(row, shape, judged=judged)
    if shape.name == "choices":
        return _choices(row, prompt=(), column=shape.body or "", judged=judged)
    if shape.name == "response":
        return _response(row, shape, judged=judged)
    if shape.name == "failed":
        raise RowError(failure_of(row["error"]), column="error")
    raise RowError("no response: no column holds one", column=shape.body)


def _chat(row: dict[str, Any], column: str, *, judged: Judged) -> Draft:
    """Read messages whose last turn is the response."""
    messages = _messages(row[column], column=column)
    start = turn_start(messages)
    if messages and start == len(messages):
        who = got(messages[-1].role)
        raise RowError(f"no response: the last message is by {who}", column=column)
    answer = judged_turn(messages[start:], judged=judged, column=column)
    return Draft(prompt=as_prompt(messages[:start]), answer=answer)


def _response(row: dict[str, Any], shape: RowShape, *, judged: Judged) -> list[Draft | RowError]:
    """Read a response that is text, messages, or the reply of a server."""
    column = shape.body or ""
    response = row[column]
    if isinstance(response, str):
        answer = judged_text(response, judged=judged)
        return [Draft(prompt=_prompt(row, shape), answer=answer)]
    if isinstance(response, dict) and is_completion(response):
        reply = reply_of(response, error=row.get("error"), column=column)
        return _choices(reply, prompt=_prompt(row, shape), column=column, judged=judged)
    if not isinstance(response, dict | list | tuple):
        reason = f"response must be text or messages, got {got(response)}"
        raise RowError(reason, column=column)
    messages = said_by_all(response, column=column)
    start = turn_start(messages)
    answer = judged_turn(messages[start:], judged=judged, column=column)
    return [Draft(prompt=_prompt(row, shape) + as_prompt(messages[:start]), answer=answer)]


def _choices(
    reply: dict[str, Any], *, prompt: tuple[Message, ...], column: str, judged: Judged
) -> list[Draft | RowError]:
    """Make an item of every choice of a reply."""
    choices = choices_of(reply, column=column)
    drafts: list[Draft | RowError] = []
    for choice in choices:
        if isinstance(choice, RowError):
            drafts.append(choice)
            continue
        try:
            answer = judged_turn([choice.said], judged=judged, column=column)
        except RowError as error:
            drafts.append(error)
            continue
        suffix = f":{choice.index}" if len(choices) > 1 else ""
        facts = {"model": reply.get("model"), "finish_reason": choice.finish_reason}
        metadata = {key: value for key, value in facts.items() if value is not None}
        drafts.append(Draft(prompt=prompt, answer=answer, suffix=suffix, metadata=metadata))
    return drafts


def _preference(row: dict[str, Any], shape: RowShape, *, judged: Judged) -> list[Draft | RowError]:
    """Give the chosen response and the rejected one, each an item of one group."""
    drafts: list[Draft | RowError] = []
    for side in sides_of(row, shape):
        try:
            answer = _answer(side, judged=judged)
            prompt = () if side.is_whole else _prompt(row, shape)
        except RowError as error:
            drafts.append(error)
            continue
        drafts.append(
            Draft(
                prompt=prompt + as_prompt(side.before),
                answer=answer,
                suffix=f":{side.name}",
                metadata={"preference": side.name},
            )
        )
    return drafts


def _pair(
    row: dict[str, Any],
    shape: RowShape,
    *,
    judged: Judged,
    metadata: dict[str, Any] | None = None,
) -> Draft:
    """Give one item with both responses, if they answer one prompt."""
    if shape.body is not None and isinstance(row[shape.body], str):
        row = {**row, shape.body: decoded(row[shape.body], what="messages", column=shape.body)}
    sides = sides_of(row, shape)
    prompts = []
    for side in sides:
        if row.get(side.column) is None:
            raise RowError("no response: a pair must have two", column=side.column)
        # A text without a prompt beside it answers whatever the other one does.
        if side.text is None or shape.prompt is not None or shape.request is not None:
            apart = () if side.is_whole else _prompt(row, shape)
            prompts.append(apart + as_prompt(side.before))
    if len(prompts) > 1 and prompts[0] != prompts[1]:
        reason = "both responses must answer one prompt, got two conversations"
        raise RowError(reason, column=sides[1].column)
    first, second = (_answer(side, judged=judged) for side in sides)
    prompt = prompts[0] if prompts else ()
    return Draft(prompt=prompt, answer=first, other=second, metadata=metadata)


def _answer(side: Side, *, judged: Judged) -> Answer:
    if side.text is not None:
        return judged_text(side.text, judged=judged)
    return judged_turn(side.turn, judged=judged, column=side.column)


def _prompt(row: dict[str, Any], shape: RowShape) -> tuple[Message, ...]:
    """Text is one message by the user; empty text is no prompt."""
    column = shape.prompt
    if column is None:
        return () if shape.request is None else request_prompt(row[shape.request])
    value = row[column]
    if isinstance(value, str) and not shape.prompt_is_chat:
        rest = None if shape.prompt_rest is None else row[shape.prompt_rest]
        if isinstance(rest, str) and rest.strip():
            value = f"{value}\n\n{rest}"
        return (Message(role="user", content=value),) if value else ()
    if not isinstance(value, str | list | tuple | dict):
        raise RowError(f"prompt must be text or messages, got {got(value)}", column=column)
    return as_prompt(_messages(value, column=column))


def _messages(value: Any, *, column: str) -> list[Said]:
    """Messages as they are, or as JSON in a cell of text."""
    if isinstance(value, str):
        value = decoded(value, what="messages", column=column)
    return said_by_all(value, column=column)
