"""A reward's judge, in words and made again from them."""

import dataclasses
import json
from pathlib import Path

import pytest

from rewards.reward_cases import tiny_judge, tiny_reward, tiny_rubric
from voirdire.errors import InputError
from voirdire.judging import LlmJudge
from voirdire.judging.plan import plan_judging
from voirdire.models import load_model
from voirdire.rewards.model import RewardJudge
from voirdire.rewards.model_file import load_reward
from voirdire.rewards.reward_judge import judge_again, reward_judge


def described(judge, **settings):
    return reward_judge(plan_judging(judge, tiny_rubric()), made_from=judge, **settings)


def test_a_language_model_is_made_again_with_the_same_fingerprint(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-this-is-no-key-of-anybody")
    model = load_model("openai/gpt-4o-mini", temperature=0.5, max_tokens=900)
    asked = LlmJudge(
        model=model,
        name="mini",
        mode="single",
        probability="vote",
        n_samples=3,
        language="en",
        n_examples=2,
        seed=7,
        route=True,
    )

    found = described(asked)
    again = judge_again(found)

    assert plan_judging(again, tiny_rubric()).fingerprint == found.fingerprint
    assert again.name == "mini"
    assert "sk-this" not in json.dumps(dict(found.made_by))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("llamacpp/qwen2.5-7b", {}),
        ("vllm/some/model", {"base_url": "http://localhost:9999/v1"}),
        ("openai/x", {"base_url": "http://localhost:9999/v1", "extra": {"top_k": 3}}),
    ],
)
def test_models_of_other_servers_are_made_again(name, settings):
    asked = LlmJudge(model=load_model(name, **settings), probability="stated")
    found = described(asked)

    assert plan_judging(judge_again(found), tiny_rubric()).fingerprint == found.fingerprint


def test_a_name_and_a_path_stay_as_they_were_typed():
    rubric = "safety"
    local = reward_judge(plan_judging("local", rubric), made_from="local")

    assert dict(local.made_by) == {"judge": "local"}
    assert judge_again(local) == "local"
    assert plan_judging("local", rubric).fingerprint == local.fingerprint
    path = reward_judge(plan_judging("local", rubric), made_from=Path("judges/mine.npz"))
    assert judge_again(path) == "judges/mine.npz"


def test_a_judge_of_the_callers_own_cannot_be_made_again():
    found = described(tiny_judge())

    assert dict(found.made_by) == {}
    with pytest.raises(InputError, match="'scripted' cannot be made again"):
        judge_again(found)


@pytest.mark.parametrize(
    "made_by",
    [
        {"judge": "llamacpp/x", "model": {"api_key_env": "HOME"}},
        {"judge": "llamacpp/x", "model": {"headers": {"x": "HOME"}}},
        {"judge": "llamacpp/x", "model": {"reads_keys": True}},
        {"judge": "llamacpp/x", "model": "y"},
    ],
)
def test_a_file_cannot_have_variables_of_this_machine_sent_anywhere(made_by):
    with pytest.raises(InputError, match="settings that a judge has"):
        judge_again(RewardJudge(name="x", made_by=made_by))


@pytest.mark.parametrize("made_by", [{"judge": 7}, {"judge": ""}, {"model": {}}])
def test_a_damaged_description_is_an_error(made_by):
    with pytest.raises(InputError, match="`judge` must be given"):
        judge_again(RewardJudge(name="x", made_by=made_by))


@pytest.mark.filterwarnings("ignore::voirdire.rewards.certification.UncertifiedWarning")
def test_the_description_survives_the_file(tmp_path):
    asked = LlmJudge(model=load_model("llamacpp/q"), probability="stated")
    reward = dataclasses.replace(tiny_reward(), judge=described(asked))

    reward.save(tmp_path / "r.json")
    found = load_reward(tmp_path / "r.json")

    assert plan_judging(judge_again(found.judge), tiny_rubric()).fingerprint == (
        reward.judge.fingerprint
    )
