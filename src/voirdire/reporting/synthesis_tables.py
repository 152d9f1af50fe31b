"""What the synthesis of completions prints: what was written, what was wrong, and its cost."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from voirdire._messages import shorten
from voirdire.reporting.number_formats import counted, dollars
from voirdire.reporting.plain_tables import plain_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from voirdire.rewards import SynthesisSummary

__all__ = ["synthesis_tables"]


def synthesis_tables(summary: SynthesisSummary, *, rubric: str) -> list[RenderableType]:
    """Lay out the result of a run, and the command that fits a reward to it."""
    return [
        _heading(summary),
        _table(summary),
        "",
        _calls(summary),
        *(f"note: {note}" for note in summary.notes),
        *_whereabouts(summary, rubric),
    ]


def _heading(summary: SynthesisSummary) -> str:
    by = f"written by {shorten(summary.model)!r}, verified by {shorten(summary.judge)!r}"
    written = f"{summary.n_written:,} completions for {counted(summary.n_prompts, 'prompt')}"
    rubric = f"{shorten(summary.rubric)} {shorten(summary.rubric_version)}"
    whole = f"all of their completions: {counted(summary.n_complete, 'prompt')}"
    recipes = f"recipes {shorten(summary.recipes)}"
    return f"{written}, {by} on rubric {rubric}\n{whole}; {recipes}\n"


def _table(summary: SynthesisSummary) -> Table:
    words, numbers = ("behavior", "label"), ("wanted", "written")
    rows = [
        (
            *(shorten(row.behavior), shorten(row.label)),
            *(f"{number:,}" for number in (row.n_wanted, row.n_written)),
        )
        for row in summary.slots
    ]
    return plain_table((*words, *numbers), rows, words=words)


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
