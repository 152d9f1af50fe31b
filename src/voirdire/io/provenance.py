"""What judges' verdicts say about how they were made: thresholds and fingerprints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.values import texts
from voirdire.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from voirdire.io.raw import RawRows, RawTable
    from voirdire.io.request import Request
    from voirdire.io.shape import Layout
    from voirdire.io.table import LabelTable

__all__ = [
    "fingerprints_of",
    "joined_fingerprints",
    "probability_of_words",
    "propositions_only",
    "refuse_as_choice",
    "refuse_mixed_runs",
    "split_raters",
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
    if not probability_of_words(table, request=request):
        return
    given = texts(rows.columns["probability"], source=table.source).str.strip_chars() != ""
    given = given.fill_null(value=False)
    if not given.any():
        return
    others: set[str] = set()
    if layout.question is not None:
        questions = texts(rows.columns[layout.question], source=table.source)
        others = {*questions.drop_nulls().unique()} - {*questions.filter(given).drop_nulls()}
    msg = (
        f"{table.source}: `kind` must be 'boolean' for verdicts with a probability and a "
        "threshold, got 'choice'. Their labels are true and false."
    )
    if others:
        msg += f" Ask for a `question` without probabilities, such as {shorten(min(others))!r}."
    raise InputError(msg)


def refuse_mixed_runs(tables: Sequence[LabelTable]) -> None:
    """Refuse tables whose verdicts by one judge on one question have nothing in common.

    Raises
    ------
    InputError
        If the fingerprints of two of them are different ones, as in one table.
    """
    seen: dict[tuple[str, str], tuple[LabelTable, set[str]]] = {}
    for table in tables:
        pairs = table.frame.select("rater", "question").unique(maintain_order=True).rows()
        for rater, question in pairs if table.fingerprints else ():
            found = {*table.fingerprints.get(rater, ())}
            first, known = seen.setdefault((rater, question), (table, found))
            if found and known and not found & known:
                msg = (
                    f"verdicts by {shorten(rater)!r} on {shorten(question)!r} must be of one run "
                    f"with one fingerprint, got others in {_source(table)} than in "
                    f"{_source(first)}. Name the judge of each run differently."
                )
                raise InputError(msg)
            known |= found


def split_raters(tables: Iterable[LabelTable]) -> dict[str, dict[str, int]]:
    """Find judges whose verdicts on a question stand in several tables, about other items in each.

    Returns
    -------
    dict
        By judge, the number of items in each source.
    """
    tables = [table for table in tables if not table.frame.is_empty()]
    sources: dict[str, set[str]] = {}
    for table in tables:
        for rater in table.fingerprints:
            sources.setdefault(rater, set()).add(_source(table))
    items: dict[tuple[str, str], dict[str, set[str]]] = {}
    for table in tables:
        for rater in (name for name in table.fingerprints if len(sources[name]) > 1):
            rows = table.frame.filter(pl.col("rater").cast(pl.String) == rater)
            for (question,), part in rows.group_by("question", maintain_order=True):
                found = items.setdefault((rater, str(question)), {})
                found.setdefault(_source(table), set()).update(part["item"])
    return {
        rater: {source: len(names) for source, names in found.items()}
        for (rater, _), found in items.items()
        if any(names != first for first in list(found.values())[:1] for names in found.values())
    }


def _source(table: LabelTable) -> str:
    return shorten(str(table.frame["source"].first()))


def propositions_only(
    rows: RawRows, *, table: RawTable, layout: Layout
) -> tuple[RawRows, list[Dropped]]:
    """Set aside whole questions without a threshold, where others have one: no propositions."""
    if layout.threshold is None or layout.question is None:
        return rows, []
    threshold = texts(rows.columns[layout.threshold], source=table.source).str.strip_chars()
    questions = texts(rows.columns[layout.question], source=table.source)
    given = (threshold != "").fill_null(value=False)
    other = ~questions.is_in(questions.filter(given).unique().to_list()) & questions.is_not_null()
    other = other.fill_null(value=False)
    if not given.any() or not other.any():
        return rows, []
    counts = questions.filter(other).alias("question").value_counts(sort=True)
    return rows.where(~other), [
        Dropped(
            reason="question of another kind: verdicts without a threshold",
            source=table.source,
            question=question,
            value=f"{count} labels",
        )
        for question, count in counts.sort("question").iter_rows()
    ]


def joined_fingerprints(
    found: Iterable[Mapping[str, tuple[str, ...]]],
) -> dict[str, tuple[str, ...]]:
    """Put the fingerprints of each judge together, in order."""
    joined: dict[str, set[str]] = {}
    for fingerprints in found:
        for rater, values in fingerprints.items():
            joined.setdefault(rater, set()).update(values)
    return {rater: tuple(sorted(joined[rater])) for rater in sorted(joined)}
