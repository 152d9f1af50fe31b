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
    from collections.abc import Iterable, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from voirdire._types import ProbabilitySource, Threshold
    from voirdire.records.items import Dropped, Item
    from voirdire.records.replies import CallSummary

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
_MORE_COLUMNS = {"response_hash", "missing_mass", "spread", "reason", "contradicts"}
"""What may stand behind them."""

_FRACTIONS = {"probability", "missing_mass"}
_NO_CLASS = "an answer that the class needs is missing"


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
    spread : mapping of str to tuple of float
        Standard deviations of answers on a scale, one per item, nan where none was given; empty
        unless a decision model gave them.
    numeric : frozenset of str
        Questions that are answered with numbers.
    reasons : mapping of str to tuple of str
        The reason of each answer, one per item, empty where there is none; no questions where none
        were asked for.
    contradicts : mapping of str to tuple of bool
        Whether a reason says the opposite of its answer.
    """

    labels: Mapping[str, tuple[Any, ...]] = field(repr=False)
    label_failures: Mapping[tuple[int, str], Failure] = field(repr=False)
    missing_mass: NDArray[np.float64] = field(repr=False)
    spread: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    numeric: frozenset[str] = frozenset()
    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    contradicts: Mapping[str, tuple[bool, ...]] = field(default_factory=dict, repr=False)


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
    response_hashes : tuple of str or None, or None
        The hash of each item's responses, as `Item.response_hash` gives it; None where a file does
        not say.
    questions : tuple of str
        The propositions that were asked.
    probabilities : ndarray of float, shape (n_items, n_questions)
        That each proposition is true, in [0, 1]; nan where there is no answer.
    failures : mapping of (int, int) to Failure
        Why, by place of the item and of the question, as far as it is known.
    judge : str
        The judge's name.
    source : {"logprob", "stated", "vote", "decision", "classifier", "rule", "cascade"} or None
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
    by_rule : frozenset of str
        The propositions that a rule of the rubric answered in place of the judge.
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
    response_hashes: tuple[str | None, ...] | None = None
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
    by_rule: frozenset[str] = frozenset()
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
        probabilities = np.full((len(wanted), len(self.questions)), np.nan)
        probabilities[rows >= 0] = self.probabilities[rows[rows >= 0]]
        new = {row: place for place, row in enumerate(rows.tolist())} if self.failures else {}
        return self._drop_details(
            items=wanted,
            behaviors=tuple([None if row < 0 else self.behaviors[row] for row in rows.tolist()]),
            response_hashes=(known := self.response_hashes)
            and tuple([None if row < 0 else known[row] for row in rows.tolist()]),
            probabilities=probabilities,
            failures={(new[row], x): why for (row, x), why in self.failures.items() if row in new},
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
            failures={(row, new[x]): why for (row, x), why in self.failures.items() if x in new},
            threshold=select_threshold(self.threshold, names),
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
        given: object = other
        if not isinstance(given, Verdicts):
            msg = f"`other` must be Verdicts, got {type(given).__name__}. Read them first."
            raise InputError(msg)
        stated = {self.fingerprint, other.fingerprint} - {""}
        is_one_run = self.judge == other.judge and len(stated) < 2
        shared = [name for name in other.questions if name in self.questions]
        differences: list[tuple[str, object, object]] = []
        if shared and self.judge != other.judge:
            differences.append(("judge", self.judge, other.judge))
        elif self.judge == other.judge and not is_one_run:
            differences.append(("fingerprint", self.fingerprint, other.fingerprint))
        limits = (get_thresholds(part.threshold, shared).tolist() for part in (self, other))
        differences += [("threshold", a, b) for a, b in zip(*limits, strict=True) if a != b]
        for what, one, another in differences:
            shown = " and ".join(repr(shorten(str(value), width=24)) for value in (one, another))
            msg = (
                f"verdicts must be of one run, got the {what}s {shown}. Join those of one run, or "
                "of two judges on different questions."
            )
            raise InputError(msg)
        if shared and (again := next((x for x in other.items if x in self.places), None)):
            msg = (
                f"verdicts must be unique by item and question, got a second one on "
                f"{shorten(again)!r} and {shared[0]!r}. Leave a file out."
            )
            raise InputError(msg)
        facts: dict[str, dict[str, str | None]] = {}
        for what, each in (("behavior", "behaviors"), ("response_hash", "response_hashes")):
            known = facts[what] = dict(zip(self.items, getattr(self, each) or (), strict=False))
            for name, value in zip(other.items, getattr(other, each) or (), strict=False):
                before = known.get(name)
                if value is not None and before not in (None, value):
                    msg = (
                        f"`{what}` must be one for each item, got {shorten(value)!r} and "
                        f"{shorten(before)!r} of {shorten(name)!r}. Correct it."
                    )
                    raise InputError(msg)
                known[name] = before if value is None else value
        behaviors, hashes = facts.values()
        places = {name: place for place, name in enumerate(behaviors)}
        questions = tuple(dict.fromkeys((*self.questions, *other.questions)))
        probabilities = np.full((len(places), len(questions)), np.nan)
        failures: dict[tuple[int, int], Failure] = {}
        threshold: dict[str, float] = {}
        for part in (self, other):
            rows = [places[name] for name in part.items]
            columns = [questions.index(name) for name in part.questions]
            probabilities[np.ix_(rows, columns)] = part.probabilities
            failures |= {(rows[row], columns[x]): why for (row, x), why in part.failures.items()}
            limit = get_thresholds(part.threshold, part.questions).tolist()
            threshold |= zip(part.questions, limit, strict=True)
        prints = sorted([self.fingerprint, other.fingerprint])
        both = hashlib.sha256("\n".join(prints).encode()).hexdigest() if all(prints) else ""
        return self._drop_details(
            items=tuple(places),
            behaviors=tuple(behaviors.values()),
            response_hashes=tuple(map(hashes.get, places)) if hashes else None,
            questions=questions,
            probabilities=probabilities,
            failures=failures,
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
        starts = np.cumsum([0, *(len(piece.items) for piece in pieces[:-1])]).tolist()
        details = [piece.details for piece in pieces if piece.details is not None]

        def chained(name: str) -> Any:
            if getattr(first, name) is None:
                return None
            return tuple(chain.from_iterable(getattr(piece, name) for piece in pieces))

        def moved(failures: Iterable[Mapping[tuple[int, Any], Failure]]) -> dict[Any, Failure]:
            each = zip(starts, failures, strict=True)
            return {(at + row, x): why for at, part in each for (row, x), why in part.items()}

        return replace(
            first,
            **{
                name: chained(name)
                for name in ("items", "behaviors", "response_hashes", "sources", "answered_by")
            },
            probabilities=np.concatenate([piece.probabilities for piece in pieces]),
            failures=moved(piece.failures for piece in pieces),
            completion_classes=tuple(
                replace(
                    rows[0],
                    rows=np.concatenate([at + x.rows for at, x in zip(starts, rows, strict=True)]),
                    probabilities=np.concatenate([row.probabilities for row in rows]),
                    hard=np.concatenate([row.hard for row in rows]),
                )
                for rows in zip(*(piece.completion_classes for piece in pieces), strict=True)
            ),
            details=first.details
            and replace(
                first.details,
                labels={
                    name: tuple(chain(*(part.labels[name] for part in details)))
                    for name in first.details.labels
                },
                label_failures=moved(part.label_failures for part in details),
                missing_mass=np.concatenate([part.missing_mass for part in details]),
                spread=_chain(details, "spread", np.nan),
                reasons=_chain(details, "reasons", ""),
                contradicts=_chain(details, "contradicts", False),  # noqa: FBT003
            ),
        )

    def _drop_details(self, **changed: Any) -> Self:
        nothing: dict[str, Any] = dict.fromkeys(("details", "sources", "answered_by"))
        return replace(self, completion_classes=(), **nothing, **changed)


def _chain(details: Sequence[CallDetails], what: str, nothing: Any) -> dict[str, tuple[Any, ...]]:
    """Put columns of details under each other; a part without one has nothing in each place."""
    parts = [(len(part.missing_mass), getattr(part, what)) for part in details]
    names = dict.fromkeys(chain.from_iterable(columns for _, columns in parts))
    return {
        name: tuple(chain.from_iterable(row.get(name, [nothing] * n) for n, row in parts))
        for name in names
    }


def refuse_other_responses(
    items: Sequence[Item], hashes: Sequence[str | None], *, what: str
) -> None:
    """Refuse verdicts whose hashes, as far as they have any, are of other responses."""
    told = zip(items, hashes, strict=False)
    others = [item.id for item, known in told if known not in (None, item.response_hash())]
    if others:
        msg = (
            f"`{what}` must be on these responses, got verdicts on another text for "
            f"{len(others):,} of {len(items):,} items (the first is {shorten(others[0])!r}). "
            "Judge these responses, or name the verdicts on them, with what was `judged` of each."
        )
        raise InputError(msg)


# Tables ------------------------------------------------------------------------------------------


def is_verdict_table(columns: tuple[str, ...]) -> VerdictLayout | None:
    """Tell by its columns whether a table holds verdicts of ours, and in which layout."""
    n_long = len(LONG_COLUMNS)
    if columns[:n_long] == LONG_COLUMNS and {*columns[n_long:]} <= _MORE_COLUMNS:
        return "long"
    is_wide = columns[:2] == ("item", "behavior") and columns[2:][-2:] == ("judge", "fingerprint")
    return "wide" if is_wide else None


def _wide_frame(verdicts: Verdicts) -> pl.DataFrame:
    """One row per item: a probability for each proposition and each class, null where none is."""
    details, n_items = verdicts.details, len(verdicts.items)
    named: list[tuple[str, Any]] = [*zip(verdicts.questions, verdicts.probabilities.T, strict=True)]
    if details is not None:
        for name, labels in details.labels.items():
            named.append((name, _label_series(labels, as_numbers=name in details.numeric)))
    for row in verdicts.completion_classes:
        whole = np.full((n_items, len(row.classes)), np.nan)
        whole[row.rows] = row.probabilities
        named += zip(row.questions, whole.T, strict=True)
    if verdicts.response_hashes is not None:
        named.append(("response_hash", pl.Series(verdicts.response_hashes, dtype=pl.String)))
    if verdicts.answered_by is not None:  # which judge of a cascade answered an item
        named.append(("answered_by", pl.Series(verdicts.answered_by, dtype=pl.String)))
    if verdicts.threshold != USUAL_THRESHOLD:  # a number, or JSON with one by proposition
        cell = threshold_to_cell(verdicts.threshold)
        named.append(("threshold", pl.repeat(cell, n_items, eager=True)))
    columns = {
        "item": pl.Series(verdicts.items, dtype=pl.String),
        "behavior": pl.Series(verdicts.behaviors, dtype=pl.String),
    }
    for name, values in named:
        if name in columns or name in ("judge", "fingerprint"):
            msg = (
                f"`layout` must be 'long' for these verdicts, got 'wide': the question "
                f"{shorten(name)!r} has the name of another column."
            )
            raise InputError(msg)
        is_number = isinstance(values, np.ndarray)
        columns[name] = pl.Series(values).fill_nan(None) if is_number else values
    return pl.DataFrame(columns).with_columns(
        judge=pl.lit(verdicts.judge), fingerprint=pl.lit(verdicts.fingerprint)
    )


def _long_frame(verdicts: Verdicts) -> pl.DataFrame:
    """One row per item and question: an item's propositions, other questions, then its classes."""
    details, threshold = verdicts.details, verdicts.threshold
    others = {} if details is None else details.labels
    names, parts = [*verdicts.questions, *others], []
    is_number = details is not None and len(names) == 1 and set(names) <= details.numeric
    everything, missing = np.arange(len(verdicts.items)), np.isnan(verdicts.probabilities)

    def add(rows: NDArray[np.int64], first: int, n_questions: int, **columns: Any) -> None:
        cells = {name: pl.Series(values.reshape((-1,))) for name, values in columns.items()}
        if "probability" in cells:
            cells |= {name: cells[name].fill_nan(None) for name in _FRACTIONS & cells.keys()}
            cells["label"] = cells["label"].set(cells.pop("unknown"), None)
            if others and not is_number:  # text beside the answers of other kinds
                cells["label"] = cells["label"].cast(pl.String)
        codes = np.tile(np.arange(first, first + n_questions), rows.size)
        parts.append(pl.DataFrame({"row": np.repeat(rows, n_questions), "code": codes} | cells))

    limits = get_thresholds(threshold, verdicts.questions)
    columns = {"label": verdicts.labels, "probability": verdicts.probabilities, "unknown": missing}
    if details is not None:
        columns["missing_mass"] = details.missing_mass
    add(everything, 0, len(limits), threshold=np.tile(limits, everything.size), **columns)
    source = pl.Series(verdicts.sources or [verdicts.source] * everything.size, dtype=pl.String)
    is_by_rule = pl.Series([name in verdicts.by_rule for name in names], dtype=pl.Boolean)
    rules = pl.Series(["rule"] * parts[0].height, dtype=pl.String)
    rules = rules.zip_with(is_by_rule.gather(parts[0]["code"]), source.gather(parts[0]["row"]))
    parts[0] = parts[0].with_columns(source=rules)
    for code, labels in enumerate(others.values(), len(limits)):
        add(everything, code, 1, label=_label_series(labels, as_numbers=is_number))
        if details is not None and (spread := details.spread.get(names[code])):
            parts[-1] = parts[-1].with_columns(spread=pl.Series(spread).fill_nan(None))
    usual = USUAL_THRESHOLD if isinstance(threshold, Mapping) else threshold
    for each in verdicts.completion_classes:
        holds = each.hard[:, None] == np.arange(len(each.classes))
        # unknown where no class holds because an answer is missing
        unknown = np.zeros_like(holds) | ((each.hard < 0) & missing[each.rows].any(axis=1))[:, None]
        columns = {"label": holds, "probability": each.probabilities, "unknown": unknown}
        add(each.rows, len(names), len(each.classes), **columns)
        parts[-1] = parts[-1].with_columns(
            source=pl.lit("derived"),
            threshold=pl.lit(usual),
            failure=pl.when(pl.col("label").is_null()).then(pl.lit(_NO_CLASS)),
        )
        names += each.questions
    schema = {"failure": pl.String, "source": pl.String}
    frame = pl.concat([pl.DataFrame(schema=schema), *parts], how="diagonal_relaxed")
    reasons = [(*place, failure.reason) for place, failure in verdicts.failures.items()]
    for (row, name), failure in {} if details is None else details.label_failures.items():
        reasons.append((row, names.index(name), failure.reason))
    if reasons:
        known = pl.DataFrame(reasons, ["row", "code", "reason"], orient="row")
        frame = frame.join(known, on=["row", "code"], how="left", maintain_order="left")
        frame = frame.with_columns(failure=pl.coalesce("reason", "failure"))
    frame = _add_reasons(frame, details, names)
    frame = frame.sort("row", maintain_order=True)
    at_item, hashes = frame["row"], verdicts.response_hashes
    return frame.with_columns(
        pl.Series(verdicts.items, dtype=pl.String).gather(at_item).alias("item"),
        pl.Series(names, dtype=pl.String).gather(frame["code"]).alias("question"),
        pl.Series(verdicts.behaviors, dtype=pl.String).gather(at_item).alias("behavior"),
        *(
            pl.Series(known, dtype=pl.String).gather(at_item).alias("response_hash")
            for known in ([] if hashes is None else [hashes])
        ),
        judge=pl.lit(verdicts.judge),
        fingerprint=pl.lit(verdicts.fingerprint),
    ).select(
        *LONG_COLUMNS,
        *["response_hash"] * (hashes is not None),
        *["missing_mass"] * (details is not None),
        *["spread"] * bool(details is not None and details.spread),
        *["reason", "contradicts"] * bool(details is not None and details.reasons),
    )


def _add_reasons(
    frame: pl.DataFrame, details: CallDetails | None, names: Sequence[str]
) -> pl.DataFrame:
    """Add the reason of each answer, and whether it says the opposite of the answer."""
    if details is None or not details.reasons:
        return frame
    n_items = len(details.missing_mass)
    reasons = [details.reasons.get(name, ("",) * n_items) for name in names]
    opposed = [details.contradicts.get(name, (False,) * n_items) for name in names]
    at = frame["code"] * n_items + frame["row"]
    has_reason = pl.col("reason") != ""
    return frame.with_columns(
        reason=pl.Series(list(chain.from_iterable(reasons))).gather(at),
        contradicts=pl.Series(list(chain.from_iterable(opposed))).gather(at),
    ).with_columns(
        reason=pl.when(has_reason).then("reason"),
        contradicts=pl.when(has_reason).then("contradicts"),
    )


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
