"""What `voirdire score` prints: how far it is, what it came to, and how to go on."""

from __future__ import annotations

import math
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.cli.judging_output import call_lines, say_drops
from voirdire.cli.judging_progress import estimated_rows, progress_lines, said_of
from voirdire.cli.printing import plain_table, print_json, print_tables
from voirdire.cli.shell import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rich.table import Table

    from voirdire.rewards.scoring.score_summary import ScoringProgress, ScoringSummary

__all__ = ["print_scoring", "say_how_to_go_on", "scoring_progress"]

_MOST_SHOWN = 5
_WAYS_OUT = {
    "no base reward": "this reward was fitted beside one; --base COLUMN says which column holds it",
    "no behavior": "--behavior names it for items that have none",
    "no verdict": "verdicts belong to an item by its id: were these items judged, with these ids?",
}


@contextmanager
def scoring_progress(source: str) -> Iterator[Callable[[ScoringProgress], None] | None]:
    """Give what `score_file` tells its progress to; nothing where nobody watches."""
    with progress_lines() as lines:
        if lines is None:
            yield None
            return
        total = estimated_rows(source)

        def tell(state: ScoringProgress) -> None:
            judging = state.judging
            done = (state if judging is None else judging).n_items + state.n_dropped
            said = f"{state.n_items:,} items"
            if judging is not None:
                words = said_of(judging, seconds=lines.seconds)
                said = f"judging: {words}"
            lines.show("scoring", said, done=done, total=total)

        yield tell


def print_scoring(summary: ScoringSummary, *, as_json: bool) -> None:
    """Print what a run came to; on standard error where the rewards went to standard output."""
    say_drops(summary.dropped, n_dropped=summary.n_dropped, output=summary.dropped_output)
    for note in summary.notes:
        say(f"note: {shorten(note, width=600)}")
    if as_json:
        print_json(summary.as_dict())
        return
    is_streamed = summary.output == "-"
    print_tables(
        f"{summary.n_scored:,} of {summary.n_items:,} items scored by reward "
        f"{shorten(summary.reward)!r} on rubric {shorten(summary.rubric)} "
        f"{shorten(summary.rubric_version)}, verdicts of {shorten(summary.judge)!r}"
        + (", centered" if summary.is_centered else ""),
        "",
        _table(summary),
        *_missing_lines(summary),
        *(() if summary.calls is None else call_lines(summary.calls)),
        *(() if is_streamed else ("", f"rewards: {summary.output}")),
        stream=sys.stderr if is_streamed else sys.stdout,
    )


def say_how_to_go_on(output: Path, *, source: str) -> None:
    """Say, after an interruption, what is kept."""
    if "-" in (source, str(output)):
        say("voirdire: a language model's replies are kept in the store")
        return
    say(
        f"voirdire: what is judged is kept in '{output}.scoring'; the same command goes on "
        "from there"
    )


def _table(summary: ScoringSummary) -> Table:
    headings = ("behavior", "items", "scored", "mean", "sd", "least", "most", "rules", "base")
    rows = [
        (
            "(none)" if row.behavior is None else shorten(row.behavior, width=40),
            *(f"{row.n_items:,}", f"{row.n_scored:,}"),
            *map(_number, (row.mean, row.standard_deviation, row.minimum, row.maximum)),
            *map(_number, (row.mean_rule, row.mean_base)),
        )
        for row in summary.behaviors
    ]
    return plain_table(headings, rows, words=("behavior",))


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _missing_lines(summary: ScoringSummary) -> list[str]:
    if not summary.n_missing:
        return []
    listed = ", ".join(
        f"{shorten(reason)} ({n:,})" for reason, n in list(summary.missing.items())[:_MOST_SHOWN]
    )
    more = len(summary.missing) - _MOST_SHOWN
    rest = f" and {more} other reasons" if more > 0 else ""
    ways = [f"  {reason}: {way}" for reason, way in _WAYS_OUT.items() if reason in summary.missing]
    return ["", f"without a reward: {listed}{rest}", *ways]
