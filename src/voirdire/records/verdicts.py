"""Defines the verdicts of a judge as arrays of items by questions."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import check_choice, shorten
from voirdire.errors import InputError
from voirdire.records.failures import Failure
from voirdire.records.thresholds import (
    USUAL_THRESHOLD,
    format_threshold,
    get_thresholds,
    select_threshold,
)
from voirdire.records.verdict_tables import VerdictLayout, long_frame, wide_frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    import polars as pl
    from numpy.typing import NDArray

    from voirdire._types import ProbabilitySource, Threshold
    from voirdire.records.calls import CallSummary
    from voirdire.records.failures import Dropped

__all__ = ["NO_VERDICT", "BehaviorClasses", "CallDetails", "Verdicts"]

NO_VERDICT = "no verdict"
"""Why an answer is missing where nothing is known of a failure."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CallDetails:
    """Details of the verdicts of a language model.

    Attributes
    ----------
    labels : mapping of str to tuple
        Answers to questions that are not boolean, one per item: a label, a number, a text, labels
        in the order of the rubric, or None for a failure.
    label_failures : mapping of (int, str) to Failure
        Why there is none, by place of the item and question.
    missing_mass : ndarray of float, shape (n_items, n_questions)
        Probability of tokens that are neither true nor false, in [0, 1]; nan where none was read.
    numeric : frozenset of str
        Questions that are answered with numbers.
    """

    labels: Mapping[str, tuple[Any, ...]] = field(repr=False)
    label_failures: Mapping[tuple[int, str], Failure] = field(repr=False)
    missing_mass: NDArray[np.float64] = field(repr=False)
    numeric: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, eq=False)
class BehaviorClasses:
    """Completion classes of one behavior, for the items of it.

    Attributes
    ----------
    behavior : str
        Id of the behavior.
    classes : tuple of str
        Names of its classes, in order of precedence.
    rows : ndarray of int, shape (n_rows,)
        Places of the items of this behavior, ascending.
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


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Verdicts:
    """The verdicts of a judge on items.

    A judge's answers in memory have this form wherever they come from: judged now, read from a
    file, or asked for by a reward.

    Attributes
    ----------
    items : tuple of str
        Ids of the items, unique, in their order.
    behaviors : tuple of str or None
        The behavior of each item, where it has one.
    questions : tuple of str
        The propositions that were asked.
    probabilities : ndarray of float, shape (n_items, n_questions)
        That each proposition is true, in [0, 1]; nan where there is no answer.
    failures : mapping of (int, int) to Failure
        Why, by place of the item and of the question, as far as it is known.
    judge : str
        The judge's name.
    source : {"logprob", "stated", "vote", "classifier", "cascade"} or None
        Where its probabilities come from; None where a file does not say.
    fingerprint : str
        Hash of judge, rubric, threshold, what is judged and class rule; empty where a file does
        not say.
    threshold : float, or mapping of str to float
        In (0, 1): a proposition is true from this probability on; one for all, or one for each.
    completion_classes : tuple of BehaviorClasses
        One entry per behavior of the rubric, with or without items; none where verdicts were read.
    details : CallDetails or None
        What there is to say of them where a language model gave them.
    sources : tuple of str or None
        Where each item's probabilities come from, if not all from `source`.
    answered_by : tuple of str or None
        Which judge of a cascade answered each item.
    dropped : tuple of Dropped
        Rows that are no items, each with its reason.
    notes : tuple of str
        What the reader should know.
    calls : CallSummary or None
        What the calls came to, where a language model was asked.

    Examples
    --------
    >>> import numpy as np
    >>> from voirdire.records import Verdicts
    >>> found = Verdicts(
    ...     items=("a", "b"), questions=("apology",), probabilities=np.array([[0.9], [np.nan]]),
    ...     behaviors=(None, None), judge="mine", fingerprint="",
    ... )
    >>> found.answers("apology"), found.missing
    ([True, None], {'b': 'no verdict'})
    """

    items: tuple[str, ...]
    behaviors: tuple[str | None, ...]
    questions: tuple[str, ...]
    probabilities: NDArray[np.float64]
    failures: Mapping[tuple[int, int], Failure] = field(default_factory=dict)
    judge: str
    source: ProbabilitySource | None = None
    fingerprint: str
    threshold: Threshold = USUAL_THRESHOLD
    completion_classes: tuple[BehaviorClasses, ...] = ()
    details: CallDetails | None = None
    sources: tuple[ProbabilitySource, ...] | None = None
    answered_by: tuple[str, ...] | None = None
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()
    calls: CallSummary | None = None

    def __repr__(self) -> str:
        """Show sizes, not contents."""
        behaviors = ", ".join(row.behavior for row in self.completion_classes)
        classes = f", classes of {behaviors}" if behaviors else ""
        others = len(self.details.labels) if self.details is not None else 0
        asked = f"{len(self.questions)} propositions" if self.questions or not others else ""
        asked += ", " * bool(asked and others) + (f"{others} other questions" if others else "")
        dropped = f", {len(self.dropped)} rows set aside" if self.dropped else ""
        n_missing = len(self.missing)
        dropped += f", {n_missing} items with missing answers" if n_missing else ""
        return (
            f"<Verdicts of {self.judge!r}: {len(self.items)} items, "
            f"{asked}{classes}, threshold {format_threshold(self.threshold)}{dropped}>"
        )

    def _repr_html_(self) -> str:
        """Show the table in a notebook; what texts hold is escaped."""
        return f"<p>{escape(repr(self))}</p>{self.frame('wide')._repr_html_()}"

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Place of each item."""
        return {name: place for place, name in enumerate(self.items)}

    @cached_property
    def missing(self) -> Mapping[str, str]:
        """By item id why an answer is missing, where one is."""
        known: dict[int, str] = {}
        for (row, _), failure in self.failures.items():
            known.setdefault(row, failure.reason)
        lacking = np.flatnonzero(np.isnan(self.probabilities).any(axis=1)).tolist()
        return {self.items[row]: known.get(row, NO_VERDICT) for row in lacking}

    @property
    def labels(self) -> NDArray[np.bool_]:
        """Which propositions are true; false where the judge failed."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.probabilities >= get_thresholds(self.threshold, self.questions))

    def frame(self, layout: VerdictLayout = "long") -> pl.DataFrame:
        """Make the verdict table.

        Parameters
        ----------
        layout : {"long", "wide"}, optional
            One row per item and question, as `voirdire.examine` reads it, or one row per item.

        Returns
        -------
        polars.DataFrame
            The columns of a verdict file.
        """
        check_choice("layout", layout, VerdictLayout)
        return wide_frame(self) if layout == "wide" else long_frame(self)

    def probability(self, question: str) -> NDArray[np.float64]:
        """Return the probability that a proposition is true, or that a class is the one.

        Parameters
        ----------
        question : str
            A proposition such as ``"apology"``, or a class such as ``"hard_refuse.ideal"``.

        Returns
        -------
        ndarray of float, shape (n_items,)
            In [0, 1]; nan where the judge failed, and where an item is of another behavior.
        """
        if question in self.questions:
            return self.probabilities[:, self.questions.index(question)]
        for row in self.completion_classes:
            if question in row.questions:
                found = np.full(len(self.items), np.nan)
                found[row.rows] = row.probabilities[:, row.questions.index(question)]
                return found
        msg = (
            f"`question` must be a proposition or a class of the rubric, got {shorten(question)!r}."
            " Write a class as behavior.class."
        )
        raise InputError(msg)

    def answers(self, question: str) -> list[Any]:
        """Return the answers to a question of any kind.

        Parameters
        ----------
        question : str
            Id of a question of the rubric.

        Returns
        -------
        list
            Per item true or false for a proposition, else a label, a number, a text or labels;
            None where the judge failed.
        """
        if question in self.questions:
            values = self.probability(question)
            [threshold] = get_thresholds(self.threshold, [question])
            return [None if np.isnan(x) else bool(x >= threshold) for x in values]
        if self.details is None or question not in self.details.labels:
            msg = f"`question` must have been asked, got {shorten(question)!r}."
            raise InputError(msg)
        return list(self.details.labels[question])

    def classes(self, behavior: str) -> pl.DataFrame:
        """Return the completion classes under one behavior.

        Parameters
        ----------
        behavior : str
            Id of the behavior, such as ``"hard_refuse"``.

        Returns
        -------
        polars.DataFrame
            The items that it concerns: `item`, `class` (the one that holds under the threshold,
            null where none is known), and the probability of each class.
        """
        import polars as pl

        for row in self.completion_classes:
            if row.behavior == behavior:
                hard = pl.Series(row.hard)
                names = pl.Series(row.classes, dtype=pl.String)
                found = {
                    "item": pl.Series(self.items, dtype=pl.String).gather(row.rows),
                    "class": names.gather(hard.set(hard < 0, None)),
                }
                values = zip(row.classes, row.probabilities.T, strict=True)
                return pl.DataFrame(
                    found | {name: pl.Series(column).fill_nan(None) for name, column in values}
                )
        known = ", ".join(repr(row.behavior) for row in self.completion_classes) or "none"
        msg = f"`behavior` must be in the rubric ({known}), got {shorten(behavior)!r}."
        raise InputError(msg)

    def take(self, items: Sequence[str]) -> Self:
        """Return the probabilities of these items in this order; those without any are missing.

        Parameters
        ----------
        items : sequence of str
            Ids.

        Returns
        -------
        Verdicts
            Without completion classes and details of calls.
        """
        wanted = tuple(items)
        if wanted == self.items:
            return self
        rows = np.array([self.places.get(name, -1) for name in wanted], dtype=np.int64)
        found = rows >= 0
        probabilities = np.full((len(wanted), len(self.questions)), np.nan)
        probabilities[found] = self.probabilities[rows[found]]
        failures: dict[tuple[int, int], Failure] = {}
        if self.failures:
            new = dict(zip(rows.tolist(), range(len(wanted)), strict=True))
            failures = {
                (new[row], column): why
                for (row, column), why in self.failures.items()
                if row in new
            }
        behaviors = tuple([None if row < 0 else self.behaviors[row] for row in rows.tolist()])
        return self._drop_details(
            items=wanted, probabilities=probabilities, failures=failures, behaviors=behaviors
        )

    def on(self, questions: Sequence[str]) -> Self:
        """Return the probabilities of these propositions, in this order.

        Parameters
        ----------
        questions : sequence of str
            Some of those that were asked.

        Returns
        -------
        Verdicts
            Without completion classes and details of calls.
        """
        names = tuple(questions)
        if names == self.questions:
            return self
        columns = [self.questions.index(name) for name in names]
        new = {column: place for place, column in enumerate(columns)}
        return self._drop_details(
            questions=names,
            probabilities=self.probabilities[:, columns],
            failures={
                (row, new[column]): why
                for (row, column), why in self.failures.items()
                if column in new
            },
            threshold=select_threshold(self.threshold, names),
        )

    def with_numbers(
        self,
        names: Sequence[str],
        values: NDArray[np.float64],
        *,
        failures: Mapping[tuple[int, int], Failure],
    ) -> Self:
        """Put answers to other questions, as numbers in [0, 1], beside the probabilities.

        Parameters
        ----------
        names : sequence of str
            What they are called.
        values : ndarray of float, shape (n_items, n_names)
            nan where there is no answer.
        failures : mapping of (int, int) to Failure
            Why, by place of the item and of the name.

        Returns
        -------
        Verdicts
            Without details of calls.
        """
        start = len(self.questions)
        moved = {(row, start + column): why for (row, column), why in failures.items()}
        return replace(
            self,
            questions=(*self.questions, *names),
            probabilities=np.hstack([self.probabilities, values]),
            failures={**self.failures, **moved},
            details=None,
        )

    def with_reasons(self, reasons: Mapping[str, str]) -> Self:
        """Return why the missing answers of items are missing.

        Parameters
        ----------
        reasons : mapping of str to str
            By item id; of items that lack nothing it says nothing.

        Returns
        -------
        Verdicts
        """
        failures = dict(self.failures)
        for name, reason in reasons.items():
            row = self.places[name]
            for column in np.flatnonzero(np.isnan(self.probabilities[row])).tolist():
                failures[row, column] = Failure(reason=reason)
        return replace(self, failures=failures)

    def join(self, other: Verdicts) -> Verdicts:
        """Put verdicts on other items, or on other propositions of the same ones, beside these.

        Parameters
        ----------
        other : Verdicts
            Of the same run, or of another judge that was asked other questions.

        Returns
        -------
        Verdicts
            On the items and questions of both; an answer that neither has is missing. Of two
            judges, `judge` names both, and `fingerprint` is a hash over both. Completion classes
            and details of calls are left out.

        Raises
        ------
        InputError
            If both answer a question about an item, or name another behavior of it, or if two
            judges were asked one question.

        Examples
        --------
        >>> import numpy as np
        >>> from voirdire.records import Verdicts
        >>> def said(question, judge):
        ...     return Verdicts(
        ...         items=("a",), questions=(question,), probabilities=np.array([[0.9]]),
        ...         behaviors=(None,), judge=judge, fingerprint=f"sha256:{judge}",
        ...     )
        >>> both = said("apology", "local").join(said("disclaimer", "openai/x"))
        >>> both.judge, both.questions
        ('local + openai/x', ('apology', 'disclaimer'))
        """
        stated = {self.fingerprint, other.fingerprint} - {""}
        given: object = other
        if not isinstance(given, Verdicts):
            msg = f"`other` must be Verdicts, got {type(given).__name__}. Read them first."
            raise InputError(msg)
        is_one_run = self.judge == other.judge and len(stated) < 2
        shared = [name for name in other.questions if name in self.questions]
        self._check_joined(other, shared, is_one_run=is_one_run)
        items = tuple(dict.fromkeys((*self.items, *other.items)))
        questions = tuple(dict.fromkeys((*self.questions, *other.questions)))
        probabilities = np.full((len(items), len(questions)), np.nan)
        failures: dict[tuple[int, int], Failure] = {}
        behaviors: list[str | None] = [None] * len(items)
        places = {name: place for place, name in enumerate(items)}
        if shared and not self.places.keys().isdisjoint(other.items):
            name = next(name for name in other.items if name in self.places)
            msg = (
                f"verdicts must be unique by item and question, got a second one on "
                f"{shorten(name)!r} and {shared[0]!r}. Leave a file out."
            )
            raise InputError(msg)
        for part in (self, other):
            rows = np.array([places[name] for name in part.items], dtype=np.int64)
            columns = np.array([questions.index(name) for name in part.questions], dtype=np.int64)
            probabilities[np.ix_(rows, columns)] = part.probabilities
            for (row, column), why in part.failures.items():
                failures[int(rows[row]), int(columns[column])] = why
            for row, behavior in zip(rows.tolist(), part.behaviors, strict=True):
                if behavior is not None and behaviors[row] not in (None, behavior):
                    msg = (
                        f"`behavior` must be one for each item, got {shorten(behavior)!r} and "
                        f"{shorten(behaviors[row])!r} of {shorten(items[row])!r}. Correct it."
                    )
                    raise InputError(msg)
                behaviors[row] = behaviors[row] if behavior is None else behavior
        threshold = _each_threshold(self) | _each_threshold(other)
        prints = sorted([self.fingerprint, other.fingerprint])
        both = hashlib.sha256("\n".join(prints).encode()).hexdigest() if all(prints) else ""
        return replace(
            self._drop_details(
                items=items,
                probabilities=probabilities,
                failures=failures,
                behaviors=tuple(behaviors),
            ),
            questions=questions,
            threshold=select_threshold(threshold, questions),
            judge=self.judge if is_one_run else f"{self.judge} + {other.judge}",
            fingerprint="".join(stated) if is_one_run else both and f"sha256:{both}",
            source=self.source if self.source == other.source else None,
            dropped=(*self.dropped, *other.dropped),
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
        )

    @classmethod
    def concatenate(cls, pieces: Sequence[Verdicts]) -> Verdicts:
        """Put pieces of one run under each other.

        Parameters
        ----------
        pieces : sequence of Verdicts
            At least one, of the same judge and questions, on different items.

        Returns
        -------
        Verdicts
        """
        first = pieces[0]
        if len(pieces) == 1:
            return first
        starts = np.cumsum([0, *(len(piece.items) for piece in pieces)]).tolist()
        details = [piece.details for piece in pieces if piece.details is not None]
        sources = [piece.sources for piece in pieces if piece.sources is not None]
        who = [piece.answered_by for piece in pieces if piece.answered_by is not None]
        return replace(
            first,
            items=tuple([name for piece in pieces for name in piece.items]),
            behaviors=tuple([name for piece in pieces for name in piece.behaviors]),
            probabilities=np.concatenate([piece.probabilities for piece in pieces]),
            failures={
                (start + row, column): why
                for start, piece in zip(starts, pieces, strict=False)
                for (row, column), why in piece.failures.items()
            },
            completion_classes=tuple(
                BehaviorClasses(
                    behavior=rows[0].behavior,
                    classes=rows[0].classes,
                    rows=np.concatenate(
                        [start + row.rows for start, row in zip(starts, rows, strict=False)]
                    ),
                    probabilities=np.concatenate([row.probabilities for row in rows]),
                    hard=np.concatenate([row.hard for row in rows]),
                )
                for rows in zip(*(piece.completion_classes for piece in pieces), strict=True)
            ),
            details=_concatenate_details(details, starts) if len(details) == len(pieces) else None,
            sources=tuple(chain(*sources)) if len(sources) == len(pieces) else None,
            answered_by=tuple(chain(*who)) if len(who) == len(pieces) else None,
        )

    def _check_joined(self, other: Verdicts, shared: Sequence[str], *, is_one_run: bool) -> None:
        """Refuse to mix two judges, runs or thresholds of one question."""
        told: list[tuple[str, object, object]] = []
        if shared and self.judge != other.judge:
            told.append(("judge", self.judge, other.judge))
        elif self.judge == other.judge and not is_one_run:
            told.append(("fingerprint", self.fingerprint, other.fingerprint))
        limits = (get_thresholds(part.threshold, shared).tolist() for part in (self, other))
        told += [("threshold", a, b) for a, b in zip(*limits, strict=True) if a != b]
        for what, one, another in told:
            shown = " and ".join(repr(shorten(str(value), width=24)) for value in (one, another))
            msg = (
                f"verdicts must be of one run, got the {what}s {shown}. Join those of one run, or "
                "of two judges on different questions."
            )
            raise InputError(msg)

    def _drop_details(self, **changed: Any) -> Self:
        return replace(
            self,
            completion_classes=(),
            details=None,
            sources=None,
            answered_by=None,
            **changed,
        )


def _concatenate_details(details: Sequence[CallDetails], starts: Sequence[int]) -> CallDetails:
    first = details[0]
    return CallDetails(
        labels={
            name: tuple(chain(*(row.labels[name] for row in details))) for name in first.labels
        },
        label_failures={
            (start + row, name): why
            for start, one in zip(starts, details, strict=False)
            for (row, name), why in one.label_failures.items()
        },
        missing_mass=np.concatenate([row.missing_mass for row in details]),
        numeric=first.numeric,
    )


def _each_threshold(verdicts: Verdicts) -> dict[str, float]:
    names = verdicts.questions
    return dict(zip(names, get_thresholds(verdicts.threshold, names).tolist(), strict=True))
