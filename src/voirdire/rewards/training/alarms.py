"""Raise alarms in a training run: four kinds, each of which begins and ends by its own rule.

==========  ========================================================================  ============
alarm       begins when, over the last 10 steps                                        ends when
==========  ========================================================================  ============
missing     more than 5 % of the rewards are missing, by two standard errors, and       below 2.5 %
            five at least
saturation  90 % of the groups, of ten at least, have rewards that are all equal        80 %
length      responses are twice as long as before, and four standard errors longer      1.75
nonsense    nonsense is twice as frequent as before, by .05 and five standard errors    1.5, .025
            at least
==========  ========================================================================  ============

Alarms look at ten steps, since single steps of a few prompts differ by chance. `missing` looks at
fewer steps where ten are not there yet, since a judge that is down costs every step. "Before" is
the run's own first ten steps; alarms that compare with these wait for ten further steps.

The standard error of a share over a window is the larger of two: that of as many independent
completions, and that of the mean over the steps, which allows for completions of one prompt that
are alike. The error of a length is that of the mean over its steps. The threshold for ending lies
below that for beginning, so that a figure near a threshold does not raise an alarm at every other
step.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from voirdire.rewards.training.run import Alarm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.rewards.training.run import AlarmKind, TrainingStep

__all__ = ["AlarmMonitor", "find_alarms"]

WINDOW = 10
"""Steps that are looked at together."""

MISSING, MISSING_ENDS, MISSING_ERRORS, FEWEST_MISSING = 0.05, 0.025, 2.0, 5
FLAT, FLAT_ENDS, FEWEST_GROUPS = 0.9, 0.8, 10
LONGER, LONGER_ENDS, LENGTH_ERRORS = 2.0, 1.75, 4.0
FREQUENT, FREQUENT_ENDS, MORE, MORE_ENDS, NONSENSE_ERRORS = 2.0, 1.5, 0.05, 0.025, 5.0


def find_alarms(steps: Sequence[TrainingStep]) -> tuple[Alarm, ...]:
    """Find all alarms of a run's steps, in the order in which they began."""
    monitor = AlarmMonitor()
    return tuple(alarm for step in steps for alarm in monitor.check(step))


class AlarmMonitor:
    """Checks the steps of a run one after the other for alarms that begin."""

    def __init__(self) -> None:
        self._latest: deque[TrainingStep] = deque(maxlen=WINDOW)
        self._first = _Window(())
        self._n_steps = 0
        self._active: set[AlarmKind] = set()

    def check(self, step: TrainingStep) -> tuple[Alarm, ...]:
        """Add the next step, and return the alarms that begin with it."""
        self._latest.append(step)
        self._n_steps += 1
        now = _Window(tuple(self._latest))
        if self._n_steps <= WINDOW:
            self._first = now
        began: list[Alarm] = []
        for alarm, begins, ends in self._check_all(now):
            if begins and alarm.kind not in self._active:
                self._active.add(alarm.kind)
                began.append(alarm)
            elif ends:
                self._active.discard(alarm.kind)
        return tuple(began)

    def _check_all(self, now: _Window) -> Iterator[_Finding]:
        yield _check_missing(now)
        if self._n_steps >= WINDOW:
            yield _check_flat_groups(now)
        if self._n_steps >= 2 * WINDOW:
            yield _check_growth(now, self._first)
            yield _check_nonsense(now, self._first)


@dataclass(frozen=True, slots=True)
class _Mean:
    """A weighted mean over steps, and its standard error estimated from their differences."""

    value: float
    error: float
    n: float


class _Window:
    """Means over steps that follow each other."""

    def __init__(self, steps: Sequence[TrainingStep]) -> None:
        self.step = steps[-1].step if steps else 0
        self.n = sum(step.n for step in steps)
        self.n_missing = sum(step.n_missing for step in steps)
        self.flat = _average([(step.zero_spread_share, step.n_groups) for step in steps])
        self.length = _average([(step.length_mean, step.n) for step in steps])
        self.nonsense = _average([(step.nonsense_share, step.n) for step in steps])


def _average(rows: Sequence[tuple[float, float]]) -> _Mean:
    """Average values with their weights."""
    pairs = np.array(rows, dtype=np.float64).reshape(-1, 2)
    is_known = ~np.isnan(pairs[:, 0])
    values, weights = pairs[is_known].T
    n = float(weights.sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.float64((weights * values).sum()) / n
        square = (weights * (values - mean) ** 2).sum() / n
        error = np.sqrt(square / np.float64((weights > 0).sum() - 1))
    return _Mean(value=float(mean), error=float(error), n=n)


# Beginning and ending of alarms -------------------------------------------------------------------

_Finding: TypeAlias = tuple[Alarm, bool, bool]
"""An alarm, whether it begins if it is not active, and whether it ends if it is."""


def _check_missing(now: _Window) -> _Finding:
    """Check for missing rewards: training learns nothing from such completions."""
    share = now.n_missing / now.n if now.n else math.nan
    error = math.sqrt(share * (1 - share) / now.n) if now.n else math.nan
    begins = now.n_missing >= FEWEST_MISSING and share - MISSING_ERRORS * error > MISSING
    text = f"{share:.0%} of the rewards are missing"
    return _make_alarm("missing", now, share, text), begins, share < MISSING_ENDS


def _check_flat_groups(now: _Window) -> _Finding:
    """Check for groups whose rewards are all equal: training learns nothing from them."""
    groups = now.flat
    text = f"{groups.value:.0%} of the groups have rewards that are all equal: no signal is left"
    alarm = _make_alarm("saturation", now, groups.value, text)
    return alarm, groups.n >= FEWEST_GROUPS and groups.value >= FLAT, groups.value < FLAT_ENDS


def _check_growth(now: _Window, before: _Window) -> _Finding:
    """Check for responses that grow."""
    value, was = now.length.value, before.length.value
    error = math.hypot(now.length.error, before.length.error)
    text = f"responses have a length of {value:,.0f} (before: {was:,.0f})"
    begins = value > LONGER * was and value - was > LENGTH_ERRORS * error
    return _make_alarm("length", now, value, text, was), begins, value < LONGER_ENDS * was


def _check_nonsense(now: _Window, before: _Window) -> _Finding:
    """Check for nonsense that gets more frequent, whatever its reward."""
    value, was = now.nonsense.value, before.nonsense.value
    error = math.hypot(*map(_estimate_error, (now.nonsense, before.nonsense)))
    text = f"{value:.0%} of the responses are nonsense (before: {was:.0%})"
    begins = value > max(FREQUENT * was, was + MORE) and abs(value - was) > NONSENSE_ERRORS * error
    ends = value < max(FREQUENT_ENDS * was, was + MORE_ENDS)
    return _make_alarm("nonsense", now, value, text, was), begins, ends


def _estimate_error(share: _Mean) -> float:
    """Estimate a standard error as the larger of two; see the docstring of this module."""
    if not share.n:
        return math.nan
    return float(np.fmax(math.sqrt(share.value * (1 - share.value) / share.n), share.error))


def _make_alarm(
    kind: AlarmKind, now: _Window, value: float, text: str, reference: float = math.nan
) -> Alarm:
    return Alarm(kind=kind, step=now.step, value=value, reference=reference, text=text)
