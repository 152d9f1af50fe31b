"""Figures of a server, in the form that Prometheus reads; no label is ever a text of a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from voirdire.web.collectors import JudgeFigures, PropositionMeans, RewardSum
from voirdire.web.reasons import REASON_CLASSES, reason_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from voirdire.judging.engine.port import LiveState
    from voirdire.rewards.live.live_scores import LiveScores

__all__ = ["Figures"]

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Figures:
    """Counts what a server does.

    Parameters
    ----------
    propositions : sequence of str
        Whose mean probabilities are shown.
    state : callable
        Gives how the judge stands.
    queue_length : callable
        Gives how many items are under way.
    """

    def __init__(
        self,
        propositions: Iterable[str],
        *,
        state: Callable[[], LiveState],
        queue_length: Callable[[], int],
    ) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "voirdire_requests",
            "Requests by route and status.",
            ("route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "voirdire_request_seconds",
            "Seconds from the head of a request to the end of its answer.",
            ("route",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "voirdire_requests_in_flight", "Requests under way.", registry=self.registry
        )
        self._items = Counter(
            "voirdire_items",
            "Items by where their verdicts came from.",
            ("source",),
            registry=self.registry,
        )
        self._missing = Counter(
            "voirdire_rewards_missing",
            "Rewards that are missing, by class of reason.",
            ("reason",),
            registry=self.registry,
        )
        self.alarms = Counter(
            "voirdire_alarms", "Alarms of the run that is recorded.", registry=self.registry
        )
        for source in ("remembered", "stored", "judged", "none"):
            self._items.labels(source)
        for word in REASON_CLASSES:
            self._missing.labels(word)
        self._means = PropositionMeans(tuple(propositions))
        self._rewards = RewardSum()
        for collector in (self._means, self._rewards, JudgeFigures(state, queue_length)):
            self.registry.register(collector)

    def answered(self, route: str, status: int, *, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def rewarded(self, scores: LiveScores) -> None:
        """Count the items of a request."""
        rewards = scores.scores.rewards
        self._rewards.add(rewards[np.isfinite(rewards)])
        for reason in scores.scores.missing.values():
            self._missing.labels(reason_class(reason)).inc()
        lacks = np.isnan(scores.judged.probabilities).any(axis=1)
        n_none = int(np.count_nonzero(lacks))
        n_judged = len(scores.scores.items) - n_none - scores.n_remembered - scores.n_stored
        self._items.labels("remembered").inc(scores.n_remembered)
        self._items.labels("stored").inc(scores.n_stored)
        self._items.labels("judged").inc(max(n_judged, 0))
        self._items.labels("none").inc(n_none)
        self._means.add(scores.judged.probabilities)

    def text(self) -> bytes:
        """Write all of them down."""
        return generate_latest(self.registry)
