"""Makes the reproducible record of an examination."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from voirdire.documents import hash_content
from voirdire.io.declared import Reading
from voirdire.io.labels import hash_labels
from voirdire.records import CERTIFICATE_SCHEMA, Certificate, as_plain
from voirdire.records.plain import without_nan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.io import LabelTable
    from voirdire.stats import AltTestResult
    from voirdire.studies.whole_study import Examination

__all__ = ["certify"]

_LIBRARIES = ("voirdire", "numpy", "scipy", "polars")
_METHOD = {"method": "t"}
_NORMALIZE: dict[str, Any] = {"normalize": None}
"""Constants that stand in every certificate, so that the same labels keep the same hash."""


def certify(
    examination: Examination,
    *,
    humans: LabelTable,
    judges: LabelTable,
    gold: LabelTable | None = None,
    epsilon_reason: str | None = None,
    reading: Reading | Mapping[str, Any] | None = None,
    fingerprints: Mapping[str, str | Sequence[str]] | None = None,
    rubric_hash: str | None = None,
    population: str | None = None,
) -> Certificate:
    """Record an examination so that others with the data can repeat it.

    Parameters
    ----------
    examination : Examination
        What was found.
    humans, judges : LabelTable
        The labels that it was found on.
    gold : LabelTable, optional
        Gold labels, where they stood for the annotators.
    epsilon_reason : str, optional
        Why this ε was fixed in advance, if the examination does not say.
    reading : Reading or mapping, optional
        How labels were read from their files, such as the threshold of probabilities. Without
        one the certificate has the threshold that `judges` came with, a list of several, either by
        question where they differ, or ``"none"``: then labels were given as they are.
    fingerprints : mapping of str to str or sequence of str, optional
        The fingerprint of each judge that has one; by default those that `judges` came with.
    rubric_hash : str, optional
        Content hash of the rubric.
    population : str, optional
        Which items the examined ones stand for, in words.

    Returns
    -------
    Certificate
        Its `content_hash` covers everything but the time, the versions and itself.
    """
    fingerprints_by_judge = judges.fingerprints if fingerprints is None else fingerprints
    if isinstance(reading, Reading):
        reading = _declared_reading(reading, judges)
    reading_settings = {"epsilon_reason": epsilon_reason} | dict(reading or {})
    content: dict[str, Any] = {
        "schema": CERTIFICATE_SCHEMA,
        "data_hash": hash_labels(humans.frame),
        "gold_hash": None if gold is None else hash_labels(gold.frame),
        "judges": {
            name: {
                "labels_hash": hash_labels(judges.frame.filter(judges.frame["rater"] == name)),
                "fingerprint": _unwrap_single(fingerprints_by_judge.get(name)),
            }
            for name in sorted(examination.judges)
        },
        "rubric_hash": rubric_hash,
        "settings": _METHOD
        | _NORMALIZE
        | examination.settings
        | {"threshold": _thresholds(examination, judges)}
        | {name: value for name, value in reading_settings.items() if value is not None},
        "examinations": tuple(
            sorted(
                (
                    _METHOD | row | {"settings": _NORMALIZE | row["settings"]}
                    for row in map(_certified_figures, examination.results)
                ),
                key=itemgetter("question", "judge", "alignment", "epsilon"),
            )
        ),
        "outcomes": {
            f"{row.question} | {row.judge} | {row.alignment} | {row.epsilon!r}": row.outcome
            for row in examination.results
        },
    }
    if population is not None:
        content["population"] = population
    majority_figures = {
        f"{row.question} | {row.judge}": {
            name: [each.estimate, each.low, each.high]
            for name, each in row.classification.figures.items()
        }
        for found in examination.questions
        for row in found.against_majority
    }
    if majority_figures:
        content["against_majority"] = majority_figures
    return Certificate(
        **content,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions={"python": platform.python_version()}
        | {name: version(name) for name in _LIBRARIES},
        content_hash=hash_content(without_nan(content)),
    )


def _certified_figures(result: AltTestResult) -> dict[str, Any]:
    """Collect the figures that are hashed; what the record tells beside them is not."""
    figures: dict[str, Any] = as_plain(result)
    for name in ("finding", "n_within", "n_shown", "t_test"):
        del figures[name]
    # what the record says in other words, so that the same labels keep their hash
    if figures["crowd"] is None:
        del figures["crowd"]
    for control in figures["controls"]:
        control["passed"] = control["winning_rate"] >= 0.5
    because = figures["because"]["figures"]
    if "constant_winning_rate" in because:
        because["constant_passes"] = because.pop("constant_winning_rate") >= 0.5
    for row in figures["annotators"]:
        del row["deciding_p_value"], row["shown"]
    del figures["worst_case"]["winning_rate_answered"]
    return figures


def _declared_reading(reading: Reading, judges: LabelTable) -> dict[str, Any]:
    """Name the threshold and what meant no answer; verdicts say by themselves what they declare."""
    threshold = reading.threshold
    if threshold is None and not judges.thresholds:
        threshold = 0.5
    return {"threshold": threshold, "missing": list(reading.missing)}


def _thresholds(examination: Examination, judges: LabelTable) -> Any:
    """Return the thresholds of all questions, as one value where they are the same."""
    thresholds = {
        name: _unwrap_single(judges.thresholds[name])
        for name in sorted({row.question for row in examination.results} & {*judges.thresholds})
    }
    values = list(thresholds.values())
    if not values:
        return "none"
    return values[0] if all(value == values[0] for value in values) else thresholds


def _unwrap_single(values: Any) -> Any:
    """Return a single value as it is, and several as a list."""
    if values is None or isinstance(values, str):
        return values
    return values[0] if len(values) == 1 else list(values)
