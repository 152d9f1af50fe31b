"""What proof the judge of a run carries, proposition by proposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from voirdire.reporting.page_frame.speech import (
    Clauses,
    Count,
    Decimal,
    Listing,
    Margin,
    Name,
    Said,
    say,
)

if TYPE_CHECKING:
    from voirdire.rewards.training.run import (
        CertifiedExamination,
        PropositionCertificate,
        TrainingRun,
    )

__all__ = [
    "MOST_CERTIFICATES",
    "CertificateRow",
    "certificate_rows",
    "certified_counts",
    "certified_sentence",
    "uncertified",
]

MOST_CERTIFICATES = 100
_MARK_WIDTH = 19
"""Of a hash: enough to find the file."""

Flag: TypeAlias = Literal["good", "bad", "still"]
_FLAGS: dict[str, Flag] = {"passed": "good", "failed": "bad"}
"""How a state looks; the others are neither."""


@dataclass(frozen=True, kw_only=True)
class CertificateRow:
    """One proposition: whether it pays, what is said of its judge, and on what that rests."""

    proposition: str
    pays: bool
    flag: Flag
    state: Said
    shown: Clauses | None
    certificate: Name | None


def certificate_rows(run: TrainingRun) -> tuple[CertificateRow, ...]:
    """List what the certificates say, first of the propositions that pay.

    Parameters
    ----------
    run : TrainingRun
        With or without a record of them.

    Returns
    -------
    tuple of CertificateRow
        Of every proposition; none where it was not recorded.
    """
    paying = _paying(run)
    rows = [_row(name, row, pays=name in paying) for name, row in (run.certificates or {}).items()]
    return tuple(sorted(rows, key=lambda row: not row.pays))


def certified_counts(run: TrainingRun) -> tuple[int, int]:
    """Count the propositions that pay: those with a valid certificate, and all of them."""
    paying = _paying(run)
    return len(paying) - len(uncertified(run)), len(paying)


def uncertified(run: TrainingRun) -> tuple[str, ...]:
    """Name the propositions that pay without a valid certificate.

    Parameters
    ----------
    run : TrainingRun
        Which.

    Returns
    -------
    tuple of str
        In the order of the rubric; none where nothing was recorded.
    """
    found = run.certificates
    if found is None:
        return ()
    return tuple(name for name in _paying(run) if name not in found or not found[name].is_valid)


def certified_sentence(run: TrainingRun) -> Said:
    """Say how many of the propositions that pay have a valid certificate, and which have none."""
    if run.certificates is None:
        return say("training.certificates.unknown")
    lacking, (certified, n) = uncertified(run), certified_counts(run)
    if not n:
        return say("training.certificates.nothing")
    propositions = Count(n, "paying")
    if not lacking:
        return say("training.certificates.all", propositions=propositions)
    names = Listing(tuple(map(Name, lacking)))
    if not certified:
        return say("training.certificates.none", propositions=propositions)
    return say("training.certificates.some", n=certified, propositions=propositions, list=names)


def _paying(run: TrainingRun) -> tuple[str, ...]:
    """List the propositions that some reward depends on, in the order of the rubric."""
    paying = {name for names in run.paying.values() for name in names}
    return tuple(name for name in run.propositions if name in paying)


def _row(name: str, found: PropositionCertificate, *, pays: bool) -> CertificateRow:
    mark = found.certificate
    return CertificateRow(
        proposition=name,
        pays=pays,
        flag=_FLAGS.get(found.state, "still"),
        state=say(f"training.certificate.{found.state}"),
        shown=Clauses(tuple(map(_shown, found.examinations))) if found.examinations else None,
        certificate=None if mark is None else Name(mark, _MARK_WIDTH),
    )


def _shown(row: CertifiedExamination) -> Said:
    return say(
        "training.certificate.shown",
        omega=Decimal(row.winning_rate),
        epsilon=Margin(row.epsilon),
        alignment=Name(row.alignment, 40),
        annotators=Count(row.n_annotators, "annotators"),
        items=Count(row.n_items, "items"),
    )
