"""Which of the three rewards a report can show, and which of them it is about."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from voirdire.reporting.reward_page.content import SIGNALS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from voirdire.reporting.reward_page.content import BenchSubset, Rate, RewardReport

__all__ = ["accuracies", "behaviors_of", "by_signal", "defined", "main_signal", "signals_of"]

Row = TypeVar("Row")


def defined(rate: Rate | None) -> bool:
    """Whether there is a figure."""
    return rate is not None and rate.value is not None and math.isfinite(rate.value)


def signals_of(report: RewardReport) -> tuple[str, ...]:
    """List the rewards to show: without a base reward only the rules."""
    found = _ranking(report) | {row.signal for row in report.bench if defined(row.accuracy)}
    return tuple(signal for signal in SIGNALS if signal in found) if "base" in found else ("rules",)


def main_signal(report: RewardReport) -> str:
    """Name the reward that training would see."""
    found = _ranking(report) or set(signals_of(report))
    return "total" if found >= {"base", "total"} else "rules"


def _ranking(report: RewardReport) -> set[str]:
    """Name the rewards that rank the comparisons."""
    return {row.signal for row in report.error_rates if defined(row.rate)}


def accuracies(report: RewardReport) -> tuple[BenchSubset | None, BenchSubset | None]:
    """Find the accuracy on all pairs of the reward of training, and of its base."""
    found = by_signal(row for row in report.bench if row.subset is None and defined(row.accuracy))
    base = found.get("base")
    return found.get("rules" if base is None else "total"), base


def behaviors_of(report: RewardReport) -> tuple[str, ...]:
    """List the behaviors in the order in which they come."""
    names = [row.behavior for row in report.scales]
    names += [row.behavior for row in report.drives]
    names += [row.behavior for row in report.error_rates if row.behavior is not None]
    return tuple(dict.fromkeys(names))


def by_signal(rows: Iterable[Row]) -> dict[str, Row]:
    """Key rows by their signal."""
    return {row.signal: row for row in rows}  # type: ignore[attr-defined]
