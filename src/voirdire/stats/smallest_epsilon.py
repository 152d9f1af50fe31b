"""The smallest margin at which each judge passes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire.stats.figures import compute_figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.stats.figures import TestSettings
    from voirdire.stats.outcome_sums import OutcomeSums

__all__ = ["smallest_epsilons"]

STEPS = 1_000
"""Margins are told apart to .001."""

_FANOUT = 10


def smallest_epsilons(parts: Sequence[OutcomeSums], settings: TestSettings) -> list[float | None]:
    """Search the margin from which on each judge passes.

    Parameters
    ----------
    parts : sequence of OutcomeSums
        Sums of shape (n_judges, n_annotators) that must pass together, such as with failures
        dropped and lost.
    settings : TestSettings
        What determines the test; its own margins are not used.

    Returns
    -------
    list of float or None
        Per judge a multiple of .001 in [0, 1); None where no margin below 1 is enough.

    Notes
    -----
    A larger margin makes no p-value of the t-test larger, so the search narrows by tens. There are
    two exceptions. With clusters and a multiplicative ε every margin is tried. An exact p-value
    can rise a little: there, the search by halves gives a margin at which the judge passes while
    it fails at .001 less, and once in a hundred tables a smaller one would do too.
    """
    found = [
        _search([part.judge(judge) for part in parts], settings)
        for judge in range(len(parts[0].n_units))
    ]
    return [None if step is None else step / STEPS for step in found]


def _search(parts: Sequence[OutcomeSums], settings: TestSettings) -> int | None:
    """Find the first passing step among 0 .. STEPS - 1, or None."""
    fanout = _fanout(settings)
    low, high = -1, STEPS  # low fails (or is nothing), high passes (or is nothing)
    while high - low > 1:
        stride = max(1, (high - low) // fanout)
        steps = np.arange(low + stride, high, stride)
        passed = _passing(parts, settings, steps)
        if passed.any():
            first = int(passed.argmax())
            high = int(steps[first])
            low = low if first == 0 else int(steps[first - 1])
        else:
            low = int(steps[-1])
    return None if high == STEPS else high


def _fanout(settings: TestSettings) -> int:
    if settings.method == "exact":
        return 2  # exact p-values are dear
    may_rise = settings.design == "clustered" and settings.mode == "multiplicative"
    return STEPS + 1 if may_rise else _FANOUT


def _passing(
    parts: Sequence[OutcomeSums], settings: TestSettings, steps: NDArray[np.int64]
) -> NDArray[np.bool_]:
    varied = replace(settings, epsilons=steps / STEPS)
    passed = np.ones(len(steps), dtype=np.bool_)
    for part in parts:
        passed &= compute_figures(part, varied).passed[0]
    return passed
