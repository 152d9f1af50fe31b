r"""The truth behind the labels of several annotators who err each in their own way [1]_.

Annotator j gives the label l to an item of the true class k with probability :math:`\pi^j_{kl}`.
Expectation and maximisation alternate: classes from confusions, confusions from classes.

References
----------
.. [1] A. P. Dawid and A. M. Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the
   EM Algorithm", Journal of the Royal Statistical Society C 28(1), pages 20-28, 1979.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import check_count
from voirdire.errors import InputError
from voirdire.stats.label_arrays import check_codes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["dawid_skene", "majority_shares"]

_SMOOTHED = 0.01
_TOLERANCE = 1e-6


def majority_shares(labels: ArrayLike, *, n_labels: int = 2) -> NDArray[np.float64]:
    """Give each item's most frequent label, shared alike among labels that tie.

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
    votes = _votes(labels, n_labels).sum(axis=1)
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
    votes = _votes(labels, n_labels)
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


def _votes(labels: ArrayLike, n_labels: int) -> NDArray[Any]:
    """Mark who gave which label, shape (n_items, n_annotators, n_labels)."""
    check_count("n_labels", n_labels, minimum=2)
    codes = np.asarray(labels)
    if codes.ndim != 2:
        msg = f"`labels` must be integer codes of shape (n_items, n_annotators), got {codes.shape}."
        raise InputError(msg)
    codes = check_codes("labels", codes, n_labels=n_labels)
    return (codes[..., np.newaxis] == np.arange(n_labels)).astype(np.float64)
