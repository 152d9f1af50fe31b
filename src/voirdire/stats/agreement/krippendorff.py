r"""Estimates Krippendorff's α with an interval, for any raters and missing labels.

With :math:`m_i \ge 2` labels on item i, n labels in all and :math:`\delta` the squared metric,

.. math:: \alpha = 1 - D_o / D_e, \quad
   D_o = \frac1n \sum_i \frac{\sum_{a \ne b} \delta(a, b)}{m_i - 1}, \quad
   D_e = \frac{1}{n(n-1)} \sum_{a \ne b} \delta(a, b),

the second sum over all pairs of labels whatever their item [1]_. Both are smooth functions of sums
over items, so the standard error of α follows from each item's influence on them, summed within
clusters where there are any; `voirdire.stats.intervals` makes the interval from it, in Fisher's z.

References
----------
.. [1] K. Krippendorff, "Content Analysis", 4th edition, 2018, chapter 12.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._validation import check_choice, check_fraction
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.agreement.labels import RatioDisagreement, code_labels
from voirdire.stats.agreement.many_raters import ItemAgreement
from voirdire.stats.intervals import check_units

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.agreement.labels import CodedLabels, Disagreement, Weights
    from voirdire.stats.label_arrays import LabelSets

__all__ = ["KrippendorffResult", "Level", "krippendorff_alpha"]

Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio", "sets"]

_WEIGHTS: dict[Level, Weights | None] = {
    "nominal": None,
    "ordinal": "quadratic",
    "interval": "quadratic",
    "ratio": "quadratic",
    "sets": "jaccard",
}


@dataclass(frozen=True, kw_only=True)
class KrippendorffResult:
    """Krippendorff's α with its interval and its counts.

    Attributes
    ----------
    alpha : float
        At most 1; 0 is chance. nan where it is undefined (see `reason`).
    low, high : float
        Ends of the interval; nan where undefined.
    confidence_level : float
        Nominal coverage, in (0, 1).
    level : str
        The metric: nominal, ordinal, interval, ratio or sets.
    n_items : int
        Items with at least two labels.
    n_labels : int
        Labels on those items.
    n_clusters : int
        Independent units behind the interval.
    reason : str or None
        Why a figure is nan.
    """

    alpha: float
    low: float
    high: float
    confidence_level: float
    level: Level
    n_items: int
    n_labels: int
    n_clusters: int
    reason: str | None = None


def krippendorff_alpha(
    labels: ArrayLike,
    *,
    level: Level = "nominal",
    label_sets: ArrayLike | LabelSets | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> KrippendorffResult:
    """Measure how far raters agree beyond chance, missing labels allowed.

    Parameters
    ----------
    labels : array_like, shape (n_items, n_raters)
        For ``"nominal"`` and ``"sets"`` integer codes with -1 for missing; otherwise numbers
        with nan for missing.
    level : {"nominal", "ordinal", "interval", "ratio", "sets"}, optional
        The squared metric: unequal labels; difference of midranks; difference; difference over
        sum (labels must be positive or zero); Jaccard distance of label sets.
    label_sets : array_like of bool, shape (n_sets, n_labels), optional
        For ``"sets"``: which labels the set of each code holds.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).

    Returns
    -------
    KrippendorffResult
        α is nan without two labels on any item, or where all labels are equal; the interval is
        nan with fewer than two clusters, and closes on 1 under perfect agreement.

    Raises
    ------
    InputError
        If shapes or types are wrong, or `confidence_level` is outside (0, 1).

    Warns
    -----
    DegenerateDataWarning
        If α is undefined.

    Notes
    -----
    The interval takes the items, or clusters, as the random sample. Reference values in the tests
    come from the `krippendorff` package.

    Examples
    --------
    >>> result = krippendorff_alpha([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, -1]])
    >>> round(result.alpha, 3)
    0.667
    """
    result = measure_agreement(
        labels,
        level=level,
        label_sets=label_sets,
        clusters=clusters,
        confidence_level=confidence_level,
    )
    if result.reason is not None:
        what = "α" if np.isnan(result.alpha) else "the interval of α"
        msg = f"{what} is undefined: {result.reason}."
        warnings.warn(msg, DegenerateDataWarning, stacklevel=2)
    return result


def measure_agreement(
    labels: ArrayLike,
    *,
    level: Level,
    label_sets: ArrayLike | LabelSets | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> KrippendorffResult:
    """Compute `krippendorff_alpha` without its warning."""
    check_choice("level", level, Level)
    check_fraction("confidence_level", confidence_level)
    sets = label_sets if level == "sets" else None
    if level == "sets" and sets is None:
        msg = "`label_sets` must be given for 'sets', got None."
        raise InputError(msg)
    matrix = _check_numbers(labels, level)
    coded = code_labels(matrix, weights=_WEIGHTS[level], label_sets=sets)
    units = check_units(clusters, coded.codes.shape[1])
    items = ItemAgreement(
        coded, _disagreement(coded, level), units=units, confidence_level=confidence_level
    )
    found = items.krippendorff_alpha()
    return KrippendorffResult(
        alpha=found.estimate,
        low=found.low,
        high=found.high,
        confidence_level=confidence_level,
        level=level,
        n_items=found.n_items,
        n_labels=int(items.n_labels[items.n_labels >= 2].sum()),
        n_clusters=found.n_clusters,
        reason=found.reason,
    )


def _check_numbers(labels: ArrayLike, level: Level) -> NDArray[Any]:
    matrix = np.asarray(labels)
    if level in ("nominal", "sets") or matrix.ndim != 2:
        return matrix
    numbers = matrix.astype(np.float64, copy=False)
    if np.isinf(numbers).any() or (level == "ratio" and (numbers < 0).any()):
        rule = "finite numbers, none below 0" if level == "ratio" else "finite numbers"
        msg = f"`labels` must be {rule} for {level!r}, nan where missing."
        raise InputError(msg)
    return numbers


def _disagreement(coded: CodedLabels, level: Level) -> Disagreement:
    everything = slice(None)
    if level == "ratio":
        return RatioDisagreement(np.arange(coded.n_labels), coded.values)
    if level != "ordinal":
        return coded.disagreement(everything)
    present = coded.codes >= 0
    present &= np.count_nonzero(present, axis=0) >= 2
    counts = np.bincount(coded.codes[present], minlength=coded.n_labels)
    midranks = np.cumsum(counts) - counts / 2
    return replace(coded, values=midranks).disagreement(everything)
