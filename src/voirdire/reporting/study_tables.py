"""Gates, certificates and calibrations on a terminal."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from voirdire._messages import shorten
from voirdire.reporting.number_formats import margin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from voirdire.studies import CertificateChange, Examination, GoldExamination

__all__ = [
    "calibration_lines",
    "change_lines",
    "gate_text",
]

_MOST_CLOSED = 5


def change_lines(changes: tuple[CertificateChange, ...], n_outcomes: int) -> list[str]:
    """Say whether a certificate holds, and what changed."""
    if not changes:
        return [f"the certificate holds: labels, settings and outcomes ({n_outcomes}) are the same"]
    head = f"the certificate does not hold, {len(changes)} changed:"
    return [head, *(f"  {_describe_change(row)}" for row in changes)]


def _describe_change(row: CertificateChange) -> str:
    place, _, epsilon = row.what.rpartition(" | ")
    with suppress(ValueError):
        epsilon = f", ε {margin(float(epsilon))}"
    what = f"{shorten(place, width=80)}{epsilon}" if place else shorten(row.what, width=80)
    certified, now = (shorten(value, width=24) for value in (row.certified, row.found))
    return f"{what}: certified {certified}, now {now}"


def gate_text(examination: Examination, judges: Iterable[str]) -> str:
    """Say which judges have not passed, and where; empty where all have passed everything.

    A judge without labels for a question that others were examined on has not passed it.
    """
    outcomes = {
        (row.judge, row.question, row.alignment, row.epsilon): row.finding.replace("_", " ")
        for row in examination.results
    }
    closed = [
        f"{shorten(judge)}: {outcome} ({shorten(place[0])}, {place[1]}, ε {place[2]:g})"
        for judge in dict.fromkeys([*judges, *examination.judges])
        for place in dict.fromkeys(place[1:] for place in outcomes)
        if (outcome := outcomes.get((judge, *place), "not examined")) != "passed"
    ]
    more = [f"and {len(closed) - _MOST_CLOSED} more"] if len(closed) > _MOST_CLOSED else []
    return "; ".join(closed[:_MOST_CLOSED] + more)


def calibration_lines(examination: GoldExamination) -> Iterator[str]:
    """Say what the calibration of the one judge that was measured is worth."""
    calibrations = examination.calibration().questions
    for question in dict.fromkeys(row.question for row in examination.results):
        row = calibrations.get(question)
        effect = "left as it is, since no calibrator helps"
        if row is not None:
            figures = f"{row.brier:.3f} to {row.calibrated_brier:.3f}"
            effect = f"{row.calibrator.method}, Brier score {figures} on items it was not fitted to"
        yield f"  {shorten(question)}: {effect}"
