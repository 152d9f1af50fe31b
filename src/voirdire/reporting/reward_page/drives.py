"""What drives the reward of each behavior, in sentences and in rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire.reporting.page_frame.speech import Listing, Name, Percent, Said, Share, say
from voirdire.reporting.reward_page.signals import main_signal
from voirdire.reporting.reward_page.verdicts import error_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.reporting.reward_page.content import FeatureDrive, RewardReport

__all__ = ["DrivesView", "demand_of", "drives_of", "short_feature"]

MOST_FEATURES = 100
_HALF = 0.5
_STRONGEST = 5
_STRONG = 0.05
"""Share of the spread below which a feature is not worth a sentence."""
_NOTEWORTHY = 0.005
"""Half a point of the error rate: less is noise."""
_DEMANDS = (
    "required",
    "core_required",
    "required_false",
    "core_required_false",
    "desired",
    "desired_false",
    "allowed",
    "undesired",
    "unacceptable",
    "illogical",
    "disallowed",
)


@dataclass(frozen=True, kw_only=True)
class DrivesView:
    """The features of one behavior, the one that moves rankings most first."""

    behavior: str
    rows: tuple[FeatureDrive, ...]
    n_rows: int
    error: float | None
    sentences: tuple[Said, ...]


def drives_of(report: RewardReport, behavior: str) -> DrivesView | None:
    """Sort the features of a behavior and say what stands out; None where there are none."""
    rows = [row for row in report.drives if row.behavior == behavior]
    if not rows:
        return None
    rows.sort(key=lambda row: (-(row.share or 0.0), -abs(row.weight or 0.0)))
    rate = error_of(report, main_signal(report), behavior=behavior)
    error = None if rate is None else rate.value
    return DrivesView(
        behavior=behavior,
        rows=tuple(rows[:MOST_FEATURES]),
        n_rows=len(rows),
        error=error,
        sentences=(*_most(rows), *_listed(rows), *_helpless(rows, error)),
    )


def short_feature(row: FeatureDrive) -> tuple[str, bool]:
    """Give the name of a feature without its behavior, and whether it is a class."""
    prefix = f"{row.behavior}."
    return row.feature.removeprefix(prefix), row.feature.startswith(prefix)


def demand_of(row: FeatureDrive) -> Said | Name | None:
    """Say what the behavior demands of the feature, in the words of rubrics."""
    word = row.demand.replace(" ", "_")
    if word in _DEMANDS:
        return say(f"reward.demand.{word}")
    return Name(row.demand) if row.demand else None


def _named(rows: Sequence[FeatureDrive]) -> Listing:
    return Listing(tuple(Name(short_feature(row)[0]) for row in rows))


def _most(rows: Sequence[FeatureDrive]) -> tuple[Said, ...]:
    """Name the fewest features that make up half of the spread."""
    total, first = 0.0, []
    for row in rows:
        total += row.share or 0.0
        first.append(row)
        if total >= _HALF:
            break
    if total < _HALF:
        return ()
    return (say("reward.drives.most", features=_named(first), share=Percent(total)),)


def _listed(rows: Sequence[FeatureDrive]) -> tuple[Said, ...]:
    uncertified = [
        row
        for row in rows[:_STRONGEST]
        if not row.is_certified and row.weight and (row.share or 0.0) >= _STRONG
    ]
    parts = (
        ("reward.drives.contradictory", [row for row in rows if row.is_contradictory]),
        ("reward.drives.dead", [row for row in rows if row.is_dead]),
        ("reward.drives.uncertified", uncertified),
    )
    return tuple(say(key, features=_named(found)) for key, found in parts if found)


def _helpless(rows: Sequence[FeatureDrive], error: float | None) -> tuple[Said, ...]:
    """Name the feature without which the reward would rank better, where there is one."""
    known = [row for row in rows if row.error_rate_without is not None and row.weight]
    if error is None or not known:
        return ()
    least = min(known, key=lambda row: row.error_rate_without or 0.0)
    without = least.error_rate_without
    if without is None or error - without < _NOTEWORTHY:
        return ()
    return (
        say(
            "reward.drives.helpless",
            feature=Name(short_feature(least)[0]),
            without=Share(without),
            error=Share(error),
        ),
    )
