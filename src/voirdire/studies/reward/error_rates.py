"""How often each signal ranks a comparison the wrong way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from voirdire.studies.reward.ranking import per_prompt, wrongness
from voirdire.studies.reward.result import ErrorRate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.studies.reward.examined import Examined, ExaminedBehavior
    from voirdire.studies.reward.resampling import PromptResamples
    from voirdire.studies.reward.result import Signal

__all__ = ["error_rates"]

Against = Literal["all", "best"]
_AGAINST: tuple[Against, ...] = ("all", "best")


def error_rates(examined: Examined, resamples: PromptResamples) -> tuple[ErrorRate, ...]:
    """Compute the error rates of every signal, overall and per behavior.

    Parameters
    ----------
    examined : Examined
        The comparisons.
    resamples : PromptResamples
        Of their prompts.

    Returns
    -------
    tuple of ErrorRate
        All behaviors together first; all comparisons before those against the best.
    """
    places: list[tuple[str | None, Signal, Against]] = []
    sums: list[NDArray[np.float64]] = []
    for signal in examined.rated.signals:
        for against in _AGAINST:
            rows = [_sums(examined, row, signal, against) for row in examined.behaviors]
            places += [(None, signal, against)]
            places += [(row.behavior, signal, against) for row in examined.behaviors]
            sums += [np.sum(rows, axis=0), *rows] if rows else []
    if not sums:
        return ()
    # Per figure: sums of errors, of comparisons and of ties, by prompt.
    table = np.stack(sums, axis=2)
    estimates = resamples.estimates(table[0], table[1])
    n_tied = table[2].sum(axis=0)
    found = [
        ErrorRate(
            behavior=behavior,
            signal=signal,
            against=against,
            rate=rate,
            tie_share=float(tied) / rate.n if rate.n else float("nan"),
        )
        for (behavior, signal, against), rate, tied in zip(places, estimates, n_tied, strict=True)
    ]
    order = [None, *(row.behavior for row in examined.behaviors)]
    return tuple(sorted(found, key=lambda row: order.index(row.behavior)))


def _sums(
    examined: Examined, row: ExaminedBehavior, signal: Signal, against: Against
) -> NDArray[np.float64]:
    chosen = row.is_best if against == "best" else np.ones(row.better.size, dtype=bool)
    reward, n = examined.rated.signals[signal], examined.rated.n_prompts
    wrong, tied = wrongness(reward[row.better[chosen]], reward[row.worse[chosen]])
    prompts = row.prompts[chosen]
    return np.stack(
        [
            per_prompt(prompts, wrong, n_prompts=n),
            per_prompt(prompts, None, n_prompts=n),
            per_prompt(prompts, tied.astype(np.float64), n_prompts=n),
        ]
    )
