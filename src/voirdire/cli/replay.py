"""`voirdire replay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from voirdire.cli import model_options as models
from voirdire.cli.fit_output import caught_warnings
from voirdire.cli.model_judges import judge_or_own, prepare_to_be_stopped
from voirdire.cli.output_options import AsJson
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.shell import Call, say
from voirdire.cli.training_output import print_replay, print_replay_estimate, replay_progress

if TYPE_CHECKING:
    from voirdire.judging import LlmJudge
    from voirdire.judging.cascade import CascadeJudge

__all__ = ["replay_command"]

REWARD = Group("The reward", sort_key=1)
VERDICTS = Group("Verdicts that the run does not have", sort_key=2)
WRITTEN = Group("The rewards", sort_key=3)


def replay_command(
    run: Annotated[
        Path,
        Parameter(
            help="The folder of a training run: what was given to its reward as record.",
            metavar="RUN",
        ),
    ],
    /,
    *,
    call: Call,
    reward: Annotated[
        Path,
        Parameter(
            help="The other reward, as `voirdire fit` writes it.", metavar="FILE.json", group=REWARD
        ),
    ],
    output: Annotated[
        Path | None,
        Parameter(
            name=("--output", "-o"),
            help="The rewards of all completions: .parquet, .jsonl or .csv.",
            metavar="FILE",
            show_default=False,
            group=WRITTEN,
        ),
    ] = None,
    judge: Annotated[
        str | None,
        Parameter(
            help="Who judges where the run has no verdict that fits: local, a file that `voirdire "
            "distill` made, a language model, the YAML file of a cascade, or own: the judge that "
            "the reward was fitted on. Default: nobody is asked.",
            metavar="local|own|FILE|MODEL",
            show_default=False,
            group=VERDICTS,
        ),
    ] = None,
    other_judge: Annotated[
        bool,
        Parameter(
            name="--other-judge",
            help="Take verdicts of another judge than the weights were fitted on.",
            group=VERDICTS,
        ),
    ] = False,
    dry_run: models.DryRun = False,
    asking: models.UsualAsking = models.UsualAsking(),
    calls: models.UsualCalls = models.UsualCalls(),
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
        "judge": _asked(call, judge, asking=asking, calls=calls, reads_keys=not dry_run),
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
        say("voirdire: no completion got a reward.")
        raise SystemExit(1)


def _asked(
    call: Call,
    judge: str | None,
    *,
    asking: models.UsualAsking,
    calls: models.UsualCalls,
    reads_keys: bool,
) -> LlmJudge | CascadeJudge | str | None:
    """Make the judge that is named; refuse options that would mean nothing."""
    why = "the reward says how its own judge asks" if judge else "nobody is asked"
    return judge_or_own(
        call,
        judge,
        asking=asking,
        calls=calls,
        idle=(*models.USUAL_OPTIONS, *(() if judge == "own" else models.OF_REPLIES)),
        why=f"{why}. Name a `--judge`",
        reads_keys=reads_keys,
    )
