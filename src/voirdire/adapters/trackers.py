"""Sends what was recorded of a training to an experiment tracker: W&B, MLflow or trackio."""

from __future__ import annotations

import importlib
import math
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.rewards.training.run import TrainingRun
from voirdire.rewards.training.run_reading import read_training_run
from voirdire.rewards.training.step_figures import list_metrics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from voirdire.rewards.training.run import TrainingStep

__all__ = ["Tracker", "log_training_run"]

Tracker: TypeAlias = Literal["wandb", "mlflow", "trackio"]
"""Where figures can be sent to."""

_PACKAGES = {"wandb": ("W&B", "wandb"), "mlflow": ("MLflow", "mlflow"),
             "trackio": ("trackio", "trackio")}  # fmt: skip
_NO_MLFLOW_NAME = re.compile(r"[^\w.\- :/]")
_MLFLOW_BATCH = 1_000
"""Metrics that MLflow takes at once."""


def log_training_run(
    run: TrainingRun | str | Path,
    *,
    to: Tracker,
    project: str = "voirdire",
    name: str | None = None,
) -> str:
    """Send the figures and the alarms of a training run to an experiment tracker.

    A new run of the tracker is made, and ended. Where it goes, and whether it is sent over the
    network, is the tracker's own setting (`WANDB_MODE`, `MLFLOW_TRACKING_URI`, `TRACKIO_DIR`, …).

    Parameters
    ----------
    run : TrainingRun, str or path
        A run, or its folder.
    to : {"wandb", "mlflow", "trackio"}
        The tracker; its package must be installed.
    project : str, optional
        The tracker's project; in MLflow, the experiment.
    name : str, optional
        Of the run in the tracker; by default that of the run's folder.

    Returns
    -------
    str
        The tracker's id of the run.

    Raises
    ------
    InputError
        If the run has no steps, if `to` is another word, or if the package is missing.

    Notes
    -----
    Metrics have the names that adapters hand to trainers, ``<reward>/proposition/<id>`` and so on,
    at the steps of the training; what is undefined is left out. ``<reward>/alarms`` is the number
    of alarms that began with a step; their texts are in the run's configuration under ``alarms``,
    in MLflow in the file ``alarms.txt``. No completion is sent. trackio knows one run at a time: it
    ends one that is under way in this process.
    """
    if to not in get_args(Tracker):
        msg = f"`to` must be one of {', '.join(get_args(Tracker))}, got {shorten(to)!r}."
        raise InputError(msg)
    if not isinstance(run, TrainingRun):
        run = read_training_run(run)
    if not run.steps:
        msg = f"`run` must have steps, got {str(run.folder)!r}, which has none. Send it later."
        raise InputError(msg)
    package = _import(to)
    name = run.folder.name if name is None else name
    send = {"wandb": _send_to_wandb, "mlflow": _send_to_mlflow, "trackio": _send_to_trackio}[to]
    return send(package, run, project=project, name=name)


def _import(to: Tracker) -> Any:
    title, package = _PACKAGES[to]
    try:
        return importlib.import_module(package)
    except ImportError as error:
        msg = f"`to={to!r}` needs {title}. Install it with `pip install {package}`."
        raise InputError(msg) from error


def _send_to_wandb(wandb: Any, run: TrainingRun, *, project: str, name: str) -> str:
    about = _about(run) | {"alarms": _alarms(run)}
    sent = wandb.init(project=project, name=name, config=about, reinit="create_new")
    with sent:
        for step, metrics in _metrics(run):
            sent.log(metrics, step=step.step)
    return str(sent.id)


def _send_to_trackio(trackio: Any, run: TrainingRun, *, project: str, name: str) -> str:
    about = _about(run) | {"alarms": _alarms(run)}
    quiet = {"embed": False, "auto_log_gpu": False, "auto_log_cpu": False}
    sent = trackio.init(project=project, name=name, config=about, **quiet)
    try:
        for step, metrics in _metrics(run):
            sent.log(metrics, step=step.step)
    finally:
        sent.finish()
    return str(sent.id)


def _send_to_mlflow(mlflow: Any, run: TrainingRun, *, project: str, name: str) -> str:
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name(project)
    place = client.create_experiment(project) if experiment is None else experiment.experiment_id
    sent = client.create_run(place, run_name=name, tags=_about(run)).info.run_id
    began = _began(run)
    rows = [
        mlflow.entities.Metric(
            _NO_MLFLOW_NAME.sub("_", key),
            value,
            round(1000 * (began + (0.0 if math.isnan(step.seconds) else step.seconds))),
            step.step,
        )
        for step, metrics in _metrics(run)
        for key, value in metrics.items()
    ]
    try:
        for first in range(0, len(rows), _MLFLOW_BATCH):
            client.log_batch(sent, metrics=rows[first : first + _MLFLOW_BATCH])
        client.log_text(sent, "".join(f"{line}\n" for line in _alarms(run)), "alarms.txt")
    except BaseException:
        client.set_terminated(sent, status="FAILED")
        raise
    client.set_terminated(sent)
    return str(sent)


def _metrics(run: TrainingRun) -> Iterator[tuple[TrainingStep, Mapping[str, float]]]:
    """Return the defined figures of each step under the names that trainers get."""
    paying = {name for names in run.paying.values() for name in names} or set(run.propositions)
    length = f"n_{run.length_unit}"
    for step in run.steps:
        figures = {
            key: value
            for key, value in list_metrics(step).items()
            if not key.startswith("proposition/") or key.removeprefix("proposition/") in paying
        }
        figures[length] = figures.pop("n_tokens")
        figures |= {"nonsense_gain": step.nonsense_gain, "alarms": float(len(step.alarms))}
        yield step, {f"{run.name}/{key}": x for key, x in figures.items() if math.isfinite(x)}


def _about(run: TrainingRun) -> dict[str, Any]:
    return {
        "reward": run.reward_name,
        "reward_hash": run.reward_hash,
        "rubric": run.rubric,
        "judge": run.judge,
        "framework": run.framework,
        "created": run.created,
    }


def _alarms(run: TrainingRun) -> list[str]:
    return [f"step {alarm.step}: {alarm.kind}: {alarm.text}" for alarm in run.alarms]


def _began(run: TrainingRun) -> float:
    """Return when the run began, in seconds since 1970; now where it does not say."""
    try:
        return datetime.fromisoformat(run.created).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return time.time()
