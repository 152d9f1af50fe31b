"""Accuracy on a benchmark of chosen and rejected responses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import NoDataError
from voirdire.studies.reward.notes import note
from voirdire.studies.reward.ranking import per_prompt, wrongness
from voirdire.studies.reward.resampling import PromptResamples
from voirdire.studies.reward.responses import (
    Part,
    find_held_out,
    judge_responses,
    rate_items,
    read_base_reward,
    read_responses,
)
from voirdire.studies.reward.result import BenchSubset, RateEstimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Item
    from voirdire.studies.reward.responses import ExaminationRequest, Responses
    from voirdire.studies.reward.result import RewardNote, Signal

__all__ = ["check_bench"]

_SIDES = ("chosen", "rejected")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pairs:
    """Places of the two sides of each pair, its prompt, and its subset."""

    chosen: NDArray[np.int64]
    rejected: NDArray[np.int64]
    prompts: NDArray[np.int64]
    subsets: NDArray[np.object_]


def check_bench(bench: Any, request: ExaminationRequest, verdicts: Any) -> Part:
    """Compare the rewards of chosen and rejected responses.

    Which weights apply is a matter of the row's behavior: its own, else that of the request, else
    the one that the verdicts name. A pair without one cannot be compared and counts as missing.
    Verdicts are about the items ``<row>:chosen`` and ``<row>:rejected``.
    """
    reward = request.reward
    read = read_responses(bench, request, name="bench", base_of=_read_base)
    items, pairs = read.items, _find_pairs(read)
    if not pairs.chosen.size:
        msg = (
            f"`bench` must have rows with `chosen` and `rejected`, got {len(items)} items of "
            f"{read.source} without. Write a prompt and two responses into each row."
        )
        raise NoDataError(msg)
    judged = judge_responses(items, request, verdicts)
    theirs = dict(zip(judged.items, judged.behaviors, strict=True))
    behaviors = [item.behavior or theirs.get(item.id) for item in items]
    rated = rate_items(replace(read, behaviors=behaviors), reward, judged)
    known = rated.is_rated[pairs.chosen] & rated.is_rated[pairs.rejected]
    kept = _Pairs(**{name: getattr(pairs, name)[known] for name in _Pairs.__dataclass_fields__})
    resamples = PromptResamples(rated.n_prompts, request.settings)
    subsets = _estimate_subsets(kept, rated.signals, resamples)
    seen = find_held_out(reward, (items[place] for place in kept.chosen.tolist()))
    notes = seen.notes("bench_seen_prompts")
    if reward.uses_base and not rated.has_base:
        notes.append(note("bench_base_missing"))
    lost = pairs.chosen[~known]
    n_without = sum(behaviors[place] is None for place in lost.tolist())
    notes += _note_missing(subsets, known, n_without=n_without)
    return Part(
        figures={"bench": tuple(subsets)},
        notes=notes,
        dropped=(*read.dropped, *rated.dropped),
        settings={},
    )


def _note_missing(
    subsets: Sequence[BenchSubset], known: NDArray[np.bool_], *, n_without: int
) -> list[RewardNote]:
    """Say what the accuracy of the total reward would be if each missing pair was wrong."""
    if known.all():
        return []
    total = next(row for row in subsets if row.subset is None and row.signal == "total")
    right = total.accuracy.value * known.sum() if known.any() else 0.0
    why = f" ({n_without:,} have no behavior, so that no weights apply)" if n_without else ""
    return [
        note(
            "bench_missing",
            words={"why": why},
            n_missing=int((~known).sum()),
            n_pairs=int(known.size),
            n_without_behavior=n_without,
            worst_case=float(right / known.size),
        )
    ]


def _find_pairs(read: Responses) -> _Pairs:
    """Find the two sides of each row by the group that reading has given them."""
    items, sides = read.items, dict[str, dict[str, int]]()
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
        prompts=read.prompts[chosen],
        subsets=np.array([None if name is None else str(name) for name in subsets], dtype=object),
    )


def _read_base(item: Item) -> float:
    side = item.metadata.get("preference")
    return read_base_reward(item.metadata, f"{side}_base_reward", f"{side}_score")


def _estimate_subsets(
    pairs: _Pairs, signals: Mapping[Signal, NDArray[np.float64]], resamples: PromptResamples
) -> list[BenchSubset]:
    """Compute accuracies of all pairs, the mean over subsets where there are several, and each."""
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
        found += [
            BenchSubset(subset=name, signal=signal, accuracy=rate, tie_share=share)
            for name, rate, share in zip([None, *names], rates, shares, strict=True)
        ]
        if len(names) > 1:
            mean, share = _average_subsets(rates, sums, resamples), float(np.mean(shares[1:]))
            found.append(BenchSubset(subset="*", signal=signal, accuracy=mean, tie_share=share))
    places = {None: 0, "*": 1}
    return sorted(found, key=lambda row: (places.get(row.subset, 2), row.subset or ""))


def _average_subsets(
    rates: Sequence[RateEstimate],
    sums: tuple[NDArray[np.float64], NDArray[np.float64]],
    resamples: PromptResamples,
) -> RateEstimate:
    """Average over subsets with equal weights, also in every resample."""
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
    return RateEstimate(value=value, low=low, high=high, n=rates[0].n, n_prompts=rates[0].n_prompts)
