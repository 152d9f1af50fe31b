"""Raise alarms in a training run: each kind begins and ends by its own rule over the last steps.

==========  ========================================================================  ============
alarm       begins when, over the last 10 steps                                        ends when
==========  ========================================================================  ============
missing     more than 5 % of the rewards are missing, by two standard errors, and       below 2.5 %
            five at least
gated       the gate floors more than 20 % of the responses, likewise                   10 %
nonsense    more than half of the responses are nonsense, likewise; or nonsense is      1.5, .025
            twice as frequent as before, by .05 and five standard errors at least
margin      responses are 1 closer to the gate than before, and four standard errors    .75
saturation  90 % of the groups, of ten at least, have rewards that are all equal        80 %
capped      90 % of the responses, of ten at least, are paid the cap                    80 %
length      responses are twice as long as before, and four standard errors longer      1.75
==========  ========================================================================  ============

Alarms look at ten steps, since single steps of a few prompts differ by chance. The first three look
at fewer where ten are not there yet: a judge that is down costs every step, and a policy that
begins with nonsense has nothing to learn from. "Before" is the run's own first ten steps; what
compares with these waits for ten further steps.

The standard error of a share over a window is the larger of two: that of as many independent
completions, and that of the mean over the steps, which allows for completions of one prompt that
are alike. The error of another figure is that of the mean over its steps. The threshold for ending
lies below that for beginning, so that a figure near a threshold does not raise an alarm at every
other step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from voirdire.rewards.training.run import Alarm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.rewards.training.run import AlarmKind, TrainingStep

WINDOW = 10
"""Steps that are looked at together."""

_TEXTS: dict[AlarmKind, str] = {
    "missing": "{value:.0%} of the rewards are missing",
    "gated": "the gate floors {value:.0%} of the responses",
    "nonsense": "{value:.0%} of the responses are nonsense",
    "margin": "responses are nearer to the gate: {value:.1f}",
    "saturation": "{value:.0%} of the groups have rewards that are all equal: no signal is left",
    "capped": "{value:.0%} of the responses are paid the cap: no signal is left",
    "length": "responses have a length of {value:,.0f}",
}
_BEFORE: dict[AlarmKind, str] = {
    "nonsense": " (before: {was:.0%})", "margin": " (before: {was:.1f})",
    "length": " (before: {was:,.0f})",
}  # fmt: skip


def find_alarms(steps: Sequence[TrainingStep]) -> tuple[Alarm, ...]:
    """Find all alarms of a run's steps, in the order in which they began."""
    monitor = AlarmMonitor()
    return tuple(alarm for step in steps for alarm in monitor.check(step))


class AlarmMonitor:
    """Checks the steps of a run one after the other for alarms that begin."""

    def __init__(self) -> None:
        self._first: list[TrainingStep] = []
        self._latest: list[TrainingStep] = []
        self._n_steps = 0
        self._active: set[AlarmKind] = set()

    def check(self, step: TrainingStep) -> tuple[Alarm, ...]:
        """Add the next step, and return the alarms that begin with it."""
        self._latest = [*self._latest[1 - WINDOW :], step]
        self._n_steps += 1
        if self._n_steps <= WINDOW:
            self._first = self._latest
        began: list[Alarm] = []
        for kind, value, was, begins, ends in self._check_rules():
            if begins and kind not in self._active:
                self._active.add(kind)
                text = _TEXTS[kind] + ("" if math.isnan(was) else _BEFORE.get(kind, ""))
                said = text.format(value=value, was=was)
                began.append(
                    Alarm(kind=kind, step=step.step, value=value, reference=was, text=said)
                )
            elif ends:
                self._active.discard(kind)
        return tuple(began)

    def _check_rules(self) -> Iterator[tuple[AlarmKind, float, float, bool, bool]]:
        """Apply each rule: its figure, what it is held against, whether it begins and ends."""
        now, is_full = self._latest, self._n_steps >= WINDOW
        can_compare = self._n_steps >= 2 * WINDOW
        missing = _average(now, "missing_share", is_share=True)
        is_many = _exceeds(missing, 0.05)
        yield "missing", missing.value, math.nan, is_many, missing.value < 0.025
        gated = _average(now, "gated_share", is_share=True)
        yield "gated", gated.value, math.nan, _exceeds(gated, 0.2), gated.value < 0.1
        share = _average(now, "nonsense_share", is_share=True)
        was = _average(self._first, "nonsense_share", is_share=True)
        error = 5 * math.hypot(share.error, was.error)
        is_more = share.value > max(2 * was.value, was.value + 0.05)
        grew = can_compare and is_more and share.value - was.value > error
        is_back = share.value < max(1.5 * was.value, was.value + 0.025)
        begins = grew or _exceeds(share, 0.5)
        before = was.value if can_compare else math.nan
        yield "nonsense", share.value, before, begins, is_back and share.value < 0.4
        if not is_full:
            return
        flat = _average(now, "zero_spread_share", weight="n_groups")
        is_flat = flat.n >= WINDOW and flat.value >= 0.9
        yield "saturation", flat.value, math.nan, is_flat, flat.value < 0.8
        capped = _average(now, "capped_share", is_share=True)
        is_capped = capped.n >= WINDOW and capped.value >= 0.9
        yield "capped", capped.value, math.nan, is_capped, capped.value < 0.8
        if can_compare:
            margin, start = _average(now, "margin_mean"), _average(self._first, "margin_mean")
            gain, error = margin.value - start.value, 4 * math.hypot(margin.error, start.error)
            yield "margin", margin.value, start.value, gain > max(1.0, error), gain < 0.75
            length, start = _average(now, "length_mean"), _average(self._first, "length_mean")
            gain, error = length.value - start.value, 4 * math.hypot(length.error, start.error)
            is_longer = length.value > 2 * start.value and gain > error
            yield "length", length.value, start.value, is_longer, length.value < 1.75 * start.value


class _Mean(NamedTuple):
    """A weighted mean over steps, its standard error, and the weights together."""

    value: float
    error: float
    n: float


def _average(
    steps: Sequence[TrainingStep], name: str, *, weight: str = "n", is_share: bool = False
) -> _Mean:
    pairs = np.array([(getattr(step, name), getattr(step, weight)) for step in steps], dtype=float)
    values, weights = pairs[~np.isnan(pairs[:, 0])].T
    n = float(weights.sum())
    if not n:
        return _Mean(math.nan, math.nan, 0.0)
    mean = float(weights @ values) / n
    n_steps = np.count_nonzero(weights)
    square = float(weights @ (values - mean) ** 2) / n
    error = math.sqrt(square / (n_steps - 1)) if n_steps > 1 else math.nan
    if is_share:
        error = float(np.fmax(math.sqrt(max(mean * (1 - mean), 0.0) / n), error))
    return _Mean(mean, error, n)


def _exceeds(share: _Mean, most: float) -> bool:
    """Tell whether a share is above a limit by two errors of as many independent completions."""
    if not share.n or share.value * share.n < 5 - 1e-9:
        return False
    error = math.sqrt(max(share.value * (1 - share.value), 0.0) / share.n)
    return share.value - 2 * error > most
