"""Raise alarms in a training run: six kinds, each of which begins and ends by its own rule.

==========  ========================================================================  ============
alarm       begins when, over the last 10 steps                                        ends when
==========  ========================================================================  ============
missing     more than 5 % of the rewards are missing, by two standard errors, and       below 2.5 %
            five at least
saturation  a proposition that pays is beyond .98 or .02, which was between .05 and     .97, .03;
            .95 before, four standard errors away; or 90 % of the groups, of ten at     80 %
            least, have rewards that are all equal
drift       a proposition or class is more than .2 and four standard errors away        .1
            from the reference run
length      responses are twice as long as before, and four standard errors longer;     1.75; .4
            or correlate with the reward by .5 and four standard errors, of 50
            rewards at least
spread      rewards differ by less than a tenth of what they did in the first ten       15 %
            steps
nonsense    nonsense is twice as frequent as before, by .05 and five standard errors    1.5, .025;
            at least; or gets more reward than other responses to its prompt, by half   .4, or below
            a standard deviation of the rewards and five standard errors, of ten such   five of them
            responses at least
==========  ========================================================================  ============

Alarms look at ten steps, since single steps of a few prompts differ by chance. `missing` looks at
fewer steps where ten are not there yet, since a judge that is down costs every step. "Before" is
the reference run at the same steps, or the whole reference run where it has fewer than five of
them. Without a reference it is the run's own first ten steps; alarms that compare with these wait
for ten further steps.

The standard error of a rate over a window is the largest of three: that of as many independent
completions, that of the mean over the steps, and the one estimated from the differences between
neighbouring steps of the reference run. The last two allow for completions of one prompt that are
alike; the last one uses many more steps than a window has. A class counts the completions and the
steps of its own behavior. The error of a length is that of the mean over its steps; the error of a
correlation, by Fisher's z, is the larger one of the first two. The gain of nonsense has the largest
of three too: that of a difference of two means, the one over its steps, and the one estimated from
neighbouring steps of the run itself. It needs five standard errors, since a policy that always
writes nonsense does so about few prompts, and the error over ten steps is itself uncertain. The
threshold for ending lies below that for beginning, so that a figure near a threshold does not
raise an alarm at every other step.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from voirdire.rewards.training.run import Alarm

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voirdire.rewards.training.run import AlarmKind, TrainingStep

__all__ = ["AlarmMonitor", "find_alarms"]

WINDOW = 10
"""Steps that are looked at together."""
FEWEST_SAME = 5
"""Steps of the reference run at the same place; with fewer, the whole reference run counts."""

MISSING, MISSING_ENDS, MISSING_ERRORS, FEWEST_MISSING = 0.05, 0.025, 2.0, 5
SATURATED, SATURATED_ENDS, INSIDE = 0.98, 0.97, 0.95
FLAT, FLAT_ENDS, FEWEST_GROUPS = 0.9, 0.8, 10
DRIFT, DRIFT_ENDS = 0.2, 0.1
LONGER, LONGER_ENDS = 2.0, 1.75
PAID_BY_LENGTH, PAID_BY_LENGTH_ENDS, FEWEST_PAIRS = 0.5, 0.4, 50
COLLAPSED, COLLAPSED_ENDS = 0.1, 0.15
FREQUENT, FREQUENT_ENDS, MORE, MORE_ENDS = 2.0, 1.5, 0.05, 0.025
PAID, PAID_ENDS, FEWEST_PAID, FEWEST_PAID_ENDS = 0.5, 0.4, 10, 5
ERRORS, NONSENSE_ERRORS = 4.0, 5.0

_MOST_R = 1 - 1e-6
"""Correlations are clipped here, since the z of 1 is infinite."""


def find_alarms(
    steps: Sequence[TrainingStep],
    *,
    paying: Sequence[str],
    reference: Sequence[TrainingStep] | None = None,
) -> tuple[Alarm, ...]:
    """Find all alarms of a run.

    Parameters
    ----------
    steps : sequence of TrainingStep
        In their order.
    paying : sequence of str
        Propositions that the reward depends on.
    reference : sequence of TrainingStep, optional
        Of an earlier run.

    Returns
    -------
    tuple of Alarm
        In the order in which they began.
    """
    monitor = AlarmMonitor(paying=paying, reference=reference)
    return tuple(alarm for step in steps for alarm in monitor.check(step))


class AlarmMonitor:
    """Checks the steps of a run one after the other for alarms that begin.

    Parameters
    ----------
    paying : sequence of str
        Propositions that the reward depends on.
    reference : sequence of TrainingStep, optional
        Of an earlier run.
    """

    def __init__(
        self, *, paying: Sequence[str], reference: Sequence[TrainingStep] | None = None
    ) -> None:
        self._paying = frozenset(paying)
        self._reference = [_Row(step) for step in reference or ()]
        self._places = [row.step for row in self._reference]
        self._whole = _Window(self._reference) if self._reference else None
        names = self._reference[-1].figures if self._reference else ()
        self._noise = {
            name: _estimate_noise(
                [row.figures.get(name, (math.nan, 0.0))[0] for row in self._reference]
            )
            for name in names
        }
        self._gains: list[float] = []
        self._latest: deque[_Row] = deque(maxlen=WINDOW)
        self._first = _Window(())
        self._n_steps = 0
        self._active: set[tuple[AlarmKind, str]] = set()

    def check(self, step: TrainingStep) -> tuple[Alarm, ...]:
        """Add the next step, and return the alarms that begin with it."""
        self._latest.append(_Row(step))
        self._gains += [] if math.isnan(step.nonsense_gain) else [step.nonsense_gain]
        self._n_steps += 1
        now = _Window(tuple(self._latest))
        if self._n_steps <= WINDOW:
            self._first = now
        began: list[Alarm] = []
        for alarm, begins, ends in self._check_all(now):
            key = (alarm.kind, alarm.subject)
            if begins and key not in self._active:
                self._active.add(key)
                began.append(alarm)
            elif ends:
                self._active.discard(key)
        return tuple(began)

    def _check_all(self, now: _Window) -> Iterator[_Finding]:
        yield _check_missing(now)
        if self._n_steps < WINDOW:
            return
        yield _check_flat_groups(now)
        yield _check_length_correlation(now)
        yield _check_nonsense_gain(now, noise=_estimate_noise(self._gains))
        before = self._find_earlier(now)
        if before is None:
            return
        yield from _check_saturation(now, before, paying=self._paying, noise=self._noise)
        yield _check_growth(now, before)
        yield _check_spread(now, self._first)
        yield _check_nonsense_share(now, before, noise=self._noise)
        if self._whole is not None:
            yield from _check_drift(now, before, noise=self._noise)

    def _find_earlier(self, now: _Window) -> _Window | None:
        if self._whole is None:
            return self._first if self._n_steps >= 2 * WINDOW else None
        low = bisect_left(self._places, now.rows[0].step)
        same = self._reference[low : bisect_right(self._places, now.rows[-1].step)]
        return _Window(same) if len(same) >= FEWEST_SAME else self._whole


# Windows of steps ---------------------------------------------------------------------------------

_FLAT, _LENGTH, _LENGTH_Z, _VARIANCE, _NONSENSE, _GAIN = (
    "*flat", "*length", "*z", "*variance", "*nonsense", "*gain",
)  # fmt: skip
"""Names of other figures than rates; the names of propositions and classes have no asterisk."""


class _Row:
    """The figures of one step, each with its number of completions or groups."""

    def __init__(self, step: TrainingStep) -> None:
        self.step, self.n, self.n_missing = step.step, step.n, step.n_missing
        n_rewards = step.n - step.n_missing
        r = step.length_reward_correlation
        z = math.nan if math.isnan(r) else math.atanh(_MOST_R * max(-1.0, min(1.0, r)))
        self.figures: dict[str, tuple[float, float]] = {
            _FLAT: (step.zero_spread_share, step.n_groups),
            _LENGTH: (step.length_mean, step.n),
            _LENGTH_Z: (z, max(n_rewards - 3, 0)),
            _VARIANCE: (step.reward_sd**2, max(n_rewards - 1, 0)),
            _NONSENSE: (step.nonsense_share, step.n),
            _GAIN: (step.nonsense_gain, step.n_nonsense),
        }
        for name, rate in step.proposition_rates.items():
            self.figures[name] = (rate, step.n)
        for behavior, shares in step.class_shares.items():
            n = step.n_by_behavior.get(behavior, step.n)
            self.figures |= {f"{behavior}/{name}": (share, n) for name, share in shares.items()}


@dataclass(frozen=True, slots=True)
class _Mean:
    """A weighted mean over steps, and its standard error estimated from their differences."""

    value: float = math.nan
    error: float = math.nan
    n: float = 0.0
    n_steps: int = 0


class _Window:
    """Means over steps that follow each other."""

    def __init__(self, rows: Sequence[_Row]) -> None:
        self.rows = rows
        self.n = sum(row.n for row in rows)
        self.n_missing = sum(row.n_missing for row in rows)
        self._average_figures = _average_figures([row.figures for row in rows])
        self.rates = tuple(name for name in self._average_figures if not name.startswith("*"))
        self.reward_sd = math.sqrt(self[_VARIANCE].value)

    def __getitem__(self, name: str) -> _Mean:
        return self._average_figures.get(name, _Mean())


def _average_figures(rows: Sequence[Mapping[str, tuple[float, float]]]) -> dict[str, _Mean]:
    """Average the figures that the last row has."""
    if not rows:
        return {}
    names = tuple(rows[-1])
    pairs = np.array([[row.get(name, (math.nan, 0.0)) for name in names] for row in rows])
    is_known = ~np.isnan(pairs[:, :, 0])
    values, weights = np.where(is_known, pairs[:, :, 0], 0.0), np.where(is_known, pairs[:, :, 1], 0)
    n, n_steps = weights.sum(axis=0), (weights > 0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (weights * values).sum(axis=0) / n
        squares = (weights * (values - means) ** 2).sum(axis=0) / n
        errors = np.sqrt(squares / (n_steps - 1))
    columns = (column.tolist() for column in (means, errors, n, n_steps))
    return dict(zip(names, map(_Mean, *columns), strict=True))


def _estimate_noise(values: Sequence[float]) -> float:
    """Estimate the standard deviation from step to step, not counting a trend over time."""
    defined = np.array(values)
    defined = defined[~np.isnan(defined)]  # a behavior need not be in every step
    return math.sqrt((np.diff(defined) ** 2).mean() / 2) if defined.size >= WINDOW else math.nan


def _is_apart(
    now: _Window, before: _Window, name: str, *, noise: Mapping[str, float], by: float = ERRORS
) -> bool:
    """Tell whether two rates differ by more than chance explains."""
    errors = (_estimate_error(window[name], noise.get(name, math.nan)) for window in (now, before))
    return abs(now[name].value - before[name].value) > by * math.hypot(*errors)


def _estimate_error(rate: _Mean, noise: float) -> float:
    """Estimate a standard error as the largest of three; see the docstring of this module."""
    if not rate.n:
        return math.nan
    alone = math.sqrt(rate.value * (1 - rate.value) / rate.n)
    return float(np.fmax(np.fmax(alone, rate.error), noise / math.sqrt(rate.n_steps)))


# Beginning and ending of alarms -------------------------------------------------------------------

_Finding: TypeAlias = tuple[Alarm, bool, bool]
"""An alarm, whether it begins if it is not active, and whether it ends if it is."""


def _check_missing(now: _Window) -> _Finding:
    """Check for missing rewards: training learns nothing from such completions."""
    share = now.n_missing / now.n if now.n else math.nan
    error = math.sqrt(share * (1 - share) / now.n) if now.n else math.nan
    begins = now.n_missing >= FEWEST_MISSING and share - MISSING_ERRORS * error > MISSING
    text = f"{share:.0%} of the rewards are missing"
    return _make_alarm("missing", now, "reward", share, text), begins, share < MISSING_ENDS


def _check_saturation(
    now: _Window, before: _Window, *, paying: frozenset[str], noise: Mapping[str, float]
) -> Iterator[_Finding]:
    """Check for paying propositions that are true, or false, of nearly all responses."""
    for name in now.rates:
        if name not in paying:
            continue
        value, was = now[name].value, before[name].value
        is_beyond = value > SATURATED or value < 1 - SATURATED
        was_inside = 1 - INSIDE <= was <= INSIDE and _is_apart(now, before, name, noise=noise)
        text = f"{name} is {value:.0%} (before: {was:.0%}): it tells no responses apart"
        alarm = _make_alarm("saturation", now, name, value, text, was)
        yield alarm, is_beyond and was_inside, 1 - SATURATED_ENDS < value < SATURATED_ENDS


def _check_flat_groups(now: _Window) -> _Finding:
    """Check for groups whose rewards are all equal: training learns nothing from them."""
    groups = now[_FLAT]
    text = f"{groups.value:.0%} of the groups have rewards that are all equal: no signal is left"
    alarm = _make_alarm("saturation", now, "groups", groups.value, text)
    return alarm, groups.n >= FEWEST_GROUPS and groups.value >= FLAT, groups.value < FLAT_ENDS


def _check_drift(
    now: _Window, before: _Window, *, noise: Mapping[str, float]
) -> Iterator[_Finding]:
    """Check for answers that differ from those of the reference run."""
    for name in now.rates:
        value, was = now[name].value, before[name].value
        apart = abs(value - was)
        text = f"{name} is {value:.0%} (reference run: {was:.0%})"
        begins = apart > DRIFT and _is_apart(now, before, name, noise=noise)
        yield _make_alarm("drift", now, name, value, text, was), begins, apart < DRIFT_ENDS


def _check_growth(now: _Window, before: _Window) -> _Finding:
    """Check for responses that grow."""
    value, was = now[_LENGTH].value, before[_LENGTH].value
    error = math.hypot(now[_LENGTH].error, before[_LENGTH].error)
    text = f"responses have a length of {value:,.0f} (before: {was:,.0f})"
    begins = value > LONGER * was and value - was > ERRORS * error
    return _make_alarm("length", now, "length", value, text, was), begins, value < LONGER_ENDS * was


def _check_length_correlation(now: _Window) -> _Finding:
    """Check for rewards that correlate with length within steps, so that a trend does not count."""
    z = now[_LENGTH_Z]
    value = math.tanh(z.value)
    error = np.fmax(1 / math.sqrt(z.n), z.error) if z.n else math.nan
    text = f"length and reward correlate by {value:.2f}: the reward may pay for length"
    begins = now.n - now.n_missing >= FEWEST_PAIRS and value >= PAID_BY_LENGTH
    begins = begins and bool(z.value > ERRORS * error)
    alarm = _make_alarm("length", now, "length and reward", value, text)
    return alarm, begins, value < PAID_BY_LENGTH_ENDS


def _check_spread(now: _Window, first: _Window) -> _Finding:
    """Check for rewards that no longer differ."""
    value, was = now.reward_sd, first.reward_sd
    text = f"rewards differ by {value:.2g} (standard deviation; in the beginning {was:.2g})"
    alarm = _make_alarm("spread", now, "reward", value, text, was)
    return alarm, value < COLLAPSED * was, value > COLLAPSED_ENDS * was


def _check_nonsense_share(now: _Window, before: _Window, *, noise: Mapping[str, float]) -> _Finding:
    """Check for nonsense that gets more frequent, whatever its reward."""
    value, was = now[_NONSENSE].value, before[_NONSENSE].value
    text = f"{value:.0%} of the responses are nonsense (before: {was:.0%})"
    begins = value > max(FREQUENT * was, was + MORE) and _is_apart(
        now, before, _NONSENSE, noise=noise, by=NONSENSE_ERRORS
    )
    ends = value < max(FREQUENT_ENDS * was, was + MORE_ENDS)
    return _make_alarm("nonsense", now, "nonsense", value, text, was), begins, ends


def _check_nonsense_gain(now: _Window, *, noise: float) -> _Finding:
    """Check for nonsense that gets more reward than the other responses of its group."""
    gain, sd = now[_GAIN], now.reward_sd
    error = math.nan
    if 0 < gain.n < now.n:
        alone = sd * math.sqrt(1 / gain.n + 1 / (now.n - gain.n))
        error = float(np.fmax(np.fmax(alone, gain.error), noise / math.sqrt(gain.n_steps)))
    text = (
        f"nonsense gets {gain.value:.2f} more reward than other responses to its prompt "
        f"({now[_NONSENSE].value:.0%} of the responses): the reward pays for it"
    )
    begins = gain.n >= FEWEST_PAID and gain.value > PAID * sd
    begins = begins and gain.value > NONSENSE_ERRORS * error
    ends = gain.n < FEWEST_PAID_ENDS or gain.value < PAID_ENDS * sd
    return _make_alarm("nonsense", now, "nonsense and reward", gain.value, text), begins, ends


def _make_alarm(
    kind: AlarmKind,
    now: _Window,
    subject: str,
    value: float,
    text: str,
    reference: float = math.nan,
) -> Alarm:
    return Alarm(
        kind=kind, step=now.rows[-1].step, subject=subject, value=value, reference=reference,
        text=text,
    )  # fmt: skip
