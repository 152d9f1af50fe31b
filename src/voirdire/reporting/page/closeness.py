"""How close a judge was shown to be, in one clause: against whom, at which margin, by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.reporting.page.reference import against, the_others
from voirdire.reporting.page_frame.speech import (
    Clauses,
    Count,
    Decimal,
    Interval,
    Margin,
    Name,
    Percent,
    Said,
    say,
)

if TYPE_CHECKING:
    from voirdire.reporting.page.content import Examination

__all__ = ["closeness", "failed_calls", "figures_of", "lost_by_failures", "shortfall"]


def figures_of(row: Examination) -> dict[str, Any]:
    """Give the figures that the sentences about a row are made of."""
    return {
        "judge": Name(row.judge),
        "question": Name(row.question),
        "epsilon": Margin(row.epsilon),
        "won": _won(row),
        "anyone": _anyone(row),
        "omega": Decimal(row.winning_rate),
        "worst": Decimal(row.worst_case.winning_rate),
        "failures": failed_calls(row),
        "rho": _rho(row),
        "others": the_others(row),
    }


def closeness(row: Examination) -> Said:
    """Say whom the judge was shown to be as close as, at this margin."""
    if not row.annotators:
        return say("close.untested")
    mode = "zero" if row.epsilon == 0 else row.epsilon_mode
    return say(f"close.{mode}" if row.n_won else f"close.none.{mode}", **figures_of(row))


def shortfall(row: Examination) -> Clauses | Said:
    """Say why a judge failed: too few annotators won, or won only with failed calls left out."""
    if lost_by_failures(row):
        return say("close.lost", **figures_of(row))
    if not row.annotators:
        return closeness(row)
    need = "need.one" if len(row.annotators) == 1 else "need.half"
    need = "need.weight" if row.settings.get("quality") else need
    return Clauses((closeness(row), say(need)))


def lost_by_failures(row: Examination) -> bool:
    """Whether the judge passes with its failed calls left out, and not with them lost."""
    return row.passed and not row.worst_case.passed and row.worst_case.n_failures > 0


def failed_calls(row: Examination) -> Count:
    """Count the calls that gave no answer."""
    return Count(row.worst_case.n_failures, "failed_calls")


def _rho(row: Examination) -> Said | Decimal:
    found = row.uncertainty
    if found is None or found.advantage_low is None or found.advantage_high is None:
        return Decimal(row.advantage_probability)
    return say(
        "figure.with_interval",
        value=Decimal(row.advantage_probability),
        level=Percent(found.confidence_level),
        interval=Interval(found.advantage_low, found.advantage_high),
    )


def _won(row: Examination) -> Said:
    n_won, n_all = row.n_won, len(row.annotators)
    if row.settings.get("quality") and n_won < n_all:
        return say("won.weight", omega=Decimal(row.winning_rate))
    if n_all == 1:
        return say(against("won.only", row))
    if n_won == n_all:
        key = "won.both" if n_all == 2 else "won.all"
        return say(against(key, row), annotators=Count(n_all, "annotators"))
    return say(against("won.some", row), won=Count(n_won), annotators=Count(n_all, "annotators"))


def _anyone(row: Examination) -> Said:
    n_all = len(row.annotators)
    key = {1: "anyone.one", 2: "anyone.both"}.get(n_all, "anyone.many")
    return say(against(key, row), annotators=Count(n_all, "annotators"))
