r"""Fits the classifiers of a judge, and scores its training items out of fold.

Every question has one logistic regression over hashed n-grams and cues. Every item has a domain:
its language, and whether it is of the kind that will be judged (`home`) or only informs. Weights
have a common part and a part per domain [1]_, so that examples written for another purpose inform
the weights of words without changing the base rates. n-grams share by home only: the two languages
have few in common.

References
----------
.. [1] H. Daumé III, "Frustratingly Easy Domain Adaptation", ACL 2007.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from voirdire.judging.local.cues import CUE_SETS
from voirdire.judging.local.features import BLOCKS, find_block_columns
from voirdire.judging.local.weights import LANGUAGES, LinearWeights
from voirdire.stats import group_folds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from voirdire.judging.local.features import Features

__all__ = ["FEATURES", "FEW", "TrainingSet", "fit_weights", "score_held_out"]

_STRENGTHS = {
    "words_1": 0.8, "words_2": 0.2, "characters": 1.0, "presence": 0.04, "placing": 0.04,
    "form": 0.1,
}  # fmt: skip
"""How much each set of features counts: set once on the training data of the bundled judge."""

_C = 10.0
_INTERCEPT = 4.0
_CERTAIN = 6.0
_SHARED = 1 / np.sqrt(2)

FEATURES = ", ".join(_STRENGTHS)
"""Descriptions of the features, for cards."""

FEW = 10
"""Least positives, and negatives, to learn a base rate or to trust a figure."""


@dataclass(frozen=True, kw_only=True)
class TrainingSet:
    """Items with their labels.

    Attributes
    ----------
    features : Features
        One row per item.
    targets : ndarray of float64, shape (n_items, n_questions)
        In [0, 1]; nan is a missing label.
    weights : ndarray of float64, shape (n_items,)
        How much each item counts, above 0.
    groups : ndarray of int, shape (n_items,)
        Items of one group are never split over folds.
    chinese, home : ndarray of bool, shape (n_items,)
        Whether the response is in Chinese; whether the item is of the kind that will be judged.
    sets : ndarray of str, shape (n_items,)
        Where each item came from.
    calibrates : ndarray of bool, shape (n_items,)
        Whether it is used in calibration.
    """

    features: Features
    targets: NDArray[np.float64]
    weights: NDArray[np.float64]
    groups: NDArray[np.intp]
    chinese: NDArray[np.bool_]
    home: NDArray[np.bool_]
    sets: NDArray[np.str_]
    calibrates: NDArray[np.bool_]

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.targets)

    def truths(self) -> NDArray[np.bool_]:
        """Labels as yes or no: a soft label of 1/2 or more is yes; a missing one is no."""
        return np.nan_to_num(self.targets, nan=0.0) >= 0.5


def fit_weights(training: TrainingSet, rows: NDArray[np.intp], *, seed: int) -> LinearWeights:
    """Fit every question on some of the items."""
    n_questions = training.targets.shape[1]
    weights = LinearWeights.zeros(n_questions)
    everywhere = _find_scarce_questions(training)
    for pooled in (False, True):
        columns = np.flatnonzero(everywhere == pooled).tolist()
        if not columns:
            continue
        home = np.ones_like(training.home) if pooled else training.home
        matrix = _matrix(training, home)[rows]
        for question in columns:
            solution, intercept = _solve(matrix, training, rows, question=question, seed=seed)
            weights.intercepts[:, question] = intercept
            _unfold(solution, weights, question=question, alone=bool(home.all()))
    return weights


def score_held_out(
    training: TrainingSet,
    *,
    n_folds: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float64]:
    """Score every item, in log-odds, with classifiers that were fitted without its group."""
    folds = group_folds(training.groups, n_folds=n_folds, seed=seed)
    scores = np.empty(training.targets.shape)
    for fold in range(n_folds):
        weights = fit_weights(training, np.flatnonzero(folds != fold), seed=seed)
        inside = np.flatnonzero(folds == fold)
        scores[inside] = weights.scores(training.features.at(inside))
        if progress is not None:
            progress(fold + 1, n_folds)
    return scores


def _find_scarce_questions(training: TrainingSet) -> NDArray[np.bool_]:
    """Find questions with too few of either answer among `home` items; these use all items."""
    home = training.home[:, None] & np.isfinite(training.targets)
    truths, other = training.truths(), ~training.chinese[:, None]
    main = home & other if (home & other).any() else home
    n_true, n_false = (main & truths).sum(axis=0), (main & ~truths).sum(axis=0)
    return np.asarray(np.minimum(n_true, n_false) < FEW)


def _parts(*, alone: bool) -> Iterator[tuple[str, bool | None, float]]:
    """Name the parts of the matrix: features, the language if of one (at home), and a factor."""
    for name, strength in _STRENGTHS.items():
        factor = np.sqrt(strength * _SHARED)
        if name in BLOCKS and alone:
            yield name, None, factor * np.sqrt(2)  # both parts are the same
        else:
            yield name, None, factor
            for language in (None,) if name in BLOCKS else LANGUAGES:
                yield f"{name} at home", language, factor
    for language in LANGUAGES:
        yield "intercept", language, 1.0


def _matrix(training: TrainingSet, home: NDArray[np.bool_]) -> sparse.csr_matrix:
    """Put the features beside each other, once for all items and once per domain."""
    parts = []
    for part, language, factor in _parts(alone=bool(home.all())):
        name = part.removesuffix(" at home")
        rows = np.ones_like(home) if name == part != "intercept" else home
        rows = rows if language is None else rows & (training.chinese == language)
        if name in BLOCKS:
            values = training.features.ngrams[:, find_block_columns(name)]
        elif name in CUE_SETS:
            values = sparse.csr_matrix(training.features.cues[:, CUE_SETS[name]])
        else:
            values = sparse.csr_matrix(np.ones((len(home), 1)))
        parts.append(sparse.diags(rows * factor) @ values)
    return sparse.csr_matrix(sparse.hstack(parts, format="csr"))


def _unfold(
    solution: NDArray[np.float64], weights: LinearWeights, *, question: int, alone: bool
) -> None:
    """Add up the parts of a solution to weights for `home` items."""
    start = 0
    for part, language, factor in _parts(alone=alone):
        name = part.removesuffix(" at home")
        languages = slice(None) if language is None else int(language)
        columns = find_block_columns(name) if name in BLOCKS else CUE_SETS.get(name, slice(0, 1))
        values = solution[start : start + columns.stop - columns.start] * factor
        start += len(values)
        if name in BLOCKS:
            weights.ngrams[columns, question] += values
        elif name in CUE_SETS:
            weights.cues[languages, columns, question] += values
        else:
            weights.intercepts[languages, question] += values[0]


def _solve(
    matrix: sparse.csr_matrix,
    training: TrainingSet,
    rows: NDArray[np.intp],
    *,
    question: int,
    seed: int,
) -> tuple[NDArray[np.float64], float]:
    """Return weights and intercept; a soft label is a yes and a no whose weights sum to one."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    target = training.targets[rows, question]
    yes, no = np.flatnonzero(target > 0), np.flatnonzero(target < 1)
    chosen = np.concatenate([yes, no])
    labels = np.repeat([True, False], [len(yes), len(no)])
    if labels.all() or not labels.any():
        return np.zeros(matrix.shape[1]), _CERTAIN if labels.any() else -_CERTAIN
    shares = np.concatenate([target[yes], 1 - target[no]])
    model = LogisticRegression(
        C=_C, solver="liblinear", dual=True, intercept_scaling=_INTERCEPT, tol=0.03,
        max_iter=300, random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(matrix[chosen], labels, sample_weight=shares * training.weights[rows][chosen])
    return model.coef_[0], float(model.intercept_[0])
