"""An examination as one JSON object: every figure, under the names that the docs list."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from voirdire.records import as_plain
from voirdire.records.plain import without_nan
from voirdire.studies.certificate import result_as_dict

if TYPE_CHECKING:
    from voirdire.records import Certificate
    from voirdire.studies import Examination

__all__ = ["certificate_to_json", "examination_as_dict", "examination_to_json"]


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


def _written(content: Any) -> str:
    return json.dumps(without_nan(content), indent=2, ensure_ascii=False, allow_nan=False)
