"""`voirdire replay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voirdire.cli import model_options as models
from voirdire.cli.fit_output import caught_warnings
from voirdire.cli.model_judges import ModelOptions, prepare_to_be_stopped, refuse_idle_options
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.training_output import print_replay, print_replay_estimate, replay_progress

if TYPE_CHECKING:
    from voirdire.judging import LlmJudge
    from voirdire.judging.cascade import CascadeJudge

__all__ = ["replay_command"]

REWARD, VERDICTS, WRITTEN = "The reward", "Verdicts that the run does not have", "The rewards"
_OF_CALLS = (
    "mode",
    "probability",
    "language",
    "base_url",
    "api_key_env",
    "concurrency",
    "timeout",
    "price",
    "max_cost",
)


def replay_command(
    context: typer.Context,
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder of a training run: what was given to its reward as record.",
            metavar="RUN",
        ),
    ],
    reward: Annotated[
        Path,
        typer.Option(
            help="The other reward, as `voirdire fit` writes it.",
            metavar="FILE.json",
            rich_help_panel=REWARD,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The rewards of all completions: .parquet, .jsonl or .csv.",
            metavar="FILE",
            show_default=False,
            rich_help_panel=WRITTEN,
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            help="Who judges where the run has no verdict that fits: local, a file that `voirdire "
            "distill` made, a language model, the YAML file of a cascade, or own: the judge that "
            "the reward was fitted on. Default: nobody is asked.",
            metavar="local|own|FILE|MODEL",
            show_default=False,
            rich_help_panel=VERDICTS,
        ),
    ] = None,
    other_judge: Annotated[
        bool,
        typer.Option(
            "--other-judge",
            help="Take verdicts of another judge than the weights were fitted on.",
            rich_help_panel=VERDICTS,
        ),
    ] = False,
    dry_run: models.DryRun = False,
    mode: models.ModeOption = "joint",
    probability: models.Probability = "logprob",
    language: models.LanguageOption = "en",
    base_url: models.BaseUrl = None,
    api_key_env: models.ApiKeyEnv = None,
    concurrency: models.Concurrency = 32,
    timeout: models.Timeout = 120.0,
    price: models.PriceOption = None,
    max_cost: models.MaxCost = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="Where replies are kept: a file, or postgresql://... Default: "
            "voirdire-replies.sqlite in the run's folder.",
            metavar="FILE|URL",
            show_default=False,
            rich_help_panel=models.CALLS,
        ),
    ] = None,
    retry_failures: models.RetryFailures = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Give a training run's completions the rewards that another reward would have given.

    Verdicts of the run are used where they fit, so that new weights need no judge at all.
    """
    typed = {
        "mode": mode,
        "probability": probability,
        "language": language,
        "base_url": base_url,
        "api_key_env": api_key_env,
        "concurrency": concurrency,
        "timeout": timeout,
        "price": price,
        "max_cost": max_cost,
    }
    listen_for_interrupts()
    settings: dict[str, Any] = {
        "judge": _asked(context, typed, judge=judge, reads_keys=not dry_run),
        "other_judge": other_judge,
        "store": store,
        "retry_failures": retry_failures,
    }
    with caught_warnings():
        from voirdire.rewards.training.replay import estimate_replay, replay

        if dry_run:
            print_replay_estimate(estimate_replay(run, reward, **settings), as_json=as_json)
            return
        if judge is not None:
            prepare_to_be_stopped(str(run))
        with replay_progress() as tell:
            found = replay(run, reward, output=output, progress=tell, **settings)
    print_replay(found, as_json=as_json)
    if not found.n_after:
        typer.echo("voirdire: no completion got a reward.", err=True)
        raise typer.Exit(1)


def _asked(
    context: typer.Context, typed: dict[str, Any], *, judge: str | None, reads_keys: bool
) -> LlmJudge | CascadeJudge | str | None:
    """Make the judge that is named; refuse options that would mean nothing."""
    if judge in (None, "own"):
        names = _OF_CALLS if judge == "own" else (*_OF_CALLS, "store", "retry_failures")
        given = [
            f"--{name.replace('_', '-')}"
            for name in names
            if (source := context.get_parameter_source(name)) is not None
            and source.name == "COMMANDLINE"
        ]
        if given:
            why = "the reward says how its own judge asks" if judge else "nobody is asked"
            msg = f"{', '.join(given)} must be left out: {why}. Name a `--judge`."
            raise typer.BadParameter(msg)
        return judge
    refuse_idle_options(context, judge=judge, judges=None)
    options = ModelOptions(
        samples=5,
        orders=1,
        examples=None,
        seed=0,
        temperature=None,
        reasoning_effort=None,
        max_tokens=None,
        route=False,
        requests_per_minute=None,
        tokens_per_minute=None,
        **typed,
    )
    return options.asked(judge, reads_keys=reads_keys)
