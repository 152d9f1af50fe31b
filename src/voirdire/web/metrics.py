"""Figures in the form that Prometheus reads, and a log of what is missing; never with a text."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from voirdire.judging.engine.call_queue import CLOSED, LATE
from voirdire.judging.live.live_judge import TOO_MANY
from voirdire.web.logs import log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray
    from prometheus_client import Metric

    from voirdire.judging.engine.port import LiveState
    from voirdire.rewards.live.live_scores import LiveScores
    from voirdire.web.workers import SharedMetrics

__all__ = ["NO_PLACE", "Metrics"]

ReasonClass: TypeAlias = Literal[
    "late",
    "failed_verdict",
    "behavior",
    "base_reward",
    "unreadable",
    "number",
    "no_place",
    "ending",
    "other",
]

NO_PLACE = "no place in the queue within the deadline"

_FAILED = "failed verdict: "
_BEGINNINGS: tuple[tuple[str, ReasonClass], ...] = (
    (f"{_FAILED}{LATE}", "late"),
    (f"{_FAILED}{TOO_MANY}", "no_place"),
    (f"{_FAILED}{CLOSED}", "ending"),
    (f"{_FAILED}the response or its prompt is neither", "unreadable"),
    (f"{_FAILED}the behavior is no text", "unreadable"),
    (_FAILED, "failed_verdict"),
    ("no verdict", "failed_verdict"),
    ("no behavior", "behavior"),
    ("no weights for behavior", "behavior"),
    ("unknown behavior", "behavior"),
    ("no base reward", "base_reward"),
    ("the base reward is", "base_reward"),
    ("no class probability", "number"),
    ("the reward is too large", "number"),
    (NO_PLACE, "no_place"),
)
_SENTENCES: dict[ReasonClass, str] = {
    "late": "the judge gave no verdict within the deadline",
    "failed_verdict": "the judge failed",
    "behavior": "the item has no behavior, or one that the reward does not know",
    "base_reward": "the item has no base reward, and this reward or its request needs one",
    "unreadable": "the response or its prompt is neither text nor messages",
    "number": "the reward is no finite number",
    "no_place": "too many items wait for the judge",
    "ending": "the server is about to end",
    "other": "for another reason",
}


def reason_class(reason: str) -> ReasonClass:
    """Name the class of a reason, which itself may hold words of a client or of a judge."""
    for beginning, found in _BEGINNINGS:
        if reason.startswith(beginning):
            return found
    return "other"


class MissingLog:
    """Writes how many rewards are missing and why, at most once a minute for each class."""

    def __init__(self, *, every_s: float = 60.0) -> None:
        self._every_s = every_s
        self._counts: dict[ReasonClass, int] = {}
        self._told: dict[ReasonClass, float] = {}

    def add(self, found: ReasonClass) -> None:
        """Count a reward that is missing."""
        self._counts[found] = self._counts.get(found, 0) + 1

    def write(self) -> None:
        """Write what has not been written in the last minute."""
        now = time.monotonic()
        for found in [one for one, n in self._counts.items() if n]:
            if now - self._told.get(found, -self._every_s) >= self._every_s:
                self._told[found] = now
                n_missing = self._counts.pop(found)
                log.warning("rewards missing: %d, %s", n_missing, _SENTENCES[found])

    def close(self) -> None:
        """Write the rest."""
        self._told.clear()
        self.write()


_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SOURCES = ("remembered", "stored", "judged", "none")


class Metrics:
    """Counts what a server does.

    Parameters
    ----------
    propositions : sequence of str
        Whose mean probabilities are shown.
    state : callable
        Gives how the judge stands.
    n_items : callable
        Gives how many items are under way.
    """

    def __init__(
        self,
        propositions: Iterable[str],
        *,
        state: Callable[[], LiveState],
        n_items: Callable[[], int],
    ) -> None:
        registry = self._registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"voirdire_{name}", text, labels, registry=registry)

        self.shared: SharedMetrics | None = None
        self._requests = counter("requests", "Requests by route and status.", "route", "status")
        self._seconds = Histogram(
            "voirdire_request_seconds",
            "Seconds from the head of a request to the end of its answer.",
            ("route",),
            buckets=_BUCKETS,
            registry=registry,
        )
        self._by_outcome: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self.in_flight = Gauge(
            "voirdire_requests_in_flight", "Requests under way.", registry=registry
        )
        items = counter("items", "Items by where their verdicts came from.", "source")
        self._items = {source: items.labels(source) for source in _SOURCES}
        text = "Rewards that are missing, by class of reason."
        missing = counter("rewards_missing", text, "reason")
        self._missing = {word: missing.labels(word) for word in get_args(ReasonClass)}
        self.missing_log = MissingLog()
        self.alarms = counter("alarms", "Alarms of the run that is recorded.")
        self._rewards = _RewardFigures(tuple(propositions))
        registry.register(self._rewards)
        registry.register(_JudgeFigures(state, n_items))

    def count_request(self, route: str, status: int, *, seconds: float) -> None:
        """Count a request."""
        found = self._by_outcome.get((route, status))
        if found is None:
            found = self._requests.labels(route, str(status)), self._seconds.labels(route)
            self._by_outcome[route, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def count_rewards(self, found: LiveScores) -> None:
        """Count the items of a request."""
        n_none = 0
        if found.scores.missing:
            for reason in found.scores.missing.values():
                word = reason_class(reason)
                self._missing[word].inc()
                self.missing_log.add(word)
            self.missing_log.write()
            n_none = int(np.count_nonzero(np.isnan(found.judged.probabilities).any(axis=1)))
        n_judged = len(found.scores.items) - n_none - found.n_remembered - found.n_stored
        counts = (found.n_remembered, found.n_stored, max(n_judged, 0), n_none)
        for source, n_items in zip(_SOURCES, counts, strict=True):
            if n_items:
                self._items[source].inc(n_items)
        self._rewards.add(found.scores.rewards, found.judged.probabilities)

    def text(self) -> bytes:
        """Write all of them down, of several workers all together."""
        own = self.own_text()
        return own if self.shared is None else self.shared.merge(own)

    def own_text(self) -> bytes:
        """Write down those of this process."""
        return generate_latest(self._registry)


_FORGETTING = 0.999
"""What an item still weighs in a mean when the next one has come: about the last thousand count."""

_AT_ONCE = 64
"""Items that are added up together: one by one they would take more time than their rewards."""


class _RewardFigures(Collector):
    """Sums of rewards and probabilities, and the means of the last probabilities."""

    def __init__(self, propositions: tuple[str, ...]) -> None:
        self._propositions = propositions
        self._pending: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
        self._n_pending = self._n_rewards = 0
        self._reward_sum = 0.0
        self._sums, self._counts, self._recent_sums, self._recent_counts = np.zeros(
            (4, len(propositions))
        )

    def add(self, rewards: NDArray[np.float64], probabilities: NDArray[np.float64]) -> None:
        """Take the rewards and the probabilities of a request."""
        if rewards.size:
            self._pending.append((rewards, probabilities))
            self._n_pending += rewards.size
            if self._n_pending >= _AT_ONCE:
                self._add_up()

    def _add_up(self) -> None:
        pending, self._pending, self._n_pending = self._pending, [], 0
        if not pending:
            return
        rewards = np.concatenate([each for each, _ in pending])
        rewards = rewards[np.isfinite(rewards)]
        self._n_rewards += rewards.size
        self._reward_sum += float(rewards.sum())
        probabilities = np.concatenate([each for _, each in pending])
        is_there = np.isfinite(probabilities)
        sums = np.where(is_there, probabilities, 0.0).sum(axis=0)
        counts = is_there.sum(axis=0)
        self._sums += sums
        self._counts += counts
        kept = _FORGETTING ** len(probabilities)
        self._recent_sums = kept * self._recent_sums + sums
        self._recent_counts = kept * self._recent_counts + counts

    def collect(self) -> Iterator[Metric]:
        self._add_up()
        yield SummaryMetricFamily(
            "voirdire_reward",
            "Rewards that were given.",
            count_value=self._n_rewards,
            sum_value=self._reward_sum,
        )
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


class _JudgeFigures(Collector):
    """How the judge stands when Prometheus asks."""

    def __init__(self, state: Callable[[], LiveState], n_items: Callable[[], int]) -> None:
        self._state = state
        self._n_items = n_items

    def collect(self) -> Iterator[Metric]:
        state = self._state()
        gauges = (
            ("voirdire_items_under_way", "Items under way.", self._n_items()),
            ("voirdire_items_waiting", "Items that wait for the judge.", state.n_waiting),
            (
                "voirdire_judge_broken",
                "1 while the judge is out of order and is not called.",
                float(state.is_broken),
            ),
        )
        for name, text, value in gauges:
            yield GaugeMetricFamily(name, text, value=value)
        counters = (
            ("voirdire_judge_calls", "Calls of the judge.", state.n_calls),
            ("voirdire_judge_failures", "Items on which the judge failed.", state.n_failures),
            ("voirdire_judge_cost_dollars", "US dollars spent on calls.", state.cost),
        )
        for name, text, count in counters:
            if count is not None:
                yield CounterMetricFamily(name, text, value=count)
