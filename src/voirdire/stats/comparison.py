r"""Compares the judge with each left-out annotator, item by item.

For annotator :math:`j` and item :math:`i` the judge's score :math:`S(f)` and the annotator's score
:math:`S(h_j)` are both means over the same other annotators, so sums are compared, as integers
where the alignment allows it and otherwise to a tolerance. Each comparison has one of three
outcomes, and everything the test needs is a function of how often each occurs. Items come a block
at a time; controls are compared like judges.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import stdtr

from voirdire.errors import InputError
from voirdire.stats.label_arrays import is_present, pack_slots
from voirdire.stats.outcome_sums import (
    HUMAN_WINS,
    NO_OUTCOME,
    TIE,
    OutcomeSums,
    UnitCollector,
    sum_clusters,
    sum_outcomes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.stats.alignment import Scorer
    from voirdire.stats.figures import TestSettings
    from voirdire.stats.label_arrays import LabelSets

__all__ = [
    "Comparison",
    "Control",
    "HumanBlock",
    "PairedGain",
    "Raters",
    "flip_signs",
    "frequent_labels",
    "imbalance_weights",
    "make_controls",
]

_CELLS_AT_ONCE = 1 << 18
"""Items times annotators of a block, to fit the cache."""

_MOST_CONSTANTS = 10
MOST_FLIPPED = 10
"""Most differing items of a near-constant judge that are tested by their signs too."""
_SAMPLE = 200_000
"""More labels than this are sampled for controls."""


@dataclass(frozen=True, kw_only=True)
class Raters:
    """The labels under examination.

    Attributes
    ----------
    humans : ndarray, shape (n_items, n_annotators)
        Codes with -1 for missing, or numbers with nan for missing.
    judges : ndarray, shape (n_items, n_judges)
        In the same form.
    failed : ndarray of bool, shape (n_items, n_judges), or None
        Where a judge was asked and gave no usable answer.
    reference : ndarray, shape (n_items,), or None
        Labels that replace "the others".
    clusters : ndarray of int, shape (n_items,), or None
        Independent units.
    codes : ndarray of int, shape (n_items, n_annotators), or None
        Label codes for imbalance weights, -1 for missing.
    reference_codes : ndarray of int, shape (n_items,), or None
        The reference in the same codes.
    """

    humans: NDArray[Any]
    judges: NDArray[Any]
    failed: NDArray[np.bool_] | None = None
    reference: NDArray[Any] | None = None
    clusters: NDArray[np.intp] | None = None
    codes: NDArray[Any] | None = None
    reference_codes: NDArray[Any] | None = None

    def take(self, rows: Any) -> Raters:
        """Return the labels of some items."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        taken: dict[str, Any] = {
            name: labels if labels is None else labels[rows] for name, labels in given.items()
        }
        return Raters(**taken)

    def of_judges(self, numbers: list[int]) -> Raters:
        """Return the labels with those of some judges only."""
        failed = None if self.failed is None else self.failed[:, numbers]
        return replace(self, judges=self.judges[:, numbers], failed=failed)

    def n_codes_seen(self) -> int:
        """One more than the largest code; 0 where labels are numbers."""
        if self.humans.dtype.kind == "f":
            return 0
        given = (self.humans, self.judges, self.reference)
        return 1 + max(int(labels.max(initial=-1)) for labels in given if labels is not None)

    def with_weight_codes(self) -> Raters:
        """Add the codes for imbalance weights.

        Labels must be whole numbers, so that they repeat.
        """
        humans, reference = self.humans, self.reference
        if humans.dtype.kind != "f":
            return replace(self, codes=humans, reference_codes=reference)
        stacked = humans if reference is None else np.column_stack([humans, reference])
        known = stacked[~np.isnan(stacked)]
        if (known != np.floor(known)).any():
            msg = (
                "`weights` must be None for continuous labels, got 'imbalance'. "
                "Majority labels exist only where labels repeat."
            )
            raise InputError(msg)
        codes = np.unique(stacked, return_inverse=True)[1].reshape(stacked.shape)
        codes = np.where(np.isnan(stacked), -1, codes)
        if reference is None:
            return replace(self, codes=codes)
        return replace(self, codes=codes[:, :-1], reference_codes=codes[:, -1])

    def n_weight_codes(self) -> int:
        """One more than the largest code that imbalance weights count; 0 without weights."""
        given = (self.codes, self.reference_codes)
        return 1 + max((int(x.max(initial=-1)) for x in given if x is not None), default=-1)


@dataclass(frozen=True, kw_only=True)
class Control:
    """A judge that always gives one label, draws labels, or follows the majority.

    `answers` has its labels; None for those that are taken block by block.
    """

    control: Literal["constant", "random", "majority_vote", "reference"]
    answers: NDArray[Any] | None = None
    constant: Any = None


@dataclass(frozen=True, kw_only=True)
class PairedGain:
    """Paired test whether a judge is closer to the annotators than another, failures lost.

    `advantage` and `other` are ρ of the two on the judge's items; `p_value` is one-sided, for the
    judge being closer, nan with fewer than two units; `n_differ` counts the items (or clusters) on
    which the two fare differently, where they are at most `MOST_FLIPPED`.
    """

    advantage: float
    other: float
    p_value: float
    n_differ: int


class HumanBlock:
    """A block of items with the annotators' labels, to compare with judges.

    Labels have the shape (n_items, n_annotators); `reference`, an expert's or gold labels, replaces
    "the others". Items with fewer labels than `min_annotators` are left out.
    """

    def __init__(
        self,
        labels: NDArray[Any],
        *,
        scorer: Scorer,
        quality: NDArray[np.float64] | None = None,
        reference: NDArray[Any] | None = None,
        min_annotators: int = 2,
    ) -> None:
        self._scorer = scorer
        self._quality = None if quality is None else quality[:, np.newaxis]
        columns = np.ascontiguousarray(labels.T)
        self._n_annotators = len(columns)
        self.present = is_present(columns)
        self._slots = pack_slots(self.present)
        if self._slots is not None:
            columns = np.take_along_axis(columns, self._slots, axis=0)
            self.present = is_present(columns)
            self._quality = None if quality is None else quality[self._slots]
        self._labels = scorer.prepare(columns, self.present)
        if reference is None:
            self._reference = None
            enough = np.count_nonzero(self.present, axis=0) >= min_annotators
        else:
            enough = is_present(reference)
            self._reference = scorer.prepare(reference, enough)
        self._compared = self.present & enough
        self._human = self._score_humans()

    def outcomes(
        self, judge: NDArray[Any], *, failed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int8]:
        """Compare a judge with every left-out annotator, shape (n_annotators, n_items).

        Several judges have a first axis, which is kept; either all or none have whole numbers.
        Items that are `failed` are lost outright.
        """
        judge = judge[..., np.newaxis, :]
        known = is_present(judge)
        prepared = self._scorer.prepare(judge, known)
        weighted = self._quality is not None and self._reference is None
        exact = not weighted and self._scorer.is_exact(prepared)
        result = self._compare(self._score_judge(prepared, exact=exact), exact=exact)
        if failed is not None:
            result[..., failed] = HUMAN_WINS
            known = known | failed
        result[~(self._compared & known)] = NO_OUTCOME
        if self._slots is None:
            return result
        *judges, _, n_items = result.shape
        by_annotator = np.full((*judges, self._n_annotators, n_items), NO_OUTCOME, dtype=np.int8)
        by_annotator[..., self._slots, np.arange(n_items)] = result
        return by_annotator

    def medoid(self) -> NDArray[np.intp]:
        """Return the annotator whose label agrees best with the others, per item.

        Under `accuracy` this is the majority vote.
        """
        score = self._human / self._n_others()
        if not self._scorer.larger_is_closer:
            score = -score
        score[~self.present] = -np.inf
        best = score.argmax(axis=0)
        if self._slots is None:
            return best
        return np.take_along_axis(self._slots, best[np.newaxis], axis=0)[0]

    def agreement(self) -> NDArray[np.float64]:
        """Return the mean score of an annotator of each item with the others; nan for errors."""
        if not self._scorer.larger_is_closer:
            return np.full(self.present.shape[1], np.nan)
        score = np.where(self.present, self._human / self._n_others(), 0.0)
        return score.sum(axis=0) / np.maximum(np.count_nonzero(self.present, axis=0), 1)

    def _score_humans(self) -> NDArray[Any]:
        """Sum the scores of each annotator with the others: shape (n_annotators, n_items)."""
        scorer, labels, present = self._scorer, self._labels, self.present
        if self._reference is not None:
            return scorer.score(labels, self._reference[np.newaxis])
        total = np.zeros(present.shape, dtype=scorer.sum_dtype(weighted=self._quality is not None))
        for j in range(len(present)):
            for k in range(j + 1, len(present)):
                both = present[j] & present[k]
                ahead = scorer.score(labels[j], labels[k])
                behind = ahead if scorer.symmetric else scorer.score(labels[k], labels[j])
                total[j] += self._weight_score(ahead * both, k)
                total[k] += self._weight_score(behind * both, j)
        return total

    def _weight_score(self, score: NDArray[Any], annotator: int) -> NDArray[Any]:
        return score if self._quality is None else score * self._quality[annotator]

    def _score_judge(self, judge: NDArray[Any], *, exact: bool) -> NDArray[Any]:
        """Sum the judge's scores with everyone but each annotator in turn."""
        if self._reference is not None:
            score = self._scorer.score(judge, self._reference)
            return np.broadcast_to(score, np.broadcast_shapes(score.shape, self.present.shape))
        score = self._scorer.score(judge, self._labels) * self.present
        if self._quality is not None:
            score = score * self._quality
        score = score.astype(self._human.dtype, copy=False)
        if exact:
            return score.sum(axis=-2, keepdims=True, dtype=score.dtype) - score
        return _sums_without_each(score)

    def _compare(self, judge: NDArray[Any], *, exact: bool) -> NDArray[np.int8]:
        if exact:
            ahead, behind = judge > self._human, self._human > judge
        else:
            margin = self._scorer.margin(judge, self._human, self._n_others())
            tolerance = self._scorer.tolerance(self._labels)
            ahead, behind = margin > tolerance, margin < -tolerance
        if not self._scorer.larger_is_closer:
            ahead, behind = behind, ahead
        result = np.full(ahead.shape, TIE, dtype=np.int8)
        result -= ahead.view(np.int8)
        result += behind.view(np.int8)
        return result

    def _n_others(self) -> NDArray[np.float64]:
        """Return the total weight of the other annotators, the denominator of S."""
        if self._reference is not None:
            return np.ones(self.present.shape)
        quality = 1.0 if self._quality is None else self._quality
        weight = self.present * quality
        return np.maximum(weight.sum(axis=0) - weight, np.finfo(np.float64).tiny)


def _sums_without_each(score: NDArray[Any]) -> NDArray[Any]:
    """Sum floats over the last axis but one, leaving each row out in turn.

    Sums before and after the row are added, because subtracting the row from the total would lose
    digits that decide a tie.
    """
    result = np.zeros_like(score)
    np.cumsum(score[..., :-1, :], axis=-2, out=result[..., 1:, :])
    after = np.zeros_like(score[..., 0, :])
    for row in range(score.shape[-2] - 2, -1, -1):
        after += score[..., row + 1, :]
        result[..., row, :] += after
    return result


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Settings of the comparison: the alignment, and the annotators' weights in S.

    `n_codes` is the number of label codes, for imbalance weights.
    """

    scorer: Scorer
    quality: NDArray[np.float64] | None
    min_annotators: int
    n_codes: int

    def asked(self, raters: Raters) -> NDArray[np.bool_]:
        """Return on which items each judge was asked, shape (n_items, n_judges)."""
        present = is_present(raters.judges)
        return present if raters.failed is None else present | raters.failed

    def sum_judges(
        self,
        raters: Raters,
        collectors: Sequence[UnitCollector] = (),
        *,
        excluded: int | None = None,
    ) -> tuple[OutcomeSums, OutcomeSums, NDArray[np.int64]]:
        """Sum the judges' outcomes as they are and with failures lost, and count their items.

        With one collector per judge, also collect the judges' units.
        """
        plain: list[OutcomeSums] = []
        lost: list[OutcomeSums] = []
        n_items = np.zeros(raters.judges.shape[1], dtype=np.int64)
        for part, block, _ in self.blocks(raters):
            found = [self.outcomes_of(part, block, judge) for judge in range(len(n_items))]
            for judge, (outcomes, worst) in enumerate(found):
                compared = outcomes >= 0
                if excluded is not None:
                    compared[excluded] = False
                n_items[judge] += np.count_nonzero(compared.any(axis=0))
                if collectors:
                    self._collect(collectors[judge], outcomes, worst, part)
            plain.append(OutcomeSums.stack([self._sum(outcomes, part) for outcomes, _ in found]))
            if raters.failed is not None:
                lost.append(OutcomeSums.stack([self._sum(worst, part) for _, worst in found]))
        total = OutcomeSums.add(plain)
        return total, OutcomeSums.add(lost) if lost else total, n_items

    def sum_controls(self, raters: Raters, controls: Sequence[Control]) -> OutcomeSums:
        """Sum the controls' outcomes."""
        sums = []
        for part, block, items in self.blocks(raters):
            answers = [self.answers(control, block, part, items) for control in controls]
            cells = max(part.humans.size, 1) * self.scorer.cell_width
            step = max(1, _CELLS_AT_ONCE // cells)  # several controls at once where items are few
            several = (np.stack(answers[k : k + step]) for k in range(0, len(answers), step))
            sums.append(OutcomeSums.join(self._sum(block.outcomes(x), part) for x in several))
        return OutcomeSums.add(sums)

    def gains(
        self,
        raters: Raters,
        constant: Any,
        *,
        judges: OutcomeSums,
        other: OutcomeSums,
        settings: TestSettings,
    ) -> list[PairedGain]:
        r"""Test whether judges, their failures lost, are closer to the annotators than a constant.

        With :math:`c_{ij}` the weight of a comparison and :math:`\delta_j` annotator j's mean of
        :math:`W^f - W^g`, item i contributes
        :math:`\frac1m \sum_j c_{ij} (W^f_{ij} - W^g_{ij} - \delta_j) / \sum_i c_{ij}`, summed
        within clusters: where all annotators labelled all items this is the paired t-test of the
        items' means. `judges` and `other` are the sums of the judges and of the constant.

        Where at most ten items (or clusters) differ, p is the larger one of this test's and of the
        exact sign flip's, the share of the sign patterns of these differences whose sum is as
        large: a few lucky items have no normal mean, and five won are needed at .05.
        """
        tested = judges.n_items >= settings.min_items
        if settings.excluded is not None:
            tested[:, settings.excluded] = False
        totals = np.where(tested, judges.weights.sum(axis=-1), 1.0)
        shares = tested / (totals * np.maximum(tested.sum(axis=1, keepdims=True), 1))
        won = judges.weights[..., :HUMAN_WINS].sum(axis=-1)
        beaten = other.weights[..., :HUMAN_WINS].sum(axis=-1)
        offsets = shares * (won - beaten) / totals
        units: list[list[NDArray[np.float64]]] = [[] for _ in shares]
        apart: list[list[NDArray[np.float64]]] = [[] for _ in shares]
        for part, block, _ in self.blocks(raters):
            second = block.outcomes(np.broadcast_to(constant, len(part.humans))) < HUMAN_WINS
            for judge, (share, offset) in enumerate(zip(shares, offsets, strict=True)):
                first = self.outcomes_of(part, block, judge)[1]
                weights = self.weights(first, part)
                mass = (first >= 0) * (1.0 if weights is None else weights)
                gap = mass * ((first < HUMAN_WINS).astype(np.int8) - second)
                gains = share @ gap
                met = (mass[tested[judge]] > 0).any(axis=0)
                unit = None if part.clusters is None else part.clusters[met]
                units[judge].append(sum_clusters((gains - offset @ mass)[met], unit))
                if sum(map(len, apart[judge])) <= MOST_FLIPPED:  # more are not told apart
                    differs = (np.abs(gains[met]) > 1e-12).astype(np.float64)
                    differing = sum_clusters(differs, unit) > 0
                    apart[judge].append(sum_clusters(gains[met], unit)[differing])
        advantages, others = (won * shares).sum(axis=1), (beaten * shares).sum(axis=1)
        results = []
        for advantage, beaten_by, *parts in zip(advantages, others, units, apart, strict=True):
            values, differences = map(np.concatenate, parts)
            p_value = _test_one_sided(float(advantage - beaten_by), values)
            if 0 < len(differences) <= MOST_FLIPPED:
                p_value = max(p_value, float(flip_signs(differences)[-1]))
            results.append(
                PairedGain(
                    advantage=float(advantage),
                    other=float(beaten_by),
                    p_value=p_value,
                    n_differ=len(differences),
                )
            )
        return results

    def outcomes(self, raters: Raters) -> list[NDArray[np.int8]]:
        """Return the outcomes of every judge on all items at once."""
        block = self.block(raters)
        return [block.outcomes(np.ascontiguousarray(column)) for column in raters.judges.T]

    def blocks(self, raters: Raters) -> Iterator[tuple[Raters, HumanBlock, slice]]:
        """Split the items into blocks, with whole, ascending clusters."""
        n_items, n_annotators = raters.humans.shape
        step = max(256, _CELLS_AT_ONCE // (n_annotators * self.scorer.cell_width))
        if raters.codes is not None:  # imbalance weights need all items at once
            step = max(n_items, 1)
        edges = np.arange(0, max(n_items, 1), step)
        if raters.clusters is not None:
            known = raters.clusters[edges[edges < n_items]]
            edges = np.unique(np.append(0, np.searchsorted(raters.clusters, known)))
        for start, stop in zip(edges.tolist(), [*edges[1:].tolist(), n_items], strict=True):
            part = raters.take(slice(start, stop))
            yield part, self.block(part), slice(start, stop)

    def block(self, raters: Raters) -> HumanBlock:
        """Make a block of some items."""
        return HumanBlock(
            raters.humans,
            scorer=self.scorer,
            quality=self.quality,
            reference=raters.reference,
            min_annotators=self.min_annotators,
        )

    def outcomes_of(
        self, raters: Raters, block: HumanBlock, judge: int
    ) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Return the outcomes of a judge, with failures left out and lost."""
        answers = np.ascontiguousarray(raters.judges[:, judge])
        plain = lost = block.outcomes(answers)
        if raters.failed is not None and raters.failed[:, judge].any():
            lost = block.outcomes(answers, failed=raters.failed[:, judge])
        return plain, lost

    def _sum(self, outcomes: NDArray[np.int8], raters: Raters) -> OutcomeSums:
        weights = self.weights(outcomes, raters)
        return sum_outcomes(outcomes, weights=weights, clusters=raters.clusters)

    def weights(self, outcomes: NDArray[np.int8], raters: Raters) -> NDArray[np.float64] | None:
        """Return weights of comparisons by the rarity of their labels, where that is set."""
        if raters.codes is None:
            return None
        weigh = partial(
            imbalance_weights,
            raters.codes.T,
            n_codes=self.n_codes,
            reference=raters.reference_codes,
        )
        compared = outcomes >= 0
        return weigh(compared) if compared.ndim == 2 else np.stack([*map(weigh, compared)])

    def _collect(
        self,
        collector: UnitCollector,
        outcomes: NDArray[np.int8],
        lost: NDArray[np.int8],
        raters: Raters,
    ) -> None:
        weights = self.weights(outcomes, raters)
        if collector.lost:
            if weights is not None:
                weights = np.concatenate([weights, self.weights(lost, raters)])
            outcomes = np.concatenate([outcomes, lost])
        collector.add(outcomes, weights=weights, clusters=raters.clusters)

    def answers(
        self, control: Control, block: HumanBlock, raters: Raters, items: slice
    ) -> NDArray[Any]:
        """Return the labels of a control.

        The majority vote uses the annotators, never the reference.
        """
        if control.answers is not None:
            return control.answers[items]
        if control.control == "reference" and raters.reference is not None:
            return raters.reference
        panel = block
        if raters.reference is not None:
            panel = HumanBlock(raters.humans, scorer=self.scorer, quality=self.quality)
        return raters.humans[np.arange(len(raters.humans)), panel.medoid()]


def _test_one_sided(difference: float, units: NDArray[np.float64]) -> float:
    """Test a difference above 0, given each unit's contribution to its error."""
    n_units = len(units)
    if n_units < 2:
        return float("nan")
    error = float(np.sqrt(n_units / (n_units - 1) * (units**2).sum()))
    if error < 1e-12:
        return 0.0 if difference > 1e-12 else 1.0
    return float(stdtr(n_units - 1, -difference / error))


def flip_signs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the sign patterns of the first k values whose sum is as large as theirs.

    Of values of shape (..., n) the shares for k = 0 to n, shape (..., n + 1). A value of 0 changes
    no share.
    """
    sums = np.zeros((*values.shape[:-1], 1))
    shares = [np.ones(values.shape[:-1])]
    for k in range(values.shape[-1]):
        value = values[..., k, np.newaxis]
        sums = np.concatenate([sums + value, sums - value], axis=-1)
        theirs = sums[..., :1]  # all signs as they are
        shares.append((sums >= theirs - 1e-12).mean(axis=-1))
    return np.stack(shares, axis=-1)


def imbalance_weights(
    codes: NDArray[Any],
    compared: NDArray[np.bool_],
    *,
    n_codes: int,
    reference: NDArray[Any] | None = None,
) -> NDArray[np.float64]:
    """Weigh every comparison by the rarity of its majority label, 0 where nothing is compared.

    Arrays have the shape (n_annotators, n_items), which memory is linear in; `reference` has codes
    that stand for the majority.
    """
    weights = np.zeros(codes.shape)
    for annotator, items in enumerate(compared):
        if reference is None:
            others = np.delete(codes, annotator, axis=0)[:, items]
            shares = _majority_shares(others)
        else:
            others = reference[np.newaxis, items]
            shares = np.ones(others.shape)
        counts = np.bincount(
            np.maximum(others, 0).ravel(), weights=shares.ravel(), minlength=n_codes
        )
        inverse = np.divide(
            np.count_nonzero(items), counts, out=np.zeros(n_codes), where=counts > 0
        )
        weights[annotator, items] = (shares * inverse[np.maximum(others, 0)]).sum(axis=0)
    return weights


def _majority_shares(others: NDArray[Any]) -> NDArray[np.float64]:
    """Split each item among its majority labels, shape of `others`."""
    votes = np.zeros(others.shape, dtype=np.int64)
    for row in others:
        votes += others == row
    votes[others < 0] = 0
    top = (votes == votes.max(axis=0, initial=1)) & (others >= 0)
    return top / np.maximum(np.count_nonzero(top, axis=0), 1)


def make_controls(raters: Raters, *, seed: int, label_sets: LabelSets | None) -> list[Control]:
    """Make the controls of a run.

    Constants for the most frequent labels (for numbers also the mean and the median, for sets the
    empty set and the set of labels in most annotators' sets), a random judge, the majority vote,
    and the expert's or gold labels where there are any.
    """
    n_items = len(raters.humans)
    rng = np.random.default_rng(seed)
    constants, pool = frequent_labels(raters.humans, rng=rng, label_sets=label_sets)
    if not len(pool):
        return []
    controls = [
        Control(control="constant", answers=np.broadcast_to(value, (n_items,)), constant=value)
        for value in constants
    ]
    drawn = pool[rng.integers(0, len(pool), n_items, dtype=np.int32)]
    controls += [Control(control="random", answers=drawn), Control(control="majority_vote")]
    if raters.reference is not None:
        controls.append(Control(control="reference"))
    return controls


def frequent_labels(
    humans: NDArray[Any], *, rng: np.random.Generator, label_sets: LabelSets | None
) -> tuple[list[Any], NDArray[Any]]:
    """Find the candidate constants, and a sample of all labels (with repeats)."""
    if humans.size > _SAMPLE:
        rows, columns = (rng.integers(0, size, _SAMPLE) for size in humans.shape)
        pool = humans[rows, columns]
    else:
        pool = humans.ravel()
    numbers = np.issubdtype(humans.dtype, np.floating)
    pool = pool[~np.isnan(pool)] if numbers else pool[pool >= 0]
    values, counts = np.unique(pool, return_counts=True)
    order = np.lexsort((values, -counts))[:_MOST_CONSTANTS]
    constants = list(values[order])
    if numbers and len(pool):
        middle = [values[np.abs(values - x).argmin()] for x in (pool.mean(), np.median(pool))]
        constants += [value for value in dict.fromkeys(middle) if value not in constants]
    if label_sets is not None:
        typical = label_sets.find_typical(pool)
        constants += [code for code in typical if code not in constants]
    return constants, pool
