"""Classifiers folded into plain weights: all that is needed to judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from voirdire.judging.local.cues import CUE_SETS, CUES
from voirdire.judging.local.domains import SCALE, Domains
from voirdire.judging.local.ngrams import BLOCKS, N_COLUMNS, columns_of_block
from voirdire.judging.local.training_set import is_chinese

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.judging.local.features import Features
    from voirdire.judging.local.recipes import Recipe
    from voirdire.judging.local.solver import Classifiers
    from voirdire.judging.local.training_set import TrainingSet

__all__ = ["LinearWeights", "QuantisedWeights", "fold_classifiers", "quantise"]

_LANGUAGES = (False, True)
_LARGEST = 127
_DIGITS = 4


@dataclass(frozen=True, kw_only=True)
class LinearWeights:
    """Weights of every feature, per question.

    Attributes
    ----------
    ngrams : ndarray of float64, shape (N_COLUMNS, n_questions)
        The same in both languages.
    cues : ndarray of float64, shape (2, n_cues, n_questions)
        Not Chinese, Chinese.
    intercepts : ndarray of float64, shape (2, n_questions)
        Not Chinese, Chinese.
    """

    ngrams: NDArray[np.float64]
    cues: NDArray[np.float64]
    intercepts: NDArray[np.float64]

    @classmethod
    def zeros(cls, n_questions: int) -> LinearWeights:
        """Make weights to which others are added."""
        return cls(
            ngrams=np.zeros((N_COLUMNS, n_questions)),
            cues=np.zeros((2, len(CUES), n_questions)),
            intercepts=np.zeros((2, n_questions)),
        )


@dataclass(frozen=True, kw_only=True)
class QuantisedWeights:
    """Weights as they are kept: n-grams in one byte each, the rest in four.

    Attributes
    ----------
    columns : ndarray of int32, shape (n_kept,)
        The n-gram columns that have weights, rising.
    ngrams : ndarray of int8, shape (n_kept, n_questions)
        In units of `scales`.
    scales : ndarray of float32, shape (n_questions,)
        Above 0.
    cues : ndarray of float32, shape (2, n_cues, n_questions)
        Not Chinese, Chinese.
    intercepts : ndarray of float32, shape (2, n_questions)
        Not Chinese, Chinese.
    """

    columns: NDArray[np.int32]
    ngrams: NDArray[np.int8]
    scales: NDArray[np.float32]
    cues: NDArray[np.float32]
    intercepts: NDArray[np.float32]

    def table(self) -> NDArray[np.float32]:
        """Unpack the n-gram weights, shape (N_COLUMNS, n_questions); 4 bytes each."""
        table = np.zeros((N_COLUMNS, self.ngrams.shape[1]), dtype=np.float32)
        table[self.columns] = self.ngrams * self.scales
        return table

    def scores(self, features: Features, table: NDArray[np.float32]) -> NDArray[np.float64]:
        """Score a batch of items; `table` is what `table` gave. Rows do not depend on others."""
        # Sparse products go row by row, so that a row's sum never depends on the batch.
        scores = np.asarray(features.ngrams @ table, dtype=np.float64)
        chinese = is_chinese(features)
        for language in _LANGUAGES:
            rows = np.flatnonzero(chinese == language)
            cues = sparse.csr_matrix(features.cues[rows])
            scores[rows] += cues @ self.cues[int(language)].astype(np.float64)
            scores[rows] += self.intercepts[int(language)]
        return scores


def fold_classifiers(
    classifiers: Classifiers, training: TrainingSet, *, recipe: Recipe, domains: Domains
) -> LinearWeights:
    """Turn shares of training items into weights of features.

    Parameters
    ----------
    classifiers : Classifiers
        Of one recipe.
    training : TrainingSet
        The items that they were made from.
    recipe : Recipe
        With the factor of each set of features.
    domains : Domains
        What the classifiers were fitted with.

    Returns
    -------
    LinearWeights
        That give home items of either language the same scores.
    """
    shares, features = classifiers.shares, training.features
    weights = LinearWeights.zeros(shares.shape[1])
    at_home = shares * (1 + domains.home[:, None]) * SCALE
    for name, factor in recipe.strengths.items():
        if name in BLOCKS:
            columns = columns_of_block(name)
            weights.ngrams[columns] = factor * (features.ngrams[:, columns].T @ at_home)
    for language in _LANGUAGES:
        same = (domains.home & (domains.chinese == language))[:, None]
        for name, factor in recipe.strengths.items():
            if name in CUE_SETS:
                cues = features.cues[:, CUE_SETS[name]]
                weights.cues[int(language), CUE_SETS[name]] = factor * (
                    cues.T @ (shares * (1 + same) * SCALE)
                )
        weights.intercepts[int(language)] = classifiers.intercepts + (shares * same).sum(axis=0)
    return weights


def quantise(weights: LinearWeights, *, kept: NDArray[np.bool_]) -> QuantisedWeights:
    """Round weights to what is kept.

    Parameters
    ----------
    weights : LinearWeights
        To be rounded.
    kept : ndarray of bool, shape (N_COLUMNS,)
        Which n-grams may have weights.

    Returns
    -------
    QuantisedWeights
        The nearest ones.
    """
    columns = np.flatnonzero(kept & weights.ngrams.any(axis=1))
    ngrams = weights.ngrams[columns]
    largest = np.abs(ngrams).max(axis=0, initial=0.0)
    scales = np.where(largest > 0, largest / _LARGEST, 1.0).astype(np.float32)
    return QuantisedWeights(
        columns=columns.astype(np.int32),
        ngrams=np.rint(ngrams / scales).astype(np.int8),
        scales=scales,
        cues=weights.cues.round(_DIGITS).astype(np.float32),
        intercepts=weights.intercepts.round(_DIGITS).astype(np.float32),
    )
