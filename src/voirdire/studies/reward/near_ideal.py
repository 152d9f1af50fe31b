"""The best label against the next one: the comparisons that are hardest to get right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.studies.reward.ranking import per_prompt, wrongness
from voirdire.studies.reward.result import NearIdeal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.studies.reward.examined import Examined, ExaminedBehavior
    from voirdire.studies.reward.resampling import PromptResamples

__all__ = ["near_ideal"]


def near_ideal(examined: Examined, resamples: PromptResamples) -> tuple[NearIdeal, ...]:
    """Compare the completions of the best label with those of the next.

    Parameters
    ----------
    examined : Examined
        The comparisons.
    resamples : PromptResamples
        Of their prompts.

    Returns
    -------
    tuple of NearIdeal
        Per behavior, pair of labels and signal. The next label is the best of those that any
        comparison has against the best one; where several are equally good, each has its own.
    """
    places = []
    errors: list[NDArray[np.float64]] = []
    gaps: list[NDArray[np.float64]] = []
    counts: list[NDArray[np.float64]] = []
    n = examined.rated.n_prompts
    for row in examined.behaviors:
        for best, following, chosen in _nearest(examined, row):
            prompts = row.prompts[chosen]
            for signal, reward in examined.rated.signals.items():
                high, low = reward[row.better[chosen]], reward[row.worse[chosen]]
                places.append((row.behavior, signal, best, following))
                errors.append(per_prompt(prompts, wrongness(high, low)[0], n_prompts=n))
                gaps.append(per_prompt(prompts, high - low, n_prompts=n))
                counts.append(per_prompt(prompts, None, n_prompts=n))
    if not places:
        return ()
    totals = np.stack(counts, axis=1)
    rates = resamples.estimates(np.stack(errors, axis=1), totals)
    means = resamples.estimates(np.stack(gaps, axis=1), totals, is_share=False)
    return tuple(
        NearIdeal(
            behavior=behavior,
            signal=signal,
            best=best,
            next=following,
            error_rate=rate,
            mean_gap=gap,
        )
        for (behavior, signal, best, following), rate, gap in zip(places, rates, means, strict=True)
    )


def _nearest(examined: Examined, row: ExaminedBehavior) -> list[tuple[str, str, NDArray[np.int64]]]:
    """Find the comparisons of each best label with each label of the next level that has any."""
    high, low = examined.labels[row.better], examined.labels[row.worse]
    for level in row.order.levels[1:]:
        found = [
            (best, following, np.flatnonzero((high == best) & (low == following)))
            for best in row.order.best
            for following in level
        ]
        kept = [each for each in found if each[2].size]
        if kept:
            return kept
    return []
