"""Fit the classifiers of a judge, and score its training items as if they were new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.local.choosing import FEW, choose_blends, nested_scores, only_blend
from voirdire.judging.local.cross_fitting import CrossFit, cross_fit
from voirdire.judging.local.domains import domain_products
from voirdire.judging.local.large_sets import LARGE_RECIPE, fit_large, scores_of_large
from voirdire.judging.local.linear_weights import LinearWeights, fold_classifiers
from voirdire.judging.local.recipes import BLENDS, RECIPES, feature_products
from voirdire.judging.local.solver import fit_classifiers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from voirdire.judging.local.training_set import TrainingSet

    Progress = Callable[[int, int], None]

__all__ = ["MOST_CHOOSING", "MOST_PAIRED", "FittedWeights", "fit_weights"]

MOST_CHOOSING = 2_500
"""Beyond so many items every question gets the same features: choosing would take too long."""

MOST_PAIRED = 4_000
"""Beyond so many items, inner products of all pairs would take too much memory."""


@dataclass(frozen=True, kw_only=True)
class FittedWeights:
    """What fitting gives.

    Attributes
    ----------
    weights : LinearWeights
        Fitted on all items.
    scores : ndarray of float64, shape (n_items, n_questions)
        Log-odds of each item, from a fit and a choice of features without its group.
    blends : tuple of str
        The features of each question.
    """

    weights: LinearWeights
    scores: NDArray[np.float64]
    blends: tuple[str, ...]


def fit_weights(
    training: TrainingSet, *, n_folds: int, seed: int, progress: Progress | None
) -> FittedWeights:
    """Fit all questions; how depends on the number of items, see `MOST_CHOOSING`.

    Parameters
    ----------
    training : TrainingSet
        Items with labels.
    n_folds, seed : int
        Of cross-validation.
    progress : callable or None
        Called with steps done and steps in all.

    Returns
    -------
    FittedWeights
        Weights, and scores of held-out items.
    """
    if training.n_items > MOST_PAIRED:
        return FittedWeights(
            scores=scores_of_large(training, n_folds=n_folds, seed=seed, progress=progress),
            weights=fit_large(training, seed=seed),
            blends=(LARGE_RECIPE,) * training.targets.shape[1],
        )
    choosing = training.n_items <= MOST_CHOOSING
    fit = CrossFit(
        training=training,
        products=feature_products(training.features, training.features),
        pooled=_pooled(training),
        recipes=tuple(RECIPES) if choosing else (LARGE_RECIPE,),
    )
    scores = nested_scores(fit, n_folds=n_folds, seed=seed, progress=progress)
    rows = np.arange(training.n_items)
    blends = (
        choose_blends(cross_fit(fit, rows, n_folds=n_folds, seed=seed + 1), training, rows)
        if choosing
        else only_blend(fit)
    )
    return FittedWeights(weights=_final_weights(fit, blends), scores=scores, blends=blends)


def _pooled(training: TrainingSet) -> NDArray[np.bool_]:
    """Questions of which the home items of some language have too few of either answer."""
    home = training.domains.home[:, None] & np.isfinite(training.targets)
    truths = training.truths()
    other = ~training.domains.chinese[:, None]
    main = home & other if (home & other).any() else home
    n_true, n_false = (main & truths).sum(axis=0), (main & ~truths).sum(axis=0)
    return np.asarray(np.minimum(n_true, n_false) < FEW)


def _final_weights(fit: CrossFit, blends: tuple[str, ...]) -> LinearWeights:
    """Fit every recipe on all items and average those of each question's blend."""
    total = LinearWeights.zeros(len(blends))
    for name in fit.recipes:
        for pooled in (False, True):
            columns = np.array(
                [
                    question
                    for question, blend in enumerate(blends)
                    if name in BLENDS[blend] and bool(fit.pooled[question]) == pooled
                ],
                dtype=np.intp,
            )
            if len(columns):
                part = _one_recipe(fit, name, columns=columns, pooled=pooled)
                share = 1 / np.array([len(BLENDS[blends[column]]) for column in columns])
                total.ngrams[:, columns] += part.ngrams * share
                total.cues[:, :, columns] += part.cues * share
                total.intercepts[:, columns] += part.intercepts * share
    return total


def _one_recipe(
    fit: CrossFit, name: str, *, columns: NDArray[np.intp], pooled: bool
) -> LinearWeights:
    training, recipe = fit.training, RECIPES[name]
    domains = fit.domains_for(pooled=pooled)
    classifiers = fit_classifiers(
        domain_products(fit.products, recipe, left=domains, right=domains),
        training.targets[:, columns],
        weights=training.weights,
        c=recipe.c,
    )
    return fold_classifiers(classifiers, training, recipe=recipe, domains=domains)
