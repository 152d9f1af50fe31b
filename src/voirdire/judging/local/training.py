r"""Fits the classifiers, calibrators and thresholds of a judge.

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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from voirdire.judging.local.card import FEW
from voirdire.judging.local.features import BLOCKS, CUE_SETS, N_COLUMNS, N_CUES
from voirdire.judging.local.judge import LANGUAGES, LinearWeights, to_probabilities
from voirdire.stats import Calibrator, fit_calibrator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from voirdire.judging.local.features import Features
    from voirdire.stats import CalibrationMethod


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
    sets : ndarray of str, shape (n_items,)
        Where each item came from.
    home, calibrates : ndarray of bool, shape (n_items,)
        Whether the item is of the kind that will be judged; whether it is used in calibration.
    """

    features: Features
    targets: NDArray[np.float64]
    weights: NDArray[np.float64]
    groups: NDArray[np.intp]
    sets: NDArray[np.str_]
    home: NDArray[np.bool_]
    calibrates: NDArray[np.bool_]

    def truths(self) -> NDArray[np.bool_]:
        """Labels as yes or no: a soft label of 1/2 or more is yes; a missing one is no."""
        return np.nan_to_num(self.targets, nan=0.0) >= 0.5


# Weights ------------------------------------------------------------------------------------------

_STRENGTHS = {
    "words_1": 0.8, "words_2": 0.2, "characters": 1.0, "presence": 0.04, "placing": 0.04,
    "form": 0.1,
}  # fmt: skip
"""How much each set of features counts: set once on the training data of the bundled judge."""

_DIGITS = 6
_C = 10.0
_INTERCEPT = 4.0
_CERTAIN = 6.0
_SHARED = 1 / np.sqrt(2)

FEATURES = ", ".join(_STRENGTHS)
"""Descriptions of the features, for cards."""


def fit_weights(training: TrainingSet, rows: NDArray[np.intp], *, seed: int) -> LinearWeights:
    """Fit every question on some of the items."""
    targets, chinese = training.targets, training.features.chinese
    n_questions = targets.shape[1]
    weights = LinearWeights(
        ngrams=np.zeros((N_COLUMNS, n_questions)),
        cues=np.zeros((2, N_CUES, n_questions)),
        intercepts=np.zeros((2, n_questions)),
    )
    # Questions with too few of either answer at home are fitted on all items.
    known = training.home[:, None] & np.isfinite(targets)
    other = known & ~chinese[:, None]
    counted, truths = other if other.any() else known, training.truths()
    n_true, n_false = (counted & truths).sum(axis=0), (counted & ~truths).sum(axis=0)
    is_scarce = np.minimum(n_true, n_false) < FEW
    features = {
        "ngrams": training.features.ngrams,
        "cues": sparse.csr_matrix(training.features.cues),
        "intercepts": sparse.csr_matrix(np.ones((len(targets), 1))),
    }
    for pooled in (False, True):
        questions = np.flatnonzero(is_scarce == pooled).tolist()
        if not questions:
            continue
        home = np.ones_like(training.home) if pooled else training.home
        parts = list(_list_parts(alone=bool(home.all())))
        blocks = []
        for array, columns, at_home, language, factor in parts:
            used = home if at_home else np.ones_like(home)
            used = used if language is None else used & (chinese == language)
            blocks.append(sparse.diags(used * factor) @ features[array][:, columns])
        matrix = sparse.csr_matrix(sparse.hstack(blocks, format="csr"))[rows]
        for question in questions:
            target, item_weights = targets[rows, question], training.weights[rows]
            solution, intercept = _solve(matrix, target, item_weights, seed=seed)
            weights.intercepts[:, question] = intercept
            start = 0
            for array, columns, _, language, factor in parts:
                values = solution[start : start + columns.stop - columns.start] * factor
                start += len(values)
                languages = slice(None) if language is None else int(language)
                if array == "ngrams":
                    weights.ngrams[columns, question] += values
                elif array == "cues":
                    weights.cues[languages, columns, question] += values
                else:
                    weights.intercepts[languages, question] += values[0]
    return weights


def _list_parts(*, alone: bool) -> Iterator[tuple[str, slice, bool, bool | None, float]]:
    """List the parts of a design: array, columns, whether at home only, language, and factor.

    `alone`: all items are at home, so that both parts of n-grams are the same.
    """
    for name, strength in _STRENGTHS.items():
        factor = np.sqrt(strength * _SHARED)
        if name in BLOCKS and alone:
            yield "ngrams", BLOCKS[name], False, None, factor * np.sqrt(2)
        elif name in BLOCKS:
            yield "ngrams", BLOCKS[name], False, None, factor
            yield "ngrams", BLOCKS[name], True, None, factor
        else:
            yield "cues", CUE_SETS[name], False, None, factor
            for language in LANGUAGES:
                yield "cues", CUE_SETS[name], True, language, factor
    for language in LANGUAGES:
        yield "intercepts", slice(0, 1), True, language, 1.0


def _solve(
    matrix: sparse.csr_matrix,
    target: NDArray[np.float64],
    weights: NDArray[np.float64],
    *,
    seed: int,
) -> tuple[NDArray[np.float64], float]:
    """Return weights and intercept; a soft label is a yes and a no whose weights sum to one."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

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
        model.fit(matrix[chosen], labels, sample_weight=shares * weights[chosen])
    return model.coef_[0], float(model.intercept_[0])


# Calibrators --------------------------------------------------------------------------------------


def fit_calibrators(
    scores: NDArray[np.float64],
    training: TrainingSet,
    rows: NDArray[np.bool_],
    *,
    method: CalibrationMethod,
) -> tuple[Calibrator, ...]:
    """Fit the calibrator of every question on some of the items, all sets with equal weight.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_items, n_questions)
        Log-odds of items that were held out.
    training : TrainingSet
        The same items with their labels.
    rows : ndarray of bool, shape (n_items,)
        Which items; of sets that do not calibrate, where the others have few of either answer.
    method : {"platt", "temperature"}
        Which kind.

    Returns
    -------
    tuple of Calibrator
        One per question, rounded, so that all processors make the same judge; where all labels are
        the same, one that gives about their share.
    """
    calibrators: list[Calibrator] = []
    for question, target in enumerate(training.targets.T):
        known = np.isfinite(target)
        wanted = known & training.calibrates
        truths = training.truths()[wanted, question]
        enough = min(int(truths.sum()), int((~truths).sum())) >= FEW
        used = rows & (wanted if enough else known)
        codes = np.unique(training.sets[used], return_inverse=True)[1]
        totals = np.bincount(codes, weights=training.weights[used])
        weights = training.weights[used] / totals[codes] * (len(codes) / max(len(totals), 1))
        targets = target[used]
        if not len(targets) or targets.min() >= 0.5 or targets.max() < 0.5:
            share = (float((weights * targets).sum()) + 0.5) / (float(weights.sum()) + 1)
            intercept = round(float(np.log(share / (1 - share))), _DIGITS)
            calibrators.append(Calibrator(method="platt", slope=0.0, intercept=intercept))
            continue
        raw = to_probabilities(scores[used, question])
        fitted = fit_calibrator(raw, targets, method=method, weights=weights)
        slope, intercept = (round(x, _DIGITS) for x in (fitted.slope, fitted.intercept))
        calibrators.append(replace(fitted, slope=slope, intercept=intercept))
    return tuple(calibrators)


# Thresholds ---------------------------------------------------------------------------------------

_GRID = np.linspace(0.05, 0.95, 91)
_NEAR = 41
"""Width of the smoothing over neighbouring thresholds: a peak from a few items is chance."""

_LEAST_CORRELATION = 0.1
_NEARLY_AS_GOOD = 0.98
"""Place of the threshold between two candidates.

On new kinds of text answers are less sure: a true one is below the threshold more often than a
false one is above it. So the threshold is halfway from the best one to the lowest that is nearly as
good.
"""


def choose_thresholds(
    probabilities: NDArray[np.float64], training: TrainingSet, rows: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Choose a threshold per question on some of the items.

    Halfway between the one with the highest Matthews correlation and the lowest within 2% of it, as
    a weighted mean over the sets of `home` items with enough of both answers; 1/2 where there is no
    such set, or where no threshold helps.
    """
    usable = rows & training.home & training.calibrates
    truths, known = training.truths(), np.isfinite(training.targets)
    chosen = np.full(probabilities.shape[1], 0.5)
    for question in range(len(chosen)):
        worth, total = np.zeros(len(_GRID)), 0.0
        for name in dict.fromkeys(training.sets[usable].tolist()):
            inside = usable & known[:, question] & (training.sets == name)
            truth = truths[inside, question]
            n_rarer = min(int(truth.sum()), int((~truth).sum()))
            if n_rarer >= FEW:
                worth += np.sqrt(n_rarer) * _correlate(probabilities[inside, question], truth)
                total += np.sqrt(n_rarer) * _NEAR
        padded = np.pad(worth, _NEAR // 2, mode="edge")
        smooth = np.convolve(padded, np.ones(_NEAR), mode="valid") / max(total, 1.0)
        if smooth.max() >= _LEAST_CORRELATION:
            best = int(np.median(np.flatnonzero(smooth >= smooth.max() - 1e-9)))
            lowest = int(np.argmax(smooth >= smooth.max() * _NEARLY_AS_GOOD))
            chosen[question] = round(float(_GRID[(best + lowest) // 2]), 2)
    return chosen


def _correlate(p: NDArray[np.float64], truth: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Matthews' correlation at every threshold of the grid; 0 where all answers are the same."""
    said = p[:, np.newaxis] >= _GRID
    hits, n_said = said[truth].sum(axis=0), said.sum(axis=0)
    n, n_true = len(p), int(truth.sum())
    scale = np.sqrt(n_said * (n - n_said) * float(n_true * (n - n_true)))
    above = hits * n - n_said * n_true
    return np.asarray(np.where(scale > 0, above / np.maximum(scale, 1), 0.0))
