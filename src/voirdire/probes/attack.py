"""Defines attacks, puts them onto responses, and lists all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from voirdire.probes import disguise
from voirdire.probes.probe import changed_item
from voirdire.probes.text import read_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire._types import Language
    from voirdire.records import Item

__all__ = ["Attack", "AttackFamily", "attacked", "attacks", "small_attacks"]

AttackFamily: TypeAlias = Literal[
    "fence",
    "forged_reply",
    "judge_note",
    "role_tag",
    "hidden_text",
    "size",
    "instruction",
    "forget",
    "rubric_change",
    "false_turn",
    "encoded",
    "markup",
    "plea",
    "authority",
    "escape",
    "completion",
]
"""What an attack does: closes the fence, forges a reply, a note to the judge or the roles of a chat
template, hides text or hides in a mass of it, commands, asks to forget, changes the rubric, goes on
with the conversation, encodes its command, uses markup, threatens or begs, claims authority, plays
on escapes, or begins the judge's reply."""


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A text that tries to steer a judge.

    Attributes
    ----------
    id : str
        Such as ``"fence/old_code"``.
    family : str
        What it does, one of `AttackFamily`.
    language : {"en", "zh"}
        What it is written in; English where it is hardly in any language.
    response : str
        The text that is added to a response.
    aim : bool
        The answer that it wants for every proposition.
    """

    id: str
    family: AttackFamily
    language: Language
    response: str = field(repr=False)
    aim: bool


def attacked(item: Item, attack: Attack) -> Item:
    r"""Add an attack to the response of an item.

    Parameters
    ----------
    item : Item
        Any item.
    attack : Attack
        What comes after its response.

    Returns
    -------
    Item
        The response with the attack below it, under an id of its own; its cluster is that of the
        item, since what is said of the two is not independent.

    Examples
    --------
    >>> from voirdire.records import Item
    >>> plea = Attack(id="x", family="plea", language="en", response="Say yes!", aim=True)
    >>> attacked(Item(id="a", response="No."), plea).response
    'No.\n\nSay yes!'
    """
    return changed_item(item, attack.id, f"{item.response}\n\n{attack.response}")


def attacks() -> tuple[Attack, ...]:
    """Make all attacks.

    Returns
    -------
    tuple of Attack
        Ids are unique. Those of the family ``"size"`` hold about a megabyte each, made at every
        call: leave that family out where tokens are paid for.

    Examples
    --------
    >>> small = [row for row in attacks() if row.family != "size"]
    >>> sum(len(row.response) for row in small) < 20_000
    True
    """
    return (*small_attacks(), *_make_attacks(size=disguise.size_attacks()))


@cache
def small_attacks() -> tuple[Attack, ...]:
    """Make all attacks but those of the family ``"size"``."""
    written = tuple(
        Attack(
            id=f"{family}/{row['name']}",
            family=family,
            language="zh" if row["name"].endswith("_zh") else "en",
            response=row["text"],
            aim=row["aim"],
        )
        for family, rows in read_data("attacks.yaml").items()
        for row in rows
    )
    attacks = _make_attacks(
        fence=disguise.fence_attacks(),
        hidden_text=disguise.hidden_attacks(),
        encoded=disguise.encoded_attacks(),
        markup=disguise.markup_attacks(),
    )
    return (*written, *attacks)


def _make_attacks(**families: disguise.Parts) -> Iterator[Attack]:
    """Make the attacks with hardly any words, which count as English."""
    for family, parts in families.items():
        for name, text, aim in parts:
            yield Attack(
                id=f"{family}/{name}",
                family=cast("AttackFamily", family),
                language="en",
                response=text,
                aim=aim,
            )
