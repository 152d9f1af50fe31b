"""What a replay came to, and how its figures add up."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.rewards.training.group_ranks import GroupRanks, ranks_of
from voirdire.rewards.training.lines import without_nan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.rewards.scoring.scores import Scores
    from voirdire.rewards.training.completions_reading import Completion

__all__ = ["Replay", "ReplayEstimate", "ReplayPart", "ReplayTally"]

_MOST_REASONS = 100


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
        Lines that could not be read, and why.
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
        plain: dict[str, Any] = without_nan(asdict(self))
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
        self._steps: list[NDArray[np.int64]] = []
        self._groups: list[NDArray[np.int64]] = []
        self._behaviors: list[NDArray[np.int64]] = []
        self._before: list[NDArray[np.float64]] = []
        self._after: list[NDArray[np.float64]] = []
        self._group_codes: dict[tuple[int, str], int] = {}
        self._behavior_codes: dict[str | None, int] = {}
        self._missing: Counter[str] = Counter()

    def add(self, rows: Sequence[Completion], scores: Scores) -> None:
        """Take a batch."""
        groups, behaviors = self._group_codes, self._behavior_codes
        self._steps.append(np.array([row.step for row in rows], dtype=np.int64))
        self._groups.append(
            np.array(
                [
                    -1
                    if row.group is None
                    else groups.setdefault((row.step, row.group), len(groups))
                    for row in rows
                ],
                dtype=np.int64,
            )
        )
        used = [behaviors.setdefault(row.behavior, len(behaviors)) for row in rows]
        self._behaviors.append(np.array(used, dtype=np.int64))
        before = [math.nan if row.reward is None else row.reward for row in rows]
        self._before.append(np.array(before, dtype=np.float64))
        self._after.append(scores.rewards)
        for reason in scores.missing.values():
            is_known = reason in self._missing or len(self._missing) < _MOST_REASONS
            self._missing[reason if is_known else "other reasons"] += 1

    @property
    def missing(self) -> dict[str, int]:
        """Count the reasons, the most frequent first."""
        return dict(self._missing.most_common())

    def parts(self) -> tuple[ReplayPart, tuple[ReplayPart, ...], tuple[ReplayPart, ...]]:
        """Give the figures of all, of each step, and of each behavior."""
        steps, groups = _joined(self._steps, np.int64), _joined(self._groups, np.int64)
        behaviors = _joined(self._behaviors, np.int64)
        before, after = _joined(self._before, np.float64), _joined(self._after, np.float64)

        def part(rows: NDArray[np.int64] | slice, **which: Any) -> ReplayPart:
            return _part(before[rows], after[rows], groups[rows], **which)

        of_steps = [part(rows, step=code) for code, rows in _rows_by(steps)]
        names = list(self._behavior_codes)
        of_behaviors = [part(rows, behavior=names[code]) for code, rows in _rows_by(behaviors)]
        return part(slice(None)), tuple(of_steps), tuple(of_behaviors)


def _part(
    before: NDArray[np.float64], after: NDArray[np.float64], groups: NDArray[np.int64], **which: Any
) -> ReplayPart:
    old, new = before[~np.isnan(before)], after[~np.isnan(after)]
    return ReplayPart(
        n=before.size,
        n_before=old.size,
        n_after=new.size,
        mean_before=_mean(old),
        mean_after=_mean(new),
        sd_before=_deviation(old),
        sd_after=_deviation(new),
        correlation=_correlation(before, after),
        ranks=ranks_of(before, after, groups),
        **which,
    )


def _rows_by(codes: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int64]]]:
    """Find the rows of each code, codes in their order."""
    order = np.argsort(codes, kind="stable")
    found, starts = np.unique(codes[order], return_index=True)
    return list(zip(found.tolist(), np.split(order, starts[1:]), strict=True)) if codes.size else []


def _joined(parts: Sequence[NDArray[Any]], kind: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=kind), *parts])


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if values.size else math.nan


def _deviation(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) if values.size > 1 else math.nan


def _correlation(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    both = ~(np.isnan(before) | np.isnan(after))
    x, y = before[both], after[both]
    if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return float(np.corrcoef(x, y)[0, 1])
