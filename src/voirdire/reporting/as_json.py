"""Results as one JSON object each: every figure, under the names that the docs list.

An examination is read back too, into the record that it was written from.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.records import as_plain
from voirdire.records.plain import without_nan
from voirdire.reporting.json_reading import decode_object, read_record
from voirdire.studies.certificate import result_as_dict
from voirdire.studies.whole_study import Examination

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.records import Certificate
    from voirdire.stats.power_analysis import PowerResult

__all__ = [
    "MOST_BYTES",
    "certificate_to_json",
    "examination_as_dict",
    "examination_from_json",
    "examination_to_json",
    "power_to_json",
]

MOST_BYTES = 256 * 2**20
"""Longest JSON of an examination; the largest study in the tests has a tenth of it."""


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


def examination_from_json(
    content: str | bytes | Mapping[str, Any], *, source: str = "report.json"
) -> Examination:
    """Read what `examination_to_json` wrote.

    Parameters
    ----------
    content : str, bytes or mapping
        The JSON, as text, as UTF-8, or decoded; null and nan are alike. Unknown keys are
        left aside.
    source : str, optional
        What errors call it.

    Returns
    -------
    Examination
        The record, but for `understood` and what each result set aside, which the JSON does not
        have; nan where the JSON has null.

    Raises
    ------
    InputError
        If it is no such JSON, longer than 256 MiB, or a value is of a wrong type or out of range;
        the message names the place.

    Examples
    --------
    >>> import voirdire
    >>> from voirdire.studies import Examination
    >>> truth = {i: i % 2 for i in range(60)}
    >>> found = Examination(results=(voirdire.alt_test(truth, {"ann": truth, "bob": truth}),))
    >>> examination_from_json(examination_to_json(found)).results[0].outcome
    'passed'
    """
    wanted = "what `voirdire examine --json` prints"
    plain = decode_object(
        content,
        source=source,
        most_bytes=MOST_BYTES,
        wanted=wanted,
        made_by=_MADE_BY,
    )
    if "examinations" not in plain:
        keys = ", ".join(repr(shorten(key, width=20)) for key in list(plain)[:5]) or "no keys"
        rule = f"must be {wanted}, with a key `examinations`"
        msg = f"{source}: {rule}, got an object with {keys}. {_MADE_BY}."
        raise InputError(msg)
    return read_record(Examination, plain, source=source, made_by=_MADE_BY)


_MADE_BY = "Make one with `voirdire examine --json`"


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


def _written(content: Any) -> str:
    return json.dumps(without_nan(content), indent=2, ensure_ascii=False, allow_nan=False)
