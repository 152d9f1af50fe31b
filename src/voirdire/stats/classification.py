"""A judge against one gold label per item: how often it is right, and about what.

Every figure is a function f of the table P of shares of items by gold label and judge's label, or
a mean over items. An item of the cell (a, b) changes it by the derivative of f from P towards that
cell, and the sum of these influences over items (or clusters) gives its standard error [1]_; the
interval is that of agreement coefficients, on a scale that keeps it within the figure's limits.
The interval of the area under the curve is Newcombe's [2]_; clusters widen it by what they add to
the error that the placements of items give.

The lowest coverage at .95 of three judges (sensitivity and specificity .95 and .95, .8 and .7, .6
and .6), 1,000 samples of independent items each (standard error .007):

========================= ==== ==== ==== ==== ==== ==== ==== ==== ====
share of positives        .03            .1             .5
------------------------- -------------- -------------- --------------
items                     50   100  400  50   100  400  50   100  400
========================= ==== ==== ==== ==== ==== ==== ==== ==== ====
accuracy                  .953 .941 .938 .964 .950 .946 .944 .949 .941
balanced accuracy         .986 .988 .979 .979 .979 .963 .965 .929 .946
F1                        .996 .994 .974 .987 .985 .957 .963 .957 .952
Matthews' correlation     .998 .978 .951 .972 .966 .960 .967 .960 .942
sensitivity               .998 .998 .979 .996 .987 .968 .966 .945 .957
specificity               .956 .953 .944 .957 .958 .935 .965 .956 .948
precision                 .976 .967 .947 .969 .970 .950 .967 .954 .942
negative predictive value .928 .964 .954 .971 .959 .953 .972 .960 .957
area under the curve      .944 .954 .940 .950 .947 .953 .947 .948 .951
========================= ==== ==== ==== ==== ==== ==== ==== ==== ====

References
----------
.. [1] F. R. Hampel, "The Influence Curve and its Role in Robust Estimation", Journal of the
   American Statistical Association 69(346), pages 383-393, 1974.
.. [2] R. G. Newcombe, "Confidence Intervals for an Effect Size Measure Based on the Mann-Whitney
   Statistic, Part 2", Statistics in Medicine 25(4), pages 559-573, 2006, method 5.
.. [3] G. Y. Zou and A. Donner, "Construction of Confidence Limits about Effect Measures: A General
   Approach", Statistics in Medicine 27(10), pages 1693-1702, 2008.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from voirdire._validation import check_choice, check_count, check_fraction
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.agreement.coefficient import check_units, make_interval
from voirdire.stats.calibration import group_folds
from voirdire.stats.means import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ClassificationResult",
    "CrossFittedThreshold",
    "LabelFigures",
    "ThresholdGoal",
    "cross_threshold",
    "measure_classification",
]

ThresholdGoal: TypeAlias = Literal["mcc", "balanced_accuracy", "f1"]
"""What a threshold makes as large as it can be."""

_STEP = 1e-6
_FEW = 10


@dataclass(frozen=True, kw_only=True)
class LabelFigures:
    """One label against all others.

    Attributes
    ----------
    label : int
        Its code.
    n_gold, n_judged : int
        Items that have it, and that the judge gave it.
    sensitivity, precision, f1 : Estimate
        Share of those that have it that the judge gave it, the reverse, and the harmonic mean of
        the two; in [0, 1].
    """

    label: int
    n_gold: int
    n_judged: int
    sensitivity: Estimate
    precision: Estimate
    f1: Estimate


@dataclass(frozen=True, kw_only=True)
class ClassificationResult:
    """A judge's labels beside gold labels.

    Attributes
    ----------
    n_items : int
        Items with a gold label and the judge's.
    n_failures : int
        Items on which the judge was asked and gave none; left out of `figures`.
    table : tuple of tuple of int
        Items by gold label (rows) and judge's label (columns).
    figures : dict of str to Estimate
        ``"accuracy"``, ``"balanced_accuracy"``, ``"mcc"`` (Matthews' correlation) and ``"f1"``
        (with more than two labels means over labels, the first over those that are gold labels);
        with two labels, of which 1 is positive,
        also ``"sensitivity"``, ``"specificity"``, ``"precision"`` and
        ``"negative_predictive_value"``; with probabilities ``"auc"`` and ``"brier"``. All in
        [0, 1] but ``"mcc"``, in [-1, 1]; nan where undefined.
    worst_case : dict of str to float
        Accuracy, balanced accuracy and, with two labels, sensitivity and specificity with every
        failure counted as wrong.
    always : dict of str to float
        Accuracy and F1 of the judge that always gives the label that does best: what a figure must
        beat. Its balanced accuracy is 1 / number of labels, its correlation 0.
    labels : tuple of LabelFigures
        One per label, where there are more than two.
    confidence_level : float
        Nominal coverage of the intervals, in (0, 1).
    n_units : int
        Independent units: clusters, or items.
    reason : str or None
        Why figures are nan, or rest on little.
    """

    n_items: int
    n_failures: int
    table: tuple[tuple[int, ...], ...]
    figures: dict[str, Estimate]
    worst_case: dict[str, float]
    always: dict[str, float]
    labels: tuple[LabelFigures, ...] = field(repr=False)
    confidence_level: float
    n_units: int
    reason: str | None = None


def measure_classification(
    judged: ArrayLike,
    gold: ArrayLike,
    *,
    n_labels: int = 2,
    names: Sequence[str] | None = None,
    probabilities: ArrayLike | None = None,
    failed: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> ClassificationResult:
    """Measure how well a judge's labels match gold labels.

    Parameters
    ----------
    judged : array_like of int, shape (n_items,)
        Codes of the judge's labels from 0, -1 where it was not asked or failed.
    gold : array_like of int, shape (n_items,)
        The true codes, -1 where unknown.
    n_labels : int, optional
        How many labels there are, at least 2; with 2, code 1 is positive.
    names : sequence of str, optional
        What `reason` calls the labels; by default their codes.
    probabilities : array_like of float, shape (n_items,), optional
        With two labels: what the judge states for code 1, in [0, 1]; nan where nothing.
    failed : array_like of bool, shape (n_items,), optional
        Where the judge was asked and gave no usable answer.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).

    Returns
    -------
    ClassificationResult

    Raises
    ------
    InputError
        If shapes, codes or probabilities break a rule above.

    Warns
    -----
    DegenerateDataWarning
        If a label never occurs among the gold labels, or fewer than two items can be compared.

    Notes
    -----
    Sensitivity is undefined without a positive, specificity without a negative, precision without
    a positive answer. Memory is O(n_items + n_labels^4). Reference values in the tests come from
    scikit-learn, intervals from the definition of influence and from simulation.

    Examples
    --------
    The judge finds 8 of 10 positives, and is wrong about 9 of 90 negatives:

    >>> gold = np.repeat([1, 0], [10, 90])
    >>> judged = np.concatenate([np.repeat([1, 0], [8, 2]), np.repeat([1, 0], [9, 81])])
    >>> found = measure_classification(judged, gold)
    >>> {name: round(x.estimate, 2) for name, x in found.figures.items()}["sensitivity"]
    0.8
    >>> round(found.figures["mcc"].estimate, 2), found.always["accuracy"]
    (0.56, 0.9)
    """
    check_fraction("confidence_level", confidence_level)
    check_count("n_labels", n_labels, minimum=2)
    own, true = _check_codes(judged, gold, n_labels)
    lost = (own < 0) & (true >= 0) & _check_failed(failed, own.shape)
    stated = _check_probabilities(probabilities, own.shape, n_labels)
    units = check_units(clusters, len(own))
    taken = (own >= 0) & (true >= 0)
    cell = true[taken] * n_labels + own[taken]
    table = np.bincount(cell, minlength=n_labels**2).reshape(n_labels, n_labels)
    of_items = _Items(
        true=true[taken],
        units=None if units is None else np.unique(units[taken], return_inverse=True)[1],
        confidence_level=confidence_level,
    )
    measures = _PAIR if n_labels == 2 else _SEVERAL
    figures = {name: of_items.of_table(table, cell, x) for name, x in measures.items()}
    figures["balanced_accuracy"] = _combine_recalls(table, cell, of_items)
    if stated is not None:
        figures |= _of_probabilities(stated[taken], of_items)
    wrong = np.eye(n_labels, k=1) + np.eye(n_labels, k=1 - n_labels)  # a failure is another label
    failures = np.bincount(true[lost], minlength=n_labels)[:, np.newaxis] * wrong
    reason = _find_reason(table, names or [f"label {code}" for code in range(n_labels)])
    if reason is not None and np.isnan([x.estimate for x in figures.values()]).any():
        warnings.warn(f"figures are undefined: {reason}.", DegenerateDataWarning, stacklevel=2)
    return ClassificationResult(
        n_items=int(table.sum()),
        n_failures=int(np.count_nonzero(lost)),
        table=tuple(map(tuple, table.tolist())),
        figures=figures,
        worst_case={
            name: float(x.function((table + failures)[np.newaxis])[0])
            for name, x in measures.items()
            if name in ("accuracy", "balanced_accuracy", "sensitivity", "specificity")
        },
        always=_always(table),
        labels=tuple(
            _label_figures(label, table, cell, of_items)
            for label in range(n_labels)
            if n_labels > 2
        ),
        confidence_level=confidence_level,
        n_units=of_items.n_units,
        reason=reason,
    )


def _check_codes(
    judged: ArrayLike, gold: ArrayLike, n_labels: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    own, true = np.asarray(judged), np.asarray(gold)
    if own.ndim != 1 or own.shape != true.shape:
        msg = f"`judged`, `gold` must have one shape (n_items,), got {own.shape} and {true.shape}."
        raise InputError(msg)
    for name, codes in (("judged", own), ("gold", true)):
        if codes.dtype.kind not in "iu":
            msg = f"`{name}` must hold integer codes, -1 where missing, got {codes.dtype}."
            raise InputError(msg)
        if codes.size and not -1 <= codes.min() <= codes.max() < n_labels:
            msg = f"`{name}` must hold codes below {n_labels}, got {codes.min()} to {codes.max()}."
            raise InputError(msg)
    return own.astype(np.int64), true.astype(np.int64)


def _check_failed(failed: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    flags = np.zeros(shape, bool) if failed is None else np.asarray(failed, dtype=bool)
    if flags.shape != shape:
        msg = f"`failed` must have the shape {shape}, got {flags.shape}."
        raise InputError(msg)
    return flags


def _check_probabilities(
    probabilities: ArrayLike | None, shape: tuple[int, ...], n_labels: int
) -> NDArray[np.float64] | None:
    if probabilities is None:
        return None
    stated = np.asarray(probabilities, dtype=np.float64)
    known = stated[~np.isnan(stated)]
    if stated.shape != shape or n_labels != 2 or (known < 0).any() or (known > 1).any():
        msg = (
            f"`probabilities` must be in [0, 1] for two labels, of the shape {shape}, got "
            f"{n_labels} labels and the shape {stated.shape}."
        )
        raise InputError(msg)
    return stated


# Figures of a table -------------------------------------------------------------------------------


def _divide(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    whole = np.asarray(whole, dtype=np.float64)
    return np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)


def _accuracy(tables: NDArray[Any]) -> NDArray[np.float64]:
    return _divide(np.trace(tables, axis1=-2, axis2=-1), tables.sum(axis=(-2, -1)))


def _balanced_accuracy(tables: NDArray[Any]) -> NDArray[np.float64]:
    recalls = _divide(np.diagonal(tables, axis1=-2, axis2=-1), tables.sum(axis=-1))
    if tables.shape[-1] == 2:  # one of two labels alone is no balance
        return recalls.mean(axis=-1)
    found = ~np.isnan(recalls)
    return _divide(np.where(found, recalls, 0.0).sum(axis=-1), found.sum(axis=-1))


def _f1_of_labels(tables: NDArray[Any]) -> NDArray[np.float64]:
    hits = np.diagonal(tables, axis1=-2, axis2=-1)
    return _divide(2 * hits, tables.sum(axis=-1) + tables.sum(axis=-2))


def _macro_f1(tables: NDArray[Any]) -> NDArray[np.float64]:
    return _f1_of_labels(tables).mean(axis=-1)


def _mcc(tables: NDArray[Any]) -> NDArray[np.float64]:
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    n = rows.sum(axis=-1)
    covariance = n * np.trace(tables, axis1=-2, axis2=-1) - (rows * columns).sum(axis=-1)
    spreads = (n**2 - (rows**2).sum(axis=-1)) * (n**2 - (columns**2).sum(axis=-1))
    return _divide(covariance, np.sqrt(np.maximum(spreads, 0)))


_Cells: TypeAlias = "Callable[[NDArray[Any]], NDArray[Any]]"


@dataclass(frozen=True)
class _Measure:
    """A function of tables of shape (n_tables, n, n), and the cells whose items carry it."""

    function: _Cells
    carriers: _Cells
    least: float = 0.0


def _everything(table: NDArray[Any]) -> NDArray[np.bool_]:
    return np.ones(table.shape, dtype=np.bool_)


def _rarest(table: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the row of the rarest gold label: it decides how much a mean over labels rests on."""
    marked = np.zeros(table.shape, dtype=np.bool_)
    marked[table.sum(axis=1).argmin()] = True
    return marked


def _positives(table: NDArray[Any]) -> NDArray[np.bool_]:
    marked = np.zeros(table.shape, dtype=np.bool_)
    marked[1] = True
    return marked


def _share_of(cell: int, *, of_gold: bool) -> _Measure:
    """Measure the share of a cell of the diagonal in its row, or in its column."""

    def line(table: NDArray[Any]) -> NDArray[np.bool_]:
        marked = np.zeros(table.shape, dtype=np.bool_)
        marked[(cell, slice(None)) if of_gold else (slice(None), cell)] = True
        return marked

    axis = -1 if of_gold else -2
    return _Measure(
        lambda tables: _divide(tables[:, cell, cell], tables.sum(axis=axis)[:, cell]), line
    )


_SEVERAL = {
    "accuracy": _Measure(_accuracy, _everything),
    "balanced_accuracy": _Measure(_balanced_accuracy, _rarest),
    "f1": _Measure(_macro_f1, _rarest),
    "mcc": _Measure(_mcc, _rarest, least=-1.0),
}
_PAIR = _SEVERAL | {
    "sensitivity": _share_of(1, of_gold=True),
    "specificity": _share_of(0, of_gold=True),
    "precision": _share_of(1, of_gold=False),
    "negative_predictive_value": _share_of(0, of_gold=False),
    "f1": _Measure(lambda tables: _f1_of_labels(tables)[..., 1], _positives),
}


@dataclass(frozen=True, kw_only=True)
class _Items:
    """The compared items: what intervals need to know of them."""

    true: NDArray[np.int64]
    units: NDArray[np.intp] | None
    confidence_level: float

    @property
    def n_units(self) -> int:
        return len(self.true) if self.units is None else len(np.unique(self.units))

    def where(self, kept: NDArray[np.bool_]) -> _Items:
        units = None if self.units is None else np.unique(self.units[kept], return_inverse=True)[1]
        return replace(self, true=self.true[kept], units=units)

    def of_table(
        self, table: NDArray[np.int64], cell: NDArray[np.int64], measure: _Measure
    ) -> Estimate:
        """Estimate a figure of the table, from the cell of each item."""
        share = table / max(len(cell), 1)
        towards = np.eye(table.size).reshape(-1, *table.shape)
        value = float(measure.function(share[np.newaxis])[0])
        by_cell = (measure.function((1 - _STEP) * share + _STEP * towards) - value) / _STEP
        carries = measure.carriers(table)
        return self.interval(value, by_cell[cell], carries.ravel()[cell], least=measure.least)

    def interval(
        self,
        value: float,
        influence: NDArray[np.float64],
        carries: NDArray[np.bool_],
        *,
        least: float = 0.0,
    ) -> Estimate:
        """Make the interval of a figure that rests on the items which carry it."""
        if np.isnan(value):
            return Estimate(estimate=value, low=value, high=value)
        is_share = least == 0 or value > 1 - _STEP  # a perfect coefficient is bounded as a share is
        if min(abs(value - least), abs(1 - value)) < _STEP:  # no spread but that of rounding
            value, influence = float(round(value)), np.zeros(len(influence))
        found = make_interval(
            value,
            (influence - influence.mean()) / len(influence),
            reach=None,
            compared=carries,
            units=self.units,
            confidence_level=self.confidence_level,
            least=0.0 if is_share else least,
        )
        return Estimate(estimate=value, low=found.low, high=found.high)


def _combine_recalls(table: NDArray[np.int64], cell: NDArray[np.int64], items: _Items) -> Estimate:
    """Estimate the mean of the labels' recalls from their intervals [3]_.

    A recall of 1 on a few items has no spread of its own, but a wide interval.
    """
    recalls = [
        items.of_table(table, cell, _share_of(label, of_gold=True))
        for label in range(len(table))
        if len(table) == 2 or table[label].any()
    ]
    if not recalls:
        return Estimate(estimate=np.nan, low=np.nan, high=np.nan)
    mean = float(np.mean([x.estimate for x in recalls]))
    below, above = (
        float(np.sqrt(np.sum([(getattr(x, end) - x.estimate) ** 2 for x in recalls])))
        for end in ("low", "high")
    )
    return Estimate(
        estimate=mean, low=mean - below / len(recalls), high=mean + above / len(recalls)
    )


def _of_probabilities(stated: NDArray[np.float64], judged_items: _Items) -> dict[str, Estimate]:
    """Estimate the area under the ROC curve and the Brier score where probabilities are stated."""
    items = judged_items.where(~np.isnan(stated))
    stated, true = stated[~np.isnan(stated)], items.true == 1
    if not len(stated):
        return dict.fromkeys(("auc", "brier"), Estimate(estimate=np.nan, low=np.nan, high=np.nan))
    error = (stated - true) ** 2
    brier = items.interval(float(error.mean()), error, np.ones(len(error), bool))
    order = np.sort(stated[true]), np.sort(stated[~true])
    n_positive, n_negative = map(len, order)
    if not n_positive or not n_negative:
        return {"auc": Estimate(estimate=np.nan, low=np.nan, high=np.nan), "brier": brier}
    placement = np.empty(len(stated))
    for own, others, n_others in ((true, order[1], n_negative), (~true, order[0], n_positive)):
        below = np.searchsorted(others, stated[own], "left")
        placement[own] = (below + np.searchsorted(others, stated[own], "right")) / (2 * n_others)
    placement[~true] = 1 - placement[~true]
    auc = float(placement[true].mean())
    size = np.where(true, n_positive, n_negative)
    influence = (placement - auc) / size
    alone = float((influence**2).sum())
    together = alone
    if items.units is not None:
        together = float((np.bincount(items.units, weights=influence) ** 2).sum())
    design_effect = max(together / alone, 1.0) if alone else 1.0
    limits = _auc_limits(auc, n_positive, n_negative, design_effect, items.confidence_level)
    return {"auc": Estimate(estimate=auc, low=limits[0], high=limits[1]), "brier": brier}


def _auc_limits(
    auc: float, n_positive: int, n_negative: int, design_effect: float, confidence_level: float
) -> tuple[float, float]:
    """Find the areas whose own error just reaches the estimate [2]_.

    An error taken at the estimate itself is too small where this is by chance near 1.
    """
    from scipy.optimize import brentq

    reach = ndtri((1 + confidence_level) / 2) ** 2 * design_effect / (n_positive * n_negative)
    balance = (n_positive + n_negative) / 2 - 1

    def excess(area: float) -> float:
        pairs = (1 - area) / (2 - area) + area / (1 + area)
        return float((area - auc) ** 2 - reach * area * (1 - area) * (1 + balance * pairs))

    low = brentq(excess, 0.0, auc - 1e-9) if auc > 1e-6 else 0.0
    high = brentq(excess, auc + 1e-9, 1.0) if auc < 1 - 1e-6 else 1.0
    return float(low), float(high)


def _label_figures(
    label: int, table: NDArray[np.int64], cell: NDArray[np.int64], items: _Items
) -> LabelFigures:
    """Measure one label against all others, as a pair."""
    n_labels = len(table)
    is_gold, is_judged = cell // n_labels == label, cell % n_labels == label
    pair_cell = is_gold * 2 + is_judged
    pair = np.bincount(pair_cell, minlength=4).reshape(2, 2)
    found = {
        name: items.of_table(pair, pair_cell, _PAIR[name])
        for name in ("sensitivity", "precision", "f1")
    }
    return LabelFigures(
        label=label, n_gold=int(is_gold.sum()), n_judged=int(is_judged.sum()), **found
    )


def _always(table: NDArray[np.int64]) -> dict[str, float]:
    """Give the figures of the constants that do best."""
    share = _divide(table.sum(axis=1), np.full(len(table), table.sum()))
    f1 = 2 * share / (1 + share)
    best_f1 = f1[1] if len(table) == 2 else f1.max() / len(table)
    return {"accuracy": float(share.max()), "f1": float(best_f1)}


def _find_reason(table: NDArray[np.int64], names: Sequence[str]) -> str | None:
    if table.sum() < 2:
        return "fewer than two items have a gold label and the judge's"
    counts = table.sum(axis=1)
    name, fewest = names[int(counts.argmin())], int(counts.min())
    if not fewest:
        return f"{name} is nobody's gold label"
    if fewest < _FEW:
        return f"{name} is the gold label of {fewest} {'item' if fewest == 1 else 'items'} only"
    return None


# A threshold --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CrossFittedThreshold:
    """From which probability on an answer is yes, and what that is worth on other items.

    Attributes
    ----------
    threshold : float
        The one that all items together choose, in [0, 1].
    fold_thresholds : tuple of float
        Those that all items but a fold's choose.
    goal : {"mcc", "balanced_accuracy", "f1"}
        What they make as large as it can be.
    result : ClassificationResult
        Each fold judged by the threshold that the others chose: what to report, where that of
        `threshold` on the same items would promise too much.
    """

    threshold: float
    fold_thresholds: tuple[float, ...]
    goal: ThresholdGoal
    result: ClassificationResult


def cross_threshold(
    probabilities: ArrayLike,
    gold: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    goal: ThresholdGoal = "mcc",
    n_folds: int = 5,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> CrossFittedThreshold:
    """Choose a decision threshold on some folds of items, and measure it on the others.

    Parameters
    ----------
    probabilities : array_like of float, shape (n_items,)
        What the judge states for yes, in [0, 1]; nan where nothing.
    gold : array_like of int, shape (n_items,)
        1 for yes, 0 for no, -1 where unknown.
    groups : array_like, shape (n_items,), optional
        Items that share a source stay in one fold, and are one unit of the intervals.
    goal : {"mcc", "balanced_accuracy", "f1"}, optional
        What to make as large as it can be.
    n_folds : int, optional
        At least 2, and at most the number of groups.
    confidence_level : float, optional
        Nominal coverage of the intervals, in (0, 1).
    seed : int, optional
        Of the folds.

    Returns
    -------
    CrossFittedThreshold

    Raises
    ------
    InputError
        If shapes or values break a rule above, or there are fewer groups than folds.

    Warns
    -----
    DegenerateDataWarning
        If all gold labels are the same.

    Notes
    -----
    Thresholds lie midway between neighbouring probabilities; of equally good ones the middle one
    is taken.

    Examples
    --------
    >>> gold = np.repeat([0, 1], [60, 20])
    >>> probabilities = np.concatenate([np.linspace(0, 0.3, 60), np.linspace(0.25, 0.45, 20)])
    >>> found = cross_threshold(probabilities, gold)
    >>> round(found.threshold, 2), found.result.figures["mcc"].estimate > 0.7
    (0.3, True)
    """
    check_choice("goal", goal, ThresholdGoal)
    stated = np.asarray(probabilities, dtype=np.float64)
    _, true = _check_codes(np.asarray(gold), gold, 2)
    _check_probabilities(stated, true.shape, 2)
    kept = ~np.isnan(stated) & (true >= 0)
    units = check_units(np.arange(len(true)) if groups is None else groups, len(true))
    assert units is not None  # noqa: S101  # groups were given
    folds = group_folds(units[kept], n_folds=n_folds, seed=seed)
    stated, true = stated[kept], true[kept]
    chosen = [
        _best_threshold(stated[folds != fold], true[folds != fold], goal) for fold in range(n_folds)
    ]
    result = measure_classification(
        (stated >= np.array(chosen)[folds]).astype(np.int64),
        true,
        probabilities=stated,
        clusters=None if groups is None else units[kept],
        confidence_level=confidence_level,
    )
    return CrossFittedThreshold(
        threshold=_best_threshold(stated, true, goal),
        fold_thresholds=tuple(chosen),
        goal=goal,
        result=result,
    )


def _best_threshold(
    stated: NDArray[np.float64], true: NDArray[np.int64], goal: ThresholdGoal
) -> float:
    values, place = np.unique(stated, return_inverse=True)
    by_value = np.stack([np.bincount(place[true == k], minlength=len(values)) for k in (0, 1)])
    below = np.concatenate([np.zeros((2, 1)), np.cumsum(by_value, axis=1)], axis=1)
    tables = np.stack([below, below[:, -1:] - below], axis=-1).swapaxes(0, 1)
    worth = np.nan_to_num(_PAIR[goal].function(tables), nan=-1.0)
    best = np.flatnonzero(worth >= worth.max() - 1e-12)
    cut = int(best[len(best) // 2])
    edges = np.concatenate([[0.0], (values[1:] + values[:-1]) / 2, [1.0]])
    return float(edges[cut])
