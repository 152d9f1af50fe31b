"""How often a reward ranks comparisons the wrong way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.studies.reward.resampling import compute_mean
from voirdire.studies.reward.result import ErrorRate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.studies.reward.resampling import Column, PromptResamples
    from voirdire.studies.reward.responses import RatedComparisons

__all__ = ["TIE", "compute_error_rates", "find_errors"]

TIE = 1e-9
"""Rewards closer than this, relative to the larger of them where it is above 1, tie: sums of the
same features in another order differ by rounding."""


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
