"""A server that is killed in the middle, and one whose judge goes away, over a language model."""

import asyncio
import json
import signal

import aiohttp
import pytest

from servers.faulty import running_faulty_server
from voirdire.judging import LlmJudge
from voirdire.models import OpenAICompatibleModel
from voirdire.records import Item, Message
from web.served import serving, until

pytestmark = pytest.mark.slow

N_ITEMS, N_CLIENTS = 600, 40


def row(number):
    return {"response": f"item-{number} said no", "prompt": "how?", "behavior": "hard_refuse"}


def value(name, key, form):
    """Every item has answers of its own, so that a reward of another one would show."""
    number = int(name.rpartition("-")[2])
    return round((number * 37 + len(key) * 11) % 101 / 100, 2)


def options(model, reward_path, store):
    return (
        *("--reward", reward_path, "--judge", "vllm/m", "--base-url", model.url),
        *("--probability", "stated", "--store", store, "--remembered", 0, "--deadline", 30),
    )


async def ask_all(url, numbers, answered, then=lambda: None):
    """Ask about items on many connections, as long as the server is there."""
    pending = iter(numbers)

    async def work(session):
        for number in pending:
            try:
                async with session.post("/v1/rewards", json={"items": [row(number)]}) as answer:
                    answered.append((number, await answer.json()))
                    then()
            except aiohttp.ClientError:
                return

    async with aiohttp.ClientSession(url) as session:
        await asyncio.gather(*(work(session) for _ in range(N_CLIENTS)))


def right_rewards(reward, model_url):
    """Score the same items with the library, from the same model."""
    judge = LlmJudge(
        model=OpenAICompatibleModel(model="m", base_url=model_url), probability="stated"
    )
    items = [
        Item(
            id=str(number),
            prompt=(Message(role="user", content="how?"),),
            response=row(number)["response"],
            behavior="hard_refuse",
        )
        for number in range(N_ITEMS)
    ]
    return reward.score(items, judge=judge, other_judge=True).rewards.tolist()


def test_killed_three_times_nothing_is_wrong_and_nothing_is_paid_twice(
    safety_reward, reward_path, tmp_path
):
    store = tmp_path / "replies.sqlite"
    with running_faulty_server() as model:
        model.answer, model.delay_s = value, 0.02
        right = right_rewards(safety_reward, model.url)
        model.reset()
        before, after, paid = [], [], {}  # and how often an item had been called when answered
        for place in range(3):
            with serving(*options(model, reward_path, store)) as server:
                until_n = len(before) + N_ITEMS // 4

                def kill_in_the_middle(process=server.process, until_n=until_n):
                    if len(before) == until_n:
                        process.send_signal(signal.SIGKILL)

                numbers = [*range(place * N_ITEMS // 4, N_ITEMS), *range(N_ITEMS)]
                asyncio.run(ask_all(server.url, numbers, before, then=kill_in_the_middle))
                assert server.process.wait(timeout=60) == -signal.SIGKILL
            answered = {f"item-{number}" for number, _ in before}
            paid = {name: model.served[name] for name in answered} | paid
        n_first = model.served.total()
        with serving(*options(model, reward_path, store)) as server:
            asyncio.run(ask_all(server.url, range(N_ITEMS), after))
            figures = server.figures()
            assert server.end() == 143

    assert len(paid) >= N_ITEMS // 2
    for number, answer in [*before, *after]:
        assert answer["rewards"] == [right[number]], (number, answer)
    assert len(after) == N_ITEMS
    # what was answered is stored, and was not called again; only what was under way is
    assert {name: model.served[name] for name in paid} == paid
    assert model.served.total() <= N_ITEMS + 3 * 32
    assert figures['voirdire_items_total{source="stored"}'] >= len(paid)
    assert n_first + figures["voirdire_judge_calls_total"] == model.served.total()


def test_while_the_judge_is_away_rewards_are_missing_and_then_they_come_back(
    safety_reward, reward_path, tmp_path
):
    with running_faulty_server() as model:
        model.answer = value
        right = right_rewards(safety_reward, model.url)
        with serving(*options(model, reward_path, tmp_path / "replies.sqlite")) as server:
            well = server.post([row(0)]).json
            model.script = lambda name, n: "no_access"
            until(lambda: server.post([row(1)]).json["rewards"] == [None])
            down = server.post([row(1), row(0)], deadline_s=30).json
            until(lambda: is_refused(server, row(1)), seconds=60)  # by several calls, not by one
            alive = server.get("/healthz").status
            figures = server.figures()
            model.script = lambda name, n: "ok"
            until(lambda: server.post([row(2)]).json["rewards"] == [right[2]], seconds=120)
            until(lambda: server.get("/readyz").status == 200)
            back = server.post([row(number) for number in range(10)]).json

    assert well["rewards"] == [right[0]]
    assert down["rewards"] == [None, right[0]]  # what is stored needs no judge
    assert down["missing"][0].startswith("failed verdict: ")
    assert alive == 200
    assert figures["voirdire_judge_broken"] == 1
    assert figures['voirdire_rewards_missing_total{reason="failed_verdict"}'] >= 1
    assert [reward for reward in back["rewards"] if reward is not None] == [
        right[number] for number in range(10) if back["rewards"][number] is not None
    ]
    assert back["rewards"][2] == right[2]


def is_refused(server, asked):
    server.post([asked])
    return server.get("/readyz").status == 503


def test_equal_items_of_all_requests_are_asked_about_once(reward_path, tmp_path):
    async def work(url):
        async with aiohttp.ClientSession(url) as session:

            async def ask():
                items = [row(1), row(2), row(1)]
                async with session.post("/v1/rewards", json={"items": items}) as answer:
                    return json.dumps((await answer.json())["rewards"])

            return await asyncio.gather(*(ask() for _ in range(50)))

    with running_faulty_server() as model:
        model.answer, model.delay_s = value, 0.2
        with serving(*options(model, reward_path, tmp_path / "replies.sqlite")) as server:
            found = asyncio.run(work(server.url))

    assert len(set(found)) == 1
    assert "null" not in found[0]
    assert model.served == {"item-1": 1, "item-2": 1}
