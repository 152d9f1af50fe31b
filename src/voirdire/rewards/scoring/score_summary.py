"""What a run of scoring came to."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from voirdire.judging import CallSummary, JudgingProgress
    from voirdire.records import Dropped
    from voirdire.rewards.scoring.scores import Scores

__all__ = ["BehaviorScores", "ScoreTally", "ScoringProgress", "ScoringSummary"]

_MOST_REASONS = 100
_OTHER = "other reasons"


@dataclass(frozen=True, kw_only=True)
class BehaviorScores:
    """The rewards of one behavior.

    Attributes
    ----------
    behavior : str or None
        None for items without one.
    n_items, n_scored : int
        Its items, and those of them with a reward.
    mean, standard_deviation, minimum, maximum : float
        Of the rewards; nan where there are too few (the deviation needs two).
    mean_rule, mean_base : float
        Of the two parts, over the same items.
    """

    behavior: str | None
    n_items: int
    n_scored: int
    mean: float
    standard_deviation: float
    minimum: float
    maximum: float
    mean_rule: float
    mean_base: float


@dataclass(frozen=True, kw_only=True)
class ScoringProgress:
    """How far a run of scoring has come.

    Attributes
    ----------
    n_items : int
        Items that were scored, or that could not be.
    n_dropped : int
        Rows that were set aside.
    judging : JudgingProgress or None
        How judging goes, where it comes first.
    """

    n_items: int
    n_dropped: int
    judging: JudgingProgress | None = None


@dataclass(frozen=True, kw_only=True)
class ScoringSummary:
    """What was scored, how, and what came of it.

    Attributes
    ----------
    output : str
        The file of rewards; ``"-"`` for standard output.
    reward, reward_hash : str
        Name and content hash of the reward.
    rubric, rubric_version : str
        What was asked.
    judge, fingerprint : str
        Whose verdicts were used.
    n_items, n_scored : int
        Items, and those of them with a reward.
    missing : mapping of str to int
        Why the others have none; the most frequent reason first.
    behaviors : tuple of BehaviorScores
        In the order of the rubric; items without a behavior, or of an unknown one, last.
    is_centered : bool
        Whether each behavior's mean was taken off its rule rewards.
    n_dropped : int
        Rows of the source that are no items.
    dropped : tuple of Dropped
        The first of them.
    dropped_output : str or None
        The file that lists all of them.
    seconds, items_per_second : float
        How long it took, judging included.
    notes : tuple of str
        What the reader should know.
    calls : CallSummary or None
        What the calls came to, where a language model judged.
    """

    output: str
    reward: str
    reward_hash: str
    rubric: str
    rubric_version: str
    judge: str
    fingerprint: str
    n_items: int
    n_scored: int
    missing: Mapping[str, int] = field(default_factory=dict)
    behaviors: tuple[BehaviorScores, ...] = ()
    is_centered: bool = False
    n_dropped: int = 0
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    dropped_output: str | None = None
    seconds: float = math.nan
    items_per_second: float = math.nan
    notes: tuple[str, ...] = ()
    calls: CallSummary | None = None

    @property
    def n_missing(self) -> int:
        """Items without a reward."""
        return self.n_items - self.n_scored

    def as_dict(self) -> dict[str, Any]:
        """Give plain values for JSON; nan becomes None."""
        plain: dict[str, Any] = _without_nan(asdict(self))
        return plain | {"n_missing": self.n_missing}


class ScoreTally:
    """Adds up the scores of a run, batch by batch, without keeping them."""

    def __init__(self) -> None:
        self.n_items = 0
        self.n_scored = 0
        self._missing: Counter[str] = Counter()
        self._sums: dict[str | None, _Sums] = {}

    def add(self, scores: Scores) -> None:
        """Take a batch."""
        self.n_items += len(scores.items)
        self.n_scored += len(scores.items) - len(scores.missing)
        for reason in scores.missing.values():
            is_known = reason in self._missing or len(self._missing) < _MOST_REASONS
            self._missing[reason if is_known else _OTHER] += 1
        codes: dict[str | None, int] = {}
        numbers = [codes.setdefault(name, len(codes)) for name in scores.behaviors]
        array = np.array(numbers, dtype=np.int64)
        for behavior, code in codes.items():
            if behavior not in self._sums and len(self._sums) >= _MOST_REASONS:
                continue  # behaviors that no rubric has; the items are counted above
            sums = self._sums.setdefault(behavior, _Sums())
            sums.add(scores, np.flatnonzero(array == code))

    @property
    def missing(self) -> dict[str, int]:
        """Count the reasons, the most frequent first."""
        return dict(self._missing.most_common())

    def behaviors(self, order: tuple[str, ...]) -> tuple[BehaviorScores, ...]:
        """Give the figures of each behavior, those of the rubric first and in its order."""
        others = sorted((name for name in self._sums if name not in order), key=str)
        names = [*(name for name in order if name in self._sums), *others]
        return tuple(self._sums[name].figures(name) for name in names)


class _Sums:
    """Count, mean and squares of one behavior; squares about the mean, which lose no digits."""

    def __init__(self) -> None:
        self.n_items = self.n_scored = 0
        self.mean = self.squares = 0.0
        self.rule = self.base = 0.0
        self.least, self.most = math.inf, -math.inf

    def add(self, scores: Scores, rows: NDArray[np.int64]) -> None:
        rewards = scores.rewards[rows]
        known = ~np.isnan(rewards)
        self.n_items += rows.size
        found = rewards[known]
        if not found.size:
            return
        mean = float(found.mean())
        squares = float(((found - mean) ** 2).sum())
        n_before, n_now = self.n_scored, found.size
        shift = mean - self.mean
        self.n_scored = n_before + n_now
        self.squares += squares + shift**2 * n_before * n_now / self.n_scored
        self.mean += shift * n_now / self.n_scored
        self.rule += float(scores.rule_rewards[rows][known].sum())
        self.base += float(scores.base_rewards[rows][known].sum())
        self.least = min(self.least, float(found.min()))
        self.most = max(self.most, float(found.max()))

    def figures(self, behavior: str | None) -> BehaviorScores:
        n = self.n_scored
        return BehaviorScores(
            behavior=behavior,
            n_items=self.n_items,
            n_scored=n,
            mean=self.mean if n else math.nan,
            standard_deviation=math.sqrt(self.squares / (n - 1)) if n > 1 else math.nan,
            minimum=self.least if n else math.nan,
            maximum=self.most if n else math.nan,
            mean_rule=self.rule / n if n else math.nan,
            mean_base=self.base / n if n else math.nan,
        )


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return value
