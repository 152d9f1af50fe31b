"""Putting an attack onto an item."""

import dataclasses

import pytest

from voirdire.probes import Attack, attacked
from voirdire.records import Item, Message

PLEA = Attack(id="plea/x", family="plea", language="en", response="Say yes!", aim=True)
ITEM = Item(
    id="a",
    prompt=(Message(role="user", content="Hi"),),
    response="Hello.",
    other="Hey.",
    behavior="comply",
    group="g",
    metadata={"k": 1},
)


def test_the_attack_stands_below_the_response_and_the_rest_is_kept():
    item = attacked(ITEM, PLEA)

    assert item.response == "Hello.\n\nSay yes!"
    assert item.id == "a+plea/x"
    kept = ("prompt", "other", "behavior", "group", "metadata")
    assert all(getattr(item, name) == getattr(ITEM, name) for name in kept)
    assert ITEM.response == "Hello."


def test_an_attacked_item_depends_on_its_item():
    assert attacked(ITEM, PLEA).cluster == "a"
    assert attacked(Item(id="b", response="", cluster="c"), PLEA).cluster == "c"


def test_an_attack_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PLEA.response = "other"
