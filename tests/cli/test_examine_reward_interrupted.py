"""`voirdire examine-reward` that is interrupted while a language model judges: nothing is lost."""

import json
import subprocess

import pytest

from judging.llm.counted_runs import (
    CONCURRENCY,
    PROGRAM,
    Programs,
    interrupt,
    probability,
    stopping_line,
    wait_until,
)
from voirdire.judging import LlmJudge
from voirdire.models import load_model
from voirdire.rewards import reward_of_weights
from voirdire.rubrics import rubric_from_text
from voirdire.store import open_store

pytestmark = pytest.mark.slow

RUBRIC = """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: rude, kind: boolean, text: "Is it rude?"}
behaviors:
  answer:
    demands: {sorry: desired, rude: unacceptable}
    classes: {ideal: sorry and not rude, poor: otherwise}
"""
N_ITEMS = 60


class Examinations(Programs):
    """Programs that examine one reward on the same completions, judged by a counting server."""

    def __init__(self, folder, server):
        super().__init__(server)
        self.folder = folder
        self.working = folder / "working"  # not where the reward is
        self.working.mkdir()
        server.answer = lambda item, key, form: probability(item, key)
        reward_of_weights(
            {"answer": {"sorry": 1.0, "rude": -1.0}},
            rubric=rubric_from_text(RUBRIC, source="tiny.yaml"),
            judge=LlmJudge(
                model=load_model("openai/test", base_url=server.url), probability="stated"
            ),
        ).save(folder / "reward.json")
        rows = [
            {
                "id": f"item-{n}",
                "prompt": f"prompt {n // 2}",
                "response": f"I am item-{n}, judge me.",
                "behavior": "answer",
                "label": ("ideal", "poor")[n % 2],
            }
            for n in range(N_ITEMS)
        ]
        text = "\n".join(map(json.dumps, rows))
        (folder / "comparisons.jsonl").write_text(text, encoding="utf-8")

    def start(self, *options):
        """Start a program, which is killed with the test at the latest."""
        words = ["examine-reward", self.folder / "comparisons.jsonl", "--judge", "own"]
        words += ["--reward", self.folder / "reward.json", "--resamples", 0]
        words += ["--nonsense", 0, *options]
        process = subprocess.Popen(
            [*PROGRAM, *map(str, words)],
            cwd=self.working,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._begun.append(process)
        return process


@pytest.fixture
def examinations(tmp_path, faulty_server):
    """Make a reward, comparisons and a place to examine it in."""
    made = Examinations(tmp_path, faulty_server)
    yield made
    made.close()


def stored(place):
    """Count the replies that a store holds."""
    with open_store(place) as store:
        return sum(sum(1 for _ in store.scan(row.id)) for row in store.judges())


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM"])
def test_an_interruption_waits_for_calls_in_flight_and_keeps_them(examinations, signal):
    examinations.server.delay_s = 0.6
    process = examinations.start()
    wait_until(lambda: examinations.server.n_inside >= CONCURRENCY)

    interrupt(process, signal)
    out, err = examinations.finish(process, code=130)

    store = examinations.folder / "voirdire-replies.sqlite"  # where the reward is
    n_paid = examinations.n_served
    assert out == ""
    assert 0 < n_paid <= N_ITEMS
    assert stored(store) == n_paid
    assert err.count("stopping: ") == 1
    assert "in flight and are waited for; Ctrl-C again does not wait" in err
    assert f"every reply is kept in {store}; the same command goes on from there" in err

    examinations.server.delay_s = 0.0
    out, _ = examinations.finish(examinations.start("--json"))
    assert set(examinations.server.served.values()) == {1}  # nothing was paid for twice
    assert json.loads(out)["n_items"] == N_ITEMS


def test_a_second_ctrl_c_does_not_wait(examinations):
    server = examinations.server
    server.script = lambda item, n_before: "hang" if server.served else "ok"
    process = examinations.start()
    wait_until(lambda: server.n_inside >= CONCURRENCY)

    interrupt(process)
    assert "Ctrl-C again does not wait" in stopping_line(process)
    interrupt(process)
    _, err = examinations.finish(process, code=130)

    assert "every reply is kept in" in err


def test_a_store_that_is_named_is_the_one_that_is_used(examinations):
    store = examinations.folder / "named.sqlite"

    examinations.finish(examinations.start("--store", store))

    assert stored(store) == N_ITEMS
    assert not (examinations.folder / "voirdire-replies.sqlite").exists()


def test_nonsense_is_judged_by_the_language_model_and_paid_for_once(examinations):
    out, _ = examinations.finish(examinations.start("--nonsense", 5, "--json"))
    n_paid = examinations.n_served
    again, _ = examinations.finish(examinations.start("--nonsense", 5, "--json"))

    found = json.loads(out)
    rows = {row["kind"]: row["n_texts"] for row in found["nonsense"]}
    # The local judge does not answer this rubric, so that nothing is searched.
    assert rows == {"templates": 5 * 5, "other_answers": 5}
    notes = {note["code"]: note["figures"] for note in found["notes"]}
    assert notes["nonsense_without_search"] == {"n": 30}
    assert n_paid == N_ITEMS + 30
    assert examinations.n_served == n_paid
    assert json.loads(again)["nonsense"] == found["nonsense"]
