"""Every agreement figure of a panel of annotators and its judges, in one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._validation import check_choice, check_fraction
from voirdire.errors import InputError
from voirdire.stats.agreement.interval import check_units
from voirdire.stats.agreement.item_agreement import ItemAgreement
from voirdire.stats.agreement.labels import code_labels
from voirdire.stats.agreement.majority import compare_with_majority, majority_reason
from voirdire.stats.agreement.pair_figures import COHEN, GWET, RAW
from voirdire.stats.agreement.pairwise_agreement import PairMeans
from voirdire.stats.agreement.panel_results import (
    AgreementMatrix,
    JudgeAgreement,
    MatrixRater,
    PanelAgreement,
)
from voirdire.stats.agreement.panel_vote import kappa_with_panel_vote
from voirdire.stats.agreement.rater_pairs import RaterPairs
from voirdire.stats.agreement.result import AgreementResult
from voirdire.stats.krippendorff import measure_agreement
from voirdire.stats.label_sets import LabelSets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.agreement.item_sums import ItemSums
    from voirdire.stats.agreement.labels import CodedLabels
    from voirdire.stats.agreement.weights import Disagreement, Weights

__all__ = ["PanelLevel", "measure_panel"]

PanelLevel: TypeAlias = Literal["nominal", "interval", "sets"]
"""How labels compare: equal or not; by difference; by the labels that sets share."""

_WEIGHTS: dict[PanelLevel, Weights | None] = {
    "nominal": None,
    "interval": "quadratic",
    "sets": "jaccard",
}

_MAX_MATRIX_RATERS = 100


def measure_panel(
    humans: ArrayLike,
    judges: ArrayLike,
    *,
    level: PanelLevel,
    label_sets: ArrayLike | LabelSets | None = None,
    categories: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
    annotator_names: Sequence[str] | None = None,
    judge_names: Sequence[str] | None = None,
) -> PanelAgreement:
    r"""Measure how far annotators agree with each other, and judges with annotators.

    What a judge reaches is to be read beside the ceiling, which is what the annotators reach among
    themselves by the same measure. All intervals take the items, or clusters, as the sample; the
    raters are taken as given.

    Parameters
    ----------
    humans : array_like, shape (n_items, n_annotators)
        Integer codes with -1 for missing or, for ``"interval"``, also numbers with nan.
    judges : array_like, shape (n_items, n_judges) or (n_items,)
        The judges' answers to the same items, in the same form; missing where not asked.
    level : {"nominal", "interval", "sets"}
        Labels are equal or not; numbers under quadratic weights; sets under Jaccard weights.
    label_sets : array_like of bool, shape (n_sets, n_labels), or LabelSets, optional
        For ``"sets"``: which labels the set of each code holds.
    categories : array_like, shape (n_categories,), optional
        All codes or numbers that could have been given; not for ``"sets"``. None: those that the
        annotators use and, beside a judge, that judge.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).
    annotator_names, judge_names : sequence of str, optional
        Names by column; the column numbers where None.

    Returns
    -------
    PanelAgreement
        Undefined figures are nan with a reason: no items in common, all labels equal, or a
        computation that would take too long (pairs of hundreds of annotators who all labelled
        nearly everything).

    Raises
    ------
    InputError
        If shapes or types are wrong, or `confidence_level` is outside (0, 1).

    Notes
    -----
    *Means over pairs* weight a pair by its common items; pairs whose κ is undefined are left out
    and counted in `reason`. With 100 items or more, of which two raters have fewer than ten in
    common on average, the means of κ and of Gwet's coefficient are nan; Fleiss' κ, α and Gwet's
    coefficient of the panel as a whole have no such need.

    *Majority*: for each annotator j, the most frequent label of the others, shared equally among
    labels that tie, against j (the ceiling) or the judge, on the items of j; then the mean over j,
    weighted by items. Leaving j out makes the two comparable: a majority in which j had a vote
    would flatter j. With three annotators the others are two, and all they disagree on is shared.

    *Panel majority*: each judge, and no annotator, also against the vote of all annotators
    (``"panel_majority_kappa"``, for unordered labels): the figure that is often published.

    *Categories*: Gwet's coefficient depends on how many there are, and raw agreement and Gwet's
    coefficient under quadratic weights on their range. On a scale whose ends are rare, declare
    them: otherwise these two depend on which ends happened to occur, which no interval accounts
    for.

    No warning is given: every result carries its reason.

    Memory is O(n_items) beside the codes; time is linear in items times pairs of labels of an
    item.

    Examples
    --------
    >>> humans = [[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]]
    >>> result = measure_panel(humans, [0, 1, 0, 1, 0, 0], level="nominal")
    >>> [(row.coefficient, round(row.estimate, 2)) for row in result.ceiling][:2]
    [('raw_agreement', 0.78), ('cohen_kappa', 0.56)]
    """
    check_choice("level", level, PanelLevel)
    check_fraction("confidence_level", confidence_level)
    people, machines = _check_shapes(humans, judges)
    weights = _WEIGHTS[level]
    labels = code_labels(
        _join(people, machines), weights=weights, label_sets=label_sets, categories=categories
    )
    units = check_units(clusters, len(people))
    return _Measuring(
        pairs=RaterPairs(labels=labels, n_humans=people.shape[1]),
        means=PairMeans(units=units, confidence_level=confidence_level, weights=weights),
        level=level,
        annotators=_check_names("annotator_names", annotator_names, people.shape[1]),
        judges=_check_names("judge_names", judge_names, machines.shape[1]),
    ).run()


def _check_shapes(humans: ArrayLike, judges: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    people, machines = np.asarray(humans), np.asarray(judges)
    machines = machines[:, np.newaxis] if machines.ndim == 1 else machines
    if people.ndim != 2:
        msg = f"`humans` must have the shape (n_items, n_annotators), got {people.shape}."
        raise InputError(msg)
    if machines.ndim != 2 or len(machines) != len(people):
        msg = (
            f"`judges` must have one row for each of {len(people)} items, got the shape "
            f"{np.shape(judges)}. Align judges and humans on items first."
        )
        raise InputError(msg)
    return people, machines


def _join(people: NDArray[Any], machines: NDArray[Any]) -> NDArray[Any]:
    """Put judges behind annotators; codes become numbers where the others are numbers."""
    kinds = {people.dtype.kind, machines.dtype.kind}
    if "f" in kinds and kinds - {"f"}:
        people, machines = (
            np.where(labels < 0, np.nan, labels) if labels.dtype.kind in "iu" else labels
            for labels in (people, machines)
        )
    return np.concatenate([people, machines], axis=1)


def _check_names(name: str, names: Sequence[str] | None, count: int) -> list[str]:
    if names is None:
        return [str(number) for number in range(count)]
    if len(names) != count:
        msg = f"`{name}` must hold {count} names, one per column, got {len(names)}."
        raise InputError(msg)
    return list(names)


@dataclass(frozen=True, kw_only=True)
class _Cells:
    """Cells of the matrix: κ of pairs of raters, and their common items."""

    raters: NDArray[np.intp]
    kappa: NDArray[np.float64]
    n_items: NDArray[np.int64]

    @staticmethod
    def of(sums: ItemSums | str) -> _Cells | None:
        """Keep what the matrix needs; a text says why there is nothing."""
        if isinstance(sums, str):
            return None
        return _Cells(
            raters=sums.raters,
            kappa=sums.figures.values[:, COHEN],
            n_items=np.rint(sums.figures.n_items).astype(np.int64),
        )


@dataclass(frozen=True, kw_only=True)
class _Measuring:
    pairs: RaterPairs
    means: PairMeans
    level: PanelLevel
    annotators: list[str]
    judges: list[str]

    def run(self) -> PanelAgreement:
        n_humans = self.pairs.n_humans
        everyone = [None, *range(n_humans, n_humans + len(self.judges))]
        among = [self._disagreement(rater) for rater in everyone]
        why_not = majority_reason(self.pairs)
        votes: Iterator[ItemSums | str] = (
            repeat(why_not, len(everyone))
            if why_not
            else compare_with_majority(self.pairs, everyone, among)
        )
        # One rater after the other: the sums of an item weigh more than its labels.
        rows, cells = [], []
        for rater, disagreement, majority in zip(everyone, among, votes, strict=True):
            compared = self._compare(rater, disagreement)
            row = self._ceiling(compared, majority, besides=rater is not None)
            rows.append(row if rater is None else (*row, self._with_vote(rater)))
            cells.append(_Cells.of(compared))
        return PanelAgreement(
            confidence_level=self.means.confidence_level,
            panel=self._panel(among[0], rows[0]),
            ceiling=rows[0],
            judges=tuple(
                JudgeAgreement(judge=name, coefficients=row)
                for name, row in zip(self.judges, rows[1:], strict=True)
            ),
            matrix=self._matrix(cells, among[0]),
        )

    def _compare(self, rater: int | None, disagreement: Disagreement) -> ItemSums | str:
        if rater is None:
            return self.pairs.among_humans(disagreement)
        return self.pairs.with_judge(rater, disagreement)

    def _disagreement(self, rater: int | None) -> Disagreement:
        humans = list(range(self.pairs.n_humans))
        return self.pairs.labels.disagreement(humans if rater is None else [*humans, rater])

    def _ceiling(
        self, pairs: ItemSums | str, majority: ItemSums | str, *, besides: bool
    ) -> tuple[AgreementResult, ...]:
        figures: tuple[tuple[ItemSums | str, int, str], ...] = (
            (pairs, RAW, "raw_agreement"),
            (pairs, COHEN, "cohen_kappa"),
            (pairs, GWET, "gwet_ac"),
            (majority, RAW, "majority_agreement"),
            (majority, COHEN, "majority_kappa"),
        )
        return tuple(
            self.means.measure(sums, column, name, besides=besides)
            for sums, column, name in figures
        )

    def _with_vote(self, judge: int) -> AgreementResult:
        return kappa_with_panel_vote(
            self.pairs.humans,
            self.pairs.labels.codes[judge],
            n_labels=self.pairs.labels.n_labels,
            weights=self.pairs.labels.weights,
            units=self.means.units,
            confidence_level=self.means.confidence_level,
        )

    def _panel(
        self, disagreement: Disagreement, ceiling: tuple[AgreementResult, ...]
    ) -> tuple[AgreementResult, ...]:
        labels = replace(self.pairs.labels, codes=self.pairs.humans)
        items = ItemAgreement.of(
            labels,
            disagreement,
            units=self.means.units,
            confidence_level=self.means.confidence_level,
        )
        return (
            items.raw_agreement(),
            ceiling[1],
            items.fleiss_kappa(),
            self._alpha(labels, items.n_raters),
            items.gwet_ac(),
        )

    def _alpha(self, labels: CodedLabels, n_raters: int) -> AgreementResult:
        sets = None
        if self.level == "sets":
            sets = LabelSets(words=labels.values, n_labels=labels.values.itemsize * 8)
        result = measure_agreement(
            labels.numbers if self.level == "interval" else labels.codes.T,
            level=self.level,
            label_sets=sets,
            clusters=self.means.units,
            confidence_level=self.means.confidence_level,
        )
        return AgreementResult(
            coefficient="krippendorff_alpha",
            weights=labels.weights,
            estimate=result.alpha,
            low=result.low,
            high=result.high,
            confidence_level=result.confidence_level,
            n_items=result.n_items,
            n_raters=n_raters,
            n_clusters=result.n_clusters,
            reason=result.reason,
        )

    def _matrix(
        self, compared: Sequence[_Cells | None], disagreement: Disagreement
    ) -> AgreementMatrix | None:
        codes = self.pairs.labels.codes
        n_humans, n_raters = self.pairs.n_humans, len(codes)
        if n_raters > _MAX_MATRIX_RATERS:
            return None
        machines = range(n_humans, n_raters)
        between = [(a, b) for a in machines for b in machines if a < b]
        parts = [*compared, _Cells.of(self.pairs.of_columns(between, disagreement))]
        values = np.full((n_raters, n_raters), np.nan)
        n_items = np.diag(np.count_nonzero(codes >= 0, axis=1)).astype(np.int64)
        for part in parts:
            if part is None:
                return None
            for order in (part.raters.T, part.raters.T[::-1]):
                values[tuple(order)] = part.kappa
                n_items[tuple(order)] = part.n_items
        raters = [MatrixRater(name=name, role="annotator") for name in self.annotators]
        raters += [MatrixRater(name=name, role="judge") for name in self.judges]
        return AgreementMatrix(
            weights=self.means.weights,
            raters=tuple(raters),
            values=values,
            n_items=n_items,
        )
