"""Makes the reproducible record of an examination, and checks whether it still holds."""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from importlib.metadata import version
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from voirdire.documents import hash_content
from voirdire.errors import InputError
from voirdire.io.declared import Reading
from voirdire.io.labels import hash_labels
from voirdire.records import CERTIFICATE_SCHEMA, Certificate, as_plain
from voirdire.records.plain import without_nan
from voirdire.stats.plan import TestPlan
from voirdire.studies.watching import apply_stop, list_stops, watch_again
from voirdire.studies.whole_study import examine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.io import LabelTable
    from voirdire.studies.watching import WatchedJudge
    from voirdire.studies.whole_study import Examination

_LIBRARIES = ("voirdire", "numpy", "scipy", "polars")


def certify(
    examination: Examination,
    *,
    humans: LabelTable,
    judges: LabelTable,
    gold: LabelTable | None = None,
    reading: Reading | Mapping[str, Any] | None = None,
    rubric_hash: str | None = None,
    population: str | None = None,
    stop: Sequence[WatchedJudge] = (),
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
    reading : Reading or mapping, optional
        How labels were read from their files, such as the threshold of probabilities. Without
        one the certificate has the threshold that `judges` came with, a list of several, either by
        question where they differ, or ``"none"``: then labels were given as they are.
    rubric_hash : str, optional
        Content hash of the rubric.
    population : str, optional
        Which items the examined ones stand for, in words.
    stop : sequence of WatchedJudge, optional
        The stop that decided, where `apply_stop` did.

    Returns
    -------
    Certificate
        Its `content_hash` covers everything but the time, the versions and itself.
    """
    examined = list(dict.fromkeys(row.question for row in examination.results))
    humans, judges = humans.of_questions(examined), judges.of_questions(examined)
    gold = None if gold is None else gold.of_questions(examined)
    if isinstance(reading, Reading):  # verdicts say by themselves what they declare
        threshold = reading.threshold
        if threshold is None and not judges.thresholds:
            threshold = 0.5
        reading = {"threshold": threshold, "missing": list(reading.missing)}
    results = map(as_plain, examination.results)
    order = itemgetter("question", "judge", "alignment", "epsilon")
    content: dict[str, Any] = {
        "schema": CERTIFICATE_SCHEMA,
        "data_hash": hash_labels(humans.frame),
        "gold_hash": None if gold is None else hash_labels(gold.frame),
        "judges": {
            name: {
                "labels_hash": hash_labels(judges.frame.filter(judges.frame["rater"] == name)),
                "fingerprint": _unwrap_single(judges.fingerprints.get(name)),
            }
            for name in sorted(examination.judges)
        },
        "rubric_hash": rubric_hash,
        "settings": examination.settings
        | {"threshold": _thresholds(examination, judges)}
        | {name: value for name, value in (reading or {}).items() if value is not None},
        "examinations": tuple(sorted(results, key=order)),
        "outcomes": {
            f"{row.question} | {row.judge} | {row.alignment} | {row.epsilon!r}": row.outcome
            for row in examination.results
        },
    }
    if population is not None:
        content["population"] = population
    if stop:
        content["stop"] = tuple(list_stops(stop))
    majority_figures = {
        f"{row.question} | {row.judge}": {
            name: [each.estimate, each.low, each.high]
            for name, each in row.classification.figures.items()
        }
        for findings in examination.questions
        for row in findings.against_majority
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


# Checking -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CertificateChange:
    """A difference from the certificate.

    Attributes
    ----------
    what : str
        What differs: ``"data"``, ``"gold"``, ``"judge NAME"``, ``"rubric"``, ``"setting NAME"``,
        ``"outcome ..."`` or ``"figures ..."``.
    certified, found : object
        The value in the certificate, and the value now; hashes for labels.
    """

    what: str
    certified: Any
    found: Any


def check_certificate(
    certificate: Certificate,
    *,
    humans: LabelTable,
    judges: LabelTable,
    gold: LabelTable | None = None,
    rubric_hash: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> tuple[CertificateChange, ...]:
    """Repeat the examination of a certificate, and list what differs.

    Parameters
    ----------
    certificate : Certificate
        As `voirdire.rewards.read_certificate` gives it.
    humans, judges : LabelTable
        The labels that there are now, read with `recorded_reading`.
    gold : LabelTable, optional
        Gold labels, where they stood for the annotators.
    rubric_hash : str, optional
        Content hash of the rubric that there is now; by default it is not compared.
    settings : mapping, optional
        Settings that should be those of the certificate, under the names of `TestPlan`: those of
        the file that fixed ε beforehand.

    Returns
    -------
    tuple of CertificateChange
        Empty where everything holds. The order of rows and the format of files change nothing.

    Raises
    ------
    InputError
        If the certificate is of an alignment that is a function of the user's, or its settings
        are none.
    NoDataError
        If nothing is left to examine.
    """
    recorded = certificate.settings
    plan = _plan(recorded)
    now = replace(plan, **(settings or {})).as_settings()
    pairs = [(f"setting {name}", recorded.get(name), now[name]) for name in settings or {}]
    if rubric_hash is not None:
        pairs.append(("rubric", certificate.rubric_hash, rubric_hash))
    raters = [name for name in certificate.judges if name in judges.raters]
    lost = [name for name in certificate.judges if name not in raters]
    pairs += [(f"judge {name}", "labels", None) for name in lost]
    if raters:
        examination = examine(
            judges=judges.of_raters(raters),
            humans=humans,
            gold=gold,
            alignment=_read_setting(recorded, "alignments"),
            questions=_read_setting(recorded, "questions"),
            labels=recorded.get("labels"),
            clusters=bool(recorded.get("clustered")),
            plan=plan,
            around=False,
        )
        stop = watch_again("certificate", certificate.stop or ())
        if stop:
            examination = apply_stop(examination, stop, humans=humans, judges=judges)
        repeated = certify(
            examination,
            humans=humans,
            judges=judges,
            gold=gold,
            rubric_hash=certificate.rubric_hash,
            reading={name: recorded.get(name) for name in ("threshold", "missing")},
            stop=stop,
        )
        pairs += _compare(certificate, repeated, raters)
    return tuple(
        CertificateChange(what=what, certified=before, found=found)
        for what, before, found in pairs
        if not _are_equal(before, found)
    )


def _read_setting(recorded: Mapping[str, Any], name: str) -> Any:
    if name not in recorded:
        msg = f"the certificate must say its {name}, got none. Examine again."
        raise InputError(msg)
    return recorded[name]


def _plan(recorded: Mapping[str, Any]) -> TestPlan:
    if recorded.get("similarity") is not None:
        msg = (
            f"the certificate must be of alignments with a known name, got the function "
            f"{recorded['similarity']!r}. Examine again with it."
        )
        raise InputError(msg)
    names = [each.name for each in fields(TestPlan)]
    return TestPlan(**{name: recorded[name] for name in names if name in recorded})


def _compare(
    certificate: Certificate, repeated: Certificate, judges: list[str]
) -> list[tuple[str, Any, Any]]:
    """Pair what the certificate says with what is found now; figures where labels are the same."""
    pairs: list[tuple[str, Any, Any]] = [
        ("data", certificate.data_hash, repeated.data_hash),
        ("gold", certificate.gold_hash, repeated.gold_hash),
    ]
    for name in judges:
        for part in ("labels_hash", "fingerprint"):
            before, now = (record.judges[name].get(part) for record in (certificate, repeated))
            pairs.append((f"judge {name}", before, now))
    missing = certificate.outcomes.keys() - repeated.outcomes.keys()
    pairs += [
        (f"outcome {place}", "examined", None) for place in certificate.outcomes if place in missing
    ]
    pairs += [
        (f"outcome {place}", certificate.outcomes.get(place), outcome)
        for place, outcome in repeated.outcomes.items()
    ]
    if any(before != now for _, before, now in pairs):
        return pairs
    for before, now in zip(certificate.examinations, repeated.examinations, strict=True):
        place = " | ".join(str(before.get(name)) for name in ("question", "judge", "epsilon"))
        names = [name for name in before if not _are_equal(before[name], now.get(name))]
        pairs += [(f"figures {place}", before[name], now.get(name)) for name in names[:1]]
    return pairs


def recorded_reading(certificate: Certificate, reading: Reading) -> Reading:
    """Return how to read labels for a certificate: their meaning from it, the layout as given.

    Parameters
    ----------
    certificate : Certificate
        Its kind, declared labels, words for missing and threshold count.
    reading : Reading
        How the files that there are now name their columns, and their format.

    Returns
    -------
    Reading
    """
    recorded = certificate.settings
    threshold = recorded.get("threshold")
    return replace(
        reading,
        kind=recorded.get("kind"),
        labels=recorded.get("labels"),
        missing=tuple(recorded.get("missing") or ()),
        threshold=threshold if isinstance(threshold, int | float) else None,
    )


_SAME = 1e-6
"""Relative differences of figures below it are rounding between versions."""


def _are_equal(first: Any, second: Any) -> bool:
    """Return whether values are equal, floats up to rounding; null and nan are equal."""
    if isinstance(second, float) and math.isnan(second):
        return first is None or (isinstance(first, float) and math.isnan(first))
    if isinstance(first, float) or isinstance(second, float):
        numbers = isinstance(first, int | float) and isinstance(second, int | float)
        return numbers and math.isclose(first, second, rel_tol=_SAME, abs_tol=_SAME)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(_are_equal, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        keys = first.keys() - {"sentence"}  # a newer version may word it otherwise
        return first.keys() == second.keys() and all(_are_equal(first[k], second[k]) for k in keys)
    return bool(first == second)
