"""Results as one JSON object each: every figure, under the names that the docs list."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from voirdire.records import as_plain
from voirdire.records.plain import without_nan
from voirdire.studies.certificate import result_as_dict

if TYPE_CHECKING:
    from voirdire.records import Certificate
    from voirdire.rewards.training.run import TrainingRun
    from voirdire.stats.power_analysis import PowerResult
    from voirdire.studies import Examination

__all__ = [
    "certificate_to_json",
    "examination_as_dict",
    "examination_to_json",
    "power_to_json",
    "training_run_as_dict",
    "training_run_to_json",
]

_RUN_SCHEMA = "voirdire.training_run/1"


def examination_to_json(examination: Examination) -> str:
    """Write an examination as indented JSON; an undefined figure is null.

    Parameters
    ----------
    examination : Examination
        What was found.

    Returns
    -------
    str
        One object with the keys `examinations`, `pooled`, `questions`, `dropped` and `settings`.
    """
    return _written(examination_as_dict(examination))


def examination_as_dict(examination: Examination) -> dict[str, Any]:
    """Give every figure of an examination under the names of the JSON; nan stays nan.

    Parameters
    ----------
    examination : Examination
        What was found.

    Returns
    -------
    dict
        What `examination_to_json` writes, before undefined figures become null.
    """
    return {
        "examinations": [result_as_dict(row) for row in examination.results],
        "pooled": as_plain(examination.pooled),
        "questions": as_plain(examination.questions),
        "dropped": as_plain(examination.dropped),
        "cautions": as_plain(examination.cautions),
        "settings": examination.settings,
    }


def certificate_to_json(certificate: Certificate) -> str:
    """Write a certificate as indented JSON; an undefined figure is null.

    Parameters
    ----------
    certificate : Certificate
        The record.

    Returns
    -------
    str
        One object with the attributes of `voirdire.records.Certificate`.
    """
    return _written(certificate.as_content())


def power_to_json(result: PowerResult) -> str:
    """Write a result as indented JSON; an undefined figure is null.

    Parameters
    ----------
    result : PowerResult
        What was found.

    Returns
    -------
    str
        One object with the attributes of `PowerResult`.
    """
    return _written(asdict(result))


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
    return _written(training_run_as_dict(run))


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
    return {"schema": _RUN_SCHEMA} | fields | {"reference": reference}


def _written(content: Any) -> str:
    return json.dumps(without_nan(content), indent=2, ensure_ascii=False, allow_nan=False)
