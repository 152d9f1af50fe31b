"""`voirdire score`."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from voirdire.cli.judging_progress import watch_run
from voirdire.cli.model_judges import (
    OF_REPLIES,
    USUAL,
    Only,
    ScoringOptions,
    UsualAskingOptions,
    choose_name,
    make_judge_or_own,
)
from voirdire.cli.options import (
    AsJson,
    Files,
    RequireCertified,
    RewardFile,
    RewardJudge,
    RewardRubric,
    Workers,
)
from voirdire.cli.printing import (
    keep_when_stopped,
    listen_for_interrupts,
    print_result,
    say_drops,
    say_notes,
    say_warnings,
)
from voirdire.cli.shell import Call, UsageError, say
from voirdire.judging import ModelSettings
from voirdire.rewards.settings import ScoringSettings

if TYPE_CHECKING:
    from voirdire.judging import CallCounts
    from voirdire.rewards.file_scoring import ScoringProgress

__all__ = ["score_command"]


def score_command(
    items: Annotated[str, Parameter(metavar="ITEMS")],
    /,
    *,
    call: Call,
    reward: RewardFile,
    output: Annotated[Path, Parameter(name=("--output", "-o"), metavar="FILE")],
    verdicts: Files = [],
    only: Only = None,
    judge: RewardJudge = None,
    asking: UsualAskingOptions = ModelSettings(),
    rubric: RewardRubric = None,
    require_certified: RequireCertified = False,
    settings: ScoringOptions = ScoringSettings(),
    workers: Workers = 0,
    as_json: AsJson = False,
) -> None:
    """Give responses their rewards: base reward plus weighted verdicts, to a file.

    An item without a reward says why; it never gets 0. Replies of a language model that judges are
    kept, and never paid for twice.

    Parameters
    ----------
    items
        Prompts with responses: JSONL, CSV, Parquet or JSON; - reads standard input.
    output
        The rewards: .parquet, .jsonl or .csv; - prints JSONL.
    verdicts
        Verdicts of `voirdire judge` on the items, in any order; repeatable. Default: the items are
        judged now.
    """
    from voirdire.io.rows import estimate_rows
    from voirdire.reporting.progress_text import judging_text

    if str(output) == "-" and as_json:
        msg = "`--json` must not be given with `-o -`: both print to standard output."
        raise UsageError(msg)
    listen_for_interrupts()
    judge = choose_name(judge, only, verdicts=verdicts)
    if verdicts:
        call.refuse((*USUAL, *OF_REPLIES), why="verdicts are not asked for again")
    by: dict[str, Any] = {
        "verdicts": verdicts or None,
        "judge": judge if verdicts else make_judge_or_own(call, judge, asking),
        "settings": replace(settings, workers=workers or "auto"),
    }
    keeps = not isinstance(by["judge"], str | None)
    stopping = nullcontext() if verdicts else keep_when_stopped(items, keeps=keeps)
    total = estimate_rows(items)

    def describe(state: ScoringProgress, seconds: float) -> tuple[str, float, float | None]:
        judging = state.judging
        if judging is None:
            return f"{state.n_items:,} items", state.n_items + state.n_dropped, total
        text = f"judging: {judging_text(judging, seconds=seconds)}"
        return text, judging.n_items + state.n_dropped, total

    with stopping, say_warnings(), watch_run("scoring", describe, _calls_of) as tell:
        from voirdire.rewards.file_scoring import score_file
        from voirdire.rewards.reward_file import load_reward

        model = load_reward(reward, rubric=rubric, require_certified=require_certified)
        summary = score_file(items, output, reward=model, progress=tell, **by)
    from voirdire.reporting.reward_run_tables import score_tables

    say_drops(summary.dropped, n_dropped=summary.n_dropped, output=summary.dropped_output)
    say_notes(summary.notes)
    is_streamed = summary.output == "-"
    tables = score_tables(summary)
    print_result(summary.as_dict(), *tables, as_json=as_json, is_streamed=is_streamed)
    if not summary.n_scored:
        say("voirdire: no item got a reward.")
        raise SystemExit(1)


def _calls_of(state: ScoringProgress) -> CallCounts | None:
    return None if state.judging is None else state.judging.calls
