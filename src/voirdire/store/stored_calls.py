"""Defines the records of a store: calls to models, and the judges that made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CallKey", "JudgeRecord", "StoredCall", "group_by_name"]

CallKey: TypeAlias = tuple[bytes, str, int]
"""Item, name and number of the attempt: the key of a call of one judge."""


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


def group_by_name(calls: Sequence[StoredCall]) -> dict[str, list[bytes]]:
    """Group the stored attempts about one item by the names of their calls."""
    if len(calls) == 1:
        return {calls[0].name: [calls[0].blob]}
    found: dict[str, list[bytes]] = {}
    for call in calls:
        found.setdefault(call.name, []).append(call.blob)
    return found
