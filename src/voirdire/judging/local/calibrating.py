"""Fits the calibrators of a judge on held-out scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.judging.local.training import FEW
from voirdire.judging.local.weights import to_probabilities
from voirdire.stats import (
    CalibrationMethod,
    Calibrator,
    PlattCalibrator,
    calibrator_from_dict,
    fit_calibrator,
    group_folds,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.judging.local.training import TrainingSet

__all__ = ["answer_held_out", "calibrate_held_out", "calibrate_questions", "choose_thresholds"]

_DIGITS = 6


def calibrate_questions(
    scores: NDArray[np.float64], training: TrainingSet, *, method: CalibrationMethod
) -> tuple[Calibrator, ...]:
    """Fit the calibrator of every question.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_items, n_questions)
        Log-odds of items that were held out.
    training : TrainingSet
        The same items with their labels.
    method : {"platt", "temperature"}
        Which kind.

    Returns
    -------
    tuple of Calibrator
        One per question; where all labels are the same, one that gives about their share.
    """
    rows = np.ones(training.n_items, dtype=np.bool_)
    return tuple(
        _calibrator(scores, training, question=question, rows=rows, method=method)
        for question in range(scores.shape[1])
    )


def calibrate_held_out(
    scores: NDArray[np.float64],
    training: TrainingSet,
    *,
    method: CalibrationMethod,
    n_folds: int,
    seed: int,
) -> NDArray[np.float64]:
    """Calibrate each item with calibrators that were fitted without its group."""
    folds = group_folds(training.groups, n_folds=n_folds, seed=seed)
    probabilities = np.empty_like(scores)
    for fold in range(n_folds):
        inside = folds == fold
        raw = to_probabilities(scores[inside])
        for question in range(scores.shape[1]):
            calibrator = _calibrator(
                scores, training, question=question, rows=~inside, method=method
            )
            probabilities[inside, question] = calibrator.apply(raw[:, question])
    return probabilities


def _rows_to_calibrate_by(training: TrainingSet, question: int) -> NDArray[np.bool_]:
    """Select the items to calibrate on: those of calibrating sets, or all where these have few."""
    known = np.isfinite(training.targets[:, question])
    wanted = known & training.calibrates
    truth = training.truths()[wanted, question]
    enough = min(int(truth.sum()), int((~truth).sum())) >= FEW
    return wanted if enough else known


def _calibrator(
    scores: NDArray[np.float64],
    training: TrainingSet,
    *,
    question: int,
    rows: NDArray[np.bool_],
    method: CalibrationMethod,
) -> Calibrator:
    used = rows & _rows_to_calibrate_by(training, question)
    targets, weights = training.targets[used, question], _balance_sets(training, used)
    if not len(targets) or targets.min() >= 0.5 or targets.max() < 0.5:
        share = (float((weights * targets).sum()) + 0.5) / (float(weights.sum()) + 1)
        return PlattCalibrator(
            slope=0.0, intercept=_round_numbers(float(np.log(share / (1 - share))))
        )
    fitted = fit_calibrator(
        to_probabilities(scores[used, question]), targets, method=method, weights=weights
    )
    return calibrator_from_dict(_round_numbers(fitted.to_dict()))


def _balance_sets(training: TrainingSet, used: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Weigh the sets equally, since a judge will meet other kinds of text."""
    weights, names = training.weights[used], training.sets[used]
    codes = np.unique(names, return_inverse=True)[1]
    totals = np.bincount(codes, weights=weights)
    return np.asarray(weights / totals[codes] * (len(weights) / len(totals)))


def _round_numbers(value: Any) -> Any:
    """Round numbers, so that all processors make the same judge."""
    if isinstance(value, dict):
        return {name: _round_numbers(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_round_numbers(part) for part in value]
    return round(float(value), _DIGITS) if isinstance(value, float) else value


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
    probabilities: NDArray[np.float64],
    training: TrainingSet,
    *,
    rows: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Choose a threshold per question, on all items or on some of the rows.

    Halfway between the one with the highest Matthews correlation and the lowest within 2% of it, as
    a weighted mean over the sets of `home` items with enough of both answers; 1/2 where there is no
    such set, or where no threshold helps.
    """
    usable = training.home & training.calibrates
    usable = usable if rows is None else usable & rows
    truths, known = training.truths(), np.isfinite(training.targets)
    chosen = np.full(probabilities.shape[1], 0.5)
    for question in range(len(chosen)):
        worth, total = np.zeros(len(_GRID)), 0.0
        for name in dict.fromkeys(training.sets[usable].tolist()):
            inside = usable & known[:, question] & (training.sets == name)
            truth = truths[inside, question]
            n_rarer = min(int(truth.sum()), int((~truth).sum()))
            if n_rarer >= FEW:
                found = _correlations(probabilities[inside, question], truth)
                worth += np.sqrt(n_rarer) * found
                total += np.sqrt(n_rarer) * _NEAR
        padded = np.pad(worth, _NEAR // 2, mode="edge")
        smooth = np.convolve(padded, np.ones(_NEAR), mode="valid") / max(total, 1.0)
        if smooth.max() >= _LEAST_CORRELATION:
            best = int(np.median(np.flatnonzero(smooth >= smooth.max() - 1e-9)))
            lowest = int(np.argmax(smooth >= smooth.max() * _NEARLY_AS_GOOD))
            chosen[question] = round(float(_GRID[(best + lowest) // 2]), 2)
    return chosen


def answer_held_out(
    probabilities: NDArray[np.float64], training: TrainingSet, *, n_folds: int, seed: int
) -> NDArray[np.bool_]:
    """Answer each item with thresholds that were chosen without its group."""
    folds = group_folds(training.groups, n_folds=n_folds, seed=seed)
    answers = np.empty(probabilities.shape, dtype=np.bool_)
    for fold in range(n_folds):
        thresholds = choose_thresholds(probabilities, training, rows=folds != fold)
        answers[folds == fold] = probabilities[folds == fold] >= thresholds
    return answers


def _correlations(p: NDArray[np.float64], truth: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Matthews' correlation at every threshold of the grid; 0 where all answers are the same."""
    said = p[:, np.newaxis] >= _GRID
    hits, n_said = said[truth].sum(axis=0), said.sum(axis=0)
    n, n_true = len(p), int(truth.sum())
    scale = np.sqrt(n_said * (n - n_said) * float(n_true * (n - n_true)))
    above = hits * n - n_said * n_true
    return np.asarray(np.where(scale > 0, above / np.maximum(scale, 1), 0.0))
