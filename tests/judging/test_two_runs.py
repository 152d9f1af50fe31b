"""Two runs at once on one store pay for few calls twice."""

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import voirdire
from judging.calls.scripted_calls import RUBRIC, reply_of
from voirdire.errors import AccessError
from voirdire.judging import LlmJudge
from voirdire.models import Capabilities
from voirdire.records import Item

ITEMS = [Item(id=f"i{n}", response=f"response {n}") for n in range(400)]


class Slow:
    """A model that takes its time, and counts."""

    name, settings, capabilities = "slow", {}, Capabilities()

    def __init__(self, fault=None, *, n_runs=1):
        self.served, self.fault = [], fault
        self.text = '{"yes": 0.75}'
        self.n_runs, self.loops = n_runs, set()
        self.is_asked = threading.Event()

    async def reply(self, request):
        text = request.messages[-1].content
        self.served.append(text.partition("response ")[2].split()[0].strip('",.'))
        self.is_asked.set()
        self.loops.add(asyncio.get_running_loop())
        # all of them are at work before one gets a reply
        while len(self.loops) < self.n_runs:  # noqa: ASYNC110  # other threads fill it
            await asyncio.sleep(0.002)
        await asyncio.sleep(0.05)
        if self.fault is not None:
            raise self.fault
        return reply_of(self.text, request)

    async def close(self):
        pass


class OneAtATime(Slow):
    """One that gives one sample a call, as it turns out."""

    async def samples(self, request, n):
        return [await self.reply(request)]


def judged(model, items, store, *, probability="stated"):
    judge = LlmJudge(model=model, probability=probability, concurrency=16)
    return voirdire.judge(items, judge=judge, rubric=RUBRIC, store=store)


@pytest.mark.parametrize("order", [1, -1])
def test_each_call_is_made_by_one_of_them(tmp_path, order):
    # two that begin at one end wait for each other's calls: who makes how many is up to them
    model = Slow(n_runs=2 if order == -1 else 1)

    with ThreadPoolExecutor(2) as pool:
        runs = [
            pool.submit(judged, model, items, tmp_path / "replies.sqlite")
            for items in (ITEMS, ITEMS[::order])
        ]
        first, second = (run.result() for run in runs)

    # paid twice is what both have in flight
    assert 400 <= len(model.served) <= 400 + 2 * 16
    assert (first.probabilities == 0.75).all()
    assert (second.probabilities == 0.75).all()


@pytest.mark.ci
def test_samples_that_each_take_a_call_are_seldom_paid_for_twice(tmp_path):
    model = OneAtATime()
    model.text = '{"yes": true}'

    with ThreadPoolExecutor(2) as pool:
        runs = [
            pool.submit(judged, model, ITEMS[:100], tmp_path / "s.sqlite", probability="vote")
            for _ in range(2)
        ]
        first, second = (run.result() for run in runs)

    assert (first.probabilities == 1).all()
    assert (second.probabilities == 1).all()
    assert min(Counter(model.served).values()) == 5
    # paid twice is what is asked about the items that both have in flight
    assert len(model.served) <= 5 * (100 + 2 * 16)


def test_a_run_that_ends_leaves_its_calls_to_the_other(tmp_path):
    failing, working = Slow(AccessError("no key", status=401)), Slow()

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(judged, failing, ITEMS, tmp_path / "replies.sqlite")
        assert failing.is_asked.wait(60)  # else there may be nothing left to ask
        other = pool.submit(judged, working, ITEMS, tmp_path / "replies.sqlite")
        with pytest.raises(AccessError):
            one.result()
        found = other.result()

    assert not np.isnan(found.probabilities).any()
    assert len(working.served) == 400
