"""Calibrate without letting an item's own truth, or its group's, into its probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import check_count
from voirdire.errors import InputError
from voirdire.stats.calibration.checks import check_groups, check_probabilities, check_truths
from voirdire.stats.calibration.fitting import fit_calibrator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.calibration.calibrators import CalibrationMethod

__all__ = ["cross_calibrate", "group_folds"]


def group_folds(groups: ArrayLike, *, n_folds: int = 5, seed: int = 0) -> NDArray[np.intp]:
    """Deal groups out over folds of about equal size; a group is never split.

    Parameters
    ----------
    groups : array_like, shape (n_items,)
        Which group each item belongs to, for instance its prompt.
    n_folds : int, optional
        At least 2, and at most the number of groups.
    seed : int, optional
        The same seed gives the same folds.

    Returns
    -------
    ndarray of int, shape (n_items,)
        The fold of each item, from 0.

    Raises
    ------
    InputError
        If there are fewer groups than folds.

    Examples
    --------
    >>> folds = group_folds(["a", "a", "b", "c", "c", "d"], n_folds=2)
    >>> [int(count) for count in np.bincount(folds)]
    [3, 3]
    """
    units = check_groups(groups, n_items=len(np.asarray(groups)))
    n_folds = check_count("n_folds", n_folds, minimum=2)
    sizes = np.bincount(units)
    if len(sizes) < n_folds:
        msg = (
            f"`groups` must be at least as many as folds, got {len(sizes)} for {n_folds} folds. "
            "Take fewer folds or more groups."
        )
        raise InputError(msg)
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    largest_first = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    fold_of_group = np.empty(len(sizes), dtype=np.intp)
    filled = np.zeros(n_folds)
    for group in largest_first:
        fold = int(filled.argmin())
        fold_of_group[group] = fold
        filled[fold] += sizes[group]
    return fold_of_group[units]


def cross_calibrate(
    probabilities: ArrayLike,
    truths: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    method: CalibrationMethod = "platt",
    n_folds: int = 5,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Calibrate each fold of items by a calibrator that was fitted to the other folds.

    What comes back may be compared with the truths: how well a calibrator fitted to all of them
    will do on new items. Measured on the items that it was fitted to, it would look too good.

    Parameters
    ----------
    probabilities : array_like of float, shape (n_items,)
        The judge's, in [0, 1]; themselves of items that the judge was not trained on.
    truths : array_like of bool or float, shape (n_items,)
        Whether it was so; a share in [0, 1] is a soft label.
    groups : array_like, shape (n_items,), optional
        Items of one group stay in one fold. By default every item is its own.
    method : {"platt", "temperature", "isotonic"}, optional
        See `fit_calibrator`.
    n_folds : int, optional
        At least 2.
    seed : int, optional
        The same seed gives the same folds.

    Returns
    -------
    ndarray of float, shape (n_items,)
        Calibrated probabilities.

    Raises
    ------
    InputError
        As `fit_calibrator`; also if the truths outside of a fold are all alike.

    Examples
    --------
    >>> p = np.linspace(0.05, 0.95, 40)
    >>> truths = p ** 2 > np.tile([0.2, 0.5, 0.8, 0.4], 10)
    >>> cross_calibrate(p, truths, n_folds=4).round(1)[[0, 39]].tolist()
    [0.0, 1.0]
    """
    p = check_probabilities(probabilities)
    y = check_truths(truths, n_items=len(p))
    folds = group_folds(check_groups(groups, n_items=len(p)), n_folds=n_folds, seed=seed)
    result = np.empty_like(p)
    for fold in range(n_folds):
        inside = folds == fold
        calibrator = fit_calibrator(p[~inside], y[~inside], method=method)
        result[inside] = calibrator.apply(p[inside])
    return result
