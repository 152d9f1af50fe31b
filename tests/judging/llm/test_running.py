"""A run in its own thread ends, however it is left: no thread, no file, no wait without end."""

import asyncio
import gc
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from asked_models import make_items
from voirdire.judging import LlmJudge, judge_items
from voirdire.records import Item
from voirdire.rubrics import rubric_from_text
from voirdire.testing import ScriptedModel

ONE = """
schema: voirdire.rubric/1
name: one
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
behaviors:
  refuse:
    description: "A polite refusal."
    demands: {sorry: required}
    classes: {good: all(required), poor: otherwise}
"""


@pytest.fixture(scope="module")
def one():
    return rubric_from_text(ONE)


def judged(answer, rubric, items=None, **settings):
    model = ScriptedModel(answer, **settings)
    judge = LlmJudge(model=model, probability="stated", concurrency=4)
    return judge_items(make_items(1_200) if items is None else items, judge, rubric=rubric)


def half(request):
    return {"sorry": 0.5}


def raising(error):
    def answer(request):
        raise error

    return answer


def held():
    """List the threads, and count the open files."""
    return set(threading.enumerate()), len(list(Path("/proc/self/fd").iterdir()))


def is_more_held(before):
    """Tell whether there are new threads or files; those of earlier tests may end meanwhile."""
    threads, n_files = held()
    return bool(threads - before[0]) or n_files > before[1]


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt()], ids=repr
)
def test_what_would_end_the_loop_without_a_word_ends_the_run_with_one(error, one):
    before = held()

    with pytest.raises(RuntimeError, match=f"must not raise {type(error).__name__}") as caught:
        list(judged(raising(error), one))

    assert caught.value.__cause__ is error
    end = time.monotonic() + 60
    while is_more_held(before) and time.monotonic() < end:  # a thread that has ended its work
        time.sleep(0.01)
    assert not is_more_held(before)


def test_items_that_end_the_program_end_the_run(one):
    def items():
        yield Item(id="a", response="b")
        raise SystemExit(3)

    with pytest.raises(RuntimeError, match="the items must not raise SystemExit"):
        list(judged(half, one, items()))


@pytest.mark.slow
def test_a_run_that_is_left_holds_nothing_although_its_error_is_kept(one):
    items = make_items(1_200)
    items[700] = Item(id="x", response="y", behavior="unknown")
    before = held()

    with pytest.raises(ValueError, match="`behavior` must be in rubric") as kept:
        list(judged(half, one, items, delay_s=0.001))

    assert not is_more_held(before)
    assert kept.value.__traceback__ is not None


@pytest.mark.slow
def test_a_run_that_is_collected_in_its_own_thread_does_not_wait_for_itself(one):
    """The collector runs in whichever thread makes the next object."""
    collecting, collected = threading.Event(), threading.Event()
    n_calls = [0]

    def answer(request):
        n_calls[0] += 1
        if collecting.is_set():
            gc.collect()
            collected.set()
        return half(request)

    class Cycle:
        """Nobody but the collector finds that it is garbage."""

    def begin():
        cycle = Cycle()
        cycle.itself = cycle
        cycle.run = judged(answer, one, make_items(20_000), delay_s=0.01)
        next(cycle.run)

    gc.collect()
    before = held()
    gc.disable()
    try:
        begin()
        collecting.set()
        assert collected.wait(30)
    finally:
        gc.enable()

    end = time.monotonic() + 30
    while is_more_held(before) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_more_held(before)
    assert n_calls[0] < 20_000


PROGRAM = """
import os, signal, sys
from voirdire.judging import LlmJudge, judge_items
from voirdire.testing import ScriptedModel
from voirdire.records import Item
from voirdire.rubrics import rubric_from_text

model = ScriptedModel(lambda request: {"sorry": 0.5}, delay_s=0.01)
judge = LlmJudge(model=model, probability="stated", concurrency=4)
items = (Item(id=str(n), response=str(n)) for n in range(3_000))
run = judge_items(items, judge, rubric=rubric_from_text(sys.argv[1]))
next(run)
"""
LEFT = """
class Cycle:
    pass
cycle = Cycle()
cycle.itself, cycle.run = cycle, run
del cycle, run
print("end")
"""
FORKED = """
child = os.fork()
if child == 0:
    run.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
run.close()
print("end")
"""


@pytest.mark.slow
@pytest.mark.parametrize("rest", [LEFT, FORKED, 'print("end")'], ids=["left", "forked", "open"])
def test_a_program_ends_although_a_run_was_not_closed(rest):
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM + rest, ONE],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "end\n", "")
