"""What the page itself notices: outcomes that hang on the margin, and what was dropped."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from voirdire.reporting.page.content import Note
from voirdire.reporting.page.noted import Warned, advice, warned
from voirdire.reporting.page.verdicts import state_of
from voirdire.reporting.page_frame.speech import Count, Listing, Verbatim, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.reporting.page.content import Examination
    from voirdire.reporting.page.grouping import Family
    from voirdire.reporting.page_frame.dropped import Dropped

__all__ = ["PAGE_CODES", "warnings_of"]

PAGE_CODES = ("near_margin", "random_passes", "some_margins")
"""Codes that the JSON does not have: found here, from figures that it has."""
_NEAR = 0.01
_MOST_REASONS = 3


def warnings_of(family: Family, dropped: Sequence[Dropped]) -> list[Warned]:
    """Collect everything that weakens the figures of a question.

    Parameters
    ----------
    family : Family
        Under the main alignment.
    dropped : sequence of Dropped
        What was set aside of this question.

    Returns
    -------
    list of Warned
    """
    found = warned(family, extra=tuple(_found_here(family)))
    return [*found, *_dropped(dropped)]


def _found_here(family: Family) -> Iterator[tuple[Examination, Note]]:
    for judge in family.judges:
        if state_of(judge) == "depends":
            for row in judge.rows:
                yield row, Note(code="some_margins", sentence="")
        for row in judge.rows:
            if _is_near(row):
                figures = {"smallest": row.smallest_epsilon, "epsilon": row.epsilon}
                yield row, Note(code="near_margin", sentence="", figures=figures)
            if _only_random_passes(row):
                yield row, Note(code="random_passes", sentence="", figures={})


def _is_near(row: Examination) -> bool:
    """Whether a slightly smaller margin would have changed the outcome."""
    smallest = row.smallest_epsilon
    if smallest is None or row.outcome != "passed" or not smallest:
        return False
    return 0 <= row.epsilon - smallest <= _NEAR


def _only_random_passes(row: Examination) -> bool:
    passing = {control.control for control in row.controls if control.passed}
    return "random" in passing and "constant" not in passing


def _dropped(dropped: Sequence[Dropped]) -> Iterator[Warned]:
    if not dropped:
        return
    reasons = Counter(row.reason for row in dropped)
    shown = [
        say("dropped.reason", n=Count(count), reason=Verbatim(reason))
        for reason, count in reasons.most_common(_MOST_REASONS)
    ]
    listed = Listing(tuple(shown), n_hidden=len(reasons) - len(shown))
    what = say("note.dropped", rows=Count(len(dropped), "labels"), reasons=listed)
    yield Warned(code="dropped", what=say("note", what=what), todo=advice("dropped"), whom=None)
