"""A reward in a thread of its own: other threads, forked processes, and how it ends."""

import asyncio
import copy
import gc
import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rewards.live.trying_judges import Counts, Hangs, TryingJudge
from rewards.reward_cases import own_environment
from voirdire.adapters import GuardedReward
from voirdire.judging import LiveSettings, LlmJudge
from voirdire.rewards import LiveReward, Turn
from voirdire.testing import ScriptedModel, golden_reward

TURNS = [Turn(response=f"no {place}", behavior="refuse") for place in range(3)]
WAIT_S = 60


def guarded(judge=None, *, kind=GuardedReward, **settings):
    return kind(golden_reward(), judge=judge or TryingJudge(), **settings)


def rewards_of(reward):
    return reward.scored(TURNS).rewards


def test_several_threads_that_ask_at_once_share_one():
    judge = Counts(pause_s=0.01)
    reward = guarded(judge)
    gate = threading.Barrier(8)

    def work(_):
        gate.wait(WAIT_S)
        return rewards_of(reward)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(work, range(8)))

    assert found == [[5.0] * 3] * 8
    assert sorted(judge.asked) == ["no 0", "no 1", "no 2"]
    reward.close()


def test_threads_may_ask_while_others_close():
    reward = guarded()
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
    assert rewards_of(reward) == [5.0] * 3
    reward.close()


def test_closing_what_was_never_asked_does_nothing():
    reward = guarded()
    reward.close()
    reward.close()

    assert rewards_of(reward) == [5.0] * 3
    reward.close()


def test_what_cannot_begin_is_a_missing_reward_and_is_tried_again(tmp_path, caplog):
    in_the_way = tmp_path / "folder"
    in_the_way.write_text("no folder", "utf-8")
    model = ScriptedModel(lambda _: {"sorry": 1.0, "rude": 0.0, "names_it": 0.0})
    judge = LlmJudge(model=model, probability="stated")
    reward = guarded(judge, store=in_the_way / "replies.sqlite")

    before = reward.scored(TURNS)
    in_the_way.unlink()
    in_the_way.mkdir()
    after = reward.scored(TURNS)
    reward.close()

    assert set(before.scores.missing.values()) == {"the reward raised InputError"}
    assert "the reward failed" in caplog.text
    assert after.rewards == [5.0] * 3


def test_who_gives_up_before_it_began_does_not_end_it_for_others():
    gate = threading.Event()

    class Slow(GuardedReward):
        def _live(self):
            gate.wait(WAIT_S)
            return super()._live()

    gate.set()
    reward = copy.copy(guarded(kind=Slow))
    gate.clear()

    async def train():
        first, second = (asyncio.create_task(reward.ascored(TURNS)) for _ in range(2))
        await asyncio.sleep(0.05)
        first.cancel()
        await asyncio.sleep(0.05)
        gate.set()
        return await second

    assert asyncio.run(train()).rewards == [5.0] * 3
    reward.close()


def test_closing_does_not_wait_for_a_judge_that_hangs():
    judge = Hangs()
    reward = guarded(judge, settings=LiveSettings(deadline_s=0.05))
    found = reward.scored(TURNS)

    reward.close(drain_s=0.05)

    assert found.rewards == [None] * 3
    judge.let_go.set()


@pytest.mark.ci
def test_one_that_nobody_holds_any_more_ends_by_itself():
    ended = threading.Event()

    class Told(LiveReward):
        async def close(self, *, drain_s=30.0):
            await super().close(drain_s=drain_s)
            ended.set()

    reward = guarded()
    reward._live._made = Told(golden_reward(), judge=TryingJudge())
    assert rewards_of(reward) == [5.0] * 3

    del reward
    gc.collect()

    assert ended.wait(WAIT_S)


def run(code, *, expected=""):
    """Run a program that must end by itself, and print nothing but what is expected."""
    begin = """
        import asyncio, os, sys, threading
        from rewards.live.trying_judges import Hangs, TryingJudge
        from voirdire.adapters import GuardedReward
        from voirdire.adapters.trl import TrlReward
        from voirdire.rewards import LiveReward, Turn
        from voirdire.judging import LiveSettings
        from voirdire.testing import golden_reward
        turns = [Turn(response=f"no {place}", prompt="Hi", behavior="refuse") for place in range(3)]
        quick = LiveSettings(deadline_s=0.2)
        reward = GuardedReward(golden_reward(), judge=TryingJudge())
        def ask(reward):
            return reward.scored(turns).rewards
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
def test_a_program_that_ends_closes_what_runs():
    code = """
        class Told(LiveReward):
            async def close(self, *, drain_s=30.0):
                await super().close(drain_s=drain_s)
                print("closed", drain_s, flush=True)
        reward = GuardedReward(golden_reward(), judge=TryingJudge())
        reward._live._made = Told(golden_reward(), judge=TryingJudge())
        ask(reward)
    """

    run(code, expected="closed 0.0\n")


@pytest.mark.slow
def test_a_program_that_ends_without_closing_neither_waits_nor_prints():
    run("print(ask(reward))", expected="[5.0, 5.0, 5.0]\n")


@pytest.mark.ci
def test_a_program_that_ends_while_something_is_asked_neither_waits_nor_prints():
    code = """
        judge = Hangs()
        hanging = GuardedReward(golden_reward(), judge=judge)
        threading.Thread(target=ask, args=(hanging,), daemon=True).start()
        judge.is_asked.wait(60)
    """

    run(code)


@pytest.mark.slow
def test_a_program_that_ends_while_a_judge_hangs_neither_waits_nor_prints():
    code = """
        import logging
        logging.getLogger("voirdire").setLevel(logging.CRITICAL)
        hanging = GuardedReward(golden_reward(), judge=Hangs(), settings=quick)
        print(ask(hanging))
    """

    run(code, expected="[None, None, None]\n")


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


@pytest.mark.ci
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_processes_that_are_forked_while_threads_begin_ask_and_end_wait_for_nobody():
    code = """
        import logging
        logging.getLogger("voirdire").setLevel(logging.CRITICAL)  # that it is closed meanwhile
        is_over = threading.Event()
        def work():
            while not is_over.is_set():
                ask(reward)
                reward.close()
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(0 if ask(reward) == [5.0, 5.0, 5.0] else 1)
            _, status = os.waitpid(child, 0)
            print(status, end=" ")
        is_over.set()
        for thread in threads:
            thread.join()
        print(ask(reward))
    """

    run(code, expected="0 " * 20 + "[5.0, 5.0, 5.0]\n")


@pytest.mark.ci
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_process_that_is_forked_while_a_base_function_runs_asks_it_again():
    code = """
        release, is_asked = threading.Event(), threading.Event()
        def base(completions, **others):
            is_asked.set()
            release.wait(60)
            return [1.0] * len(completions)
        function = TrlReward(golden_reward(), judge=TryingJudge(), base=base, behavior="refuse")
        def train():
            return asyncio.run(function(prompts=["how?"], completions=["no"]))
        thread = threading.Thread(target=train)
        thread.start()
        is_asked.wait(60)
        child = os.fork()
        release.set()
        if child == 0:
            print("child", train(), flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        thread.join()
        print("parent", status, train())
        function.close()
    """

    run(code, expected="child [6.0]\nparent 0 [6.0]\n")
