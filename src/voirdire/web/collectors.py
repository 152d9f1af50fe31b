"""Figures that are worked out when Prometheus asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from prometheus_client import Metric

    from voirdire.judging.engine.port import LiveState

__all__ = ["JudgeFigures", "PropositionMeans", "RewardSum"]

_FORGETTING = 0.999
"""What an item still weighs in a mean when the next one has come: about the last thousand count."""


class RewardSum(Collector):
    """How many rewards were given, and their sum."""

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0.0

    def add(self, rewards: NDArray[np.float64]) -> None:
        """Take finite rewards."""
        self._count += rewards.size
        self._sum += float(rewards.sum())

    def collect(self) -> Iterator[Metric]:
        """Give them as Prometheus asks for them."""
        yield SummaryMetricFamily(
            "voirdire_reward",
            "Rewards that were given.",
            count_value=self._count,
            sum_value=self._sum,
        )


class PropositionMeans(Collector):
    """Mean probabilities of the last items, and sums over all, one per proposition."""

    def __init__(self, propositions: tuple[str, ...]) -> None:
        self._propositions = propositions
        self._sums = np.zeros(len(propositions))
        self._counts = np.zeros(len(propositions))
        self._recent_sums = np.zeros(len(propositions))
        self._recent_counts = np.zeros(len(propositions))

    def add(self, probabilities: NDArray[np.float64]) -> None:
        """Take the probabilities of some items."""
        if not probabilities.size:
            return
        is_there = np.isfinite(probabilities)
        sums = np.where(is_there, probabilities, 0.0).sum(axis=0)
        counts = is_there.sum(axis=0)
        self._sums += sums
        self._counts += counts
        kept = _FORGETTING ** len(probabilities)
        self._recent_sums = kept * self._recent_sums + sums
        self._recent_counts = kept * self._recent_counts + counts

    def collect(self) -> Iterator[Metric]:
        """Give them as Prometheus asks for them."""
        mean = GaugeMetricFamily(
            "voirdire_proposition_mean",
            "Mean probability over about the last thousand items.",
            labels=("proposition",),
        )
        total = CounterMetricFamily(
            "voirdire_proposition_probability",
            "Sum of all probabilities.",
            labels=("proposition",),
        )
        count = CounterMetricFamily(
            "voirdire_proposition_verdicts", "Verdicts in that sum.", labels=("proposition",)
        )
        for place, name in enumerate(self._propositions):
            if self._recent_counts[place] > 0:
                mean.add_metric([name], self._recent_sums[place] / self._recent_counts[place])
            total.add_metric([name], self._sums[place])
            count.add_metric([name], self._counts[place])
        yield from (mean, total, count)


class JudgeFigures(Collector):
    """How the judge stands when Prometheus asks."""

    def __init__(self, state: Callable[[], LiveState], queue_length: Callable[[], int]) -> None:
        self._state = state
        self._queue_length = queue_length

    def collect(self) -> Iterator[Metric]:
        """Give it as Prometheus asks for it."""
        state = self._state()
        yield GaugeMetricFamily(
            "voirdire_items_under_way", "Items under way.", value=self._queue_length()
        )
        yield GaugeMetricFamily(
            "voirdire_items_waiting", "Items that wait for the judge.", value=state.n_waiting
        )
        yield GaugeMetricFamily(
            "voirdire_judge_broken",
            "1 while the judge is out of order and is not called.",
            value=float(state.is_broken),
        )
        yield CounterMetricFamily(
            "voirdire_judge_calls", "Calls of the judge.", value=state.n_calls
        )
        yield CounterMetricFamily(
            "voirdire_judge_failures", "Items on which the judge failed.", value=state.n_failures
        )
        if state.cost is not None:
            yield CounterMetricFamily(
                "voirdire_judge_cost_dollars", "US dollars spent on calls.", value=state.cost
            )
