r"""Describes labels of a crowd: their distribution, their majority, and the estimated truth.

Where people split, one label is no truth: an item has the distribution of labels :math:`q` that
many people would give, of which its n labels are a sample. With :math:`\hat q_k = n_k / n`,

.. math:: \tfrac12 \sum_k (p_k - \hat q_k)^2 - \frac{1}{2 (n - 1)} \sum_k \hat q_k (1 - \hat q_k)

estimates the squared distance :math:`\frac12 \sum_k (p_k - q_k)^2` without bias, and
:math:`\sum_k n_k (n_k - 1) / (n (n - 1))` how often two people give one label [1]_. A person's own
label, taken as a judge that is always sure, lies :math:`\frac12 (1 - \sum_k q_k^2)` from the crowd.

References
----------
.. [1] E. H. Simpson, "Measurement of Diversity", Nature 163, page 688, 1949.
   :doi:`10.1038/163688a0`
.. [2] A. P. Dawid and A. M. Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the
   EM Algorithm", Journal of the Royal Statistical Society C 28(1), pages 20-28, 1979.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import check_count, check_fraction
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.intervals import (
    Estimate,
    check_units,
    count_units,
    estimate_mean,
    take_units,
)
from voirdire.stats.label_arrays import check_codes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["LabelVariation", "dawid_skene", "label_variation", "majority_shares"]


@dataclass(frozen=True, kw_only=True)
class LabelVariation:
    """A judge's probabilities beside the distributions of people's labels.

    Attributes
    ----------
    distance : Estimate
        Mean squared distance of the judge's probabilities from people's, 0 for the same and at
        most 1; may fall a little below 0 by chance.
    distance_person, distance_base_rate : Estimate
        The same for one person's label, and for the labels' overall shares on every item.
    gain : Estimate
        How much closer the judge is than the overall shares, item by item; above 0 where the judge
        tells items apart.
    agreement : Estimate
        How often a label drawn by the judge's probabilities is that of a person, in [0, 1].
    agreement_people : Estimate
        How often two people give one label: what a judge that knew every distribution would reach
        too.
    doubt_correlation : float
        Pearson's correlation over items of the judge's doubt (1 - Σp²) with people's; weakened
        where items have few labels, nan where either never changes.
    confidence_level : float
        Nominal coverage of the intervals, in (0, 1).
    n_items : int
        Items with at least two labels and the judge's probabilities.
    n_units : int
        Clusters, or items where none are declared.
    reason : str or None
        Why figures are nan.
    """

    distance: Estimate
    distance_person: Estimate
    distance_base_rate: Estimate
    gain: Estimate
    agreement: Estimate
    agreement_people: Estimate
    doubt_correlation: float
    confidence_level: float
    n_items: int
    n_units: int
    reason: str | None = None


def label_variation(
    probabilities: ArrayLike,
    counts: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> LabelVariation:
    """Measure how close a judge's probabilities are to the distribution of people's labels.

    Parameters
    ----------
    probabilities : array_like of float, shape (n_items,) or (n_items, n_labels)
        The judge's probability of each label, rows that sum to 1; with one column that of the
        second of two labels ("yes"). nan where the judge gave none.
    counts : array_like of int, shape (n_items, n_labels)
        How many people gave each label. Items with fewer than two labels say nothing and are left
        out.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).

    Returns
    -------
    LabelVariation

    Raises
    ------
    InputError
        If shapes differ, probabilities are outside [0, 1] or do not sum to 1, counts are negative
        or not whole, or `confidence_level` is outside (0, 1).

    Warns
    -----
    DegenerateDataWarning
        If no interval, or nothing at all, can be computed.

    Notes
    -----
    Intervals are those of a mean over items or clusters, with Hall's correction for skewness
    (1992). The overall shares are taken as known: with a hundred items that adds little.

    Examples
    --------
    Ten people label each item; the judge knows how many of them say yes:

    >>> counts = np.array([[9, 1], [5, 5], [2, 8], [10, 0]])
    >>> found = label_variation([0.1, 0.5, 0.8, 0.0], counts)
    >>> found.distance.estimate < 0.01 < found.distance_person.estimate
    True
    >>> round(found.agreement_people.estimate, 3)
    0.722
    """
    check_fraction("confidence_level", confidence_level)
    given, labels = _check(probabilities, counts)
    units = check_units(clusters, len(labels))
    total = labels.sum(axis=1)
    taken = (total >= 2) & ~np.isnan(given).any(axis=1)
    given, labels, n = given[taken], labels[taken], total[taken, np.newaxis]
    n_units = count_units(units, taken)
    units = take_units(units, taken)
    reason = None
    if n_units < 2:
        reason = "an interval needs at least two items, or two clusters"
        if not len(given):
            reason = "no item has two labels and the judge's probabilities"
        warnings.warn(f"label variation is undefined: {reason}.", DegenerateDataWarning, 2)
    seen = labels / np.maximum(n, 1)
    bias = (seen * (1 - seen)).sum(axis=1) / np.maximum(n[:, 0] - 1, 1) / 2
    same = (labels * (labels - 1) / np.maximum(n * (n - 1), 1)).sum(axis=1)
    base = seen.mean(axis=0) if len(seen) else np.zeros(labels.shape[1])
    distance = ((given - seen) ** 2).sum(axis=1) / 2 - bias
    at_base = ((base - seen) ** 2).sum(axis=1) / 2 - bias
    of_items = {
        "distance": distance,
        "distance_person": (1 - same) / 2,
        "distance_base_rate": at_base,
        "gain": at_base - distance,
        "agreement": (given * seen).sum(axis=1),
        "agreement_people": same,
    }
    return LabelVariation(
        **{
            name: estimate_mean(values, units, confidence_level=confidence_level)
            for name, values in of_items.items()
        },
        doubt_correlation=_correlate(1 - (given**2).sum(axis=1), 1 - same),
        confidence_level=confidence_level,
        n_items=len(given),
        n_units=n_units,
        reason=reason,
    )


def _check(
    probabilities: ArrayLike, counts: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    labels = np.asarray(counts, dtype=np.float64)
    if labels.ndim != 2 or labels.shape[1] < 2:
        msg = f"`counts` must have the shape (n_items, n_labels), got {labels.shape}."
        raise InputError(msg)
    if not (labels >= 0).all() or (labels != np.floor(labels)).any():
        msg = "`counts` must be whole numbers from 0: how many people gave each label."
        raise InputError(msg)
    given = np.asarray(probabilities, dtype=np.float64)
    if given.ndim == 1 and labels.shape[1] == 2:
        given = np.stack([1 - given, given], axis=1)
    if given.shape != labels.shape:
        msg = f"`probabilities` must have the shape of `counts` {labels.shape}, got {given.shape}."
        raise InputError(msg)
    known = given[~np.isnan(given).any(axis=1)]
    if (known < 0).any() or (np.abs(known.sum(axis=1) - 1) > 1e-6).any():
        msg = "`probabilities` must be in [0, 1] and sum to 1 for each item."
        raise InputError(msg)
    return given, labels


def _correlate(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    if len(first) < 2 or np.ptp(first) < 1e-12 or np.ptp(second) < 1e-12:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


# The majority, and the truth ----------------------------------------------------------------------

_SMOOTHED = 0.01
_TOLERANCE = 1e-6


def majority_shares(labels: ArrayLike, *, n_labels: int = 2) -> NDArray[np.float64]:
    """Return each item's most frequent label, shared alike among labels that tie.

    Parameters
    ----------
    labels : array_like of int, shape (n_items, n_annotators)
        Codes from 0, -1 where an annotator gave none.
    n_labels : int, optional
        How many labels there are, at least 2.

    Returns
    -------
    ndarray of float, shape (n_items, n_labels)
        Rows sum to 1; nan where nobody labelled an item.

    Raises
    ------
    InputError
        If shape or codes break a rule above.

    Examples
    --------
    >>> majority_shares([[1, 1, 0], [1, 0, -1]]).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
    codes = _check_codes(labels, n_labels)
    votes = np.zeros((len(codes), n_labels), dtype=np.int32)
    for column in codes.T:
        known = np.flatnonzero(column >= 0)
        votes[known, column[known]] += 1
    top = (votes == votes.max(axis=1, keepdims=True)) & (votes > 0)
    with np.errstate(invalid="ignore"):
        return top / top.sum(axis=1, keepdims=True)


def dawid_skene(
    labels: ArrayLike, *, n_labels: int = 2, n_iterations: int = 200
) -> NDArray[np.float64]:
    """Estimate the class of each item from annotators who differ in how they err.

    Parameters
    ----------
    labels : array_like of int, shape (n_items, n_annotators)
        Codes from 0, -1 where an annotator gave none.
    n_labels : int, optional
        How many labels there are, at least 2.
    n_iterations : int, optional
        The most steps; it ends before where no probability moves by a millionth.

    Returns
    -------
    ndarray of float, shape (n_items, n_labels)
        The probability of each class, rows sum to 1; nan where nobody labelled an item.

    Raises
    ------
    InputError
        If shape or codes break a rule above.

    Notes
    -----
    It starts from the shares of votes. Confusions are smoothed by a hundredth of a label, so that a
    label that an annotator never gave does not rule a class out. With two annotators, or with
    annotators who mostly err, what it finds need not be the truth: compare it with the majority.

    Examples
    --------
    Two careful annotators outweigh three who always say 1:

    >>> truth = np.arange(40) % 2
    >>> labels = np.stack([truth, truth, *[np.ones(40, int)] * 3], axis=1)
    >>> (dawid_skene(labels).argmax(axis=1) == truth).all()
    np.True_
    """
    check_count("n_iterations", n_iterations, minimum=1)
    codes = _check_codes(labels, n_labels)
    votes = (codes[..., np.newaxis] == np.arange(n_labels)).astype(np.float64)
    labelled = votes.any(axis=(1, 2))
    given = votes[labelled]
    classes = given.sum(axis=1) / given.sum(axis=(1, 2))[:, np.newaxis]
    for _ in range(n_iterations):
        confusion = np.einsum("ik,ijl->jkl", classes, given) + _SMOOTHED
        confusion /= confusion.sum(axis=-1, keepdims=True)
        prior = classes.mean(axis=0)
        with np.errstate(divide="ignore"):
            likelihood = np.einsum("ijl,jkl->ik", given, np.log(confusion)) + np.log(prior)
        found = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
        found /= found.sum(axis=1, keepdims=True)
        moved = np.abs(found - classes).max(initial=0.0)
        classes = found
        if moved < _TOLERANCE:
            break
    result = np.full((len(votes), n_labels), np.nan)
    result[labelled] = classes
    return result


def _check_codes(labels: ArrayLike, n_labels: int) -> NDArray[Any]:
    check_count("n_labels", n_labels, minimum=2)
    codes = np.asarray(labels)
    if codes.ndim != 2:
        msg = f"`labels` must be integer codes of shape (n_items, n_annotators), got {codes.shape}."
        raise InputError(msg)
    return check_codes("labels", codes, n_labels=n_labels)
