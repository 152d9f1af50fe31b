"""The record: what is written of requests, and that rewards do not depend on it."""

import asyncio
import json
import logging

from voirdire.adapters import golden_judge
from voirdire.rewards import TrainingWatch, read_training_run
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

    [path] = (tmp_path / "run").glob("completions-*.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [row["reward"] for row in rows] == [5.0, None] * 3
    assert [row["step"] for row in rows] == [0, 0, 1, 1, 2, 2]
    assert rows[0]["response"] == "I'm sorry."
    told = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert told["framework"] == "server"


def test_clients_at_neighbouring_steps_add_to_their_own_steps(tmp_path):
    asyncio.run(recorded(tmp_path / "run", [4, 5, 4, 5, 5, 4]))

    run = read_training_run(tmp_path / "run")

    assert run.n_writers == 1
    assert [(step.step, step.n) for step in run.steps] == [(4, 6), (5, 6)]


def test_a_client_that_is_far_behind_began_again(tmp_path):
    asyncio.run(recorded(tmp_path / "run", [0, 20, 40, 20]))

    run = read_training_run(tmp_path / "run")

    assert [(step.step, step.n) for step in run.steps] == [(0, 2), (20, 2)]


def test_two_trainers_far_apart_lose_nothing_to_each_other(tmp_path):
    steps = [step for place in range(6) for step in (500 + place, 3 + place)]
    asyncio.run(recorded(tmp_path / "run", steps))

    run = read_training_run(tmp_path / "run")

    assert run.n_writers == 2
    expected = [(3 + place, 2) for place in range(6)] + [(500 + place, 2) for place in range(6)]
    assert [(step.step, step.n) for step in run.steps] == expected


def test_a_trainer_that_goes_back_and_past_where_it_was_counts_once(tmp_path):
    asyncio.run(recorded(tmp_path / "run", [*range(0, 60, 2), *range(30, 90, 2)]))

    run = read_training_run(tmp_path / "run")

    assert run.n_writers == 2
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
