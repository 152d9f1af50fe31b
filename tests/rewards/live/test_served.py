"""Rewards of a running server: the same as in this process, and as hard to upset."""

import asyncio
import contextlib
import copy
import json
import math
import pickle
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from adapters.patient import patient_judge, patient_settings
from judging.cascade.cascade_cases import Cascades
from rewards.live.trying_judges import Gives, GivesNumber, Hangs, Raises, SomeFail, TryingJudge
from rewards.reward_cases import tiny_judge, tiny_reward
from rewards.training.recorded_runs import rows_in
from servers.reward_server import running
from voirdire.adapters import GuardedReward
from voirdire.errors import InputError, UncertifiedWarning
from voirdire.judging import LiveSettings
from voirdire.rewards import LiveReward, Turn
from voirdire.testing import check_adapter, golden_reward
from voirdire.web import ServerSettings

pytestmark = pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")
TOKEN = "a-token-of-24-characters"


def serving(judge=None, *, reward=None, deadline_s=30.0, port=0, **settings):
    """Serve a reward; gives the address in a context."""
    live = LiveReward(
        golden_reward() if reward is None else reward,
        judge=TryingJudge() if judge is None else judge,
        settings=LiveSettings(deadline_s=deadline_s),
    )
    return running(live, settings=ServerSettings(**settings), port=port)


def asked(address, turns, *, deadline_s=30.0, **settings):
    """Hand turns to a reward that a server gives, and that begins and ends with them."""
    reward = GuardedReward(address, settings=LiveSettings(deadline_s=deadline_s), **settings)
    try:
        return reward.scored(turns)
    finally:
        reward.close()


def answer(reward, n_turns, **changes):
    """Write a right answer about turns without a reward, but for what is changed."""
    names = reward.rubric.propositions
    return {
        "rewards": [None] * n_turns,
        "rule_rewards": [None] * n_turns,
        "base_rewards": [0.0] * n_turns,
        "behaviors": ["refuse"] * n_turns,
        "missing": ["no verdict"] * n_turns,
        "partial": False,
        "n_late": 0,
        "n_remembered": 0,
        "n_stored": 0,
        "seconds": 0.1,
        "reward": {
            "name": "r",
            "content_hash": reward.content_hash,
            "fingerprint": "sha256:1",
        },
        "probabilities": {"propositions": names, "values": [[None] * len(names)] * n_turns},
        **changes,
    }


@contextlib.contextmanager
def answering(reward, *answers, folder):
    """Serve a reward of ours with answers of a stranger's, the last one for ever."""
    reward.save(folder / "served.json")
    described = {"document": json.loads((folder / "served.json").read_text("utf-8"))}
    left = list(answers)

    class Stranger(BaseHTTPRequestHandler):
        def say(self, what):
            body = json.dumps(what).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):  # the name that the library calls
            self.say(described)

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.say(left.pop(0) if len(left) > 1 else left[0])

        def log_message(self, *_):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def turns_of(n_turns, **more):
    return [
        Turn(response=f"no {place}", prompt="how?", behavior="refuse", **more)
        for place in range(n_turns)
    ]


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.fixture(scope="module")
def ask_stranger(tmp_path_factory):
    """Give a way to ask a server about turns, given what it will say of them and of its reward."""
    told = {}
    folder = tmp_path_factory.mktemp("stranger")
    with answering(golden_reward(), told, folder=folder) as address:
        guarded = GuardedReward(address)

        def ask(n_turns, *, about=None, **changes):
            whole = answer(guarded.reward, n_turns, **changes)
            whole["reward"] |= about or {}
            told.clear()
            told.update(whole)
            return guarded.scored(turns_of(n_turns))

        yield ask
        guarded.close()


@pytest.mark.ci
def test_it_gives_the_golden_rewards():
    with serving(patient_judge()) as address:
        reward = GuardedReward(address, settings=patient_settings(), base_column="base_reward")
        check_adapter(lambda turns: reward.scored(turns).rewards, without=("late",))
        reward.close()


@pytest.mark.slow
def test_it_gives_the_golden_rewards_where_one_is_late():
    with serving(patient_judge()) as address:
        reward = GuardedReward(address, settings=patient_settings(), base_column="base_reward")
        check_adapter(lambda turns: reward.scored(turns).rewards)
        reward.close()


@pytest.mark.slow
def test_the_reward_is_the_servers():
    with serving() as address, pytest.warns(UncertifiedWarning):
        model = GuardedReward(address).reward

    assert model.content_hash == golden_reward().content_hash
    assert model.behaviors["refuse"].mean == 1.0


@pytest.mark.ci
def test_everything_is_as_in_this_process_to_the_last_bit():
    rng = np.random.default_rng(0)
    turns = [
        Turn(
            response=f"{p:.17f} {q:.17f}",
            behavior=("refuse", "chat", None, "dance")[place % 4],
            base_reward=None if place % 5 == 0 else float(rng.normal()),
        )
        for place, (p, q) in enumerate(rng.random((200, 2)).tolist())
    ]

    async def here():
        live = LiveReward(tiny_reward(), judge=tiny_judge(), base_column="base_reward")
        await live.start()
        found = await live.turn_rewards(turns)
        await live.close()
        return found

    with serving(tiny_judge(), reward=tiny_reward()) as address:
        there = asked(address, turns, base_column="base_reward")

    own = asyncio.run(here())
    for name in ("rewards", "rule_rewards", "base_rewards"):
        one, other = getattr(there.scores, name), getattr(own.scores, name)
        assert np.array_equal(one, other, equal_nan=True)
    assert dict(there.scores.missing) == dict(own.scores.missing)
    assert there.scores.behaviors == own.scores.behaviors
    assert there.scores.features.keys() == own.scores.features.keys()
    for behavior, features in own.scores.features.items():
        assert np.array_equal(there.scores.features[behavior], features, equal_nan=True)
    assert np.array_equal(there.judged.probabilities, own.judged.probabilities, equal_nan=True)
    assert there.judged.fingerprint == own.judged.fingerprint
    assert np.isfinite(own.scores.rewards).sum() == 80  # two behaviors of four, four bases of five


@pytest.mark.ci
def test_a_reward_that_needs_a_base_reward_gets_it_here():
    reward = tiny_reward(use_base=True)
    turns = [
        Turn(response="1.0 0.0", behavior="chat", base_reward=2.0),
        Turn(response="1.0 0.0", behavior="chat"),
    ]

    with serving(tiny_judge(), reward=reward) as address:
        found = asked(address, turns)

    assert found.rewards == [4.0, None]
    assert found.scores.missing == {"1": "no base reward"}


@pytest.mark.ci
def test_many_turns_go_in_several_requests():
    turns = turns_of(2_500)

    with serving() as address:
        found = asked(address, turns)

    assert found.rewards == [5.0] * 2_500
    assert found.judged.items[-1] == "2499"


@pytest.mark.slow
def test_long_texts_go_in_several_requests():
    turns = [Turn(response=f"{place} " * 450_000, behavior="refuse") for place in range(6)]

    with serving(max_body=3_000_000) as address:
        found = asked(address, turns)

    assert found.rewards == [5.0] * 6


@pytest.mark.ci
def test_a_text_that_is_too_long_for_the_server_spoils_its_own_turn_only():
    turns = [Turn(response="x" * 2_100_000, behavior="refuse"), *turns_of(2)]

    with serving(max_body=2_000_000) as address:
        found = asked(address, turns)

    assert found.rewards == [None, 5.0, 5.0]
    assert found.scores.missing["0"] == "the server gave no reward: bad request"


@pytest.mark.ci
def test_an_empty_batch_asks_nobody():
    with serving() as address:
        reward = GuardedReward(address)

    found = reward.scored([])
    reward.close()

    assert found.rewards == []


@pytest.mark.ci
@pytest.mark.parametrize(
    ("judge", "missing"),
    [
        (Raises(), {0, 1, 2, 3}),
        (SomeFail(), {0, 3}),
        (Gives(given="words"), {0, 1, 2, 3}),
        (Gives(given=np.zeros((4, 2))), {0, 1, 2, 3}),
        (GivesNumber(number=2.0), {0, 1, 2, 3}),
    ],
    ids=["raises", "some", "words", "shape", "outside"],
)
def test_what_the_judge_does_there_is_a_missing_reward_here_for_the_same_reason(judge, missing):
    own = GuardedReward(golden_reward(), judge=judge)
    with serving(judge) as address:
        found = asked(address, turns_of(4))

    here = own.scored(turns_of(4))
    own.close()
    assert {place for place, value in enumerate(found.rewards) if value is None} == missing
    assert found.scores.missing == here.scores.missing
    assert "OPEN SESAME" not in str(found.scores.missing)


@pytest.mark.slow
def test_what_is_there_by_the_deadline_is_given():
    judge = Hangs()
    judge.let_go.set()
    with serving(judge) as address:
        reward = GuardedReward(address, settings=LiveSettings(deadline_s=6.0))
        reward.scored(turns_of(2))
        judge.let_go.clear()
        found = reward.scored(turns_of(3))  # the server tells in nine tenths of the time
        judge.let_go.set()
        reward.close()

    assert found.rewards == [5.0, 5.0, None]
    assert found.n_late == 1


@pytest.mark.ci
def test_a_judge_that_hangs_there_costs_the_deadline_here():
    judge = Hangs()
    with serving(judge) as address:
        reward = GuardedReward(address, settings=LiveSettings(deadline_s=0.3))
        found = reward.scored(turns_of(2))
        reward.close()
        judge.let_go.set()

    assert found.rewards == [None, None]


@pytest.mark.ci
def test_a_server_that_went_away_is_waited_for_until_the_deadline_and_no_longer():
    with serving() as address:
        reward = GuardedReward(address, settings=LiveSettings(deadline_s=0.5))
        before = reward.scored(turns_of(2), deadline_s=30.0)

    found = [reward.scored(turns_of(2)), asyncio.run(reward.ascored(turns_of(2)))]
    reward.close()

    assert before.rewards == [5.0, 5.0]
    assert [one.rewards for one in found] == [[None, None]] * 2
    assert "the server gave no reward" in found[0].scores.missing["0"]
    figures = [reward.step_metrics(one, turns_of(2)).keys() for one in (before, *found)]
    assert figures[0] == figures[1] == figures[2]


@pytest.mark.slow
def test_a_server_that_comes_back_within_the_deadline_is_asked_again():
    port = free_port()
    with serving(port=port) as address:
        reward = GuardedReward(address, settings=LiveSettings(deadline_s=30.0))
        reward.scored(turns_of(1))
    ready, done = threading.Event(), threading.Event()

    def come_back():
        ready.wait(30)
        with serving(port=port):
            done.wait(30)

    thread = threading.Thread(target=come_back)
    thread.start()
    threading.Timer(0.3, ready.set).start()
    found = reward.scored(turns_of(2))
    reward.close()
    done.set()
    thread.join(30)

    assert found.rewards == [5.0, 5.0]


@pytest.mark.ci
def test_a_fingerprint_of_the_server_is_taken(ask_stranger):
    fingerprint = "sha256:" + "0a" * 32

    found = ask_stranger(1, about={"fingerprint": fingerprint})

    assert found.judged.fingerprint == fingerprint


@pytest.mark.ci
def test_it_says_which_judge_of_a_cascade_each_item_came_to():
    reward = tiny_reward()
    responses = ["0.01 0.99 a", "0.5 0.5 b", "0.5 none c", "0.99 0.01 d"]
    turns = [Turn(response=said, behavior="refuse") for said in responses]
    turns.insert(2, Turn(response=None, behavior="refuse"))  # nobody can be asked about it

    with serving(Cascades().cascade(), reward=reward) as address:
        found = asked(address, turns)
    with serving(tiny_judge(), reward=reward) as address:
        by_one = asked(address, turns[:1])

    assert found.answered_by == ("quick", "scripted", None, "scripted", "quick")
    assert by_one.answered_by is None


@pytest.mark.ci
def test_a_server_with_another_reward_pays_nothing(ask_stranger):
    found = ask_stranger(1, rule_rewards=[1.5], about={"content_hash": "sha256:0"})

    assert found.rewards == [None]
    assert found.scores.missing["0"] == "the server has another reward by now"


@pytest.mark.ci
def test_a_token_comes_from_the_environment_and_is_shown_nowhere(monkeypatch, caplog):
    monkeypatch.setenv("VOIRDIRE_TOKEN", TOKEN)
    with serving(token=TOKEN) as address:
        reward = GuardedReward(address)
        found = reward.scored(turns_of(2))
        shown = (
            f"{vars(reward)!r} {[vars(task.result()) for task in reward._live._started.values()]!r}"
        )
        parcel = pickle.dumps(reward)
        twins = [pickle.loads(parcel), copy.deepcopy(reward)]
        again = [twin.scored(turns_of(2)) for twin in twins]
        for one in (reward, *twins):
            one.close()

    assert found.rewards == again[0].rewards == again[1].rewards == [5.0, 5.0]
    assert TOKEN not in shown
    assert TOKEN.encode() not in parcel
    assert TOKEN not in caplog.text


@pytest.mark.ci
def test_a_wrong_token_is_a_mistake_at_once(monkeypatch):
    monkeypatch.setenv("VOIRDIRE_TOKEN", "another-token-of-yours")
    with serving(token=TOKEN) as address, pytest.raises(InputError, match="VOIRDIRE_TOKEN") as told:
        GuardedReward(address)

    assert "another-token" not in f"{told.value!r} {told.value.__cause__!r}"


@pytest.mark.slow
def test_a_token_that_is_changed_later_is_a_missing_reward(monkeypatch):
    monkeypatch.setenv("VOIRDIRE_TOKEN", TOKEN)
    with serving(token=TOKEN) as address:
        reward = GuardedReward(address)
        monkeypatch.setenv("VOIRDIRE_TOKEN", "another-token-of-yours")
        stale = pickle.loads(pickle.dumps(reward))
        found = stale.scored(turns_of(1))
        stale.close()

    assert found.rewards == [None]
    assert found.scores.missing["0"] == "the server gave no reward: no access"


@pytest.mark.ci
def test_no_server_is_a_mistake_at_once():
    with pytest.raises(InputError, match="must be the address of a running `voirdire serve`"):
        GuardedReward(f"http://127.0.0.1:{free_port()}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [{"judge": "local"}, {"store": "x.sqlite"}, {"center": True}, {"other_judge": True}]
)
def test_what_the_server_decides_is_not_asked_for_here(settings):
    with serving() as address, pytest.raises(InputError, match="must be left out where `reward`"):
        GuardedReward(address, **settings)


@pytest.mark.ci
def test_turns_that_are_none_are_not_sent():
    turns = [Turn(response=None, behavior="refuse"), Turn(response=5), *turns_of(1)]

    with serving() as address:
        found = asked(address, turns)

    assert found.rewards == [None, None, 5.0]
    assert "neither text nor messages" in found.scores.missing["0"]


@pytest.mark.ci
@pytest.mark.parametrize(
    "response",
    [
        "half \ud83d",
        "null \x00",
        "",
        [{"role": "assistant", "content": "no"}],
        np.array([{"role": "assistant", "content": "no"}]),
        np.str_("no"),
        [{"role": "assistant", "content": "no", "tool_calls": [{"a": {1, 2}, "b": math.nan}]}],
    ],
    ids=lambda value: type(value).__name__,
)
def test_strange_responses_arrive(response):
    prompt = np.array([{"role": "user", "content": "how?"}])

    with serving() as address:
        found = asked(address, [Turn(response=response, prompt=prompt, behavior="refuse")])

    assert found.rewards == [5.0]


@pytest.mark.slow
def test_the_default_behavior_of_the_server_counts_where_there_is_none():
    with serving(behavior="refuse") as address:
        found = asked(address, [Turn(response="no")])

    assert found.rewards == [5.0]
    assert found.scores.behaviors == ("refuse",)


@pytest.mark.slow
def test_it_may_be_made_in_an_event_loop():
    async def train(address):
        reward = GuardedReward(address)
        found = await reward.ascored(turns_of(2))
        await asyncio.to_thread(reward.close)
        return found

    with serving() as address:
        found = asyncio.run(train(address))

    assert found.rewards == [5.0, 5.0]


@pytest.mark.ci
def test_a_run_is_recorded_here(tmp_path):
    with serving() as address:
        reward = GuardedReward(address, record=tmp_path / "run")
        reward.scored(turns_of(3), step=0)
        reward.close()

    assert [row["reward"] for row in rows_in(tmp_path / "run")] == [5.0] * 3
