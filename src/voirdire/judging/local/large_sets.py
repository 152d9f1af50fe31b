"""Classifiers of many items: one linear fit per question, without inner products of all pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from voirdire.judging.local.cues import CUE_SETS, CUES
from voirdire.judging.local.linear_weights import LinearWeights
from voirdire.judging.local.ngrams import BLOCKS, N_COLUMNS, columns_of_block
from voirdire.judging.local.recipes import RECIPES
from voirdire.stats import group_folds

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from voirdire.judging.local.training_set import TrainingSet

    Rows = NDArray[np.intp]

__all__ = ["LARGE_RECIPE", "fit_large", "scores_of_large"]

LARGE_RECIPE = "all"
_INTERCEPT = 4.0


def fit_large(training: TrainingSet, *, seed: int) -> LinearWeights:
    """Fit all questions on all items.

    Parameters
    ----------
    training : TrainingSet
        Any number of items; those that only inform count like the others.
    seed : int
        Of the order in which the solver visits items.

    Returns
    -------
    LinearWeights
        The cues have weights of their own in each language only through their intercepts.
    """
    matrix = _matrix(training)
    weights = LinearWeights.zeros(training.targets.shape[1])
    rows = np.arange(training.n_items)
    for question in range(training.targets.shape[1]):
        solution, intercept = _solve(matrix, training, rows=rows, question=question, seed=seed)
        solution = solution * _strengths()
        weights.ngrams[:, question] = solution[:N_COLUMNS]
        weights.cues[:, :, question] = solution[N_COLUMNS:]
        weights.intercepts[:, question] = intercept
    return weights


def scores_of_large(
    training: TrainingSet,
    *,
    n_folds: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float64]:
    """Score every item by classifiers that have not seen its group.

    Parameters
    ----------
    training : TrainingSet
        Any number of items.
    n_folds, seed : int
        How the groups are dealt out.
    progress : callable, optional
        Called with folds done and folds in all.

    Returns
    -------
    ndarray of float64, shape (n_items, n_questions)
        Log-odds.
    """
    matrix = _matrix(training)
    folds = group_folds(training.groups, n_folds=n_folds, seed=seed)
    n_questions = training.targets.shape[1]
    scores = np.empty((training.n_items, n_questions))
    for fold in range(n_folds):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        for question in range(n_questions):
            solution, intercept = _solve(matrix, training, rows=train, question=question, seed=seed)
            scores[test, question] = matrix[test] @ solution + intercept
        if progress is not None:
            progress(fold + 1, n_folds)
    return scores


def _strengths() -> NDArray[np.float64]:
    factors = np.zeros(N_COLUMNS + len(CUES))
    for name, factor in RECIPES[LARGE_RECIPE].strengths.items():
        if name in BLOCKS:
            factors[columns_of_block(name)] = np.sqrt(factor)
        else:
            part = CUE_SETS[name]
            factors[N_COLUMNS + part.start : N_COLUMNS + part.stop] = np.sqrt(factor)
    return factors


def _matrix(training: TrainingSet) -> sparse.csr_matrix:
    features = training.features
    whole = sparse.hstack([features.ngrams, sparse.csr_matrix(features.cues)], format="csr")
    return sparse.csr_matrix(whole @ sparse.diags(_strengths()))


def _solve(
    matrix: sparse.csr_matrix, training: TrainingSet, *, rows: Rows, question: int, seed: int
) -> tuple[NDArray[np.float64], float]:
    """Weights and intercept; a soft label is a yes and a no with weights that sum to one."""
    from sklearn.linear_model import LogisticRegression

    target = training.targets[rows, question]
    known = rows[np.isfinite(target)]
    target = target[np.isfinite(target)]
    yes, no = target > 0, target < 1
    chosen = np.concatenate([known[yes], known[no]])
    labels = np.repeat([True, False], [int(yes.sum()), int(no.sum())])
    weights = np.concatenate([target[yes], 1 - target[no]]) * training.weights[chosen]
    if labels.all() or not labels.any():
        return np.zeros(N_COLUMNS + len(CUES)), 6.0 if labels.any() else -6.0
    model = LogisticRegression(
        C=RECIPES[LARGE_RECIPE].c,
        solver="liblinear",
        intercept_scaling=_INTERCEPT,
        random_state=seed,
        max_iter=1_000,
    )
    model.fit(matrix[chosen], labels, sample_weight=weights)
    return model.coef_[0], float(model.intercept_[0])
