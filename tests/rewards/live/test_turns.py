"""What a trainer hands over, made into items; whatever it is, the other turns are not touched."""

import math

import numpy as np
import pytest

from voirdire.rewards import Turn
from voirdire.rewards.live.turns import given_base_of, items_of_turns


def items_of(*turns, **settings):
    return items_of_turns(turns, judged="final_answer", **settings)


def test_items_are_called_by_their_places_whatever_turns_are_called():
    turns = [Turn(response="a", id="x"), Turn(response="b", id="x"), Turn(response="c")]

    items, reasons = items_of(*turns)

    assert [item.id for item in items] == ["0", "1", "2"]
    assert [item.response for item in items] == ["a", "b", "c"]
    assert reasons == {}


def test_a_turn_keeps_its_behavior_and_others_get_the_default():
    turns = [Turn(response="a", behavior="chat"), Turn(response="b"), Turn(response="c")]

    items, _ = items_of(*turns, behavior="refuse")

    assert [item.behavior for item in items] == ["chat", "refuse", "refuse"]


def test_a_behavior_of_a_data_frame_that_is_nan_is_none():
    items, reasons = items_of(Turn(response="a", behavior=math.nan), behavior="refuse")

    assert items[0].behavior == "refuse"
    assert reasons == {}


@pytest.mark.parametrize("behavior", [5, ["refuse"], {"behavior": "refuse"}, b"refuse", True])
def test_a_behavior_that_is_no_text_spoils_its_own_turn_only(behavior):
    items, reasons = items_of(Turn(response="a", behavior=behavior), Turn(response="b"))

    assert reasons == {"0": "the behavior is no text"}
    assert [item.behavior for item in items] == [None, None]


@pytest.mark.parametrize("response", [None, 5, 1.5, b"text", {"a": 1}, [], [5], object(), True])
def test_a_response_that_is_no_text_spoils_its_own_turn_only(response):
    items, reasons = items_of(Turn(response=response), Turn(response="b"))

    assert reasons == {"0": "the response or its prompt is neither text nor messages"}
    assert items[1].response == "b"


@pytest.mark.parametrize("prompt", [5, b"text", {"a": 1}, [5], object()])
def test_a_prompt_that_is_no_text_spoils_its_own_turn_only(prompt):
    _, reasons = items_of(Turn(response="a", prompt=prompt), Turn(response="b", prompt="ok"))

    assert list(reasons) == ["0"]


@pytest.mark.parametrize(
    ("group", "expected"), [(7, "7"), ("g", "g"), (None, None), (math.nan, None)]
)
def test_a_group_may_be_a_number(group, expected):
    items, _ = items_of(Turn(response="a", group=group))

    assert items[0].group == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1, 1.0),
        (-2.5, -2.5),
        (np.float32(0.5), 0.5),
        (np.array(3), 3.0),
        ("1.25", 1.25),
        (math.inf, math.inf),
        (10**400, math.nan),
        (True, math.nan),
        (np.True_, math.nan),
        ("high", math.nan),
        ([1, 2], math.nan),
        (np.array([1.0, 2.0]), math.nan),
        (object(), math.nan),
        (math.nan, math.nan),
    ],
)
def test_a_base_reward_is_a_number_or_nan(given, expected):
    found = given_base_of([Turn(response="a"), Turn(response="b", base_reward=given)])

    assert list(found) == ["1"]
    assert found["1"] == expected or (math.isnan(found["1"]) and math.isnan(expected))


@pytest.mark.ci
def test_a_base_reward_may_be_a_tensor():
    torch = pytest.importorskip("torch")
    turns = [
        Turn(response="a", base_reward=torch.tensor(1.5)),
        Turn(response="b", base_reward=torch.ones(2)),
    ]

    found = given_base_of(turns)

    assert found["0"] == 1.5
    assert math.isnan(found["1"])
