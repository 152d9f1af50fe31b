"""Which differences between judges are beyond chance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from voirdire.reporting.page.content import defined
from voirdire.reporting.page_frame.speech import (
    Count,
    Decimal,
    Interval,
    Listing,
    Name,
    P,
    Percent,
    Said,
    Verbatim,
    say,
)

if TYPE_CHECKING:
    from voirdire.reporting.page.content import Comparison
    from voirdire.reporting.page.grouping import QuestionPart

__all__ = ["BEYOND_CHANCE", "comparisons_of", "difference_sentences", "is_clear"]

BEYOND_CHANCE = 0.05
_MOST_NAMED = 8


def comparisons_of(part: QuestionPart) -> tuple[Comparison, ...]:
    """Return the comparisons under the main alignment, the clearest first."""
    known = [row for row in part.found.comparisons if row.alignment in ("", part.main.alignment)]
    return tuple(sorted(known, key=_clearness))


def _clearness(row: Comparison) -> tuple[float, float]:
    p_value = math.inf if row.p_adjusted is None else row.p_adjusted
    return p_value, -abs(defined(row.difference) if row.difference is not None else 0.0)


def difference_sentences(part: QuestionPart) -> tuple[Said, ...]:
    """Say how many pairs differ, and who cannot be told apart from the best judge."""
    rows = comparisons_of(part)
    if not rows:
        return ()
    clear = [row for row in rows if is_clear(row)]
    if len(rows) == 1:
        return (_one_pair(rows[0]),)
    counts = {"clear": len(clear), "pairs": Count(len(rows), "pairs")}
    return (say("differences.counted" if clear else "differences.nobody", **counts), *_best(part))


def is_clear(row: Comparison) -> bool:
    """Whether a difference is beyond chance after Holm's correction."""
    return row.p_adjusted is not None and row.p_adjusted < BEYOND_CHANCE


def _one_pair(row: Comparison) -> Said:
    if row.difference is None:
        reason = Verbatim(row.reason) if row.reason else say("reason.unknown")
        names = {"better": Name(row.judge_a), "worse": Name(row.judge_b)}
        return say("differences.one_undefined", reason=reason, **names)
    better, worse = (
        (row.judge_a, row.judge_b) if row.difference >= 0 else (row.judge_b, row.judge_a)
    )
    ends = (row.low, row.high)
    if row.difference < 0:
        ends = tuple(None if end is None else -end for end in reversed(ends))  # type: ignore[assignment]
    return say(
        "differences.one_clear" if is_clear(row) else "differences.one_unclear",
        better=Name(better),
        worse=Name(worse),
        difference=Decimal(abs(row.difference)),
        interval=Interval(*ends),
        level=Percent(row.confidence_level),
        p=P(row.p_adjusted),
    )


def _best(part: QuestionPart) -> tuple[Said, ...]:
    """Name the judges that cannot be told apart from the one with the highest ρ."""
    best = part.main.judges[0].judge
    rivals = [
        _other(row, best)
        for row in comparisons_of(part)
        if best in (row.judge_a, row.judge_b) and not is_clear(row)
    ]
    order = {judge.judge: place for place, judge in enumerate(part.main.judges)}
    rivals.sort(key=lambda judge: order.get(judge, len(order)))
    names = Listing(tuple(Name(judge) for judge in rivals), most=_MOST_NAMED)
    if not rivals:
        return (say("differences.alone", best=Name(best)),)
    return (say("differences.rivals", best=Name(best), rivals=names),)


def _other(row: Comparison, judge: str) -> str:
    return row.judge_b if row.judge_a == judge else row.judge_a
