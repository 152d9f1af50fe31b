"""Results as they print in a terminal and show in a notebook."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from voirdire._validation import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.stats.results import AltTestResult

__all__ = [
    "headline",
    "html_table",
    "result_as_html",
    "result_as_text",
    "summary_rows",
    "text_table",
]

_NAME_WIDTH = 40
_MARKS = {"passed": "✓ passed", "failed": "✗ failed", "no_evidence": "? no evidence"}
_MOST_ROWS = 200

Row = tuple[str, ...]


def headline(result: AltTestResult) -> str:
    """Say in a line who was examined on what, and how it came out."""
    about = f"{result.alignment}, {result.epsilon_mode} ε = {result.epsilon:g}"
    judge, question = (shorten(name, width=_NAME_WIDTH) for name in (result.judge, result.question))
    return f"{judge} on {question} ({about}): {_MARKS[result.outcome]}"


def result_as_text(result: AltTestResult) -> str:
    """Write a result as a headline, its figures, and a table of the annotators."""
    lines = [headline(result), f"  {_figures(result)}"]
    lines.append(f"  {shorten(result.because.sentence, width=300)}")
    if result.annotators:
        lines += [f"  {line}" for line in _aligned(_annotator_rows(result))]
    lines += [f"  note: {shorten(sentence, width=200)}" for sentence in result.warnings]
    return "\n".join(lines)


def result_as_html(result: AltTestResult) -> str:
    """Write the same for a notebook; every name is escaped."""
    notes = [result.because.sentence]
    notes += [f"note: {sentence}" for sentence in result.warnings]
    said = "".join(f"<li>{escape(shorten(note, width=200))}</li>" for note in notes)
    return (
        f"<div><p><strong>{escape(headline(result))}</strong><br>{escape(_figures(result))}</p>"
        + (html_table(_annotator_rows(result)) if result.annotators else "")
        + (f"<ul>{said}</ul>" if said else "")
        + "</div>"
    )


def summary_rows(results: Sequence[AltTestResult]) -> list[Row]:
    """Give a head and a row per result, for a table of many."""
    head = ("question", "judge", "alignment", "ε", "outcome", "ω", "ρ", "interval", "ρ human")
    return [
        head,
        *(
            (
                shorten(row.question, width=_NAME_WIDTH),
                shorten(row.judge, width=_NAME_WIDTH),
                row.alignment,
                f"{row.epsilon:g}",
                _MARKS[row.outcome],
                _number(row.winning_rate),
                _number(row.advantage_probability),
                _interval(row),
                _number(row.human_advantage),
            )
            for row in results[:_MOST_ROWS]
        ),
    ]


def html_table(rows: Sequence[Row]) -> str:
    """Write rows, the first of them a head, as an HTML table; every cell is escaped."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows[1:]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def text_table(rows: Sequence[Row]) -> str:
    """Write rows, the first of them a head, as aligned text."""
    return "\n".join(_aligned(rows))


def _figures(result: AltTestResult) -> str:
    n_won = sum(row.rejected for row in result.annotators)
    said = [
        f"ω = {_number(result.winning_rate)} ({n_won} of {result.n_annotators} annotators)"
        + _lost(result),
        f"ρ = {_number(result.advantage_probability)}{_bracketed(result)}",
        f"annotators' own {_number(result.human_advantage)}",
    ]
    if result.smallest_epsilon is not None:
        said.append(f"passes from ε = {result.smallest_epsilon:g}")
    return ", ".join(said)


def _lost(result: AltTestResult) -> str:
    """Say which ω decides where the judge failed on items."""
    worst = result.worst_case
    if not worst.n_failures:
        return ""
    return f", ω = {_number(worst.winning_rate)} with {worst.n_failures} failures lost"


def _bracketed(result: AltTestResult) -> str:
    interval = _interval(result)
    if not interval or result.uncertainty is None:
        return ""
    return f" ({result.uncertainty.confidence_level:.0%} interval {interval})"


def _interval(result: AltTestResult) -> str:
    found = result.uncertainty
    if found is None or not math.isfinite(found.advantage_low):
        return ""
    return f"{found.advantage_low:.2f} to {found.advantage_high:.2f}"


def _annotator_rows(result: AltTestResult) -> list[Row]:
    rows: list[Row] = [("annotator", "items", "ρ judge", "ρ human", "p", "won")]
    rows += [
        (
            shorten(row.annotator, width=_NAME_WIDTH),
            f"{row.n_items:,}",
            _number(row.advantage_judge),
            _number(row.advantage_human),
            "" if math.isnan(row.p_value) else f"{row.p_value:.2g}",
            "yes" if row.rejected else "no",
        )
        for row in result.annotators[:_MOST_ROWS]
    ]
    return rows


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "–"


def _aligned(rows: Sequence[Row]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
