"""`voirdire synthesize`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from cyclopts import Parameter

from voirdire import rewards
from voirdire.cli import options as typed
from voirdire.cli import printing
from voirdire.cli.calls import say
from voirdire.cli.models import OF_WRITER, make_judge
from voirdire.cli.progress import running
from voirdire.judging import ModelSettings


@typed.group_of()
class SynthesisOptions(rewards.SynthesisSettings):
    """How completions are written and kept."""


@typed.group_of("Language models", 10, only=OF_WRITER)
class WriterOptions(ModelSettings):
    """How the model is asked that writes."""


def synthesize_command(
    prompts: typed.Prompts,
    /,
    *,
    model: Annotated[str, Parameter(metavar="MODEL")],
    output: typed.Target,
    rubric: typed.RubricName = "safety",
    recipes: Annotated[str | None, Parameter(metavar="FILE")] = None,
    settings: SynthesisOptions = SynthesisOptions(),
    asking: WriterOptions = WriterOptions(),
    judge: typed.JudgeName = "local",
    printed: printing.Printed = printing.Printed(),
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
        Which completions each prompt gets, and the words that ask for them: a YAML file. The safety
        rubric has its own.
    judge
        Who verifies: local, a file that `voirdire distill` made, a language model, or the YAML file
        of a judge, which says where its server is and what it costs, of a cascade or of a jury.
    """
    printed.check_streamed(output)
    printing.start_reading()
    from voirdire.io.rows import estimate_rows

    own: Any = dict.fromkeys(("reasoning_effort", "base_url", "api_key_env", "price"))
    own |= {"language": settings.language, "seed": settings.seed}
    verifier = make_judge(judge, replace(asking, **own), options=())
    total = estimate_rows(prompts)
    with running(prompts, store=settings.store) as lines:
        summary = rewards.synthesize_file(
            prompts,
            str(output),
            rubric=rubric,
            model=model,
            judge=verifier,
            recipes=recipes,
            settings=settings,
            progress=partial(lines.tell_judging, name="writing", total=total),
            **{name: getattr(asking, name) for name in OF_WRITER},
        )
    printed.sum_up(summary, what="prompt", rubric=rubric)
    if not summary.n_written:
        say("voirdire: no completion came about.")
        raise SystemExit(1)
