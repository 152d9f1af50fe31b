"""What was recorded of a training arrives in W&B, MLflow and trackio, where they are installed."""

import math
import struct
import sys
from dataclasses import replace

import pytest

from made_training_run import made_run
from voirdire.adapters import log_training_run
from voirdire.errors import InputError


def tracker(name, packages):
    """Import a tracker, or skip: in no dependency group, since their pins exclude each other's."""
    return pytest.importorskip(name, reason=f"{name} is missing: pip install {packages}")


def sent_figures(run):
    """Say by hand what of a run should arrive: by metric its steps and values."""
    wanted = {"reward": "reward_mean", "missing": "missing_share",
              "groups_without_spread": "zero_spread_share"}  # fmt: skip
    found = {
        f"mine/{key}": [(s.step, getattr(s, name)) for s in run.steps]
        for key, name in wanted.items()
    }
    found["mine/proposition/apology"] = [
        (s.step, s.proposition_rates["apology"]) for s in run.steps
    ]
    found["mine/class/comply/ideal"] = [
        (s.step, s.class_shares["comply"]["ideal"]) for s in run.steps
    ]
    found["mine/n_tokens"] = [(s.step, s.length_mean) for s in run.steps]
    found["mine/alarms"] = [(s.step, float(len(s.alarms))) for s in run.steps]
    return {key: [(k, x) for k, x in rows if not math.isnan(x)] for key, rows in found.items()}


@pytest.fixture
def run():
    """Make a run with a step without rewards, steps that are far apart, and alarms."""
    made = made_run(12, gone={3})
    steps = tuple(
        replace(row, step=7 * row.step, alarms=made.alarms[:2] if row.step == 5 else ())
        for row in made.steps
    )
    return replace(made, steps=steps)


def check_arrived(run, arrived):
    """Compare what a tracker gives back with what was sent, rounded as trackers store it."""
    for key, rows in sent_figures(run).items():
        assert [step for step, _ in arrived[key]] == [step for step, _ in rows], key
        assert [x for _, x in arrived[key]] == pytest.approx([x for _, x in rows]), key
    assert "mine/proposition/disclaimer" not in arrived  # no reward depends on it
    assert not any("nonsense" in key for key in arrived)  # nobody looked for it in this run
    assert all(math.isfinite(x) for rows in arrived.values() for _, x in rows)


@pytest.mark.ci
@pytest.mark.filterwarnings("default")  # MLflow's own
def test_figures_and_alarms_arrive_in_mlflow(run, tmp_path, monkeypatch):
    mlflow = tracker("mlflow", "mlflow-skinny alembic")

    monkeypatch.chdir(tmp_path)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.sqlite'}")
    try:
        sent = log_training_run(run, to="mlflow", project="nonsense", name="first")
        again = log_training_run(run, to="mlflow", project="nonsense")

        client = mlflow.MlflowClient()
        found = client.get_run(sent)
        histories = {
            key: [(row.step, row.value) for row in client.get_metric_history(sent, key)]
            for key in found.data.metrics
        }
        alarms = mlflow.artifacts.load_text(f"{found.info.artifact_uri}/alarms.txt")
        assert found.info.status == "FINISHED"
        assert (found.info.run_name, client.get_run(again).info.run_name) == ("first", "first")
        assert found.info.experiment_id == client.get_run(again).info.experiment_id
        assert found.data.tags["reward_hash"] == run.reward_hash
    finally:
        mlflow.set_tracking_uri(before)

    check_arrived(run, histories)
    assert alarms.splitlines()[0] == "step 0: missing: missing of reward: 0.31"
    assert len(alarms.splitlines()) == len(run.alarms)


def offline_records(content):
    """Read the file of an offline run: a log in LevelDB's format behind a header of 7 bytes."""
    place, record = 7, b""
    while place < len(content):
        left = 32_768 - place % 32_768
        if left < 7:
            place += left
            continue
        _, size, kind = struct.unpack("<IHB", content[place : place + 7])
        record += content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield record
            record = b""


@pytest.mark.ci
def test_figures_and_alarms_arrive_in_wandb_offline(run, tmp_path, monkeypatch):
    wandb = tracker("wandb", "wandb")
    from wandb.proto import wandb_internal_pb2

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")

    sent = log_training_run(run, to="wandb", project="nonsense", name="first")
    wandb.teardown()  # its own process writes the rest of the file

    [path] = tmp_path.rglob(f"run-{sent}.wandb")
    histories, config = {}, ""
    for data in offline_records(path.read_bytes()):
        record = wandb_internal_pb2.Record.FromString(data)
        items = {"/".join(item.nested_key) or item.key: item.value_json
                 for item in record.history.item}  # fmt: skip
        for key, value in items.items():
            if not key.startswith("_"):
                histories.setdefault(key, []).append((int(items["_step"]), float(value)))
        config += str(record.run.config)
    check_arrived(run, histories)
    assert "step 0: missing: missing of reward: 0.31" in config


@pytest.mark.ci
def test_figures_and_alarms_arrive_in_trackio(run, tmp_path, monkeypatch):
    tracker("trackio", "trackio")
    from trackio import sqlite_storage, utils
    from trackio.sqlite_storage import SQLiteStorage

    for module in (utils, sqlite_storage):  # read once from the environment, when it is imported
        monkeypatch.setattr(module, "TRACKIO_DIR", tmp_path)

    sent = log_training_run(run, to="trackio", project="nonsense", name="first")

    histories = {}
    for row in SQLiteStorage.get_logs("nonsense", "first"):
        for key, value in row.items():
            if key.startswith("mine/"):
                histories.setdefault(key, []).append((row["step"], value))
    check_arrived(run, histories)
    config = SQLiteStorage.get_run_config("nonsense", "first", run_id=sent)
    assert config["alarms"][0] == "step 0: missing: missing of reward: 0.31"


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)

    with pytest.raises(InputError, match=r"needs W&B\. Install it with `pip install wandb`\."):
        log_training_run(made_run(2), to="wandb")


def test_another_tracker_and_a_run_without_steps_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"`to` must be one of wandb, mlflow, trackio, got 'x'"):
        log_training_run(made_run(2), to="x")
    with pytest.raises(InputError, match=r"`run` must have steps, got 'runs/first'"):
        log_training_run(replace(made_run(2), steps=()), to="mlflow")
    with pytest.raises(InputError, match="`run` must be the folder of a training run"):
        log_training_run(tmp_path / "missing", to="mlflow")
