"""`voirdire synthesize`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from voirdire.cli.judging_progress import watch_run
from voirdire.cli.model_judges import (
    OF_WRITER,
    SynthesisOptions,
    WriterOptions,
    make_judge,
)
from voirdire.cli.options import AsJson, File, JudgeName, RubricName
from voirdire.cli.printing import (
    keep_when_stopped,
    listen_for_interrupts,
    print_result,
    say_drops,
)
from voirdire.cli.shell import UsageError, say
from voirdire.judging import ModelSettings
from voirdire.rewards.settings import SynthesisSettings

if TYPE_CHECKING:
    from voirdire.rewards import SynthesisProgress

__all__ = ["synthesize_command"]


def synthesize_command(
    prompts: Annotated[str, Parameter(metavar="PROMPTS")],
    /,
    *,
    model: Annotated[str, Parameter(metavar="MODEL")],
    output: Annotated[str, Parameter(name=("--output", "-o"), metavar="FILE")],
    rubric: RubricName = "safety",
    recipes: File = None,
    settings: SynthesisOptions = SynthesisSettings(),
    asking: WriterOptions = ModelSettings(),
    judge: JudgeName = "local",
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
        Who verifies: local, a file that `voirdire distill` made, a language model, or the YAML file
        of a judge, which says where its server is and what it costs, of a cascade or of a jury.
    """
    from voirdire.reporting.synthesis_tables import synthesis_tables
    from voirdire.rewards import synthesize_file

    listen_for_interrupts()
    verifying = replace(
        asking,
        language=settings.language,
        seed=settings.seed,
        reasoning_effort=None,
        base_url=None,
        api_key_env=None,
        price=None,
    )
    settled: dict[str, Any] = {
        "rubric": rubric,
        "model": model,
        "judge": make_judge(judge, verifying),
        "recipes": recipes,
        "settings": settings,
        **{name: getattr(asking, name) for name in OF_WRITER},
    }
    if output == "-" and as_json:
        msg = "`--json` must not be given with `-o -`: both print to standard output."
        raise UsageError(msg)
    with (
        keep_when_stopped(prompts, store=settings.store),
        watch_run("writing", _described, lambda state: state) as tell,
    ):
        summary = synthesize_file(prompts, output, progress=tell, **settled)
    about: dict[str, Any] = {"n_dropped": summary.n_dropped, "output": summary.dropped_output}
    say_drops(summary.dropped, what="prompt", **about)
    tables = synthesis_tables(summary, rubric=rubric)
    print_result(summary, *tables, as_json=as_json, is_streamed=summary.output == "-")
    if not summary.n_written:
        say("voirdire: no completion came about.")
        raise SystemExit(1)


def _described(state: SynthesisProgress, seconds: float) -> tuple[str, float, float]:
    from voirdire.reporting.progress_text import synthesis_text

    return synthesis_text(state, seconds=seconds), state.n_prompts, state.n_prompts_in_all
