"""Gates, certificates, anchors, calibrations and components of variance on a terminal."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.reporting.number_formats import margin
from voirdire.reporting.plain_tables import plain_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.table import Table

    from voirdire.stats import VarianceComponents
    from voirdire.studies import AnchorResult, CertificateChange, Examination, GoldExamination

__all__ = [
    "anchor_table",
    "calibration_lines",
    "change_lines",
    "gate_text",
    "variance_lines",
    "variance_table",
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


def anchor_table(results: Sequence[AnchorResult]) -> Table:
    """Lay out how far each judge's answers to frozen items changed."""
    heads = ("question", "judge", "verdict", "items", "changed", "interval", "shift to yes")
    rows = []
    for row in results:
        drift, shift = row.drift, row.drift.shift
        names = (shorten(row.question, width=40), shorten(row.judge, width=40), drift.verdict)
        changed = f"{drift.n_changed:,} ({drift.changed.estimate:.1%})"
        interval = f"{drift.changed.low:.1%} to {drift.changed.high:.1%}"
        moved = ""
        if shift is not None:
            moved = f"{shift.estimate:+.1%} ({shift.low:+.1%} to {shift.high:+.1%})"
        rows.append((*names, f"{drift.n_items:,}", changed, interval, moved))
    return plain_table(heads, rows, words=heads[:3])


def variance_table(variance: VarianceComponents) -> Table:
    """Lay out where the spread of scores comes from."""
    heads = ("differences between", "variance", "of all", "of the error")
    rows = [
        (
            " × ".join(shorten(facet, width=20) for facet in row.facets) or "the rest",
            f"{row.variance:.4g}",
            *(f"{share:.0%}" for share in (row.share, row.error_share)),
        )
        for row in variance.components
    ]
    return plain_table(heads, rows, words=heads[:1])


def variance_lines(variance: VarianceComponents) -> list[str]:
    """Say how many more of each facet would halve the error of the mean."""
    error = f"standard error {variance.standard_error:.2g}"
    lines = [f"Mean {variance.mean:.3g}, {error}. To halve the error:"]
    for size in variance.sizes:
        needed = "more of them cannot" if size.n_to_halve is None else f"{size.n_to_halve:,}"
        lines.append(f"  {size.facet}: {needed} (now {size.n_levels:,.4g})")
    return lines + ([f"note: {variance.reason}"] if variance.reason else [])


def gate_text(examination: Examination, judges: Iterable[str]) -> str:
    """Say which judges have not passed, and where; empty where all have passed everything.

    A judge without labels for a question that others were examined on has not passed it.
    """
    outcomes = {
        (row.judge, row.question, row.alignment, row.epsilon): row.outcome
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
