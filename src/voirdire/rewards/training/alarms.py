"""When something in a training run deserves a look: five alarms, each of which begins once.

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
by Fisher's z, the larger one of the first two. Ending takes more than not beginning, so that a
figure at the border does not ring at every other step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from voirdire.rewards.training.run import Alarm
from voirdire.rewards.training.windows import RunWindows, Window

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voirdire.rewards.training.run import AlarmKind, TrainingStep

__all__ = ["AlarmBell", "alarms_of"]

MISSING, MISSING_ENDS, MISSING_ERRORS, FEWEST_MISSING = 0.05, 0.025, 2.0, 5
SATURATED, SATURATED_ENDS, INSIDE = 0.98, 0.97, 0.95
FLAT, FLAT_ENDS, FEWEST_GROUPS = 0.9, 0.8, 10
DRIFT, DRIFT_ENDS = 0.2, 0.1
LONGER, LONGER_ENDS = 2.0, 1.75
PAID_BY_LENGTH, PAID_ENDS, FEWEST_PAIRS = 0.5, 0.4, 50
COLLAPSED, COLLAPSED_ENDS = 0.1, 0.15
ERRORS = 4.0


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
    bell = AlarmBell(paying=paying, reference=reference)
    return tuple(alarm for step in steps for alarm in bell.hear(step))


class AlarmBell:
    """Hears the steps of a run one after the other, and says what began.

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
        self._windows = RunWindows(reference)
        self._ringing: set[tuple[AlarmKind, str]] = set()

    def hear(self, step: TrainingStep) -> tuple[Alarm, ...]:
        """Take the next step; give the alarms that begin with it."""
        now, before = self._windows.take(step)
        found: list[Alarm] = []
        for alarm, is_on, is_off in self._findings(now, before):
            key = (alarm.kind, alarm.subject)
            if is_on and key not in self._ringing:
                self._ringing.add(key)
                found.append(alarm)
            elif is_off:
                self._ringing.discard(key)
        return tuple(found)

    def _findings(self, now: Window, before: Window | None) -> Iterator[_Finding]:
        yield from missing(now)
        if not now.is_full:
            return
        yield from flat_groups(now)
        yield from paid_by_length(now)
        if before is None:
            return
        yield from saturation(now, before, paying=self._paying, noise=self._windows.noise)
        yield from longer(now, before)
        yield from collapsed(now, self._windows.first)
        if self._windows.has_reference:
            yield from drift(now, before, noise=self._windows.noise)


_Finding = tuple[Alarm, bool, bool]
"""An alarm, whether it begins where it does not ring, and whether it ends where it does."""


def missing(now: Window) -> Iterator[_Finding]:
    """Rewards that are missing: each is a completion that nothing is learnt from."""
    share = now.missing_share
    error = math.sqrt(share * (1 - share) / now.n) if now.n else math.nan
    is_on = now.n - now.n_rewards >= FEWEST_MISSING and share - MISSING_ERRORS * error > MISSING
    text = f"{share:.0%} of the rewards are missing"
    yield (
        _alarm("missing", now, subject="reward", value=share, text=text),
        is_on,
        share < MISSING_ENDS,
    )


def saturation(
    now: Window, before: Window, *, paying: frozenset[str], noise: Mapping[str, float]
) -> Iterator[_Finding]:
    """Propositions that pay, and no longer tell responses apart."""
    for name in now.propositions:
        if name not in paying:
            continue
        value, was = now.rates[name], before.rates.get(name, math.nan)
        beyond = value > SATURATED or value < 1 - SATURATED
        inside = 1 - INSIDE <= was <= INSIDE and _is_apart(now, before, name, noise=noise)
        text = f"{name} is {value:.0%} true (before: {was:.0%}): it tells no responses apart"
        alarm = _alarm("saturation", now, subject=name, value=value, reference=was, text=text)
        yield alarm, beyond and inside, 1 - SATURATED_ENDS < value < SATURATED_ENDS


def flat_groups(now: Window) -> Iterator[_Finding]:
    """Find groups whose rewards are all equal: nothing is learnt from them."""
    share = now.flat_share
    text = f"{share:.0%} of the groups have rewards that are all equal: no signal is left"
    alarm = _alarm("saturation", now, subject="groups", value=share, text=text)
    yield alarm, now.n_groups >= FEWEST_GROUPS and share >= FLAT, share < FLAT_ENDS


def drift(now: Window, before: Window, *, noise: Mapping[str, float]) -> Iterator[_Finding]:
    """Answers unlike those of the reference run."""
    for name in now.subjects:
        value, was = now.rates[name], before.rates.get(name, math.nan)
        apart = abs(value - was)
        is_on = apart > DRIFT and _is_apart(now, before, name, noise=noise)
        text = f"{name} is {value:.0%} (reference run: {was:.0%})"
        alarm = _alarm("drift", now, subject=name, value=value, reference=was, text=text)
        yield alarm, is_on, apart < DRIFT_ENDS


def _is_apart(now: Window, before: Window, name: str, *, noise: Mapping[str, float]) -> bool:
    """Tell whether two rates differ by more than chance would have it."""
    apart = abs(now.rates[name] - before.rates.get(name, math.nan))
    alone = noise.get(name, math.nan)
    return apart > ERRORS * math.hypot(_error(now, name, alone), _error(before, name, alone))


def _error(window: Window, name: str, noise: float) -> float:
    """Give the standard error of a rate, no less than single steps of the reference run say."""
    own = window.errors.get(name, math.nan)
    return float(np.fmax(own, noise / math.sqrt(max(window.n_counted.get(name, 0), 1))))


def longer(now: Window, before: Window) -> Iterator[_Finding]:
    """Responses that grow."""
    value, was = now.length, before.length
    text = f"responses have a length of {value:,.0f} (before: {was:,.0f})"
    alarm = _alarm("length", now, subject="length", value=value, reference=was, text=text)
    error = math.hypot(now.length_error, before.length_error)
    is_on = value > LONGER * was and value - was > ERRORS * error
    yield alarm, is_on, value < LONGER_ENDS * was


def paid_by_length(now: Window) -> Iterator[_Finding]:
    """Rewards that go with length; by step, so that learning over time does not count."""
    value = now.length_correlation
    text = f"length and reward correlate by {value:.2f}: the reward may pay for length"
    alarm = _alarm("length", now, subject="length and reward", value=value, text=text)
    z, error = now.length_z
    is_on = now.n_rewards >= FEWEST_PAIRS and value >= PAID_BY_LENGTH and z > ERRORS * error
    yield alarm, is_on, value < PAID_ENDS


def collapsed(now: Window, first: Window) -> Iterator[_Finding]:
    """Rewards that no longer differ."""
    value, was = now.deviation, first.deviation
    text = f"rewards differ by {value:.2g} (standard deviation; in the beginning {was:.2g})"
    alarm = _alarm("spread", now, subject="reward", value=value, reference=was, text=text)
    yield alarm, value < COLLAPSED * was, value > COLLAPSED_ENDS * was


def _alarm(
    kind: AlarmKind,
    now: Window,
    *,
    subject: str,
    value: float,
    text: str,
    reference: float = np.nan,
) -> Alarm:
    return Alarm(
        kind=kind, step=now.last, subject=subject, value=value, reference=reference, text=text
    )
