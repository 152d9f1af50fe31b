"""The result of a replay: figures by step and behavior, and the order within groups."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire.documents import plain_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from voirdire.rewards.scoring.scores import Scores

__all__ = ["GroupRanks", "Replay", "ReplayEstimate", "ReplayPart", "ReplayTally"]

_MOST_REASONS = 100
_EQUAL = 1e-9
"""Rewards that differ by less, as a share of their size, are taken for equal."""


@dataclass(frozen=True, kw_only=True)
class GroupRanks:
    """The order within groups under two rewards.

    Attributes
    ----------
    n_groups : int
        Groups with two or more completions that have both rewards.
    n_pairs : int
        Pairs of completions of one group that have both rewards.
    n_same, n_reversed : int
        Pairs that both rewards put in the same order, and in opposite ones.
    n_tied_before, n_tied_after, n_tied_both : int
        Pairs that are equal under the first reward alone, the second alone, and both.
    same_order_share : float
        `n_same` over the pairs that one reward or the other parts; nan where there are none.
    best_changed_share : float
        Share of the groups in which no completion that was best is best; nan without groups.
    """

    n_groups: int
    n_pairs: int
    n_same: int
    n_reversed: int
    n_tied_before: int
    n_tied_after: int
    n_tied_both: int
    same_order_share: float
    best_changed_share: float


@dataclass(frozen=True, kw_only=True)
class ReplayPart:
    """A step or a behavior under the run's reward and under the other one.

    Attributes
    ----------
    step : int or None
        None where it is a behavior.
    behavior : str or None
        None where it is a step, or completions have none.
    n : int
        Completions.
    n_before, n_after : int
        Those of them with a reward in the run, and in the replay.
    mean_before, mean_after : float
        Mean reward over these; nan where there are none.
    sd_before, sd_after : float
        Standard deviation; nan of fewer than two.
    correlation : float
        Of the two rewards where both are there; nan where one does not vary.
    ranks : GroupRanks
        How the order within groups changed.
    """

    step: int | None = None
    behavior: str | None = None
    n: int
    n_before: int
    n_after: int
    mean_before: float
    mean_after: float
    sd_before: float
    sd_after: float
    correlation: float
    ranks: GroupRanks


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A training run's completions under another reward.

    Attributes
    ----------
    run : str
        Its folder.
    reward_before, hash_before : str
        Name and content hash of the reward that paid.
    reward, reward_hash : str
        Of the other one.
    judge : str
        Whose verdicts were used.
    n : int
        Completions.
    n_before, n_after : int
        Those of them with a reward in the run, and in the replay.
    n_reused : int
        Completions whose verdicts were those of the run.
    n_judged : int
        Different completions that were judged anew.
    missing : mapping of str to int
        Why the others have no reward; the most frequent reason first.
    whole : ReplayPart
        All completions together.
    steps : tuple of ReplayPart
        In their order.
    behaviors : tuple of ReplayPart
        In the order in which they appear.
    output : str or None
        The file of rewards.
    notes : tuple of str
        What the reader should know.
    dropped : tuple of str
        Parts of the run that could not be read, and why.
    """

    run: str
    reward_before: str
    hash_before: str
    reward: str
    reward_hash: str
    judge: str
    n: int
    n_before: int
    n_after: int
    n_reused: int
    n_judged: int
    missing: Mapping[str, int]
    whole: ReplayPart
    steps: tuple[ReplayPart, ...] = field(repr=False)
    behaviors: tuple[ReplayPart, ...]
    output: str | None = None
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Give plain values for JSON; nan becomes None."""
        plain: dict[str, Any] = plain_json(asdict(self))
        return plain


@dataclass(frozen=True, kw_only=True)
class ReplayEstimate:
    """What a replay would judge and call.

    Attributes
    ----------
    n : int
        Completions.
    n_reused : int
        Those whose verdicts the run has.
    n_to_judge : int
        Different completions that would be judged; 0 where nobody would be asked.
    n_unjudged : int
        Completions that would have no verdict, since nobody would be asked.
    n_calls, n_stored : int
        Calls to a language model, and those whose replies are stored already.
    cost : float or None
        US dollars, about; None where no price is known.
    notes : tuple of str
        What the reader should know.
    """

    n: int
    n_reused: int
    n_to_judge: int
    n_unjudged: int
    n_calls: int = 0
    n_stored: int = 0
    cost: float | None = None
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        return asdict(self)


class ReplayTally:
    """Adds up a replay batch by batch: a few numbers per completion, no texts."""

    def __init__(self) -> None:
        self._batches = [pl.DataFrame(schema=_SCHEMA)]
        self._missing: Counter[str] = Counter()

    def add(self, frame: pl.DataFrame, scores: Scores) -> None:
        """Take a batch of completions, and their rewards in the replay."""
        after = pl.Series(scores.rewards).fill_nan(None)
        rows = frame.select("step", "group", "behavior", before="reward", after=after)
        self._batches.append(rows.cast(_SCHEMA))  # type: ignore[arg-type]  # names to types
        for reason, n in Counter(scores.missing.values()).items():
            is_known = reason in self._missing or len(self._missing) < _MOST_REASONS
            self._missing[reason if is_known else "other reasons"] += n

    @property
    def missing(self) -> dict[str, int]:
        """Count the reasons, the most frequent first."""
        return dict(self._missing.most_common())

    def parts(self) -> tuple[ReplayPart, tuple[ReplayPart, ...], tuple[ReplayPart, ...]]:
        """Give the figures of all, of each step, and of each behavior."""
        rows = pl.concat(self._batches)
        steps, step_orders = _figures_by("step", rows.sort("step", maintain_order=True))
        behaviors, behavior_orders = _figures_by("behavior", rows)
        [whole] = rows.select(**_FIGURES).to_dicts()
        return (
            _part(whole, step_orders.sum(axis=0)),  # a group lies within a step
            tuple(map(_part, steps, step_orders)),
            tuple(map(_part, behaviors, behavior_orders)),
        )


_SCHEMA = {
    "step": pl.Int64,
    "group": pl.String,
    "behavior": pl.String,
    "before": pl.Float64,
    "after": pl.Float64,
}
_BOTH = pl.col("before").is_not_null() & pl.col("after").is_not_null()
_X, _Y = pl.col("before").filter(_BOTH), pl.col("after").filter(_BOTH)
_FIGURES = {
    "n": pl.len(),
    **{f"n_{name}": pl.col(name).count() for name in ("before", "after")},
    **{f"mean_{name}": pl.col(name).mean() for name in ("before", "after")},
    **{f"sd_{name}": pl.col(name).std() for name in ("before", "after")},
    "correlation": pl.when(_X.min() < _X.max(), _Y.min() < _Y.max()).then(
        pl.corr(_X, _Y).clip(-1.0, 1.0)
    ),
}


def _figures_by(name: str, rows: pl.DataFrame) -> tuple[list[dict[str, Any]], NDArray[np.int64]]:
    """Give the figures of each step or behavior as they appear, and its orders within groups."""
    figures = rows.group_by(name, maintain_order=True).agg(**_FIGURES)
    numbers = figures.select(name).with_row_index("part")
    pairs = (
        rows.filter(_BOTH, pl.col("group").is_not_null())
        .join(numbers, on=name, nulls_equal=True, maintain_order="left")
        .sort("part", "step", "group", maintain_order=True)
    )
    orders = count_orders(
        pairs["before"].to_numpy(),
        pairs["after"].to_numpy(),
        groups=pairs.select(pl.struct("part", "step", "group").rle_id()).to_series().to_numpy(),
        parts=pairs["part"].to_numpy(),
        n_parts=figures.height,
    )
    return figures.to_dicts(), orders


def _part(figures: dict[str, Any], orders: NDArray[np.int64]) -> ReplayPart:
    numbers: dict[str, Any] = {
        name: math.nan if figures[name] is None else figures[name] for name in _FIGURES
    }
    return ReplayPart(
        step=figures.get("step"),
        behavior=figures.get("behavior"),
        ranks=_group_ranks(*orders.tolist()),
        **numbers,
    )


# The order within groups ------------------------------------------------------------------------

_KINDS = np.array([[0, 3, 1], [2, 4, 2], [1, 3, 0]])
"""By the sign of both differences of a pair: same order, reversed, tied in the first reward, in
the second, in both."""


def count_orders(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    *,
    groups: NDArray[Any],
    parts: NDArray[Any],
    n_parts: int,
) -> NDArray[np.int64]:
    """Count pairs and groups by part, whose rows lie together as those of each group do.

    Gives a row for each part: pairs by their kind, groups of two or more, and those of them in
    which no completion that was best is best.
    """
    found = np.zeros((n_parts, 7), dtype=np.int64)
    if not groups.size:
        return found
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    sizes = np.diff(np.r_[starts, groups.size])
    first, second = _ranks(before, groups), _ranks(after, groups)
    ends, rows, distance = np.repeat(starts + sizes, sizes), np.arange(groups.size), 1
    while (rows := rows[rows + distance < ends[rows]]).size:  # with the next, the one after, …
        signs = [np.sign(ranks[rows] - ranks[rows + distance]) + 1 for ranks in (first, second)]
        codes = parts[rows] * 5 + _KINDS[signs[0], signs[1]]
        found[:, :5] += np.bincount(codes, minlength=n_parts * 5).reshape(n_parts, 5)
        distance += 1
    is_best = [
        ranks == np.repeat(np.maximum.reduceat(ranks, starts), sizes) for ranks in (first, second)
    ]
    is_changed = ~np.logical_or.reduceat(is_best[0] & is_best[1], starts)
    found[:, 5] = np.bincount(parts[starts[sizes > 1]], minlength=n_parts)
    found[:, 6] = np.bincount(parts[starts[(sizes > 1) & is_changed]], minlength=n_parts)
    return found


def _ranks(values: NDArray[np.float64], groups: NDArray[Any]) -> NDArray[np.int64]:
    """Replace values by whole numbers that compare as they do within a group."""
    order = np.lexsort((values, groups))
    ordered = values[order]
    is_more = np.diff(ordered) > _EQUAL * np.maximum(1.0, np.abs(ordered[1:]))
    found = np.empty(values.size, dtype=np.int64)
    found[order] = np.cumsum(np.r_[0, is_more | (groups[1:] != groups[:-1])])
    return found


def _group_ranks(
    same: int, turned: int, before: int, after: int, both: int, n_groups: int, n_changed: int
) -> GroupRanks:
    parted = same + turned + before + after
    return GroupRanks(
        n_groups=n_groups,
        n_pairs=parted + both,
        n_same=same,
        n_reversed=turned,
        n_tied_before=before,
        n_tied_after=after,
        n_tied_both=both,
        same_order_share=same / parted if parted else math.nan,
        best_changed_share=n_changed / n_groups if n_groups else math.nan,
    )
