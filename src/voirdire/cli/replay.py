"""`voirdire replay`."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from voirdire import reporting, rewards
from voirdire.cli import options as typed
from voirdire.cli import printing
from voirdire.cli.calls import say
from voirdire.cli.models import OF_REPLIES, USUAL, UsualOptions, make_judge_or_own
from voirdire.cli.progress import running
from voirdire.rewards.settings import ReplaySettings

_JUDGE = (
    "Who judges where the run has no verdict that fits: local, a file that `voirdire distill` "
    "made, a language model, the YAML file of a cascade or a jury, or own: the judge that the "
    "reward was fitted on. Default: nobody is asked."
)


@typed.group_of()
class ReplayOptions(ReplaySettings):
    """How completions are given another reward."""


def replay_command(
    run: typed.Run,
    /,
    *,
    reward: typed.RewardFile,
    output: typed.Output = None,
    judge: Annotated[typed.RewardJudge, Parameter(help=_JUDGE)] = None,
    settings: ReplayOptions = ReplayOptions(),
    asking: UsualOptions = UsualOptions(),
    printed: printing.Printed = printing.Printed(),
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
    idle = USUAL if judge == "own" else (*USUAL, *OF_REPLIES)
    why = "the reward says how its own judge asks" if judge else "nobody is asked"
    made = make_judge_or_own(judge, asking, idle=idle, why=f"{why}. Name a `--judge`")
    printing.start_reading()
    with running(store=settings.store, keeps=judge is not None) as lines:

        def tell(n: int) -> None:
            lines.tell("replaying", n, text=f"{n:,} completions")

        about: Any = {"settings": settings, "judge": made, "progress": tell}
        replayed = rewards.replay(run, reward, output=output, **about)
    printing.say_notes(replayed.notes, replayed.dropped)
    printed.print(replayed, reporting.ResultTables(replayed))
    if not replayed.n_after:
        say("voirdire: no completion got a reward.")
        raise SystemExit(1)
