"""What the synthesis of completions prints: what was written, what was wrong, and its cost."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.reporting.number_formats import counted, dollars
from voirdire.reporting.plain_tables import plain_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from voirdire.rewards import SynthesisEstimate, SynthesisSummary

__all__ = ["synthesis_estimate_lines", "synthesis_tables"]

_MOST_NAMED = 6


def synthesis_tables(summary: SynthesisSummary, *, rubric: str) -> list[RenderableType]:
    """Lay out the result of a run, and the command that fits a reward to it."""
    return [
        _heading(summary),
        _table(summary),
        *_what_was_wrong(summary),
        "",
        _calls(summary),
        *(f"note: {note}" for note in summary.notes),
        *_whereabouts(summary, rubric),
    ]


def synthesis_estimate_lines(row: SynthesisEstimate) -> list[str]:
    """Say what a run would call and cost."""
    stored = f" ({row.n_stored:,} first drafts are stored)" if row.n_stored else ""
    lines = [
        f"{row.n_completions:,} completions for {counted(row.n_prompts, 'prompt')}{stored}",
        f"{shorten(row.model)} writes: {row.n_calls:,} to {row.n_calls_most:,} calls",
        f"  for the first: about {row.prompt_tokens:,} tokens in, {row.completion_tokens:,} out",
        f"  {_dollars(row.cost, row.cost_most)}",
        f"{shorten(row.judge)} verifies: {_verifying(row)}",
        "",
        "Tokens are estimated; reasoning and calls made again are not in them.",
    ]
    if row.n_dropped:
        lines.insert(1, f"{counted(row.n_dropped, 'prompt')} would be set aside")
    if row.price_source:
        lines.append(f"price: {row.price_source}")
    return lines


def _heading(summary: SynthesisSummary) -> str:
    by = f"written by {shorten(summary.model)!r}, verified by {shorten(summary.judge)!r}"
    written = f"{summary.n_written:,} completions for {counted(summary.n_prompts, 'prompt')}"
    rubric = f"{shorten(summary.rubric)} {shorten(summary.rubric_version)}"
    whole = f"all of their completions: {counted(summary.n_complete, 'prompt')}"
    lacking = summary.n_without_best
    best = f"; without the best one: {counted(lacking, 'prompt')}" if lacking else ""
    recipes = f"recipes {shorten(summary.recipes)}"
    return f"{written}, {by} on rubric {rubric}\n{whole}{best}; {recipes}\n"


def _table(summary: SynthesisSummary) -> Table:
    words, numbers = ("behavior", "label"), ("wanted", "written", "at the first draft")
    rows = [
        (
            *(shorten(row.behavior), shorten(row.label)),
            *(f"{number:,}" for number in (row.n_wanted, row.n_written, row.n_at_once)),
        )
        for row in summary.slots
    ]
    return plain_table((*words, *numbers), rows, words=words)


def _what_was_wrong(summary: SynthesisSummary) -> list[str]:
    lines = [""]
    counts = {"got a trait wrong": summary.unmet, "were wrong otherwise": summary.reasons}
    for what, found in counts.items():
        shown = [f"{shorten(name)} ({n:,})" for name, n in [*found.items()][:_MOST_NAMED]]
        more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        lines += [f"drafts that {what}: {', '.join(shown)}{more}"] if found else []
    return lines if lines[1:] else []


def _calls(summary: SynthesisSummary) -> str:
    calls = summary.calls
    said = [f"{calls.n_calls:,} calls to write"]
    said += [f"{calls.n_retries:,} of them repeats"] if calls.n_retries else []
    said += [f"{calls.n_reused:,} drafts from the store"] if calls.n_reused else []
    if calls.prompt_tokens or calls.completion_tokens:
        said.append(f"{calls.prompt_tokens:,} tokens in, {calls.completion_tokens:,} out")
    said += [dollars(calls.cost)] if calls.n_calls else []
    if (judged := summary.judge_calls) is not None:
        said.append(f"{judged.n_calls:,} calls to verify, {dollars(judged.cost)}")
    return "calls: " + ", ".join(said)


def _whereabouts(summary: SynthesisSummary, rubric: str) -> list[str]:
    if summary.output in (None, "-"):
        return []
    lines = ["", f"completions: {summary.output}"]
    if summary.rejected_output is not None:
        lines.append(f"rejected, with what was wrong: {summary.rejected_output}")
    fit = f"voirdire fit {shlex.quote(str(summary.output))} --rubric {shlex.quote(rubric)}"
    return [*lines, "Read some of them. Then a reward that ranks them:", f"  {fit} -o reward.json"]


def _verifying(row: SynthesisEstimate) -> str:
    if not row.n_judge_calls:
        return "no calls"
    if row.is_cascade:  # what its first judge is sure of costs nothing
        most = dollars(row.judge_cost_most)
        return f"up to {row.n_judge_calls:,} calls for first drafts; for all, {most} at most"
    return f"{row.n_judge_calls:,} calls or more, {_dollars(row.judge_cost, row.judge_cost_most)}"


def _dollars(least: float | None, most: float | None) -> str:
    known = least is not None and most is not None
    return f"{dollars(least)} to {dollars(most)}" if known else dollars(None)
