"""Writes the verdict table: long, as `voirdire examine` reads it, or wide, one row per item."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire._types import VerdictLayout
from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.records.thresholds import USUAL_THRESHOLD, get_thresholds, threshold_to_cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.records.verdicts import Verdicts

__all__ = ["LONG_COLUMNS", "THRESHOLD", "WIDE_ENDS", "VerdictLayout", "is_verdict_table"]

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

CALL_COLUMNS = {"missing_mass", "shift", "form", "attempts"}
"""What may follow them where the judge is a language model; only the first is written."""

WIDE_ENDS = (("item", "behavior"), ("judge", "fingerprint"))
"""What the columns of a wide table begin and end with."""

ANSWERED_BY = "answered_by"
"""What stands before its end where the judge is a cascade: which of the two answered an item."""

THRESHOLD = "threshold"
"""What stands before its end where it is not 1/2: a number, or JSON with one by proposition."""

_NO_CLASS = "an answer that the class needs is missing"
_TRUE, _FALSE, _NONE = 1, 0, -1


def is_verdict_table(columns: tuple[str, ...]) -> VerdictLayout | None:
    """Tell by its columns whether a table holds verdicts of ours, and in which layout."""
    n_long = len(LONG_COLUMNS)
    if columns[:n_long] == LONG_COLUMNS and CALL_COLUMNS.issuperset(columns[n_long:]):
        return "long"
    first, last = WIDE_ENDS
    if columns[: len(first)] == first and columns[len(first) :][-len(last) :] == last:
        return "wide"
    return None


def wide_frame(verdicts: Verdicts) -> pl.DataFrame:
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
        named.append((ANSWERED_BY, pl.Series(verdicts.answered_by, dtype=pl.String)))
    if verdicts.threshold != USUAL_THRESHOLD:
        cell = threshold_to_cell(verdicts.threshold)
        named.append((THRESHOLD, pl.repeat(cell, n_items, eager=True)))
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


def long_frame(verdicts: Verdicts) -> pl.DataFrame:
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
