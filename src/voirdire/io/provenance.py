"""What judges' verdicts say about how they were made: thresholds and fingerprints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from voirdire.io.raw import RawTable
    from voirdire.io.request import Request

__all__ = ["fingerprints_of", "joined_fingerprints", "refuse_as_choice", "thresholds_of"]


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


def refuse_as_choice(table: RawTable, *, request: Request) -> None:
    """Refuse verdicts with probabilities where words are expected: no annotator says "true".

    Raises
    ------
    InputError
        If a judge's labels come with probability and threshold, and the kind is `choice`.
    """
    is_verdicts = {"probability", "threshold"} <= set(table.columns)
    if request.role == "judge" and request.kind == "choice" and is_verdicts and not request.labels:
        msg = (
            f"{table.source}: `kind` must be 'boolean' for verdicts with a probability and a "
            "threshold, got 'choice'. Their labels are true and false."
        )
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
