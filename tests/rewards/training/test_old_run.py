"""A run folder of voirdire 0.1.0: the figures that 0.1.0 read, and what else it is good for."""

import json
import math
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from rewards.reward_cases import tiny_reward
from rewards.training.recorded_runs import watch_of
from voirdire.errors import InputError
from voirdire.rewards import read_training_run, replay, sample_training_run

OLD = Path(__file__).resolve().parents[2] / "reference" / "run_of_0_1_0"


def without_nan(value):
    if isinstance(value, float):
        return None if math.isnan(value) else pytest.approx(value, rel=1e-12)
    if isinstance(value, dict):
        return {key: without_nan(inner) for key, inner in value.items()}
    return [without_nan(inner) for inner in value] if isinstance(value, list | tuple) else value


def test_the_figures_are_those_that_0_1_0_read():
    expected = json.loads((OLD / "figures.json").read_text(encoding="utf-8"))

    run = read_training_run(OLD / "run")

    for step, figures in zip(run.steps, expected["steps"], strict=True):
        found = without_nan(asdict(step))
        assert {name: found[name] for name in figures} == figures
    assert without_nan([asdict(alarm) for alarm in run.alarms]) == expected["alarms"]
    assert (run.length_unit, run.n_writers) == (expected["length_unit"], expected["n_writers"])
    assert run.fingerprint == expected["fingerprint"]
    assert run.dropped == ()


def test_nobody_looked_for_nonsense_in_it():
    run = read_training_run(OLD / "run")

    assert all(math.isnan(step.nonsense_share) for step in run.steps)


def test_it_is_replayed_and_sampled():
    found = replay(OLD / "run", tiny_reward())
    sample = sample_training_run(OLD / "run", n=12)

    run = read_training_run(OLD / "run")
    assert found.n == run.n_completions == 30
    assert found.n_before == found.n_after == 30 - sum(step.n_missing for step in run.steps)
    assert found.whole.mean_after == pytest.approx(found.whole.mean_before)
    assert len(sample.items) == 12


def test_it_is_not_gone_on_with():
    with pytest.raises(InputError, match=r"a run that voirdire 0\.1\.0 began, which can only be"):
        watch_of(OLD / "run")


def test_it_is_a_reference(tmp_path):
    watch_of(tmp_path / "run", reference=OLD / "run").close()

    found = read_training_run(tmp_path / "run").reference

    assert [step.step for step in found] == [0, 1, 2, 3]


def test_lines_that_are_damaged_are_left_out_and_listed(tmp_path):
    shutil.copytree(OLD / "run", tmp_path / "run")
    whole = read_training_run(tmp_path / "run").n_completions
    for kind in ("steps", "completions"):
        path = sorted((tmp_path / "run").glob(f"{kind}-r0-*.jsonl"))[-1]
        path.write_bytes(path.read_bytes()[:-40])

    run = read_training_run(tmp_path / "run")

    assert run.n_completions == whole - 3  # those of the last call
    assert [reason.partition(":")[0].partition("-")[0] for reason in run.dropped] == [
        "steps",
        "completions",
    ]


@pytest.mark.edges
@pytest.mark.parametrize("line", ["[" * 100_000, '{"id": 7}', '{"id": "x-0"}', "[]"])
def test_a_line_of_a_stranger_costs_that_line(tmp_path, line):
    shutil.copytree(OLD / "run", tmp_path / "run")
    path = min((tmp_path / "run").glob("completions-*.jsonl"))
    path.write_text(f"{line}\n{path.read_text('utf-8')}", encoding="utf-8")

    run = read_training_run(tmp_path / "run")

    assert run.n_completions == 30
    assert len(run.dropped) == 1


def test_one_without_completions_is_refused(tmp_path):
    shutil.copytree(OLD / "run", tmp_path / "run")
    for path in (tmp_path / "run").glob("completions-*.jsonl"):
        path.unlink()

    with pytest.raises(InputError, match=r"without completions, .*Read it with voirdire 0\.1\."):
        read_training_run(tmp_path / "run")
