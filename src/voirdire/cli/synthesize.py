"""`voirdire synthesize`."""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from voirdire._types import ModelSource
from voirdire._validation import shorten
from voirdire.cli.judging_output import said_cost, say_drops, say_how_to_go_on
from voirdire.cli.judging_progress import StopNotice, progress_lines
from voirdire.cli.model_judges import (
    DryRun,
    PriceOfText,
    SynthesisOptions,
    WriterOptions,
    asked_judge,
    prepare_to_be_stopped,
    typed_flags,
)
from voirdire.cli.options import AsJson, File, RubricName
from voirdire.cli.printing import (
    counted,
    listen_for_interrupts,
    plain_table,
    print_json,
    print_tables,
)
from voirdire.cli.shell import Call, UsageError, say
from voirdire.judging import Asking
from voirdire.rewards.synthesis.settings import SynthesisSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.table import Table

    from voirdire.rewards import SynthesisEstimate, SynthesisProgress, SynthesisSummary

__all__ = ["said_of", "synthesize_command"]

_MOST_NAMED = 6


def synthesize_command(
    prompts: Annotated[str, Parameter(metavar="PROMPTS")],
    /,
    *,
    call: Call,
    model: Annotated[str, Parameter(metavar="MODEL")],
    output: Annotated[str | None, Parameter(name=("--output", "-o"), metavar="FILE")] = None,
    rubric: RubricName = "safety",
    recipes: File = None,
    settings: SynthesisOptions = SynthesisSettings(),
    asking: WriterOptions = Asking(),
    judge: Annotated[str, Parameter(metavar="local|FILE|MODEL", allow_repeating=False)] = "local",
    judge_base_url: Annotated[str | None, Parameter(metavar="URL")] = None,
    judge_api_key_env: Annotated[str | None, Parameter(metavar="NAME")] = None,
    judge_probability: ModelSource = "logprob",
    judge_price: PriceOfText = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Have a model write completions of every quality for prompts, verified by a judge.

    The output is what `voirdire fit` reads. A run that was interrupted goes on where it was when
    the same command is given again; replies are kept, and never paid for twice. Writer and judge
    each keep to the limits of calls and cost.

    Parameters
    ----------
    prompts
        Prompts with their behaviors: JSONL, CSV, Parquet or JSON; - reads standard input.
    model
        Who writes: a language model such as openai/gpt-4o-mini or vllm/NAME.
    output
        The completions: a .jsonl file; - prints them.
    recipes
        Which completions each prompt gets, and the words that ask for them: a YAML file. Default:
        those that ship for the rubric, or one completion of each class.
    judge
        Who verifies: local, a file that `voirdire distill` made, or a language model.
    judge_base_url
        The judge's server, where it is not its provider's own.
    judge_api_key_env
        Environment variable that holds the judge's key. Default: its provider's.
    judge_probability
        Where a probability comes from, if the judge is a language model.
    judge_price
        US dollars per million tokens in and out of the judge, where that is not known.
    """
    from voirdire.judging import LlmJudge
    from voirdire.models import is_model_name
    from voirdire.rewards import estimate_synthesis, synthesize_file

    judging_options = ("judge_base_url", "judge_api_key_env", "judge_probability", "judge_price")
    if not is_model_name(judge) and (typed := typed_flags(call, judging_options)):
        msg = f"`--judge` must name a language model for {typed}, got {judge!r}."
        raise UsageError(msg)
    listen_for_interrupts()
    writing = replace(asking, probability="stated", language=settings.language, seed=settings.seed)
    judging = replace(
        writing,
        probability=judge_probability,
        reasoning_effort=None,
        base_url=judge_base_url,
        api_key_env=judge_api_key_env,
        price=judge_price,
    )
    made = partial(asked_judge, call=call, reads_keys=not dry_run)
    writer = made(model, writing)
    if not isinstance(writer, LlmJudge):
        msg = f"`--model` must name a language model, such as openai/gpt-4o-mini, got {model!r}."
        raise UsageError(msg)
    told: dict[str, Any] = {
        "rubric": rubric,
        "model": writer.model,
        "judge": made(judge, judging, key="judge_api_key_env"),
        "recipes": recipes,
        "limits": writer.limits,
        "price": writer.price,
        "settings": settings,
    }
    if dry_run:
        beside = None if output == "-" else output
        _print_estimate(estimate_synthesis(prompts, output=beside, **told), as_json=as_json)
        return
    if output is None:
        msg = "`--output` must name the file of completions: -o comparisons.jsonl."
        raise UsageError(msg)
    if output == "-" and as_json:
        msg = "`--json` must not be given with `-o -`: both print to standard output."
        raise UsageError(msg)
    prepare_to_be_stopped(prompts)
    try:
        with _progress() as tell:
            summary = synthesize_file(prompts, output, progress=tell, **told)
    except KeyboardInterrupt:
        say_how_to_go_on(output, store=settings.store, asks_a_model=True)
        raise
    _print_summary(summary, rubric=rubric, as_json=as_json)
    if not summary.n_written:
        say("voirdire: no completion came about.")
        raise SystemExit(1)


# What it prints --------------------------------------------------------------------------------


@contextmanager
def _progress() -> Iterator[Callable[[SynthesisProgress], None]]:
    """Give what a synthesis tells its progress to; where nobody watches, it says little."""
    notice = StopNotice()
    with progress_lines() as lines:

        def tell(state: SynthesisProgress) -> None:
            if lines is not None:
                done, total = state.n_prompts, state.n_prompts_in_all
                lines.show("writing", said_of(state, seconds=lines.seconds), done=done, total=total)
            notice.note(state)

        yield tell


def said_of(state: SynthesisProgress, *, seconds: float) -> str:
    """Words for a state: prompts, completions, calls, rate, cost."""
    said = [f"{state.n_prompts:,} of {counted(state.n_prompts_in_all, 'prompt')}"]
    said += [f"{state.n_written:,} completions"]
    said += [f"{state.n_rejected:,} rejected"] if state.n_rejected else []
    said += [f"{state.n_calls / seconds:,.1f} calls/s"] if seconds > 0 and state.n_calls else []
    said += [] if state.cost is None else [f"${state.cost:,.4f}"]
    said.append(
        "verifying" if state.is_judging else f"{state.n_in_flight} of {state.concurrency} in flight"
    )
    return " · ".join(said)


def _print_summary(summary: SynthesisSummary, *, rubric: str, as_json: bool) -> None:
    """Print what a run came to; beside rows on standard output, on standard error."""
    say_drops(
        summary.dropped,
        n_dropped=summary.n_dropped,
        output=summary.dropped_output,
        what="prompt",
    )
    if as_json:
        print_json(summary)
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


def _print_estimate(estimate: SynthesisEstimate, *, as_json: bool) -> None:
    """Print what a run would call and cost."""
    if as_json:
        print_json({"estimate": estimate})
        return
    row = estimate
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
    print_tables(*lines)


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
    said += [said_cost(calls.cost)] if calls.n_calls else []
    if (judged := summary.judge_calls) is not None:
        said.append(f"{judged.n_calls:,} calls to verify, {said_cost(judged.cost)}")
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
        most = said_cost(row.judge_cost_most)
        return f"up to {row.n_judge_calls:,} calls for first drafts; for all, {most} at most"
    return f"{row.n_judge_calls:,} calls or more, {_dollars(row.judge_cost, row.judge_cost_most)}"


def _dollars(least: float | None, most: float | None) -> str:
    known = least is not None and most is not None
    return f"{said_cost(least)} to {said_cost(most)}" if known else said_cost(None)
