"""What is read of a body, and what is refused without a word of it."""

import itertools
import json
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.web.reading import read_rewards_request
from voirdire.web.refusals import RefusedError

SECRET = "canary-5b1f"


def read(body, most_items=100):
    return read_rewards_request(body, most_items=most_items)


def read_or_refused(body):
    try:
        return read(body)
    except RefusedError as refusal:
        return refusal


def deep(levels):
    return b'{"items": [{"response": [{"a": ' + b"[" * levels + b"]" * levels + b"}]}]}"


def refused(body, **more):
    with pytest.raises(RefusedError) as caught:
        read(body, **more)
    return caught.value


def test_a_whole_item_is_read_as_it_is_written():
    item = {
        "response": [{"role": "assistant", "content": "no"}],
        "prompt": "how?",
        "behavior": "refuse",
        "base_reward": -0.5,
        "group": 7,
        "id": "a",
    }
    asked = {"items": [item], "deadline_s": 2, "verdicts": True, "explain": True, "step": 3}

    found = read(json.dumps(asked).encode())

    turn = found.items[0].turn()
    assert (turn.response, turn.prompt) == (item["response"], "how?")
    assert (turn.behavior, turn.base_reward, turn.group, turn.id) == ("refuse", -0.5, "7", "a")
    assert (found.deadline_s, found.verdicts, found.explain, found.step) == (2.0, True, True, 3)


def test_no_items_are_a_request_too():
    assert read(b'{"items": []}').items == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "malformed"),
        (b"items", "malformed"),
        (b'{"items": []} x', "malformed"),
        (b'\xef\xbb\xbf{"items": []}', "malformed"),
        ('{"items": []}'.encode("utf-16"), "malformed"),
        (b'{"items": [{"response": "canary-5b1f\xff"}]}', "malformed"),
        (b'{"items": [{"response": "canary-5b1f\x01"}]}', "malformed"),
        (b'{"items": [{"response": "canary-5b1f", "base_reward": NaN}]}', "malformed"),
        (b'{"items": [{"response": "canary-5b1f", "base_reward": -Infinity}]}', "malformed"),
        (b'{"items": [{"response": "canary-5b1f \\ud83d", "base_reward": NaN}]}', "malformed"),
        (b'{"items": [{"response": "canary-5b1f \\ud83d"', "malformed"),
        (b'{"items": [{"response": "x", "id": "canary-5b1f \\ud83d"}]}', "malformed"),
        (b'{"items": [{"response": "a", "response": "canary-5b1f"}]}', "malformed"),
        (b'{"items": [], "items": [{"response": "canary-5b1f"}]}', "malformed"),
        (b'{"items": [{"response": [{"a": {"b": 1, "b": "canary-5b1f"}}]}]}', "malformed"),
        (deep(100_000), "malformed"),
        (deep(200), "malformed"),
        (b'{"items": [{"response": "canary-5b1f", "base_reward": 1e999}]}', "wrong_form"),
        (b"null", "wrong_form"),
        (b"{}", "wrong_form"),
        (b'{"items": {"canary-5b1f": 1}}', "wrong_form"),
        (b'{"items": ["canary-5b1f"]}', "wrong_form"),
        (b'{"items": [{"responses": "canary-5b1f"}]}', "wrong_form"),
        (b'{"items": [{"canary-5b1f": 1, "response": "a"}]}', "wrong_form"),
        (b'{"items": [{"canary-5b1f at `$`": 1, "response": "a"}]}', "wrong_form"),
        (b'{"items": [{"response": 5}]}', "wrong_form"),
        (b'{"items": [{"response": null}]}', "wrong_form"),
        (b'{"items": [{"response": ["canary-5b1f"]}]}', "wrong_form"),
        (b'{"items": [{"response": "a", "base_reward": "canary-5b1f"}]}', "wrong_form"),
        (b'{"items": [{"response": "a", "base_reward": true}]}', "wrong_form"),
        (b'{"items": [{"response": "a", "behavior": ["canary-5b1f"]}]}', "wrong_form"),
        (b'{"items": [], "verdicts": "canary-5b1f"}', "wrong_form"),
        (b'{"items": [], "verdicts": 1}', "wrong_form"),
        (b'{"items": [], "deadline_s": 0}', "wrong_form"),
        (b'{"items": [], "step": -1}', "wrong_form"),
        (b'{"items": [], "canary-5b1f": 1}', "wrong_form"),
        (b"[" * 600_000 + b"{" * 600_000, "too_large"),
    ],
    ids=itertools.count(),
)
def test_what_is_not_of_the_form_is_refused_without_its_words(body, code):
    refusal = refused(body)

    assert refusal.code == code
    assert "canary" not in refusal.message
    assert len(refusal.message) < 200
    assert "canary" not in "".join(traceback.format_exception(refusal))


def test_a_million_tiny_items_are_too_many():
    body = b'{"items": [' + b",".join([b'{"response": ""}'] * 1_000_000) + b"]}"

    assert refused(body).code == "too_large"


def test_one_item_more_than_is_taken_is_too_many():
    body = json.dumps({"items": [{"response": "a"}] * 4}).encode()

    assert len(read(body, most_items=4).items) == 4
    assert refused(body, most_items=3).code == "too_large"


def test_half_a_surrogate_pair_in_a_response_is_kept():
    """Python writes one where a text was cut; the response is still a response."""
    body = json.dumps({"items": [{"response": "I am \ud83d"}, {"response": "😀"}]}).encode()

    found = read(body)

    assert [item.response for item in found.items] == ["I am \ud83d", "😀"]


keys = st.sampled_from(["items", "response", "prompt", "behavior", "base_reward", SECRET])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(SECRET),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_anything_is_read_or_refused(value):
    body = json.dumps(value).encode()

    found = read_or_refused(body)

    if isinstance(found, RefusedError):
        assert SECRET not in found.message
    else:
        assert len(found.items) == len(value["items"])


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(body):
    found = read_or_refused(b'{"items": [{"response": "' + body + b'"}]}')

    assert not isinstance(found, RefusedError) or found.code in ("malformed", "wrong_form")


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (r'{"response":"x","\ud83d":1}', "A key, or what should be no text"),
        (r'{"response":"x","base_reward":"\ud83d"}', "A key, or what should be no text"),
        (r'{"response":"\ud83d","base_reward":' + "1" * 5_000 + "}", "A number of the body"),
    ],
)
def test_half_a_surrogate_pair_that_cannot_be_kept_is_a_refusal(item, message):
    with pytest.raises(RefusedError, match=message) as caught:
        read_rewards_request(b'{"items":[' + item.encode() + b"]}", most_items=5)

    assert caught.value.code == "malformed"
