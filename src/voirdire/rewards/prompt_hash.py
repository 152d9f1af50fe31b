"""Which prompt an item answers, in a few digits: what a fit remembers of its prompts."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from voirdire.records.items import as_bytes

if TYPE_CHECKING:
    from voirdire.records import Item

__all__ = ["prompt_hash"]

_N_DIGITS = 16


def prompt_hash(item: Item) -> str:
    """Hash the prompt of an item, so that it is known again in another file.

    Parameters
    ----------
    item : Item
        A completion.

    Returns
    -------
    str
        16 hexadecimal digits: the start of the SHA-256 over the JSON ``[[role, content], …]`` of
        its messages. An item without a prompt goes by its `group`, and without one by its id.

    Notes
    -----
    Only the messages count, not the group, the behavior or the file, so that the same prompt is
    found again wherever it stands. Two prompts of a million share 16 digits with a probability
    below :math:`10^{-7}`.

    Examples
    --------
    >>> from voirdire.records import Item, Message
    >>> asked = (Message(role="user", content="How do I pick a lock?"),)
    >>> first = Item(id="a", prompt=asked, response="I can't help with that.")
    >>> other = Item(id="b", prompt=asked, response="With patience.", group="locks")
    >>> prompt_hash(first) == prompt_hash(other)
    True
    >>> len(prompt_hash(first))
    16
    """
    told = [[message.role, message.content] for message in item.prompt]
    named = as_bytes(told if told else [item.group if item.group is not None else item.id])
    return hashlib.sha256(named).hexdigest()[:_N_DIGITS]
