"""Defines the records of a store: calls to models, and the judges that made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CallKey", "JudgeRecord", "StoredCall", "check_key", "check_text", "group_by_name"]

CallKey: TypeAlias = tuple[bytes, str, int]
"""Item, name and number of the attempt: the key of a call of one judge."""

_ITEM_BYTES = 32
_ATTEMPTS = 2**31


# There are millions of them without references: the garbage collector can skip them.
class StoredCall(msgspec.Struct, frozen=True, gc=False):
    """One attempt at a call to a model, with its reply or failure.

    Attributes
    ----------
    item : bytes
        32 bytes: hash of the item.
    name : str
        Which of the item's calls it was, such as ``"joint/order1"``.
    attempt : int
        Which attempt, from 0.
    blob : bytes
        The encoded reply or failure; the store never decodes it.
    """

    item: bytes
    name: str
    attempt: int
    blob: bytes

    @property
    def key(self) -> CallKey:
        """Its key."""
        return self.item, self.name, self.attempt


@dataclass(frozen=True, kw_only=True)
class JudgeRecord:
    """A judge in a store.

    Attributes
    ----------
    id : int
        Its number in this store.
    fingerprint : str
        Hash of everything that its replies depend on.
    description : mapping of str to Any
        Its description for people, from the first registration.
    """

    id: int
    fingerprint: str
    description: Mapping[str, Any]


def check_key(key: CallKey) -> None:
    """Refuse keys that a database cannot hold unchanged."""
    item, name, attempt = key
    if len(item) != _ITEM_BYTES:
        msg = f"`item` must be {_ITEM_BYTES} bytes, got {shorten(item)}. Hash it with SHA-256."
        raise InputError(msg)
    if not 0 <= attempt < _ATTEMPTS:
        msg = f"`attempt` must be in the interval [0, 2^31), got {attempt!r}. Count from 0."
        raise InputError(msg)
    check_text("name", name)


def check_text(argument: str, text: str) -> None:
    """Refuse text that is empty, or that not every database can hold."""
    try:
        if text and "\0" not in text and text.encode():
            return
    except UnicodeEncodeError:
        pass
    msg = f"`{argument}` must be text without NUL and lone surrogates, got {shorten(text)!r}."
    raise InputError(f"{msg} Use a plain name.")


def group_by_name(calls: Sequence[StoredCall]) -> dict[str, list[bytes]]:
    """Group the stored attempts about one item by the names of their calls."""
    if len(calls) == 1:
        return {calls[0].name: [calls[0].blob]}
    found: dict[str, list[bytes]] = {}
    for call in calls:
        found.setdefault(call.name, []).append(call.blob)
    return found
