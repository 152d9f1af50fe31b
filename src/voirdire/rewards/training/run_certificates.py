"""What proof the judge of a training run carries: the certificates of the reward that pays."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from voirdire._validation import shorten
from voirdire.rewards.certification import CertificateState, certified

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from voirdire.rewards.certification import CertificateStatus
    from voirdire.rewards.model import RewardModel

__all__ = [
    "CertifiedExamination",
    "PropositionCertificate",
    "certificates_document",
    "read_certificates",
]

_FOUND: tuple[CertificateState, ...] = ("passed", "failed", "no_evidence")
"""What only an examination of the reward's own judge can say."""
_OTHER = "examined for another judge or other settings of it than judged this run"
_MOST_EXAMINATIONS = 10


@dataclass(frozen=True, kw_only=True)
class CertifiedExamination:
    """One examination of a judge on one proposition, as its certificate has it.

    Attributes
    ----------
    epsilon : float
        The margin, fixed before the labels were examined.
    alignment : str
        How closeness was measured.
    outcome : str
        ``"passed"``, ``"failed"`` or ``"no_evidence"``.
    winning_rate, advantage_probability : float
        ω and ρ, in [0, 1]; nan where they are undefined.
    n_items, n_annotators : int
        What it rests on.
    """

    epsilon: float
    alignment: str
    outcome: str
    winning_rate: float
    advantage_probability: float
    n_items: int
    n_annotators: int


@dataclass(frozen=True, kw_only=True)
class PropositionCertificate:
    """What the certificates of a run's reward say of one proposition.

    Attributes
    ----------
    state : str
        As `voirdire.rewards.certification.CertificateStatus` has it; only ``"passed"`` certifies
        the judge. ``"other_judge"`` also where another one judged in the run.
    reason : str
        The same in words.
    certificate : str or None
        Content hash of the certificate that says so.
    examinations : tuple of CertifiedExamination
        Those of the proposition in that certificate, the first ten; none where it is about
        another judge or another rubric.
    """

    state: CertificateState
    reason: str
    certificate: str | None = None
    examinations: tuple[CertifiedExamination, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Whether the judge is certified for the proposition."""
        return self.state == "passed"


def certificates_document(reward: RewardModel) -> dict[str, Any]:
    """Say for `run.json` what the certificates of a reward are about, and what they say.

    Parameters
    ----------
    reward : RewardModel
        What pays.

    Returns
    -------
    dict
        `fingerprint`, of the verdicts that certificates are about; `propositions`, by id the
        fields of `PropositionCertificate`.
    """
    return {
        "fingerprint": reward.judge.fingerprint,
        "propositions": {
            name: {
                "state": status.state,
                "reason": status.reason,
                "certificate": status.certificate,
                "examinations": [asdict(row) for row in _examinations(reward, status)],
            }
            for name, status in certified(reward).items()
        },
    }


def read_certificates(
    found: Mapping[str, Any] | None, *, fingerprint: str
) -> dict[str, PropositionCertificate] | None:
    """Take what `certificates_document` gave.

    Parameters
    ----------
    found : mapping or None
        As `run.json` has it; None in a run that an earlier version began.
    fingerprint : str
        Of the verdicts of the run.

    Returns
    -------
    dict of str to PropositionCertificate, or None
        By proposition; None where it was not recorded.

    Notes
    -----
    Certificates say nothing of another judge than the reward's own, whatever they say of that one.
    Anything else than what was written raises what reading it raises.
    """
    if found is None:
        return None
    is_other = str(found["fingerprint"]) != fingerprint
    rows = {name: _read(row) for name, row in found["propositions"].items()}
    return {
        name: replace(row, state="other_judge", reason=_OTHER, examinations=())
        if is_other and row.state in _FOUND
        else row
        for name, row in rows.items()
    }


def _examinations(reward: RewardModel, status: CertificateStatus) -> Iterable[CertifiedExamination]:
    """Find what the state of a proposition rests on."""
    if status.state not in _FOUND:
        return
    certificate = next(row for row in reward.certificates if row.content_hash == status.certificate)
    own = {
        name
        for name, about in certificate.judges.items()
        if about.get("fingerprint") == reward.judge.fingerprint
    }
    rows = [
        row
        for row in certificate.examinations
        if row.get("question") == status.proposition and row.get("judge") in own
    ]
    yield from map(_examination, rows[:_MOST_EXAMINATIONS])


def _examination(row: Mapping[str, Any]) -> CertifiedExamination:
    return CertifiedExamination(
        epsilon=_number(row.get("epsilon")),
        alignment=shorten(str(row.get("alignment"))),
        outcome=shorten(str(row.get("outcome"))),
        winning_rate=_number(row.get("winning_rate")),
        advantage_probability=_number(row.get("advantage_probability")),
        n_items=_count(row.get("n_items")),
        n_annotators=_count(row.get("n_annotators")),
    )


def _read(row: Mapping[str, Any]) -> PropositionCertificate:
    state = row["state"]
    if state not in get_args(CertificateState):
        msg = f"no state of a certificate: {shorten(str(state))!r}"
        raise ValueError(msg)
    mark = row["certificate"]
    return PropositionCertificate(
        state=state,
        reason=str(row["reason"]),
        certificate=None if mark is None else str(mark),
        examinations=tuple(map(_examination, row["examinations"])),
    )


def _number(value: Any) -> float:
    """Give a figure; nan where there is none: a certificate may be a stranger's."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return math.nan


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
