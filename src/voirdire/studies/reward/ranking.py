"""How a reward ranks comparisons: errors, hard cases, the worst pairs, rewards by label, scales."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._validation import printable
from voirdire.rewards.scoring.scores import compute_contributions
from voirdire.studies.reward.responses import last_question
from voirdire.studies.reward.result import (
    BehaviorScale,
    ErrorRate,
    FeatureDifference,
    LabelHistogram,
    MisrankedPair,
    MisrankedSide,
    NearIdeal,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.studies.reward.comparisons import BehaviorComparisons, RatedComparisons
    from voirdire.studies.reward.resampling import PromptResamples
    from voirdire.studies.reward.result import Signal

__all__ = [
    "TIE",
    "behavior_scales",
    "error_rates",
    "label_histograms",
    "misranked_pairs",
    "near_ideal",
    "per_prompt",
    "prompts_without_best",
    "wrongness",
]

TIE = 1e-9
"""Rewards closer than this, relative to the larger of them where it is above 1, tie: sums of the
same features in another order differ by rounding."""

MOST_MISRANKED = 20
MOST_CHARACTERS = 2_000
_MOST_FEATURES = 3
_NAN = float("nan")

Against: TypeAlias = Literal["all", "best"]


def wrongness(
    better: NDArray[np.float64], worse: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Give 1 for each pair that is ranked the wrong way, a half for a tie, else 0; and the ties."""
    scale = np.maximum(1.0, np.maximum(np.abs(better), np.abs(worse)))
    tied = np.asarray(np.abs(better - worse) <= TIE * scale)
    return np.where(tied, 0.5, (better < worse).astype(np.float64)), tied


def per_prompt(
    prompts: NDArray[np.int64], values: NDArray[Any] | None, *, n_prompts: int
) -> NDArray[np.float64]:
    """Add up values, or count, by prompt."""
    return np.bincount(prompts, weights=values, minlength=n_prompts).astype(np.float64)


def error_rates(comparisons: RatedComparisons, resamples: PromptResamples) -> tuple[ErrorRate, ...]:
    """Compute how often every signal ranks the wrong way, overall and per behavior."""
    places: list[tuple[str | None, Signal, Against]] = []
    sums: list[NDArray[np.float64]] = []
    cases: tuple[Against, ...] = ("all", "best")
    for signal in comparisons.rated.signals:
        for against in cases:
            rows = [
                _sum_errors_by_prompt(comparisons, row, signal, against)
                for row in comparisons.behaviors
            ]
            places += [(None, signal, against)]
            places += [(row.behavior, signal, against) for row in comparisons.behaviors]
            sums += [np.sum(rows, axis=0), *rows] if rows else []
    if not sums:
        return ()
    table = np.stack(sums, axis=2)  # errors, comparisons and ties by prompt, for each figure
    rates = resamples.estimates(table[0], table[1])
    found = [
        ErrorRate(
            behavior=behavior,
            signal=signal,
            against=against,
            rate=rate,
            tie_share=float(tied) / rate.n if rate.n else _NAN,
        )
        for (behavior, signal, against), rate, tied in zip(
            places, rates, table[2].sum(axis=0), strict=True
        )
    ]
    order = [None, *(row.behavior for row in comparisons.behaviors)]
    return tuple(sorted(found, key=lambda row: order.index(row.behavior)))


def _sum_errors_by_prompt(
    comparisons: RatedComparisons, row: BehaviorComparisons, signal: Signal, against: Against
) -> NDArray[np.float64]:
    chosen = row.is_best if against == "best" else np.ones(row.better.size, dtype=bool)
    reward, n = comparisons.rated.signals[signal], comparisons.rated.n_prompts
    wrong, tied = wrongness(reward[row.better[chosen]], reward[row.worse[chosen]])
    prompts = row.prompts[chosen]
    return np.stack([per_prompt(prompts, each, n_prompts=n) for each in (wrong, None, tied)])


def near_ideal(comparisons: RatedComparisons, resamples: PromptResamples) -> tuple[NearIdeal, ...]:
    """Compare the completions of each best label with those of the next label that occurs."""
    places: list[dict[str, Any]] = []
    sums: list[list[NDArray[np.float64]]] = []  # errors, gaps and comparisons by prompt
    n = comparisons.rated.n_prompts
    for row in comparisons.behaviors:
        for best, following, chosen in _find_nearest(comparisons, row):
            for signal, reward in comparisons.rated.signals.items():
                high, low = reward[row.better[chosen]], reward[row.worse[chosen]]
                which = {"behavior": row.behavior, "signal": signal}
                places.append(which | {"best": best, "next": following})
                values = (wrongness(high, low)[0], high - low, None)
                sums.append([per_prompt(row.prompts[chosen], each, n_prompts=n) for each in values])
    if not places:
        return ()
    errors, gaps, counts = (np.stack(each, axis=1) for each in zip(*sums, strict=True))
    rates = resamples.estimates(errors, counts)
    means = resamples.estimates(gaps, counts, is_share=False)
    return tuple(
        NearIdeal(**place, error_rate=rate, mean_gap=gap)
        for place, rate, gap in zip(places, rates, means, strict=True)
    )


def _find_nearest(
    comparisons: RatedComparisons, row: BehaviorComparisons
) -> list[tuple[str, str, NDArray[np.int64]]]:
    """Find the comparisons of each best label with each label of the next level that has any."""
    high, low = comparisons.labels[row.better], comparisons.labels[row.worse]
    for level in row.order.levels[1:]:
        found = [
            (best, following, np.flatnonzero((high == best) & (low == following)))
            for best in row.order.best
            for following in level
        ]
        if kept := [each for each in found if each[2].size]:
            return kept
    return []


def misranked_pairs(comparisons: RatedComparisons, *, texts: bool) -> tuple[MisrankedPair, ...]:
    """Name the pairs of each behavior that the whole reward ranks the wrong way by most.

    At most twenty of a behavior; of pairs that are as wrong, those with the first ids.
    """
    items, reward = comparisons.rated.items, comparisons.rated.signals["total"]
    found = []
    for row in comparisons.behaviors:
        high, low = reward[row.better], reward[row.worse]
        gaps = low - high
        wrong = np.flatnonzero(wrongness(high, low)[0] == 1.0)
        if wrong.size > MOST_MISRANKED:
            least = np.partition(gaps[wrong], -MOST_MISRANKED)[-MOST_MISRANKED]
            wrong = wrong[gaps[wrong] >= least]
        worst = heapq.nsmallest(
            MOST_MISRANKED,
            wrong.tolist(),
            key=lambda k: (-gaps[k], items[row.better[k]].id, items[row.worse[k]].id),
        )
        found += [
            _describe_pair(comparisons, row, int(row.better[k]), int(row.worse[k]), texts=texts)
            for k in worst
        ]
    return tuple(found)


def _describe_pair(
    comparisons: RatedComparisons, row: BehaviorComparisons, better: int, worse: int, *, texts: bool
) -> MisrankedPair:
    prompt = last_question(comparisons.rated.items[better])
    sides = [_describe_side(comparisons, place, texts=texts) for place in (better, worse)]
    return MisrankedPair(
        behavior=row.behavior,
        prompt=_truncate(prompt) if texts else None,
        is_shortened=texts and len(prompt) > MOST_CHARACTERS,
        better=sides[0],
        worse=sides[1],
        difference=sides[1].reward - sides[0].reward,
        features=_find_causes(comparisons, row, better, worse),
    )


def _describe_side(comparisons: RatedComparisons, place: int, *, texts: bool) -> MisrankedSide:
    rated, item = comparisons.rated, comparisons.rated.items[place]
    return MisrankedSide(
        item=item.id,
        label=comparisons.labels[place],
        reward=float(rated.signals["total"][place]),
        base=float(rated.signals["base"][place]) if rated.has_base else _NAN,
        rules=float(rated.rules[place]),
        response=_truncate(item.response) if texts else None,
        is_shortened=texts and len(item.response) > MOST_CHARACTERS,
    )


def _find_causes(
    comparisons: RatedComparisons, row: BehaviorComparisons, better: int, worse: int
) -> tuple[FeatureDifference, ...]:
    """Find the features that pay most for the worse side; the first of those that pay alike."""
    features = comparisons.rated.features[row.behavior]
    paid = compute_contributions(features.at(np.array([better, worse])), features.weights)
    differences = paid[1] - paid[0]
    first = np.argsort(-differences, kind="stable")[:_MOST_FEATURES].tolist()
    return tuple(
        FeatureDifference(feature=features.names[k], difference=float(differences[k]))
        for k in first
        if differences[k] > 0
    )


def _truncate(text: str) -> str:
    whole = len(text) <= MOST_CHARACTERS
    return printable(text if whole else f"{text[: MOST_CHARACTERS - 1]}…")


def label_histograms(comparisons: RatedComparisons, *, n_bins: int) -> tuple[LabelHistogram, ...]:
    """Centre rewards on the best label's completions of their prompt, and count them by label.

    The base reward differs between prompts by far more than between the completions of one. What
    has no best completion has no centre, and is left out.
    """
    found: list[LabelHistogram] = []
    n, prompts = comparisons.rated.n_prompts, comparisons.rated.prompts
    for row in comparisons.behaviors:
        labelled, best, n_best = _find_best(comparisons, row)
        centred = labelled[n_best[prompts[labelled]] > 0]
        for signal, reward in comparisons.rated.signals.items():
            sums = per_prompt(prompts[best], reward[best], n_prompts=n)
            values = reward[centred] - sums[prompts[centred]] / n_best[prompts[centred]]
            edges = _choose_bin_edges(values, n_bins=n_bins) if values.size else None
            for label in row.order.labels:
                own = values[comparisons.labels[centred] == label]
                if edges is None or not own.size:
                    continue
                found.append(
                    LabelHistogram(
                        behavior=row.behavior,
                        signal=signal,
                        label=label,
                        edges=tuple(edges.tolist()),
                        counts=tuple(np.histogram(own, bins=edges)[0].tolist()),
                        mean=float(own.mean()),
                        standard_deviation=float(own.std()),
                    )
                )
    return tuple(found)


def prompts_without_best(comparisons: RatedComparisons) -> list[int]:
    """Find the prompts with labels, none of which is the best: they are in no histogram."""
    found: set[int] = set()
    for row in comparisons.behaviors:
        labelled, _, n_best = _find_best(comparisons, row)
        prompts = comparisons.rated.prompts[labelled]
        found |= set(prompts[n_best[prompts] == 0].tolist())
    return sorted(found)


def _find_best(
    comparisons: RatedComparisons, row: BehaviorComparisons
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Find the completions with a label, those with the best, and how many of these by prompt."""
    labelled = row.rows[np.array([x is not None for x in comparisons.labels[row.rows]], dtype=bool)]
    best = labelled[np.isin(comparisons.labels[labelled].astype(str), row.order.best)]
    rated = comparisons.rated
    return labelled, best, per_prompt(rated.prompts[best], None, n_prompts=rated.n_prompts)


def _choose_bin_edges(values: NDArray[np.float64], *, n_bins: int) -> NDArray[np.float64]:
    """Give bins from the lowest value to the highest; values that tie get bins around them."""
    low, high = float(values.min()), float(values.max())
    if high - low <= TIE * max(1.0, abs(low), abs(high)):
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, n_bins + 1)


def behavior_scales(comparisons: RatedComparisons) -> tuple[BehaviorScale, ...]:
    """Describe the rule rewards of every behavior.

    A fit looks at differences within prompts only, so that every behavior has an origin of its
    own: the same number may be a good response under one and a bad one under another. The worst
    label is that of the lowest level that any completion has.
    """
    rated = comparisons.rated
    found = []
    for row in comparisons.behaviors:
        if not row.rows.size:
            continue
        rules = rated.rules[row.rows]
        levels = [rules[_is_labelled(comparisons, row, level)] for level in row.order.levels]
        labelled = [level for level in levels if level.size]
        found.append(
            BehaviorScale(
                behavior=row.behavior,
                n_items=int(row.rows.size),
                n_prompts=int(np.unique(rated.prompts[row.rows]).size),
                mean=float(rules.mean()),
                standard_deviation=float(rules.std()),
                lowest=float(rules.min()),
                highest=float(rules.max()),
                mean_ideal=float(levels[0].mean()) if levels[0].size else _NAN,
                mean_worst=float(labelled[-1].mean()) if len(labelled) > 1 else _NAN,
                base_standard_deviation=(
                    float(rated.signals["base"][row.rows].std()) if rated.has_base else _NAN
                ),
            )
        )
    return tuple(found)


def _is_labelled(
    comparisons: RatedComparisons, row: BehaviorComparisons, level: Sequence[str]
) -> NDArray[np.bool_]:
    return np.array([label in level for label in comparisons.labels[row.rows]], dtype=bool)
