"""What the demonstration prints about the local judge: propositions, then completion classes."""

from __future__ import annotations

import math
import os
import sys
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table
    from rich.text import Text

    from voirdire.cli.demo_steps import JudgedResponses
    from voirdire.judging import ClassSummary
    from voirdire.stats import AltTestResult

__all__ = ["print_judged_responses"]

_WORDS = {"passed": "✓ passed", "failed": "✗ failed", "no_evidence": "? no evidence"}
_STYLES = {"passed": "bold green", "failed": "red", "no_evidence": "yellow"}
_REASONS = {
    "like_constant": "no better than a constant",
    "unpassable": "too few",
    "untestable": "too few",
}
"""What a table of a hundred columns has room for; the report has sentences."""

_WIDE = 100


def print_judged_responses(judged: JudgedResponses) -> None:
    """Print a table of the propositions, one of the classes, and what weakens them."""
    from rich.console import Console

    from voirdire.reporting.narrow_tables import NarrowTable

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    console = Console(width=width, highlight=False, markup=False)
    console.print(NarrowTable(_proposition_table(judged, is_wide=console.width >= _WIDE)))
    console.print()
    console.print(NarrowTable(_class_table(judged.summary.classes)))
    if judged.summary.untrusted:
        names = ", ".join(judged.summary.untrusted)
        console.print(f"\n* By its own card the judge should not be trusted on: {names}.")


def _proposition_table(judged: JudgedResponses, *, is_wide: bool) -> Table:
    """One row per proposition; a narrow table leaves out the annotators' ρ and the reasons."""
    table = _table("proposition", "annotators", "judge", "ω", "ρ", *(["ρ human"] * is_wide))
    table.add_column("outcome")
    answered = {row.question: row for row in judged.summary.questions}
    for row in judged.examination.results:
        asked = answered[row.question]
        n_judge = round(asked.share_true * (judged.summary.n_items - asked.n_failed))
        rates = (row.winning_rate, row.advantage_probability, *([row.human_advantage] * is_wide))
        table.add_row(
            row.question + ("" if asked.trusted else " *"),
            str(judged.n_true[row.question]),
            str(n_judge),
            *map(_rate, rates),
            _outcome(row, with_reason=is_wide),
        )
    return table


def _outcome(row: AltTestResult, *, with_reason: bool) -> Text:
    from rich.text import Text

    text = Text(_WORDS[row.outcome], style=_STYLES[row.outcome])
    reason = _REASONS.get(row.because.code)
    return text.append(f" ({reason})", style="dim") if reason and with_reason else text


def _class_table(rows: Sequence[ClassSummary]) -> Table:
    """One row per behavior, classes from the best to the worst; they share their names."""
    first = next(iter(_by_behavior(rows).values()))
    table = _table("behavior", *(row.completion_class for row in reversed(first)))
    for behavior, group in _by_behavior(rows).items():
        table.add_row(behavior, *(_share(row) for row in reversed(group)))
    return table


def _by_behavior(rows: Sequence[ClassSummary]) -> dict[str, list[ClassSummary]]:
    return {name: list(group) for name, group in groupby(rows, key=lambda row: row.behavior)}


def _table(first: str, *others: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _share(row: ClassSummary) -> str:
    return "–" if math.isnan(row.share) else f"{row.share:.0%} ({row.mean_probability:.2f})"


def _rate(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"
