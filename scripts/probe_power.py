"""How often a probe finds a bias: the table of docs/guides/biased-judge.md.

A judge's probabilities lie anywhere between .1 and .9 and come with noise of .05 between two
askings; a bias moves one of three questions, by its size on average and by .1 more or less from
item to item. Where a judge only says yes or no, the bias turns so many of its answers to yes, and
noise turns three in a hundred either way. A probe is one of 24, the only one with a bias: it is
found where twice its p-value is at most .05 / 24, as Benjamini and Hochberg ask of the smallest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.stats import measure_change

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Answers = Callable[[np.random.Generator, int, float], list[NDArray[np.float64]]]

N_RUNS, N_SWAPS = 400, 9_999
LEVEL = 0.05 / 24 / 2


def probabilities(
    draws: np.random.Generator, n_items: int, bias: float
) -> list[NDArray[np.float64]]:
    """Answer two versions of items with probabilities."""
    true = draws.uniform(0.1, 0.9, (n_items, 3))
    moved = true.copy()
    moved[:, 0] += draws.normal(bias, 0.1 if bias else 0.0, n_items)
    return [np.clip(x + draws.normal(0, 0.05, x.shape), 0, 1) for x in (true, moved)]


def labels(draws: np.random.Generator, n_items: int, bias: float) -> list[NDArray[np.float64]]:
    """Answer two versions of items with yes or no."""
    true = draws.random((n_items, 3)) < 0.5
    moved = true.copy()
    moved[:, 0] |= draws.random(n_items) < 2 * bias  # half of them say yes already
    return [(x ^ (draws.random(x.shape) < 0.03)).astype(float) for x in (true, moved)]


def share_found(answers: Answers, n_items: int, bias: float) -> float:
    """Say in how many of the studies the bias is found."""
    draws = np.random.default_rng([n_items, int(1_000 * bias)])
    found = 0
    for run in range(N_RUNS):
        before, after = answers(draws, n_items, bias)
        result = measure_change(before, after, n_swaps=N_SWAPS, rng=run)
        found += result.p_value <= LEVEL
    return found / N_RUNS


if __name__ == "__main__":
    print("answers        bias     50    100    200 items")
    for name, answers in (("probabilities", probabilities), ("yes or no", labels)):
        for bias in (0.0, 0.05, 0.1):
            row = [share_found(answers, n, bias) for n in (50, 100, 200)]
            print(f"{name:<14} {bias:.2f} " + " ".join(f"{x:6.3f}" for x in row))
