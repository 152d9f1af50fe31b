"""`voirdire replay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from voirdire.cli.fit_output import caught_warnings
from voirdire.cli.model_judges import (
    OF_REPLIES,
    USUAL,
    DryRun,
    RetryFailures,
    UsualAskingOptions,
    judge_or_own,
    prepare_to_be_stopped,
    store_option,
)
from voirdire.cli.options import AsJson, OtherJudge, Output, RewardFile
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.shell import Call, say
from voirdire.cli.training_output import print_replay, print_replay_estimate, replay_progress
from voirdire.judging import Asking

if TYPE_CHECKING:
    from voirdire.judging.judges.jury import JudgeLike

__all__ = ["replay_command"]


def replay_command(
    run: Annotated[Path, Parameter(metavar="RUN")],
    /,
    *,
    call: Call,
    reward: RewardFile,
    output: Output = None,
    judge: Annotated[
        str | None, Parameter(metavar="local|own|FILE|MODEL", allow_repeating=False)
    ] = None,
    other_judge: OtherJudge = False,
    dry_run: DryRun = False,
    asking: UsualAskingOptions = Asking(),
    store: Annotated[
        str | None, store_option("voirdire-replies.sqlite in the run's folder")
    ] = None,
    retry_failures: RetryFailures = False,
    as_json: AsJson = False,
) -> None:
    """Give a training run's completions the rewards that another reward would have given.

    Verdicts of the run are used where they fit, so that new weights need no judge at all.

    Parameters
    ----------
    run
        The folder of a training run: what was given to its reward as record.
    output
        The rewards of all completions: .parquet, .jsonl or .csv.
    judge
        Who judges where the run has no verdict that fits: local, a file that `voirdire distill`
        made, a language model, the YAML file of a cascade or a jury, or own: the judge that the
        reward was fitted on. Default: nobody is asked.
    """
    listen_for_interrupts()
    settings: dict[str, Any] = {
        "judge": _asked(call, judge, asking, reads_keys=not dry_run),
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


def _asked(call: Call, judge: str | None, asking: Asking, *, reads_keys: bool) -> JudgeLike | None:
    """Make the judge that is named; refuse options that would mean nothing."""
    why = "the reward says how its own judge asks" if judge else "nobody is asked"
    return judge_or_own(
        call,
        judge,
        asking,
        idle=(*USUAL, *(() if judge == "own" else OF_REPLIES)),
        why=f"{why}. Name a `--judge`",
        reads_keys=reads_keys,
    )
