"""Counts requests and rewards for Prometheus, and logs missing rewards without any text."""

from __future__ import annotations

import contextlib
import os
import time
from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from voirdire.judging.engine import CLOSED, LATE
from voirdire.judging.live import TOO_MANY
from voirdire.web.logs import log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire.judging.engine import LiveState
    from voirdire.rewards.live.turns import LiveScores

__all__ = ["METRICS_TYPE", "NO_PLACE", "Metrics", "SharedMetrics"]

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
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


def reason_class(reason: str) -> str:
    """Name the class of a reason, which itself may hold words of a client or of a judge."""
    return next(name for name, row in _REASONS.items() if reason.startswith(row[1:]))


class MissingLog:
    """Writes how many rewards are missing and why, at most once a minute for each class."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._written_at: dict[str, float] = {}

    def add(self, found: str) -> None:
        """Count a reward that is missing."""
        self._counts[found] += 1

    def write(self, *, is_last: bool = False) -> None:
        """Write what has not been written in the last minute; at the end everything."""
        now = time.monotonic()
        for found in list(self._counts):
            if is_last or now - self._written_at.get(found, -_MINUTE_S) >= _MINUTE_S:
                self._written_at[found] = now
                n_missing = self._counts.pop(found)
                log.warning("rewards missing: %d, %s", n_missing, _REASONS[found][0])


# Figures --------------------------------------------------------------------------------------

Samples: TypeAlias = dict[str, dict[str, float]]
"""Values by the name of a family, and by what follows it: labels, or the end of a longer name."""

_FAMILIES = {
    "requests_total": ("counter", "Requests by route and status."),
    "request_seconds": ("histogram", "Seconds from the head of a request to its answer."),
    "requests_in_flight": ("gauge", "Requests under way."),
    "items_under_way": ("gauge", "Items under way."),
    "items_waiting": ("gauge", "Items that wait for the judge."),
    "items_total": ("counter", "Items by where their verdicts came from."),
    "reward": ("summary", "Rewards that were given."),
    "rewards_missing_total": ("counter", "Rewards that are missing, by class of reason."),
    "proposition_mean": ("gauge", "Mean probability over about the last thousand items."),
    "proposition_probability_total": ("counter", "Sum of all probabilities."),
    "proposition_verdicts_total": ("counter", "Verdicts in that sum."),
    "judge_calls_total": ("counter", "Calls of the judge."),
    "judge_failures_total": ("counter", "Items on which the judge failed."),
    "judge_cost_dollars_total": ("counter", "US dollars spent on calls."),
    "judge_broken": ("gauge", "1 while the judge is out of order and is not called."),
    "alarms_total": ("counter", "Alarms of the run that is recorded."),
}
_RECENT_SUM, _RECENT_N = "(recent sum)", "(recent n)"
"""Of the means, which are worked out over all workers."""

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SOURCES = ("remembered", "stored", "judged", "none")

_FORGETTING = 0.999
"""What an item still weighs in a mean when the next one has come: about the last thousand count."""

_AT_ONCE = 64
"""Items that are added up together: one by one they would take more time than their rewards."""


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

    Attributes
    ----------
    shared : SharedMetrics or None
        The figures of all workers, where there are several.
    n_in_flight, n_alarms : int
        Requests under way, and alarms that began.
    """

    def __init__(
        self,
        propositions: Iterable[str],
        *,
        state: Callable[[], LiveState],
        n_items: Callable[[], int],
    ) -> None:
        self.shared: SharedMetrics | None = None
        self.missing_log = MissingLog()
        self.n_in_flight = self.n_alarms = 0
        self._propositions = tuple(propositions)
        self._state, self._n_items = state, n_items
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}
        self._items = dict.fromkeys(_SOURCES, 0)
        self._missing = dict.fromkeys(_REASONS, 0)
        self._pending: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
        self._n_pending = self._n_rewards = 0
        self._reward_sum = 0.0
        self._sums, self._counts, self._recent_sums, self._recent_counts = np.zeros(
            (4, len(self._propositions))
        )

    def count_request(self, route: str, status: int, *, seconds: float) -> None:
        """Count a request."""
        self._requests[route, status] += 1
        if route not in self._buckets:
            self._buckets[route] = [0] * (len(_BUCKETS) + 1)
            self._seconds[route] = 0.0
        self._buckets[route][bisect_left(_BUCKETS, seconds)] += 1
        self._seconds[route] += seconds

    def count_rewards(self, found: LiveScores) -> None:
        """Count the items of a request."""
        rewards, probabilities = found.scores.rewards, found.judged.probabilities
        n_none = 0
        if found.scores.missing:
            for reason in found.scores.missing.values():
                word = reason_class(reason)
                self._missing[word] += 1
                self.missing_log.add(word)
            self.missing_log.write()
            n_none = int(np.count_nonzero(np.isnan(probabilities).any(axis=1)))
        n_judged = rewards.size - n_none - found.n_remembered - found.n_stored
        counts = (found.n_remembered, found.n_stored, max(n_judged, 0), n_none)
        for source, n_items in zip(_SOURCES, counts, strict=True):
            self._items[source] += n_items
        if rewards.size:
            self._pending.append((rewards, probabilities))
            self._n_pending += rewards.size
            if self._n_pending >= _AT_ONCE:
                self._add_up()

    def _add_up(self) -> None:
        """Add the rewards and probabilities up that came last."""
        pending, self._pending, self._n_pending = self._pending, [], 0
        if not pending:
            return
        rewards = np.concatenate([each for each, _ in pending])
        rewards = rewards[np.isfinite(rewards)]
        self._n_rewards += rewards.size
        self._reward_sum += float(rewards.sum())
        probabilities = np.concatenate([each for _, each in pending])
        sums = np.nansum(probabilities, axis=0)
        counts = np.isfinite(probabilities).sum(axis=0)
        kept = _FORGETTING ** len(probabilities)
        self._sums += sums
        self._counts += counts
        self._recent_sums = kept * self._recent_sums + sums
        self._recent_counts = kept * self._recent_counts + counts

    def samples(self) -> Samples:
        """Return the figures of this process."""
        self._add_up()
        state = self._state()
        found: Samples = {
            "requests_total": {
                f'{{route="{route}",status="{status}"}}': n
                for (route, status), n in self._requests.items()
            },
            "request_seconds": dict(self._histogram()),
            "requests_in_flight": {"": self.n_in_flight},
            "items_under_way": {"": self._n_items()},
            "items_waiting": {"": state.n_waiting},
            "items_total": _label_values("source", self._items, self._items.values()),
            "reward": {"_count": self._n_rewards, "_sum": self._reward_sum},
            "rewards_missing_total": _label_values("reason", self._missing, self._missing.values()),
            "judge_broken": {"": float(state.is_broken)},
            "alarms_total": {"": self.n_alarms},
        }
        for name, values in (
            ("proposition_probability_total", self._sums),
            ("proposition_verdicts_total", self._counts),
            (_RECENT_SUM, self._recent_sums),
            (_RECENT_N, self._recent_counts),
        ):
            found[name] = _label_values("proposition", self._propositions, values.tolist())
        for name, count in (
            ("judge_calls_total", state.n_calls),
            ("judge_failures_total", state.n_failures),
            ("judge_cost_dollars_total", state.cost),
        ):
            if count is not None:
                found[name] = {"": count}
        return found

    def _histogram(self) -> Iterator[tuple[str, float]]:
        for route, counts in self._buckets.items():
            for end, n in zip((*_BUCKETS, "+Inf"), accumulate(counts), strict=True):
                yield f'_bucket{{route="{route}",le="{end}"}}', n
            yield f'_count{{route="{route}"}}', sum(counts)
            yield f'_sum{{route="{route}"}}', self._seconds[route]

    def text(self) -> bytes:
        """Write all of them down, of several workers all together."""
        own = self.samples()
        return _text(own if self.shared is None else self.shared.merge(own))


def _label_values(label: str, names: Iterable[str], values: Iterable[float]) -> dict[str, float]:
    """Name values by a label; no name that is counted here needs an escape."""
    rows = zip(names, values, strict=True)
    return {f'{{{label}="{name}"}}': value for name, value in rows}


def _text(samples: Samples) -> bytes:
    """Write samples as Prometheus reads them."""
    sums, counts = samples[_RECENT_SUM], samples[_RECENT_N]
    means = {key: sums[key] / n for key, n in counts.items() if n > 0}
    lines = []
    for name, (kind, meaning) in _FAMILIES.items():
        if rows := {**samples, "proposition_mean": means}.get(name):
            lines += [f"# HELP voirdire_{name} {meaning}", f"# TYPE voirdire_{name} {kind}"]
            lines += [f"voirdire_{name}{key} {value}" for key, value in rows.items()]
    return "\n".join([*lines, ""]).encode()


class SharedMetrics:
    """The figures of several workers: each writes its own to a folder, and all are added up.

    Of a worker that has ended, counters go on to count, which never go back; gauges do not.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = folder / f"{os.getpid()}.json"

    def publish(self, samples: Samples) -> None:
        """Write the figures of this worker, whole or not at all."""
        new = self._own.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(samples))
        new.replace(self._own)

    def merge(self, own: Samples) -> Samples:
        """Add the figures of the others to those of this worker."""
        found = {name: dict(rows) for name, rows in own.items()}
        for path in self._folder.glob("*.json"):
            if path == self._own:
                continue
            with contextlib.suppress(FileNotFoundError):  # it has just ended
                for name, rows in msgspec.json.decode(path.read_bytes(), type=Samples).items():
                    add = max if name == "judge_broken" else float.__add__
                    known = found.setdefault(name, {})
                    for key, value in rows.items():
                        known[key] = add(float(known.get(key, 0.0)), value)
        return found

    @staticmethod
    def keep_of_ended(folder: Path, *, pid: int | None) -> None:
        """Keep the counters of a worker that has ended."""
        with contextlib.suppress(FileNotFoundError):
            path = folder / f"{pid}.json"
            samples = msgspec.json.decode(path.read_bytes(), type=Samples)
            kept = {name: rows for name, rows in samples.items() if _is_counted(name)}
            path.with_suffix(".new").write_bytes(msgspec.json.encode(kept))
            path.with_suffix(".new").replace(path)


def _is_counted(name: str) -> bool:
    return _FAMILIES.get(name, ("gauge",))[0] != "gauge"
