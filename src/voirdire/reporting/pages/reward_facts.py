"""What the parts of a reward's page rest on: its rewards, their rates, and its behaviors."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.speech import Count, Decimal, Listing, Name, Percent, Said, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from voirdire.studies.reward.result import (
        BenchSubset,
        FeatureDrive,
        RateEstimate,
        RewardExamination,
    )

__all__ = [
    "SIGNALS",
    "RewardFacts",
    "SignalRow",
    "describe_reward",
    "group_by_signal",
    "name_judge",
    "name_rules",
    "or_zero",
    "read_text",
    "say_rubric",
]

SIGNALS = ("base", "total", "rules")
_WITH_SIGNALS = ("error_rates", "refusals", "bench")
_MOST_BEHAVIORS = 20
_USUAL_LEVEL = 0.95
_CHANCE = 0.5
HeldOut: TypeAlias = Literal["held_out", "not_held_out", "held_out_unknown"]
Verdict: TypeAlias = Literal["helps", "hurts", "unclear", "better", "worse", "chance", "undefined"]


def name_rules(report: RewardExamination) -> RewardExamination:
    """Call the total the rules where there is no base reward beside it."""
    parts: dict[str, tuple[Any, ...]] = {name: getattr(report, name) for name in _WITH_SIGNALS}
    alone: dict[str, Any] = {
        name: tuple(dataclasses.replace(row, signal="rules") for row in rows)
        for name, rows in parts.items()
        if {row.signal for row in rows} == {"total"}
    }
    return dataclasses.replace(report, **alone)


@dataclass(frozen=True, kw_only=True)
class SignalRow:
    """Rows of the record that differ by their signal only, and what they share."""

    key: tuple[Any, ...]
    n: int
    by_signal: dict[str, Any]


def group_by_signal(
    rows: Iterable[Any], names: Sequence[str], count: Callable[[Any], int]
) -> list[SignalRow]:
    """Put rows side by side that have the same values under these names."""
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, name) for name in names), {})[row.signal] = row
    return [
        SignalRow(key=key, n=max(map(count, group.values())), by_signal=group)
        for key, group in groups.items()
    ]


@dataclass(frozen=True)
class RewardFacts:
    """What several parts of the page say: who ranks what, how well, and on which prompts."""

    report: RewardExamination

    @cached_property
    def _ranking(self) -> set[str]:
        """The rewards that rank the comparisons."""
        return {row.signal for row in self.report.error_rates if is_defined(row.rate.value)}

    @cached_property
    def signals(self) -> tuple[str, ...]:
        """The rewards to show: without a base reward only the rules."""
        bench = {row.signal for row in self.report.bench if is_defined(row.accuracy.value)}
        ranking = self._ranking | bench
        return tuple(x for x in SIGNALS if x in ranking) if "base" in ranking else ("rules",)

    @cached_property
    def main(self) -> str:
        """The reward that training would see."""
        ranking = self._ranking or set(self.signals)
        return "total" if ranking >= {"base", "total"} else "rules"

    @cached_property
    def level(self) -> Percent:
        """The confidence level of the intervals."""
        level = self.report.settings.get("confidence_level")
        return Percent(level if isinstance(level, float) and 0 < level < 1 else _USUAL_LEVEL)

    @cached_property
    def held_out(self) -> HeldOut:
        """Whether the fit has seen the prompts, as far as it is known."""
        if self.report.is_held_out:
            return "held_out"
        return "held_out_unknown" if "held_out_unknown" in self.codes else "not_held_out"

    @cached_property
    def codes(self) -> set[str]:
        """What the notes are about."""
        return {note.code for note in self.report.notes}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The behaviors in the order in which they come."""
        report = self.report
        rows: tuple[Any, ...] = (*report.drives, *report.error_rates)
        return tuple(dict.fromkeys(row.behavior for row in rows if row.behavior is not None))

    @property
    def shown(self) -> tuple[str, ...]:
        """The behaviors that are shown, those with figures first."""
        return self.names[:_MOST_BEHAVIORS]

    @cached_property
    def reward_name(self) -> Name:
        """The reward's name."""
        return Name(read_text(self.report.reward, "name") or "–")

    @cached_property
    def sizes(self) -> dict[str, Count]:
        """What the figures rest on."""
        report = self.report
        return {
            "comparisons": Count(report.n_comparisons, "comparisons"),
            "completions": Count(report.n_items, "completions"),
            "prompts": Count(report.n_prompts, "prompts"),
        }

    @cached_property
    def refusals(self) -> list[SignalRow]:
        """The refusals by behavior, kind, and what says that it is one."""
        rows, keys = self.report.refusals, ("behavior", "kind", "by")
        return group_by_signal(rows, keys, lambda row: row.rate.n)

    @cached_property
    def accuracies(self) -> tuple[BenchSubset | None, BenchSubset | None]:
        """The accuracy on all pairs of the reward of training, and of its base."""
        rows = [x for x in self.report.bench if x.subset is None and is_defined(x.accuracy.value)]
        whole = {row.signal: row for row in rows}
        return whole.get("total" if "base" in whole else "rules"), whole.get("base")

    def error(self, signal: str, behavior: str | None = None) -> RateEstimate | None:
        """Find an error rate over all comparisons; None where there is none."""
        for row in self.report.error_rates:
            if (row.behavior, row.signal, row.against) == (behavior, signal, "all"):
                return row.rate if is_defined(row.rate.value) else None
        return None

    def verdict(self, behavior: str | None = None) -> Verdict:
        """Tell what the intervals show of a behavior, or of all together."""
        rate, base = self.error(self.main, behavior), self.error("base", behavior)
        if rate is None:
            return "undefined"
        if "base" not in self.signals or base is None:
            return "better" if rate.high < _CHANCE else "worse" if rate.low > _CHANCE else "chance"
        if rate.high < base.low:  # never with nan
            return "helps"
        return "hurts" if base.high < rate.low else "unclear"

    def drives(self, behavior: str) -> list[FeatureDrive]:
        """List the features of a behavior, the one that moves rankings most first."""
        rows = [row for row in self.report.drives if row.behavior == behavior]
        return sorted(rows, key=lambda row: (-or_zero(row.share), -abs(or_zero(row.weight))))

    def certified(self, *behaviors: str) -> tuple[int, int]:
        """Count the features with a weight whose judge is certified, and all with a weight."""
        rows = [
            row
            for row in self.report.drives
            if or_zero(row.weight) and (not behaviors or row.behavior in behaviors)
        ]
        return sum(row.is_certified for row in rows), len(rows)

    def columns(self, cell: Callable[[Any], Any]) -> dict[str, Any]:
        """Make a column of each reward for rows by signal; a dash where there is none."""

        def say_cell(row: SignalRow, signal: str) -> Any:
            return cell(row.by_signal[signal]) if signal in row.by_signal else Decimal(None)

        return {f"reward.signal.{x}": partial(say_cell, signal=x) for x in self.signals}


def or_zero(value: float) -> float:
    """Take what is undefined for 0."""
    return value if math.isfinite(value) else 0.0


def read_text(value: Any, key: str = "") -> str:
    """Read a text that stands there by itself or in an object."""
    text = value.get(key) if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""


def describe_reward(facts: RewardFacts) -> Iterator[tuple[str, Any]]:
    """Give the key of a word, and what is said of it."""
    reward, fit = facts.report.reward, facts.report.reward.get("settings")
    judge = reward.get("judge")
    fingerprint = read_text(judge, "fingerprint") if isinstance(judge, dict) else ""
    orientation = read_text(reward.get("orientation"))
    data = read_text(reward.get("data_hash"))
    n_certified, n = facts.certified()
    yield "reward.what.name", facts.reward_name
    yield "reward.what.rubric", say_rubric(reward)
    yield "reward.what.judge", name_judge(reward)
    if text := fingerprint or read_text(reward.get("fingerprint")):
        yield "reward.what.fingerprint", Name(text, 90)
    if orientation in ("plain", "demanded"):
        yield "reward.what.orientation", say(f"reward.what.orientation.{orientation}")
    if (loss := read_text(fit, "loss")) == "hinge" or not data:
        way = loss or "given"
        yield "reward.what.fit", say(f"reward.what.fit.{way}")
    if facts.names:
        yield "reward.what.behaviors", Listing(tuple(map(Name, facts.names)))
    if n:
        count = say("reward.what.certified.count", n=n_certified, features=Count(n, "features"))
        yield "reward.what.certified", count
    texts = {"data": data} | {
        name: read_text(reward.get(key))
        for name, key in (("hash", "content_hash"), ("created", "created"))
    }
    for name, text in texts.items():
        if text:
            yield f"reward.what.{name}", Name(text, 90)


def name_judge(reward: Any) -> Name:
    """Name the judge of a reward."""
    return Name(read_text(reward.get("judge"), "name") or "–")


def say_rubric(reward: Any) -> Said | Name:
    """Name the rubric of a reward with its version."""
    rubric = reward.get("rubric")
    name = Name(read_text(rubric, "name") or "–")
    version = read_text(rubric, "version") if isinstance(rubric, dict) else ""
    version = version or read_text(reward.get("rubric_version"))
    if not version:
        return name
    return say("reward.what.rubric.versioned", name=name, version=Name(version))
