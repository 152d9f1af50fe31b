r"""Compares judges with each left-out annotator, item by item.

For annotator :math:`j` and item :math:`i` the judge's score :math:`S(f)` and the annotator's score
:math:`S(h_j)` are both means over the same other annotators, so sums are compared, as integers
where the alignment allows it and otherwise to a tolerance. Each comparison has one of three
outcomes, and everything the test needs is a function of how often each occurs. Controls are
compared like judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._messages import list_names, shorten
from voirdire._types import AlignmentName
from voirdire._validation import check_choice, check_epsilons
from voirdire.errors import InputError
from voirdire.stats.alignment import make_scorer
from voirdire.stats.figures import TestSettings
from voirdire.stats.intervals import check_units
from voirdire.stats.label_arrays import (
    LabelSets,
    check_humans,
    check_judges,
    check_reference,
    count_items,
    is_present,
    name_columns,
    pack_slots,
)
from voirdire.stats.outcome_sums import (
    HUMAN_WINS,
    NO_OUTCOME,
    TIE,
    OutcomeSums,
    sum_outcomes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.alignment import Scorer, VectorizedScore
    from voirdire.stats.figures import Design
    from voirdire.stats.plan import TestPlan

_CELLS_AT_ONCE = 1 << 18
"""Items times annotators that are compared at once, to fit the cache."""

_MOST_CONSTANTS = 10
_SAMPLE = 200_000
"""More labels than this are sampled for controls."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Everyone's labels, checked, and how they are compared.

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
    codes : ndarray of int, shape (n_items, n_annotators + 1), or None
        Codes of the annotators' labels and of the reference's (-1 without one), for imbalance
        weights.
    copies : ndarray of int, shape (n_items,), or None
        How many items have the labels of each row.
    alignment : str or callable
        As `voirdire.stats.alt_test` takes it.
    scorer : Scorer
        What scores by it.
    settings : TestSettings
        What else determines the test.
    min_annotators : int
        Fewest annotators of an item that is compared.
    label_sets : LabelSets or None
        The sets behind the codes.
    n_codes : int
        Size of the label universe, as declared or as seen.
    is_declared : bool
        Whether it was declared.
    """

    humans: NDArray[Any]
    judges: NDArray[Any]
    failed: NDArray[np.bool_] | None
    reference: NDArray[Any] | None
    clusters: NDArray[np.intp] | None
    codes: NDArray[Any] | None
    copies: NDArray[np.int64] | None
    alignment: AlignmentName | VectorizedScore
    scorer: Scorer
    settings: TestSettings
    min_annotators: int
    label_sets: LabelSets | None
    n_codes: int
    is_declared: bool

    @property
    def alignment_name(self) -> str:
        """What results call the alignment."""
        if isinstance(self.alignment, str):
            return self.alignment
        return str(getattr(self.alignment, "__name__", "custom"))

    def take(self, rows: Any, judges: Any = slice(None)) -> Comparison:
        """Return the comparison of some items and judges."""
        names = ("humans", "judges", "failed", "reference", "clusters", "codes", "copies")
        taken = {name: x[rows] for name in names if (x := getattr(self, name)) is not None}
        of_judges = {name: taken[name][:, judges] for name in ("judges", "failed") if name in taken}
        return replace(self, **taken | of_judges)

    @cached_property
    def blocks(self) -> list[tuple[slice, HumanBlock]]:
        """The items in blocks."""
        n_items, n_annotators = self.humans.shape
        step = max(256, _CELLS_AT_ONCE // (n_annotators * self.scorer.cell_width))
        parts = [slice(start, start + step) for start in range(0, max(n_items, 1), step)]
        return [
            (
                part,
                HumanBlock(
                    self.humans[part],
                    scorer=self.scorer,
                    quality=self.settings.quality,
                    reference=None if self.reference is None else self.reference[part],
                    min_annotators=self.min_annotators,
                ),
            )
            for part in parts
        ]

    def outcomes(self, answers: NDArray[Any]) -> Iterator[NDArray[np.int8]]:
        """Compare judges with every left-out annotator, each of shape (n_annotators, n_items)."""
        return chain.from_iterable(self._compare(answers))

    def sum_all(self, answers: NDArray[Any]) -> OutcomeSums:
        """Sum the outcomes of judges, shape (n_judges, n_annotators)."""
        if self.codes is None:
            return OutcomeSums.join([self.sum(x) for x in self._compare(answers)], np.concatenate)
        return OutcomeSums.join([self.sum(x) for x in self.outcomes(answers)])

    def _compare(self, answers: NDArray[Any]) -> Iterator[NDArray[np.int8]]:
        step = max(1, _CELLS_AT_ONCE // max(self.humans.size * self.scorer.cell_width, 1))
        for start in range(0, answers.shape[1], step):  # several judges at once where items are few
            columns = np.ascontiguousarray(answers[:, start : start + step].T)
            outcomes = np.empty((len(columns), *self.humans.T.shape), dtype=np.int8)
            for part, block in self.blocks:
                outcomes[..., part] = block.outcomes(columns[:, part])
            yield outcomes

    def judge_outcomes(
        self, judges: Sequence[int] | None = None
    ) -> Iterator[tuple[NDArray[np.int8], NDArray[np.int8]]]:
        """Compare judges, all unless some are named, with failures left out and failures lost."""
        numbers = range(self.judges.shape[1]) if judges is None else judges
        answers = self.judges if judges is None else self.judges[:, judges]
        for judge, outcomes in zip(numbers, self.outcomes(answers), strict=True):
            lost = outcomes
            if self.failed is not None and self.failed[:, judge].any():
                lost = np.where(
                    self._compared & self.failed[:, judge], np.int8(HUMAN_WINS), outcomes
                )
            yield outcomes, lost

    @cached_property
    def _compared(self) -> NDArray[np.bool_]:
        """Where an annotator can be compared with a judge, shape (n_annotators, n_items)."""
        present = is_present(self.humans).T
        if self.reference is not None:
            return present & is_present(self.reference)
        return present & (np.count_nonzero(present, axis=0) >= self.min_annotators)

    def sum(self, outcomes: NDArray[np.int8]) -> OutcomeSums:
        """Sum the outcomes of a judge."""
        weights = self.weights(outcomes)
        return sum_outcomes(outcomes, weights=weights, clusters=self.clusters, copies=self.copies)

    def count(self, marked: Any) -> Any:
        """Count the items that are marked, the last axis."""
        return count_items(marked, self.copies)

    def weights(self, outcomes: NDArray[np.int8]) -> NDArray[np.float64] | None:
        """Weigh comparisons by the rarity of their majority labels, where that is set.

        0 where nothing is compared; memory is linear in the comparisons.
        """
        if self.codes is None:
            return None
        weights, codes = np.zeros(outcomes.shape), self.codes.T
        n_codes = 1 + int(codes.max(initial=-1))
        for annotator, items in enumerate(outcomes >= 0):
            if self.reference is None:
                others = np.delete(codes[:-1], annotator, axis=0)[:, items]
                votes = np.zeros(others.shape, dtype=np.int64)
                for row in others:
                    votes += others == row
                votes[others < 0] = 0
                top = (votes == votes.max(axis=0, initial=1)) & (others >= 0)
                shares = top / np.maximum(np.count_nonzero(top, axis=0), 1)
            else:
                others = codes[-1:, items]
                shares = np.ones(others.shape)
            labels = np.maximum(others, 0)
            times = shares if self.copies is None else shares * self.copies[items]
            counts = np.bincount(labels.ravel(), weights=times.ravel(), minlength=n_codes)
            n_items = self.count(items)
            inverse = np.divide(n_items, counts, out=np.zeros(n_codes), where=counts > 0)
            weights[annotator, items] = (shares * inverse[labels]).sum(axis=0)
        return weights

    def majority(self) -> NDArray[Any]:
        """Return the annotators' label that agrees best with the others: the mode of words."""
        alone = self if self.reference is None else replace(self, reference=None)
        best = np.concatenate([block.medoid() for _, block in alone.blocks])
        return self.humans[np.arange(len(best)), best]


def compare_labels(
    judges: ArrayLike,
    humans: ArrayLike,
    *,
    plan: TestPlan,
    alignment: AlignmentName | VectorizedScore = "accuracy",
    label_sets: ArrayLike | LabelSets | None = None,
    values: Sequence[Any] | None = None,
    n_codes: int | None = None,
    failed: ArrayLike | None = None,
    gold: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    copies: ArrayLike | None = None,
    annotators: Sequence[str] | None = None,
) -> Comparison:
    """Check the labels of `voirdire.stats.alt_test`, and gather what the test computes on."""
    if not callable(alignment):
        check_choice("alignment", alignment, AlignmentName)
    people = check_humans(humans, numeric=alignment == "neg_rmse")
    machines, failures = check_judges(judges, failed, people)
    names = name_columns("annotators", annotators or None, people.shape[1])
    if plan.expert is not None and str(plan.expert) not in names:
        listing = list_names([repr(shorten(name)) for name in names])
        msg = f"`expert` must be one of the annotators {listing}, got {shorten(plan.expert)!r}."
        raise InputError(msg)
    expert = None if plan.expert is None else names.index(str(plan.expert))
    reference = check_reference(people, expert=expert, gold=gold)
    if label_sets is not None and not isinstance(label_sets, LabelSets):
        label_sets = LabelSets.from_membership(label_sets)
    n_seen = 0
    if people.dtype.kind != "f":
        labels = [people, machines, *([] if reference is None else [reference])]
        n_seen = 1 + max(int(codes.max(initial=-1)) for codes in labels)
    sizes = {
        "label_sets": None if label_sets is None else len(label_sets),
        "values": None if values is None else len(values),
        "n_codes": n_codes,
    }
    for name, size in sizes.items():
        if size is not None and size < n_seen:
            msg = f"`{name}` must cover every code, got {size} for codes up to {n_seen - 1}."
            raise InputError(msg)
    design: Design = "weighted" if plan.weights else "items"
    return Comparison(
        humans=people,
        judges=machines,
        failed=failures,
        reference=reference,
        clusters=check_units(clusters, len(people)),
        codes=_code_for_weights(people, reference) if plan.weights else None,
        copies=check_copies(copies, len(people)),
        alignment=alignment,
        scorer=make_scorer(
            alignment,
            humans=people,
            n_codes=max(n_seen, n_codes or 0),
            label_sets=label_sets,
            values=values,
            similarity=plan.similarity,
        ),
        settings=TestSettings(
            epsilons=np.asarray(check_epsilons(plan.epsilon)),
            mode=plan.epsilon_mode,
            design="clustered" if clusters is not None else design,
            false_discovery_rate=plan.false_discovery_rate,
            min_items=plan.min_items,
            family=plan.family,
            quality=None if plan.quality is None else _check_quality(plan.quality, names),
            excluded=expert,
            has_reference=reference is not None,
        ),
        min_annotators=plan.min_annotators,
        label_sets=label_sets,
        n_codes=max(n_seen, n_codes or 0),
        is_declared=n_codes is not None,
    )


def check_copies(copies: ArrayLike | None, n_items: int) -> NDArray[np.int64] | None:
    """Return how many items have the labels of each row."""
    if copies is None:
        return None
    counts = np.asarray(copies)
    is_whole = counts.dtype.kind in "iu" and counts.shape == (n_items,)
    if not is_whole or counts.min(initial=1) < 1:
        msg = (
            f"`copies` must be whole numbers from 1, of the shape ({n_items},), got "
            f"{counts.dtype} of the shape {counts.shape}."
        )
        raise InputError(msg)
    return counts.astype(np.int64, copy=False)


def _code_for_weights(humans: NDArray[Any], reference: NDArray[Any] | None) -> NDArray[Any]:
    """Code the labels of annotators and reference: they must be whole numbers, which repeat."""
    missing = np.nan if humans.dtype.kind == "f" else -1
    last = np.full(len(humans), missing) if reference is None else reference
    stacked = np.column_stack([humans, last])
    if humans.dtype.kind != "f":
        return stacked
    known = stacked[~np.isnan(stacked)]
    if (known != np.floor(known)).any():
        msg = (
            "`weights` must be None for continuous labels, got 'imbalance'. "
            "Majority labels exist only where labels repeat."
        )
        raise InputError(msg)
    codes = np.unique(stacked, return_inverse=True)[1].reshape(stacked.shape)
    return np.where(np.isnan(stacked), -1, codes)


def _check_quality(
    quality: Mapping[str, float] | ArrayLike, names: Sequence[str]
) -> NDArray[np.float64]:
    """Return the annotators' weights, which are by name or by column."""
    listed: Any = quality
    try:
        if isinstance(quality, Mapping):
            by_name = {str(name): weight for name, weight in quality.items()}
            listed = [by_name[name] for name in names]
        weights = np.asarray(listed, dtype=np.float64)
    except KeyError as error:
        msg = f"`quality` must name every annotator, got no weight for {shorten(error.args[0])!r}."
        raise InputError(msg) from None
    except (TypeError, ValueError) as error:
        msg = f"`quality` must map annotators to numbers, got {shorten(quality)}."
        raise InputError(msg) from error
    if weights.shape != (len(names),) or not (np.isfinite(weights) & (weights > 0)).all():
        msg = (
            f"`quality` must hold one positive number for each of {len(names)} annotators, "
            f"got {shorten(weights.tolist())}."
        )
        raise InputError(msg)
    return weights


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
        self._reference = None
        if reference is None:
            enough = np.count_nonzero(self.present, axis=0) >= min_annotators
            self._human = self._score_humans()
        else:
            enough = is_present(reference)
            self._reference = scorer.prepare(reference, enough)
            self._human = scorer.score(self._labels, self._reference[np.newaxis])
        self._compared = self.present & enough

    def outcomes(self, judges: NDArray[Any]) -> NDArray[np.int8]:
        """Compare judges, shape (..., n_items): outcomes of shape (..., n_annotators, n_items)."""
        scorer, judges = self._scorer, judges[..., np.newaxis, :]
        known = is_present(judges)
        prepared = scorer.prepare(judges, known)
        exact = scorer.is_exact(prepared) and (self._quality is None or self._reference is not None)
        judge = self._score_judges(prepared, exact=exact)
        if exact:
            ahead, behind = judge > self._human, self._human > judge
        else:
            margin = scorer.margin(judge, self._human, self._n_others())
            tolerance = scorer.tolerance(self._labels)
            ahead, behind = margin > tolerance, margin < -tolerance
        if not scorer.larger_is_closer:
            ahead, behind = behind, ahead
        result: NDArray[np.int8] = np.full(ahead.shape, TIE, dtype=np.int8)
        result -= ahead.view(np.int8)
        result += behind.view(np.int8)
        result[~(self._compared & known)] = NO_OUTCOME
        if self._slots is None:
            return result
        shape = (*result.shape[:-2], self._n_annotators, result.shape[-1])
        by_annotator = np.full(shape, NO_OUTCOME, dtype=np.int8)
        by_annotator[..., self._slots, np.arange(shape[-1])] = result
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

    def _score_judges(self, judges: NDArray[Any], *, exact: bool) -> NDArray[Any]:
        """Sum the judges' scores with everyone but each annotator in turn."""
        if self._reference is not None:
            score = self._scorer.score(judges, self._reference)
            return np.broadcast_to(score, np.broadcast_shapes(score.shape, self.present.shape))
        score = self._scorer.score(judges, self._labels) * self.present
        if self._quality is not None:
            score = score * self._quality
        score = score.astype(self._human.dtype, copy=False)
        if exact:
            return score.sum(axis=-2, keepdims=True, dtype=score.dtype) - score
        # sums before and after each row: the total less the row would lose digits that decide ties
        result = np.zeros_like(score)
        np.cumsum(score[..., :-1, :], axis=-2, out=result[..., 1:, :])
        after = np.zeros_like(score[..., 0, :])
        for row in range(score.shape[-2] - 2, -1, -1):
            after += score[..., row + 1, :]
            result[..., row, :] += after
        return result

    def _n_others(self) -> NDArray[np.float64]:
        """Return the total weight of the other annotators, the denominator of S."""
        if self._reference is not None:
            return np.ones(self.present.shape)
        weight = self.present * (1.0 if self._quality is None else self._quality)
        return np.maximum(weight.sum(axis=0) - weight, np.finfo(np.float64).tiny)


# Controls -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Controls:
    """Judges that always give one label, draw labels, or follow the majority or the reference.

    `kinds` names each of them, the constants first; `answers` has their labels, one a column.
    """

    kinds: list[str]
    constants: list[Any]
    answers: NDArray[Any]


def make_controls(labels: Comparison, *, seed: int) -> Controls | None:
    """Make the controls of a run; None without labels.

    Constants for the most frequent labels (for numbers also the mean and the median, for sets the
    empty set and the set of labels in most annotators' sets), a random judge unless rows stand for
    several items, the majority vote, and the expert's or gold labels where there are any.
    """
    rng = np.random.default_rng(seed)
    constants, pool = frequent_labels(
        labels.humans, rng=rng, label_sets=labels.label_sets, copies=labels.copies
    )
    n_items = len(labels.humans)
    if not len(pool):
        return None
    dtype = pool.dtype if pool.dtype.kind == "f" else np.min_scalar_type(-labels.n_codes - 1)
    columns = [("constant", np.broadcast_to(value, n_items)) for value in constants]
    if labels.copies is None:
        drawn = pool[rng.integers(0, len(pool), n_items, dtype=np.int32)]
        columns.append(("random", drawn))
    columns.append(("majority_vote", labels.majority()))
    columns += [] if labels.reference is None else [("reference", labels.reference)]
    return Controls(
        kinds=[kind for kind, _ in columns],
        constants=constants,
        answers=np.stack([column.astype(dtype) for _, column in columns]).T,
    )


def frequent_labels(
    humans: NDArray[Any],
    *,
    rng: np.random.Generator,
    label_sets: LabelSets | None,
    copies: NDArray[np.int64] | None = None,
) -> tuple[list[Any], NDArray[Any]]:
    """Find the candidate constants, and a sample of all labels: with repeats, or all of copies."""
    pool = humans.ravel()
    if copies is not None:
        values = np.unique(np.concatenate([np.unique(column) for column in humans.T]))
        values = pool = values[is_present(values)]
        counts = np.zeros(len(values) + 1, np.int64)  # the last one of missing labels
        for column in humans.T:
            places = np.where(is_present(column), np.searchsorted(values, column), len(values))
            counts += np.bincount(places, copies, len(counts)).astype(np.int64)
        counts = counts[:-1]
    else:
        if humans.size > _SAMPLE:
            rows, columns = (rng.integers(0, size, _SAMPLE) for size in humans.shape)
            pool = humans[rows, columns]
        pool = pool[is_present(pool)]
        values, counts = np.unique(pool, return_counts=True)
    order = np.lexsort((values, -counts))[:_MOST_CONSTANTS]
    constants = list(values[order])
    if humans.dtype.kind == "f" and len(pool):
        ends = np.cumsum(counts)
        halves = values[np.searchsorted(ends, [(ends[-1] - 1) // 2, ends[-1] // 2], side="right")]
        centres = (np.average(values, weights=counts), halves.mean())
        middle = [values[np.abs(values - x).argmin()] for x in centres]
        constants += [value for value in dict.fromkeys(middle) if value not in constants]
    if label_sets is not None:
        typical = label_sets.find_typical(values, counts)
        constants += [code for code in typical if code not in constants]
    return constants, pool
