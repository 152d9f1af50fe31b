"""The collector during a run, and afterwards."""

import gc
import threading

import pytest

from voirdire.judging import LlmJudge, judge_file
from voirdire.testing import ScriptedModel

SELDOM = (20_000, 10, 10)


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


@pytest.fixture
def seen_in_a_run(tmp_path, rubric):
    """Judge a file of one item; give the thresholds that the model's answer found."""
    source = tmp_path / "items.jsonl"
    source.write_text('{"id": "a", "response": "b"}\n', encoding="utf-8")

    def run(during=lambda: None, *, output="out.jsonl"):
        seen = []

        def answer(request):
            seen.append(gc.get_threshold())
            during()
            return {"sorry": 0.5, "rude": 0.5}

        judge = LlmJudge(model=ScriptedModel(answer), probability="stated")
        store = tmp_path / f"{output}.sqlite"
        judge_file(source, tmp_path / output, rubric=rubric, judge=judge, store=store)
        return seen

    return run


def test_during_a_run_the_collector_works_seldom_and_afterwards_as_before(seen_in_a_run):
    assert seen_in_a_run() == [SELDOM]
    assert gc.get_threshold() == (700, 10, 10)


def test_two_runs_at_once_leave_the_collector_as_it_was(seen_in_a_run):
    left = []

    def another():
        thread = threading.Thread(target=seen_in_a_run, kwargs={"output": "other.jsonl"})
        thread.start()
        thread.join()
        left.append(gc.get_threshold())

    seen_in_a_run(another)

    assert left == [SELDOM]
    assert gc.get_threshold() == (700, 10, 10)


def test_a_run_that_fails_leaves_the_collector_as_it_was(seen_in_a_run):
    def fail():
        raise SystemExit(3)

    with pytest.raises(RuntimeError, match="SystemExit"):
        seen_in_a_run(fail)

    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (50_000, 5, 5)])
def test_who_collects_even_less_often_is_left_in_peace(own, seen_in_a_run):
    gc.set_threshold(*own)

    assert seen_in_a_run() == [own]
    assert gc.get_threshold() == own


def test_what_is_set_during_a_run_stays(seen_in_a_run):
    seen_in_a_run(lambda: gc.set_threshold(1_000, 10, 10))

    assert gc.get_threshold() == (1_000, 10, 10)
