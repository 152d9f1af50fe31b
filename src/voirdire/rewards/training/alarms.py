"""When something in a training run deserves a look: six alarms, each of which begins once.

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

Ten steps, since single steps of a few prompts differ by chance; `missing` looks at those that are
there, since a judge that is down costs every step. "Before" is the reference run at the same
steps, or its whole where it has fewer than five of them; without a reference, the run's own first
ten steps. What is measured against it waits until ten further steps are there.

The standard error of a rate over a window is the largest of three: that of so many independent
completions, that of the mean over its steps, and what the differences between neighbouring steps of
the reference run say of such a mean. The last two see that completions of one prompt are alike, the
last one over many more steps than a window has. A class rests on the completions and the steps of
its own behavior. The error of a length is that of the mean over its steps; that of a correlation,
by Fisher's z, the larger one of the first two. What nonsense gets more has the largest of three
too: that of a difference of two means, the one over its steps, and what the differences between
neighbouring steps of the run itself say. It takes five of them, since a policy that writes nonsense
all the time does so about few prompts, and the error over ten steps is itself uncertain. Ending
takes more than not beginning, so that a figure at the border does not ring at every other step.
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

__all__ = ["AlarmMonitor", "alarms_of"]

WINDOW = 10
"""Steps that are looked at together."""
FEWEST_SAME = 5
"""Steps of a reference run that must be at the same place, for it not to be taken whole."""

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
"""What a correlation of 1 counts as, whose z is infinite."""


def alarms_of(
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
    """Takes the steps of a run one after the other, and says which alarms begin.

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
            name: _step_noise(
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
        """Take the next step; give the alarms that begin with it."""
        self._latest.append(_Row(step))
        self._gains += [] if math.isnan(step.nonsense_gain) else [step.nonsense_gain]
        self._n_steps += 1
        now = _Window(tuple(self._latest))
        if self._n_steps <= WINDOW:
            self._first = now
        began: list[Alarm] = []
        for alarm, begins, ends in self._findings(now):
            key = (alarm.kind, alarm.subject)
            if begins and key not in self._active:
                self._active.add(key)
                began.append(alarm)
            elif ends:
                self._active.discard(key)
        return tuple(began)

    def _findings(self, now: _Window) -> Iterator[_Finding]:
        yield _missing(now)
        if self._n_steps < WINDOW:
            return
        yield _flat_groups(now)
        yield _paid_by_length(now)
        yield _paid_nonsense(now, noise=_step_noise(self._gains))
        before = self._before(now)
        if before is None:
            return
        yield from _saturation(now, before, paying=self._paying, noise=self._noise)
        yield _longer(now, before)
        yield _collapsed(now, self._first)
        yield _frequent_nonsense(now, before, noise=self._noise)
        if self._whole is not None:
            yield from _drift(now, before, noise=self._noise)

    def _before(self, now: _Window) -> _Window | None:
        if self._whole is None:
            return self._first if self._n_steps >= 2 * WINDOW else None
        low = bisect_left(self._places, now.rows[0].step)
        same = self._reference[low : bisect_right(self._places, now.rows[-1].step)]
        return _Window(same) if len(same) >= FEWEST_SAME else self._whole


# Steps taken together -----------------------------------------------------------------------------

_FLAT, _LENGTH, _LENGTH_Z, _VARIANCE, _NONSENSE, _GAIN = (
    "*flat", "*length", "*z", "*variance", "*nonsense", "*gain",
)  # fmt: skip
"""Figures beside the rates of propositions and classes, whose names are identifiers."""


class _Row:
    """The figures of one step, each with the completions or groups that it rests on."""

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
    """A weighted mean over steps, and its standard error by how they differ."""

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
        self._means = _means([row.figures for row in rows])
        self.rates = tuple(name for name in self._means if not name.startswith("*"))
        self.reward_sd = math.sqrt(self[_VARIANCE].value)

    def __getitem__(self, name: str) -> _Mean:
        return self._means.get(name, _Mean())


def _means(rows: Sequence[Mapping[str, tuple[float, float]]]) -> dict[str, _Mean]:
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


def _step_noise(values: Sequence[float]) -> float:
    """Give the standard deviation from step to step, whatever way a figure goes over time."""
    known = np.array(values)
    known = known[~np.isnan(known)]  # a behavior need not be in every step
    return math.sqrt((np.diff(known) ** 2).mean() / 2) if known.size >= WINDOW else math.nan


def _is_apart(
    now: _Window, before: _Window, name: str, *, noise: Mapping[str, float], by: float = ERRORS
) -> bool:
    """Tell whether two rates differ by more than chance would have it."""
    errors = (_rate_error(window[name], noise.get(name, math.nan)) for window in (now, before))
    return abs(now[name].value - before[name].value) > by * math.hypot(*errors)


def _rate_error(rate: _Mean, noise: float) -> float:
    """Give the largest of three standard errors; see the head of this file."""
    if not rate.n:
        return math.nan
    alone = math.sqrt(rate.value * (1 - rate.value) / rate.n)
    return float(np.fmax(np.fmax(alone, rate.error), noise / math.sqrt(rate.n_steps)))


# What begins and what ends ------------------------------------------------------------------------

_Finding: TypeAlias = tuple[Alarm, bool, bool]
"""An alarm, whether it begins where it is not on, and whether it ends where it is."""


def _missing(now: _Window) -> _Finding:
    """Rewards that are missing: each is a completion that nothing is learnt from."""
    share = now.n_missing / now.n if now.n else math.nan
    error = math.sqrt(share * (1 - share) / now.n) if now.n else math.nan
    begins = now.n_missing >= FEWEST_MISSING and share - MISSING_ERRORS * error > MISSING
    text = f"{share:.0%} of the rewards are missing"
    return _alarm("missing", now, "reward", share, text), begins, share < MISSING_ENDS


def _saturation(
    now: _Window, before: _Window, *, paying: frozenset[str], noise: Mapping[str, float]
) -> Iterator[_Finding]:
    """Propositions that pay, and no longer tell responses apart."""
    for name in now.rates:
        if name not in paying:
            continue
        value, was = now[name].value, before[name].value
        is_beyond = value > SATURATED or value < 1 - SATURATED
        was_inside = 1 - INSIDE <= was <= INSIDE and _is_apart(now, before, name, noise=noise)
        text = f"{name} is {value:.0%} (before: {was:.0%}): it tells no responses apart"
        alarm = _alarm("saturation", now, name, value, text, was)
        yield alarm, is_beyond and was_inside, 1 - SATURATED_ENDS < value < SATURATED_ENDS


def _flat_groups(now: _Window) -> _Finding:
    """Find groups whose rewards are all equal: nothing is learnt from them."""
    groups = now[_FLAT]
    text = f"{groups.value:.0%} of the groups have rewards that are all equal: no signal is left"
    alarm = _alarm("saturation", now, "groups", groups.value, text)
    return alarm, groups.n >= FEWEST_GROUPS and groups.value >= FLAT, groups.value < FLAT_ENDS


def _drift(now: _Window, before: _Window, *, noise: Mapping[str, float]) -> Iterator[_Finding]:
    """Answers unlike those of the reference run."""
    for name in now.rates:
        value, was = now[name].value, before[name].value
        apart = abs(value - was)
        text = f"{name} is {value:.0%} (reference run: {was:.0%})"
        begins = apart > DRIFT and _is_apart(now, before, name, noise=noise)
        yield _alarm("drift", now, name, value, text, was), begins, apart < DRIFT_ENDS


def _longer(now: _Window, before: _Window) -> _Finding:
    """Responses that grow."""
    value, was = now[_LENGTH].value, before[_LENGTH].value
    error = math.hypot(now[_LENGTH].error, before[_LENGTH].error)
    text = f"responses have a length of {value:,.0f} (before: {was:,.0f})"
    begins = value > LONGER * was and value - was > ERRORS * error
    return _alarm("length", now, "length", value, text, was), begins, value < LONGER_ENDS * was


def _paid_by_length(now: _Window) -> _Finding:
    """Rewards that go with length; by step, so that learning over time does not count."""
    z = now[_LENGTH_Z]
    value = math.tanh(z.value)
    error = np.fmax(1 / math.sqrt(z.n), z.error) if z.n else math.nan
    text = f"length and reward correlate by {value:.2f}: the reward may pay for length"
    begins = now.n - now.n_missing >= FEWEST_PAIRS and value >= PAID_BY_LENGTH
    begins = begins and bool(z.value > ERRORS * error)
    alarm = _alarm("length", now, "length and reward", value, text)
    return alarm, begins, value < PAID_BY_LENGTH_ENDS


def _collapsed(now: _Window, first: _Window) -> _Finding:
    """Rewards that no longer differ."""
    value, was = now.reward_sd, first.reward_sd
    text = f"rewards differ by {value:.2g} (standard deviation; in the beginning {was:.2g})"
    alarm = _alarm("spread", now, "reward", value, text, was)
    return alarm, value < COLLAPSED * was, value > COLLAPSED_ENDS * was


def _frequent_nonsense(now: _Window, before: _Window, *, noise: Mapping[str, float]) -> _Finding:
    """Nonsense that gets more frequent, whatever it is paid."""
    value, was = now[_NONSENSE].value, before[_NONSENSE].value
    text = f"{value:.0%} of the responses are nonsense (before: {was:.0%})"
    begins = value > max(FREQUENT * was, was + MORE) and _is_apart(
        now, before, _NONSENSE, noise=noise, by=NONSENSE_ERRORS
    )
    ends = value < max(FREQUENT_ENDS * was, was + MORE_ENDS)
    return _alarm("nonsense", now, "nonsense", value, text, was), begins, ends


def _paid_nonsense(now: _Window, *, noise: float) -> _Finding:
    """Nonsense that gets more reward than the other responses of its group."""
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
    return _alarm("nonsense", now, "nonsense and reward", gain.value, text), begins, ends


def _alarm(
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
