r"""Diagnoses a panel: sure and split items, slices of the items, annotators who stand apart.

A judge that disagrees with people on unanimous items is worse than one that disagrees where people
split. The panel's label is the one that most annotators gave; with several such labels the item is
tied. A judge disagrees with the panel where it gives no such label. On scales a judge gives a label
of the panel if it is less than one step away from it, a step being the smallest difference between
two labels that annotators gave.

An annotator is odd who agrees with the others less than the others agree among themselves. With
:math:`s(a, b) \in [0, 1]` the agreement of two labels, and :math:`H_{ij}` the labels of item i
other than annotator j's, each item with at least three labels gives a pair of means,

.. math:: a_{ij} = \operatorname{mean}_{k \in H_{ij}} s(h_j, h_k), \qquad
          o_{ij} = \operatorname{mean}_{k < l \in H_{ij}} s(h_k, h_l),

whose difference :math:`a_{ij} - o_{ij}` has mean 0 where annotators are alike.
The gap of item i is the share of the annotators whom the judge beats on it less the share who
beat the judge, :math:`g_i = \operatorname{mean}_j (W^f_{ij} - W^h_{ij})`. The means of a slice and
of the items elsewhere are compared by Welch's t-test [1]_; where items come in clusters, residuals
are summed by cluster before they are squared, and clusters that reach into both sides count with
their covariance.

Gaps take few values, and the few items of a slice may by chance all have the same one, which
Welch's test takes for certainty. The p-value is hence the larger of Welch's and that of the t-test
with one variance for both; the interval uses that variance where one side has none.

References
----------
.. [1] B. L. Welch, "The generalization of 'Student's' problem when several different population
   variances are involved", Biometrika 34(1-2), 1947.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import stdtr, stdtrit

from voirdire._types import Share  # noqa: TC001  # what reads the JSON looks at the types
from voirdire._validation import check_choice, check_count, check_fraction
from voirdire.errors import InputError
from voirdire.stats.agreement import WEIGHTS, PanelLevel, code_labels
from voirdire.stats.fdr import adjust_p_values, benjamini_yekutieli
from voirdire.stats.intervals import check_units
from voirdire.stats.label_arrays import (
    check_codes,
    check_humans,
    check_judges,
    is_present,
    name_columns,
    pack_labels,
)
from voirdire.stats.outcome_sums import HUMAN_WINS, JUDGE_WINS, NO_OUTCOME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.comparison import Comparison
    from voirdire.stats.label_arrays import LabelSets

_ROUNDING = 1e-13
"""Squares and means below it, relative to the number of items, are rounding errors."""

# Sure and split items -----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PanelCounts:
    """Counts of items by the agreement of annotators and judge.

    Attributes
    ----------
    n_unanimous, n_opposed : int
        Items that the judge answered and all of at least two annotators labelled alike; those of
        them on which the judge departs.
    n_split : int
        Items that the judge answered and annotators labelled differently.
    n_split_with_majority, n_split_with_tied, n_split_with_minority, n_split_with_nobody : int
        Of these: the judge gives the one most frequent label; one of several; a rarer one; one
        that no annotator gave.
    n_human_chances, n_human_opposed : int
        How often all others (at least two) of an annotator agree on an item that the judge
        answered, and how often the annotator then differs from them.
    n_judge_opposed : int
        How often the judge differs from those others.
    """

    n_unanimous: int = 0
    n_opposed: int = 0
    n_split: int = 0
    n_split_with_majority: int = 0
    n_split_with_tied: int = 0
    n_split_with_minority: int = 0
    n_split_with_nobody: int = 0
    n_human_chances: int = 0
    n_human_opposed: int = 0
    n_judge_opposed: int = 0
    PLAIN: ClassVar = ("departs_from_split", "human_opposes_others", "judge_opposes_others")

    @property
    def departs_from_split(self) -> float:
        """Share of the split items on which the judge gives no most frequent label; or nan."""
        return _share(self.n_split_with_minority + self.n_split_with_nobody, self.n_split)

    @property
    def human_opposes_others(self) -> float:
        """How often an annotator differs from unanimous others; nan without any."""
        return _share(self.n_human_opposed, self.n_human_chances)

    @property
    def judge_opposes_others(self) -> float:
        """How often the judge differs from the same unanimous others; nan without any."""
        return _share(self.n_judge_opposed, self.n_human_chances)


def count_panels(
    judges: ArrayLike, humans: ArrayLike, *, min_annotators: int = 2
) -> list[PanelCounts]:
    """Count how judges stand to unanimous and to split panels.

    Parameters
    ----------
    judges : array_like, shape (n_items,) or (n_items, n_judges)
        Labels of the judges, in the form of `humans`.
    humans : array_like, shape (n_items, n_annotators)
        Integer codes (of labels, or of label sets) with -1 for missing, or numbers with nan for
        missing.
    min_annotators : int, optional
        Fewest labels for an item to count; at least 2.

    Returns
    -------
    list of PanelCounts
        One per judge.

    Raises
    ------
    InputError
        If shapes, codes or settings break a rule above.

    Notes
    -----
    An item on which everyone agrees gives each of its annotators a chance to oppose the others
    (from three annotators on), and one on which a single annotator differs from all others gives
    that annotator the chance that was taken. `judge_opposes_others` is the judge's figure over the
    same chances, and hence the one to hold against `human_opposes_others`. Reference values in the
    tests come from plain loops.

    Examples
    --------
    >>> humans = [[0, 0, 0], [1, 1, 1], [0, 0, 1], [0, 1, -1]]
    >>> [counts] = count_panels([0, 0, 0, 1], humans)
    >>> counts.n_unanimous, counts.n_opposed
    (2, 1)
    >>> counts.n_split_with_majority, counts.n_split_with_tied
    (1, 1)
    """
    least = check_count("min_annotators", min_annotators, minimum=2)
    matrix = np.asarray(humans)
    matrix = check_humans(matrix, numeric=matrix.dtype.kind == "f")
    answers, _ = check_judges(judges, None, matrix)
    step = 0.0
    if matrix.dtype.kind == "f":  # the smallest difference of two numbers of the scale
        distinct = np.unique(matrix[~np.isnan(matrix)])
        with np.errstate(over="ignore"):  # the difference of the two largest overflows
            step = float(np.diff(distinct).min()) if len(distinct) > 1 else 0.0
    people, _ = pack_labels(np.ascontiguousarray(matrix.T))
    present = is_present(people)
    same = np.zeros(people.shape, dtype=np.int32)
    for labels in people:  # how many labels of the item equal each label
        same += (people == labels) & present
    n_labels, n_top = np.count_nonzero(present, axis=0), same.max(axis=0)
    at_top = present & (same == n_top)
    tied = np.count_nonzero(at_top, axis=0) > n_top
    found = []
    for labels in answers.T:
        with np.errstate(invalid="ignore", over="ignore"):
            near = abs(people - labels) < step if step else people == labels
        given, agrees = (near & present).any(axis=0), (near & at_top).any(axis=0)
        judged = is_present(labels) & (n_labels >= least)
        unanimous, split = judged & (n_top == n_labels), judged & (n_top < n_labels)
        sure = unanimous & (n_labels >= 3)
        lone = split & (n_top == n_labels - 1) & (n_labels >= 3)
        counts = PanelCounts(
            n_unanimous=_count(unanimous),
            n_opposed=_count(unanimous & ~agrees),
            n_split=_count(split),
            n_split_with_majority=_count(split & agrees & ~tied),
            n_split_with_tied=_count(split & agrees & tied),
            n_split_with_minority=_count(split & ~agrees & given),
            n_split_with_nobody=_count(split & ~given),
            n_human_chances=int(n_labels[sure].sum()) + _count(lone),
            n_human_opposed=_count(lone),
            n_judge_opposed=int(n_labels[sure & ~agrees].sum()) + _count(lone & ~agrees),
        )
        found.append(counts)
    return found


def _count(flags: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(flags))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


# Slices ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SliceResult:
    """One slice of the items against the items elsewhere.

    Attributes
    ----------
    column, value : int or str
        Which slice: the place of its column and its code there; in a diagnosis their names.
    n_items, n_elsewhere : int
        Items with a gap inside, and with another value of the column.
    gap, gap_elsewhere : float
        Mean gaps, in [-1, 1]; nan without items.
    difference : float
        `gap` - `gap_elsewhere`; negative where the judge does worse.
    low, high : float
        Ends of its interval; nan where undefined.
    confidence_level : float
        Nominal coverage, in (0, 1).
    p_value : float
        Two-sided, of no difference; nan where undefined.
    p_adjusted : float
        After Benjamini-Yekutieli over all slices.
    worse : bool
        Whether `p_adjusted` is at most the false discovery rate and `difference` negative.
    reason : str or None
        Why a figure is nan.
    """

    column: int | str
    value: int | str
    n_items: int
    n_elsewhere: int
    gap: float
    gap_elsewhere: float
    difference: float
    low: float
    high: float
    confidence_level: Share
    p_value: Share
    p_adjusted: Share = float("nan")
    worse: bool = False
    reason: str | None = None


def compare_slices(
    gaps: ArrayLike,
    columns: Sequence[ArrayLike],
    *,
    clusters: ArrayLike | None = None,
    min_items: int = 10,
    confidence_level: float = 0.95,
    false_discovery_rate: float = 0.05,
) -> list[SliceResult]:
    """Compare every slice of the items with the items elsewhere.

    Parameters
    ----------
    gaps : array_like of float, shape (n_items,)
        The gap of each item, in [-1, 1]; nan where the judge was not compared.
    columns : sequence of array_like of int, shape (n_items,)
        For each way to slice, the code of the slice of each item, -1 where unknown: such items
        are neither inside nor elsewhere.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    min_items : int, optional
        Fewest items with a gap for a slice to be listed, and elsewhere for it to be tested; at
        least 2.
    confidence_level : float, optional
        Nominal coverage of the intervals, a fraction in (0, 1).
    false_discovery_rate : float, optional
        q of Benjamini-Yekutieli over all slices, in (0, 1).

    Returns
    -------
    list of SliceResult
        Column by column, slice by slice. Interval and p-values are nan, with a reason, with too
        few items elsewhere, with fewer than two clusters on a side, or where clusters leave no
        variance.

    Raises
    ------
    InputError
        If shapes or settings break a rule above.

    Notes
    -----
    Both slices of a column of two values have the same p-value. With clusters there are at most as
    many degrees of freedom as clusters, less one. Reference values in the tests come from
    `scipy.stats.ttest_ind` and plain loops.

    Examples
    --------
    >>> import numpy as np
    >>> kind = np.arange(120) % 3
    >>> gaps = np.where((kind == 2) & (np.arange(120) % 4 > 0), -1.0, 0.0)
    >>> [(row.value, round(row.difference, 2), row.worse) for row in compare_slices(gaps, [kind])]
    [(0, 0.38, False), (1, 0.38, False), (2, -0.75, True)]
    """
    min_items = check_count("min_items", min_items, minimum=2)
    level = check_fraction("confidence_level", confidence_level)
    rate = check_fraction("false_discovery_rate", false_discovery_rate)
    values = np.asarray(gaps, dtype=np.float64)
    if values.ndim != 1 or np.isinf(values).any():
        msg = f"`gaps` must be finite of the shape (n_items,), got the shape {values.shape}."
        raise InputError(msg)
    units = check_units(clusters, len(values))
    rows = []
    for column, given in enumerate(columns):
        codes = check_codes("columns", given)
        if codes.shape != values.shape:
            msg = f"`columns` must hold integer codes of the shape {values.shape}, got "
            raise InputError(f"{msg}{codes.shape}.")
        kept = ~np.isnan(values) & (codes >= 0)
        own = None if units is None else units[kept]
        for code in np.flatnonzero(np.bincount(codes[kept]) >= min_items).tolist():
            inside = codes[kept] == code
            figures = _compare_slice(values[kept], inside, own, min_items=min_items, level=level)
            rows.append(SliceResult(column=column, value=code, confidence_level=level, **figures))
    adjusted = adjust_p_values([row.p_value for row in rows])
    return [
        replace(row, p_adjusted=p, worse=bool(p <= rate and row.difference < 0))
        for row, p in zip(rows, adjusted.tolist(), strict=True)
    ]


def _compare_slice(
    gaps: NDArray[np.float64],
    inside: NDArray[np.bool_],
    units: NDArray[np.intp] | None,
    *,
    min_items: int,
    level: float,
) -> dict[str, Any]:
    """Compare the items of a slice with those elsewhere; arrays of two have both sides."""
    sides = [inside, ~inside]
    n_items = np.array([np.count_nonzero(side) for side in sides])
    means = [float(gaps[side].mean()) if side.any() else np.nan for side in sides]
    # what each item, or cluster, adds to the error of the two means
    apart = np.stack(
        [np.where(side, gaps - mean, 0.0) for side, mean in zip(sides, means, strict=True)]
    )
    item_squares = _without_rounding((apart**2).sum(axis=1), n_items)
    sums = apart if units is None else np.stack([np.bincount(units, row) for row in apart])
    n_units = n_items
    if units is not None:
        n_units = np.array([len(np.unique(units[side])) for side in sides])
    n_all = len(gaps) if units is None else len(np.unique(units))
    squares = _without_rounding((sums**2).sum(axis=1), n_items)
    difference = means[0] - means[1]
    figures: dict[str, Any] = {
        "n_items": int(n_items[0]),
        "n_elsewhere": int(n_items[1]),
        "gap": means[0],
        "gap_elsewhere": means[1],
        "difference": difference,
        **dict.fromkeys(("low", "high", "p_value"), np.nan),
    }
    if n_items[1] < min_items:
        return figures | {"reason": f"fewer than {min_items} items elsewhere"}
    if n_units.min() < 2:
        return figures | {"reason": "fewer than two clusters on one side"}
    if squares.sum() == 0 and item_squares.sum() > 0:
        return figures | {"reason": "the clusters leave no variance to test with"}
    # Welch's test, and that with one variance for both sides
    scale, both = n_units / (n_units - 1), int(n_units.sum())  # factors that take the bias out
    covariance = float(sums[0] @ sums[1]) * np.sqrt(scale.prod()) / n_items.prod()
    variances = squares * scale / n_items**2
    parts = (variances**2 / (n_units - 1)).sum()
    freedom = variances.sum() ** 2 / parts if parts else n_all
    shared = squares.sum() * both / (both - 2) / n_items.sum() * (1 / n_items).sum()
    squared = np.array([variances.sum(), shared])
    errors = np.sqrt(np.maximum(squared - 2 * covariance, 0.0))
    degrees = np.minimum([freedom, both - 2], n_all - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = 2 * stdtr(degrees, -np.abs(difference) / errors)
    p_values[errors == 0] = 1.0 if abs(difference) < _ROUNDING else 0.0
    half = (stdtrit(degrees, (1 + level) / 2) * errors)[int((squares == 0).any())]
    return figures | {
        "low": max(difference - float(half), -2.0),
        "high": min(difference + float(half), 2.0),
        "p_value": float(p_values.max()),
    }


def _without_rounding(squares: NDArray[np.float64], n_items: NDArray[Any]) -> NDArray[np.float64]:
    """Set sums of squares to 0 that are only rounding errors."""
    return np.where(squares <= _ROUNDING * n_items, 0.0, squares)


def item_gaps(labels: Comparison) -> list[NDArray[np.float64]]:
    """Return, by judge and item, the share of annotators that it beats less the share who beat it.

    An expert's own comparisons and imbalance weights are not used; nan where there is no
    comparison.
    """
    gaps = []
    for outcomes in labels.outcomes(labels.judges):
        if labels.settings.excluded is not None:
            outcomes[labels.settings.excluded] = NO_OUTCOME
        wins, losses, nobody = (
            np.count_nonzero(outcomes == outcome, axis=0)
            for outcome in (JUDGE_WINS, HUMAN_WINS, NO_OUTCOME)
        )
        with np.errstate(invalid="ignore"):
            gaps.append((wins - losses) / (len(outcomes) - nobody))
    return gaps


# Outlier annotators --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AnnotatorDiagnosis:
    """One annotator compared with the others.

    Attributes
    ----------
    annotator : str
        Who.
    n_items : int
        Items of the annotator with at least three labels.
    agreement, agreement_of_others : float
        Mean agreement with the others, and among them on the same items, in [0, 1]; nan without
        such items.
    difference : float
        `agreement` - `agreement_of_others`; negative where the annotator stands apart.
    p_value : float
        Of the null hypothesis that the mean difference is not below 0; nan where not tested.
    outlier : bool
        Whether that falls, and `difference` is at most minus the least effect.
    reason : str or None
        Why the annotator was not tested.
    """

    annotator: str
    n_items: int
    agreement: float
    agreement_of_others: float
    difference: float
    p_value: Share
    outlier: bool
    reason: str | None = None


def outlier_annotators(
    labels: ArrayLike,
    *,
    level: PanelLevel = "nominal",
    label_sets: ArrayLike | LabelSets | None = None,
    clusters: ArrayLike | None = None,
    min_items: int = 10,
    least_effect: float = 0.1,
    false_discovery_rate: float = 0.05,
    annotators: Sequence[str] | None = None,
) -> tuple[AnnotatorDiagnosis, ...]:
    """Find annotators who agree with the others less than the others agree among themselves.

    Parameters
    ----------
    labels : array_like, shape (n_items, n_annotators)
        Integer codes with -1 for missing; for ``"interval"`` numbers with nan for missing.
    level : {"nominal", "interval", "sets"}, optional
        The agreement of two labels: 1 if equal, else 0; 1 - (a - b)²/range², the range being that
        of all labels; the Jaccard index.
    label_sets : array_like of bool, shape (n_sets, n_labels), or LabelSets, optional
        For ``"sets"``: which labels the set of each code holds.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    min_items : int, optional
        Fewest items with three labels for an annotator to be tested; at least 2.
    least_effect : float, optional
        Smallest shortfall of agreement that counts, a fraction in (0, 1).
    false_discovery_rate : float, optional
        q of Benjamini-Yekutieli over annotators, in (0, 1).
    annotators : sequence of str, optional
        Names by column; the column numbers where None.

    Returns
    -------
    tuple of AnnotatorDiagnosis
        By column. Figures are nan, with a reason, for an annotator with no item that three
        annotators labelled: of two labels that differ nobody can say whose is odd.

    Raises
    ------
    InputError
        If shapes, codes or settings break a rule above.

    Notes
    -----
    The t-test of the paired differences is one-sided; its errors come from clusters where there
    are any. It compares people with each other: where most are careless, the careful one is odd.
    Time is O(labels) per item, for ``"sets"`` the square of that; memory is bounded. Reference
    values in the tests come from plain loops over pairs and from `scipy.stats.ttest_rel`.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.arange(60) % 3
    >>> labels = np.stack([truth, truth, truth, (truth + 1) % 3], axis=1)
    >>> labels[::7, 0] = 0
    >>> [row.outlier for row in outlier_annotators(labels)]
    [False, False, False, True]
    """
    check_choice("level", level, PanelLevel)
    rate = check_fraction("false_discovery_rate", false_discovery_rate)
    effect = check_fraction("least_effect", least_effect)
    min_items = check_count("min_items", min_items, minimum=2)
    matrix = check_humans(labels, numeric=level == "interval")
    names = name_columns("annotators", annotators, matrix.shape[1])
    units = check_units(clusters, len(matrix))
    coded = code_labels(
        matrix, weights=WEIGHTS[level], label_sets=label_sets if level == "sets" else None
    )
    people, raters = pack_labels(coded.codes)
    present = people >= 0
    # of each label, its agreement with the other labels of its item
    pairs = np.zeros(people.shape)
    for one, other in combinations(range(len(people)), 2):
        both = present[one] & present[other]
        agree = (1 - coded.disagreement(people[one], people[other])) * both
        pairs[one] += agree
        pairs[other] += agree
    n_labels = np.count_nonzero(present, axis=0)
    used = present & (n_labels >= 3)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = (pairs / (n_labels - 1))[used]
        others = (pairs.sum(axis=0) / 2 - pairs) / ((n_labels - 1) * (n_labels - 2) / 2)
    apart, who, n_annotators = own - others[used], raters[used], matrix.shape[1]
    own_units = None if units is None else np.broadcast_to(units, used.shape)[used]
    n, mean, variance, n_units = _measure_differences(apart, who, own_units, n_annotators)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(variance * n_units / (n_units - 1)) / n
        certain = np.where(mean < -_ROUNDING, 0.0, 1.0)
        p_value = np.where(error > 0, stdtr(n_units - 1, mean / error), certain)
        agreement = np.bincount(who, own, n_annotators) / n
        of_others = np.bincount(who, others[used], n_annotators) / n
    cases = {
        "no item has three labels": n == 0,
        f"fewer than {min_items} items with three labels": n < min_items,
        "fewer than two clusters": n_units < 2,
    }
    if units is not None:
        _, _, item_variance, _ = _measure_differences(apart, who, None, n_annotators)
        is_even = (variance == 0) & (item_variance > 0)
        cases["the clusters leave no variance to test with"] = is_even
    reasons = [
        next((reason for reason, marked in cases.items() if marked[place]), None)
        for place in range(n_annotators)
    ]
    p_value[np.any([*cases.values()], axis=0)] = np.nan
    outlier = benjamini_yekutieli(p_value, false_discovery_rate=rate) & (mean <= -effect)
    figures = {
        "n_items": n.astype(np.int64),
        "agreement": agreement,
        "agreement_of_others": of_others,
        "difference": mean,
        "p_value": p_value,
        "outlier": outlier,
    }
    columns = [x.tolist() for x in figures.values()]
    return tuple(
        AnnotatorDiagnosis(annotator=name, reason=reason, **dict(zip(figures, row, strict=True)))
        for name, reason, *row in zip(names, reasons, *columns, strict=True)
    )


def _measure_differences(
    apart: NDArray[np.float64],
    who: NDArray[np.intp],
    units: NDArray[np.intp] | None,
    n_annotators: int,
) -> tuple[NDArray[Any], ...]:
    """Return, by annotator: how many differences, their mean, squares of units, number of units."""
    n = np.bincount(who, minlength=n_annotators).astype(np.float64)
    in_unit: NDArray[Any] = np.ones(len(who))
    sums, owner = apart, who
    if units is not None:
        cells, place = np.unique(units * n_annotators + who, return_inverse=True)
        in_unit, owner = np.bincount(place), cells % n_annotators
        sums = np.bincount(place, apart).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(who, apart, n_annotators) / n
        squares: NDArray[Any] = np.bincount(
            owner, (sums - mean[owner] * in_unit) ** 2, n_annotators
        )
    return n, mean, _without_rounding(squares, n), np.bincount(owner, minlength=n_annotators)
