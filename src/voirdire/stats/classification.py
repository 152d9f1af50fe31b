r"""Measures a judge against one gold label per item.

Intervals are made in one way. Every item gets a random weight, again and again (the Bayesian
bootstrap [1]_), and so does one more item, which the judge got wrong for the lower end and right
for the upper end; the ends are quantiles of the figure under these weights. For a share this is the
interval of Clopper and Pearson [2]_, and for the mean of numbers in [0, 1], such as the Brier
score, that of Gaffke [3]_. A figure of several labels is melded [4]_: each gold label gets an
additional item, which weighs :math:`1/\sqrt{k}` with k labels, since not all of them are drawn
unluckily at once. Items of a cluster share one weight, and what is added is a whole cluster. So a
judge that is right on the only three positives is not said to find them all.

The lowest coverage at .95 of eight judges (sensitivity and specificity .5 and .5, .1 and .9, .7 and
.7, .9 and .9, .8 and .99, .95 and .95, .99 and .99, 1 and 1) in 4,000 samples of independent items
(standard error .003); the last two rows of nine judges with graded, sure or partly blind
probabilities in 300 to 600 samples (.009 to .013):

========================= ==== ==== ==== ==== ==== ==== ==== ==== ====
share of positives        .03            .1             .5
------------------------- -------------- -------------- --------------
items                     50   100  400  50   100  400  50   100  400
========================= ==== ==== ==== ==== ==== ==== ==== ==== ====
accuracy                  .971 .958 .949 .969 .957 .952 .968 .949 .953
balanced accuracy         .986 .987 .959 .970 .967 .954 .966 .955 .956
F1                        .989 .984 .965 .971 .970 .961 .970 .956 .953
Matthews' correlation     .993 .978 .966 .970 .967 .954 .965 .953 .956
sensitivity               .989 .993 .976 .988 .977 .967 .972 .964 .953
specificity               .969 .959 .950 .965 .957 .955 .974 .959 .957
precision                 .986 .984 .966 .975 .970 .960 .974 .964 .955
negative predictive value .986 .976 .963 .976 .961 .955 .967 .956 .953
area under the curve      .996 .983 .977 .987 .973 .963 .980 .967 .953
Brier score               .963 .950 .950 .967 .950 .943 .960 .955 .948
========================= ==== ==== ==== ==== ==== ==== ==== ==== ====

Few items of a label make intervals wide rather than wrong: where 3% of 50 items are positive, there
are one or two. With 20, 40 and 100 clusters of 1 to 9 items that share half of the variance, the
intervals covered .95 to 1.

References
----------
.. [1] D. B. Rubin, "The Bayesian Bootstrap", The Annals of Statistics 9(1), pages 130-134, 1981.
   :doi:`10.1214/aos/1176345338`
.. [2] C. J. Clopper and E. S. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the
   Case of the Binomial", Biometrika 26(4), pages 404-413, 1934. :doi:`10.1093/biomet/26.4.404`
.. [3] E. Learned-Miller and P. S. Thomas, "A New Confidence Interval for the Mean of a Bounded
   Random Variable", 2019. :arxiv:`1905.06208`
.. [4] M. P. Fay, M. A. Proschan and E. Brittain, "Combining One-sample Confidence Procedures for
   Inference in the Two-sample Case", Biometrics 71(1), pages 146-156, 2015.
   :doi:`10.1111/biom.12231`
.. [5] J. Gorodkin, "Comparing Two K-category Assignments by a K-category Correlation Coefficient",
   Computational Biology and Chemistry 28(5-6), pages 367-374, 2004.
   :doi:`10.1016/j.compbiolchem.2004.09.006`
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import check_count, check_fraction
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.calibration import check_groups, group_folds
from voirdire.stats.intervals import (
    UNDEFINED,
    Estimate,
    check_units,
    clopper_pearson,
    take_units,
)
from voirdire.stats.label_arrays import check_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

_FEW = 10
"""Gold labels with fewer items are named in a note."""

_MOST_DRAWS = 2_000
_FEWEST_DRAWS = 1_000
_DRAWN_AT_ONCE = 1 << 20
_MAX_PLACES = 1_000
"""Most distinct probabilities in an interval's computation."""


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
        ``"accuracy"``, ``"balanced_accuracy"`` (the mean of the recalls of gold labels), ``"mcc"``
        (Matthews' correlation) and ``"f1"`` (with more than two labels the mean over labels); with
        two labels, of which 1 is positive, also ``"sensitivity"``, ``"specificity"``,
        ``"precision"`` and ``"negative_predictive_value"``; with probabilities ``"auc"`` and
        ``"brier"``. All in [0, 1] but ``"mcc"``, in [-1, 1]; nan where undefined.
    worst_case : dict of str to float
        Accuracy, balanced accuracy and, with two labels, sensitivity, specificity, F1 and Matthews'
        correlation with every failure counted as wrong.
    always : dict of str to float
        What a figure must beat: accuracy, balanced accuracy and F1, each of the judge that always
        gives the label that does best, and with probabilities AUC and Brier score of the one that
        always states the share of positives. The correlation of such a judge counts as 0.
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
    seed: int = 0,
) -> ClassificationResult:
    r"""Measure how well a judge's labels match gold labels.

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
    seed : int, optional
        Of the weights that intervals are drawn with.

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
        If a figure is undefined: a label is nobody's gold label, the judge always says the same, or
        fewer than two items can be compared.

    Notes
    -----
    Sensitivity is undefined without a positive, specificity without a negative, precision without a
    positive answer, Matthews' correlation of a judge that always says the same.

    Of independent items, intervals of shares are those of Clopper and Pearson. F1 is a share too:
    with J the share of true positives among the items that are positive or called so,
    :math:`F_1 = 2J / (1 + J)`. All others are drawn, see the head of this module for how and for
    their coverage. Above 1,000 distinct probabilities, intervals take neighbours together. Memory
    is O(n_items + n_labels² · 1,000). Reference values in the tests come from scikit-learn and
    statsmodels.

    Examples
    --------
    The judge finds 8 of 10 positives, and is wrong about 9 of 90 negatives:

    >>> gold = np.repeat([1, 0], [10, 90])
    >>> judged = np.concatenate([np.repeat([1, 0], [8, 2]), np.repeat([1, 0], [9, 81])])
    >>> found = measure_classification(judged, gold)
    >>> sensitivity = found.figures["sensitivity"]
    >>> sensitivity.estimate, round(sensitivity.low, 2), round(sensitivity.high, 2)
    (0.8, 0.44, 0.97)
    >>> round(found.figures["accuracy"].estimate, 2), found.always["accuracy"]
    (0.89, 0.9)
    >>> round(found.figures["mcc"].estimate, 2)
    0.56
    """
    check_fraction("confidence_level", confidence_level)
    check_count("n_labels", n_labels, minimum=2)
    own, true, stated = _check_labels(judged, gold, probabilities, n_labels)
    flags = np.zeros(own.shape, bool) if failed is None else np.asarray(failed, dtype=bool)
    if flags.shape != own.shape:
        msg = f"`failed` must have the shape {own.shape}, got {flags.shape}."
        raise InputError(msg)
    lost = (own < 0) & (true >= 0) & flags
    taken = (own >= 0) & (true >= 0)
    sample = _Sample(
        true=true[taken],
        own=own[taken],
        units=take_units(check_units(clusters, len(own)), taken),
        confidence_level=confidence_level,
        seed=seed,
    )
    cells = sample.true * n_labels + sample.own
    table = np.bincount(cells, minlength=n_labels**2).reshape(n_labels, n_labels)
    figures = {"accuracy": sample.share(sample.true == sample.own)}
    figures |= sample.figures_of_table(table)
    if n_labels == 2:
        is_true, yes = sample.true == 1, sample.own == 1
        both = sample.share(is_true & yes, among=is_true | yes)
        ends = {end: 2 * value / (1 + value) for end, value in vars(both).items()}
        figures |= {
            "sensitivity": sample.share(yes, among=is_true),
            "specificity": sample.share(~yes, among=~is_true),
            "precision": sample.share(is_true, among=yes),
            "negative_predictive_value": sample.share(~is_true, among=~yes),
            "f1": Estimate(**ends),
        }
    if stated is not None:
        known = ~np.isnan(stated[taken])
        figures["auc"] = sample.where(known).auc(stated[taken][known])
        figures["brier"] = sample.where(known).brier(stated[taken][known])
    names = names or [f"label {code}" for code in range(n_labels)]
    reason = _find_reason(table, names, sample.n_units)
    if np.isnan([[each.estimate, each.low] for each in figures.values()]).any():
        reason = reason or "one has a single cluster, or probabilities of one label alone"
        warnings.warn(f"figures are undefined: {reason}.", DegenerateDataWarning, stacklevel=2)
    failures = np.bincount(true[lost], minlength=n_labels).astype(np.float64)
    worst_case = _figures(*_add_wrong(_margins(table), failures))
    if n_labels > 2:
        worst_case = {name: worst_case[name] for name in ("accuracy", "balanced_accuracy")}
    return ClassificationResult(
        n_items=int(table.sum()),
        n_failures=int(np.count_nonzero(lost)),
        table=tuple(map(tuple, table.tolist())),
        figures=figures,
        worst_case={name: float(value) for name, value in worst_case.items()},
        always=_always(table, with_probabilities=stated is not None),
        confidence_level=confidence_level,
        n_units=sample.n_units,
        reason=reason,
    )


def _check_labels(
    judged: ArrayLike, gold: ArrayLike, probabilities: ArrayLike | None, n_labels: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64] | None]:
    own, true = np.asarray(judged), np.asarray(gold)
    if own.ndim != 1 or own.shape != true.shape:
        msg = f"`judged`, `gold` must have one shape (n_items,), got {own.shape} and {true.shape}."
        raise InputError(msg)
    own, true = (
        check_codes(name, codes, n_labels=n_labels).astype(np.int64)
        for name, codes in (("judged", own), ("gold", true))
    )
    stated = None if probabilities is None else np.asarray(probabilities, dtype=np.float64)
    if stated is not None and (
        stated.shape != own.shape or n_labels != 2 or ((stated < 0) | (stated > 1)).any()
    ):
        msg = (
            f"`probabilities` must be in [0, 1] for two labels, of the shape {own.shape}, got "
            f"{n_labels} labels and the shape {stated.shape}."
        )
        raise InputError(msg)
    return own, true, stated


# Figures of a table -------------------------------------------------------------------------------


def _divide(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    whole = np.asarray(whole, dtype=np.float64)
    return np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)


def _margins(tables: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Count hits, gold labels, and judge's labels, of each label: shape (..., n_labels)."""
    hits = np.diagonal(tables, axis1=-2, axis2=-1)
    return hits, tables.sum(axis=-1), tables.sum(axis=-2)


def _add_wrong(
    margins: Sequence[NDArray[Any]], more: NDArray[np.float64]
) -> tuple[NDArray[Any], ...]:
    """Add wrong items by gold label, spread evenly over the labels that they do not have."""
    hits, gold, given = margins
    return hits, gold + more, given + (more.sum(-1, keepdims=True) - more) / (more.shape[-1] - 1)


def _figures(
    hits: NDArray[Any], gold: NDArray[Any], given: NDArray[Any]
) -> dict[str, NDArray[np.float64]]:
    """Compute all figures of tables from their margins, so that no large table is resampled."""
    recalls, f1 = _divide(hits, gold), _divide(2 * hits, gold + given)
    known, pair = ~np.isnan(recalls), hits.shape[-1] == 2
    balanced = _divide(np.where(known, recalls, 0.0).sum(axis=-1), known.sum(axis=-1))
    figures = {
        "accuracy": _divide(hits.sum(axis=-1), gold.sum(axis=-1)),
        # with one of two labels there is no balanced accuracy
        "balanced_accuracy": recalls.mean(axis=-1) if pair else balanced,
    }
    if pair:
        figures |= {"sensitivity": recalls[..., 1], "specificity": recalls[..., 0]}
    f1 = f1[..., 1] if pair else f1.mean(axis=-1)
    return figures | {"f1": f1, "mcc": _correlate(hits, gold, given)}


def _correlate(hits: NDArray[Any], gold: NDArray[Any], given: NDArray[Any]) -> NDArray[np.float64]:
    """Correlate gold and judged labels, of which there may be more than two [5]_."""
    hits, gold, given = (np.asarray(each, dtype=np.float64) for each in (hits, gold, given))
    n = gold.sum(axis=-1)
    covariance = n * hits.sum(axis=-1) - (gold * given).sum(axis=-1)
    spreads = (n**2 - (gold**2).sum(axis=-1)) * (n**2 - (given**2).sum(axis=-1))
    return np.clip(_divide(covariance, np.sqrt(np.maximum(spreads, 0))), -1, 1)


def _always(table: NDArray[np.int64], *, with_probabilities: bool) -> dict[str, float]:
    """Return the figures of the best constant answers."""
    n = len(table)
    n_gold = n if n == 2 else max(1, int(np.count_nonzero(table.sum(axis=1))))
    share = _divide(table.sum(axis=1), np.full(n, table.sum()))
    f1 = 2 * share / (1 + share)
    found = {
        "accuracy": float(share.max()),
        "balanced_accuracy": 1 / n_gold,
        "f1": float(f1[1] if n == 2 else f1.max() / n),
    }
    return found | ({"auc": 0.5, "brier": float(share.prod())} if with_probabilities else {})


def _find_reason(table: NDArray[np.int64], names: Sequence[str], n_units: int) -> str | None:
    if table.sum() < 2:
        return "fewer than two items have a gold label and the judge's"
    if n_units < 2:
        return "all items are of one cluster"
    counts, answers = table.sum(axis=1), table.sum(axis=0)
    name, fewest = names[int(counts.argmin())], int(counts.min())
    if not fewest:
        return f"{name} is nobody's gold label"
    if np.count_nonzero(answers) == 1:
        return f"the judge always says {names[int(answers.argmax())]}"
    if fewest < _FEW:
        return f"{name} is the gold label of {fewest} {'item' if fewest == 1 else 'items'} only"
    return None


# Intervals ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Sample:
    """The compared items, with the computation of intervals."""

    true: NDArray[np.int64]
    own: NDArray[np.int64]
    units: NDArray[np.intp] | None
    confidence_level: float
    seed: int

    @property
    def n_units(self) -> int:
        return len(self.true) if self.units is None else len(np.unique(self.units))

    def where(self, kept: NDArray[np.bool_]) -> _Sample:
        units = take_units(self.units, kept)
        return replace(self, true=self.true[kept], own=self.own[kept], units=units)

    def share(self, hit: NDArray[np.bool_], *, among: NDArray[np.bool_] | None = None) -> Estimate:
        """Estimate a share of the items, or of those among some."""
        if among is not None:
            return self.where(among).share(hit[among])
        if self.units is not None or not len(hit):
            return self._mean(np.array([0.0, 1.0]), hit.astype(np.int64))
        low, high = clopper_pearson(int(hit.sum()), len(hit), self.confidence_level)
        return Estimate(estimate=int(hit.sum()) / len(hit), low=low, high=high)

    def brier(self, stated: NDArray[np.float64]) -> Estimate:
        """Estimate the mean squared distance of probabilities."""
        distances = (stated - (self.true == 1)) ** 2
        place = _few_places(distances)
        sums = np.bincount(place, weights=distances)
        return self._mean(sums / np.maximum(np.bincount(place), 1), place)

    def _mean(self, values: NDArray[np.float64], cell: NDArray[np.int64]) -> Estimate:
        """Estimate the mean of numbers in [0, 1], one per cell of items."""
        value = float(values[cell].mean()) if len(cell) else np.nan
        if self.n_units < 2:
            return Estimate(estimate=value)
        rng = np.random.default_rng(self.seed)
        drawn = self._draw(cell, len(values), rng)
        more = rng.standard_exponential(len(drawn)) * self._unit_size(np.ones(len(cell), bool))
        total, whole = drawn @ values, drawn.sum(axis=1) + more
        return self._limits(value, total / whole, (total + more) / whole)

    def figures_of_table(self, table: NDArray[np.int64]) -> dict[str, Estimate]:
        """Estimate the figures of the whole table that are no shares."""
        from scipy.sparse import coo_array

        n, values = len(table), _figures(*_margins(table))
        names = ("balanced_accuracy", "mcc") if n == 2 else ("balanced_accuracy", "mcc", "f1")
        if self.n_units < 2:
            return {name: Estimate(estimate=float(values[name])) for name in names}
        cells, place = np.unique(self.true * n + self.own, return_inverse=True)
        gold, own = np.divmod(cells, n)
        hit, every = np.flatnonzero(gold == own), np.arange(len(cells))
        rows, columns = np.concatenate([hit, every, every]), [gold[hit], n + gold, 2 * n + own]
        places = (rows, np.concatenate(columns))
        sums = coo_array((np.ones(len(rows)), places), shape=(len(cells), 3 * n)).tocsr()
        rng = np.random.default_rng(self.seed)
        drawn = self._draw(place, len(cells), rng, n_places=n * n, sums=sums)
        margins = np.split(drawn, 3, axis=1)
        sizes = np.array([self._unit_size(self.true == label) for label in range(n)])
        more = rng.standard_exponential((len(drawn), n)) * sizes / np.sqrt(n)
        worse, better = _figures(*_add_wrong(margins, more)), _figures(*(x + more for x in margins))
        return {
            name: self._limits(float(values[name]), worse[name], better[name]) for name in names
        }

    def auc(self, stated: NDArray[np.float64]) -> Estimate:
        """Estimate the area under the ROC curve."""
        positive = self.true == 1
        if not 0 < positive.sum() < len(positive):
            return UNDEFINED
        exact = np.unique(stated, return_inverse=True)[1] * 2 + positive
        value = float(_concordance(np.bincount(exact, minlength=2 * (exact.max() // 2 + 1))))
        if self.n_units < 2:
            return Estimate(estimate=value)
        cell = _few_places(stated) * 2 + positive
        rng = np.random.default_rng(self.seed)
        drawn = self._draw(cell, 2 * (int(cell.max()) // 2 + 1), rng)
        known = np.ones(len(drawn))
        for label, side in enumerate((~positive, positive)):
            weight = drawn[:, label::2].sum(axis=1)
            more = rng.standard_exponential(len(drawn)) * self._unit_size(side) / np.sqrt(2)
            known *= weight / (weight + more)
        area = _concordance(drawn)
        return self._limits(value, area * known, 1 - (1 - area) * known)

    def _limits(
        self, value: float, worse: NDArray[np.float64], better: NDArray[np.float64]
    ) -> Estimate:
        if np.isnan(value):
            return Estimate(estimate=value)
        tail = (1 - self.confidence_level) / 2
        low, high = np.quantile(worse, tail), np.quantile(better, 1 - tail)
        return Estimate(estimate=value, low=float(min(low, value)), high=float(max(high, value)))

    def _draw(
        self,
        cell: NDArray[np.int64],
        n_cells: int,
        rng: np.random.Generator,
        *,
        n_places: int | None = None,
        sums: Any = None,
    ) -> NDArray[np.float64]:
        """Draw random weights of units and sum them by cell, or by what `sums` adds up."""
        from scipy.sparse import coo_array

        n_draws = int(np.clip(_DRAWN_AT_ONCE // (n_places or n_cells), _FEWEST_DRAWS, _MOST_DRAWS))
        step = max(1, _DRAWN_AT_ONCE // (n_cells if self.units is None else self.n_units))
        counts, members = np.bincount(cell, minlength=n_cells), None
        if self.units is not None:
            shape = (n_cells, self.n_units)
            members = coo_array((np.ones(len(cell)), (cell, self.units)), shape=shape).tocsr()
        blocks: list[Any] = []
        for start in range(0, n_draws, step):
            size = min(step, n_draws - start)
            block: Any = (
                rng.standard_gamma(counts, (size, n_cells))
                if members is None
                else (members @ rng.standard_exponential((self.n_units, size))).T
            )
            blocks.append(block if sums is None else block @ sums)
        return np.concatenate(blocks)

    def _unit_size(self, counted: NDArray[np.bool_]) -> float:
        """Return the mean over items of the number of items in their unit."""
        if self.units is None or not counted.any():
            return 1.0
        sizes = np.bincount(self.units[counted])
        return float((sizes**2).sum() / sizes.sum())


def _concordance(weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of concordant pairs, ties as half.

    Weights alternate between negatives and positives, at rising probabilities.
    """
    negatives, positives = weights[..., ::2], weights[..., 1::2]
    below = np.cumsum(negatives, axis=-1) - negatives / 2
    pairs = positives.sum(axis=-1, dtype=np.float64) * negatives.sum(axis=-1, dtype=np.float64)
    return _divide((positives * below).sum(axis=-1), pairs)


def _few_places(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Convert values to ranks, with neighbours merged where there are many."""
    distinct, place = np.unique(values, return_inverse=True)
    return np.asarray(place // max(1, -(-len(distinct) // _MAX_PLACES)))


# A threshold --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CrossFittedThreshold:
    """A threshold of yes, with figures on items that did not choose it.

    Attributes
    ----------
    threshold : float
        Chosen on all items, in [0, 1].
    result : ClassificationResult
        Each fold judged by the threshold that the others chose: what to report, where that of
        `threshold` on the same items would promise too much.
    """

    threshold: float
    result: ClassificationResult


def cross_threshold(
    probabilities: ArrayLike,
    gold: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    n_folds: int = 5,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> CrossFittedThreshold:
    """Choose a decision threshold on some folds of items, and measure it on the others.

    It makes Matthews' correlation as large as it can be.

    Parameters
    ----------
    probabilities : array_like of float, shape (n_items,)
        What the judge states for yes, in [0, 1]; nan where nothing.
    gold : array_like of int, shape (n_items,)
        1 for yes, 0 for no, -1 where unknown.
    groups : array_like, shape (n_items,), optional
        Items that share a source stay in one fold, and are one unit of the intervals.
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
    stated = np.asarray(probabilities, dtype=np.float64)
    _, true, _ = _check_labels(gold, gold, stated, 2)
    kept = ~np.isnan(stated) & (true >= 0)
    units = check_groups(groups, len(true))
    folds = group_folds(units[kept], n_folds=n_folds, seed=seed)
    stated, true = stated[kept], true[kept]
    chosen = [
        _best_threshold(stated[folds != fold], true[folds != fold]) for fold in range(n_folds)
    ]
    result = measure_classification(
        (stated >= np.array(chosen)[folds]).astype(np.int64),
        true,
        probabilities=stated,
        clusters=None if groups is None else units[kept],
        confidence_level=confidence_level,
    )
    return CrossFittedThreshold(
        threshold=_best_threshold(stated, true),
        result=result,
    )


def _best_threshold(stated: NDArray[np.float64], true: NDArray[np.int64]) -> float:
    values, place = np.unique(stated, return_inverse=True)
    by_value = np.stack([np.bincount(place[true == k], minlength=len(values)) for k in (0, 1)])
    below = np.concatenate([np.zeros((2, 1)), np.cumsum(by_value, axis=1)], axis=1)
    tables = np.stack([below, below[:, -1:] - below], axis=-1).swapaxes(0, 1)
    worth = np.nan_to_num(_correlate(*_margins(tables[:-1])), nan=-1.0)
    best = np.flatnonzero(worth >= worth.max() - 1e-12)
    cut = int(best[len(best) // 2])
    return float((values[cut - 1] + values[cut]) / 2) if cut else 0.0
