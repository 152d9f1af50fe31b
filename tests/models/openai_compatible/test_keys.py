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


def model_with(**settings):
    return OpenAICompatibleModel(model="m", base_url="http://127.0.0.1:9/v1", **settings)


def message(server, words, **settings):
    return str(server.error({"error": words}, status=400, **settings))


@pytest.mark.usefixtures("_some_key")
def test_the_key_comes_from_the_environment(server):
    server.reply(completion("{}"), api_key_env="SOME_KEY")

    assert server.served.headers[-1]["authorization"] == f"Bearer {KEY}"


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
    with pytest.raises(InputError, match="must name an environment variable") as caught:
        model_with(api_key_env=KEY)

    assert KEY not in str(caught.value)


@pytest.mark.usefixtures("_some_key")
def test_a_model_with_a_key_does_not_travel():
    with pytest.raises(TypeError, match="do not travel"):
        pickle.dumps(model_with(api_key_env="SOME_KEY"))


@pytest.mark.usefixtures("_some_key")
def test_the_key_is_hidden_in_a_text(server):
    words = f"key {KEY}, Bearer {KEY}"

    assert "key ***, Bearer ***." in message(server, words, api_key_env="SOME_KEY")


def test_what_looks_like_somebodys_key_is_hidden_too(server):
    words = "Incorrect API key provided: sk-proj-abc*****wxyz, tasks and risk-taking stay"

    assert "provided: ***, tasks and risk-taking stay." in message(server, words)


def test_a_value_too_short_to_be_a_secret_does_not_riddle_the_text(server, monkeypatch):
    monkeypatch.setenv("SOME_KEY", "a")

    assert "a banana" in message(server, "a banana", api_key_env="SOME_KEY")


def test_the_name_of_a_model_does_not_look_like_a_key():
    extra = {"fallback": "openai/gpt-4o-mini"}

    assert model_with(extra=extra).settings["extra"] == extra


def test_a_word_in_place_of_a_key_may_stand_in_a_reply(server, monkeypatch):
    monkeypatch.setenv("SOME_KEY", "false")
    monkeypatch.setenv("OTHER", "0123456789abcdef")

    assert server.reply(completion("false"), asked(), api_key_env="SOME_KEY").text == "false"
    with pytest.raises(ServerError, match="sent a key back"):
        server.reply(completion("0123456789abcdef"), api_key_env="OTHER")
