"""`voirdire replay`."""

from __future__ import annotations

import math
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from voirdire._validation import shorten
from voirdire.cli.fit_output import caught_warnings, say_notes
from voirdire.cli.judging_progress import progress_lines
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
from voirdire.cli.printing import listen_for_interrupts, plain_table, print_json, print_tables
from voirdire.cli.score import missing_line
from voirdire.cli.shell import Call, say
from voirdire.judging import Asking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.table import Table

    from voirdire.rewards.training.replay import (
        GroupRanks,
        Replay,
        ReplayEstimate,
        ReplayPart,
    )

__all__ = ["replay_command"]

_MOST_STEPS = 12


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
    why = "the reward says how its own judge asks" if judge else "nobody is asked"
    settings: dict[str, Any] = {
        "judge": judge_or_own(
            call,
            judge,
            asking,
            idle=USUAL if judge == "own" else (*USUAL, *OF_REPLIES),
            why=f"{why}. Name a `--judge`",
            reads_keys=not dry_run,
        ),
        "other_judge": other_judge,
        "store": store,
        "retry_failures": retry_failures,
    }
    with caught_warnings():
        from voirdire.rewards.training.replay import estimate_replay, replay

        if dry_run:
            _print_estimate(estimate_replay(run, reward, **settings), as_json=as_json)
            return
        if judge is not None:
            prepare_to_be_stopped(str(run))
        with _progress() as tell:
            found = replay(run, reward, output=output, progress=tell, **settings)
    _print(found, as_json=as_json)
    if not found.n_after:
        say("voirdire: no completion got a reward.")
        raise SystemExit(1)


@contextmanager
def _progress() -> Iterator[Callable[[int], None] | None]:
    """Give what `replay` tells its progress to; nothing where nobody watches."""
    with progress_lines() as lines:
        if lines is None:
            yield None
        else:
            yield lambda n: lines.show("replaying", f"{n:,} completions", done=n, total=None)


def _print(found: Replay, *, as_json: bool) -> None:
    """Print both rewards side by side."""
    say_notes(found.notes, found.dropped)
    if as_json:
        print_json(found.as_dict())
        return
    n_steps = len(found.steps)
    print_tables(
        f"{found.n:,} completions of {shorten(found.run, width=160)}: rewards of "
        f"{shorten(found.reward_before)!r}, and of {shorten(found.reward)!r}",
        f"verdicts: {found.n_reused:,} completions with those of the run, {found.n_judged:,} "
        f"judged anew, by {shorten(found.judge)!r}",
        "",
        _table("behavior", found.behaviors),
        "",
        _table("step", _some(found.steps)),
        *([f"{_MOST_STEPS} of {n_steps:,} steps; --json has all"] * (n_steps > _MOST_STEPS)),
        "",
        _order(found.whole.ranks),
        *(["", missing_line(found.missing)] if found.missing else []),
        *(() if found.output is None else ("", f"rewards: {found.output}")),
    )


def _print_estimate(found: ReplayEstimate, *, as_json: bool) -> None:
    """Print what a replay would judge and call."""
    say_notes(found.notes)
    if as_json:
        print_json(found.as_dict())
        return
    lines = [f"{found.n_reused:,} of {found.n:,} completions have verdicts of the run that fit"]
    if found.n_unjudged:
        lines.append(
            f"{found.n_unjudged:,} need others, and would have no reward; --judge names who is "
            "asked"
        )
    if found.n_to_judge:
        lines.append(f"{found.n_to_judge:,} different ones would be judged")
    if found.n_calls or found.n_stored:
        price = "unknown" if found.cost is None else f"about ${found.cost:,.2f}"
        lines.append(f"calls: {found.n_calls:,}, and {found.n_stored:,} stored; price {price}")
    print_tables(*lines)


def _table(heading: str, parts: Sequence[ReplayPart]) -> Table:
    numbers = ("completions", "before", "sd", "after", "sd", "same order", "best changed")
    rows = [
        (
            str(part.step) if part.step is not None else shorten(part.behavior or "(none)"),
            f"{part.n:,}",
            *map(_number, (part.mean_before, part.sd_before, part.mean_after, part.sd_after)),
            *map(_share, (part.ranks.same_order_share, part.ranks.best_changed_share)),
        )
        for part in parts
    ]
    return plain_table((heading, *numbers), rows, words=(heading,))


def _some(steps: Sequence[ReplayPart]) -> Sequence[ReplayPart]:
    """Choose steps to show, evenly, the last one among them."""
    if len(steps) <= _MOST_STEPS:
        return steps
    last = len(steps) - 1
    return [steps[round(k * last / (_MOST_STEPS - 1))] for k in range(_MOST_STEPS)]


def _order(ranks: GroupRanks) -> str:
    if not ranks.n_groups:
        return "order within groups: no group has two completions that both rewards pay"
    pairs = (
        f"{ranks.n_same:,} same, {ranks.n_reversed:,} reversed, {ranks.n_tied_before:,} parted, "
        f"{ranks.n_tied_after:,} tied, {ranks.n_tied_both:,} tied by both"
    )
    said = f"order within {ranks.n_groups:,} groups: "
    if math.isnan(ranks.same_order_share):
        said += f"neither reward tells any pair apart ({pairs})"
    else:
        said += f"{_share(ranks.same_order_share)} of the pairs stay in the same order ({pairs})"
    return f"{said}; another completion is best in {_share(ranks.best_changed_share)} of the groups"


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1%}"
