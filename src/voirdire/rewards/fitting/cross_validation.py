"""λ and the held-out error rate: fitted on most prompts, looked at on the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire.rewards.fitting.weight_problem import WeightProblem

__all__ = ["L2_GRID", "CrossValidation", "cross_validate", "prompt_folds"]

L2_GRID = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Values of λ that are tried."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossValidation:
    """What fits on parts of the prompts say of the others.

    Attributes
    ----------
    l2 : float
        λ with the least held-out loss; of equal ones the largest.
    losses : dict of float to float
        Mean held-out loss of each λ, ascending.
    gain : ndarray of float, shape (n_pairs,)
        What a reward that was fitted without the prompt of a comparison puts its better one above
        its worse one, under a λ that its loss had no say in.
    """

    l2: float
    losses: dict[float, float]
    gain: NDArray[np.float64] = field(repr=False)


def prompt_folds(n_prompts: int, *, n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Deal prompts out into folds whose sizes differ by one at most.

    Parameters
    ----------
    n_prompts : int
        At least `n_folds`.
    n_folds : int
        At least 2.
    rng : numpy.random.Generator
        How they are dealt.

    Returns
    -------
    ndarray of int, shape (n_prompts,)
        The fold of each prompt, from 0.
    """
    folds: NDArray[np.int64] = rng.permutation(n_prompts) % n_folds
    return folds


def cross_validate(
    problem: WeightProblem,
    *,
    l2s: Sequence[float],
    folds: NDArray[np.int64],
    tell: Callable[[], None],
) -> CrossValidation:
    """Fit without each fold in turn, for each λ.

    Parameters
    ----------
    problem : WeightProblem
        All comparisons.
    l2s : sequence of float
        Values of λ, at least one.
    folds : ndarray of int, shape (n_prompts,)
        The fold of each prompt.
    tell : callable
        Called after each fit.

    Returns
    -------
    CrossValidation
        The λ with the least loss, and the comparisons as seen by fits without them.

    Notes
    -----
    A fold's comparisons are looked at under the λ that the *other* folds' losses choose: an error
    rate under the λ that did best on the very same comparisons would be too low. The fits behind
    these losses have seen the fold, as one of those they were made on; leaving it out of them too
    would take another round of fits for each fold, and tells no difference: in simulation the error
    rate is that of new prompts, or a little above, since each fit is on fewer prompts.
    """
    n_folds = int(folds.max()) + 1
    of_pair = folds[problem.data.prompts]
    order = sorted(l2s, reverse=True)
    gains = np.empty((len(order), problem.data.n_pairs))
    sums = np.zeros((len(order), n_folds))
    for fold in range(n_folds):
        held, trained = of_pair == fold, (folds != fold).astype(np.int64)
        weights = None
        for row, l2 in enumerate(order):
            weights = problem.solve_part(l2, trained, start=weights)
            gains[row, held] = problem.gain(weights)[held]
            sums[row, fold] = problem.weight[held] @ problem.losses(weights)[held]
            tell()
    others = sums.sum(axis=1, keepdims=True) - sums
    chosen = np.array([_least(others[:, fold]) for fold in range(n_folds)])
    totals = sums.sum(axis=1)
    return CrossValidation(
        l2=order[_least(totals)],
        losses={l2: float(total) for l2, total in sorted(zip(order, totals, strict=True))},
        gain=gains[chosen[of_pair], np.arange(of_pair.size)],
    )


def _least(losses: NDArray[np.float64]) -> int:
    """Find the first loss that is the least one but for what a solver leaves open."""
    return int(np.flatnonzero(losses <= losses.min() * (1 + 1e-9) + 1e-12)[0])
