"""What `voirdire replay` and `voirdire sample` print."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.cli.judging_progress import progress_lines
from voirdire.cli.printing import plain_table, print_json, print_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.table import Table

    from voirdire.rewards.training.replay import (
        GroupRanks,
        Replay,
        ReplayEstimate,
        ReplayPart,
    )
    from voirdire.rewards.training.sample import SampleFiles, TrainingSample

from voirdire.cli.shell import in_options, say

__all__ = [
    "print_replay",
    "print_replay_estimate",
    "print_sample",
    "replay_progress",
    "say_left_out",
]

_MOST_SHOWN = 5
_MOST_STEPS = 12


@contextmanager
def replay_progress() -> Iterator[Callable[[int], None] | None]:
    """Give what `replay` tells its progress to; nothing where nobody watches."""
    with progress_lines() as lines:
        if lines is None:
            yield None
        else:
            yield lambda n: lines.show("replaying", f"{n:,} completions", done=n, total=None)


def print_replay(found: Replay, *, as_json: bool) -> None:
    """Print both rewards side by side."""
    _say(found.notes, found.dropped)
    if as_json:
        print_json(found.as_dict())
        return
    print_tables(
        f"{found.n:,} completions of {shorten(found.run, width=160)}: rewards of "
        f"{shorten(found.reward_before)!r}, and of {shorten(found.reward)!r}",
        f"verdicts: {found.n_reused:,} completions with those of the run, {found.n_judged:,} "
        f"judged anew, by {shorten(found.judge)!r}",
        "",
        _table("behavior", found.behaviors),
        "",
        _table("step", _some(found.steps)),
        *_more_steps(found.steps),
        "",
        _order(found.whole.ranks),
        *_missing(found),
        *(() if found.output is None else ("", f"rewards: {found.output}")),
    )


def print_replay_estimate(found: ReplayEstimate, *, as_json: bool) -> None:
    """Print what a replay would judge and call."""
    _say(found.notes, ())
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


def print_sample(sample: TrainingSample, files: SampleFiles, *, as_json: bool) -> None:
    """Print what was drawn, and what comes next."""
    _say(files.notes, sample.dropped)
    if as_json:
        print_json(sample.as_dict() | {"files": files.as_dict()})
        return
    rows = [
        (shorten(name, width=60), f"{n_different:,}", f"{n_drawn:,}")
        for name, (n_different, n_drawn) in sample.strata.items()
    ]
    table = plain_table(("stratum", "different", "drawn"), rows, words=("stratum",))
    sheets = [str(path) for path in files.sheets]
    print_tables(
        f"{len(sample.items):,} completions drawn from {sample.n_completions:,}, seed "
        f"{sample.seed}",
        "",
        table,
        "",
        f"1. Give each annotator one sheet ({', '.join(sheets)}); {files.n_labels:,} cells of "
        "column label to fill with yes or no.",
        f"2. Keep {files.verdicts} and {files.key} from them: the judge's verdicts, and where "
        "each item is from.",
        "3. Examine the judge:",
        "",
        files.command,
    )


def _say(notes: Sequence[str], dropped: Sequence[str]) -> None:
    for note in notes:
        say(f"note: {shorten(in_options(note), width=600)}")
    say_left_out(dropped)


def say_left_out(dropped: Sequence[str]) -> None:
    """Name the parts of a run that could not be read."""
    for row in dropped[:_MOST_SHOWN]:
        say(f"left out: {shorten(row, width=160)}")
    if len(dropped) > _MOST_SHOWN:
        say(f"and {len(dropped) - _MOST_SHOWN} more")


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


def _more_steps(steps: Sequence[ReplayPart]) -> tuple[str, ...]:
    if len(steps) <= _MOST_STEPS:
        return ()
    return (f"{_MOST_STEPS} of {len(steps):,} steps; --json has all",)


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


def _missing(found: Replay) -> list[str]:
    if not found.missing:
        return []
    rows = list(found.missing.items())
    listed = ", ".join(f"{shorten(why, width=120)} ({n:,})" for why, n in rows[:_MOST_SHOWN])
    more = f" and {len(rows) - _MOST_SHOWN} other reasons" if len(rows) > _MOST_SHOWN else ""
    return ["", f"without a reward: {listed}{more}"]


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1%}"
