"""`voirdire replay`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Parameter

from voirdire.cli.judging_progress import watch_run
from voirdire.cli.model_judges import (
    OF_REPLIES,
    USUAL,
    UsualAskingOptions,
    make_judge_or_own,
)
from voirdire.cli.options import AsJson, Output, RewardFile, RewardJudge, run_options
from voirdire.cli.printing import (
    keep_when_stopped,
    listen_for_interrupts,
    print_result,
    say_notes,
    say_warnings,
)
from voirdire.cli.shell import Call, say
from voirdire.judging import ModelSettings
from voirdire.rewards.settings import ReplaySettings

if TYPE_CHECKING:
    ReplayOptions: TypeAlias = ReplaySettings
else:
    ReplayOptions = run_options(ReplaySettings)

__all__ = ["replay_command"]


def replay_command(
    run: Annotated[Path, Parameter(metavar="RUN")],
    /,
    *,
    call: Call,
    reward: RewardFile,
    output: Output = None,
    judge: Annotated[
        RewardJudge,
        Parameter(
            help="Who judges where the run has no verdict that fits: local, a file that `voirdire "
            "distill` made, a language model, the YAML file of a cascade or a jury, or own: the "
            "judge that the reward was fitted on. Default: nobody is asked."
        ),
    ] = None,
    settings: ReplayOptions = ReplaySettings(),
    asking: UsualAskingOptions = ModelSettings(),
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
    """
    listen_for_interrupts()
    why = "the reward says how its own judge asks" if judge else "nobody is asked"
    settled: dict[str, Any] = {
        "settings": settings,
        "judge": make_judge_or_own(
            call,
            judge,
            asking,
            idle=USUAL if judge == "own" else (*USUAL, *OF_REPLIES),
            why=f"{why}. Name a `--judge`",
        ),
    }
    stopping = nullcontext() if judge is None else keep_when_stopped(str(run), store=settings.store)
    with stopping, say_warnings():
        from voirdire.reporting.reward_run_tables import replay_tables
        from voirdire.rewards.training.replay import replay

        with watch_run("replaying", lambda n, _: (f"{n:,} completions", n, None)) as tell:
            replayed = replay(run, reward, output=output, progress=tell, **settled)
    say_notes(replayed.notes, replayed.dropped)
    print_result(replayed.as_dict(), *replay_tables(replayed), as_json=as_json)
    if not replayed.n_after:
        say("voirdire: no completion got a reward.")
        raise SystemExit(1)
