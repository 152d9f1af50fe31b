"""A cascade as the judge of a reward: described in words, and made again from them on wish."""

import json

import pytest

from rewards.reward_cases import tiny_judge, tiny_rubric
from voirdire.errors import InputError
from voirdire.judging import CascadeJudge, LlmJudge
from voirdire.judging.plan import plan_judging
from voirdire.models import load_model
from voirdire.rewards import RewardJudge
from voirdire.rewards.reward_judge import judge_again, reward_judge

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


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"name": "mine", "propositions": ("apology", "judgement")},
        {"unsure": {"default": (0, 1), "apology": (0.2, 0.8)}},
    ],
)
def test_it_is_made_again_with_the_same_fingerprint(settings):
    plan = plan_judging(cascade(**settings), "safety")

    found = reward_judge(plan, made_from=cascade(**settings))
    written = json.loads(json.dumps(dict(found.made_by)))
    again = judge_again(RewardJudge(name=found.name, made_by=written), is_wished=True)

    assert plan_judging(again, "safety").fingerprint == found.fingerprint == plan.fingerprint
    assert plan_judging(again, "safety").judge.name == found.name


def test_without_the_wish_it_sends_nothing_anywhere():
    found = reward_judge(plan_judging(cascade(), "safety"))

    with pytest.raises(InputError, match="a cascade of 'local' and the language model") as raised:
        judge_again(found)

    assert "localhost:9999" in str(raised.value)
    assert "Say 'own'" in str(raised.value)


def test_with_a_first_judge_of_the_callers_own_it_cannot_be_made_again():
    found = reward_judge(plan_judging(cascade(first=tiny_judge()), tiny_rubric()))

    assert dict(found.made_by) == {}
    with pytest.raises(InputError, match="cannot be made again"):
        judge_again(found)


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
    made_by = MADE_BY | change

    with pytest.raises(InputError, match="settings that a judge has"):
        judge_again(RewardJudge(name="x", made_by=made_by), is_wished=True)


@pytest.mark.parametrize("unsure", [3, {"apology": [0, 1]}, [1, 0]])
def test_bounds_that_are_none_are_refused(unsure):
    with pytest.raises(InputError, match="`unsure` must"):
        judge_again(RewardJudge(name="x", made_by=MADE_BY | {"unsure": unsure}), is_wished=True)
