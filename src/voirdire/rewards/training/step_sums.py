"""Sums behind the figures of a step: those of several calls and processes add up exactly."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.rewards.training.run import TrainingStep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.rewards.live.live_scores import LiveScores
    from voirdire.rewards.live.turns import Turn
    from voirdire.rewards.model import RewardModel

__all__ = ["Spread", "StepSums", "Together", "group_of", "n_characters", "sums_of"]

_EQUAL = 1e-9
"""Rewards of a group that differ by less, as a share of their size, are taken for equal."""


@dataclass(slots=True)
class Spread:
    """Count, mean, squares about the mean, least and most of numbers."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    least: float = math.inf
    most: float = -math.inf

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Spread:
        """Take numbers, none of them nan."""
        if not values.size:
            return cls()
        mean = float(values.mean())
        return cls(
            n=int(values.size),
            mean=mean,
            squares=float(((values - mean) ** 2).sum()),
            least=float(values.min()),
            most=float(values.max()),
        )

    @classmethod
    def read(cls, values: Sequence[Any]) -> Spread:
        """Take what `told` gave."""
        n, mean, squares, least, most = values
        return cls(int(n), float(mean), float(squares), float(least), float(most))

    def told(self) -> list[float]:
        """Give plain numbers."""
        if not self.n:
            return [0, 0.0, 0.0, 0.0, 0.0]
        return [self.n, self.mean, self.squares, self.least, self.most]

    def add(self, other: Spread) -> None:
        """Add other numbers (Chan's formula, which loses no digits)."""
        if not other.n:
            return
        if not self.n:
            self.least, self.most = math.inf, -math.inf
        shift, n_before = other.mean - self.mean, self.n
        self.n += other.n
        self.mean += shift * other.n / self.n
        self.squares += other.squares + shift**2 * n_before * other.n / self.n
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)

    @property
    def known_mean(self) -> float:
        """Mean; nan of nothing."""
        return self.mean if self.n else math.nan

    @property
    def deviation(self) -> float:
        """Standard deviation with n - 1 degrees of freedom; nan of fewer than two."""
        if self.n < 2:
            return math.nan
        return 0.0 if self.least == self.most else math.sqrt(self.squares / (self.n - 1))


@dataclass(slots=True)
class Together:
    """Two numbers of each completion, and how they go together."""

    x: Spread = field(default_factory=Spread)
    y: Spread = field(default_factory=Spread)
    products: float = 0.0

    @classmethod
    def of(cls, x: NDArray[np.float64], y: NDArray[np.float64]) -> Together:
        """Take pairs of numbers, none of them nan."""
        first, second = Spread.of(x), Spread.of(y)
        products = float(((x - first.mean) * (y - second.mean)).sum())
        return cls(first, second, products)

    @classmethod
    def read(cls, values: Sequence[Any]) -> Together:
        """Take what `told` gave."""
        x, y, products = values
        return cls(Spread.read(x), Spread.read(y), float(products))

    def told(self) -> list[Any]:
        """Give plain numbers."""
        return [self.x.told(), self.y.told(), self.products]

    def add(self, other: Together) -> None:
        """Add other pairs."""
        n_before, n_other = self.x.n, other.x.n
        if n_other:
            share = n_before * n_other / (n_before + n_other)
            shifts = (other.x.mean - self.x.mean) * (other.y.mean - self.y.mean)
            self.products += other.products + (shifts * share if n_before else 0.0)
        self.x.add(other.x)
        self.y.add(other.y)

    @property
    def correlation(self) -> float:
        """Pearson's; nan where one of the two does not vary."""
        if self.x.n < 2 or self.x.least == self.x.most or self.y.least == self.y.most:
            return math.nan
        scale = math.sqrt(self.x.squares) * math.sqrt(self.y.squares)
        return max(-1.0, min(1.0, self.products / scale)) if scale > 0 else math.nan


@dataclass(slots=True)
class StepSums:
    """What a step comes to; sums of the same step may be added."""

    n: int = 0
    rewards: Spread = field(default_factory=Spread)
    rule: float = 0.0
    base: float = 0.0
    tokens: Spread = field(default_factory=Spread)
    characters: Spread = field(default_factory=Spread)
    by_tokens: Together = field(default_factory=Together)
    by_characters: Together = field(default_factory=Together)
    propositions: dict[str, tuple[int, float]] = field(default_factory=dict)
    classes: dict[str, tuple[int, list[float]]] = field(default_factory=dict)
    groups: dict[str, tuple[int, float, float]] = field(default_factory=dict)
    answered_by: dict[str, int] = field(default_factory=dict)

    def add(self, other: StepSums) -> None:
        """Add what another call or process counted in the same step."""
        self.n += other.n
        self.rule += other.rule
        self.base += other.base
        for name in ("rewards", "tokens", "characters", "by_tokens", "by_characters"):
            getattr(self, name).add(getattr(other, name))
        for name, (n, total) in other.propositions.items():
            n_before, before = self.propositions.get(name, (0, 0.0))
            self.propositions[name] = (n_before + n, before + total)
        for name, (n, totals) in other.classes.items():
            n_before, sums = self.classes.get(name, (0, [0.0] * len(totals)))
            added = [x + y for x, y in zip(sums, totals, strict=True)]
            self.classes[name] = (n_before + n, added)
        for name, (n, least, most) in other.groups.items():
            n_before, low, high = self.groups.get(name, (0, math.inf, -math.inf))
            self.groups[name] = (n_before + n, min(low, least), max(high, most))
        for name, n in other.answered_by.items():
            self.answered_by[name] = self.answered_by.get(name, 0) + n

    def told(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        told = {
            "n": self.n,
            "rewards": self.rewards.told(),
            "rule": self.rule,
            "base": self.base,
            "tokens": self.tokens.told(),
            "characters": self.characters.told(),
            "by_tokens": self.by_tokens.told(),
            "by_characters": self.by_characters.told(),
            "propositions": self.propositions,
            "classes": self.classes,
            "groups": self.groups,
        }
        return told | ({"answered_by": self.answered_by} if self.answered_by else {})

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> StepSums:
        """Take what `told` gave; a `KeyError`, `TypeError` or `ValueError` where it is damaged."""
        return cls(
            n=int(found["n"]),
            rewards=Spread.read(found["rewards"]),
            rule=float(found["rule"]),
            base=float(found["base"]),
            tokens=Spread.read(found["tokens"]),
            characters=Spread.read(found["characters"]),
            by_tokens=Together.read(found["by_tokens"]),
            by_characters=Together.read(found["by_characters"]),
            propositions={k: (int(n), float(x)) for k, (n, x) in found["propositions"].items()},
            classes={
                k: (int(n), [float(x) for x in sums]) for k, (n, sums) in found["classes"].items()
            },
            groups={k: (int(n), float(a), float(b)) for k, (n, a, b) in found["groups"].items()},
            answered_by={k: int(n) for k, n in found.get("answered_by", {}).items()},
        )

    @property
    def has_tokens(self) -> bool:
        """Whether the tokens of every completion are known."""
        return self.tokens.n == self.n

    def step(
        self,
        number: int,
        *,
        propositions: Sequence[str],
        classes: Mapping[str, Sequence[str]],
        by_tokens: bool,
        seconds: float = math.nan,
    ) -> TrainingStep:
        """Work the figures out.

        Parameters
        ----------
        number : int
            Of the step.
        propositions : sequence of str
            Those to give a rate of.
        classes : mapping of str to sequence of str
            By behavior.
        by_tokens : bool
            Whether lengths are counted in tokens, else in characters.
        seconds : float, optional
            Since the run began.

        Returns
        -------
        TrainingStep
            Without alarms.
        """
        n_rewards = self.rewards.n
        groups = [(low, high) for n, low, high in self.groups.values() if n > 1]
        n_flat = sum(_is_flat(low, high) for low, high in groups)
        length = self.tokens if by_tokens else self.characters
        together = self.by_tokens if by_tokens else self.by_characters
        return TrainingStep(
            step=number,
            n=self.n,
            reward_mean=self.rewards.known_mean,
            reward_sd=self.rewards.deviation,
            rule_mean=_ratio(self.rule, n_rewards),
            base_mean=_ratio(self.base, n_rewards),
            missing_share=_ratio(self.n - n_rewards, self.n),
            proposition_rates={
                name: _mean(self.propositions.get(name, (0, 0.0))) for name in propositions
            },
            class_shares={
                behavior: _shares(self.classes.get(behavior), names)
                for behavior, names in classes.items()
            },
            length_mean=length.known_mean,
            length_reward_correlation=together.correlation,
            zero_spread_share=_ratio(n_flat, len(groups)),
            n_missing=self.n - n_rewards,
            n_groups=len(groups),
            seconds=seconds,
            n_by_behavior={name: self.classes.get(name, (0, []))[0] for name in classes},
            answered_by={name: _ratio(n, self.n) for name, n in self.answered_by.items()},
        )


def sums_of(reward: RewardModel, scores: LiveScores, turns: Sequence[Turn]) -> StepSums:
    """Add up the completions of one call."""
    found = scores.scores
    known = np.isfinite(found.rewards)
    rewards = found.rewards[known]
    rule, base = found.rule_rewards[known], found.base_rewards[known]
    tokens = np.array([math.nan if t.n_tokens is None else t.n_tokens for t in turns], dtype=float)
    characters = np.array([n_characters(turn.response) for turn in turns], dtype=float)
    has_tokens = np.isfinite(tokens)
    both = known & has_tokens
    return StepSums(
        n=len(turns),
        rewards=Spread.of(rewards),
        rule=float(rule.sum()),
        base=float(base.sum()),
        tokens=Spread.of(tokens[has_tokens]),
        characters=Spread.of(characters),
        by_tokens=Together.of(tokens[both], found.rewards[both]),
        by_characters=Together.of(characters[known], rewards),
        propositions=_proposition_sums(scores),
        classes=_class_sums(reward, scores),
        groups=_group_sums(turns, found.rewards.tolist()),
        answered_by=dict(Counter(name for name in scores.answered_by or () if name is not None)),
    )


def n_characters(response: Any) -> int:
    """Count the characters of a response: text, or messages."""
    if isinstance(response, str):
        return len(response)
    if isinstance(response, dict):
        return n_characters(response.get("content", response.get("text")))
    if isinstance(response, list | tuple):
        return sum(n_characters(part) for part in response if isinstance(part, dict))
    return 0


def group_of(turn: Turn) -> str | None:
    """Name the group of a turn, in a few digits: what it says itself, else its prompt."""
    said = turn.group
    if said is None:
        prompt = turn.prompt
        if prompt is None or prompt in ("", [], ()):
            return None
        said = prompt if isinstance(prompt, str) else json.dumps(prompt, default=str)
        said = f"prompt {said}"
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _proposition_sums(scores: LiveScores) -> dict[str, tuple[int, float]]:
    values = scores.judged.probabilities
    known = np.isfinite(values)
    counts, totals = known.sum(axis=0), np.where(known, values, 0.0).sum(axis=0)
    pairs = zip(counts.tolist(), totals.tolist(), strict=True)
    return dict(zip(scores.judged.questions, pairs, strict=True))


def _class_sums(reward: RewardModel, scores: LiveScores) -> dict[str, tuple[int, list[float]]]:
    """Add up class probabilities, which are features; nothing else needs working out."""
    found: dict[str, tuple[int, list[float]]] = {}
    for behavior, features in scores.scores.features.items():
        n_classes = len(reward.rubric.behavior(behavior).classes)
        values = features[:, features.shape[1] - n_classes :]
        values = values[np.isfinite(values).all(axis=1)]
        found[behavior] = (len(values), values.sum(axis=0).tolist())
    return found


def _group_sums(
    turns: Sequence[Turn], rewards: Sequence[float]
) -> dict[str, tuple[int, float, float]]:
    found: dict[str, tuple[int, float, float]] = {}
    for turn, reward in zip(turns, rewards, strict=True):
        name = group_of(turn) if math.isfinite(reward) else None
        if name is not None:
            n, low, high = found.get(name, (0, reward, reward))
            found[name] = (n + 1, min(low, reward), max(high, reward))
    return found


def _is_flat(low: float, high: float) -> bool:
    return high - low <= _EQUAL * max(1.0, abs(low), abs(high))


def _ratio(total: float, n: int) -> float:
    return total / n if n else math.nan


def _mean(counted: tuple[int, float]) -> float:
    n, total = counted
    return _ratio(total, n)


def _shares(counted: tuple[int, list[float]] | None, names: Sequence[str]) -> dict[str, float]:
    if counted is None or len(counted[1]) != len(names):
        return dict.fromkeys(names, math.nan)
    n, totals = counted
    return {name: _ratio(total, n) for name, total in zip(names, totals, strict=True)}
