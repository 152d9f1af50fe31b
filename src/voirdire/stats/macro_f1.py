"""The figure of HealthBench's meta-evaluation: macro F1 of a judge against each person's label."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit, stdtrit

from voirdire._types import Share  # noqa: TC001  # what reads the JSON looks at the types
from voirdire._validation import check_fraction
from voirdire.errors import DegenerateDataWarning, InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, kw_only=True)
class PairwiseF1:
    """Macro F1 of a judge over all pairs of its label and a person's.

    Attributes
    ----------
    value, low, high : float
        The judge's, in [0, 1], with its interval; nan where it is undefined.
    people : float
        The same of every person against each other one; nan without two on an item.
    n_pairs : int
        Pairs of the judge and a person.
    n_units : int
        Independent units: clusters, or items.
    """

    value: Share
    low: Share
    high: Share
    people: Share
    n_pairs: int
    n_units: int


def pairwise_f1(
    judge: ArrayLike,
    humans: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> PairwiseF1:
    r"""Measure a judge of yes-or-no questions against every single label of people.

    This is the figure of the meta-evaluation of HealthBench [1]_. No majority is taken: an item
    that three people labelled gives three pairs. The interval takes the clusters as the sample,
    since the criteria of a prompt are right and wrong together.

    Parameters
    ----------
    judge : array_like of int, shape (n_items,)
        1 for yes, 0 for no, -1 where it did not answer.
    humans : array_like of int, shape (n_items, n_annotators)
        The same of people.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to; by default each item is one.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).

    Returns
    -------
    PairwiseF1

    Raises
    ------
    InputError
        If shapes do not fit, or `confidence_level` is outside (0, 1).

    Warns
    -----
    DegenerateDataWarning
        If neither side ever says yes, or no, or there is one unit: then figures are nan.

    Notes
    -----
    Over all pairs, with a both yes, d both no and e different,
    :math:`F = \frac12 \left(\frac{2a}{2a + e} + \frac{2d}{2d + e}\right)`. The standard error is
    that of its linearisation over units, the interval is made with t of one less than their number
    on the logit scale.

    References
    ----------
    .. [1] R. K. Arora et al., "HealthBench: Evaluating Large Language Models Towards Improved
       Human Health", arXiv:2505.08775, 2025, section 8.

    Examples
    --------
    >>> found = pairwise_f1([1, 1, 0, 0], [[1, 1], [1, 0], [0, 0], [0, 1]])
    >>> found.value, found.n_pairs
    (0.75, 8)
    """
    check_fraction("confidence_level", confidence_level)
    own, people = np.asarray(judge), np.asarray(humans)
    if people.ndim != 2 or own.shape != people.shape[:1]:
        msg = f"`humans` must have a row for each of the judge's {own.size} answers, got "
        raise InputError(f"{msg}the shape {people.shape}.")
    units = np.arange(own.size) if clusters is None else np.asarray(clusters)
    _, units = np.unique(units, return_inverse=True)
    yes, no = (people == 1).sum(axis=1), (people == 0).sum(axis=1)
    n_known = yes + no
    both = np.array([(own == 1) * yes, (own == 0) * no, (own == 1) * no + (own == 0) * yes])
    among = np.array([yes * (yes - 1), no * (no - 1), 2 * yes * no])
    is_used = (own >= 0) & (n_known > 0)
    tables = np.array([np.bincount(units[is_used], row[is_used]) for row in both.astype(float)])
    tables = tables[:, tables.sum(axis=0) > 0]
    value, slope = _macro_f1(tables.sum(axis=1))
    n_units = tables.shape[1]
    low = high = math.nan
    if n_units > 1 and not math.isnan(value):
        error = math.sqrt(n_units / (n_units - 1) * float(((slope @ tables) ** 2).sum()))
        low = high = value
        if 0 < value < 1:
            reach = stdtrit(n_units - 1, (1 + confidence_level) / 2) * error / (value * (1 - value))
            low, high = (float(expit(logit(value) + sign * reach)) for sign in (-1, 1))
    if math.isnan(low):
        what = "fewer than two units" if n_units < 2 else "one of the two answers never occurs"
        warnings.warn(f"macro F1 is undefined: {what}.", DegenerateDataWarning, stacklevel=2)
    return PairwiseF1(
        value=value,
        low=low,
        high=high,
        people=_macro_f1(among.sum(axis=1).astype(float))[0],
        n_pairs=int(n_known[is_used].sum()),
        n_units=n_units,
    )


def _macro_f1(table: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Compute the figure of pairs that are both yes, both no and different, and its gradient."""
    *same, e = table.tolist()
    wholes = [2 * n + e for n in same]
    if min(wholes) == 0:
        return math.nan, np.zeros(3)
    by_same = [e / whole**2 for whole in wholes]
    by_e = -sum(n / whole**2 for n, whole in zip(same, wholes, strict=True))
    value = sum(n / whole for n, whole in zip(same, wholes, strict=True))
    return value, np.array([*by_same, by_e])
