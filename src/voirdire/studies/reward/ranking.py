"""How a reward ranks comparisons: errors, hard cases, the worst pairs, rewards by label, scales."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import printable
from voirdire.rewards.scoring.scores import compute_contributions
from voirdire.studies.reward.resampling import compute_mean, sum_by_prompt
from voirdire.studies.reward.responses import get_last_question
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

    from voirdire.studies.reward.resampling import Column, PromptResamples
    from voirdire.studies.reward.responses import BehaviorComparisons, RatedComparisons

__all__ = [
    "TIE",
    "compare_near_ideal",
    "compute_error_rates",
    "describe_scales",
    "find_errors",
    "find_prompts_without_best",
    "list_misranked_pairs",
    "make_histograms",
]

TIE = 1e-9
"""Rewards closer than this, relative to the larger of them where it is above 1, tie: sums of the
same features in another order differ by rounding."""

MOST_MISRANKED = 20
MOST_CHARACTERS = 2_000
_MOST_FEATURES = 3
_NAN = float("nan")


def find_errors(
    better: NDArray[np.float64], worse: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Give 1 for each pair that is ranked the wrong way, a half for a tie, else 0; and the ties."""
    scale = np.maximum(1.0, np.maximum(np.abs(better), np.abs(worse)))
    is_tie = np.asarray(np.abs(better - worse) <= TIE * scale)
    return np.where(is_tie, 0.5, (better < worse).astype(np.float64)), is_tie


def compute_error_rates(
    comparisons: RatedComparisons, resamples: PromptResamples
) -> tuple[ErrorRate, ...]:
    """Compute how often every signal ranks the wrong way, overall and per behavior."""
    places: list[dict[str, Any]] = []
    columns: list[Column] = []
    rows = comparisons.behaviors
    groups = [(None, rows), *((row.behavior, (row,)) for row in rows)] if rows else []
    for behavior, group in groups:
        better, worse, prompts, is_best = (
            np.concatenate([getattr(row, name) for row in group])
            for name in ("better", "worse", "prompts", "is_best")
        )
        for signal, reward in comparisons.rated.signals.items():
            errors, is_tie = find_errors(reward[better], reward[worse])
            for against, kept in (("all", slice(None)), ("best", is_best)):
                tie_share = compute_mean(is_tie[kept])
                place = {"behavior": behavior, "signal": signal, "against": against}
                places.append(place | {"tie_share": tie_share})
                columns.append((prompts[kept], errors[kept]))
    rates = resamples.estimate_means(columns)
    return tuple(ErrorRate(**place, rate=rate) for place, rate in zip(places, rates, strict=True))


def compare_near_ideal(
    comparisons: RatedComparisons, resamples: PromptResamples
) -> tuple[NearIdeal, ...]:
    """Compare the completions of each best label with those of the next label that occurs."""
    places: list[dict[str, Any]] = []
    errors: list[Column] = []
    gaps: list[Column] = []
    for row in comparisons.behaviors:
        for best, following, chosen in _find_nearest(comparisons, row):
            prompts = row.prompts[chosen]
            for signal, reward in comparisons.rated.signals.items():
                high, low = reward[row.better[chosen]], reward[row.worse[chosen]]
                place = {"behavior": row.behavior, "signal": signal}
                places.append(place | {"best": best, "next": following})
                errors.append((prompts, find_errors(high, low)[0]))
                gaps.append((prompts, high - low))
    rates = resamples.estimate_means(errors)
    means = resamples.estimate_means(gaps, is_share=False)
    return tuple(
        NearIdeal(**place, error_rate=rate, mean_gap=mean)
        for place, rate, mean in zip(places, rates, means, strict=True)
    )


def _find_nearest(
    comparisons: RatedComparisons, row: BehaviorComparisons
) -> list[tuple[str, str, NDArray[np.int64]]]:
    """Find the comparisons of each best label with each label of the next level that has any."""
    high, low = comparisons.labels[row.better], comparisons.labels[row.worse]
    for level in row.order.levels[1:]:
        pairs = [
            (best, following, np.flatnonzero((high == best) & (low == following)))
            for best in row.order.best
            for following in level
        ]
        if kept := [each for each in pairs if each[2].size]:
            return kept
    return []


def list_misranked_pairs(
    comparisons: RatedComparisons, *, texts: bool
) -> tuple[MisrankedPair, ...]:
    """Name the pairs of each behavior that the whole reward ranks the wrong way by most.

    At most twenty of a behavior; of pairs that are as wrong, those with the first ids.
    """
    items, reward = comparisons.rated.items, comparisons.rated.signals["total"]
    pairs = []
    for row in comparisons.behaviors:
        high, low = reward[row.better], reward[row.worse]
        gaps = low - high
        wrong = np.flatnonzero(find_errors(high, low)[0] == 1.0)
        if wrong.size > MOST_MISRANKED:
            least = np.partition(gaps[wrong], -MOST_MISRANKED)[-MOST_MISRANKED]
            wrong = wrong[gaps[wrong] >= least]
        worst = sorted(
            wrong.tolist(),
            key=lambda k: (-gaps[k], items[row.better[k]].id, items[row.worse[k]].id),
        )
        pairs += [
            _describe_pair(comparisons, row, int(row.better[k]), int(row.worse[k]), texts=texts)
            for k in worst[:MOST_MISRANKED]
        ]
    return tuple(pairs)


def _describe_pair(
    comparisons: RatedComparisons, row: BehaviorComparisons, better: int, worse: int, *, texts: bool
) -> MisrankedPair:
    prompt = get_last_question(comparisons.rated.items[better])
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
    paid = compute_contributions(features.select(np.array([better, worse])), features.weights)
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


def make_histograms(comparisons: RatedComparisons, *, n_bins: int) -> tuple[LabelHistogram, ...]:
    """Centre rewards on the best label's completions of their prompt, and count them by label.

    The base reward differs between prompts by far more than between the completions of one. What
    has no best completion has no centre, and is left out.
    """
    histograms: list[LabelHistogram] = []
    n, prompts = comparisons.rated.n_prompts, comparisons.rated.prompts
    for row in comparisons.behaviors:
        labelled, best, n_best = _find_best(comparisons, row)
        centred = labelled[n_best[prompts[labelled]] > 0]
        for signal, reward in comparisons.rated.signals.items():
            sums = sum_by_prompt(prompts[best], reward[best], n_prompts=n)
            values = reward[centred] - sums[prompts[centred]] / n_best[prompts[centred]]
            edges = _choose_bin_edges(values, n_bins=n_bins) if values.size else None
            for label in row.order.labels:
                chosen = values[comparisons.labels[centred] == label]
                if edges is None or not chosen.size:
                    continue
                histograms.append(
                    LabelHistogram(
                        behavior=row.behavior,
                        signal=signal,
                        label=label,
                        edges=tuple(edges.tolist()),
                        counts=tuple(np.histogram(chosen, bins=edges)[0].tolist()),
                        mean=float(chosen.mean()),
                        standard_deviation=float(chosen.std()),
                    )
                )
    return tuple(histograms)


def find_prompts_without_best(comparisons: RatedComparisons) -> list[int]:
    """Find the prompts with labels, none of which is the best: they are in no histogram."""
    without: set[int] = set()
    for row in comparisons.behaviors:
        labelled, _, n_best = _find_best(comparisons, row)
        prompts = comparisons.rated.prompts[labelled]
        without |= set(prompts[n_best[prompts] == 0].tolist())
    return sorted(without)


def _find_best(
    comparisons: RatedComparisons, row: BehaviorComparisons
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Find the completions with a label, those with the best, and how many of these by prompt."""
    labelled = row.rows[[label is not None for label in comparisons.labels[row.rows]]]
    best = labelled[_is_among(comparisons.labels[labelled], row.order.best)]
    rated = comparisons.rated
    return labelled, best, sum_by_prompt(rated.prompts[best], None, n_prompts=rated.n_prompts)


def _choose_bin_edges(values: NDArray[np.float64], *, n_bins: int) -> NDArray[np.float64]:
    """Give bins from the lowest value to the highest; values that tie get bins around them."""
    low, high = float(values.min()), float(values.max())
    if high - low <= TIE * max(1.0, abs(low), abs(high)):
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, n_bins + 1)


def describe_scales(comparisons: RatedComparisons) -> tuple[BehaviorScale, ...]:
    """Describe the rule rewards of every behavior.

    A fit looks at differences within prompts only, so that every behavior has an origin of its
    own: the same number may be a good response under one and a bad one under another. The worst
    label is that of the lowest level that any completion has.
    """
    rated = comparisons.rated
    scales = []
    for row in comparisons.behaviors:
        if not row.rows.size:
            continue
        rules = rated.rules[row.rows]
        levels = [
            rules[_is_among(comparisons.labels[row.rows], level)] for level in row.order.levels
        ]
        labelled = [level for level in levels if level.size]
        scales.append(
            BehaviorScale(
                behavior=row.behavior,
                n_items=int(row.rows.size),
                n_prompts=int(np.unique(rated.prompts[row.rows]).size),
                mean=float(rules.mean()),
                standard_deviation=float(rules.std()),
                lowest=float(rules.min()),
                highest=float(rules.max()),
                mean_ideal=compute_mean(levels[0]),
                mean_worst=float(labelled[-1].mean()) if len(labelled) > 1 else _NAN,
                base_standard_deviation=(
                    float(rated.signals["base"][row.rows].std()) if rated.has_base else _NAN
                ),
            )
        )
    return tuple(scales)


def _is_among(labels: NDArray[np.object_], names: Sequence[str]) -> NDArray[np.bool_]:
    return np.array([label in names for label in labels], dtype=bool)
