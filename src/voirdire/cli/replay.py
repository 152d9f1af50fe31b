"""`voirdire replay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voirdire.cli import model_options as models
from voirdire.cli.fit_output import caught_warnings
from voirdire.cli.model_judges import judge_or_own, prepare_to_be_stopped
from voirdire.cli.option_groups import takes_groups
from voirdire.cli.output_options import AsJson
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.training_output import print_replay, print_replay_estimate, replay_progress

if TYPE_CHECKING:
    from voirdire.cli.model_options import AskingOptions, CallOptions
    from voirdire.judging import LlmJudge
    from voirdire.judging.cascade import CascadeJudge

__all__ = ["replay_command"]

REWARD, VERDICTS, WRITTEN = "The reward", "Verdicts that the run does not have", "The rewards"


@takes_groups
def replay_command(
    context: typer.Context,
    *,
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
    asking: models.UsualAsking,
    calls: models.UsualCalls,
    store: Annotated[
        str | None, models.store_option("voirdire-replies.sqlite in the run's folder")
    ] = None,
    retry_failures: models.RetryFailures = False,
    as_json: AsJson = False,
) -> None:
    """Give a training run's completions the rewards that another reward would have given.

    Verdicts of the run are used where they fit, so that new weights need no judge at all.
    """
    listen_for_interrupts()
    settings: dict[str, Any] = {
        "judge": _asked(context, judge, asking=asking, calls=calls, reads_keys=not dry_run),
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
    context: typer.Context,
    judge: str | None,
    *,
    asking: AskingOptions,
    calls: CallOptions,
    reads_keys: bool,
) -> LlmJudge | CascadeJudge | str | None:
    """Make the judge that is named; refuse options that would mean nothing."""
    why = "the reward says how its own judge asks" if judge else "nobody is asked"
    return judge_or_own(
        context,
        judge,
        asking=asking,
        calls=calls,
        idle=(*models.USUAL_OPTIONS, *(() if judge == "own" else models.OF_REPLIES)),
        why=f"{why}. Name a `--judge`",
        reads_keys=reads_keys,
    )
