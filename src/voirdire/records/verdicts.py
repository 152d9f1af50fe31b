"""Defines the verdicts of a judge as arrays of items by questions, and the tables of them.

A table is long, as `voirdire examine` reads it, or wide, with one row per item.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire._types import VerdictLayout
from voirdire._validation import check_choice
from voirdire.errors import InputError
from voirdire.records.items import Failure
from voirdire.records.thresholds import (
    USUAL_THRESHOLD,
    format_threshold,
    get_thresholds,
    select_threshold,
    threshold_to_cell,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

    from voirdire._types import ProbabilitySource, Threshold
    from voirdire.records.items import Dropped
    from voirdire.records.replies import CallSummary

__all__ = [
    "LONG_COLUMNS",
    "NO_VERDICT",
    "BehaviorClasses",
    "CallDetails",
    "Verdicts",
    "is_verdict_table",
]

NO_VERDICT = "no verdict"
"""Why an answer is missing where nothing is known of a failure."""

LONG_COLUMNS = (
    "item",
    "judge",
    "question",
    "label",
    "probability",
    "source",
    "threshold",
    "behavior",
    "failure",
    "fingerprint",
)

_WIDE_ENDS = (("item", "behavior"), ("judge", "fingerprint"))
"""What the columns of a wide table begin and end with."""

_ANSWERED_BY = "answered_by"
"""What stands before its end where the judge is a cascade: which of the two answered an item."""

_THRESHOLD = "threshold"
"""What stands before its end where it is not 1/2: a number, or JSON with one by proposition."""

_NO_CLASS = "an answer that the class needs is missing"
_TRUE, _FALSE, _NONE = 1, 0, -1


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
        return _wide_frame(self) if layout == "wide" else _long_frame(self)

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


# Tables ------------------------------------------------------------------------------------------


def is_verdict_table(columns: tuple[str, ...]) -> VerdictLayout | None:
    """Tell by its columns whether a table holds verdicts of ours, and in which layout."""
    n_long = len(LONG_COLUMNS)
    if columns[:n_long] == LONG_COLUMNS and columns[n_long:] in ((), ("missing_mass",)):
        return "long"
    first, last = _WIDE_ENDS
    if columns[: len(first)] == first and columns[len(first) :][-len(last) :] == last:
        return "wide"
    return None


def _wide_frame(verdicts: Verdicts) -> pl.DataFrame:
    """One row per item: a probability for each proposition and each class, null where none is."""
    details, n_items = verdicts.details, len(verdicts.items)
    named: list[tuple[str, pl.Series]] = [
        (name, pl.Series(values).fill_nan(None))
        for name, values in zip(verdicts.questions, verdicts.probabilities.T, strict=True)
    ]
    if details is not None:
        named += [
            (name, _label_series(labels, as_numbers=name in details.numeric))
            for name, labels in details.labels.items()
        ]
    for row in verdicts.completion_classes:
        for name, values in zip(row.questions, row.probabilities.T, strict=True):
            whole = np.full(n_items, np.nan)
            whole[row.rows] = values
            named.append((name, pl.Series(whole).fill_nan(None)))
    if verdicts.answered_by is not None:
        named.append((_ANSWERED_BY, pl.Series(verdicts.answered_by, dtype=pl.String)))
    if verdicts.threshold != USUAL_THRESHOLD:
        cell = threshold_to_cell(verdicts.threshold)
        named.append((_THRESHOLD, pl.repeat(cell, n_items, eager=True)))
    columns = {
        "item": pl.Series(verdicts.items, dtype=pl.String),
        "behavior": pl.Series(verdicts.behaviors, dtype=pl.String),
    }
    taken = {*columns, "judge", "fingerprint"}
    for name, values in named:
        if name in taken or name in columns:
            msg = (
                f"`layout` must be 'long' for these verdicts, got 'wide': the question "
                f"{shorten(name)!r} has the name of another column."
            )
            raise InputError(msg)
        columns[name] = values
    return pl.DataFrame(columns).with_columns(
        judge=pl.lit(verdicts.judge), fingerprint=pl.lit(verdicts.fingerprint)
    )


def _long_frame(verdicts: Verdicts) -> pl.DataFrame:
    """One row per item and question: an item's propositions, other questions, then its classes."""
    details = verdicts.details
    others = [] if details is None else list(details.labels)
    classes = [name for row in verdicts.completion_classes for name in row.questions]
    n_asked, n_first = len(verdicts.questions), len(verdicts.questions) + len(others)
    rows = _LongRows(verdicts, n_others=len(others))
    item, code = rows.item, rows.code
    is_asked, is_class = code < n_asked, code >= n_first
    is_other = pl.Series(~is_asked & ~is_class)
    source = pl.repeat(verdicts.source, item.size, dtype=pl.String, eager=True)
    if verdicts.sources is not None:
        source = pl.Series(verdicts.sources, dtype=pl.String).gather(item)
    source = source.set(pl.Series(is_class), "derived")
    threshold = pl.Series(_thresholds(verdicts, n_first + len(classes))).gather(code)
    columns = {
        "item": pl.Series(verdicts.items, dtype=pl.String).gather(item),
        "judge": pl.repeat(verdicts.judge, item.size, dtype=pl.String, eager=True),
        "question": pl.Series([*verdicts.questions, *others, *classes], dtype=pl.String).gather(
            code
        ),
        "label": _labels(verdicts, others, item=item, code=code, state=rows.state),
        "probability": pl.Series(rows.probability).fill_nan(None),
        "source": source.set(is_other, None),
        "threshold": threshold.set(is_other, None),
        "behavior": pl.Series(verdicts.behaviors, dtype=pl.String).gather(item),
        "failure": _failures(verdicts, others, item=item, code=code, state=rows.state),
        "fingerprint": pl.repeat(verdicts.fingerprint, item.size, dtype=pl.String, eager=True),
    }
    if details is not None:
        mass = np.full(item.size, np.nan)
        mass[is_asked] = details.missing_mass[item[is_asked], code[is_asked]]
        columns["missing_mass"] = pl.Series(mass).fill_nan(None)
    return pl.DataFrame(columns)


class _LongRows:
    """Where the rows of a long table come from: item, question, probability, and state.

    `code` counts the propositions, the other questions and the classes; `state` is 1 for true, 0
    for false and -1 where there is no label.
    """

    def __init__(self, verdicts: Verdicts, *, n_others: int) -> None:
        n_items, n_asked = verdicts.probabilities.shape
        widths = np.full(n_items, n_asked + n_others)
        for row in verdicts.completion_classes:
            widths[row.rows] += len(row.classes)
        n_rows = int(widths.sum())
        self.item, self.code = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
        self.probability = np.full(n_rows, np.nan)
        self.state = np.full(n_rows, _NONE, dtype=np.int8)
        self._free = np.cumsum(widths) - widths  # the next row of each item
        self._code = 0
        missing = np.isnan(verdicts.probabilities)
        everything = np.arange(n_items)
        states = np.where(missing, _NONE, verdicts.labels)
        self._fill(everything, n_asked, probabilities=verdicts.probabilities, states=states)
        self._fill(everything, n_others)
        for row in verdicts.completion_classes:
            states = np.equal(row.hard[:, None], np.arange(len(row.classes))).astype(np.int8)
            # unknown where no class holds because an answer is missing
            states[(row.hard < 0) & missing[row.rows].any(axis=1)] = _NONE
            self._fill(row.rows, len(row.classes), probabilities=row.probabilities, states=states)

    def _fill(
        self,
        items: NDArray[np.int64],
        n_questions: int,
        *,
        probabilities: NDArray[np.float64] | None = None,
        states: NDArray[Any] | None = None,
    ) -> None:
        places = self._free[items, None] + np.arange(n_questions)
        self.item[places] = items[:, None]
        self.code[places] = self._code + np.arange(n_questions)
        if probabilities is not None and states is not None:
            self.probability[places], self.state[places] = probabilities, states
        self._free[items] += n_questions
        self._code += n_questions


def _labels(
    verdicts: Verdicts,
    others: Sequence[str],
    *,
    item: NDArray[np.int64],
    code: NDArray[np.int64],
    state: NDArray[np.int8],
) -> pl.Series:
    """Return truth values; where other questions were asked text, and numbers where all are."""
    truth = pl.Series(state == _TRUE).set(pl.Series(state == _NONE), None)
    if not others or verdicts.details is None:
        return truth
    given = verdicts.details.labels
    if len(others) == 1 and not verdicts.questions:
        as_numbers = others[0] in verdicts.details.numeric
        return _label_series(given[others[0]], as_numbers=as_numbers)
    said = pl.concat(
        [pl.Series([_label_text(row) for row in given[name]], dtype=pl.String) for name in others]
    )
    words = truth.cast(pl.String)
    place = (code - len(verdicts.questions)) * len(verdicts.items) + item
    is_other = (code >= len(verdicts.questions)) & (code < len(verdicts.questions) + len(others))
    return words.scatter(np.flatnonzero(is_other), said.gather(place[is_other]))


def _failures(
    verdicts: Verdicts,
    others: Sequence[str],
    *,
    item: NDArray[np.int64],
    code: NDArray[np.int64],
    state: NDArray[np.int8],
) -> pl.Series:
    """Return the reason of each row without a label, through the list of distinct reasons."""
    n_asked, n_first = len(verdicts.questions), len(verdicts.questions) + len(others)
    found = {place: why.reason for place, why in verdicts.failures.items()}
    if verdicts.details is not None:
        columns = {name: n_asked + place for place, name in enumerate(others)}
        for (row, name), why in verdicts.details.label_failures.items():
            found[row, columns[name]] = why.reason
    numbers = {
        reason: number
        for number, reason in enumerate({_NO_CLASS: 0} | dict.fromkeys(found.values()))
    }
    reason_of = np.full((len(verdicts.items), n_first), -1)
    for place, reason in found.items():
        reason_of[place] = numbers[reason]
    is_first = code < n_first
    chosen = np.where(~is_first & (state == _NONE), 0, -1)
    chosen[is_first] = reason_of[item[is_first], code[is_first]]
    codes = pl.Series(chosen)
    return pl.Series(list(numbers), dtype=pl.String).gather(codes.set(codes < 0, None))


def _thresholds(verdicts: Verdicts, n_names: int) -> NDArray[np.float64]:
    """Return those of the propositions, and for classes 1/2 where each proposition has its own."""
    threshold = verdicts.threshold
    found = np.full(n_names, USUAL_THRESHOLD if isinstance(threshold, Mapping) else threshold)
    found[: len(verdicts.questions)] = get_thresholds(threshold, verdicts.questions)
    return found


def _label_series(labels: Sequence[Any], *, as_numbers: bool) -> pl.Series:
    """Return answers to a question that is not boolean as a column: numbers, or text."""
    if as_numbers:
        return pl.Series(labels, dtype=pl.Float64)
    return pl.Series([_label_text(label) for label in labels], dtype=pl.String)


def _label_text(label: Any) -> str | None:
    """Write an answer as text; whole numbers without a point."""
    if label is None or isinstance(label, str):
        return label
    if isinstance(label, float):
        return f"{label:.0f}" if label.is_integer() else repr(label)
    return json.dumps(list(label), ensure_ascii=False)
