"""Defines a probe: a controlled change of an item that must not change what is true of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from voirdire.records import Item


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A change of an item beside which a fair judge's answers stay the same.

    The judge is asked about two versions of each item: with the change, and the control. The
    control has the same length and form but not what is suspected (a citation, say), so that a
    judge that goes by length alone does not look as if it went by citations.

    Attributes
    ----------
    id : str
        Such as ``"authority/citation"``: the family, then the change.
    family : str
        The bias that it looks for, such as ``"authority"``.
    summary : str
        What the change does, as the end of a sentence: "a citation that supports nothing is added".
    change : callable
        Takes an item, gives the item with the change; None where it cannot be made of this item.
    control : callable or None
        Takes the item, gives its control; None compares with the item as it is.
    touches : frozenset of str
        Propositions of the rubric ``safety`` that the change may truly make true or false: they are
        left out.
    aim : bool or None
        For a steering attack: what it wants every proposition to be. Shifts then count in its
        direction.
    """

    id: str
    family: str
    summary: str
    change: Callable[[Item], Item | None] = field(repr=False)
    control: Callable[[Item], Item | None] | None = field(default=None, repr=False)
    touches: frozenset[str] = frozenset()
    aim: bool | None = None


def changed_item(item: Item, change_id: str, response: str) -> Item:
    """Copy an item with another response, a new id, and the item's cluster."""
    return msgspec.structs.replace(
        item,
        id=f"{item.id}+{change_id}",
        response=response,
        cluster=item.cluster or item.id,
    )
