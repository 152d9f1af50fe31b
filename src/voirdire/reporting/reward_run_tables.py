"""What scoring, replaying and sampling print: rewards by behavior and step, and what is missing."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from voirdire._messages import shorten
from voirdire.reporting.judging_tables import call_lines
from voirdire.reporting.number_formats import decimal, share
from voirdire.reporting.plain_tables import plain_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from voirdire.rewards.file_scoring import ScoringSummary
    from voirdire.rewards.training.replay import GroupRanks, Replay, ReplayPart
    from voirdire.rewards.training.sample import SampleFiles, TrainingSample

__all__ = ["replay_tables", "sample_tables", "score_tables"]

_MOST_STEPS = 12
_MOST_SHOWN = 5
_WAYS_OUT = {
    "no base reward": "this reward was fitted beside one: --base names the column",
    "no behavior": "--behavior names it for items that have none",
    "no verdict": "were these items judged? Verdicts belong to an item by its id",
}


def score_tables(summary: ScoringSummary) -> list[RenderableType]:
    """Lay out the rewards of a file."""
    return [
        f"{summary.n_scored:,} of {summary.n_items:,} items scored by reward "
        f"{shorten(summary.reward)!r} on rubric {shorten(summary.rubric)} "
        f"{shorten(summary.rubric_version)}, verdicts of {shorten(summary.judge)!r}"
        + (", centered" if summary.is_centered else ""),
        "",
        _score_table(summary),
        *_missing_lines(summary),
        *(() if summary.calls is None else call_lines(summary.calls)),
        *(() if summary.output == "-" else ("", f"rewards: {summary.output}")),
    ]


def replay_tables(found: Replay) -> list[RenderableType]:
    """Lay out both rewards side by side."""
    n_steps = len(found.steps)
    return [
        (
            f"{found.n:,} completions of {shorten(found.run, width=160)}: rewards of "
            f"{shorten(found.reward_before)!r}, and of {shorten(found.reward)!r}"
        ),
        (
            f"verdicts: {found.n_reused:,} completions with those of the run, {found.n_judged:,} "
            f"judged anew, by {shorten(found.judge)!r}"
        ),
        "",
        _replay_table("behavior", found.behaviors),
        "",
        _replay_table("step", _chosen_steps(found.steps)),
        *([f"{_MOST_STEPS} of {n_steps:,} steps; --json has all"] * (n_steps > _MOST_STEPS)),
        "",
        _order(found.whole.ranks),
        *(["", _missing_line(found.missing)] if found.missing else []),
        *(() if found.output is None else ("", f"rewards: {found.output}")),
    ]


def sample_tables(sample: TrainingSample, files: SampleFiles) -> list[RenderableType]:
    """Lay out what was drawn, and what comes next."""
    rows = [
        (shorten(name, width=60), f"{n_different:,}", f"{n_drawn:,}")
        for name, (n_different, n_drawn) in sample.strata.items()
    ]
    table = plain_table(("stratum", "different", "drawn"), rows, words=("stratum",))
    sheets = [str(path) for path in files.sheets]
    return [
        (
            f"{len(sample.items):,} completions drawn from {sample.n_completions:,}, seed "
            f"{sample.seed}"
        ),
        "",
        table,
        "",
        (
            f"1. Give each annotator one sheet ({', '.join(sheets)}); {files.n_labels:,} cells of "
            "column label to fill with yes or no."
        ),
        (
            f"2. Keep {files.verdicts} and {files.key} from them: the judge's verdicts, and where "
            "each item is from."
        ),
        "3. Examine the judge:",
        "",
        files.command,
    ]


def _score_table(summary: ScoringSummary) -> Table:
    headings = ("behavior", "items", "scored", "mean", "sd", "least", "most", "rules", "base")
    rows = [
        (
            "(none)" if row.behavior is None else shorten(row.behavior, width=40),
            *(f"{row.n_items:,}", f"{row.n_scored:,}"),
            *map(_number, (row.mean, row.standard_deviation, row.minimum, row.maximum)),
            *map(_number, (row.mean_rule, row.mean_base)),
        )
        for row in summary.behaviors
    ]
    return plain_table(headings, rows, words=("behavior",))


_number = partial(decimal, digits=3)


def _missing_lines(summary: ScoringSummary) -> list[str]:
    if not summary.n_missing:
        return []
    ways = [f"  {reason}: {way}" for reason, way in _WAYS_OUT.items() if reason in summary.missing]
    return ["", _missing_line(summary.missing), *ways]


def _missing_line(missing: Mapping[str, int]) -> str:
    """Count the items that have no reward, by reason."""
    listed = ", ".join(
        f"{shorten(why, width=120)} ({n:,})" for why, n in list(missing.items())[:_MOST_SHOWN]
    )
    more = len(missing) - _MOST_SHOWN
    return f"without a reward: {listed}" + (f" and {more} other reasons" if more > 0 else "")


def _replay_table(heading: str, parts: Sequence[ReplayPart]) -> Table:
    numbers = ("completions", "before", "sd", "after", "sd", "same order", "best changed")
    rows = [
        (
            str(part.step) if part.step is not None else shorten(part.behavior or "(none)"),
            f"{part.n:,}",
            *map(_number, (part.mean_before, part.sd_before, part.mean_after, part.sd_after)),
            *map(share, (part.ranks.same_order_share, part.ranks.best_changed_share)),
        )
        for part in parts
    ]
    return plain_table((heading, *numbers), rows, words=(heading,))


def _chosen_steps(steps: Sequence[ReplayPart]) -> Sequence[ReplayPart]:
    """Choose steps to show, evenly, the last one among them."""
    if len(steps) <= _MOST_STEPS:
        return steps
    last = len(steps) - 1
    return [steps[round(k * last / (_MOST_STEPS - 1))] for k in range(_MOST_STEPS)]


def _order(ranks: GroupRanks) -> str:
    if not ranks.n_groups:
        return "order within groups: no group has two completions that both rewards pay"
    n_tied = ranks.n_pairs - ranks.n_same - ranks.n_reversed
    pairs = f"{ranks.n_same:,} same, {ranks.n_reversed:,} reversed, {n_tied:,} tied"
    said = f"order within {ranks.n_groups:,} groups: "
    if math.isnan(ranks.same_order_share):
        said += f"neither reward tells any pair apart ({pairs})"
    else:
        said += f"{share(ranks.same_order_share)} of the pairs stay in the same order ({pairs})"
    return f"{said}; another completion is best in {share(ranks.best_changed_share)} of the groups"
