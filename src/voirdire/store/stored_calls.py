"""Defines the records of a store: calls to models, and the judges that made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CallKey", "JudgeRecord", "StoredCall", "blobs_by_name", "check_key", "check_text"]

CallKey: TypeAlias = tuple[bytes, str, int]
"""Item, name and number of the attempt: what a call is found by, once its judge is known."""

_ITEM_BYTES = 32
_ATTEMPTS = 2**31


# There are millions of them and none holds another object: the collector need not look at them.
class StoredCall(msgspec.Struct, frozen=True, gc=False):
    """One attempt of one call to a model, and what came of it.

    Attributes
    ----------
    item : bytes
        32 bytes: hash of what the call was about.
    name : str
        Which of the item's calls it was, such as ``"joint/order1"``.
    attempt : int
        Which attempt, from 0.
    blob : bytes
        The reply or the failure, in whatever form; the store never looks into it.
    """

    item: bytes
    name: str
    attempt: int
    blob: bytes

    @property
    def key(self) -> CallKey:
        """What it is found by."""
        return self.item, self.name, self.attempt


@dataclass(frozen=True, kw_only=True)
class JudgeRecord:
    """A judge that has an entry in a store.

    Attributes
    ----------
    id : int
        What the store calls it; another store has other numbers.
    fingerprint : str
        Hash over everything that its replies depend on.
    description : mapping of str to Any
        What it is, for people, as it was when the judge was first registered.
    """

    id: int
    fingerprint: str
    description: Mapping[str, Any]


def check_key(key: CallKey) -> None:
    """Refuse the key of a call that the database could not hold, or would hold as another."""
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


def blobs_by_name(calls: Sequence[StoredCall]) -> dict[str, list[bytes]]:
    """Lay what is stored of one item out by the names of its calls, attempts in their order."""
    if len(calls) == 1:
        return {calls[0].name: [calls[0].blob]}
    found: dict[str, list[bytes]] = {}
    for call in calls:
        found.setdefault(call.name, []).append(call.blob)
    return found
