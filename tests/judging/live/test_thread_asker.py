"""A judge in this process that hangs, raises or says nonsense costs no more than it must."""

import asyncio
import logging
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clocks import put_forward, run_forward
from judging.live.live_cases import CLOSED, KEYS, LATE, items_of, living, probability, until
from voirdire.judging import ScriptedJudge, judge_items
from voirdire.rubrics import load_rubric

HANGS = "the judge is out of order: 3 calls of it hang"


def right(items):
    return np.array([[probability(item.response, key) for key in KEYS] for item in items])


class Odd(ScriptedJudge):
    """A judge that answers as it is told, and keeps what it was asked about together."""

    def __init__(self, probabilities=None, questions=KEYS):
        super().__init__(questions=questions, answer=lambda item: ())
        self.__dict__["batches"] = []
        self.__dict__["given"] = probabilities or right

    def probabilities(self, items):
        self.batches.append([item.id for item in items])
        return self.given(items)


async def ask(judge, items, **settings):
    async with living(judge, **settings) as live:
        return await live.ask(items)


def test_the_local_judge_says_what_it_says_in_a_run():
    rubric = load_rubric("safety")
    items = items_of(50, behavior="comply")

    async def work():
        async with living("local", rubric=rubric, batch_size=8) as live:
            return await live.ask(items)

    found = asyncio.run(work())

    (batch,) = judge_items(items, "local", rubric=rubric)
    assert np.array_equal(found.probabilities, batch.probabilities)
    assert found.failures == (None,) * 50
    assert found.behaviors == ("comply",) * 50


def test_the_columns_are_those_of_the_rubric_whatever_the_judge_answers_besides():
    judge = Odd(lambda items: np.array([[0.1, 0.2, 0.3]] * len(items)), ("rude", "more", "sorry"))

    found = asyncio.run(ask(judge, items_of(2)))

    assert found.probabilities.tolist() == [[0.3, 0.1]] * 2


def test_requests_that_come_at_once_are_judged_together():
    judge = Odd()

    async def work():
        async with living(judge, batch_size=16) as live:
            return await asyncio.gather(*(live.ask(items_of(1, start=k)) for k in range(40)))

    several = asyncio.run(work())

    assert [len(batch) for batch in judge.batches] == [16, 16, 8]
    assert np.array_equal(
        np.vstack([found.probabilities for found in several]), right(items_of(40))
    )


@pytest.mark.ci
@given(sizes=st.lists(st.integers(0, 40), max_size=8), most=st.integers(1, 12))
@settings(max_examples=20)
def test_each_item_is_judged_once_and_first_come_first_served(sizes, most):
    judge = Odd()

    async def work():
        async with living(judge, batch_size=most) as live:
            requests = [live.ask(items_of(n, start=100 * k)) for k, n in enumerate(sizes)]
            await asyncio.gather(*requests)

    asyncio.run(work())

    taken = [name for batch in judge.batches for name in batch]
    assert taken == [f"i{100 * k + place}" for k, n in enumerate(sizes) for place in range(n)]
    assert max(map(len, judge.batches), default=0) <= most


def test_an_item_that_makes_the_judge_raise_costs_no_other(caplog):
    def given(items):
        for item in items:
            if item.id == "i5":
                raise ValueError(f"it says: {item.response}")
        return right(items)

    judge = Odd(given)
    items = items_of(10)

    found = asyncio.run(ask(judge, items))

    others = [k for k in range(10) if k != 5]
    assert found.failures[5] == "the judge raised ValueError"
    assert {found.failures[k] for k in others} == {None}
    assert np.array_equal(found.probabilities[others], right([items[k] for k in others]))
    assert len(judge.batches) == 1 + 10
    assert "judge me" not in caplog.text
    assert "raise ValueError" in caplog.text  # the place of the bug is told


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_what_would_end_a_thread_ends_a_batch_only(error):
    def given(items):
        if items[0].id == "i0":
            raise error
        return right(items)

    async def work():
        async with living(Odd(given)) as live:
            return await live.ask(items_of(3)), await live.ask(items_of(3, start=5))

    ended, after = asyncio.run(work())

    assert ended.failures == (f"the judge raised {error.__name__}",) * 3
    assert after.failures == (None,) * 3


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ([0.5, float("nan")], "the judge gave no probability"),
        ([0.5, 1.000001], "the judge gave a probability outside [0, 1]"),
        ([-0.1, float("nan")], "the judge gave a probability outside [0, 1]"),
        ([float("inf"), 0.5], "the judge gave a probability outside [0, 1]"),
    ],
)
def test_what_is_no_probability_is_a_failure_of_its_item(row, why):
    def given(items):
        return np.array([row if item.id == "i1" else [0.0, 1.0] for item in items])

    found = asyncio.run(ask(Odd(given), items_of(3)))

    assert found.failures == (None, why, None)
    assert found.probabilities[[0, 2]].tolist() == [[0.0, 1.0]] * 2
    assert np.isnan(found.probabilities[1, 1])
    assert not (found.probabilities[1] > 1).any()


@pytest.mark.parametrize(
    "given",
    [
        lambda items: np.zeros((len(items), 3)),
        lambda items: np.zeros((len(items) + 1, 2)),
        lambda items: np.zeros(2),
        lambda items: None,
        lambda items: 0.5,
    ],
)
def test_probabilities_of_another_shape_are_failures(given):
    found = asyncio.run(ask(Odd(given), items_of(3)))

    why = "the judge gave probabilities of another shape than it was asked for"
    assert found.failures == (why,) * 3
    assert np.isnan(found.probabilities).all()


def test_what_are_no_numbers_at_all_are_failures():
    found = asyncio.run(ask(Odd(lambda items: [["yes", "no"]] * len(items)), items_of(2)))

    assert found.failures == ("the judge raised ValueError",) * 2


class Hanging:
    """Gives what is right, and hangs about some items until it is let go."""

    def __init__(self):
        self.go = threading.Event()
        self.n_inside = 0

    def __call__(self, items):
        if any(int(item.id[1:]) < 10 for item in items):
            self.n_inside += 1
            assert self.go.wait(timeout=60)
            self.n_inside -= 1
        return right(items)


def test_a_judge_that_hangs_is_left_behind_and_another_thread_goes_on(caplog):
    caplog.set_level(logging.WARNING, logger="voirdire")
    hanging = Hanging()

    async def work():
        async with living(Odd(hanging), deadline_s=0.1) as live:
            stuck = await live.ask(items_of(1))
            # behind one that hangs; it is asked when that was left behind
            after = await live.ask(items_of(3, start=20), deadline_s=50.0)
            hanging.go.set()
            return stuck, after

    stuck, after = asyncio.run(work())

    assert stuck.failures == (LATE,)
    assert after.failures == (None,) * 3
    assert "the judge hangs; its thread is abandoned (1 of them now)" in caplog.text


def test_who_still_waits_is_told_that_the_judge_hangs():
    hanging = Hanging()

    async def work():
        async with living(Odd(hanging), deadline_s=0.1) as live:
            started = asyncio.create_task(live.ask(items_of(1), deadline_s=0.15))
            while not live.state.n_calls:  # noqa: ASYNC110  # to ask before anything else happens
                await asyncio.sleep(0)
            found = await live.ask(items_of(1), deadline_s=50.0)
            await started
            hanging.go.set()
            return found

    found = asyncio.run(work())

    assert found.failures[0].startswith("the judge did not answer within 0.")


def test_few_threads_are_left_behind_and_one_that_comes_back_lets_it_go_on():
    hanging = Hanging()

    async def work():
        async with living(Odd(hanging), deadline_s=50.0) as live:
            for number in range(3):
                asking = asyncio.create_task(live.ask(items_of(1, start=number)))
                await until(lambda n=number + 1: hanging.n_inside == n)
                put_forward(101)  # two deadlines: nobody waits, and the thread is given up
                await asking
                await until(lambda: not live.state.n_waiting)
            assert live.state.is_broken
            out = await live.ask(items_of(2, start=20), deadline_s=50.0)
            n_stuck = hanging.n_inside
            hanging.go.set()
            await until(lambda: not live.state.is_broken)
            return out, n_stuck, await live.ask(items_of(2, start=20), deadline_s=50.0)

    out, n_stuck, back = run_forward(work())

    assert n_stuck == 3
    assert out.failures == (HANGS, HANGS)
    assert back.failures == (None, None)


def test_a_judge_that_takes_longer_than_the_deadline_is_waited_for_by_who_has_more_time():
    hanging = Hanging()

    async def work():
        async with living(Odd(hanging), deadline_s=0.02) as live:
            waiting = asyncio.create_task(live.ask(items_of(1), deadline_s=50.0))
            await asyncio.sleep(0.2)
            hanging.go.set()
            return await waiting

    assert asyncio.run(work()).failures == (None,)


def test_the_end_waits_for_what_is_judged_and_not_for_what_hangs():
    hanging = Hanging()
    judge = Odd(hanging)

    async def work():
        async with living(judge, batch_size=2, drain_s=50.0) as live:
            waiting = asyncio.create_task(live.ask(items_of(4)))
            await until(lambda: hanging.n_inside)
            asyncio.get_running_loop().call_later(0.05, hanging.go.set)
        async with living(judge, drain_s=0.05) as live:
            hanging.go.clear()
            stuck = asyncio.create_task(live.ask(items_of(4)))
            await until(lambda: hanging.n_inside)
        hanging.go.set()
        return await waiting, await stuck

    waiting, stuck = asyncio.run(work())

    assert waiting.failures == (None, None, CLOSED, CLOSED)
    assert stuck.failures == (CLOSED,) * 4


def test_no_thread_is_left_after_the_end():
    before = set(threading.enumerate())

    asyncio.run(ask(Odd(), items_of(3)))

    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=10)
        assert not thread.is_alive()
