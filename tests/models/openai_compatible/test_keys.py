"""Keys: where they come from, and that they are shown nowhere."""

import pickle

import pytest

from voirdire.errors import InputError
from voirdire.models.openai_compatible.keys import Keys, looks_like_key, read_keys

KEY = "sw-ordfish-0123456789"


def test_the_key_and_further_headers_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("SOME_KEY", f" {KEY}\n")
    monkeypatch.setenv("SOME_ORG", "org-1")

    keys = read_keys("SOME_KEY", {"OpenAI-Organization": "SOME_ORG"})

    assert keys.headers() == {"Authorization": f"Bearer {KEY}", "OpenAI-Organization": "org-1"}


def test_without_a_variable_no_key_is_sent():
    assert read_keys(None, {}).headers() == {}


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_key_names_the_variable(monkeypatch, value):
    monkeypatch.delenv("SOME_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SOME_KEY", value)

    with pytest.raises(InputError, match="variable SOME_KEY must hold a key, but it is not set"):
        read_keys("SOME_KEY", {})


def test_a_key_that_could_break_out_of_its_header_is_refused_unseen(monkeypatch):
    monkeypatch.setenv("SOME_KEY", f"{KEY}\r\nX-Evil: 1")

    with pytest.raises(InputError, match="printable ASCII on one line") as caught:
        read_keys("SOME_KEY", {})

    assert KEY not in str(caught.value)


def test_a_key_given_in_place_of_a_variable_is_refused_unseen():
    with pytest.raises(InputError, match="must name environment variables") as caught:
        read_keys(KEY, {})

    assert KEY not in str(caught.value)


@pytest.mark.parametrize("name", ["", "a b", "a\r\nb", "Host", "content-length"])
def test_what_is_no_header_to_set_is_refused(monkeypatch, name):
    monkeypatch.setenv("SOME_VALUE", "x")

    with pytest.raises(InputError, match="`headers` must be names of headers"):
        read_keys(None, {name: "SOME_VALUE"})


def test_keys_are_shown_by_nothing_that_looks_into_objects():
    keys = Keys({"Authorization": f"Bearer {KEY}"})

    shown = [repr(keys), str(keys), repr([keys]), f"{keys}", repr(keys._reveal)]

    assert all(KEY not in text for text in shown)
    with pytest.raises(TypeError, match="do not travel"):
        pickle.dumps(keys)


def test_every_secret_is_hidden_in_a_text():
    keys = Keys({"Authorization": f"Bearer {KEY}", "X-Org": "org-12345"})

    hidden = keys.hide(f"key {KEY}, Bearer {KEY}, org org-12345")

    assert hidden == "key ***, Bearer ***, org ***"


def test_what_looks_like_somebodys_key_is_hidden_too():
    keys = Keys({})

    assert keys.hide("Incorrect API key provided: sk-proj-abc*****wxyz.") == (
        "Incorrect API key provided: ***"
    )
    assert keys.hide("tasks and risk-taking stay") == "tasks and risk-taking stay"


def test_a_value_too_short_to_be_a_secret_does_not_riddle_the_text():
    assert Keys({"X-Tier": "a"}).hide("a banana") == "a banana"


def test_keys_are_told_by_their_looks():
    assert looks_like_key("sk-0123456789abcdef")
    assert not looks_like_key("openai/gpt-4o-mini")


def test_a_word_in_place_of_a_key_may_stand_in_a_reply():
    keys = Keys({"Authorization": "Bearer false", "X-Other": "0123456789abcdef"})

    assert not keys.are_in(b'{"apology": false}')
    assert keys.are_in(b'{"apology": "0123456789abcdef"}')
