"""`voirdire synthesize`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from voirdire._types import Language, ModelSource
from voirdire.cli import model_options as models
from voirdire.cli.idle_options import typed_flags
from voirdire.cli.judging_output import say_how_to_go_on
from voirdire.cli.model_judges import asked_judge, llm_judge, prepare_to_be_stopped
from voirdire.cli.options import as_mapping
from voirdire.cli.output_options import AsJson
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.reading_options import behavior_option, column_option, format_option
from voirdire.cli.shell import Call, UsageError, say
from voirdire.cli.synthesis_output import (
    print_estimate,
    print_summary,
    synthesis_progress,
)

if TYPE_CHECKING:
    from voirdire.judging import LlmJudge

__all__ = ["synthesize_command"]

WRITTEN = Group("What is written", sort_key=1)
VERIFIED = Group("How it is verified", sort_key=2)
READ = Group("The prompts", sort_key=3)


def synthesize_command(
    prompts: Annotated[
        str,
        Parameter(
            help="Prompts with their behaviors: JSONL, CSV, Parquet or JSON; - reads standard "
            "input.",
            metavar="PROMPTS",
        ),
    ],
    /,
    *,
    call: Call,
    model: Annotated[
        str,
        Parameter(
            help="Who writes: a language model such as openai/gpt-4o-mini or vllm/NAME.",
            metavar="MODEL",
            group=WRITTEN,
        ),
    ],
    output: Annotated[
        str | None,
        Parameter(
            name=("--output", "-o"),
            help="The completions: a .jsonl file; - prints them.",
            metavar="FILE",
            show_default=False,
            group=WRITTEN,
        ),
    ] = None,
    rubric: Annotated[
        str,
        Parameter(
            help="A built-in rubric, or a YAML file; it must have behaviors.",
            metavar="NAME|FILE",
            group=WRITTEN,
        ),
    ] = "safety",
    recipes: Annotated[
        str | None,
        Parameter(
            help="Which completions each prompt gets, and the words that ask for them: a YAML "
            "file. Default: those that ship for the rubric, or one completion of each class.",
            metavar="FILE",
            show_default=False,
            group=WRITTEN,
        ),
    ] = None,
    language: Annotated[
        Language, Parameter(name="--prompt-language", help="Of the instructions.", group=WRITTEN)
    ] = "en",
    seed: Annotated[
        int,
        Parameter(help="Of what is drawn; another one writes everything anew.", group=WRITTEN),
    ] = 0,
    temperature: Annotated[
        float,
        Parameter(help="Of first drafts, in [0, 2]; each further one is .1 warmer.", group=WRITTEN),
    ] = 1.0,
    max_tokens: Annotated[
        int, Parameter(help="Tokens of a completion at most.", group=WRITTEN)
    ] = 1_024,
    asking: models.WriterOptions = models.WriterOptions(),
    judge: Annotated[
        str,
        Parameter(
            help="Who verifies: local, a file that `voirdire distill` made, or a language model.",
            metavar="local|FILE|MODEL",
            group=VERIFIED,
        ),
    ] = "local",
    attempts: Annotated[int, Parameter(help="Drafts per completion at most.", group=VERIFIED)] = 3,
    threshold: Annotated[
        float | None,
        Parameter(
            help="A proposition is true from this probability on. Default: what the rubric says.",
            show_default=False,
            group=VERIFIED,
        ),
    ] = None,
    judge_base_url: Annotated[
        str | None,
        Parameter(
            help="The judge's server, where it is not its provider's own.",
            metavar="URL",
            group=VERIFIED,
        ),
    ] = None,
    judge_api_key_env: Annotated[
        str | None,
        Parameter(
            help="Environment variable that holds the judge's key. Default: its provider's.",
            metavar="NAME",
            show_default=False,
            group=VERIFIED,
        ),
    ] = None,
    judge_probability: Annotated[
        ModelSource,
        Parameter(
            help="Where a probability comes from, if the judge is a language model.", group=VERIFIED
        ),
    ] = "logprob",
    judge_price: Annotated[
        str | None,
        Parameter(
            help="US dollars per million tokens in and out of the judge, where that is not known.",
            metavar="IN,OUT",
            show_default=False,
            group=VERIFIED,
        ),
    ] = None,
    behavior: Annotated[str | None, behavior_option("prompts", panel=READ)] = None,
    column: Annotated[list[str], column_option("id, prompt, messages, behavior", panel=READ)] = [],
    file_format: Annotated[str | None, format_option(panel=READ)] = None,
    calls: models.CallOptions = models.CallOptions(),
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
    _refuse_idle_options(call, judge)
    listen_for_interrupts()
    writing = models.AskingOptions(
        **vars(asking), probability="stated", language=language, seed=seed
    )
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
        raise UsageError(msg)
    if output == "-" and as_json:
        msg = "`--json` must not be given with `-o -`: both print to standard output."
        raise UsageError(msg)
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
        say("voirdire: no completion came about.")
        raise SystemExit(1)


def _writer(
    model: str, *, asking: models.AskingOptions, calls: models.CallOptions, reads_keys: bool
) -> LlmJudge:
    """Make the model with its limits and price, as a judge has them."""
    made = llm_judge(model, asking=asking, calls=calls, reads_keys=reads_keys)
    if isinstance(made, str):
        msg = f"`--model` must name a language model, such as openai/gpt-4o-mini, got {model!r}."
        raise UsageError(msg)
    return made


def _refuse_idle_options(call: Call, judge: str) -> None:
    """Refuse what was typed about a judge that calls nothing."""
    from voirdire.models import is_model_name

    if is_model_name(judge):
        return
    names = ("judge_base_url", "judge_api_key_env", "judge_probability", "judge_price")
    typed = typed_flags(call, names)
    if typed:
        msg = f"`--judge` must name a language model for {typed}, got {judge!r}."
        raise UsageError(msg)
