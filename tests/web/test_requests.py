"""What is read of a body, and what is refused without a word of it."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.in_process import asked_app

SECRET = "canary-5b1f"
MOST_ITEMS = 4


@pytest.fixture(scope="module")
def read():
    """Post a body, and give the answer."""
    with asked_app(queue=MOST_ITEMS, base_column="base_reward") as (app, run):
        yield lambda body: run(app.ask("POST", "/v1/rewards", body))


def message(answer):
    return answer.json["error"]["message"]


def deep(levels):
    return b'{"items": [{"response": [{"a": ' + b"[" * levels + b"]" * levels + b"}]}]}"


def test_a_whole_item_is_read_as_it_is_written(read):
    item = {
        "response": [{"role": "assistant", "content": "1 0 0"}],
        "prompt": "how?",
        "behavior": "refuse",
        "base_reward": -0.5,
        "group": 7,
        "id": "a",
    }
    asked = {"items": [item], "deadline_s": 2, "verdicts": True, "explain": True, "step": 3}

    found = read(json.dumps(asked).encode()).json

    assert (found["ids"], found["behaviors"], found["base_rewards"]) == (["a"], ["refuse"], [-0.5])
    assert found["rewards"] == [4.5]  # sorry 1, good 4, and the base
    assert found["probabilities"]["values"] == [[1.0, 0.0, 0.0]]
    assert found["contributions"]["values"][0]


def test_no_items_are_a_request_too(read):
    assert read(b'{"items": []}').json["rewards"] == []


@pytest.mark.edges
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
        (deep(100_000), "malformed"),
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
def test_what_is_not_of_the_form_is_refused_without_its_words(read, body, code):
    answer = read(body)

    assert answer.code == code
    assert b"canary" not in answer.body
    assert len(message(answer)) < 200


@pytest.mark.ci
def test_a_million_tiny_items_are_too_many(read):
    body = b'{"items": [' + b",".join([b'{"response": ""}'] * 900_000) + b"]}"

    assert read(body).code == "too_large"


def test_one_item_more_than_is_taken_is_too_many(read):
    fits, too_many = (json.dumps({"items": [{"response": "a"}] * n}).encode() for n in (4, 5))

    assert len(read(fits).json["rewards"]) == MOST_ITEMS
    assert read(too_many).code == "too_large"


def test_half_a_surrogate_pair_in_a_response_is_kept(read):
    """Python writes one where a text was cut; the response is still a response."""
    items = [{"response": "0 1 0 \ud83d \\ud83d 😀", "behavior": "refuse"}, {"response": "😀"}]

    found = read(json.dumps({"items": items, "verdicts": True}).encode()).json

    assert found["probabilities"]["values"] == [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]


keys = st.sampled_from(["items", "response", "prompt", "behavior", "base_reward", SECRET])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(SECRET),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@given(value=values)
def test_anything_is_read_or_refused(read, value):
    answer = read(json.dumps(value).encode())

    if answer.status == 200:
        assert len(answer.json["rewards"]) == len(value["items"])
    else:
        assert answer.status in (400, 413, 422)
        assert SECRET not in answer.body.decode()


@given(body=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(read, body):
    answer = read(b'{"items": [{"response": "' + body + b'"}]}')

    assert answer.status == 200 or answer.code in ("malformed", "wrong_form")
