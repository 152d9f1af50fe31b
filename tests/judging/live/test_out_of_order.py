"""A judge out of order says so at once, rests, and is tried again: over real HTTP where it can."""

import asyncio
import logging
import socket
import sqlite3
from contextlib import contextmanager

import numpy as np
import pytest
from aiohttp import web

from clocks import put_forward, run_forward
from judging.live.live_cases import (
    LATE,
    Script,
    asked,
    items_of,
    judge_of,
    living,
    until,
)
from servers.faulty import FaultyServer
from voirdire.errors import AccessError, RateLimitError
from voirdire.judging import LlmJudge, Price
from voirdire.models import OpenAICompatibleModel
from voirdire.records import Reply, Usage
from voirdire.testing import ScriptedModel

ACCESS = "the judge is out of order: AccessError"
AWAY = "the judge is out of order: ServerError"
SPENT = "the judge has spent its `max_cost`"
SECRET = "sk-this-is-a-secret"


@pytest.fixture
def told(caplog):
    """Give what was logged."""
    caplog.set_level(logging.WARNING, logger="voirdire")
    return lambda: [record.getMessage() for record in caplog.records]


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def judge_at(url, **settings):
    return LlmJudge(
        model=OpenAICompatibleModel(model="test", base_url=url),
        probability="stated",
        **settings,
    )


def answers(server):
    server.answer = lambda item, key, form: form["enum"][0] if "enum" in form else 0.25


def test_no_access_fails_everything_at_once_and_a_server_that_gives_it_again_is_found(
    faulty_server, told, key
):
    answers(faulty_server)
    faulty_server.script = lambda item, n_before: "no_access"
    judge = judge_at(faulty_server.url, concurrency=4)

    async def work():
        async with living(judge, rest_s=50.0) as live:
            first = await live.ask(items_of(200))
            n_refused = faulty_server.served.total()
            resting = await live.ask(items_of(200, start=200))
            states = [live.state]
            n_resting = faulty_server.served.total()
            put_forward(51)
            states.append(live.state)
            trial = await live.ask(items_of(50))
            n_trial = faulty_server.served.total()
            faulty_server.script = lambda item, n_before: "ok"
            put_forward(61)
            found = await live.ask(items_of(50))
            mended = await live.ask(items_of(50))
            states.append(live.state)
            return first, resting, trial, found, mended, states, (n_refused, n_resting, n_trial)

    first, resting, trial, found, mended, states, counts = run_forward(work())

    assert set(first.failures) == set(resting.failures) == set(trial.failures) == {ACCESS}
    n_refused, n_resting, n_trial = counts
    assert 1 <= n_refused <= 4
    assert n_resting == n_refused
    assert n_trial == n_refused + 1  # one call alone tries it
    assert found.failures == (None, *(ACCESS,) * 49)  # nobody else waits for what it finds
    assert mended.failures == (None,) * 50
    assert [state.is_broken for state in states] == [True, False, False]
    assert states[-1].n_calls == faulty_server.served.total()
    assert [line for line in told() if "order" in line] == [f"{ACCESS} (HTTP 401)"] * 2
    assert "the judge works again" in told()


def test_what_is_stored_is_given_while_the_judge_rests(faulty_server, tmp_path):
    answers(faulty_server)
    judge = judge_at(faulty_server.url)
    store = tmp_path / "replies.sqlite"
    known = items_of(10)
    asyncio.run(asked(judge, known, store=store))
    faulty_server.script = lambda item, n_before: "no_access"

    async def work():
        async with living(judge, store=store, rest_s=60.0, remembered=0) as live:
            await live.ask(items_of(1, start=50))
            return await live.ask([*known, *items_of(3, start=60)])

    found = asyncio.run(work())

    assert found.failures == (None,) * 10 + (ACCESS,) * 3
    assert found.n_stored == 10


@contextmanager
def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


async def serving(server, port):
    """Serve at a port from now on; give what ends it."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.completions)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, reuse_address=True).start()
    return runner


def test_a_server_that_is_not_there_yet_is_found_when_it_is():
    server = FaultyServer()
    answers(server)
    with free_port() as port:
        pass
    judge = judge_at(f"http://127.0.0.1:{port}/v1")

    async def work():
        async with living(judge, rest_s=50.0) as live:
            away = await live.ask(items_of(20))
            resting = await live.ask(items_of(20))
            runner = await serving(server, port)
            put_forward(51)
            trial = await live.ask(items_of(20))
            there = await live.ask(items_of(20))
            await live.close()
            await runner.cleanup()
            return away, resting, trial, there

    away, resting, trial, there = run_forward(work())

    assert set(away.failures) == set(resting.failures) == {AWAY}
    assert trial.failures == (None, *(AWAY,) * 19)
    assert there.failures == (None,) * 20
    assert set(server.served.values()) == {1}


def test_a_server_that_fails_for_long_lets_the_judge_rest(
    at_once, faulty_server, tmp_path, ends_after
):
    answers(faulty_server)
    faulty_server.script = lambda item, n_before: "500"
    ends_after(3)

    async def work():
        judge = judge_at(faulty_server.url, max_retries=1, concurrency=2)
        async with living(judge, store=tmp_path / "replies.sqlite", rest_s=50.0) as live:
            found = await live.ask(items_of(40))
            n_calls = faulty_server.served.total()
            put_forward(51)
            trial = await live.ask(items_of(40, start=100))
            n_trial = faulty_server.served.total()
            faulty_server.script = lambda item, n_before: "ok"
            put_forward(61)
            await live.ask(items_of(1, start=200))
            return found, trial, await live.ask(items_of(40, start=100)), n_calls, n_trial

    found, trial, mended, n_calls, n_trial = run_forward(work())

    assert set(found.failures) == {AWAY, "server error"}
    # three calls that failed, those of the four workers, and two searches for what breaks it
    assert n_calls <= 2 * 7 + 8
    # one call, made once, tried it; that it failed is nothing against its item
    assert trial.failures == (AWAY,) * 40
    assert n_trial == n_calls + 1
    assert mended.failures == (None,) * 40


def test_a_server_that_gives_no_log_probabilities_is_out_of_order_for_who_needs_them(
    faulty_server,
):
    faulty_server.script = lambda item, n_before: "no_logprobs"
    judge = LlmJudge(model=OpenAICompatibleModel(model="test", base_url=faulty_server.url))

    found = asyncio.run(asked(judge, items_of(40)))

    assert set(found.failures) == {"the judge is out of order: UnsupportedError"}


def test_while_a_trial_is_under_way_everything_else_is_refused_at_once(run):
    script = Script(lambda response: AccessError("no"), delay_s=5.0)

    async def work():
        now = asyncio.get_running_loop().time
        async with living(judge_of(script), rest_s=10.0) as live:
            await live.ask(items_of(1))
            script.fault = lambda response: None
            await asyncio.sleep(10)
            n_before = script.n_calls
            trial = asyncio.create_task(live.ask(items_of(1, start=5)))
            await asyncio.sleep(1)
            began, states = now(), [live.state]
            others = await asyncio.gather(*(live.ask(items_of(1, start=k)) for k in range(6, 35)))
            waited_s = now() - began
            equal = await live.ask(items_of(1, start=5))  # waits for the call there is
            n_trying = script.n_calls - n_before
            states.append(live.state)
            after = await live.ask(items_of(35))
            return n_trying, waited_s, others, (await trial, equal, after), states

    n_trying, waited_s, others, answered, states = run(work())

    assert n_trying == 1
    assert {each.failures for each in others} == {(ACCESS,)}
    assert waited_s == 0  # by the clock of the test, which stands still while anything is done
    assert {why for each in answered for why in each.failures} == {None}
    assert [state.is_broken for state in states] == [True, False]


def test_a_trial_that_hangs_is_one_call_and_ends_with_the_deadline(run):
    class Slow(ScriptedModel):
        takes_s = 0.0

        async def reply(self, request):
            await asyncio.sleep(self.takes_s)
            return await super().reply(request)

    script = Script(lambda response: AccessError("no"))
    model = Slow(script.answer)
    judge = LlmJudge(model=model, probability="stated", timeout_s=50_000.0)
    timed_out = "the judge is out of order: ModelTimeoutError"

    async def work():
        now = asyncio.get_running_loop().time
        async with living(judge, rest_s=10.0, deadline_s=30.0) as live:
            await live.ask(items_of(1))
            script.fault, model.takes_s = lambda response: None, 10_000.0
            await asyncio.sleep(10)
            began = now()
            trial = await live.ask(items_of(1, start=1), deadline_s=5.0)
            ended_s = now() - began
            await until(lambda: live.state.n_waiting == 0, seconds=100)
            tried_s, n_tried = now() - began, live.state.n_calls
            resting = await live.ask(items_of(3, start=1))
            model.takes_s = 1.0
            await asyncio.sleep(20)
            return trial, ended_s, tried_s, n_tried, resting, await live.ask(items_of(1, start=1))

    trial, ended_s, tried_s, n_tried, resting, mended = run(work())

    assert (trial.failures, ended_s) == ((LATE,), 5.0)
    assert tried_s == pytest.approx(30.0, abs=0.1)
    assert n_tried == 2
    assert resting.failures == (timed_out,) * 3
    assert mended.failures == (None,)


def test_a_trial_that_is_told_to_wait_makes_the_rest_as_long(run):
    script = Script(lambda response: AccessError("no"))
    too_many = "the judge is out of order: RateLimitError"

    async def work():
        async with living(judge_of(script), rest_s=1.0) as live:
            await live.ask(items_of(1))
            script.fault = lambda response: RateLimitError("slowly", retry_after_s=40.0)
            await asyncio.sleep(1)
            told = await live.ask(items_of(1))
            script.fault = lambda response: None
            await asyncio.sleep(39)
            resting = await live.ask(items_of(1))
            await asyncio.sleep(1)
            return told, resting, await live.ask(items_of(1))

    told, resting, mended = run(work())

    assert told.failures == resting.failures == (too_many,)
    assert mended.failures == (None,)


def test_rests_are_twice_as_long_each_time_and_a_minute_at_most(run):
    script = Script(lambda response: AccessError("no"))

    async def rests(live, n_rests):
        """Fail so many times, and count the seconds of each rest."""
        for _ in range(n_rests):
            await live.ask(items_of(3))  # an account's error counts when it comes again
            length = 0
            while live.state.is_broken:
                await asyncio.sleep(1)
                length += 1
            yield length

    async def work():
        async with living(judge_of(script), rest_s=3.0) as live:
            growing = [length async for length in rests(live, 8)]
            script.fault = lambda response: None
            await live.ask(items_of(1, start=9))
            script.fault = lambda response: AccessError("no")
            return growing, [length async for length in rests(live, 2)]

    growing, after = run(work())

    assert growing == [3, 6, 12, 24, 48, 60, 60, 60]
    assert after == [3, 6]


PRICE = Price(input=1.0, output=1.0)


def costing(dollars_a_call):
    tokens = round(dollars_a_call * 1e6)
    text = '{"sorry": 0.5, "tone": "warm", "rude": 0.5}'
    return lambda request: Reply(text=text, usage=Usage(0, tokens))


def test_a_limit_of_cost_is_final_and_what_is_stored_is_still_given(tmp_path, told):
    limits = {"max_cost": 1.0, "concurrency": 1}
    judge = LlmJudge(model=ScriptedModel(costing(0.1)), probability="stated", price=PRICE, **limits)
    store = tmp_path / "replies.sqlite"

    async def work():
        async with living(judge, store=store, rest_s=50.0, remembered=0) as live:
            first = await live.ask(items_of(30))
            n_calls = live.state.n_calls
            put_forward(51)
            again = await live.ask(items_of(30))
            return first, again, n_calls, live.state

    first, again, n_calls, state = run_forward(work())

    n_paid = first.failures.count(None)
    assert 9 <= n_paid <= 10
    assert set(first.failures) == {None, SPENT}
    assert again.failures == first.failures
    assert again.n_stored == n_paid
    assert state.n_calls == n_calls == n_paid
    assert state.cost == pytest.approx(0.1 * n_paid)
    assert state.is_broken


def test_the_limit_of_cost_holds_over_all_recoveries():
    said = costing(0.1)
    n_calls = 0

    def answer(request):
        nonlocal n_calls
        n_calls += 1
        return AccessError("no") if n_calls % 3 == 0 else said(request)

    limits = {"max_cost": 1.0, "concurrency": 1}
    judge = LlmJudge(model=ScriptedModel(answer), probability="stated", price=PRICE, **limits)

    async def work():
        async with living(judge, rest_s=50.0) as live:
            for start in range(0, 400, 4):
                await live.ask(items_of(4, start=start))
                put_forward(61)
            return live.state

    state = run_forward(work())

    assert 0.8 <= state.cost <= 1.0 + 1e-9
    assert state.n_calls == n_calls
    assert state.is_broken


def test_a_store_that_takes_nothing_stops_the_calls_until_it_does(tmp_path, told):
    script = Script()
    judge = judge_of(script, concurrency=2)
    store = tmp_path / "replies.sqlite"

    async def work():
        async with living(judge, store=store, rest_s=50.0, remembered=0) as live:
            known = await live.ask(items_of(3))
            with sqlite3.connect(store) as other:
                other.execute(
                    "CREATE TRIGGER full BEFORE INSERT ON voirdire_calls "
                    "BEGIN SELECT RAISE(ABORT, 'full'); END"
                )
            other.close()
            full = await live.ask([*items_of(3), *items_of(30, start=10)])
            n_paid = script.n_calls
            with sqlite3.connect(store) as other:
                other.execute("DROP TRIGGER full")
            other.close()
            put_forward(51)
            await live.ask(items_of(1, start=10))
            return known, full, n_paid, await live.ask(items_of(30, start=10))

    known, full, n_paid, after = run_forward(work())

    takes_nothing = "the judge is out of order: the store accepts nothing"
    assert known.failures == (None,) * 3
    assert full.failures == (None,) * 3 + (takes_nothing,) * 30
    assert n_paid <= 3 + 4
    assert after.failures == (None,) * 30
    assert takes_nothing in told()


def test_a_store_that_cannot_be_read_lets_nothing_be_paid_twice(tmp_path, told):
    script = Script()
    judge = judge_of(script)
    store = tmp_path / "replies.sqlite"

    async def work():
        async with living(judge, store=store, rest_s=50.0, remembered=0) as live:
            await live.ask(items_of(3))
            with sqlite3.connect(store) as other:
                other.execute("ALTER TABLE voirdire_calls RENAME TO elsewhere")
            other.close()
            gone = await live.ask(items_of(5))
            resting = await live.ask(items_of(5))
            state = live.state
            with sqlite3.connect(store) as other:
                other.execute("ALTER TABLE elsewhere RENAME TO voirdire_calls")
            other.close()
            put_forward(51)
            return gone, resting, state, await live.ask(items_of(5))

    gone, resting, state, back = run_forward(work())

    assert len(set(gone.failures)) == 1
    assert gone.failures[0].startswith("the store cannot be read: ")
    assert resting.failures == gone.failures
    assert state.is_broken
    assert back.failures == (None,) * 5
    assert back.n_stored == 3
    assert set(script.seen.values()) == {1}


@pytest.mark.edges
@pytest.mark.parametrize(
    "fault", ["no_access", "bad_request", "malformed", "refusal", "content_filter", "500"]
)
def test_no_reason_and_no_log_holds_the_text_of_an_item_or_a_key(
    fault, faulty_server, told, key, at_once
):
    answers(faulty_server)
    faulty_server.script = lambda item, n_before: fault
    judge = judge_at(faulty_server.url, max_retries=1)

    found = asyncio.run(asked(judge, items_of(12)))

    assert None not in found.failures
    everything = " ".join([*found.failures, *told()])
    for text in ("item-", "judge me", SECRET, "127.0.0.1", "prompt is too long"):
        assert text not in everything


@pytest.mark.parametrize("error", [asyncio.CancelledError, SystemExit, StopAsyncIteration])
def test_what_would_end_a_task_or_a_program_ends_one_verdict_only(error):
    script = Script(lambda response: error() if "item-3," in response else None)

    found = asyncio.run(asked(judge_of(script), items_of(6)))

    assert [why for why in found.failures if why] == [f"the judge raised {error.__name__}"]
    assert np.isnan(found.probabilities[3]).all()
