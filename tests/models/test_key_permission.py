"""Keys that a file names: the provider's own to the provider, others only where allowed."""

import json

import pytest

from models.provider_addresses import HOSTED
from voirdire.errors import InputError
from voirdire.judging import load_judges

ALLOWED_VARIABLE = "VOIRDIRE_KEY_VARIABLES"
SECRET = "AWS_SECRET_ACCESS_KEY"


@pytest.fixture
def allow(monkeypatch):
    """Say what is allowed; nothing at first."""
    monkeypatch.delenv(ALLOWED_VARIABLE, raising=False)
    return lambda text: monkeypatch.setenv(ALLOWED_VARIABLE, text)


@pytest.fixture
def check(tmp_path, monkeypatch):
    """Make the judge of a file that names a key."""

    def load(variable, model="openai/m", base_url=None):
        told = {
            "name": "j",
            "model": model,
            "probability": "stated",
            "api_key_env": variable,
            "base_url": base_url,
        }
        rows = [f"{key}: {json.dumps(value)}" for key, value in told.items() if value is not None]
        path = tmp_path / "judges.yaml"
        path.write_text(
            "schema: voirdire.judges/1\njudges:\n  - " + "\n    ".join(rows), encoding="utf-8"
        )
        monkeypatch.setenv(variable or "OPENAI_API_KEY", "any-key")
        load_judges(path)

    return load


@pytest.mark.edges
@pytest.mark.usefixtures("allow")
@pytest.mark.parametrize("name", HOSTED)
def test_a_providers_own_variable_goes_to_that_provider(check, name):
    base_url, variables = HOSTED[name]

    for variable in variables:
        check(variable, f"{name}/m")
        check(variable, f"{name}/m", base_url)


@pytest.mark.edges
@pytest.mark.usefixtures("allow")
@pytest.mark.parametrize(
    ("variable", "model", "base_url", "place"),
    [
        (SECRET, "openai/m", "https://stranger.example.com/v1", "stranger.example.com"),
        (SECRET, "openai/m", None, "api.openai.com"),
        (SECRET, "vllm/m", None, "localhost:8000"),
        (SECRET, "native/anthropic/m", None, "native/anthropic"),
        ("VOIRDIRE_TOKEN", "openai/m", "https://stranger.example.com", "stranger.example.com"),
        ("OPENAI_API_KEY", "openai/m", "https://stranger.example.com", "stranger.example.com"),
        ("OPENAI_API_KEY", "openai/m", "http://api.openai.com/v1", "http://api.openai.com"),
        ("OPENAI_API_KEY", "openai/m", "https://api.openai.com.x.org", "api.openai.com.x.org"),
        ("OPENAI_API_KEY", "openai/m", "https://xapi.openai.com", "xapi.openai.com"),
        (
            "OPENAI_API_KEY",
            "openai/m",
            "https://[2001:db8::1%.api.openai.com]",
            "[2001:db8::1%.api.openai.com]",
        ),
        ("OPENAI_API_KEY", "mistral/m", None, "api.mistral.ai"),
        ("ANTHROPIC_API_KEY", "native/anthropic/m", "https://a.example.com", "a.example.com"),
        ("COHERE_API_KEY", "native/anthropic/m", None, "native/anthropic"),
    ],
)
def test_any_other_is_refused_with_the_words_that_would_allow_it(
    check, monkeypatch, variable, model, base_url, place
):
    with pytest.raises(InputError, match="got '") as caught:
        check(variable, model, base_url)

    told = str(caught.value)
    assert f"got {variable!r} for {place!r}." in told
    assert told.endswith(f"set {ALLOWED_VARIABLE}={variable}@{place}.")
    monkeypatch.setenv(ALLOWED_VARIABLE, told.rpartition(f"{ALLOWED_VARIABLE}=")[2][:-1])
    if model.startswith("openai/"):
        check(variable, model, base_url)


def test_a_variable_is_allowed_for_its_host_alone(check, allow):
    allow(" MY_KEY@judge.example.com , OTHER@localhost:8000,")

    check("MY_KEY", base_url="https://judge.example.com/v1")
    check("MY_KEY", base_url="https://Judge.Example.com:8443/v1")
    check("OTHER", base_url="http://localhost:8000/v1")
    for variable, base_url in [
        ("MY_KEY", "https://stranger.example.com/v1"),
        ("MY_KEY", "https://judge.example.com.stranger.org/v1"),
        ("MY_KEY", "http://judge.example.com/v1"),  # others on the way could read it
        ("OTHER", "https://judge.example.com/v1"),
        ("OTHER", "http://localhost:8001/v1"),
        ("MY_KEY_2", "https://judge.example.com/v1"),
    ]:
        with pytest.raises(InputError, match=variable):
            check(variable, base_url=base_url)


@pytest.mark.usefixtures("allow")
def test_no_key_is_no_question(check):
    check(None)
    check(None, base_url="https://stranger.example.com/v1")


@pytest.mark.usefixtures("allow")
def test_a_library_that_finds_keys_by_itself_gets_no_address_without_one(check):
    with pytest.raises(InputError, match=r"a file with an address for .* must name the key"):
        check(None, "native/gemini/m", "https://stranger.example.com/v1")


@pytest.mark.parametrize("text", ["MY_KEY", "hunter2hunter2", "MY_KEY@", "@host", "A@b c"])
def test_what_is_no_variable_with_a_host_is_refused_and_not_shown(check, allow, text):
    allow(text)

    with pytest.raises(InputError, match=f"{ALLOWED_VARIABLE} must hold") as caught:
        check(SECRET)

    assert "hunter2" not in str(caught.value)
