"""A cascade as the judge of a reward: described in words, and made again from them on wish."""

import dataclasses
import json

import pytest

from rewards.reward_cases import tiny_judge, tiny_reward, tiny_rubric
from voirdire.errors import InputError
from voirdire.judging import CascadeJudge, LlmJudge
from voirdire.models import load_model
from voirdire.rewards import LiveReward, RewardJudge, reward_of_weights

MADE_BY = {
    "judge": "cascade",
    "first": "local",
    "unsure": {"default": [0.1, 0.9]},
    "then": {"judge": "llamacpp/x", "probability": "stated"},
}


def cascade(**settings):
    model = load_model("vllm/some/model", base_url="http://localhost:9999/v1")
    settings = {"first": "local", "unsure": (0.1, 0.9)} | settings
    return CascadeJudge(then=LlmJudge(model=model, mode="single", seed=3), **settings)


def paid_by(judge):
    weights = {"hard_refuse": {"apology": 1}}
    return reward_of_weights(weights, rubric="safety", judge=judge, bound=True)


def described_as(made_by):
    return dataclasses.replace(tiny_reward(), judge=RewardJudge(name="x", made_by=made_by))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"name": "mine", "propositions": ("apology", "judgement")},
        {"unsure": {"default": (0, 1), "apology": (0.2, 0.8)}},
    ],
)
def test_it_is_made_again_with_the_same_fingerprint(settings):
    reward = paid_by(cascade(**settings))
    written = json.loads(json.dumps(dict(reward.judge.made_by)))
    read = dataclasses.replace(reward, judge=dataclasses.replace(reward.judge, made_by=written))

    again = LiveReward(read, judge="own")  # which would raise if it were another

    own = LiveReward(reward, judge=cascade(**settings))
    assert again.judge_fingerprint == own.judge_fingerprint
    assert reward.judge.name == settings.get("name", reward.judge.name)


def test_without_the_wish_it_sends_nothing_anywhere():
    reward = paid_by(cascade())

    with pytest.raises(InputError, match="a cascade of 'local' and the language model") as raised:
        LiveReward(reward)

    assert "localhost:9999" in str(raised.value)
    assert "Say 'own'" in str(raised.value)


def test_with_a_first_judge_of_the_callers_own_it_cannot_be_made_again():
    judge = cascade(first=tiny_judge())
    reward = reward_of_weights({"refuse": {"sorry": 1}}, rubric=tiny_rubric(), judge=judge)

    assert dict(reward.judge.made_by) == {}
    with pytest.raises(InputError, match="cannot be made again"):
        LiveReward(reward)


@pytest.mark.edges
@pytest.mark.parametrize(
    "change",
    [
        {"then": {"judge": "llamacpp/x", "model": {"api_key_env": "HOME"}}},
        {"then": {"probability": "stated"}},
        {"then": {"judge": 7}},
        {"first": ["local"]},
        {"reads_keys": True},
    ],
)
def test_a_description_with_other_settings_is_refused(change):
    reward = described_as(MADE_BY | change)

    with pytest.raises(InputError, match="settings that a judge has"):
        LiveReward(reward, judge="own")


@pytest.mark.parametrize("unsure", [3, {"apology": [0, 1]}, [1, 0]])
def test_bounds_that_are_none_are_refused(unsure):
    reward = described_as(MADE_BY | {"unsure": unsure})

    with pytest.raises(InputError, match="`unsure` must"):
        LiveReward(reward, judge="own")
