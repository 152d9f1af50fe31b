"""Steps of a run taken together: what alarms look at, and what they hold it against."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.rewards.training.run import TrainingStep

__all__ = ["WINDOW", "RunWindows", "Window"]

WINDOW = 10
"""Steps that are looked at together."""

_MOST_R = 1 - 1e-6
"""What a correlation of 1 counts as, whose z is infinite."""

_FEWEST_SAME = 5
"""Steps of a reference run that must be at the same place, for it not to be taken whole."""


class Window:
    """Figures over steps that follow each other.

    Rates are by proposition, and by class as ``behavior/class``.
    """

    def __init__(self, steps: Sequence[TrainingStep]) -> None:
        self.steps = tuple(steps)
        self.propositions = tuple(steps[-1].proposition_rates) if steps else ()
        classes = steps[-1].class_shares if steps else {}
        self.subjects = (
            *self.propositions,
            *(f"{behavior}/{name}" for behavior, shares in classes.items() for name in shares),
        )

    @property
    def is_full(self) -> bool:
        """Whether there are as many steps as a window has."""
        return len(self.steps) >= WINDOW

    @property
    def last(self) -> int:
        """Number of the last step."""
        return self.steps[-1].step

    @cached_property
    def n(self) -> int:
        """Completions."""
        return sum(step.n for step in self.steps)

    @cached_property
    def n_rewards(self) -> int:
        """Completions with a reward."""
        return sum(step.n - step.n_missing for step in self.steps)

    @cached_property
    def missing_share(self) -> float:
        """Share of the completions without a reward."""
        return 1 - self.n_rewards / self.n if self.n else math.nan

    @cached_property
    def n_groups(self) -> int:
        """Groups of two or more rewards."""
        return sum(step.n_groups for step in self.steps)

    @cached_property
    def flat_share(self) -> float:
        """Share of the groups whose rewards are all equal."""
        return _mean([s.zero_spread_share for s in self.steps], [s.n_groups for s in self.steps])

    @cached_property
    def length(self) -> float:
        """Mean length."""
        return _mean([s.length_mean for s in self.steps], [s.n for s in self.steps])

    @cached_property
    def length_correlation(self) -> float:
        """Mean correlation of length and reward within steps, by Fisher's z."""
        return math.tanh(self.length_z[0])

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the rewards within steps."""
        squares = [s.reward_sd**2 for s in self.steps]
        return math.sqrt(_mean(squares, [max(s.n - s.n_missing - 1, 0) for s in self.steps]))

    @cached_property
    def rates(self) -> dict[str, float]:
        """Mean probability by subject."""
        return dict(zip(self.subjects, self._means.tolist(), strict=True))

    @cached_property
    def errors(self) -> dict[str, float]:
        """Standard error of each rate; see `alarms`."""
        means, weights = self._means, self._weights
        with np.errstate(invalid="ignore", divide="ignore"):
            alone = np.sqrt(means * (1 - means) / weights.sum(axis=0))
        found = np.fmax(alone, _steps_error(self._values, weights))
        return dict(zip(self.subjects, found.tolist(), strict=True))

    @cached_property
    def n_counted(self) -> dict[str, int]:
        """Steps in which each rate is known."""
        return dict(zip(self.subjects, (self._weights > 0).sum(axis=0).tolist(), strict=True))

    @cached_property
    def length_error(self) -> float:
        """Standard error of the mean length; see `alarms`."""
        return _error_of([s.length_mean for s in self.steps], [s.n for s in self.steps])

    @cached_property
    def length_z(self) -> tuple[float, float]:
        """Fisher's z of the correlation of length and reward, and its standard error."""
        values = [s.length_reward_correlation for s in self.steps]
        z = [math.atanh(_MOST_R * _in_range(value)) for value in values]
        weights = [max(s.n - s.n_missing - 3, 0) for s in self.steps]
        n_pairs = sum(w for x, w in zip(z, weights, strict=True) if not math.isnan(x))
        alone = 1 / math.sqrt(n_pairs) if n_pairs else math.nan
        return _mean(z, weights), float(np.fmax(alone, _error_of(z, weights)))

    @cached_property
    def step_noise(self) -> dict[str, float]:
        """Standard deviation of each rate from step to step, whatever way it goes over time."""
        found = {}
        for name, values in zip(self.subjects, self._values.T, strict=True):
            known = values[~np.isnan(values)]  # a behavior need not be in every step
            is_enough = known.size >= WINDOW
            found[name] = math.sqrt((np.diff(known) ** 2).mean() / 2) if is_enough else math.nan
        return found

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        return np.array([_row(step, self.subjects) for step in self.steps]).reshape(
            len(self.steps), len(self.subjects)
        )

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        sizes = np.array([_sizes(step, self.subjects) for step in self.steps], dtype=np.float64)
        return np.where(np.isnan(self._values), 0.0, sizes.reshape(self._values.shape))

    @cached_property
    def _means(self) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore"):
            total = self._weights.sum(axis=0)
            return np.asarray((self._weights * np.nan_to_num(self._values)).sum(axis=0) / total)


class RunWindows:
    """The latest window of a run, and the one that it is held against."""

    def __init__(self, reference: Sequence[TrainingStep] | None) -> None:
        self._reference = None if reference is None else tuple(reference)
        self._whole = None if self._reference is None else Window(self._reference)
        self._places = [step.step for step in self._reference or ()]
        self._latest: deque[TrainingStep] = deque(maxlen=WINDOW)
        self._n_steps = 0
        self.first = Window(())

    @property
    def has_reference(self) -> bool:
        """Whether there is a reference run with steps."""
        return bool(self._reference)

    def take(self, step: TrainingStep) -> tuple[Window, Window | None]:
        """Take the next step; give the window that ends with it, and what came before."""
        self._latest.append(step)
        self._n_steps += 1
        now = Window(tuple(self._latest))
        if self._n_steps <= WINDOW:
            self.first = now
        if self.has_reference:
            return now, self._same_steps(now)
        return now, self.first if self._n_steps >= 2 * WINDOW else None

    @property
    def noise(self) -> dict[str, float]:
        """How much rates of the reference run differ from step to step."""
        return {} if self._whole is None else self._whole.step_noise

    def _same_steps(self, now: Window) -> Window | None:
        reference = self._reference or ()
        low, high = now.steps[0].step, now.last
        same = reference[bisect_left(self._places, low) : bisect_right(self._places, high)]
        return Window(same) if len(same) >= _FEWEST_SAME else self._whole


def _row(step: TrainingStep, subjects: Sequence[str]) -> list[float]:
    found = dict(step.proposition_rates)
    for behavior, shares in step.class_shares.items():
        found |= {f"{behavior}/{name}": share for name, share in shares.items()}
    return [found.get(name, math.nan) for name in subjects]


def _sizes(step: TrainingStep, subjects: Sequence[str]) -> list[int]:
    """Count the completions behind each rate: those of a class are of one behavior."""
    found = dict.fromkeys(step.proposition_rates, step.n)
    for behavior, shares in step.class_shares.items():
        n = step.n_by_behavior.get(behavior, step.n)
        found |= {f"{behavior}/{name}": n for name in shares}
    return [found.get(name, 0) for name in subjects]


def _error_of(values: Sequence[float], weights: Sequence[int]) -> float:
    """Give the standard error of a mean over steps."""
    column = np.array(values, dtype=np.float64)[:, None]
    sizes = np.array(weights, dtype=np.float64)[:, None]
    return float(_steps_error(column, np.where(np.isnan(column), 0.0, sizes))[0])


def _steps_error(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the standard error of each column's mean by how its steps differ; nan of one step."""
    known = np.nan_to_num(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = weights.sum(axis=0)
        means = (weights * known).sum(axis=0) / total
        squares = (weights * (known - means) ** 2).sum(axis=0) / total
        return np.asarray(np.sqrt(squares / ((weights > 0).sum(axis=0) - 1)))


def _mean(values: Sequence[float], weights: Sequence[int]) -> float:
    pairs = [(x, w) for x, w in zip(values, weights, strict=True) if w and not math.isnan(x)]
    total = sum(w for _, w in pairs)
    return sum(x * w for x, w in pairs) / total if total else math.nan


def _in_range(correlation: float) -> float:
    return correlation if math.isnan(correlation) else max(-1.0, min(1.0, correlation))
