"""An item between two lines that it cannot forge."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.judging.prompts.harmless import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.records import Item, Message

__all__ = ["FENCE_PATTERN", "fenced", "new_nonce", "responses_of"]

FENCE_PATTERN = r"^-----(?:BEGIN|END) ITEM ([0-9a-f]{16,64})-----$"
"""A fence line, as a regular expression for whole lines; its group is the nonce."""

_NONCE = re.compile("[0-9a-f]{16,64}")


def new_nonce() -> str:
    """Draw the random code of a fence.

    Returns
    -------
    str
        16 hexadecimal digits, 64 bits that nobody can guess.

    Examples
    --------
    >>> len(new_nonce()), new_nonce() == new_nonce()
    (16, False)
    """
    return secrets.token_hex(8)


def responses_of(item: Item, *, is_pair: bool, swapped: bool = False) -> dict[str, str]:
    """Give what is shown of the responses of an item, by key of the JSON."""
    if not is_pair:
        return {"response": item.response}
    if item.other is None:
        msg = (
            "`item` must have a second response for a pairwise question, got item "
            f"{shorten(item.id, width=40)!r} with one. Give it `other`."
        )
        raise InputError(msg)
    shown = (item.other, item.response) if swapped else (item.response, item.other)
    return {"response_a": shown[0], "response_b": shown[1]}


def fenced(conversation: tuple[Message, ...], responses: Mapping[str, str], *, nonce: str) -> str:
    """Write an item as JSON between two lines that carry the nonce.

    Content stands in JSON strings, and those hold no line ends: every line of the result begins
    with characters that are ours.
    """
    if _NONCE.fullmatch(nonce) is None:
        msg = (
            "`nonce` must be 16 to 64 hexadecimal digits in lower case, got "
            f"{shorten(nonce)!r}. Draw one with `new_nonce`."
        )
        raise InputError(msg)
    messages = ",\n".join(
        [
            f'{{"role": {quoted(message.role)}, "content": {quoted(message.content)}}}'
            for message in conversation
        ]
    )
    parts = [f'"conversation": [\n{messages}\n]' if messages else '"conversation": []']
    parts += [f'"{key}": {quoted(text)}' for key, text in responses.items()]
    document = ",\n".join(parts)
    return f"-----BEGIN ITEM {nonce}-----\n{{{document}}}\n-----END ITEM {nonce}-----"
