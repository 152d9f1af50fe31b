"""Finite numbers where a trainer takes no None."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from rewards.reward_cases import tiny_reward
from voirdire.errors import InputError
from voirdire.records import Verdicts
from voirdire.rewards import LiveScores, MissingRewards, Scores
from voirdire.testing import golden_reward


def scores_of(rewards, behaviors):
    return Scores(
        items=tuple(map(str, range(len(rewards)))),
        behaviors=tuple(behaviors),
        rewards=np.array(rewards, dtype=float),
        base_rewards=np.zeros(len(rewards)),
        rule_rewards=np.array(rewards, dtype=float),
    )


def with_means(**means):
    reward = golden_reward()
    rows = {name: replace(reward.behaviors[name], mean=mean) for name, mean in means.items()}
    return replace(reward, behaviors={**reward.behaviors, **rows})


def test_a_missing_reward_is_the_mean_of_its_behavior():
    missing = MissingRewards(golden_reward())

    # the golden means are 1 and 1/2, their mean 3/4
    assert missing.of("refuse") == 1.0
    assert missing.of("chat") == 0.5
    assert missing.of("dance") == 0.75
    assert missing.of(None) == 0.75


@pytest.mark.parametrize("behavior", [5, ["refuse"], math.nan])
def test_a_behavior_that_is_no_text_is_unknown(behavior):
    assert MissingRewards(golden_reward()).of(behavior) == 0.75


def test_the_mean_of_the_base_reward_is_added():
    missing = MissingRewards(golden_reward(), base_mean=-2.0)

    assert missing.of("refuse") == -1.0
    assert missing.of(None) == -1.25


def test_where_rewards_are_centered_the_mean_is_the_base_reward_alone():
    missing = MissingRewards(golden_reward(), center=True, base_mean=0.25)

    assert missing.of("refuse") == missing.of("chat") == missing.of(None) == 0.25


@pytest.mark.parametrize("number", [-1, 0.5, np.float32(0.5), np.int64(-1), Fraction(1, 2)])
def test_a_declared_number_stands_for_every_missing_reward(number):
    missing = MissingRewards(tiny_reward(), declared=number)

    assert missing.of("refuse") == missing.of(None) == float(number)
    assert type(missing.of("refuse")) is float


@pytest.mark.parametrize("number", [1e39, -1e17])
def test_a_declared_number_is_one_that_a_trainer_can_average_in_32_bits(number):
    for settings in ({"declared": number}, {"base_mean": number}):
        with pytest.raises(InputError, match="must be a finite number, 1e16 at most"):
            MissingRewards(golden_reward(), **settings)
    assert MissingRewards(golden_reward(), declared=-1e16).of(None) == -1e16


@pytest.mark.edges
@pytest.mark.parametrize("number", [math.inf, math.nan, True, "0", 10**400, [1.0]])
def test_a_declared_number_must_be_finite(number):
    with pytest.raises(InputError, match="`missing_reward` must be a finite number"):
        MissingRewards(golden_reward(), declared=number)
    with pytest.raises(InputError, match="`base_mean` must be a finite number"):
        MissingRewards(golden_reward(), base_mean=number)


def test_a_mean_of_base_rewards_cannot_be_nothing():
    with pytest.raises(InputError, match="`base_mean` must be a finite number"):
        MissingRewards(golden_reward(), base_mean=None)


def test_a_reward_without_means_needs_a_declared_number():
    with pytest.raises(InputError, match="`missing_reward` must be declared for reward 'reward'"):
        MissingRewards(tiny_reward())
    with pytest.raises(InputError, match="`missing_reward` must be declared"):
        MissingRewards(tiny_reward(), center=True)


def test_means_that_a_trainer_cannot_average_in_32_bits_need_a_declared_number():
    assert MissingRewards(with_means(refuse=1e16, chat=1e16)).of(None) == 1e16
    for reward in (with_means(refuse=1.6e308), with_means(chat=-1.1e16)):
        with pytest.raises(InputError, match="`missing_reward` must be declared"):
            MissingRewards(reward)
    with pytest.raises(InputError, match="`missing_reward` must be declared"):
        MissingRewards(with_means(refuse=1e16), base_mean=1e16)


def test_rewards_are_filled_and_marked():
    scores = scores_of([5.0, math.nan, math.nan, -2.0], ["refuse", "chat", None, "refuse"])
    judged = Verdicts(
        items=scores.items,
        behaviors=scores.behaviors,
        questions=("sorry",),
        probabilities=np.array([[1.0], [math.nan], [0.5], [0.25]]),
        judge="mine",
        fingerprint="",
    )

    found = MissingRewards(golden_reward()).columns(
        LiveScores(scores=scores, judged=judged, seconds=0.0)
    )

    assert found == {
        "score": [5.0, 0.5, 0.75, -2.0],
        "missing": [0.0, 1.0, 1.0, 0.0],
        "rule_reward": [5.0, 0.0, 0.0, -2.0],
        "base_reward": [0.0] * 4,
        "proposition/sorry": [1.0, -1.0, 0.5, 0.25],
    }
