"""Requests that overlap before a server that fails: a verdict is right, or says why it is none."""

import asyncio
import random
from collections import Counter

import numpy as np
import pytest

from judging.live.live_cases import KEYS, LATE, items_of, living, probability, until
from servers.faulty import FINAL, UNREADABLE
from voirdire.judging import LlmJudge
from voirdire.models import OpenAICompatibleModel
from voirdire.store import open_store

pytestmark = pytest.mark.slow

PASSING = ("429", "500", "503", "reset", "cut_off", "no_json", "html", "no_choices")
REASONS = {
    LATE,
    "bad request",
    "content filter",
    "refusal by the judge",
    "server error",
    "rate limit",
    "unreadable reply",
    "no access",  # what the call itself met that found the server locked
    "the judge is out of order: AccessError",
    "the judge is out of order: ServerError",  # what a trial met after that
    "the judge is out of order: RateLimitError",
}


def share_of(item, n_before, *, seed):
    """Fail a third of all tries, most of them so that another one helps."""
    chance = random.Random(f"{seed}/{item}/{n_before}")
    if chance.random() > 0.33:
        return "ok"
    return chance.choice(PASSING if chance.random() < 0.8 else (*FINAL, *UNREADABLE))


@pytest.fixture
def server(faulty_server):
    faulty_server.answer = lambda item, key, form: (
        form["enum"][0] if "enum" in form else probability(item, key)
    )
    faulty_server.delay_s = 0.003
    return faulty_server


@pytest.fixture(params=["sqlite", "none"])
def store(request, tmp_path):
    return None if request.param == "none" else tmp_path / "replies.sqlite"


class Requests:
    """Many who ask about the same items, some of whom give up, while the server locks all out."""

    def __init__(self, seed, server):
        self.chance = random.Random(seed)
        self.pool = items_of(400)
        self.answered = Counter()
        self.has_access = True
        server.script = lambda item, n_before: (
            share_of(item, n_before, seed=seed) if self.has_access else "no_access"
        )

    async def ask(self, live, number):
        chance = self.chance
        await asyncio.sleep(number * 0.01)
        items = chance.sample(self.pool, k=chance.randrange(1, 40))
        asking = asyncio.create_task(live.ask(items, deadline_s=chance.choice([0.05, 1.0, 30.0])))
        if chance.random() < 0.2:
            await asyncio.sleep(chance.random() * 0.1)
            asking.cancel()
        (found,) = await asyncio.gather(asking, return_exceptions=True)
        if not isinstance(found, asyncio.CancelledError):
            self.check(items, found)

    def check(self, items, found):
        for item, numbers, why in zip(items, found.probabilities, found.failures, strict=True):
            name = item.id.replace("i", "item-")
            if why is None:
                assert numbers.tolist() == [probability(name, key) for key in KEYS]
                self.answered[name] += 1
            else:
                assert why in REASONS
                # an odd answer fails its question, and the others stand
                for key, number in zip(KEYS, numbers, strict=True):
                    assert np.isnan(number) or number == probability(name, key)

    async def lock_out(self):
        for _ in range(3):
            await asyncio.sleep(0.5)
            self.has_access = False
            await asyncio.sleep(0.2)
            self.has_access = True


async def tried_until_it_works(live):
    """Ask about one new item after another, until one is no trial that finds the judge broken."""
    for number in range(1_000, 1_100):
        await until(lambda: not live.state.is_broken)
        found = await live.ask(items_of(1, start=number))
        if not (found.failures[0] or "").startswith("the judge is out of order"):
            return
    pytest.fail("no trial in a hundred found the server at work")


@pytest.mark.parametrize("seed", [1, 2])
def test_overlapping_requests_get_what_is_right_and_nothing_is_paid_twice(
    seed, server, store, at_once
):
    model = OpenAICompatibleModel(model="test", base_url=server.url)
    judge = LlmJudge(model=model, probability="stated", concurrency=16, max_retries=4)
    requests = Requests(seed, server)

    async def work():
        async with living(judge, store=store, rest_s=0.05) as live:
            everybody = (requests.ask(live, number) for number in range(200))
            await asyncio.gather(*everybody, requests.lock_out())
            await tried_until_it_works(live)
            found = await live.ask(requests.pool, deadline_s=60.0)
            requests.check(requests.pool, found)
        assert LATE not in found.failures
        return live.state

    state = asyncio.run(work())

    assert len(requests.answered) > 300
    assert state.n_waiting == 0
    # whoever has a good reply is not asked about again, whatever became of who asked
    assert max(server.replied.values()) == 1
    assert state.n_calls == pytest.approx(sum(server.served.values()), abs=16)
    if store is not None:
        with open_store(store) as opened:
            (row,) = opened.judges()
            assert sum(1 for _ in opened.scan(row.id)) >= len(server.replied)
