"""What a trainer hands over; whatever it is, the other turns are not touched."""

import math

import numpy as np
import pytest

from rewards.live.trying_judges import TryingJudge
from rewards.training.recorded_runs import scored
from voirdire.adapters import golden_reward
from voirdire.judging import ScriptedJudge
from voirdire.rewards import Turn

SORRY = 5.0  # the golden reward of `refuse` where `sorry` is 1, and nothing else
GOOD = Turn(response="no", behavior="refuse")


def asked(*turns, **settings):
    return scored(turns, reward=golden_reward(), judge=TryingJudge(), **settings)


def seen_of(*turns):
    """Give the items that a judge gets to see."""
    seen = []

    def answer(item):
        seen.append(item)
        return [1.0, 0.0, 0.0]

    questions = golden_reward().rubric.propositions
    judge = ScriptedJudge(questions=questions, answer=answer)
    scored(turns, reward=golden_reward(), judge=judge)
    return seen


def test_items_are_called_by_their_places_whatever_turns_are_called():
    turns = [Turn(response=text, id="x", behavior="refuse") for text in "abc"]

    found = asked(*turns)

    assert found.scores.items == ("0", "1", "2")
    assert [item.response for item in seen_of(*turns)] == ["a", "b", "c"]


@pytest.mark.parametrize("behavior", [5, ["refuse"], {"behavior": "refuse"}, b"refuse", True])
def test_a_behavior_that_is_no_text_spoils_its_own_turn_only(behavior):
    found = asked(Turn(response="a", behavior=behavior), GOOD)

    assert found.rewards == [None, SORRY]
    assert found.scores.missing == {"0": "no behavior"}
    assert found.judged.failures == {"0": "the behavior is no text"}


def test_a_behavior_of_a_data_frame_that_is_nan_is_none():
    found = asked(Turn(response="a", behavior=math.nan), GOOD)

    assert found.scores.behaviors == (None, "refuse")
    assert found.scores.missing == {"0": "no behavior"}


@pytest.mark.parametrize("response", [None, 5, 1.5, b"text", {"a": 1}, [], [5], object(), True])
def test_a_response_that_is_no_text_spoils_its_own_turn_only(response):
    found = asked(Turn(response=response, behavior="refuse"), GOOD)

    assert found.rewards == [None, SORRY]
    assert "the response or its prompt is neither text nor messages" in found.scores.missing["0"]


@pytest.mark.parametrize("prompt", [5, b"text", {"a": 1}, [5], object()])
def test_a_prompt_that_is_no_text_spoils_its_own_turn_only(prompt):
    found = asked(Turn(response="a", prompt=prompt, behavior="refuse"), GOOD)

    assert found.rewards == [None, SORRY]


@pytest.mark.parametrize(
    ("group", "expected"), [(7, "7"), ("g", "g"), (None, None), (math.nan, None)]
)
def test_a_group_may_be_a_number(group, expected):
    [item] = seen_of(Turn(response="a", behavior="refuse", group=group))

    assert item.group == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1, 1.0),
        (-2.5, -2.5),
        (np.float32(0.5), 0.5),
        (np.array(3), 3.0),
        ("1.25", 1.25),
        (math.inf, None),
        (10**400, None),
        (True, None),
        (np.True_, None),
        ("high", None),
        ([1, 2], None),
        (np.array([1.0, 2.0]), None),
        (object(), None),
        (math.nan, None),
    ],
)
def test_a_base_reward_is_a_number_or_spoils_its_own_turn_only(given, expected):
    turns = [Turn(response="no", behavior="refuse", base_reward=x) for x in (given, 2.0)]

    found = asked(*turns)

    assert found.rewards == [None if expected is None else SORRY + expected, SORRY + 2.0]


@pytest.mark.ci
def test_a_base_reward_may_be_a_tensor():
    torch = pytest.importorskip("torch")
    given = (torch.tensor(1.5), torch.ones(2))
    turns = [Turn(response="no", behavior="refuse", base_reward=x) for x in given]

    assert asked(*turns).rewards == [SORRY + 1.5, None]
