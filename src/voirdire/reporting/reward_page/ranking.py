"""The sentences about near-ideal comparisons and refusals, and the rows of their tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire.reporting.page_frame.speech import Count, Label, Name, Said, Share, say
from voirdire.reporting.reward_page.signals import by_signal, defined, main_signal
from voirdire.reporting.reward_page.speech import ShareEnds
from voirdire.reporting.reward_page.verdicts import level_of

if TYPE_CHECKING:
    from voirdire.reporting.reward_page.content import (
        LabelHistogram,
        NearIdeal,
        Rate,
        RefusalErrors,
        RewardReport,
    )

__all__ = [
    "LabelRow",
    "NearRow",
    "RefusalRow",
    "label_rows",
    "near_rows",
    "near_sentences",
    "refusal_rows",
    "refusal_sentences",
]


@dataclass(frozen=True, kw_only=True)
class LabelRow:
    """Centred rewards of one label, by signal."""

    label: str
    n: int
    by_signal: dict[str, LabelHistogram]


@dataclass(frozen=True, kw_only=True)
class NearRow:
    """The best label of a behavior against the next, by signal."""

    behavior: str
    best: str
    next: str
    n: int
    by_signal: dict[str, NearIdeal]


@dataclass(frozen=True, kw_only=True)
class RefusalRow:
    """False or missed refusals of a behavior, by signal."""

    behavior: str
    kind: str
    by: str
    n: int
    by_signal: dict[str, RefusalErrors]


def label_rows(report: RewardReport, behavior: str) -> list[LabelRow]:
    """Lay out the histograms of a behavior by label, the best first."""
    rows = [row for row in report.histograms if row.behavior == behavior]
    found = []
    for label in dict.fromkeys(row.label for row in rows):
        signals = by_signal(row for row in rows if row.label == label)
        n = max(sum(row.counts) for row in signals.values())
        found.append(LabelRow(label=label, n=n, by_signal=signals))
    return found


def near_rows(report: RewardReport) -> list[NearRow]:
    """Lay out the hardest comparisons by behavior."""
    keys = dict.fromkeys((row.behavior, row.best, row.next) for row in report.near_ideal)
    found = []
    for behavior, best, following in keys:
        rows = [
            row
            for row in report.near_ideal
            if (row.behavior, row.best, row.next) == (behavior, best, following)
        ]
        n = max(row.error_rate.n for row in rows)
        signals = by_signal(rows)
        row = NearRow(behavior=behavior, best=best, next=following, n=n, by_signal=signals)
        found.append(row)
    return found


def refusal_rows(report: RewardReport) -> list[RefusalRow]:
    """Lay out the refusals by behavior and kind."""
    keys = dict.fromkeys((row.behavior, row.kind, row.by) for row in report.refusals)
    found = []
    for key in keys:
        rows = [row for row in report.refusals if (row.behavior, row.kind, row.by) == key]
        signals, n = by_signal(rows), max(row.rate.n for row in rows)
        found.append(RefusalRow(behavior=key[0], kind=key[1], by=key[2], n=n, by_signal=signals))
    return found


def near_sentences(report: RewardReport) -> tuple[Said, ...]:
    """Say where the hardest comparisons go wrong most often under the reward of training."""
    signal = main_signal(report)
    rows = [row for row in report.near_ideal if row.signal == signal and defined(row.error_rate)]
    if not rows:
        return ()
    worst = max(rows, key=lambda row: row.error_rate.value or 0.0)
    first = say(
        "reward.near.worst",
        signal=_mid(signal),
        behavior=Name(worst.behavior),
        comparisons=Count(worst.error_rate.n, "comparisons"),
        best=Label(worst.best),
        next=Label(worst.next),
        **_figures(worst.error_rate, report),
    )
    unclear = any((row.mean_gap.low or 0.0) <= 0 <= (row.mean_gap.high or 0.0) for row in rows)
    return (first, say("reward.near.gap_unclear")) if unclear else (first,)


def refusal_sentences(report: RewardReport) -> tuple[Said, ...]:
    """Say where refusals go wrong most often under the reward of training."""
    signal = main_signal(report)
    rows = [row for row in report.refusals if row.signal == signal and defined(row.rate)]
    if not rows:
        return ()
    worst = max(rows, key=lambda row: row.rate.value or 0.0)
    if not worst.rate.value:
        return (say("reward.refusals.none", signal=_mid(signal)),)
    return (
        say(
            "reward.refusals.worst",
            signal=_mid(signal),
            kind=say(f"reward.refusal.{worst.kind}"),
            by=say(f"reward.refusal.by.{worst.by}"),
            behavior=Name(worst.behavior),
            prompts=Count(worst.rate.n, "prompts"),
            **_figures(worst.rate, report),
        ),
    )


def _mid(signal: str) -> Said:
    """Name a reward in the middle of a sentence."""
    return say(f"reward.signal.mid.{signal}")


def _figures(rate: Rate, report: RewardReport) -> dict[str, object]:
    return {
        "error": Share(rate.value),
        "level": level_of(report),
        "ends": ShareEnds(rate.low, rate.high),
    }
