"""A reward's judge, in words and made again from them."""

import dataclasses
import json
import os
import socketserver
import threading

import pytest

from rewards.reward_cases import tiny_judge, tiny_reward, tiny_rubric
from voirdire.errors import InputError, ModelCallError
from voirdire.judging import LlmJudge, load_local_judge
from voirdire.models import load_model
from voirdire.records import Item
from voirdire.rewards import LiveReward, RewardJudge, load_reward, reward_of_weights, score_file


def paid_by(judge):
    """Give a reward that takes the verdicts of one judge and of no other."""
    rubric = tiny_rubric()
    return reward_of_weights({"refuse": {"sorry": 1}}, rubric=rubric, judge=judge, bound=True)


def described_as(**made_by):
    """Give a reward whose judge is described so, as in a file of a stranger's."""
    return dataclasses.replace(tiny_reward(), judge=RewardJudge(name="x", made_by=made_by))


def ready(reward, judge=None):
    """Make everything ready to ask a judge; nothing is called."""
    return LiveReward(reward, judge=judge)


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
    )

    reward = paid_by(asked)
    again = ready(reward, "own")  # which would raise if it were another

    assert again.judge_fingerprint == ready(reward, asked).judge_fingerprint
    assert reward.judge.name == "mini"
    assert "sk-this" not in json.dumps(dict(reward.judge.made_by))
    with pytest.raises(InputError, match="judge"):
        ready(reward, dataclasses.replace(asked, seed=8))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("llamacpp/qwen2.5-7b", {}),
        ("vllm/some/model", {"base_url": "http://localhost:9999/v1"}),
        ("openai/x", {"base_url": "http://localhost:9999/v1", "extra": {"top_k": 3}}),
        ("my-model", {"base_url": "http://localhost:9999/v1"}),
    ],
)
def test_models_of_other_servers_are_made_again(name, settings):
    asked = LlmJudge(model=load_model(name, **settings), probability="stated")

    reward = paid_by(asked)

    assert ready(reward, "own").judge_fingerprint == ready(reward, asked).judge_fingerprint


def test_another_setting_of_the_judge_is_named_and_an_address_is_none_where_it_has_a_name():
    def asked(port, **settings):
        where = {"model": "m", "base_url": f"http://me.test:{port}/v1"}
        return LlmJudge(probability="stated", **where | settings)

    reward, served = paid_by(asked(1)), paid_by(asked(1, served_as="ours"))

    with pytest.raises(InputError, match="'m' with `mode` 'single' instead of 'joint', `base_url`"):
        ready(reward, asked(2, mode="single"))
    assert ready(served, asked(2, served_as="ours"))
    with pytest.raises(InputError, match=r"no address.*the language model 'm' at 'ours'"):
        ready(served, "own")


@pytest.mark.ci
def test_a_name_and_a_path_stay_as_they_were_typed(tmp_path):
    load_local_judge("local").save(tmp_path / "mine.npz")
    weights = {"hard_refuse": {"apology": 1}}

    named, kept = (
        reward_of_weights(weights, rubric="safety", judge=judge)
        for judge in ("local", tmp_path / "mine.npz")
    )

    assert dict(named.judge.made_by) == {"judge": "local"}
    assert dict(kept.judge.made_by) == {"judge": str(tmp_path / "mine.npz")}
    # the judge that ships with voirdire is asked without a word, and a file by wish alone
    assert ready(named).judge_fingerprint == ready(kept, "own").judge_fingerprint
    with pytest.raises(InputError, match="which would be opened"):
        ready(kept)


def test_a_judge_of_the_callers_own_cannot_be_made_again():
    reward = paid_by(tiny_judge())

    assert dict(reward.judge.made_by) == {}
    with pytest.raises(InputError, match="'scripted' cannot be made again"):
        ready(reward)


@pytest.mark.parametrize("model", [{"api_key_env": "HOME"}, {"reads_keys": True}, "y"])
def test_a_file_cannot_have_variables_of_this_machine_sent_anywhere(model):
    with pytest.raises(InputError, match="settings that a judge has"):
        ready(described_as(judge="llamacpp/x", model=model), "own")


def test_an_address_for_a_library_that_finds_keys_by_itself_is_refused():
    model = {"base_url": "https://stranger.example"}

    with pytest.raises(InputError, match=r"finds keys by itself.*stranger\.example"):
        ready(described_as(judge="native/vertexai/gemini-2.5-flash", model=model), "own")


@pytest.mark.parametrize("made_by", [{"judge": 7}, {"judge": ""}, {"model": {}}])
def test_a_damaged_description_is_an_error(made_by):
    with pytest.raises(InputError, match="`judge` must be given"):
        ready(described_as(**made_by))


@pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")
def test_the_description_survives_the_file(tmp_path):
    reward = paid_by(LlmJudge(model=load_model("llamacpp/q"), probability="stated"))

    reward.save(tmp_path / "r.json")
    found = load_reward(tmp_path / "r.json")

    assert ready(found, "own").judge_fingerprint == ready(reward, "own").judge_fingerprint


class Listening(socketserver.TCPServer):
    """Somebody's server, which keeps what it is sent."""

    def __init__(self):
        self.heard = []
        super().__init__(("127.0.0.1", 0), Hearing)


class Hearing(socketserver.BaseRequestHandler):
    def handle(self):
        self.server.heard.append(self.request.recv(65_536))


@pytest.fixture
def stranger():
    """Give a server that a stranger wrote into a reward."""
    with Listening() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()


ITEMS = [Item(id="a", response="a private text", behavior="refuse")]


def sent_to(stranger, folder, **model):
    """Give the reward of a stranger, as it is read from a file, who would like to be sent texts."""
    address = f"http://127.0.0.1:{stranger.server_address[1]}/v1"
    made_by = {"judge": "openai/gpt-4o-mini", "probability": "stated"}
    judge = RewardJudge(name="x", made_by=made_by | {"model": {"base_url": address} | model})
    dataclasses.replace(tiny_reward(), judge=judge).save(folder / "r.json")
    return load_reward(folder / "r.json")


@pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")
def test_a_strangers_reward_sends_nothing_anywhere(stranger, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-this-is-no-key-of-anybody")
    reward = sent_to(stranger, tmp_path)
    items = tmp_path / "items.jsonl"
    items.write_text('{"id": "a", "response": "a private text", "behavior": "refuse"}\n')

    for ask in (
        lambda: reward.score(ITEMS),
        lambda: score_file(items, tmp_path / "r.jsonl", reward=tmp_path / "r.json"),
        lambda: score_file(items, "-", reward=reward),
    ):
        with pytest.raises(InputError, match="which would be sent every text"):
            ask()

    assert stranger.heard == []
    assert not (tmp_path / "r.jsonl").exists()


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")
def test_even_a_wish_sends_no_key_to_a_host_that_it_was_not_made_for(
    stranger, tmp_path, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-this-is-no-key-of-anybody")
    reward = sent_to(stranger, tmp_path)

    with pytest.raises(ModelCallError):  # the server only listens
        reward.score(ITEMS, judge="own")

    assert b"a private text" in b"".join(stranger.heard)
    assert b"sk-this" not in b"".join(stranger.heard)


def test_a_strangers_reward_opens_no_file(tmp_path):
    judge = RewardJudge(name="x", made_by={"judge": str(tmp_path / "pipe")})
    os.mkfifo(tmp_path / "pipe")  # whoever opens it waits
    reward = dataclasses.replace(tiny_reward(), judge=judge)

    with pytest.raises(InputError, match="which would be opened"):
        reward.score(ITEMS)


@pytest.mark.parametrize(
    "name", ["transformers/stranger/model", "native/anthropic/x", "llamacpp/q", "ollama/q", "own"]
)
def test_no_description_but_the_bundled_judge_is_followed_without_a_wish(name):
    with pytest.raises(InputError, match="no reward may decide that by itself"):
        ready(described_as(judge=name))


def test_a_password_in_an_address_is_not_shown():
    model = {"base_url": "http://me:hunter2@host/v1?key=hunter3"}
    reward = described_as(judge="openai/x", model=model)

    with pytest.raises(InputError, match="at 'host/v1'") as caught:
        ready(reward)
    with pytest.raises(InputError, match="must hold no password") as second:
        ready(reward, "own")

    assert "hunter" not in str(caught.value) + str(second.value)
