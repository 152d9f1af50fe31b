"""Settings of a language model: what is checked before anything is called, and what is opened."""

import math
from dataclasses import replace

import pytest

import voirdire
from voirdire.errors import InputError
from voirdire.judging import LlmJudge, ModelSettings, Price
from voirdire.testing import ScriptedModel

ROW = [{"response": "No."}]


# The least that each may be, and what it may not be.
LEAST = {
    "concurrency": (1, [0, 2.5, True, None]),
    "requests_per_minute": (1, [0]),
    "tokens_per_minute": (1, [-1]),
    "timeout_s": (1e-3, [0, math.inf, math.nan, "10"]),
    "max_attempts": (1, [0]),
    "max_retries": (0, [-1]),
    "max_cost": (1e-9, [0]),
    "seed": (0, [-1]),
    "n_examples": (0, [-1]),
    "top_logprobs": (2, [1]),
    "temperature": (0, [2.1, math.nan]),
    "mode": ("joint", ["both"]),
    "keep_going": (False, ["no"]),
    "price": (None, [0.15]),
}


@pytest.mark.parametrize("name", LEAST)
def test_a_field_out_of_range_is_refused_by_name_in_both_records(name):
    least, others = LEAST[name]

    for record in (ModelSettings, LlmJudge):
        assert getattr(record(model="vllm/m", **{name: least}), name) == least
        for value in others:
            with pytest.raises(InputError, match=f"`{name}` must be"):
                record(model="vllm/m", **{name: value})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"probability": "vote", "n_samples": 1}, "`n_samples` must be a whole number of at"),
        ({"probability": "vote", "temperature": 0}, "`temperature` must be in .* for votes, got 0"),
        ({"model": "groq/m"}, "`probability` must be 'stated' or 'vote' for 'groq/m'"),
        ({"model": "opnai/m"}, "`model` must be '<provider>/<model>'.*Perhaps 'openai'"),
        ({"model": 3}, "`model` must be a name or a `voirdire.models.ChatModel`, got 3"),
        ({"calibration": 0.5}, "`calibration` must be a `.*JudgeCalibration` or .*, got float"),
        ({"max_tokens": 0}, "`max_tokens` must be a whole number of at least 1"),
        ({"base_url": "ftp://x"}, "`base_url` must be an address"),
    ],
)
def test_settings_that_do_not_suit_each_other_or_the_model_are_refused(
    settings, message, monkeypatch
):
    monkeypatch.setenv("GROQ_API_KEY", "open-sesame")

    with pytest.raises(InputError, match=message):
        LlmJudge(**{"model": "vllm/m"} | settings)


def test_a_misspelt_name_is_refused_with_the_nearest_one():
    message = "`temperatur_` must be a setting of `{}`, .* Write 'temperature'"

    for record in (LlmJudge, ModelSettings):
        with pytest.raises(InputError, match=message.format(record.__name__)):
            record(model="vllm/m", temperatur_=1)
    with pytest.raises(InputError, match=message.format("judge")):
        voirdire.judge(ROW, judge="vllm/m", temperatur_=1)
    with pytest.raises(InputError, match="Write 'threshold'"):
        voirdire.judge(ROW, thresh=0.4)


def test_a_model_behind_an_address_needs_no_provider():
    judge = LlmJudge(model="meta/llama-3", base_url="http://gpu.test:8000/v1")

    assert judge.name == "meta/llama-3"
    assert judge.chat_model.settings == {
        "api": "chat/completions",
        "base_url": "http://gpu.test:8000/v1",
        "model": "meta/llama-3",
    }


@pytest.mark.parametrize("name", ["base_url", "api_key_env", "max_tokens", "extra", "served_as"])
def test_what_is_the_models_comes_with_its_name_alone(name):
    with pytest.raises(InputError, match=f"`{name}` must come with the name of a model"):
        LlmJudge(model=ScriptedModel(str), **{name: "x"})


def test_an_opened_model_has_what_concerns_it_alone_and_stays_beside_other_settings():
    judge = LlmJudge(model="vllm/m", base_url="http://gpu.test/v1", max_tokens=9, extra={"k": 4})

    other = replace(judge, mode="single", price=Price(input=1, output=2))

    assert (judge.base_url, judge.max_tokens, judge.extra) == (None, None, None)
    assert other.chat_model is judge.chat_model
    assert judge.asking["model"] == {
        "api": "chat/completions",
        "base_url": "http://gpu.test/v1",
        "model": "m",
        "max_tokens": 9,
        "extra": {"k": 4},
    }


def test_settings_stand_beside_the_name_of_a_model_in_a_call(faulty_server):
    faulty_server.answer = lambda item, key, form: 0.25
    rubric = voirdire.rubrics.rubric_from_text(
        "schema: voirdire.rubric/1\nname: one\nversion: '1'\n"
        "questions: [{id: sorry, kind: boolean, text: Sorry}]\n"
    )

    settings = {"base_url": faulty_server.url, "probability": "stated", "name": "mine"}

    verdicts = voirdire.judge(
        [{"response": "item-1"}], judge="my-model", rubric=rubric, store=False, **settings
    )

    assert (verdicts.judge, verdicts.probability("sorry").tolist()) == ("mine", [0.25])
    assert faulty_server.bodies[0]["model"] == "my-model"


@pytest.mark.parametrize("judge", ["local", LlmJudge(model=ScriptedModel(str))])
def test_settings_stand_beside_nothing_else(judge):
    with pytest.raises(InputError, match="`mode` must come with the name of a model as `judge`"):
        voirdire.judge(ROW, judge=judge, mode="single")
