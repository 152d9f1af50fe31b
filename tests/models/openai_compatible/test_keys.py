"""Keys: where they come from, and that they are shown nowhere."""

import pickle

import pytest

from models.openai_compatible.chat_server import asked, completion
from voirdire.errors import InputError, ServerError
from voirdire.models import OpenAICompatibleModel

KEY = "sw-ordfish-0123456789"


@pytest.fixture
def _some_key(monkeypatch):
    monkeypatch.setenv("SOME_KEY", f" {KEY}\n")
    monkeypatch.setenv("SOME_ORG", "org-12345")
    monkeypatch.setenv("SOME_TIER", "a")


def model_with(**settings):
    return OpenAICompatibleModel(model="m", base_url="http://127.0.0.1:9/v1", **settings)


def message(server, words, **settings):
    return str(server.error({"error": words}, status=400, **settings))


@pytest.mark.usefixtures("_some_key")
def test_the_key_and_further_headers_come_from_the_environment(server):
    organization = {"OpenAI-Organization": "SOME_ORG"}

    server.reply(completion("{}"), api_key_env="SOME_KEY", headers_of_model=organization)

    sent = server.served.headers[-1]
    assert sent["authorization"] == f"Bearer {KEY}"
    assert sent["openai-organization"] == "org-12345"


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_key_names_the_variable(monkeypatch, value):
    monkeypatch.delenv("SOME_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SOME_KEY", value)

    with pytest.raises(InputError, match="variable SOME_KEY must hold a key, but it is not set"):
        model_with(api_key_env="SOME_KEY")


def test_a_key_that_could_break_out_of_its_header_is_refused_unseen(monkeypatch):
    monkeypatch.setenv("SOME_KEY", f"{KEY}\r\nX-Evil: 1")

    with pytest.raises(InputError, match="printable ASCII on one line") as caught:
        model_with(api_key_env="SOME_KEY")

    assert KEY not in str(caught.value)


def test_a_key_given_in_place_of_a_variable_is_refused_unseen():
    with pytest.raises(InputError, match="must name environment variables") as caught:
        model_with(api_key_env=KEY)

    assert KEY not in str(caught.value)


@pytest.mark.usefixtures("_some_key")
@pytest.mark.parametrize("name", ["", "a b", "a\r\nb", "Host", "content-length"])
def test_what_is_no_header_to_set_is_refused(name):
    with pytest.raises(InputError, match="`headers` must be names of headers"):
        model_with(headers={name: "SOME_ORG"})


@pytest.mark.usefixtures("_some_key")
def test_a_model_with_a_key_does_not_travel():
    with pytest.raises(TypeError, match="do not travel"):
        pickle.dumps(model_with(api_key_env="SOME_KEY"))


@pytest.mark.usefixtures("_some_key")
def test_every_secret_is_hidden_in_a_text(server):
    words = f"key {KEY}, Bearer {KEY}, org org-12345"
    settings = {"api_key_env": "SOME_KEY", "headers_of_model": {"X-Org": "SOME_ORG"}}

    assert "key ***, Bearer ***, org ***." in message(server, words, **settings)


def test_what_looks_like_somebodys_key_is_hidden_too(server):
    words = "Incorrect API key provided: sk-proj-abc*****wxyz, tasks and risk-taking stay"

    assert "provided: ***, tasks and risk-taking stay." in message(server, words)


@pytest.mark.usefixtures("_some_key")
def test_a_value_too_short_to_be_a_secret_does_not_riddle_the_text(server):
    assert "a banana" in message(server, "a banana", headers_of_model={"X-Tier": "SOME_TIER"})


def test_the_name_of_a_model_does_not_look_like_a_key():
    extra = {"fallback": "openai/gpt-4o-mini"}

    assert model_with(extra=extra).settings["extra"] == extra


def test_a_word_in_place_of_a_key_may_stand_in_a_reply(server, monkeypatch):
    monkeypatch.setenv("SOME_KEY", "false")
    monkeypatch.setenv("OTHER", "0123456789abcdef")
    secrets = {"api_key_env": "SOME_KEY", "headers_of_model": {"X-Other": "OTHER"}}

    assert server.reply(completion("false"), asked(), **secrets).text == "false"
    with pytest.raises(ServerError, match="sent a key back"):
        server.reply(completion("0123456789abcdef"), **secrets)
