"""One response at a time, as a file with the same prompt and response would give it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError
from voirdire.io.items.turns import turn_item
from voirdire.judging.given_items import given_items

ASKED = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello?"}]
SAID = [{"role": "assistant", "content": "<think>hm</think>Hi."}]
CALLED = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
}
RETURNED = {"role": "tool", "content": "42"}


class OwnText(str):
    """Text of a class of its own, as NumPy has."""

    __slots__ = ()


@pytest.mark.parametrize("judged", ["final_answer", "with_reasoning", "whole_turn"])
@pytest.mark.parametrize(
    ("prompt", "response"),
    [
        ("Hello?", "Hi."),
        ("Hello?", "<think>hm</think>Hi."),
        ("Hello?", "<think>never ends"),
        (ASKED, "Hi."),
        (ASKED, SAID),
        (ASKED, [CALLED, RETURNED, *SAID]),
        ("", "Hi."),
    ],
)
def test_an_item_is_what_a_row_of_a_file_gives(judged, prompt, response):
    item = turn_item("a", response=response, prompt=prompt, judged=judged, behavior="comply")

    row = {"id": "a", "prompt": prompt, "response": response, "behavior": "comply"}
    (of_file,), dropped = given_items([row], judged=judged, behavior=None)
    assert not dropped
    assert item.prompt == of_file.prompt
    assert item.response == of_file.response
    assert item.content_hash() == of_file.content_hash()


def test_no_prompt_is_none():
    assert turn_item("a", response="Hi.").prompt == ()
    assert turn_item("a", response="Hi.", prompt="").prompt == ()
    assert turn_item("a", response="Hi.", prompt=[]).prompt == ()


def test_messages_may_stand_in_an_array_as_parquet_gives_them():
    item = turn_item("a", response=np.array(SAID), prompt=np.array(ASKED))

    assert item == turn_item("a", response=SAID, prompt=ASKED)


def test_messages_before_the_answer_belong_to_the_prompt():
    item = turn_item("a", response=[*ASKED, *SAID])

    assert item == turn_item("a", response=SAID, prompt=ASKED)


@pytest.mark.parametrize("kind", [OwnText, np.str_])
def test_text_of_a_class_of_its_own_is_text(kind):
    told = {"role": kind("user"), "content": kind("Hello?")}

    item = turn_item(
        "a", response=kind("Hi."), prompt=[told], behavior=kind("comply"), group=kind("g")
    )

    plain = turn_item("a", response="Hi.", prompt="Hello?", behavior="comply", group="g")
    assert item == plain
    assert item.content_hash() == plain.content_hash()


@pytest.mark.parametrize(
    "response",
    [
        None,
        5,
        b"Hi.",
        {"text": "Hi."},
        [],
        [5],
        [None],
        ["Hi."],
        [{"role": "user", "content": "Hi."}],
        [{"role": "assistant", "content": 5}],
        [{"role": "assistant", "content": None}],
        [CALLED],
        np.array(["Hi."]),
        np.array(5),
    ],
)
def test_what_holds_no_response_is_an_error(response):
    with pytest.raises(InputError, match="must be text or messages"):
        turn_item("a", response=response)


def test_arguments_that_no_file_could_hold_are_an_error_of_the_turn():
    call = {"function": {"name": "f", "arguments": {"a": "\ud83d"}}}
    told = [{"role": "assistant", "content": "x", "tool_calls": [call]}]

    with pytest.raises(InputError, match="got UnicodeEncodeError") as caught:
        turn_item("a", response=told, judged="whole_turn")

    assert caught.value.__cause__ is None


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "tool_calls", "function", "name"]),
            inner | st.sampled_from(["assistant", "user", "text"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(response=ANYTHING, prompt=ANYTHING, judged=st.sampled_from(["final_answer", "whole_turn"]))
def test_whatever_is_handed_over_is_an_item_or_an_error_of_ours(response, prompt, judged):
    try:
        item = turn_item("a", response=response, prompt=prompt, judged=judged)
    except InputError:
        return

    assert isinstance(item.response, str)
    assert len(item.content_hash()) == 32
