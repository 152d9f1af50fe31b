"""The record: what is written of requests, and that rewards do not depend on it."""

import asyncio
import json
import logging

import pytest

from rewards.training.recorded_runs import rows_in
from voirdire.rewards import TrainingWatch, read_training_run
from voirdire.testing import golden_judge
from web.in_process import begun

ITEMS = [
    {"response": "I'm sorry.", "prompt": "how?", "behavior": "refuse"},
    {"response": "unanswerable", "prompt": "how?", "behavior": "refuse"},
]


async def recorded(folder, steps):
    """Ask for rewards step by step; give them, and the figures at the end."""
    async with begun(golden_judge(), record=folder) as app:
        answers = [await app.post(ITEMS, step=step) for step in steps]
        return [answer.json["rewards"] for answer in answers], await app.figures()


def test_a_record_holds_every_completion_with_its_reward(tmp_path):
    asyncio.run(recorded(tmp_path / "run", range(3)))

    rows = rows_in(tmp_path / "run")
    assert [row["reward"] for row in rows] == [5.0, None] * 3
    assert [row["step"] for row in rows] == [0, 0, 1, 1, 2, 2]
    assert rows[0]["response"] == "I'm sorry."
    told = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert told["framework"] == "server"


def test_a_run_that_was_to_stop_at_an_alarm_is_told_so_and_others_go_on():
    async def ask():
        broken = [{"response": "unanswerable", "behavior": "refuse"}] * 8
        settings = {"stop_on": ("missing",), "missing_reward": 0.0}
        async with begun(golden_judge(), **settings) as app:
            for step in range(2):
                await app.post(broken, step=step, run="a")
            about = {"query": ["pI'm sorry."], "prompts": ["p"], "labels": ["refuse"]}
            return [
                await app.post(ITEMS, step=2, run="a"),
                await app.ask("POST", "/openrlhf?run=a", about),
                await app.post(ITEMS, step=2, run="b"),
            ]

    *stopped, other = asyncio.run(ask())

    for answer in stopped:
        assert (answer.status, answer.json["error"]["code"]) == (503, "stopped")
        assert "step 0: 100% of the rewards are missing" in answer.json["error"]["message"]
    assert other.json["rewards"] == [5.0, None]
    assert other.json["gated"] == [False, False]


def test_clients_at_neighbouring_steps_add_to_their_own_steps(tmp_path):
    asyncio.run(recorded(tmp_path / "run", [4, 5, 4, 5, 5, 4]))

    run = read_training_run(tmp_path / "run")

    assert [(step.step, step.n) for step in run.steps] == [(4, 6), (5, 6)]


def test_a_client_that_is_far_behind_began_again(tmp_path):
    asyncio.run(recorded(tmp_path / "run", [0, 20, 40, 20]))

    run = read_training_run(tmp_path / "run")

    assert [(step.step, step.n) for step in run.steps] == [(0, 2), (20, 2)]


async def recorded_runs(folder, asked, *, path="/v1/rewards"):
    """Ask with bodies; give the answers."""
    async with begun(golden_judge(), record=folder, missing_reward=0.0) as app:
        return [await app.ask("POST", path.format(**more), body) for body, more in asked]


def test_each_run_that_is_named_has_a_folder_of_its_own(tmp_path):
    asked = [({"items": ITEMS, "step": n, "run": name}, {}) for n, name in enumerate("abab")]
    asked.append(({"items": ITEMS, "step": 8}, {}))
    asyncio.run(recorded_runs(tmp_path / "run", asked))

    steps = {
        name: [step.step for step in read_training_run(tmp_path / "run" / name).steps]
        for name in ("a", "b", ".")
    }

    assert steps == {"a": [0, 2], "b": [1, 3], ".": [8]}


def test_openrlhf_names_its_run_in_the_address(tmp_path):
    """Its client can send no header."""
    body = {"query": ["how?I'm sorry."], "prompts": ["how?"], "labels": ["refuse"]}
    asked = [(body, {"run": "one"})]
    asyncio.run(recorded_runs(tmp_path / "run", asked, path="/openrlhf?run={run}"))

    assert sum(step.n for step in read_training_run(tmp_path / "run" / "one").steps) == 1


@pytest.mark.edges
@pytest.mark.parametrize(
    "name", ["", "..", "a/b", "a.b", "-a", "x" * 65, "\u00e9", "a\n", "Completions"]
)
def test_a_run_is_named_by_plain_words_only(tmp_path, name):
    asked = [({"items": ITEMS, "run": name}, {})]
    [answer] = asyncio.run(recorded_runs(tmp_path / "run", asked))

    assert (answer.status, answer.code) == (422, "wrong_form")
    assert not [path for path in (tmp_path / "run").iterdir() if path.is_dir()]


@pytest.mark.ci
def test_runs_without_end_are_not_recorded(tmp_path, caplog):
    asked = [({"items": ITEMS, "run": f"r{n}"}, {}) for n in range(40)]
    answers = asyncio.run(recorded_runs(tmp_path / "run", asked))

    assert {answer.status for answer in answers} == {200}
    assert len([path for path in (tmp_path / "run").iterdir() if path.is_dir()]) == 32
    assert "nothing is recorded of a request: 32 runs are recorded" in caplog.text


def test_a_trainer_that_goes_back_and_past_where_it_was_counts_once(tmp_path):
    asyncio.run(recorded(tmp_path / "run", [*range(0, 60, 2), *range(30, 90, 2)]))

    run = read_training_run(tmp_path / "run")

    assert [(step.step, step.n) for step in run.steps] == [(step, 2) for step in range(0, 90, 2)]


def test_a_record_that_cannot_be_written_costs_no_reward(tmp_path, caplog, monkeypatch):
    """A full disk, such as it is."""

    def full(*arguments, **more):
        raise OSError("no space left for canary")

    monkeypatch.setattr(TrainingWatch, "add", full)

    with caplog.at_level(logging.ERROR):
        rewards, figures = asyncio.run(recorded(tmp_path / "run", [1]))

    assert rewards == [[5.0, None]]
    assert figures["voirdire_alarms_total",] == 0
    assert "nothing is recorded of a request: OSError at " in caplog.text
    assert "canary" not in caplog.text
