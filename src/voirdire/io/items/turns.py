"""One response at a time, as a model that is being trained gives it: an item, without a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
            if not isinstance(response, dict | list | tuple):
                msg = f"must be text or messages, got {type(response).__name__}"
                raise RowError(msg, column="response")
            said = said_by_all(response, column="response")
            start = turn_start(said)
            before += as_prompt(said[:start])
            text = judged_turn(said[start:], judged=judged, column="response").text
    except RowError as error:
        msg = f"`response` must be text or messages with a response: {shorten(str(error))}."
        raise InputError(msg) from error
    return Item(
        id=item_id,
        prompt=before,
        response=text,
        behavior=behavior,
        group=group,
        metadata={} if metadata is None else metadata,
    )


def _prompt(prompt: Any) -> tuple[Message, ...]:
    if prompt is None or prompt == "":
        return ()
    if isinstance(prompt, str):
        return (Message(role="user", content=prompt),)
    if not isinstance(prompt, dict | list | tuple):
        raise RowError(f"prompt must be text or messages, got {type(prompt).__name__}")
    return as_prompt(said_by_all(prompt, column="prompt"))
