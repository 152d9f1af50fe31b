"""Which models think first, and which parameters they refuse."""

import pytest

from voirdire.models import Dialect
from voirdire.models.openai_compatible.dialect import (
    guess_dialect,
    is_reasoning_model,
    with_effort,
)

FAR = "https://models.example/v1"


@pytest.mark.parametrize(
    "model",
    [
        "o1",
        "o3-mini",
        "o4-mini-2025-04-16",
        "gpt-5",
        "gpt-5-mini",
        "openai/o3",
        "gpt-oss-120b",
        "deepseek-reasoner",
        "deepseek-ai/DeepSeek-R1",
        "gemini-2.5-flash",
        "grok-4",
        "qwen3-32b",
    ],
)
def test_models_that_think_first_are_known(model):
    assert is_reasoning_model(model)


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o",
        "gpt-4.1-mini",
        "gpt-5-chat-latest",
        "o",
        "olmo-7b",
        "deepseek-chat",
        "llama-3.3-70b",
        "gemini-2.0-flash",
        "grok-3",
        "grok-4-fast-non-reasoning",
        "Qwen3-30B-A3B-Instruct-2507",
    ],
)
def test_other_models_are_not_taken_for_them(model):
    assert not is_reasoning_model(model)


@pytest.mark.parametrize(
    ("model", "name"), [("o3-mini", "max_completion_tokens"), ("x", "max_tokens")]
)
def test_the_limit_is_named_as_the_model_wants_it(model, name):
    assert guess_dialect(model, base_url=FAR).limit_name == name


@pytest.mark.parametrize(
    ("base_url", "takes"),
    [("http://localhost:8080/v1", True), ("http://127.0.0.1:1/v1", True), (FAR, False)],
)
def test_servers_of_this_machine_take_a_schema_beside_the_object(base_url, takes):
    assert guess_dialect("m", base_url=base_url).object_takes_schema is takes


def test_an_effort_makes_a_model_think_and_none_stops_it():
    thinks = guess_dialect("gpt-5.1", base_url=FAR)

    assert with_effort(Dialect(), "low").is_reasoning
    assert with_effort(Dialect(), None) == Dialect()
    assert not with_effort(thinks, "none").is_reasoning
    assert with_effort(thinks, "none").takes_temperature
    assert not with_effort(thinks, "high").takes_temperature
