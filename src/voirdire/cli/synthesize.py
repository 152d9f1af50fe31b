"""`voirdire synthesize`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from cyclopts import Parameter

from voirdire._types import Language, ModelSource
from voirdire.cli.judging_output import say_how_to_go_on
from voirdire.cli.model_judges import (
    DryRun,
    RetryFailures,
    Store,
    WriterOptions,
    asked_judge,
    prepare_to_be_stopped,
    price_of_text,
    typed_flags,
)
from voirdire.cli.options import AsJson, Behavior, Columns, File, Format, RubricName
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.shell import Call, UsageError, say
from voirdire.cli.synthesis_output import print_estimate, print_summary, synthesis_progress
from voirdire.judging import Asking

__all__ = ["synthesize_command"]


def synthesize_command(
    prompts: Annotated[str, Parameter(metavar="PROMPTS")],
    /,
    *,
    call: Call,
    model: Annotated[str, Parameter(metavar="MODEL")],
    output: Annotated[str | None, Parameter(name=("--output", "-o"), metavar="FILE")] = None,
    rubric: RubricName = "safety",
    recipes: File = None,
    language: Annotated[Language, Parameter(name="--prompt-language")] = "en",
    seed: int = 0,
    temperature: float = 1.0,
    max_tokens: int = 1_024,
    asking: WriterOptions = Asking(),
    judge: Annotated[str, Parameter(metavar="local|FILE|MODEL")] = "local",
    n_attempts: int = 3,
    threshold: float | None = None,
    judge_base_url: Annotated[str | None, Parameter(metavar="URL")] = None,
    judge_api_key_env: Annotated[str | None, Parameter(metavar="NAME")] = None,
    judge_probability: ModelSource = "logprob",
    judge_price: Annotated[str | None, Parameter(metavar="IN,OUT")] = None,
    behavior: Behavior = None,
    columns: Columns = None,
    format: Format = None,
    store: Store = None,
    retry_failures: RetryFailures = False,
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
    language
        Of the instructions.
    seed
        Of what is drawn; another one writes everything anew.
    temperature
        Of first drafts, in [0, 2]; each further one is .1 warmer.
    max_tokens
        Tokens of a completion at most.
    judge
        Who verifies: local, a file that `voirdire distill` made, or a language model.
    n_attempts
        Drafts per completion at most.
    threshold
        A proposition is true from this probability on. Default: what the rubric
        says, else the judge, else 0.5.
    judge_base_url
        The judge's server, where it is not its provider's own.
    judge_api_key_env
        Environment variable that holds the judge's key. Default: its provider's.
    judge_probability
        Where a probability comes from, if the judge is a language model.
    judge_price
        US dollars per million tokens in and out of the judge, where that is not known.
    columns
        Your name for a column, as OURS=YOURS (id, prompt, messages, behavior); repeatable.
    """
    from voirdire.judging import LlmJudge

    _refuse_idle_options(call, judge)
    listen_for_interrupts()
    writing = replace(asking, probability="stated", language=language, seed=seed)
    judging = replace(
        writing,
        probability=judge_probability,
        reasoning_effort=None,
        base_url=judge_base_url,
        api_key_env=judge_api_key_env,
        price=None if judge_price is None else price_of_text(judge_price),
    )
    reads_keys = not dry_run
    writer = asked_judge(model, writing, call=call, reads_keys=reads_keys)
    if not isinstance(writer, LlmJudge):
        msg = f"`--model` must name a language model, such as openai/gpt-4o-mini, got {model!r}."
        raise UsageError(msg)
    settings: dict[str, Any] = {
        "rubric": rubric,
        "model": writer.model,
        "judge": asked_judge(
            judge, judging, call=call, reads_keys=reads_keys, key="judge_api_key_env"
        ),
        "recipes": recipes,
        "language": language,
        "n_attempts": n_attempts,
        "seed": seed,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "behavior": behavior,
        "columns": columns,
        "format": format,
        "store": store,
        "limits": writer.limits,
        "price": writer.price,
    }
    if dry_run:
        from voirdire.rewards.synthesis.synthesize import estimate_synthesis

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
    from voirdire.rewards.synthesis.synthesize import synthesize_file

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
