"""What judges' verdicts say about how they were made: thresholds and fingerprints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.values import texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from voirdire.io.raw import Column, RawRows, RawTable
    from voirdire.io.request import Request
    from voirdire.io.shape import Layout

__all__ = [
    "fingerprints_of",
    "joined_fingerprints",
    "probability_of_words",
    "refuse_as_choice",
    "thresholds_of",
]


def thresholds_of(frame: pl.DataFrame) -> tuple[float, ...]:
    """Give the thresholds that rows declare, in order."""
    if "threshold" not in frame.columns:
        return ()
    values = frame["threshold"].unique().cast(pl.Float64, strict=False).drop_nulls()
    return tuple(values.unique().sort().to_list())


def fingerprints_of(frame: pl.DataFrame, *, source: str) -> dict[str, tuple[str, ...]]:
    """Give the fingerprints of every judge's verdicts.

    Raises
    ------
    InputError
        If verdicts of one judge on one question have different fingerprints: they were made with
        different judges, rubrics or thresholds, and are not the work of one judge.
    """
    if "fingerprint" not in frame.columns:
        return {}
    known = frame.lazy().filter(pl.col("fingerprint").str.strip_chars() != "")
    found = known.select("rater", "question", "fingerprint").unique().collect()
    several = found.filter(pl.struct("rater", "question").is_duplicated())
    if several.height:
        rater, question, _ = several.sort("rater", "question").row(0)
        msg = (
            f"{source}: column `fingerprint` must hold one value per judge and question, got "
            f"several for {shorten(rater)!r} on {shorten(question)!r}. Name the judge of each run "
            "differently."
        )
        raise InputError(msg)
    pairs = found.select("rater", "fingerprint").rows()
    return joined_fingerprints({rater: (fingerprint,)} for rater, fingerprint in pairs)


def probability_of_words(table: RawTable, *, request: Request) -> tuple[str, ...]:
    """Name the column that says which rows of a judge cannot be read as words, if there is one."""
    is_verdicts = {"probability", "threshold"} <= set(table.columns)
    as_words = request.role == "judge" and request.kind == "choice" and not request.labels
    return ("probability",) if is_verdicts and as_words else ()


def refuse_as_choice(rows: RawRows, *, table: RawTable, layout: Layout, request: Request) -> None:
    """Refuse verdicts with probabilities where words are expected: no annotator says "true".

    Answers to other kinds of question stand in the same table, without a probability.

    Raises
    ------
    InputError
        If a judge's label comes with a probability and a threshold, and the kind is `choice`.
    """
    for name in probability_of_words(table, request=request):
        given = _filled(rows.columns[name], source=table.source)
        if not given.any():
            continue
        others: list[str] = []
        if layout.question is not None:
            questions = texts(rows.columns[layout.question], source=table.source)
            with_it = questions.filter(given).unique()
            others = sorted(set(questions.drop_nulls()) - set(with_it.drop_nulls()))
        msg = (
            f"{table.source}: `kind` must be 'boolean' for verdicts with a probability and a "
            "threshold, got 'choice'. Their labels are true and false."
        )
        if others:
            msg += f" Ask for a `question` without them, such as {shorten(others[0])!r}."
        raise InputError(msg)


def joined_fingerprints(
    found: Iterable[Mapping[str, tuple[str, ...]]],
) -> dict[str, tuple[str, ...]]:
    """Put the fingerprints of each judge together, in order."""
    joined: dict[str, set[str]] = {}
    for fingerprints in found:
        for rater, values in fingerprints.items():
            joined.setdefault(rater, set()).update(values)
    return {rater: tuple(sorted(joined[rater])) for rater in sorted(joined)}


def _filled(column: Column, *, source: str) -> pl.Series:
    """Tell where a column holds something."""
    text = texts(column, source=source)
    return (text.str.strip_chars() != "").fill_null(value=False)
