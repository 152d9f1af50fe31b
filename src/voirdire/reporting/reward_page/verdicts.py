"""Whether the rules make the reward better: overall in a sentence, per behavior in a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from voirdire.reporting.page_frame.speech import Count, Percent, Said, Share, say
from voirdire.reporting.reward_page.noted import has_note
from voirdire.reporting.reward_page.signals import defined, main_signal, signals_of
from voirdire.reporting.reward_page.speech import ShareEnds

if TYPE_CHECKING:
    from voirdire.reporting.reward_page.content import FeatureDrive, Rate, RewardReport

__all__ = [
    "RewardVerdict",
    "certified_counts",
    "error_of",
    "held_out",
    "level_of",
    "reward_verdict",
    "short_verdict",
    "weighted",
]

State: TypeAlias = Literal["passed", "depends", "failed", "no_evidence"]
HeldOut: TypeAlias = Literal["held_out", "not_held_out", "held_out_unknown"]
Finding: TypeAlias = Literal["helps", "hurts", "unclear", "better", "worse", "chance", "undefined"]

_USUAL_LEVEL = 0.95
_CHANCE = 0.5
_STATES: dict[Finding, State] = {
    "helps": "passed",
    "better": "passed",
    "hurts": "failed",
    "worse": "failed",
    "unclear": "no_evidence",
    "chance": "no_evidence",
    "undefined": "no_evidence",
}


@dataclass(frozen=True, kw_only=True)
class RewardVerdict:
    """What is found of the reward: a state for the chip, a sentence, and what limits it."""

    state: State
    short: Said
    sentence: Said
    more: tuple[Said, ...]


def level_of(report: RewardReport) -> Percent:
    """Give the confidence level of the intervals."""
    level = report.settings.get("confidence_level")
    return Percent(level if isinstance(level, float) and 0 < level < 1 else _USUAL_LEVEL)


def error_of(
    report: RewardReport, signal: str, *, behavior: str | None = None, against: str = "all"
) -> Rate | None:
    """Find an error rate; None where there is none."""
    for row in report.error_rates:
        if (row.behavior, row.signal, row.against) == (behavior, signal, against):
            return row.rate if defined(row.rate) else None
    return None


def held_out(report: RewardReport) -> HeldOut:
    """Tell whether the fit has seen the prompts, as far as it is known."""
    if report.is_held_out:
        return "held_out"
    return "held_out_unknown" if has_note(report.notes, "held_out_unknown") else "not_held_out"


def reward_verdict(report: RewardReport) -> RewardVerdict:
    """Say in one sentence how the reward ranks, and what the reader must bear in mind."""
    found = _finding(report, None)
    state, short = short_verdict(report, None)
    more = [] if found == "undefined" else [say(f"reward.verdict.{found}")]
    if found != "undefined":
        more.append(say(f"reward.verdict.{held_out(report)}"))
    return RewardVerdict(
        state=state,
        short=short,
        sentence=_sentence(report),
        more=(*more, *_certification(report)),
    )


def short_verdict(report: RewardReport, behavior: str | None) -> tuple[State, Said]:
    """Give the chip of a behavior, or of all: good news on the data of the fit is half of it."""
    found = _finding(report, behavior)
    state, short = _STATES[found], say(f"reward.short.{found}")
    if state == "passed" and not report.is_held_out:
        return "depends", say(f"reward.short.{held_out(report)}", short=short)
    return state, short


def _finding(report: RewardReport, behavior: str | None) -> Finding:
    rate = error_of(report, main_signal(report), behavior=behavior)
    base = error_of(report, "base", behavior=behavior)
    if rate is None:
        return "undefined"
    if "base" in signals_of(report) and base is not None:
        if _is_below(rate, base):
            return "helps"
        return "hurts" if _is_below(base, rate) else "unclear"
    if rate.low is None or rate.high is None:
        return "chance"
    if rate.high < _CHANCE:
        return "better"
    return "worse" if rate.low > _CHANCE else "chance"


def _is_below(one: Rate, other: Rate) -> bool:
    return one.high is not None and other.low is not None and one.high < other.low


def _sentence(report: RewardReport) -> Said:
    rate, base = error_of(report, main_signal(report)), error_of(report, "base")
    if rate is None:
        return say("reward.verdict.undefined")
    figures = {
        "error": Share(rate.value),
        "comparisons": Count(rate.n, "comparisons"),
        "level": level_of(report),
        "ends": ShareEnds(rate.low, rate.high),
    }
    if base is None:
        return say("reward.verdict.without_base", **figures)
    base_figures = {"base": Share(base.value), "base_ends": ShareEnds(base.low, base.high)}
    return say("reward.verdict.with_base", **figures, **base_figures)


def weighted(report: RewardReport, behavior: str | None = None) -> list[FeatureDrive]:
    """List the features with a weight."""
    return [
        row
        for row in report.drives
        if row.weight and (behavior is None or row.behavior == behavior)
    ]


def certified_counts(report: RewardReport, behavior: str | None = None) -> tuple[int, int]:
    """Count the features with a weight whose judge is certified, and all with a weight."""
    rows = weighted(report, behavior)
    return sum(row.is_certified for row in rows), len(rows)


def _certification(report: RewardReport) -> tuple[Said, ...]:
    certified, all_of_them = certified_counts(report)
    if not all_of_them:
        return ()
    features = Count(all_of_them, "features")
    if certified == all_of_them:
        return (say("reward.verdict.certified", features=features),)
    if not certified:
        return (say("reward.verdict.uncertified.all", features=features),)
    return (say("reward.verdict.uncertified", n=all_of_them - certified, features=features),)
