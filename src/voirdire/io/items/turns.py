"""One response at a time, as a model that is being trained gives it: an item, without a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.items.judged_text import judged_text, judged_turn, turn_start
from voirdire.io.items.messages import as_prompt, said_by_all
from voirdire.io.items.row_errors import RowError
from voirdire.records import Item, Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire._types import Judged

__all__ = ["turn_item"]

_UNREADABLE = (TypeError, ValueError, OverflowError, RecursionError)
"""What reading the arguments of a tool call may raise: they may be any objects of a trainer's."""


def turn_item(
    item_id: str,
    *,
    response: Any,
    prompt: Any = None,
    judged: Judged = "final_answer",
    behavior: str | None = None,
    group: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Item:
    """Make an item of a response and its prompt.

    Parameters
    ----------
    item_id : str
        Its id.
    response : str or sequence of mapping
        Text, or the messages that answer the prompt.
    prompt : str or sequence of mapping, optional
        The user's text, or the messages before the response.
    judged : {"final_answer", "with_reasoning", "whole_turn"}, optional
        What of the response the item holds.
    behavior, group : str, optional
        Of the item.
    metadata : mapping, optional
        Of the item.

    Returns
    -------
    Item
        As a file with the same prompt and response would give it.

    Raises
    ------
    InputError
        If response or prompt is neither text nor messages, or the response holds no text.
    """
    try:
        before = _prompt(prompt)
        if isinstance(response, str):
            text = judged_text(response, judged=judged).text
        else:
            said = said_by_all(_messages(response, "response"), column="response")
            start = turn_start(said)
            before += as_prompt(said[:start])
            text = judged_turn(said[start:], judged=judged, column="response").text
    except RowError as error:
        msg = f"`response` must be text or messages with a response: {shorten(str(error))}."
        raise InputError(msg) from error
    except _UNREADABLE as error:  # messages whose parts no file could hold
        msg = f"`response` must be text or messages with a response, got {type(error).__name__}."
        raise InputError(msg) from None
    return Item(
        id=item_id,
        prompt=tuple(_plain_message(told) for told in before),
        response=_plain(text),
        behavior=None if behavior is None else _plain(behavior),
        group=None if group is None else _plain(group),
        metadata={} if metadata is None else metadata,
    )


def _prompt(prompt: Any) -> tuple[Message, ...]:
    if prompt is None:
        return ()
    if isinstance(prompt, str):
        return (Message(role="user", content=prompt),) if prompt else ()
    return as_prompt(said_by_all(_messages(prompt, "prompt"), column="prompt"))


def _messages(value: Any, column: str) -> dict[str, Any] | list[Any] | tuple[Any, ...]:
    """Take messages; a column of lists in Parquet comes back as an array of them."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, dict | list | tuple):
        raise RowError(f"must be text or messages, got {type(value).__name__}", column=column)
    return value


def _plain(text: str) -> str:
    """Give text of a class of its own, such as NumPy's, as plain text, which alone is hashed."""
    return text if type(text) is str else str.__str__(text)


def _plain_message(told: Message) -> Message:
    if type(told.role) is str and type(told.content) is str:
        return told
    return Message(role=_plain(told.role), content=_plain(told.content))
