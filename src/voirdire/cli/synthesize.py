"""`voirdire synthesize`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voirdire._types import Language, ModelSource
from voirdire.cli import model_options as models
from voirdire.cli.idle_options import as_flags, typed_names
from voirdire.cli.judging_output import say_how_to_go_on
from voirdire.cli.model_judges import asked_judge, llm_judge, prepare_to_be_stopped
from voirdire.cli.option_groups import Offered, takes_groups
from voirdire.cli.options import as_mapping
from voirdire.cli.output_options import AsJson
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.reading_options import behavior_option, column_option, format_option
from voirdire.cli.synthesis_output import (
    print_estimate,
    print_summary,
    synthesis_progress,
)

if TYPE_CHECKING:
    from voirdire.judging import LlmJudge

__all__ = ["synthesize_command"]

WRITTEN, VERIFIED, READ = "What is written", "How it is verified", "The prompts"


@takes_groups
def synthesize_command(
    context: typer.Context,
    *,
    prompts: Annotated[
        str,
        typer.Argument(
            help="Prompts with their behaviors: JSONL, CSV, Parquet or JSON; - reads standard "
            "input.",
            metavar="PROMPTS",
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            help="Who writes: a language model such as openai/gpt-4o-mini or vllm/NAME.",
            metavar="MODEL",
            rich_help_panel=WRITTEN,
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="The completions: a .jsonl file; - prints them.",
            metavar="FILE",
            show_default=False,
            rich_help_panel=WRITTEN,
        ),
    ] = None,
    rubric: Annotated[
        str,
        typer.Option(
            help="A built-in rubric, or a YAML file; it must have behaviors.",
            metavar="NAME|FILE",
            rich_help_panel=WRITTEN,
        ),
    ] = "safety",
    recipes: Annotated[
        str | None,
        typer.Option(
            help="Which completions each prompt gets, and the words that ask for them: a YAML "
            "file. Default: those that ship for the rubric, or one completion of each class.",
            metavar="FILE",
            show_default=False,
            rich_help_panel=WRITTEN,
        ),
    ] = None,
    language: Annotated[
        Language, typer.Option(help="Of the instructions.", rich_help_panel=WRITTEN)
    ] = "en",
    seed: Annotated[
        int,
        typer.Option(
            help="Of what is drawn; another one writes everything anew.", rich_help_panel=WRITTEN
        ),
    ] = 0,
    temperature: Annotated[
        float,
        typer.Option(
            help="Of first drafts, in [0, 2]; each further one is .1 warmer.",
            rich_help_panel=WRITTEN,
        ),
    ] = 1.0,
    max_tokens: Annotated[
        int, typer.Option(help="Tokens of a completion at most.", rich_help_panel=WRITTEN)
    ] = 1_024,
    asking: Annotated[
        models.AskingOptions, Offered(("reasoning_effort", "base_url", "api_key_env"))
    ],
    judge: Annotated[
        str,
        typer.Option(
            help="Who verifies: local, a file that `voirdire distill` made, or a language model.",
            metavar="local|FILE|MODEL",
            rich_help_panel=VERIFIED,
        ),
    ] = "local",
    attempts: Annotated[
        int, typer.Option(help="Drafts per completion at most.", rich_help_panel=VERIFIED)
    ] = 3,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="A proposition is true from this probability on. Default: what the rubric says.",
            show_default=False,
            rich_help_panel=VERIFIED,
        ),
    ] = None,
    judge_base_url: Annotated[
        str | None,
        typer.Option(
            help="The judge's server, where it is not its provider's own.",
            metavar="URL",
            rich_help_panel=VERIFIED,
        ),
    ] = None,
    judge_api_key_env: Annotated[
        str | None,
        typer.Option(
            help="Environment variable that holds the judge's key. Default: its provider's.",
            metavar="NAME",
            show_default=False,
            rich_help_panel=VERIFIED,
        ),
    ] = None,
    judge_probability: Annotated[
        ModelSource,
        typer.Option(
            help="Where a probability comes from, if the judge is a language model.",
            rich_help_panel=VERIFIED,
        ),
    ] = "logprob",
    judge_price: Annotated[
        str | None,
        typer.Option(
            help="US dollars per million tokens in and out of the judge, where that is not known.",
            metavar="IN,OUT",
            show_default=False,
            rich_help_panel=VERIFIED,
        ),
    ] = None,
    behavior: Annotated[str | None, behavior_option("prompts", panel=READ)] = None,
    column: Annotated[list[str], column_option("id, prompt, messages, behavior", panel=READ)] = [],  # noqa: B006  # typer copies it
    file_format: Annotated[str | None, format_option(panel=READ)] = None,
    calls: models.CallOptions,
    store: models.Store = None,
    retry_failures: models.RetryFailures = False,
    dry_run: models.DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Have a model write completions of every quality for prompts, verified by a judge.

    The output is what `voirdire fit` reads. A run that was interrupted goes on where it was when
    the same command is given again; replies are kept, and never paid for twice. Writer and judge
    each keep to the limits of calls and cost.
    """
    named = as_mapping(column, option="--column")
    _refuse_idle_options(context, judge)
    listen_for_interrupts()
    writing = replace(asking, probability="stated", language=language, seed=seed)
    judging = replace(
        writing,
        probability=judge_probability,
        reasoning_effort=None,
        base_url=judge_base_url,
        api_key_env=judge_api_key_env,
    )
    judged = replace(calls, price=judge_price)
    reads_keys = not dry_run
    writer = _writer(model, asking=writing, calls=calls, reads_keys=reads_keys)
    settings: dict[str, Any] = {
        "rubric": rubric,
        "model": writer.model,
        "judge": asked_judge(judge, asking=judging, calls=judged, reads_keys=reads_keys),
        "recipes": recipes,
        "language": language,
        "n_attempts": attempts,
        "seed": seed,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "behavior": behavior,
        "columns": named or None,
        "format": file_format,
        "store": store,
        "limits": writer.limits,
        "price": writer.price,
    }
    if dry_run:
        from voirdire.rewards.synthesis.estimate import estimate_synthesis

        found = estimate_synthesis(prompts, output=None if output == "-" else output, **settings)
        print_estimate(found, as_json=as_json)
        return
    settings |= {"threshold": threshold, "retry_failures": retry_failures}
    _run(prompts, output, rubric=rubric, as_json=as_json, settings=settings)


def _run(
    prompts: str, output: str | None, *, rubric: str, as_json: bool, settings: dict[str, Any]
) -> None:
    if output is None:
        msg = "`--output` must name the file of completions: -o comparisons.jsonl."
        raise typer.BadParameter(msg)
    if output == "-" and as_json:
        msg = "`--json` must not be given with `-o -`: both print to standard output."
        raise typer.BadParameter(msg)
    prepare_to_be_stopped(prompts)
    from voirdire.rewards.synthesis.file_synthesis import synthesize_file

    try:
        with synthesis_progress(prompts) as tell:
            summary = synthesize_file(prompts, output, progress=tell, **settings)
    except KeyboardInterrupt:
        say_how_to_go_on(output, store=settings["store"], asks_a_model=True)
        raise
    print_summary(summary, rubric=rubric, as_json=as_json)
    if not summary.n_written:
        typer.echo("voirdire: no completion came about.", err=True)
        raise typer.Exit(1)


def _writer(
    model: str, *, asking: models.AskingOptions, calls: models.CallOptions, reads_keys: bool
) -> LlmJudge:
    """Make the model with its limits and price, as a judge has them."""
    made = llm_judge(model, asking=asking, calls=calls, reads_keys=reads_keys)
    if isinstance(made, str):
        msg = f"`--model` must name a language model, such as openai/gpt-4o-mini, got {model!r}."
        raise typer.BadParameter(msg)
    return made


def _refuse_idle_options(context: typer.Context, judge: str) -> None:
    """Refuse what was typed about a judge that calls nothing."""
    from voirdire.models import is_model_name

    if is_model_name(judge):
        return
    names = ("judge_base_url", "judge_api_key_env", "judge_probability", "judge_price")
    typed = as_flags(typed_names(context, names))
    if typed:
        msg = f"`--judge` must name a language model for {typed}, got {judge!r}."
        raise typer.BadParameter(msg)
