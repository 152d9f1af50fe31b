"""Stores the weights of a judge, one byte per feature and question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from voirdire.judging.local.cues import CUES
from voirdire.judging.local.features import N_COLUMNS, is_chinese

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.judging.local.features import Features

__all__ = ["LANGUAGES", "LinearWeights", "QuantisedWeights", "quantise", "to_probabilities"]

LANGUAGES = (False, True)
"""Languages with separate weights of cues and intercepts: not Chinese, Chinese."""

_FURTHEST = 30.0
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

    def scores(self, features: Features) -> NDArray[np.float64]:
        """Score items, shape (n_items, n_questions)."""
        return _add_languages(features.ngrams @ self.ngrams, features, self)


@dataclass(frozen=True, kw_only=True)
class QuantisedWeights:
    """Weights as they are stored: n-grams in one byte each, the others in four.

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
        return _add_languages(features.ngrams @ table, features, self)


def _add_languages(
    ngrams: NDArray[np.floating], features: Features, weights: LinearWeights | QuantisedWeights
) -> NDArray[np.float64]:
    scores = np.asarray(ngrams, dtype=np.float64)
    chinese = is_chinese(features)
    for language in LANGUAGES:
        rows = np.flatnonzero(chinese == language)
        cues = sparse.csr_matrix(features.cues[rows])
        scores[rows] += cues @ weights.cues[int(language)].astype(np.float64)
        scores[rows] += weights.intercepts[int(language)]
    return scores


def quantise(weights: LinearWeights, *, kept: NDArray[np.bool_]) -> QuantisedWeights:
    """Round weights to the stored precision, with only the n-grams of `kept`."""
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


def to_probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn log-odds into uncalibrated probabilities, clipped away from 0 and 1."""
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -_FURTHEST, _FURTHEST))))
