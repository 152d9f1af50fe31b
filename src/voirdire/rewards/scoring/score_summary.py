"""What a run of scoring came to."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from voirdire.documents import plain_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.judging import CallSummary, JudgingProgress
    from voirdire.records import Dropped

__all__ = ["BehaviorScores", "ScoreTally", "ScoringProgress", "ScoringSummary"]

_MOST_NAMED = 100
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
        plain: dict[str, Any] = plain_json(asdict(self))
        return plain | {"n_missing": self.n_missing}


class ScoreTally:
    """Adds up the rewards of a run, batch by batch, without keeping them."""

    def __init__(self) -> None:
        self.n_items = self.n_scored = 0
        self._missing: Counter[str] = Counter()
        self._figures: pl.DataFrame | None = None

    def add(self, frame: pl.DataFrame) -> None:
        """Take the table of a batch, as `reward_frame` makes it."""
        self.n_items += frame.height
        self.n_scored += frame["reward"].count()
        for reason, n_items in Counter(frame["missing"].drop_nulls()).items():
            is_known = reason in self._missing or len(self._missing) < _MOST_NAMED
            self._missing[reason if is_known else _OTHER] += n_items
        reward = pl.col("reward")
        parts = pl.col("rule_reward", "base_reward").filter(reward.is_not_null()).mean()
        figures = frame.group_by("behavior", maintain_order=True).agg(
            reward.len().cast(pl.Int64).alias("n_items"),
            reward.count().cast(pl.Int64).alias("n_scored"),
            reward.mean().alias("mean"),
            ((reward - reward.mean()) ** 2).sum().alias("squares"),
            reward.min().alias("minimum"),
            reward.max().alias("maximum"),
            parts.name.map(lambda name: f"mean_{name.removesuffix('_reward')}"),
        )
        known = self._figures
        self._figures = figures if known is None else _merge_figures(pl.concat([known, figures]))

    @property
    def missing(self) -> dict[str, int]:
        """Count the reasons, the most frequent first."""
        return dict(self._missing.most_common())

    def behaviors(self, order: tuple[str, ...]) -> tuple[BehaviorScores, ...]:
        """Give the figures of each behavior, those of the rubric first and in its order."""
        if self._figures is None:
            return ()
        n_scored = pl.col("n_scored")
        deviation = pl.when(n_scored > 1).then((pl.col("squares") / (n_scored - 1)).sqrt())
        table = self._figures.with_columns(deviation.alias("standard_deviation")).drop("squares")
        table = table.with_columns(cs.float().fill_null(math.nan))
        rows = {row["behavior"]: row for row in table.iter_rows(named=True)}
        others = sorted(rows.keys() - set(order), key=str)
        names = [*(name for name in order if name in rows), *others]
        return tuple(BehaviorScores(**rows[name]) for name in names)


def _merge_figures(parts: pl.DataFrame) -> pl.DataFrame:
    """Put the figures of batches together; squares about the mean lose no digits."""
    n_scored = pl.col("n_scored")
    means = pl.col("mean", "mean_rule", "mean_base")
    mean = (pl.col("mean") * n_scored).sum() / n_scored.sum()
    found = parts.group_by("behavior", maintain_order=True).agg(
        pl.col("n_items", "n_scored").sum(),
        (means * n_scored).sum() / n_scored.sum(),
        (pl.col("squares") + n_scored * (pl.col("mean") - mean) ** 2).sum(),
        pl.col("minimum").min(),
        pl.col("maximum").max(),
    )
    return found.select(parts.columns).head(_MOST_NAMED)  # of a hostile file each item has its own
