"""From a model's name to the model, its address, its key and what is known of it."""

import asyncio
import json
import re
import subprocess
import sys

import pytest
from aiohttp import web

from frameworks import require_framework
from models.openai_compatible.chat_server import asked, completion, serving
from models.provider_addresses import HOSTED, LOCAL
from voirdire.errors import InputError
from voirdire.models import (
    Capabilities,
    ChatModel,
    OpenAICompatibleModel,
    is_model_name,
    load_model,
)

KEY = "sw-ordfish-0123456789"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for _, variables in HOSTED.values():
        for variable in variables:
            monkeypatch.delenv(variable, raising=False)


def headers_sent(name, **settings):
    """Give the headers and the body that a model sends to a server of the test."""

    async def run():
        async with serving(lambda request, body: web.json_response(completion("{}"))) as served:
            model = load_model(name, base_url=served.base_url, **settings)
            await model.reply(asked(max_tokens=3, seed=1, top_logprobs=2))
            await model.close()
            return served.headers[0], served.bodies[0]

    return asyncio.run(run())


@pytest.mark.parametrize(
    "text",
    [
        "openai/gpt-4o-mini",
        "openrouter/meta-llama/llama-3.3-70b",
        "native/anthropic/claude",
        "vllm/m",
    ],
)
def test_names_of_models_are_known(text):
    assert is_model_name(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "judge.npz",
        "models/judge.npz",
        "./openai/judge.npz",
        "/openai/x",
        "openai",
        "openai/",
        "/",
        "openai//",
        "OpenAI/x",
        "safety",
        "C:\\models\\judge.npz",
    ],
)
def test_paths_and_other_words_are_no_names_of_models(text):
    assert not is_model_name(text)


@pytest.mark.parametrize("prefix", HOSTED)
def test_a_provider_needs_its_key_before_anything_is_called(prefix):
    variable = HOSTED[prefix][1][0]

    with pytest.raises(InputError, match=f"variable {variable} must hold a key, but it is not set"):
        load_model(f"{prefix}/some-model")


@pytest.mark.parametrize("prefix", HOSTED)
def test_a_provider_is_asked_at_its_own_address(prefix, monkeypatch):
    base_url, (variable, *_) = HOSTED[prefix]
    monkeypatch.setenv(variable, KEY)

    model = load_model(f"{prefix}/org/some-model")

    assert isinstance(model, ChatModel)
    assert model.name == f"{prefix}/org/some-model"
    assert model.settings["model"] == "org/some-model"
    assert model.settings["base_url"] == base_url
    assert KEY not in json.dumps(model.settings)


@pytest.mark.parametrize("prefix", LOCAL)
def test_a_server_of_ones_own_needs_no_key(prefix):
    model = load_model(f"{prefix}/some-model")

    assert model.settings["base_url"] == LOCAL[prefix]


def test_the_second_variable_of_a_key_is_taken_where_the_first_is_not_set(monkeypatch):
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)

    assert load_model("gemini/gemini-2.0-flash").name == "gemini/gemini-2.0-flash"


def test_a_key_is_not_sent_to_a_host_that_it_was_not_made_for(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    headers, _ = headers_sent("openai/gpt-4o-mini")

    assert "authorization" not in headers


def test_a_key_is_sent_where_its_variable_is_named(monkeypatch):
    monkeypatch.setenv("SOME_KEY", KEY)

    headers, _ = headers_sent("openai/gpt-4o-mini", api_key_env="SOME_KEY")

    assert headers["authorization"] == f"Bearer {KEY}"


def test_a_region_of_the_provider_gets_its_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    region = "https://eu.api.openai.com/v1"

    assert load_model("openai/m", base_url=region)._keys.headers() == {
        "Authorization": f"Bearer {KEY}"
    }


@pytest.mark.parametrize(
    "base_url",
    [
        "https://api.openai.com.evil.example/v1",
        "https://evilapi.openai.com.example/v1",
        "http://eu.api.openai.com/v1",
        "http://api.openai.com/v1",
        "https://xapi.openai.com/v1",
    ],
)
def test_an_address_that_only_looks_like_the_provider_gets_no_key(base_url, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    assert load_model("openai/m", base_url=base_url)._keys.headers() == {}


def test_any_compatible_server_is_asked_in_the_common_dialect():
    _, body = headers_sent("openai/llama-3")

    assert body["max_tokens"] == 3
    assert body["seed"] == 1
    assert (body["logprobs"], body["top_logprobs"]) == (True, 2)


def test_openais_thinking_models_are_asked_in_its_newer_dialect():
    _, body = headers_sent("openai/o3-mini", reasoning_effort="low", max_tokens=5)

    assert body["max_completion_tokens"] == 5
    assert body["reasoning_effort"] == "low"


def test_other_providers_are_asked_in_theirs():
    _, mistral = headers_sent("mistral/m")
    _, together = headers_sent("together/m")
    _, groq = headers_sent("groq/m")

    assert mistral["random_seed"] == 1
    assert together["logprobs"] == 2
    assert groq["max_completion_tokens"] == 3


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("openai/gpt-4o-mini", {}, Capabilities(top_logprobs=20)),
        ("openai/o3-mini", {}, Capabilities(top_logprobs=0)),
        ("openai/gpt-5.1", {"reasoning_effort": "high"}, Capabilities(top_logprobs=0)),
        ("openai/gpt-5.1", {"reasoning_effort": "none"}, Capabilities()),
        ("anthropic/claude", {}, Capabilities(forms=("text",), top_logprobs=0)),
        (
            "deepseek/deepseek-chat",
            {},
            Capabilities(forms=("json_object", "text"), top_logprobs=20),
        ),
        ("openrouter/x/y", {}, Capabilities()),
        ("groq/x", {}, Capabilities(top_logprobs=0)),
        ("vllm/x", {"base_url": "http://gpu:8000/v1"}, Capabilities(top_logprobs=20)),
        ("openai/x", {"base_url": "http://gpu:8000/v1"}, Capabilities()),
        (
            "openai/x",
            {"capabilities": Capabilities(forms=("text",), top_logprobs=3)},
            Capabilities(forms=("text",), top_logprobs=3),
        ),
    ],
)
def test_what_is_known_of_a_server_is_declared(name, settings, expected, monkeypatch):
    for _, (variable, *_) in HOSTED.values():
        monkeypatch.setenv(variable, KEY)

    assert load_model(name, **settings).capabilities == expected


@pytest.mark.parametrize(
    ("name", "address", "is_marked"),
    [
        ("anthropic/claude-sonnet-4-5", "http://api.anthropic.com/v1", True),
        ("anthropic/claude-sonnet-4-5", "http://gateway.example/v1", False),
        ("openrouter/anthropic/claude-3.5-haiku", "http://openrouter.ai/v1", True),
        ("openrouter/mistralai/mistral-small", "http://openrouter.ai/v1", False),
        ("openai/anthropic/claude-3.5-haiku", "http://openrouter.ai/v1", True),
    ],
)
def test_a_model_of_anthropic_is_sent_its_marks_under_every_name(
    name, address, is_marked, monkeypatch
):
    async def run():
        async with serving(lambda request, body: web.json_response(completion("{}"))) as served:
            monkeypatch.setenv("http_proxy", served.base_url.removesuffix("/v1"))
            monkeypatch.setenv("SOME_KEY", KEY)
            model = load_model(name, base_url=address, api_key_env="SOME_KEY")
            await model.reply(asked())
            await model.close()
            return served.bodies[0]["messages"][0]["content"]

    for variable in ("all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    assert isinstance(asyncio.run(run()), list) is is_marked


def test_every_provider_is_named_where_a_prefix_is_unknown():
    with pytest.raises(InputError) as caught:
        load_model("nobody-knows/x")

    listed = re.search(r"one of (.*), got", str(caught.value))[1].split(", ")
    assert set(listed) == {*HOSTED, *LOCAL, "native"}


def test_an_unknown_prefix_lists_the_known_ones_and_the_way_out():
    with pytest.raises(InputError, match=r"Perhaps 'openai' is meant") as caught:
        load_model("opnai/gpt-4o")

    assert "openrouter, " in str(caught.value)
    assert "'openai/<model>' and --base-url" in str(caught.value)


def test_a_model_without_a_prefix_at_an_address_is_that_servers_model():
    model = load_model("meta-llama/Llama-3", base_url="http://localhost:8000/v1")

    assert model.settings["model"] == "meta-llama/Llama-3"


def test_settings_arrive_at_the_model():
    model = load_model(
        "vllm/m",
        temperature=0.5,
        reasoning_effort="low",
        max_tokens=7,
        extra={"top_k": 3},
        timeout_s=9,
    )

    assert isinstance(model, OpenAICompatibleModel)
    assert model.settings == {
        "api": "chat/completions",
        "base_url": "http://localhost:8000/v1",
        "model": "m",
        "temperature": 0.5,
        "reasoning_effort": "low",
        "max_tokens": 7,
        "extra": {"top_k": 3},
    }


@pytest.mark.parametrize("name", ["native/anthropic", "native/anthropic/", "native//claude"])
def test_a_native_model_names_provider_and_model(name):
    with pytest.raises(InputError, match="must be 'native/<provider>/<model>'"):
        load_model(name)


@pytest.mark.ci
def test_a_model_of_a_providers_own_api_is_made(monkeypatch):
    require_framework("any_llm", "anthropic")
    monkeypatch.setenv("SOME_KEY", KEY)

    model = load_model(
        "native/anthropic/claude-x", api_key_env="SOME_KEY", temperature=0.5, timeout_s=9
    )

    assert type(model).__name__ == "ProvidersModel"
    assert model.name == "native/anthropic/claude-x"
    assert model.settings["temperature"] == 0.5


@pytest.mark.ci
def test_loading_a_model_loads_neither_a_client_nor_a_framework():
    code = (
        "import sys; from voirdire.models import load_model; load_model('vllm/m');"
        "print(sorted({'aiohttp', 'torch', 'any_llm'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
