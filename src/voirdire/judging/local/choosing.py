"""Choose the blend of each question, and score items without having chosen on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.local.cross_fitting import CrossFit, blended, cross_fit
from voirdire.judging.local.recipes import BLENDS, DEFAULT_BLEND
from voirdire.judging.local.roc import area_difference
from voirdire.stats import group_folds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire.judging.local.training_set import TrainingSet

__all__ = [
    "FEW",
    "choose_blends",
    "nested_scores",
    "only_blend",
    "rows_to_calibrate_by",
    "rows_to_choose_by",
    "take_blends",
]

FEW = 10
"""Fewer positives, or fewer negatives, are too few to choose by or to trust."""


def choose_blends(
    scores: dict[str, NDArray[np.float64]], training: TrainingSet, rows: NDArray[np.intp]
) -> tuple[str, ...]:
    """Give each question its blend: the default, unless another ranks better by a standard error.

    Parameters
    ----------
    scores : dict of str to ndarray, shape (len(rows), n_questions)
        Cross-fitted, by recipe.
    training : TrainingSet
        All items.
    rows : ndarray of int
        The items of `scores`.

    Returns
    -------
    tuple of str
        One blend per question.
    """
    possible = [name for name, recipes in BLENDS.items() if set(recipes) <= set(scores)]
    by_blend = {name: blended(scores, name) for name in possible}
    truths = training.truths()
    chosen = []
    for question in range(truths.shape[1]):
        usable = rows_to_choose_by(training, question)[rows]
        truth = truths[rows[usable], question]
        columns = {name: values[usable, question] for name, values in by_blend.items()}
        chosen.append(_choose(columns, truth))
    return tuple(chosen)


def _choose(columns: dict[str, NDArray[np.float64]], truth: NDArray[np.bool_]) -> str:
    default = DEFAULT_BLEND if DEFAULT_BLEND in columns else next(iter(columns))
    if not _enough(truth):
        return default
    best, gain = default, 0.0
    for name, values in columns.items():
        difference, error = area_difference(values, columns[default], truth)
        if difference > error and difference > gain:
            best, gain = name, difference
    return best


def rows_to_calibrate_by(training: TrainingSet, question: int) -> NDArray[np.bool_]:
    """Tell which items have a label that counts: of the sets for it, or all where those have few.

    Parameters
    ----------
    training : TrainingSet
        All items.
    question : int
        Which column.

    Returns
    -------
    ndarray of bool, shape (n_items,)
        True for items to calibrate by.
    """
    known = np.isfinite(training.targets[:, question])
    wanted = known & training.calibrates
    return wanted if _enough(training.truths()[wanted, question]) else known


def rows_to_choose_by(training: TrainingSet, question: int) -> NDArray[np.bool_]:
    """Tell which items to choose features by: the first set with enough of either label.

    Ranks across sets would say more about the sets than about the features.

    Parameters
    ----------
    training : TrainingSet
        All items.
    question : int
        Which column.

    Returns
    -------
    ndarray of bool, shape (n_items,)
        True for items to choose by; all with a label where no set has enough.
    """
    known = np.isfinite(training.targets[:, question])
    truth = training.truths()[:, question]
    for name in dict.fromkeys(training.sets.tolist()):
        rows = known & (training.sets == name)
        if _enough(truth[rows]):
            return np.asarray(rows)
    return np.asarray(known)


def _enough(truth: NDArray[np.bool_]) -> bool:
    return min(int(truth.sum()), int((~truth).sum())) >= FEW


def nested_scores(
    fit: CrossFit,
    *,
    n_folds: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float64]:
    """Score every item by classifiers whose fit and whose choice of blend have not seen its group.

    Parameters
    ----------
    fit : CrossFit
        What to fit.
    n_folds, seed : int
        Of the outer folds; the inner ones are as many, less one, and at least two.
    progress : callable, optional
        Called with folds done and folds in all.

    Returns
    -------
    ndarray of float64, shape (n_items, n_questions)
        Log-odds.
    """
    training = fit.training
    folds = group_folds(training.groups, n_folds=n_folds, seed=seed)
    result = np.empty((training.n_items, len(fit.pooled)))
    for fold in range(n_folds):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if len(fit.recipes) > 1:
            inner = cross_fit(fit, train, n_folds=max(n_folds - 1, 2), seed=seed + 1)
            blends = choose_blends(inner, training, train)
        else:
            blends = only_blend(fit)
        result[test] = take_blends(fit.score(train, test), blends)
        if progress is not None:
            progress(fold + 1, n_folds)
    return result


def take_blends(
    scores: dict[str, NDArray[np.float64]], blends: Sequence[str]
) -> NDArray[np.float64]:
    """Take for each question the scores of its blend.

    Parameters
    ----------
    scores : dict of str to ndarray, shape (n_items, n_questions)
        By recipe.
    blends : sequence of str
        One per question.

    Returns
    -------
    ndarray of float64, shape (n_items, n_questions)
        Averages over the recipes of each blend.
    """
    return np.column_stack(
        [blended(scores, blend)[:, column] for column, blend in enumerate(blends)]
    )


def only_blend(fit: CrossFit) -> tuple[str, ...]:
    """Give every question the one blend that the recipes allow.

    Parameters
    ----------
    fit : CrossFit
        With the recipes of one blend.

    Returns
    -------
    tuple of str
        One blend per question.
    """
    blend = next(name for name, recipes in BLENDS.items() if set(recipes) <= set(fit.recipes))
    return (blend,) * len(fit.pooled)
