"""Counts requests and rewards for Prometheus, and logs missing rewards without any text."""

from __future__ import annotations

import os
import time
from collections import Counter as Tally
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import prometheus_client as prometheus
from prometheus_client import multiprocess

from voirdire.judging.engine import CLOSED, LATE
from voirdire.judging.live import TOO_MANY
from voirdire.web.logs import log

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire.judging.engine import LiveState
    from voirdire.judging.live import LiveVerdicts

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder in which the figures of several workers are shared."""

METRICS_TYPE = prometheus.CONTENT_TYPE_PLAIN_0_0_4
NO_PLACE = "no place in the queue within the deadline"

_MINUTE_S = 60.0
_FAILED = "failed verdict: "
_REASONS = {  # what the log says of a class of reasons, and how they begin; the first one counts
    "late": ("the judge gave no verdict within the deadline", f"{_FAILED}{LATE}"),
    "no_place": ("too many items wait for the judge", f"{_FAILED}{TOO_MANY}", NO_PLACE),
    "ending": ("the server is about to end", f"{_FAILED}{CLOSED}"),
    "unreadable": (
        "the response or its prompt is neither text nor messages",
        f"{_FAILED}the response or its prompt is neither",
        f"{_FAILED}the behavior is no text",
    ),
    "failed_verdict": ("the judge failed", _FAILED, "no verdict"),
    "behavior": (
        "the item has no behavior, or one that the reward does not know",
        *("no behavior", "no weights for behavior", "unknown behavior"),
    ),
    "base_reward": (
        "the item has no base reward, and this reward or its request needs one",
        *("no base reward", "the base reward is"),
    ),
    "number": (
        "the reward is no finite number",
        *("no class probability", "the reward is too large"),
    ),
    "other": ("for another reason", ""),
}

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SOURCES = ("remembered", "stored", "judged", "none")


def reason_class(reason: str) -> str:
    """Name the class of a reason, which itself may hold words of a client or of a judge."""
    return next(name for name, row in _REASONS.items() if reason.startswith(row[1:]))


class Metrics:
    """Counts what a server does; with several workers, what all of them do.

    Parameters
    ----------
    propositions : sequence of str
        Whose probabilities are added up.
    state : callable
        Gives how the judge stands.
    n_items : callable
        Gives how many items are under way.
    """

    def __init__(
        self,
        propositions: Sequence[str],
        *,
        state: Callable[[], LiveState],
        n_items: Callable[[], int],
    ) -> None:
        prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._folder = os.environ.get(METRICS_FOLDER)
        own = prometheus.CollectorRegistry()
        self._registry = prometheus.CollectorRegistry() if self._folder else own
        if self._folder:
            collector: Any = multiprocess.MultiProcessCollector
            collector(self._registry, self._folder)

        def make(kind: Any, name: str, about: str, *labels: str, **more: Any) -> Any:
            return kind(name, about, labels, namespace="voirdire", registry=own, **more)

        self._make = make
        counter, gauge = prometheus.Counter, prometheus.Gauge
        live: Any = {"multiprocess_mode": "livesum"}
        self._requests = make(counter, "requests", "Requests.", "route", "status")
        about, histogram = "Seconds from head to answer.", prometheus.Histogram
        self._seconds = make(histogram, "request_seconds", about, "route", buckets=_BUCKETS)
        self.in_flight = make(gauge, "requests_in_flight", "Requests under way.", **live)
        self.alarms = make(counter, "alarms", "Alarms of the run that is recorded.")
        self._under_way = make(gauge, "items_under_way", "Items under way.", **live)
        self._waiting = make(gauge, "items_waiting", "Items waiting for the judge.", **live)
        about, worst = "1 while the judge is out of order.", {"multiprocess_mode": "livemax"}
        self._broken = make(gauge, "judge_broken", about, **worst)
        items = make(counter, "items", "Items by source of their verdicts.", "source")
        self._sources = {name: items.labels(name) for name in _SOURCES}
        self._rewards = make(prometheus.Summary, "reward", "Rewards that were given.")
        missing = make(counter, "rewards_missing", "Missing rewards by reason.", "reason")
        self._missing = {name: missing.labels(name) for name in _REASONS}
        chances = make(counter, "proposition_probability", "Sum of them.", "proposition")
        verdicts = make(counter, "proposition_verdicts", "Verdicts in it.", "proposition")
        self._propositions = [(chances.labels(row), verdicts.labels(row)) for row in propositions]
        self._of_judge: dict[str, tuple[Any, float]] = {}
        self._state, self._n_items = state, n_items
        self._pending: list[NDArray[np.float64]] = []
        self._not_logged: Tally[str] = Tally()
        self._logged_at: dict[str, float] = {}

    def count_request(self, route: str, status: int, *, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def count_verdicts(self, judged: LiveVerdicts) -> None:
        """Count the items of a request by the source of their verdicts."""
        probabilities = judged.judged.probabilities
        n_none = 0
        if judged.judged.failures:
            n_none = int(np.count_nonzero(np.isnan(probabilities).any(axis=1)))
        n_known = judged.n_remembered + judged.n_stored
        counts = {
            "remembered": judged.n_remembered,
            "stored": judged.n_stored,
            "judged": max(len(probabilities) - n_none - n_known, 0),
            "none": n_none,
        }
        for source, number in counts.items():
            if number:
                self._sources[source].inc(number)
        if self._propositions:  # added up together: one by one takes more time than the rewards
            self._pending.append(probabilities)

    def count_rewards(self, rewards: NDArray[np.float64], missing: Sequence[str]) -> None:
        """Count rewards, and those that are missing by their reasons."""
        for reward in rewards[np.isfinite(rewards)].tolist():
            self._rewards.observe(reward)
        if missing:
            for name, number in Tally(map(reason_class, missing)).items():
                self._missing[name].inc(number)
                self._not_logged[name] += number
            self.log_missing()

    def log_missing(self, *, is_last: bool = False) -> None:
        """Log rewards that are missing, each class once a minute; at the end everything."""
        now = time.monotonic()
        for name in list(self._not_logged):
            if is_last or now - self._logged_at.get(name, -_MINUTE_S) >= _MINUTE_S:
                self._logged_at[name] = now
                n_missing = self._not_logged.pop(name)
                log.warning("rewards missing: %d, %s", n_missing, _REASONS[name][0])

    def update(self) -> None:
        """Bring the figures up to date that no request changes."""
        if self._pending:
            probabilities = np.concatenate(self._pending)
            self._pending = []
            sums = np.nansum(probabilities, axis=0).tolist()
            counts = np.isfinite(probabilities).sum(axis=0).tolist()
            for (chance, verdicts), total, n in zip(self._propositions, sums, counts, strict=True):
                chance.inc(total)
                verdicts.inc(n)
        state = self._state()
        self._under_way.set(self._n_items())
        self._waiting.set(state.n_waiting)
        self._broken.set(state.is_broken)
        for name, about, total in (
            ("judge_calls", "Calls of the judge.", state.n_calls),
            ("judge_failures", "Items on which the judge failed.", state.n_failures),
            ("judge_cost_dollars", "US dollars spent on calls.", state.cost),
        ):
            if total is not None:
                if name not in self._of_judge:
                    self._of_judge[name] = self._make(prometheus.Counter, name, about), 0.0
                counter, before = self._of_judge[name]
                counter.inc(total - before)
                self._of_judge[name] = counter, total

    def text(self) -> bytes:
        """Write all figures down; those of other workers are at most a second old."""
        self.update()
        for path in Path(self._folder).glob("gauge_live*.db") if self._folder else ():
            try:
                os.kill(int(path.stem.rpartition("_")[2]), 0)
            except ProcessLookupError:  # of a worker that has ended
                path.unlink(missing_ok=True)
        return prometheus.generate_latest(self._registry)
