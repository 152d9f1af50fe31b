"""What a reward computes from verdicts, and what its content hash covers."""

import dataclasses

import numpy as np
import pytest

from rewards.reward_cases import (
    EXAMPLE_WEIGHTS,
    PHI,
    WEIGHTS,
    expected_rule_reward,
    tiny_reward,
    tiny_rubric,
)
from voirdire.errors import InputError
from voirdire.records import Verdicts
from voirdire.rewards import reward_of_weights
from voirdire.rubrics import load_rubric


def judged(rows, propositions=("sorry", "rude")):
    return Verdicts(
        items=tuple(f"i{n}" for n in range(len(rows))),
        questions=tuple(propositions),
        probabilities=np.array(rows, dtype=float),
        behaviors=(None,) * len(rows),
        judge="somebody",
        fingerprint="sha256:0",
    )


def test_the_worked_example_comes_to_its_reward():
    rubric = load_rubric("hard-refusal-example")
    reward = reward_of_weights(EXAMPLE_WEIGHTS, rubric=rubric, orientation="demanded")

    found = reward.rule_rewards("hard_refuse", judged([[PHI[x] for x in PHI]], PHI))

    # 2·.98 + 3·.99 + 1.5·.97 - 4·.99 - 6 - 8 = -11.575; 5·.98 + .8·.02 = 4.916
    assert found == pytest.approx([-11.575 + 4.916], abs=1e-12)


@pytest.mark.parametrize("behavior", ["refuse", "chat"])
def test_rule_rewards_are_those_of_the_definitions(behavior):
    rows = np.random.default_rng(0).random((50, 2))

    found = tiny_reward().rule_rewards(behavior, judged(rows))

    expected = [expected_rule_reward(behavior, *row) for row in rows]
    assert found == pytest.approx(expected, abs=1e-12)


def test_an_item_scores_the_same_alone_and_among_many():
    reward = tiny_reward()
    rows = np.random.default_rng(1).random((1_000, 2))

    together = reward.rule_rewards("refuse", judged(rows))

    alone = [reward.rule_rewards("refuse", judged(rows[n : n + 1]))[0] for n in range(100)]
    assert together[:100].tolist() == alone


def test_a_missing_verdict_makes_the_reward_missing_and_never_zero():
    found = tiny_reward().rule_rewards("refuse", judged([[np.nan, 0.1], [0.2, 0.1]]))

    assert np.isnan(found).tolist() == [True, False]


def test_a_missing_verdict_does_no_harm_where_nothing_weighs_it():
    reward = reward_of_weights({"refuse": {"rude": -2.0}}, rubric=tiny_rubric())

    found = reward.rule_rewards("refuse", judged([[np.nan, 0.25]]))

    assert found.tolist() == [-0.5]


def test_weights_come_in_the_order_of_the_features():
    reward = tiny_reward()

    names = reward.feature_set("refuse").names

    assert names == ("sorry", "rude", "refuse.bad", "refuse.good", "refuse.poor")
    assert reward.weight_vector("refuse").tolist() == list(WEIGHTS["refuse"].values())


def test_a_behavior_without_weights_is_named_with_those_that_have_some():
    with pytest.raises(InputError, match=r"has weights for \('refuse', 'chat'\), got 'dance'"):
        tiny_reward().behavior("dance")


def test_the_hash_covers_what_a_reward_is_and_not_when_it_was_made():
    reward = tiny_reward()
    other_weights = reward_of_weights({"chat": {"rude": -1.5}}, rubric=tiny_rubric(), judge=None)

    later = dataclasses.replace(reward, created="2099-01-01", versions={"python": "4"})
    renamed = dataclasses.replace(reward, name="other")
    from_elsewhere = dataclasses.replace(
        reward, rubric=dataclasses.replace(reward.rubric, source="elsewhere.yaml")
    )

    assert later.content_hash == reward.content_hash == from_elsewhere.content_hash
    assert len({reward.content_hash, renamed.content_hash, other_weights.content_hash}) == 3


def test_whole_and_broken_numbers_hash_the_same():
    whole = reward_of_weights({"chat": {"rude": 1}}, rubric=tiny_rubric())
    broken = reward_of_weights({"chat": {"rude": np.float32(1.0)}}, rubric=tiny_rubric())

    assert whole.content_hash == broken.content_hash
