"""What a terminal is told beside results: how a run goes, what it will cost, what was set aside."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from voirdire._messages import shorten
from voirdire.reporting.number_formats import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from voirdire.judging import JudgingProgress, JudgingSummary
    from voirdire.records import Dropped
    from voirdire.studies import Examination

_MOST_REASONS = _MOST_CLOSED = 5


def count_answered(state: JudgingProgress) -> int:
    """Count items with an answer, those of calls that are not written yet too."""
    return max(state.n_items, 0 if state.calls is None else state.calls.n_answered)


def judging_text(state: JudgingProgress, *, seconds: float) -> str:
    """Describe a run of a judge; of a model's calls cost, flight and failures too."""
    if state.finishing:
        return f"{state.n_items:,} items · writing the file"
    calls, n_items = state.calls, count_answered(state)
    rate = (n_items - state.n_reused) / seconds if seconds > 0 else 0.0
    parts = [f"{n_items:,} items"]
    if calls is None:
        parts[0] += f" ({state.n_reused:,} from before)" if state.n_reused else ""
        return " · ".join([*parts, *([f"{rate:,.0f}/s"] if rate > 0 else [])])
    parts += [f"{rate:,.1f}/s"] if rate > 0 else []
    parts += [] if calls.cost is None else [f"${calls.cost:,.4f}"]
    parts += [f"{calls.n_in_flight} of {calls.concurrency} in flight"]
    parts += [f"{calls.n_retries:,} tried again"] if calls.n_retries else []
    parts += [f"{calls.n_failures:,} failed"] if calls.n_failures else []
    return " · ".join(parts)


def failure_lines(row: JudgingSummary) -> list[str]:
    """Say of a judge without one usable answer why; nothing of others."""
    answered = any(not math.isnan(question.share_true) for question in row.questions)
    calls = row.calls
    if calls is None or answered or any(other.n_answered for other in calls.answers):
        return []
    listed = ", ".join(f"{kind} ({n:,})" for kind, n in calls.failures.items())
    examples = [f"  for example: {calls.examples.get(kind, kind)}" for kind in calls.failures]
    return [f"no item has a usable answer by {shorten(row.judge)!r}: {listed}.", *examples]


def drop_lines(
    dropped: Sequence[Dropped],
    *,
    n_dropped: int | None = None,
    output: str | None = None,
    what: str = "row",
) -> list[str]:
    """Say how many rows were set aside, and why: rows of one reason on one line."""
    n_dropped = len(dropped) if n_dropped is None else n_dropped
    if not n_dropped:
        return []
    lines = [
        f"{counted(n_dropped, what)} set aside{'' if output is None else f'; all in {output}'}"
    ]
    alike: dict[str, list[Dropped]] = {}
    for row in dropped:
        alike.setdefault(row.reason, []).append(row)
    for same in list(alike.values())[:_MOST_REASONS]:
        row = same[0]
        about = "".join(f" {shorten(name)!r}" for name in (row.item, row.question) if name)
        value = "" if row.value is None else f" ({shorten(row.value)!r})"
        others = [f"line {x.line}" if x.item is None else shorten(x.item) for x in same[1:4]]
        more = f" (and {len(same) - 1:,} more like this: {', '.join(others)}" if others else ""
        more += (", …)" if len(same) > 4 else ")") if others else ""
        lines.append(f"  {row.place()}:{about} {shorten(row.reason, width=200)}{value}{more}")
        n_dropped -= len(same)
    return [*lines, *([f"  and {n_dropped:,} more"] if n_dropped else [])]


def gate_text(examination: Examination, judges: Iterable[str]) -> str:
    """Say which judges have not passed, and where; empty where all have passed everything.

    A judge without labels for a question that others were examined on has not passed it.
    """
    outcomes = {
        (row.judge, row.question, row.alignment, row.epsilon): row.finding.replace("_", " ")
        for row in examination.results
    }
    closed = [
        f"{shorten(judge)}: {outcome} ({shorten(place[0])}, {place[1]}, ε {place[2]:g})"
        for judge in dict.fromkeys([*judges, *examination.judges])
        for place in dict.fromkeys(place[1:] for place in outcomes)
        if (outcome := outcomes.get((judge, *place), "not examined")) != "passed"
    ]
    more = [f"and {len(closed) - _MOST_CLOSED} more"] if len(closed) > _MOST_CLOSED else []
    return "; ".join(closed[:_MOST_CLOSED] + more)
