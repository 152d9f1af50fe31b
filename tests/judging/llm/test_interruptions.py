"""Programs that are killed, interrupted and run at once: nothing is lost, nothing paid twice."""

import os
import random
import time
from functools import partial

import pytest

from judging.llm.counted_runs import (
    CONCURRENCY,
    TELLING,
    Runs,
    expected_verdicts,
    interrupt,
    number_of,
    stopping_line,
    wait_until,
)

SECOND = "Ctrl-C again does not wait"
KEPT = "every reply is kept"


@pytest.fixture
def runs(tmp_path, faulty_server):
    """Start runs over a few items, each call of which takes a moment."""
    made = []

    def made_runs(n_items, **settings):
        made.append(Runs(tmp_path, faulty_server, n_items=n_items, **settings))
        return made[-1]

    yield made_runs
    for each in made:
        each.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    """Give a place for replies that several processes can open."""
    if request.param == "sqlite":
        return tmp_path / "replies.sqlite"
    return request.getfixturevalue("postgres_place")


def some_never_answer(item, n_before):
    """Write what cannot be read about every 50th item, and refuse another."""
    return {7: "malformed", 9: "refusal"}.get(number_of(item) % 50, "ok")


def is_never_answered(number):
    return number % 50 in (7, 9)


def n_attempts(n_items):
    """Count the attempts that the store must hold in the end: unreadable replies are three."""
    return sum({7: 3}.get(number % 50, 1) for number in range(n_items))


def kill_when(process, condition, *, after_s):
    """Kill a program some time after something has happened, unless it has ended before."""
    wait_until(lambda: process.poll() is not None or condition())
    time.sleep(after_s)
    process.kill()
    process.communicate()


@pytest.mark.slow
def test_a_run_killed_at_twenty_moments_ends_as_one_that_never_was(runs):
    chance = random.Random(20)
    made = runs(2_000)
    made.server.script = some_never_answer
    made.server.delay_s = 0.005
    made.finish(made.start("whole.parquet", store=made.folder / "other.sqlite"))
    assert made.n_served == n_attempts(2_000)
    made.server.reset()
    moments = sorted(chance.sample(range(2_000), k=17))

    for n_killed, moment in enumerate(moments, start=1):
        made.hold(moment + 20 - made.n_served)  # it cannot come to its end, however late the kill
        process = made.start()
        served = partial(made.has_served, moment)
        kill_when(process, served, after_s=chance.random() * 0.03)
        assert process.returncode != 0
        # what was asked for and is not stored was in flight when a program was killed
        assert 0 <= made.n_served - made.stored() <= n_killed * CONCURRENCY
    made.let_go()
    for _ in range(3):  # and where the file is put together
        kill_when(made.start(), lambda: made.is_written, after_s=chance.random() * 0.05)
    made.finish(made.start())

    output = made.folder / "out.parquet"
    assert made.verdicts().equals(expected_verdicts(2_000, failed=is_never_answered))
    assert output.read_bytes() == (made.folder / "whole.parquet").read_bytes()
    assert made.stored() == n_attempts(2_000)
    assert made.n_served - made.stored() <= 20 * CONCURRENCY
    assert set(made.server.served) == {f"item-{number}" for number in range(2_000)}
    assert made.left_over() == []


@pytest.mark.ci
def test_a_killed_run_goes_on_and_pays_for_nothing_twice(runs, store):
    made = runs(300, store=store)
    made.server.delay_s = 0.005

    made.hold(150)
    kill_when(made.start(), lambda: made.n_served >= 100, after_s=0.0)
    n_lost = made.n_served - made.stored()
    made.let_go()
    made.finish(made.start())

    assert 0 <= n_lost <= CONCURRENCY
    assert made.n_served == 300 + n_lost
    assert made.stored() == 300
    assert made.verdicts().equals(expected_verdicts(300))


@pytest.mark.slow
@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM"])
def test_an_interruption_waits_for_calls_in_flight_and_keeps_them(runs, signal):
    made = runs(60)
    made.hold(1)  # the first goes alone
    process = made.start()
    wait_until(lambda: made.server.n_inside == CONCURRENCY)

    interrupt(process, signal)
    said = stopping_line(process)
    made.let_go()
    _, rest = made.finish(process, code=130)
    err = said + rest

    n_paid = made.n_served
    assert n_paid <= 1 + 2 * CONCURRENCY
    assert made.stored() == n_paid
    assert f"{KEPT} in {made.store}; the same command goes on from there" in err
    assert err.startswith(f"stopping: {CONCURRENCY} calls are in flight and are waited for; Ctrl-C")
    assert err.count("stopping") == 1
    assert not (made.folder / "out.parquet").exists()
    made.finish(made.start())
    assert set(made.server.served.values()) == {1}
    assert made.verdicts().equals(expected_verdicts(60))


@pytest.mark.slow
def test_a_second_ctrl_c_does_not_wait(runs):
    made = runs(60)
    made.hold(20)
    process = made.start()
    wait_until(lambda: made.server.n_inside == CONCURRENCY and made.stored() == 20)

    interrupt(process)
    stopping_line(process)  # two signals at once would be one
    time.sleep(1.0)
    is_waiting = process.poll() is None
    interrupt(process)
    _, err = made.finish(process, code=130)

    assert is_waiting
    assert KEPT in err
    assert made.stored() == 20  # what came before is there
    made.let_go()
    made.finish(made.start())
    assert made.n_served == 60 + CONCURRENCY
    assert made.verdicts().equals(expected_verdicts(60))


@pytest.mark.slow
@pytest.mark.parametrize("n_judges", [1, 2])
def test_what_is_waited_for_is_said_at_once(runs, n_judges):
    made = runs(20)
    made.write_judges("one", "two")
    made.hold(n_judges)  # the first of each goes alone
    process = (made.start if n_judges == 1 else made.start_several)(program=TELLING)
    wait_until(lambda: made.told_in_flight() == n_judges * CONCURRENCY)

    interrupt(process)
    said = stopping_line(process)
    time.sleep(0.5)  # two signals at once would be one
    is_waiting = process.poll() is None
    interrupt(process)
    made.finish(process, code=130)

    n = n_judges * CONCURRENCY
    assert said == f"stopping: {n} calls are in flight and are waited for; {SECOND}\n"
    assert is_waiting


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a terminal of this kind")
def test_what_is_waited_for_is_said_on_a_terminal_above_the_bar(runs):
    made = runs(20)
    made.hold(1)
    ours, theirs = os.openpty()
    process = made.start(stderr=theirs)
    os.close(theirs)
    wait_until(lambda: made.server.n_inside == CONCURRENCY)

    interrupt(process)
    shown = b""
    while b"does not wait" not in shown:
        shown += os.read(ours, 4096)
    is_waiting = process.poll() is None
    interrupt(process)
    process.wait(timeout=120)
    os.close(ours)

    assert is_waiting
    said = shown.decode(errors="replace").replace("\r\n", " ")
    assert f"stopping: {CONCURRENCY} calls are in flight and are waited for" in said


@pytest.mark.slow
def test_ctrl_c_ends_a_wait_for_a_server_that_asks_for_patience(runs):
    made = runs(20)
    made.server.retry_after_s = 300
    made.server.script = lambda item, n_before: "429_in_seconds"
    process = made.start()
    wait_until(lambda: made.n_served and not made.server.n_inside)

    interrupt(process)

    made.finish(process, code=130)


@pytest.mark.slow
def test_two_programs_on_one_store_both_come_to_the_end(runs, store):
    made = runs(300, store=store)
    made.server.delay_s = 0.005
    one = made.start("one.parquet")
    other = made.start("other.parquet")

    made.finish(one)
    made.finish(other)

    assert made.verdicts("one.parquet").equals(expected_verdicts(300))
    assert made.verdicts("other.parquet").equals(expected_verdicts(300))
    assert made.stored() == 300
    n_served = made.n_served
    assert 300 <= n_served <= 600
    made.finish(made.start("third.parquet"))
    assert made.n_served == n_served


@pytest.mark.slow
def test_two_programs_on_one_output_are_refused_and_the_first_ends(runs):
    made = runs(40)
    made.hold(10)
    first = made.start()
    wait_until(lambda: made.n_served)

    _, err = made.finish(made.start(), code=1)
    made.let_go()
    made.finish(first)

    assert "another run asks this judge for the same output" in err
    assert err.count("\n") == 1
    assert set(made.server.served.values()) == {1}
    assert made.verdicts().equals(expected_verdicts(40))


@pytest.mark.slow
def test_ctrl_c_ends_a_read_that_waits(runs):
    made = runs(1)
    process = made.start(stdin=True)
    made.give(process, n_items=1)  # and does not say that this is all

    wait_until(made.has_begun)
    time.sleep(0.3)
    interrupt(process)

    made.finish(process, code=130)


@pytest.mark.slow
def test_nothing_is_asked_before_the_input_has_ended(runs):
    made = runs(1)
    made.server.script = lambda item, n_before: "no_access"
    process = made.start(stdin=True)

    made.give(process, n_items=1_100, n_more=420)  # what is read at once, and a little more
    wait_until(made.has_begun)
    time.sleep(0.3)

    assert (process.poll(), made.n_served) == (None, 0)
    _, err = made.finish(process, code=1)
    assert "Incorrect API key" in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_ctrl_c_lets_several_judges_finish_their_calls_and_a_second_one_does_not(runs):
    made = runs(60)
    made.write_judges("one", "two")
    made.hold(40)
    process = made.start_several()
    wait_until(lambda: made.server.n_inside == 2 * CONCURRENCY and made.stored() == 40)

    interrupt(process)
    stopping_line(process)  # two signals at once would be one
    time.sleep(1.0)
    is_waiting = process.poll() is None
    interrupt(process)
    _, err = made.finish(process, code=130)

    assert is_waiting
    assert KEPT in err
    assert made.stored() == 40
    made.let_go()
    made.finish(made.start_several())
    assert made.n_served == 2 * (60 + CONCURRENCY)
    for name in ("one", "two"):
        assert made.verdicts(f"several/{name}.parquet").equals(expected_verdicts(60))


@pytest.mark.slow
def test_a_reader_that_leaves_ends_the_run_and_its_spending(runs):
    made = runs(5_000)
    made.server.delay_s = 0.01
    made.hold(2_000)
    process = made.start("-")

    process.stdout.readline()
    process.stdout.close()
    made.let_go()
    process.wait(timeout=120)

    assert process.returncode == 1
    (line,) = process.stderr.read().splitlines()
    assert "replied as" in line
    assert made.n_served < 4_000
    assert made.stored() == made.n_served
