"""A live reward in a thread of its own: threads, forks, ends."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError

import pytest

from rewards.live.trying_judges import Counts, Hangs, TryingJudge
from rewards.reward_cases import own_environment
from voirdire.adapters import golden_reward
from voirdire.judging import LiveSettings
from voirdire.rewards import HostedReward, LiveReward, Turn

TURNS = [Turn(response=f"no {place}", behavior="refuse") for place in range(3)]
WAIT_S = 60


def hosted(judge=None, *, made=None, **settings):
    """Host a reward; `made` collects those that are made."""

    def make():
        live = LiveReward(golden_reward(), judge=judge or TryingJudge(), **settings)
        if made is not None:
            made.append(live)
        return live

    return HostedReward(make)


def ask(live):
    return live.turn_rewards(TURNS)


def rewards_of(reward):
    return reward.begin(ask).result(timeout=WAIT_S).rewards


def test_it_is_made_when_it_is_first_asked_and_only_once():
    made = []
    reward = hosted(made=made)
    assert made == []

    found = [rewards_of(reward) for _ in range(3)]

    assert len(made) == 1
    assert found == [[5.0] * 3] * 3
    reward.close()


def test_a_process_may_be_forked_off_in_the_middle_of_its_beginning(monkeypatch):
    reward = hosted()
    finalize = weakref.finalize

    def forked_off_here(*args):
        reward.forget()  # what a child does that another thread forks off just now
        return finalize(*args)

    monkeypatch.setattr(weakref, "finalize", forked_off_here)
    found = rewards_of(reward)
    monkeypatch.undo()

    assert found == [5.0] * 3
    reward.close()


def test_several_threads_that_ask_at_once_share_one():
    made = []
    judge = Counts(pause_s=0.01)
    reward = hosted(judge, made=made)
    gate = threading.Barrier(8)

    def work(_):
        gate.wait(WAIT_S)
        return rewards_of(reward)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(work, range(8)))

    assert len(made) == 1
    assert found == [[5.0] * 3] * 8
    assert sorted(judge.asked) == ["no 0", "no 1", "no 2"]
    reward.close()


def test_threads_may_ask_while_others_close():
    reward = hosted()
    gate = threading.Barrier(6)

    def work(number):
        gate.wait(WAIT_S)
        for _ in range(5):
            if number == 0:
                reward.close()
            else:
                assert set(rewards_of(reward)) <= {5.0, None}
        return True

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(work, range(6)))
    reward.close()


def test_closed_and_asked_again_it_begins_anew():
    made = []
    reward = hosted(made=made)
    first = rewards_of(reward)
    reward.close()
    reward.close()

    second = rewards_of(reward)

    assert first == second == [5.0] * 3
    assert len(made) == 2
    reward.close()


def test_closing_what_was_never_asked_does_nothing():
    hosted().close()


def test_what_fails_to_begin_is_told_to_who_asked_and_tried_again():
    tries = []

    def make():
        tries.append(1)
        if len(tries) < 3:
            msg = "not yet"
            raise OSError(msg)
        return LiveReward(golden_reward(), judge=TryingJudge())

    reward = HostedReward(make)

    with pytest.raises(OSError, match="not yet"):
        reward.begin(ask).result(timeout=WAIT_S)
    with pytest.raises(OSError, match="not yet"):
        reward.start()
    assert rewards_of(reward) == [5.0] * 3
    reward.close()


def test_what_failed_to_begin_can_be_closed():
    def make():
        raise OSError

    reward = HostedReward(make)
    with pytest.raises(OSError, match=r"^$"):
        reward.start()

    reward.close()


def test_start_gives_what_was_made():
    made = []
    reward = hosted(made=made)

    live = reward.start()

    assert made == [live]
    assert reward.start() is live
    reward.close()


def test_who_asks_may_give_up_and_others_are_answered():
    judge = Hangs()
    reward = hosted(judge)
    first, second = reward.begin(ask), reward.begin(ask)

    with pytest.raises(NotYetError):
        first.result(timeout=0.05)
    first.cancel()
    judge.let_go.set()

    assert second.result(timeout=WAIT_S).rewards == [5.0] * 3
    reward.close()


def test_giving_up_before_it_began_does_not_end_it_for_others():
    judge = TryingJudge()
    gate = threading.Event()

    def make():
        gate.wait(WAIT_S)
        return LiveReward(golden_reward(), judge=judge)

    reward = HostedReward(make)
    first, second = reward.begin(ask), reward.begin(ask)
    first.cancel()
    gate.set()

    assert second.result(timeout=WAIT_S).rewards == [5.0] * 3
    reward.close()


def test_closing_does_not_wait_for_a_judge_that_hangs():
    judge = Hangs()
    reward = hosted(judge, settings=LiveSettings(deadline_s=0.05))
    found = reward.begin(ask).result(timeout=WAIT_S)

    reward.close(drain_s=0.05)

    assert found.rewards == [None] * 3
    judge.let_go.set()


def test_one_that_nobody_holds_any_more_ends_by_itself():
    ended = threading.Event()

    class Told(LiveReward):
        async def close(self, *, drain_s=30.0):
            await super().close(drain_s=drain_s)
            ended.set()

    reward = HostedReward(lambda: Told(golden_reward(), judge=TryingJudge()))
    assert rewards_of(reward) == [5.0] * 3

    del reward
    gc.collect()

    assert ended.wait(WAIT_S)


@pytest.mark.slow
def test_a_program_that_ends_closes_what_runs():
    code = """
        class Told(LiveReward):
            async def close(self, *, drain_s=30.0):
                await super().close(drain_s=drain_s)
                print("closed", drain_s, flush=True)
        reward = HostedReward(lambda: Told(golden_reward(), judge=TryingJudge()))
        ask(reward)
    """

    run(code, expected="closed 0.0\n")


def run(code, *, expected=""):
    """Run a program that must end by itself, and print nothing but what is expected."""
    begin = """
        import os, sys, threading
        from rewards.live.trying_judges import Hangs, TryingJudge
        from voirdire.adapters import golden_reward
        from voirdire.rewards.live import HostedReward, LiveReward, LiveSettings, Turn
        turns = [Turn(response=f"no {place}", behavior="refuse") for place in range(3)]
        quick = LiveSettings(deadline_s=0.2)
        reward = HostedReward(lambda: LiveReward(golden_reward(), judge=TryingJudge()))
        hanging = HostedReward(lambda: LiveReward(golden_reward(), judge=Hangs(), settings=quick))
        def ask(reward):
            return reward.begin(lambda live: live.turn_rewards(turns)).result(timeout=60).rewards
    """
    program = textwrap.dedent(begin) + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=own_environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == expected
    assert done.returncode == 0


@pytest.mark.slow
def test_a_program_that_ends_without_closing_neither_waits_nor_prints():
    run("print(ask(reward))", expected="[5.0, 5.0, 5.0]\n")


@pytest.mark.ci
def test_a_program_that_ends_while_something_is_asked_neither_waits_nor_prints():
    run("reward.begin(lambda live: live.turn_rewards(turns))")


@pytest.mark.slow
def test_a_program_that_ends_while_a_judge_hangs_neither_waits_nor_prints():
    run("print(ask(hanging))", expected="[None, None, None]\n")


@pytest.mark.ci
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_begins_anew_and_its_parent_goes_on():
    code = """
        first = ask(reward)
        child = os.fork()
        if child == 0:
            print("child", ask(reward), flush=True)
            sys.exit()
        _, status = os.waitpid(child, 0)
        print("parent", status, first == ask(reward), flush=True)
        reward.close()
    """

    run(code, expected="child [5.0, 5.0, 5.0]\nparent 0 True\n")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_process_forked_while_another_thread_begins_does_not_wait_for_its_lock():
    code = """
        inside, go_on = threading.Event(), threading.Event()
        held = reward._lock
        def hold():
            with held:
                inside.set()
                go_on.wait(60)
        other = threading.Thread(target=hold)
        other.start()
        inside.wait(60)
        child = os.fork()
        if child == 0:
            print("child", ask(reward), flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        go_on.set()
        other.join()
        print("parent", status, ask(reward), flush=True)
    """

    run(code, expected="child [5.0, 5.0, 5.0]\nparent 0 [5.0, 5.0, 5.0]\n")
