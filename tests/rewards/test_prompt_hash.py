"""The same prompt has the same hash wherever it stands."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from voirdire.records import Item, Message
from voirdire.rewards.prompt_hash import prompt_hash


def _item(*said, **others):
    messages = tuple(Message(role=role, content=content) for role, content in said)
    return Item(**({"id": "a", "response": "r"} | others), prompt=messages)


def test_it_is_the_start_of_the_hash_of_the_messages_as_json():
    found = prompt_hash(_item(("system", "Be brief."), ("user", "Où?")))

    written = '[["system","Be brief."],["user","Où?"]]'.encode()
    assert found == hashlib.sha256(written).hexdigest()[:16]


def test_only_the_messages_count():
    first = _item(("user", "Hi"), id="a", response="x", behavior="comply", group="g")
    other = _item(("user", "Hi"), id="b", response="y", metadata={"n": 1})

    assert prompt_hash(first) == prompt_hash(other)


def test_an_item_without_a_prompt_goes_by_its_group_and_then_by_its_id():
    assert prompt_hash(_item(group="g", id="a")) == prompt_hash(_item(group="g", id="b"))
    assert prompt_hash(_item(id="a")) != prompt_hash(_item(id="b"))


def test_half_a_surrogate_pair_has_a_hash():
    assert len(prompt_hash(_item(("user", "\ud800")))) == 16


@given(st.text(), st.text())
def test_other_words_have_other_hashes(one, other):
    same = prompt_hash(_item(("user", one))) == prompt_hash(_item(("user", other)))

    assert same == (one == other)
