"""Verdicts on a batch of items: arrays, which a table is made of where one is needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import check_choice
from voirdire.judging.call_table import call_frame
from voirdire.judging.table import VerdictLayout, long_frame, wide_frame
from voirdire.records.thresholds import threshold_of_each

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

    from voirdire._types import ProbabilitySource, Threshold
    from voirdire.records import Failure

__all__ = ["BehaviorClasses", "CallDetails", "VerdictBatch"]


@dataclass(frozen=True, kw_only=True, eq=False)
class CallDetails:
    """What there is to say of verdicts that a language model gave.

    Attributes
    ----------
    labels : mapping of str to tuple
        Answers to questions that are not boolean, one per item: a label, a number, a text, labels
        in the order of the rubric, or None for a failure.
    label_failures : mapping of (int, str) to Failure
        Why there is none, by place of the item and question.
    missing_mass : ndarray of float, shape (n_items, n_propositions)
        Probability of tokens that are neither true nor false, in [0, 1]; nan where none was read.
    shift : ndarray of float, shape (n_items, n_propositions)
        Range of a proposition's probability over the orders in which the questions were asked, in
        [0, 1]; nan where nothing was compared.
    label_shift : mapping of str to ndarray of float, shape (n_items,)
        For pairwise questions 1 where a pair was judged otherwise with its responses swapped, and
        0 where it was not; nan for other kinds.
    forms : tuple of str or None
        The loosest form in which a reply about the item was asked for.
    attempts : ndarray of int, shape (n_items,)
        Replies and failed calls about the item.
    """

    labels: Mapping[str, tuple[Any, ...]] = field(repr=False)
    label_failures: Mapping[tuple[int, str], Failure] = field(repr=False)
    missing_mass: NDArray[np.float64] = field(repr=False)
    shift: NDArray[np.float64] = field(repr=False)
    label_shift: Mapping[str, NDArray[np.float64]] = field(repr=False)
    forms: tuple[str | None, ...] = field(repr=False)
    attempts: NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class BehaviorClasses:
    """Completion classes of one behavior, for those items of a batch that they concern.

    Attributes
    ----------
    behavior : str
        Id of the behavior.
    classes : tuple of str
        Names of its classes, in order of precedence.
    rows : ndarray of int, shape (n_rows,)
        Places in the batch of the items of this behavior and of those without one, ascending.
    probabilities : ndarray of float, shape (n_rows, n_classes)
        In [0, 1]; nan where an answer that matters is missing.
    hard : ndarray of int, shape (n_rows,)
        Index of the class that holds under the threshold; -1 where an answer that it needs is
        missing, or where no class holds.
    """

    behavior: str
    classes: tuple[str, ...]
    rows: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    hard: NDArray[np.int64]

    @property
    def questions(self) -> tuple[str, ...]:
        """What the verdict table calls them: ``behavior.class``."""
        return tuple(f"{self.behavior}.{name}" for name in self.classes)


@dataclass(frozen=True, kw_only=True, eq=False)
class VerdictBatch:
    """A judge's verdicts on a batch of items.

    Attributes
    ----------
    items : tuple of str
        Ids of the items, in their order.
    behaviors : tuple of str or None
        The behavior of each item, where it has one.
    questions : tuple of str
        The propositions that were asked, in the order of the rubric.
    probabilities : ndarray of float, shape (n_items, n_questions)
        In [0, 1]; nan where the judge failed.
    failures : mapping of (int, int) to Failure
        Why, by place of the item and of the question.
    threshold : float, or mapping of str to float
        A proposition is true from this probability on; one for all, or one for each.
    classes : tuple of BehaviorClasses
        Completion classes, one entry per behavior of the rubric, with or without items.
    judge : str
        The judge's name.
    source : str
        Where the probabilities come from.
    fingerprint : str
        Hash over judge, rubric, threshold, what is judged and class rule.
    details : CallDetails or None
        Answers of other kinds and how the calls went, where the judge is a language model.
    sources : tuple of str or None
        By item where its probabilities come from, where that is not the same for all.
    answered_by : tuple of str or None
        By item the judge that answered it, where the judge is a cascade of two.
    """

    items: tuple[str, ...]
    behaviors: tuple[str | None, ...]
    questions: tuple[str, ...]
    probabilities: NDArray[np.float64] = field(repr=False)
    failures: Mapping[tuple[int, int], Failure] = field(default_factory=dict, repr=False)
    threshold: Threshold
    classes: tuple[BehaviorClasses, ...] = field(default=(), repr=False)
    judge: str
    source: ProbabilitySource
    fingerprint: str
    details: CallDetails | None = field(default=None, repr=False)
    sources: tuple[ProbabilitySource, ...] | None = field(default=None, repr=False)
    answered_by: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def labels(self) -> NDArray[np.bool_]:
        """Which propositions are true; false where the judge failed."""
        with np.errstate(invalid="ignore"):
            return np.asarray(
                self.probabilities >= threshold_of_each(self.threshold, self.questions)
            )

    def to_frame(self, layout: VerdictLayout = "long") -> pl.DataFrame:
        """Make the verdict table of these items.

        Parameters
        ----------
        layout : {"long", "wide"}, optional
            One row per item and question, classes after propositions; or one row per item.

        Returns
        -------
        polars.DataFrame
            Long: `item`, `judge`, `question`, `label`, `probability`, `source`, `threshold`,
            `behavior`, `failure`, `fingerprint`; where a language model was asked, also
            `missing_mass`, `shift`, `form` and `attempts`, and rows for questions that are not
            boolean. Wide: `item`, `behavior`, a probability for each proposition and each
            ``behavior.class``, an answer for each other question, for a cascade `answered_by`,
            `judge`, `fingerprint`, and `threshold` where it is not 1/2.
        """
        check_choice("layout", layout, VerdictLayout)
        if layout == "wide":
            return wide_frame(self)
        return long_frame(self) if self.details is None else call_frame(self, self.details)
