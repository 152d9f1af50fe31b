"""What `voirdire synthesize` prints: how far it is, what it came to, what it would cost."""

from __future__ import annotations

import math
import shlex
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.cli.judging_progress import estimated_rows
from voirdire.cli.printing import print_json, print_tables
from voirdire.cli.shell import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.table import Table

    from voirdire.rewards.synthesis.result import SynthesisProgress, SynthesisSummary
    from voirdire.rewards.synthesis.synthesize import SynthesisEstimate

__all__ = ["print_estimate", "print_summary", "said_of", "synthesis_progress"]

_MOST_DROPS = 5
_MOST_NAMED = 6


@contextmanager
def synthesis_progress(prompts: str) -> Iterator[Callable[[SynthesisProgress], None]]:
    """Give what a synthesis tells its progress to; where nobody watches, it says little."""
    note = _say_once_that_it_stops()
    if not sys.stderr.isatty():
        yield note
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(
        TextColumn("writing"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[said]}"),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("writing", total=estimated_rows(prompts), said="…")
        started = time.monotonic()

        def tell(state: SynthesisProgress) -> None:
            said = said_of(state, seconds=time.monotonic() - started)
            bar.update(task, completed=state.n_prompts, said=said)
            note(state)

        yield tell


def said_of(state: SynthesisProgress, *, seconds: float) -> str:
    """Words for a state: prompts, completions, calls, rate, cost."""
    said = [f"{state.n_prompts:,} prompts", f"{state.n_written:,} completions"]
    said += [f"{state.n_rejected:,} rejected"] if state.n_rejected else []
    said += [f"{state.n_calls / seconds:,.1f} calls/s"] if seconds > 0 and state.n_calls else []
    said += [] if state.cost is None else [f"${state.cost:,.4f}"]
    said.append(
        "verifying" if state.is_judging else f"{state.n_in_flight} of {state.concurrency} in flight"
    )
    return " · ".join(said)


def print_summary(summary: SynthesisSummary, *, rubric: str, as_json: bool) -> None:
    """Print what a run came to; beside rows on standard output, on standard error."""
    _say_drops(summary)
    if as_json:
        print_json(_plain(asdict(summary)))
        return
    stream = sys.stderr if summary.output == "-" else None
    print_tables(
        _heading(summary),
        _table(summary),
        *_what_was_wrong(summary),
        "",
        _calls(summary),
        *(f"note: {note}" for note in summary.notes),
        *_whereabouts(summary, rubric),
        stream=stream,
    )


def print_estimate(estimate: SynthesisEstimate, *, as_json: bool) -> None:
    """Print what a run would call and cost."""
    if as_json:
        print_json({"estimate": asdict(estimate)})
        return
    row = estimate
    stored = f" ({row.n_stored:,} first drafts are stored)" if row.n_stored else ""
    lines = [
        f"{row.n_completions:,} completions for {_prompts(row.n_prompts)}{stored}",
        f"{shorten(row.model)} writes: {row.n_calls:,} to {row.n_calls_most:,} calls",
        f"  for the first: about {row.prompt_tokens:,} tokens in, {row.completion_tokens:,} out",
        f"  {_dollars(row.cost, row.cost_most)}",
        f"{shorten(row.judge)} verifies: {_verifying(row)}",
        "",
        "Tokens are estimated; reasoning and calls made again are not in them.",
    ]
    if row.n_dropped:
        lines.insert(1, f"{_prompts(row.n_dropped)} would be set aside")
    if row.price_source:
        lines.append(f"price: {row.price_source}")
    print_tables(*lines)


def _say_once_that_it_stops() -> Callable[[SynthesisProgress], None]:
    said: list[bool] = []

    def note(state: SynthesisProgress) -> None:
        if not state.stopping or said:
            return
        said.append(True)
        n = state.n_in_flight
        waited = "1 call is in flight and is" if n == 1 else f"{n:,} calls are in flight and are"
        sys.stderr.write(f"stopping: {waited} waited for; Ctrl-C again does not wait\n")
        sys.stderr.flush()

    return note


def _heading(summary: SynthesisSummary) -> str:
    by = f"written by {shorten(summary.model)!r}, verified by {shorten(summary.judge)!r}"
    said = (
        f"{summary.n_written:,} completions for {_prompts(summary.n_prompts)}, {by} on rubric "
        f"{shorten(summary.rubric)} {shorten(summary.rubric_version)}"
    )
    whole = f"all of their completions: {_prompts(summary.n_complete)}"
    lacking = summary.n_without_best
    best = f"; without the best one: {_prompts(lacking)}" if lacking else ""
    return f"{said}\n{whole}{best}; recipes {shorten(summary.recipes)}\n"


def _table(summary: SynthesisSummary) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("behavior", "label"):
        table.add_column(heading, no_wrap=True)
    for heading in ("wanted", "written", "at the first draft"):
        table.add_column(heading, justify="right")
    for row in summary.slots:
        numbers = (row.n_wanted, row.n_written, row.n_at_once)
        names = shorten(row.behavior), shorten(row.label)
        table.add_row(*names, *(f"{number:,}" for number in numbers))
    return table


def _what_was_wrong(summary: SynthesisSummary) -> list[str]:
    lines = []
    if summary.unmet:
        lines.append(f"drafts that got a trait wrong: {_listed(summary.unmet)}")
    if summary.reasons:
        lines.append(f"drafts that were wrong otherwise: {_listed(summary.reasons)}")
    return ["", *lines] if lines else []


def _listed(counts: Any) -> str:
    shown = [f"{shorten(name)} ({n:,})" for name, n in list(counts.items())[:_MOST_NAMED]]
    more = len(counts) - _MOST_NAMED
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _calls(summary: SynthesisSummary) -> str:
    calls = summary.calls
    said = [f"{calls.n_calls:,} calls to write"]
    said += [f"{calls.n_retries:,} of them repeats"] if calls.n_retries else []
    said += [f"{calls.n_reused:,} drafts from the store"] if calls.n_reused else []
    if calls.prompt_tokens or calls.completion_tokens:
        said.append(f"{calls.prompt_tokens:,} tokens in, {calls.completion_tokens:,} out")
    if calls.n_calls:
        said.append("price unknown" if calls.cost is None else f"${calls.cost:,.4f}")
    judged = summary.judge_calls
    if judged is not None:
        cost = "price unknown" if judged.cost is None else f"${judged.cost:,.4f}"
        said.append(f"{judged.n_calls:,} calls to verify, {cost}")
    return "calls: " + ", ".join(said)


def _whereabouts(summary: SynthesisSummary, rubric: str) -> list[str]:
    if summary.output in (None, "-"):
        return []
    lines = ["", f"completions: {summary.output}"]
    if summary.rejected_output is not None:
        lines.append(f"rejected, with what was wrong: {summary.rejected_output}")
    fit = f"voirdire fit {shlex.quote(str(summary.output))} --rubric {shlex.quote(rubric)}"
    return [*lines, "Read some of them. Then a reward that ranks them:", f"  {fit} -o reward.json"]


def _plain(value: Any) -> Any:
    """Write nan as null, which JSON lacks a word for."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _say_drops(summary: SynthesisSummary) -> None:
    if not summary.n_dropped:
        return
    where = "" if summary.dropped_output is None else f"; all in {summary.dropped_output}"
    say(f"{_prompts(summary.n_dropped)} set aside{where}")
    for row in summary.dropped[:_MOST_DROPS]:
        about = "" if row.item is None else f" {shorten(row.item)!r}"
        value = "" if row.value is None else f" ({shorten(row.value)!r})"
        reason = shorten(row.reason, width=160)
        say(f"  {row.place()}:{about} {reason}{value}")
    if summary.n_dropped > _MOST_DROPS:
        say(f"  and {summary.n_dropped - _MOST_DROPS:,} more")


def _prompts(number: int) -> str:
    return "1 prompt" if number == 1 else f"{number:,} prompts"


def _verifying(row: SynthesisEstimate) -> str:
    if not row.n_judge_calls:
        return "no calls"
    if row.is_cascade:  # what its first judge is sure of costs nothing
        most = "price unknown" if row.judge_cost_most is None else f"${row.judge_cost_most:,.4f}"
        return f"up to {row.n_judge_calls:,} calls for first drafts; for all, {most} at most"
    return f"{row.n_judge_calls:,} calls or more, {_dollars(row.judge_cost, row.judge_cost_most)}"


def _dollars(least: float | None, most: float | None) -> str:
    if least is None or most is None:
        return "price unknown"
    return f"${least:,.4f} to ${most:,.4f}"
