"""Accuracy on a benchmark of chosen and rejected responses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire.errors import NoDataError
from voirdire.rewards.prompt_hash import prompt_hash
from voirdire.studies.reward.given_responses import (
    base_reward,
    judge_responses,
    numbered,
    read_responses,
)
from voirdire.studies.reward.ranking import per_prompt, wrongness
from voirdire.studies.reward.rated_items import rate_items
from voirdire.studies.reward.resampling import PromptResamples
from voirdire.studies.reward.result import BenchSubset, RateEstimate
from voirdire.studies.reward.reward_facts import HeldOut, held_out_items

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire.judging import JudgingProgress
    from voirdire.records import Dropped, Item
    from voirdire.rewards.model import RewardModel
    from voirdire.studies.reward.result import Signal

__all__ = ["BenchCheck", "check_bench"]

_SIDES = ("chosen", "rejected")


@dataclass(frozen=True, kw_only=True)
class BenchCheck:
    """What the reward makes of a benchmark.

    Attributes
    ----------
    subsets : tuple of BenchSubset
        All pairs, the mean over subsets where there are several, then each subset by name.
    n_pairs : int
        Pairs of the file.
    n_missing : int
        Pairs of which a side has no reward; they are in no accuracy.
    n_without_behavior : int
        How many of these have no behavior, so that no weights apply.
    worst_case : float
        Accuracy of the total reward if each missing pair was wrong, in [0, 1].
    dropped : tuple of Dropped
        Rows and responses that were set aside.
    lacks_base : bool
        Whether the reward was fitted beside a base reward, and the pairs have none.
    held_out : HeldOut or None
        Whether the prompts of the accuracies were used in the fit; None where nobody looked.
    """

    subsets: tuple[BenchSubset, ...]
    n_pairs: int
    n_missing: int
    n_without_behavior: int
    worst_case: float
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    lacks_base: bool = False
    held_out: HeldOut | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pairs:
    """Places of the two sides of each pair, its prompt, and its subset."""

    chosen: NDArray[np.int64]
    rejected: NDArray[np.int64]
    prompts: NDArray[np.int64]
    subsets: NDArray[np.object_]


def check_bench(
    bench: Any,
    reward: RewardModel,
    *,
    resampling: Mapping[str, Any],
    verdicts: Any = None,
    judge: Any = None,
    behavior: str | None = None,
    store: str | Path | None = None,
    judging: Callable[[JudgingProgress], None] | None = None,
) -> BenchCheck:
    """Compare the rewards of chosen and rejected responses.

    Parameters
    ----------
    bench : path, binary file, data frame, or sequence of Item or of mapping
        Rows of `prompt`, `chosen`, `rejected`, with an optional `subset`. Base rewards are read
        from `chosen_base_reward` and `rejected_base_reward`.
    reward : RewardModel
        What is examined.
    resampling : mapping of str to object
        The keywords of `PromptResamples`.
    verdicts, judge : optional
        As for `examine_reward`; verdicts are about the items ``<row>:chosen`` and
        ``<row>:rejected``.
    behavior : str, optional
        Of rows that have none.
    store : str or path, optional
        Where a language model's replies are kept.
    judging : callable, optional
        Told how far judging is.

    Returns
    -------
    BenchCheck
        Accuracies with intervals from resampling prompts.

    Raises
    ------
    NoDataError
        If no row has both a chosen and a rejected response.
    InputError
        If the file cannot be read.

    Notes
    -----
    Which weights apply is a matter of the row's behavior: its own, else the one that a router put
    into `routed_behavior`, else `behavior`, else the one that the verdicts name. A pair without
    one cannot be compared and counts as missing.
    """
    read = read_responses(bench, name="bench", reward=reward, behavior=None)
    items = [_with_behavior(item, behavior) for item in read.items]
    pairs = _pairs(items)
    if not pairs.chosen.size:
        msg = (
            f"`bench` must have rows with `chosen` and `rejected`, got {len(items)} items of "
            f"{read.source} without. Write a prompt and two responses into each row."
        )
        raise NoDataError(msg)
    found = judge_responses(
        items, reward, verdicts=verdicts, judge=judge, store=store, judging=judging
    )
    told = dict(zip(found.judged.items, found.judged.behaviors, strict=True))
    behaviors = [item.behavior or told.get(item.id) for item in items]
    rated = rate_items(
        items,
        reward,
        judged=found.judged,
        prompts=numbered(items, prompt_hash),
        behaviors=behaviors,
        base_rewards=np.array([_base(item) for item in items]),
        source=read.source,
    )
    known = rated.is_rated[pairs.chosen] & rated.is_rated[pairs.rejected]
    kept = _Pairs(**{name: getattr(pairs, name)[known] for name in _Pairs.__dataclass_fields__})
    subsets = _subsets(kept, rated.signals, PromptResamples(rated.n_prompts, **resampling))
    lost = np.flatnonzero(~known)
    without = sum(behaviors[place] is None for place in pairs.chosen[lost])
    total = next((row for row in subsets if row.subset is None and row.signal == "total"), None)
    right = 0.0 if total is None or not known.any() else total.accuracy.value * known.sum()
    return BenchCheck(
        subsets=tuple(subsets),
        n_pairs=int(known.size),
        n_missing=int(lost.size),
        n_without_behavior=without,
        worst_case=float(right / known.size),
        dropped=(*read.dropped, *rated.dropped),
        lacks_base=reward.uses_base and not rated.has_base,
        held_out=held_out_items(reward, (items[place] for place in kept.chosen.tolist())),
    )


def _with_behavior(item: Item, behavior: str | None) -> Item:
    if item.behavior is not None:
        return item
    routed = item.metadata.get("routed_behavior")
    chosen = routed if isinstance(routed, str) and routed else behavior
    return item if chosen is None else msgspec.structs.replace(item, behavior=chosen)


def _pairs(items: Sequence[Item]) -> _Pairs:
    """Find the two sides of each row by the group that reading has given them."""
    sides: dict[str, dict[str, int]] = {}
    for place, item in enumerate(items):
        side = item.metadata.get("preference")
        if side in _SIDES and item.group is not None:
            sides.setdefault(item.group, {})[side] = place
    whole = [both for both in sides.values() if len(both) == len(_SIDES)]
    chosen = np.array([both["chosen"] for both in whole], dtype=np.int64)
    subsets = [items[place].metadata.get("subset") for place in chosen.tolist()]
    return _Pairs(
        chosen=chosen,
        rejected=np.array([both["rejected"] for both in whole], dtype=np.int64),
        prompts=numbered(items, prompt_hash)[chosen],
        subsets=np.array([None if name is None else str(name) for name in subsets], dtype=object),
    )


def _base(item: Item) -> float:
    side = item.metadata.get("preference")
    return base_reward(item.metadata, f"{side}_base_reward", f"{side}_score")


def _subsets(
    pairs: _Pairs, signals: Mapping[Signal, NDArray[np.float64]], resamples: PromptResamples
) -> list[BenchSubset]:
    """Compute accuracies of all pairs, of each subset, and the mean over subsets."""
    names = sorted({name for name in pairs.subsets if name is not None})
    chosen = [np.ones(pairs.chosen.size, dtype=bool), *(pairs.subsets == name for name in names)]
    found: list[BenchSubset] = []
    for signal, rewards in signals.items():
        wrong, tied = wrongness(rewards[pairs.chosen], rewards[pairs.rejected])
        n = resamples.n_prompts
        tops = [per_prompt(pairs.prompts[rows], 1.0 - wrong[rows], n_prompts=n) for rows in chosen]
        counts = [per_prompt(pairs.prompts[rows], None, n_prompts=n) for rows in chosen]
        sums = np.stack(tops, axis=1), np.stack(counts, axis=1)
        rates = resamples.estimates(*sums)
        shares = [float(tied[rows].mean()) if rows.any() else float("nan") for rows in chosen]
        several = len(names) > 1
        mean = [_mean(rates, shares, sums, resamples, signal=signal)] if several else []
        rows = [
            BenchSubset(subset=name, signal=signal, accuracy=rate, tie_share=share)
            for name, rate, share in zip([None, *names], rates, shares, strict=True)
        ]
        found += [rows[0], *mean, *rows[1:]]
    return sorted(found, key=lambda row: _rank(row.subset))


def _mean(
    rates: Sequence[RateEstimate],
    shares: Sequence[float],
    sums: tuple[NDArray[np.float64], NDArray[np.float64]],
    resamples: PromptResamples,
    *,
    signal: Signal,
) -> BenchSubset:
    """Average over subsets, each as weighty as the others; so in every resample."""
    drawn = resamples.ratios(sums[0][:, 1:], sums[1][:, 1:])
    known = ~np.isnan(drawn)
    totals, counts = np.where(known, drawn, 0.0).sum(axis=1), known.sum(axis=1)
    means = np.divide(totals, counts, out=np.full(len(drawn), np.nan), where=counts > 0)
    lows, highs = resamples.interval(means[:, None], n_prompts=[rates[0].n_prompts])
    low, high = float(lows[0]), float(highs[0])
    value = float(np.mean([row.value for row in rates[1:]]))
    if resamples.n_resamples and value in (0.0, 1.0):  # no resample says otherwise
        reach = resamples.farthest([row.n_prompts for row in rates[1:]])
        low, high = (0.0, reach) if value == 0.0 else (1.0 - reach, 1.0)
    return BenchSubset(
        subset="*",
        signal=signal,
        accuracy=RateEstimate(
            value=value,
            low=low,
            high=high,
            n=rates[0].n,
            n_prompts=rates[0].n_prompts,
        ),
        tie_share=float(np.mean(shares[1:])),
    )


def _rank(subset: str | None) -> tuple[int, str]:
    return (0, "") if subset is None else (1 if subset == "*" else 2, subset)
