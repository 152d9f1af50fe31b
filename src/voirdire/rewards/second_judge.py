"""Where a second judge parts from the one that a model was trained with, step by step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

WINDOW = 10
"""Steps that are looked at together."""

_ERRORS = 4
_LEAST_SHARE = 0.2
"""Of the spread of the trained judge's rewards: a smaller gap is no finding."""


@dataclass(frozen=True, kw_only=True)
class JudgeParting:
    """The rewards by a second judge beside those that a model was trained with.

    Attributes
    ----------
    n : int
        Completions with both.
    correlation : float
        Pearson's, in [-1, 1]; nan where either does not vary.
    trained_first, trained_last : float
        Mean reward by the trained judge over the first and the last ten steps that are known.
    second_first, second_last : float
        The same by the second judge.
    step : int or None
        From which on the second judge lags behind; None where it does not.
    """

    n: int
    correlation: float
    trained_first: float
    trained_last: float
    second_first: float
    second_last: float
    step: int | None


def compare_judges(
    steps: Sequence[int], *, trained: ArrayLike, second: ArrayLike
) -> JudgeParting | None:
    r"""Compare the rewards of completions by two judges over the steps of a training.

    Parameters
    ----------
    steps : sequence of int
        Of each completion.
    trained, second : array_like of float, shape (n_completions,)
        Their rewards by the judge of the training and by another; nan where there is none.

    Returns
    -------
    JudgeParting or None
        None where no completion has both.

    Notes
    -----
    With the mean gap :math:`g_s` of a step, trained less second, the second judge lags behind from
    the first step on at which the mean of the last ten :math:`g_s` is above that of the first ten
    by more than four standard errors, :math:`\sqrt{(v_1 + v_2)/10}` with the variances over the
    steps, and by more than a fifth of the standard deviation of the trained judge's rewards. A gap
    that was there from the beginning is another scale, and no finding.
    """
    numbers, both = np.asarray(steps), np.array([trained, second], dtype=np.float64)
    is_known = np.isfinite(both).all(axis=0)
    numbers, both = numbers[is_known], both[:, is_known]
    if not numbers.size:
        return None
    known, places = np.unique(numbers, return_inverse=True)
    counts = np.bincount(places)
    means = np.array([np.bincount(places, row) / counts for row in both])
    spread = [float(row.std()) for row in both]
    products = np.prod([row - row.mean() for row in both], axis=0)
    size = min(WINDOW, max(1, known.size // 2))
    first = [float(row[:size].mean()) for row in means]
    last = [float(row[-size:].mean()) for row in means]
    return JudgeParting(
        n=int(numbers.size),
        correlation=float(products.mean()) / math.prod(spread) if min(spread) > 0 else math.nan,
        trained_first=first[0],
        trained_last=last[0],
        second_first=first[1],
        second_last=last[1],
        step=_find_lag(known, means[0] - means[1], least=_LEAST_SHARE * spread[0]),
    )


def _find_lag(steps: NDArray[np.int64], gaps: NDArray[np.float64], *, least: float) -> int | None:
    start = gaps[:WINDOW]
    for end in range(2 * WINDOW, gaps.size + 1):
        now = gaps[end - WINDOW : end]
        error = math.sqrt((start.var(ddof=1) + now.var(ddof=1)) / WINDOW)
        if now.mean() - start.mean() > max(least, _ERRORS * error):
            return int(steps[end - 1])
    return None
