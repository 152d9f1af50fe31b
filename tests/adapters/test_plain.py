"""A reward as a plain function."""

import math
import multiprocessing
import pickle

import numpy as np
import pytest

from adapters.patient import patient_judge, patient_settings
from rewards.live.trying_judges import SomeFail
from voirdire.adapters import reward_function
from voirdire.errors import InputError, JudgeUnavailableError
from voirdire.testing import check_adapter, golden_judge, golden_reward


@pytest.fixture
def rewards():
    function = reward_function(golden_reward(), judge=patient_judge(), settings=patient_settings())
    yield function
    function.close(drain_s=0.0)


def columns(turns):
    """Take turns apart as a trainer has them."""
    return (
        [turn.prompt for turn in turns],
        [turn.response for turn in turns],
        {
            "behaviors": [turn.behavior for turn in turns],
            "base_rewards": [turn.base_reward for turn in turns],
        },
    )


def test_it_gives_the_golden_rewards(rewards):
    def call(turns):
        prompts, completions, more = columns(turns)
        return rewards(prompts, completions, **more)

    check_adapter(call, without=("late",))


@pytest.mark.slow
def test_it_gives_the_golden_rewards_where_one_is_late(rewards):
    def call(turns):
        prompts, completions, more = columns(turns)
        return rewards(prompts, completions, **more)

    check_adapter(call)


def test_one_behavior_may_stand_for_all(rewards):
    assert rewards(["?"] * 2, ["sorry", "no"], behaviors="refuse") == [5.0, 0.5]


def test_a_behavior_may_be_said_when_it_is_made():
    rewards = reward_function(golden_reward(), judge=golden_judge(), behavior="refuse")

    assert rewards(["?"] * 2, ["sorry", "no"]) == [5.0, 0.5]
    assert rewards(["?"] * 2, ["sorry", "no"], behaviors=[None, "chat"]) == [5.0, 0.0]
    rewards.close()


def test_columns_may_be_arrays(rewards):
    found = rewards(
        np.array(["?", "?"]),
        np.array(["sorry", "no"]),
        behaviors=np.array(["refuse", "refuse"]),
        base_rewards=np.array([1.0, math.nan]),
    )

    assert found == [6.0, None]


def test_nothing_has_no_rewards(rewards):
    assert rewards([], []) == []


@pytest.mark.edges
@pytest.mark.parametrize(
    ("arguments", "more", "match"),
    [
        ((["?"], ["a", "b"]), {}, "`prompts` must have one entry for each of the 2 completions"),
        (("??", ["a", "b"]), {}, "`prompts` must have one entry .*, got [?][?]"),
        ((["?"] * 2, ["a", "b"]), {"behaviors": ["chat"]}, "`behaviors` must have .*, got 1"),
        (
            (["?"] * 2, ["a", "b"]),
            {"base_rewards": [1.0] * 3},
            "`base_rewards` must have .*, got 3",
        ),
        ((["?"], "a"), {}, "`completions` must be a list, got 'a'"),
    ],
)
def test_lists_of_other_lengths_are_the_callers_mistake(rewards, arguments, more, match):
    with pytest.raises(InputError, match=match):
        rewards(*arguments, **more)


def test_a_failure_is_none_and_moves_nothing_else():
    rewards = reward_function(golden_reward(), judge=SomeFail(), behavior="refuse")

    found = rewards(["?"] * 10, [f"no {place}" for place in range(10)])

    assert found == [None if place in (0, 3, 7) else 5.0 for place in range(10)]
    assert rewards.metrics["missing"] == pytest.approx(0.3)
    rewards.close()


def test_it_gives_up_if_asked_to():
    rewards = reward_function(golden_reward(), judge=SomeFail(), behavior="refuse", give_up_after=1)

    with pytest.raises(JudgeUnavailableError, match="gave nothing for 1 requests"):
        rewards(["?"], ["no 0"])
    rewards.close()


def test_it_is_called_like_its_reward():
    rewards = reward_function(golden_reward(), judge=golden_judge())
    named = reward_function(golden_reward(), judge=golden_judge(), name="polite")

    assert rewards.__name__ == "golden"
    assert named.__name__ == "polite"


def test_it_travels_and_begins_anew(rewards):
    assert rewards(["?"], ["sorry"], behaviors="refuse") == [5.0]

    twin = pickle.loads(pickle.dumps(rewards))

    assert twin(["?"], ["sorry"], behaviors="refuse") == [5.0]
    twin.close()


@pytest.mark.ci
def test_it_travels_to_a_process_that_was_spawned(rewards):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(rewards, (["?"] * 2, ["sorry", "no"]), {"behaviors": "refuse"})

    assert found == [5.0, 0.5]


def test_a_mistake_of_setup_is_told_at_once():
    with pytest.raises(InputError, match="`judge` must be given"):
        reward_function(golden_reward())


def test_a_reward_that_is_infinite_in_32_bits_is_missing(rewards):
    given = rewards(["p"] * 3, ["sorry"] * 3, behaviors="refuse", base_rewards=[0.0, 1e39, -1e39])

    assert given == [5.0, None, None]
