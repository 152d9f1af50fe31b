"""What a live judge promises, whoever stands behind it."""

import asyncio
import random
import threading

import msgspec
import numpy as np
import pytest

from judging.live.live_cases import (
    CLOSED,
    KEYS,
    LATE,
    TOO_MANY,
    Live,
    Script,
    asked,
    items_of,
    judge_of,
    living,
    probability,
    until,
)
from voirdire.errors import InputError, RefusalError
from voirdire.judging import LiveSettings, ScriptedJudge


def in_process(answer=None, **settings):
    """Make a judge that is called like a function."""
    answer = answer or (lambda item: [probability(item.response, key) for key in KEYS])
    return ScriptedJudge(questions=KEYS, answer=answer, **settings)


class Held:
    """A function that waits until it is let go, and counts."""

    def __init__(self):
        self.go = threading.Event()
        self.asked = []

    def __call__(self, item):
        self.asked.append(item.id)
        assert self.go.wait(timeout=60)
        return [probability(item.response, key) for key in KEYS]


def expected(items):
    return np.array([[probability(item.response, key) for key in KEYS] for item in items])


def test_no_items_are_no_verdicts():
    found = asyncio.run(asked(in_process(), []))

    assert found.probabilities.shape == (0, 2)
    assert found.failures == ()


def test_equal_items_are_asked_about_once_in_a_request_and_in_several_at_once():
    script = Script()
    items = items_of(3)
    others = [msgspec.structs.replace(item, id=f"again {item.id}") for item in items]

    async def work():
        async with living(judge_of(script)) as live:
            return await asyncio.gather(*(live.ask([*items, *others]) for _ in range(5)))

    several = asyncio.run(work())

    assert set(script.seen.values()) == {1}
    assert script.n_calls == 3
    assert all(
        np.array_equal(found.probabilities[:3], found.probabilities[3:]) for found in several
    )
    assert len({found.probabilities.tobytes() for found in several}) == 1


@pytest.mark.ci
def test_who_asks_in_the_moment_of_the_answer_gets_it_and_nothing_is_called_again():
    async def calls(n_steps):
        """Ask, and ask again so many steps of the event loop later."""
        script = Script()
        async with living(judge_of(script)) as live:
            first = asyncio.create_task(live.ask(items_of(1)))
            for _ in range(n_steps):
                await asyncio.sleep(0)
            was_told = first.done()
            second = await live.ask(items_of(1))
            assert second.probabilities.tolist() == (await first).probabilities.tolist()
        return script.n_calls, was_told

    found = [asyncio.run(calls(n_steps)) for n_steps in range(60)]

    assert {was_told for _, was_told in found} == {False, True}
    assert {n_calls for n_calls, _ in found} == {1}


def test_answers_are_remembered_and_failures_are_not():
    answers = iter([float("nan"), 0.5, 0.25])
    judge = in_process(lambda item: [next(answers), 0.5])
    (item,) = items_of(1)

    async def work():
        async with living(judge) as live:
            return [await live.ask([item]) for _ in range(3)]

    first, second, third = asyncio.run(work())

    assert first.failures == ("the judge gave no probability",)
    assert np.isnan(first.probabilities[0, 0])
    assert second.failures == (None,)
    assert (second.n_remembered, third.n_remembered) == (0, 1)
    assert third.probabilities.tolist() == second.probabilities.tolist() == [[0.5, 0.5]]


def test_an_item_is_another_where_its_behavior_is_another():
    script = Script()
    items = [*items_of(1, behavior="comply"), *items_of(1, behavior="decline")]
    items[1] = msgspec.structs.replace(items[1], id="other")

    found = asyncio.run(asked(judge_of(script), items))

    assert found.behaviors == ("comply", "decline")
    assert script.n_calls == 1  # the model is shown no behavior


def test_what_was_used_longest_ago_is_forgotten_first():
    script = Script()
    a, b, c = ([item] for item in items_of(3))

    async def work():
        async with living(judge_of(script), remembered=2) as live:
            for asked in (a, b, a, c):
                await live.ask(asked)
            return [(await live.ask(asked)).n_remembered for asked in (a, c, b)]

    assert asyncio.run(work()) == [1, 1, 0]


def test_a_request_past_its_deadline_gets_what_there_is_and_the_rest_comes_for_the_next():
    held = Held()
    held.go.set()
    judge = in_process(held)
    known, new = items_of(2), items_of(1, start=9)

    async def work():
        async with living(judge) as live:
            await live.ask(known)
            held.go.clear()
            late = await live.ask([known[0], *new, known[1]], deadline_s=0.05)
            held.go.set()
            return late, await live.ask(new)

    late, later = asyncio.run(work())

    assert late.failures == (None, LATE, None)
    assert late.n_late == 1
    assert np.array_equal(late.probabilities[[0, 2]], expected(known))
    assert np.isnan(late.probabilities[1]).all()
    assert np.array_equal(later.probabilities, expected(new))
    assert held.asked.count("i9") == 1


def test_more_than_may_wait_fails_at_once_and_only_that():
    held = Held()

    async def work():
        async with living(in_process(held), most_waiting=3) as live:
            waiting = asyncio.create_task(live.ask(items_of(3)))
            await until(lambda: held.asked)
            # one that is waited for already takes no more room
            mixed = asyncio.create_task(live.ask(items_of(5)))
            refused = await live.ask(items_of(2, start=7))
            held.go.set()
            return await waiting, await mixed, refused, await live.ask(items_of(2, start=7))

    waiting, mixed, refused, again = asyncio.run(work())

    assert refused.failures == (TOO_MANY, TOO_MANY)
    assert mixed.failures == (None, None, None, TOO_MANY, TOO_MANY)
    assert waiting.failures == (None,) * 3
    assert again.failures == (None, None)


def test_what_nobody_waits_for_makes_room():
    held = Held()

    async def work():
        async with living(in_process(held), most_waiting=4, batch_size=1) as live:
            late = await live.ask(items_of(4), deadline_s=0.05)
            wanted = asyncio.create_task(live.ask(items_of(2, start=10)))
            await asyncio.sleep(0.05)
            held.go.set()
            return late, await wanted

    late, wanted = asyncio.run(work())

    assert late.failures == (LATE,) * 4
    assert wanted.failures == (None, None)
    # the first was begun; nobody waits for the three behind it, and there is no room for them
    assert held.asked == ["i0", "i10", "i11"]


@pytest.mark.parametrize("kind", ["model", "function"])
def test_close_leaves_nobody_waiting_and_asking_after_it_fails(kind):
    held = Held()
    script = Script(delay_s=60.0)  # longer than anybody waits
    judge = judge_of(script) if kind == "model" else in_process(held)

    async def work():
        async with living(judge, drain_s=0.0) as live:
            waiting = asyncio.create_task(live.ask(items_of(5)))
            await until(lambda: live.state.n_calls > 0)
        held.go.set()
        closed = await live.ask(items_of(2))
        await live.close()
        with pytest.raises(RuntimeError, match="cannot start again"):
            await live.start()
        return await asyncio.wait_for(waiting, timeout=50), closed

    waiting, closed = asyncio.run(work())

    assert waiting.failures == (CLOSED,) * 5
    assert closed.failures == (CLOSED,) * 2
    assert np.isnan(closed.probabilities).all()


def test_started_twice_it_is_started_once_and_closed_before_it_starts_it_asks_nobody():
    script = Script()

    async def work():
        live = Live(judge_of(script))
        await asyncio.gather(live.start(), live.start())
        await live.start()
        found = await live.ask(items_of(1))
        await live.close()
        never = Live(judge_of(script))
        await never.close()
        with pytest.raises(RuntimeError, match="cannot start again"):
            await never.start()
        return found, await never.ask(items_of(1))

    found, never = asyncio.run(work())

    assert found.failures == (None,)
    assert never.failures == (CLOSED,)
    assert script.n_calls == 1


def test_a_judge_that_is_not_started_cannot_be_asked():
    live = Live(in_process())

    with pytest.raises(RuntimeError, match="must be started before it is asked"):
        asyncio.run(live.ask(items_of(1)))


def test_another_event_loop_than_the_one_it_started_in_is_refused():
    live = Live(in_process())
    asyncio.run(live.start())

    for use in (live.ask(items_of(1)), live.start(), live.close()):
        with pytest.raises(RuntimeError, match="belongs to the event loop in which it was started"):
            asyncio.run(use)


@pytest.mark.parametrize("deadline_s", [0, -1.0, float("nan"), float("inf"), "soon", True])
def test_a_deadline_is_a_number_of_seconds(deadline_s):
    async def work():
        async with living(in_process()) as live:
            await live.ask(items_of(1), deadline_s=deadline_s)

    with pytest.raises(InputError, match="`deadline_s` must be a finite number of seconds above 0"):
        asyncio.run(work())


@pytest.mark.parametrize("drain_s", [-1, float("nan"), "long"])
def test_what_is_waited_for_at_the_end_is_a_number_of_seconds(drain_s):
    live = Live(in_process())

    with pytest.raises(InputError, match="`drain_s` must be a finite number of seconds"):
        asyncio.run(live.close(drain_s=drain_s))


@pytest.mark.edges
@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_each_request_ends_and_each_verdict_is_right(seed, run):
    """Requests that overlap, give up and come again, over a model that fails, hangs and raises."""
    chance = random.Random(seed)
    script = Script(delay_s=0.5)
    faults = {
        number: chance.choice(["raise", "refuse", "say"]) for number in range(60) if number % 5 == 0
    }

    def fault(response):
        number = int(response.partition("-")[2].partition(",")[0])
        return {
            None: None,
            "raise": KeyError("secret"),
            "refuse": RefusalError("no"),
            "say": "nothing that can be read",
        }[faults.get(number)]

    script.fault = fault
    pool = items_of(60)

    async def request(live):
        await asyncio.sleep(chance.random() * 20)
        items = chance.sample(pool, k=chance.randrange(1, 12))
        task = asyncio.create_task(live.ask(items, deadline_s=0.2 + chance.random() * 10))
        if chance.random() < 0.3:
            await asyncio.sleep(chance.random())
            task.cancel()
        try:
            return items, await task
        except asyncio.CancelledError:
            return items, None

    async def work():
        async with living(judge_of(script), most_waiting=40, drain_s=0.3) as live:
            done = await asyncio.gather(*(request(live) for _ in range(60)))
            assert live.state.n_waiting >= 0
            return done

    for items, found in run(work()):
        for row, item in enumerate(items if found is not None else ()):
            number = int(item.id[1:])
            if found.failures[row] is None:
                salt = "None/sorry"
                right = [probability(item.response, key, salt) for key in KEYS]
                assert found.probabilities[row].tolist() == right
                assert number not in faults
            else:
                assert np.isnan(found.probabilities[row]).all()
                assert found.failures[row] in {
                    LATE,
                    TOO_MANY,
                    "the judge raised KeyError",
                    "refusal by the judge",
                    "unreadable reply",
                }


def test_settings_say_how_a_judge_behaves():
    with pytest.raises(InputError, match="`most_waiting`"):
        LiveSettings(most_waiting=0)
    with pytest.raises(InputError, match="`remembered`"):
        LiveSettings(remembered=-1)
    with pytest.raises(InputError, match="`rest_s` must be a finite number of seconds above 0"):
        LiveSettings(rest_s=0)
