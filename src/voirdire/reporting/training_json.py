"""A training run as one JSON object: every figure of every step, under the names of its fields."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from voirdire.records.plain import without_nan

if TYPE_CHECKING:
    from voirdire.rewards.training.run import TrainingRun

__all__ = ["TRAINING_RUN_SCHEMA", "training_run_as_dict", "training_run_to_json"]

TRAINING_RUN_SCHEMA = "voirdire.training_run/1"


def training_run_to_json(run: TrainingRun) -> str:
    """Write a training run as indented JSON; an undefined figure is null.

    Parameters
    ----------
    run : TrainingRun
        What `read_training_run` returns.

    Returns
    -------
    str
        One object, as `training_run_as_dict` gives it.
    """
    content = without_nan(training_run_as_dict(run))
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


def training_run_as_dict(run: TrainingRun) -> dict[str, Any]:
    """Give every figure of a training run; nan stays nan.

    Parameters
    ----------
    run : TrainingRun
        What `read_training_run` returns.

    Returns
    -------
    dict
        `schema`, then the fields of `TrainingRun` under their names; the folder as text, and the
        reference run with its steps under `reference`, null where there is none. `plot` draws it.
    """
    fields = asdict(run)
    fields["folder"] = str(run.folder)
    reference = fields.pop("reference_run")
    return {"schema": TRAINING_RUN_SCHEMA} | fields | {"reference": reference}
