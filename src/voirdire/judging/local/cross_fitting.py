"""Scores of items by classifiers that have not seen their group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.local.domains import domain_products
from voirdire.judging.local.recipes import BLENDS, RECIPES
from voirdire.judging.local.solver import fit_classifiers
from voirdire.stats import group_folds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.judging.local.domains import Domains
    from voirdire.judging.local.training_set import TrainingSet

    Products = Mapping[str, NDArray[np.float64]]
    Rows = NDArray[np.intp]
    Scores = dict[str, NDArray[np.float64]]

__all__ = ["CrossFit", "blended", "cross_fit"]


@dataclass(frozen=True, kw_only=True)
class CrossFit:
    """What is needed to score some items by classifiers made from others.

    Attributes
    ----------
    training : TrainingSet
        All items.
    products : mapping of str to ndarray, shape (n_items, n_items)
        Their inner products, by set of features.
    pooled : ndarray of bool, shape (n_questions,)
        Questions for which items that only inform count as home: too few others have them.
    recipes : sequence of str
        Which classifiers to make.
    """

    training: TrainingSet
    products: Products
    pooled: NDArray[np.bool_]
    recipes: Sequence[str]

    def score(self, train: Rows, test: Rows) -> Scores:
        """Fit on some rows, score others as items that are judged; by recipe."""
        return {name: self._score(name, train, test) for name in self.recipes}

    def _score(self, recipe: str, train: Rows, test: Rows) -> NDArray[np.float64]:
        scores = np.empty((len(test), len(self.pooled)))
        for pooled in (False, True):
            columns = np.flatnonzero(self.pooled == pooled)
            if len(columns):
                scores[:, columns] = self._score_some(
                    recipe, train=train, test=test, columns=columns
                )
        return scores

    def _score_some(
        self, recipe: str, *, train: Rows, test: Rows, columns: Rows
    ) -> NDArray[np.float64]:
        of_train = self.domains_for(pooled=bool(self.pooled[columns[0]])).at(train)
        judged = self.training.domains.at(test).at_home()
        classifiers = fit_classifiers(
            self._products(recipe, (train, of_train), (train, of_train)),
            self.training.targets[np.ix_(train, columns)],
            weights=self.training.weights[train],
            c=RECIPES[recipe].c,
        )
        return classifiers.scores(self._products(recipe, (test, judged), (train, of_train)))

    def domains_for(self, *, pooled: bool) -> Domains:
        """Give the domains that questions of either sort are fitted with."""
        return self.training.domains.at_home() if pooled else self.training.domains

    def _products(
        self, recipe: str, left: tuple[Rows, Domains], right: tuple[Rows, Domains]
    ) -> NDArray[np.float64]:
        chosen = RECIPES[recipe]
        place = np.ix_(left[0], right[0])
        some = {name: self.products[name][place] for name in chosen.strengths}
        return domain_products(some, chosen, left=left[1], right=right[1])


def cross_fit(fit: CrossFit, rows: Rows, *, n_folds: int, seed: int) -> Scores:
    """Score rows by classifiers made from the other folds of these rows.

    Parameters
    ----------
    fit : CrossFit
        What to fit.
    rows : ndarray of int
        Which items to use at all.
    n_folds, seed : int
        How the groups are dealt out.

    Returns
    -------
    dict of str to ndarray, shape (len(rows), n_questions)
        By recipe.
    """
    folds = group_folds(fit.training.groups[rows], n_folds=n_folds, seed=seed)
    shape = (len(rows), len(fit.pooled))
    scores = {name: np.empty(shape) for name in fit.recipes}
    for fold in range(n_folds):
        inside = folds == fold
        for name, values in fit.score(rows[~inside], rows[inside]).items():
            scores[name][inside] = values
    return scores


def blended(scores: Scores, blend: str) -> NDArray[np.float64]:
    """Average the scores of the recipes of a blend.

    Parameters
    ----------
    scores : dict of str to ndarray
        By recipe.
    blend : str
        One of `BLENDS`.

    Returns
    -------
    ndarray of float64
        Of the same shape.
    """
    return np.asarray(sum(scores[name] for name in BLENDS[blend]) / len(BLENDS[blend]))
