"""`voirdire score`."""

from __future__ import annotations

import math
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from voirdire._validation import shorten
from voirdire.cli.fit_output import caught_warnings, say_notes
from voirdire.cli.judging_output import call_lines, say_drops
from voirdire.cli.judging_progress import estimated_rows, progress_lines, said_of
from voirdire.cli.model_judges import (
    OF_REPLIES,
    USUAL,
    Only,
    ScoringOptions,
    UsualAskingOptions,
    judge_or_own,
    named_judge,
    prepare_to_be_stopped,
    refuse_typed,
)
from voirdire.cli.options import (
    AsJson,
    Files,
    RequireCertified,
    RewardFile,
    RewardRubric,
    Workers,
)
from voirdire.cli.printing import listen_for_interrupts, plain_table, print_json, print_tables
from voirdire.cli.shell import Call, UsageError, say
from voirdire.judging import Asking
from voirdire.rewards.scoring.settings import ScoringSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.table import Table

    from voirdire.rewards.scoring.score_summary import ScoringProgress, ScoringSummary

__all__ = ["missing_line", "score_command"]

_MOST_SHOWN = 5
_WAYS_OUT = {
    "no base reward": "this reward was fitted beside one: --base names the column or file",
    "no behavior": "--behavior names it for items that have none",
    "no verdict": "were these items judged? Verdicts belong to an item by its id, those of the RBR "
    "authors' files by its texts",
}


def score_command(
    items: Annotated[str, Parameter(metavar="ITEMS")],
    /,
    *,
    call: Call,
    reward: RewardFile,
    output: Annotated[Path, Parameter(name=("--output", "-o"), metavar="FILE")],
    verdicts: Files = [],
    only: Only = None,
    judge: Annotated[
        str | None, Parameter(metavar="local|own|FILE|MODEL", allow_repeating=False)
    ] = None,
    asking: UsualAskingOptions = Asking(),
    rubric: RewardRubric = None,
    require_certified: RequireCertified = False,
    settings: ScoringOptions = ScoringSettings(),
    workers: Workers = 0,
    as_json: AsJson = False,
) -> None:
    """Give responses their rewards: base reward plus weighted verdicts, to a file.

    An item without a reward says why; it never gets 0. A run that judges and was interrupted goes
    on where it was when the same command is given again.

    Parameters
    ----------
    items
        Prompts with responses: JSONL, CSV, Parquet or JSON; - reads standard input.
    output
        The rewards: .parquet, .jsonl or .csv; - prints JSONL.
    verdicts
        Verdicts of `voirdire judge` on the items, in any order; repeatable. Default: the items are
        judged now.
    judge
        Who judges: local, a file that `voirdire distill` made, a language model, the YAML file of
        a cascade or a jury, or own: the judge that the reward was fitted on, wherever that is.
        Default: own where that is local.
    """
    if str(output) == "-" and as_json:
        msg = "`--json` must not be given with `-o -`: both print to standard output."
        raise UsageError(msg)
    listen_for_interrupts()
    judge = named_judge(judge, only, verdicts=verdicts)
    if verdicts:
        refuse_typed(call, (*USUAL, *OF_REPLIES), why="verdicts are not asked for again")
    by: dict[str, Any] = {
        "verdicts": verdicts or None,
        "judge": judge if verdicts else judge_or_own(call, judge, asking),
        "settings": replace(settings, workers=workers or "auto"),
    }
    if not verdicts:
        prepare_to_be_stopped(items)
    try:
        with caught_warnings(), _scoring_progress(items) as tell:
            from voirdire.rewards.file_scoring import score_file
            from voirdire.rewards.model_file import load_reward

            model = load_reward(reward, rubric=rubric, require_certified=require_certified)
            summary = score_file(items, output, reward=model, progress=tell, **by)
    except KeyboardInterrupt:
        if not verdicts:
            _say_how_to_go_on(output, source=items)
        raise
    _print(summary, as_json=as_json)
    if not summary.n_scored:
        say("voirdire: no item got a reward.")
        raise SystemExit(1)


@contextmanager
def _scoring_progress(source: str) -> Iterator[Callable[[ScoringProgress], None] | None]:
    """Give what `score_file` tells its progress to; nothing where nobody watches."""
    with progress_lines() as lines:
        if lines is None:
            yield None
            return
        total = estimated_rows(source)

        def tell(state: ScoringProgress) -> None:
            judging = state.judging
            done = (state if judging is None else judging).n_items + state.n_dropped
            said = f"{state.n_items:,} items"
            if judging is not None:
                words = said_of(judging, seconds=lines.seconds)
                said = f"judging: {words}"
            lines.show("scoring", said, done=done, total=total)

        yield tell


def _print(summary: ScoringSummary, *, as_json: bool) -> None:
    """Print what a run came to; on standard error where the rewards went to standard output."""
    say_drops(summary.dropped, n_dropped=summary.n_dropped, output=summary.dropped_output)
    say_notes(summary.notes)
    if as_json:
        print_json(summary.as_dict())
        return
    is_streamed = summary.output == "-"
    print_tables(
        f"{summary.n_scored:,} of {summary.n_items:,} items scored by reward "
        f"{shorten(summary.reward)!r} on rubric {shorten(summary.rubric)} "
        f"{shorten(summary.rubric_version)}, verdicts of {shorten(summary.judge)!r}"
        + (", centered" if summary.is_centered else ""),
        "",
        _table(summary),
        *_missing_lines(summary),
        *(() if summary.calls is None else call_lines(summary.calls)),
        *(() if is_streamed else ("", f"rewards: {summary.output}")),
        stream=sys.stderr if is_streamed else sys.stdout,
    )


def _say_how_to_go_on(output: Path, *, source: str) -> None:
    """Say, after an interruption, what is kept."""
    said = f"what is judged is kept in '{output}.scoring'; the same command goes on from there"
    if "-" in (source, str(output)):
        said = "a language model's replies are kept in the store"
    say(f"voirdire: {said}")


def _table(summary: ScoringSummary) -> Table:
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


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _missing_lines(summary: ScoringSummary) -> list[str]:
    if not summary.n_missing:
        return []
    ways = [f"  {reason}: {way}" for reason, way in _WAYS_OUT.items() if reason in summary.missing]
    return ["", missing_line(summary.missing), *ways]


def missing_line(missing: Mapping[str, int]) -> str:
    """Count the items that have no reward, by reason."""
    listed = ", ".join(
        f"{shorten(why, width=120)} ({n:,})" for why, n in list(missing.items())[:_MOST_SHOWN]
    )
    more = len(missing) - _MOST_SHOWN
    return f"without a reward: {listed}" + (f" and {more} other reasons" if more > 0 else "")
