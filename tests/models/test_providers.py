"""From a model's name to its address, its key and what is known of it; keys that a file names."""

import json
import subprocess
import sys
from importlib.resources import files

import pytest

from models.chat_server import KEY, Shared, ask, asked, completion
from voirdire.errors import InputError
from voirdire.judging import load_judges
from voirdire.models import Capabilities, ChatModel, is_model_name, load_model

ROWS = json.loads((files("voirdire") / "data" / "providers.json").read_bytes())
HOSTED = {name: row for name, row in ROWS.items() if "key_variables" in row}
GPU = {"base_url": "http://gpu:8000/v1"}
NATIVE = "native/anthropic/claude"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for name in ("OPENAI_BASE_URL", "VOIRDIRE_KEY_VARIABLES"):
        monkeypatch.delenv(name, raising=False)
    for variable in (name for row in HOSTED.values() for name in row["key_variables"]):
        monkeypatch.delenv(variable, raising=False)


def headers_sent(name, monkeypatch, **settings):
    """Ask the server of the test under another name."""
    monkeypatch.setattr("models.chat_server.OpenAICompatibleModel", lambda **_: model)
    model = load_model(name, **settings)
    return ask(completion("{}"), asked()).headers[0]


def test_names_of_models_are_told_from_paths_and_other_words():
    for text in ("openai/gpt-4o-mini", "openrouter/meta-llama/llama-3.3", NATIVE, "vllm/m"):
        assert is_model_name(text), text
    for text in ("", "judge.npz", "models/judge.npz", "./openai/judge.npz", "/openai/x", "openai"):
        assert not is_model_name(text), text
    for text in ("openai/", "/", "openai//", "OpenAI/x", "safety", "C:\\models\\judge.npz"):
        assert not is_model_name(text), text


@pytest.mark.parametrize("prefix", ROWS)
def test_a_provider_is_asked_at_its_own_address_and_needs_its_key(prefix, monkeypatch):
    variables = ROWS[prefix].get("key_variables", [])
    if variables:
        words = f"variable {variables[0]} must hold a key, but it is not set"
        with pytest.raises(InputError, match=words):
            load_model(f"{prefix}/some-model")
        monkeypatch.setenv(variables[-1], KEY)

    model = load_model(f"{prefix}/org/some-model")

    assert isinstance(model, ChatModel)
    assert model.name == f"{prefix}/org/some-model"
    assert model.settings["model"] == "org/some-model"
    assert model.settings["base_url"] == ROWS[prefix]["base_url"]
    assert KEY not in json.dumps(model.settings)


def test_an_unknown_prefix_lists_all_and_the_way_out():
    with pytest.raises(InputError, match=r"Perhaps 'openai' is meant\. Any") as caught:
        load_model("opnai/gpt-4o")

    listed = str(caught.value).partition("one of ")[2].partition(", got")[0].split(", ")
    assert listed == [*ROWS, "systemone", "decisions", "native"]


def test_at_an_address_a_model_needs_no_prefix():
    for name in ("my-model", "meta-llama/Llama-3"):
        model = load_model(name, **GPU)
        assert (model.name, model.settings["model"]) == (name, name)


def test_a_key_goes_where_it_was_made_for_or_where_it_is_named(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    here = {"base_url": Shared.base_url}

    assert "authorization" not in headers_sent("openai/m", monkeypatch, **here)
    named = headers_sent("openai/m", monkeypatch, **here, api_key_env="OPENAI_API_KEY")
    assert named["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", [None, KEY])
def test_openais_own_variable_of_the_address_is_used_and_gets_the_key(monkeypatch, key):
    monkeypatch.setenv("OPENAI_BASE_URL", Shared.base_url)
    if key:
        monkeypatch.setenv("OPENAI_API_KEY", key)

    sent = headers_sent("openai/m", monkeypatch)

    assert sent.get("authorization") == (f"Bearer {key}" if key else None)
    assert load_model("vllm/m").settings["base_url"] == "http://localhost:8000/v1"


def test_an_address_that_only_looks_like_the_provider_gets_no_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def is_sent(base_url):
        return load_model("openai/m", base_url=base_url)._server.keys.headers() != {}

    assert is_sent("https://eu.api.openai.com/v1")
    for host in ("api.openai.com.evil.example", "evilapi.openai.com.example", "xapi.openai.com"):
        assert not is_sent(f"https://{host}/v1")
    for host in ("eu.api.openai.com", "api.openai.com"):
        assert not is_sent(f"http://{host}/v1")


TEXT = Capabilities(forms=("text",), top_logprobs=0)


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("openai/gpt-4o-mini", {}, Capabilities(top_logprobs=20)),
        ("openai/o3-mini", {}, Capabilities(top_logprobs=0)),
        ("openai/gpt-5.1", {"reasoning_effort": "high"}, Capabilities(top_logprobs=0)),
        ("openai/gpt-5.1", {"reasoning_effort": "none"}, Capabilities()),
        ("anthropic/claude", {}, TEXT),
        ("deepseek/chat", {}, Capabilities(forms=("json_object", "text"), top_logprobs=20)),
        ("openrouter/x/y", {}, Capabilities()),
        ("groq/x", {}, Capabilities(top_logprobs=0)),
        ("vllm/x", GPU, Capabilities(top_logprobs=20)),
        ("openai/x", GPU, Capabilities()),
        ("openai/x", {"capabilities": TEXT, **GPU}, TEXT),
    ],
)
def test_what_is_known_of_a_server_is_declared(name, settings, expected, monkeypatch):
    for row in HOSTED.values():
        monkeypatch.setenv(row["key_variables"][0], KEY)

    assert load_model(name, **settings).capabilities == expected


@pytest.mark.ci
def test_loading_a_model_loads_neither_a_client_nor_a_framework():
    code = (
        "import sys; from voirdire.models import load_model; load_model('vllm/m');"
        "print(sorted({'aiohttp', 'torch', 'any_llm'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


ALLOWED, SECRET, OWN = "VOIRDIRE_KEY_VARIABLES", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY"


@pytest.fixture
def check(tmp_path, monkeypatch):
    """Make the judge of a file that names a key."""

    def load(variable, model="openai/m", base_url=None):
        told = {"name": "j", "model": model, "probability": "stated"}
        told |= {"api_key_env": variable, "base_url": base_url}
        rows = [f"{key}: {json.dumps(value)}" for key, value in told.items() if value is not None]
        path = tmp_path / "judges.yaml"
        path.write_text("schema: voirdire.judges/1\njudges:\n  - " + "\n    ".join(rows), "utf-8")
        monkeypatch.setenv(variable or "OPENAI_API_KEY", "any-key")
        load_judges(path)

    return load


@pytest.mark.edges
@pytest.mark.parametrize("name", HOSTED)
def test_a_providers_own_variable_goes_to_that_provider(check, name):
    for variable in HOSTED[name]["key_variables"]:
        check(variable, f"{name}/m")
        check(variable, f"{name}/m", HOSTED[name]["base_url"])


STRANGER = "https://stranger.example.com/v1"


@pytest.mark.parametrize(
    ("variable", "model", "base_url", "place"),
    [
        (SECRET, "openai/m", STRANGER, "stranger.example.com"),
        (SECRET, "openai/m", None, "api.openai.com"),
        (SECRET, "vllm/m", None, "localhost:8000"),
        (SECRET, NATIVE, None, "native/anthropic"),
        ("VOIRDIRE_TOKEN", "openai/m", STRANGER, "stranger.example.com"),
        (OWN, "openai/m", STRANGER, "stranger.example.com"),
        (OWN, "openai/m", "http://api.openai.com/v1", "http://api.openai.com"),
        (OWN, "openai/m", "https://api.openai.com.x.org", "api.openai.com.x.org"),
        (OWN, "openai/m", "https://[2001:db8::1%.api.openai.com]", "[2001:db8::1%.api.openai.com]"),
        (OWN, "mistral/m", None, "api.mistral.ai"),
        ("ANTHROPIC_API_KEY", NATIVE, "https://a.example.com", "a.example.com"),
        ("COHERE_API_KEY", NATIVE, None, "native/anthropic"),
    ],
)
def test_any_other_is_refused_with_the_words_that_would_allow_it(
    check, monkeypatch, variable, model, base_url, place
):
    with pytest.raises(InputError, match="got '") as caught:
        check(variable, model, base_url)

    told = str(caught.value)
    assert f"got {variable!r} for {place!r}." in told
    assert told.endswith(f"set {ALLOWED}={variable}@{place}.")
    monkeypatch.setenv(ALLOWED, told.rpartition(f"{ALLOWED}=")[2][:-1])
    if model.startswith("openai/"):
        check(variable, model, base_url)


def test_a_variable_is_allowed_for_its_host_alone(check, monkeypatch):
    monkeypatch.setenv(ALLOWED, " MY_KEY@judge.example.com , OTHER@localhost:8000,")

    check("MY_KEY", base_url="https://judge.example.com/v1")
    check("MY_KEY", base_url="https://Judge.Example.com:8443/v1")
    check("OTHER", base_url="http://localhost:8000/v1")
    for variable, base_url in [
        ("MY_KEY", STRANGER),
        ("MY_KEY", "https://judge.example.com.stranger.org/v1"),
        ("MY_KEY", "http://judge.example.com/v1"),  # others on the way could read it
        ("OTHER", "https://judge.example.com/v1"),
        ("OTHER", "http://localhost:8001/v1"),
        ("MY_KEY_2", "https://judge.example.com/v1"),
    ]:
        with pytest.raises(InputError, match=variable):
            check(variable, base_url=base_url)


def test_no_key_is_no_question_but_for_a_library_that_finds_keys_by_itself(check):
    check(None)
    check(None, base_url=STRANGER)
    with pytest.raises(InputError, match=r"a file with an address for .* must name the key"):
        check(None, "native/gemini/m", STRANGER)


@pytest.mark.parametrize("text", ["MY_KEY", "hunter2hunter2", "MY_KEY@", "@host", "A@b c"])
def test_what_is_no_variable_with_a_host_is_refused_and_not_shown(check, monkeypatch, text):
    monkeypatch.setenv(ALLOWED, text)

    with pytest.raises(InputError, match=f"{ALLOWED} must hold") as caught:
        check(SECRET)

    assert "hunter2" not in str(caught.value)
