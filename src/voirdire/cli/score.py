"""`voirdire score`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from voirdire.cli import model_options as models
from voirdire.cli.fit_output import caught_warnings
from voirdire.cli.idle_options import refuse_typed
from voirdire.cli.model_judges import judge_or_own, named_judge, prepare_to_be_stopped
from voirdire.cli.model_options import Only
from voirdire.cli.options import as_mapping
from voirdire.cli.output_options import AsJson, restart_option
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.reading_options import (
    COLUMNS_OF_ITEMS,
    behavior_option,
    column_option,
    format_option,
)
from voirdire.cli.reward_options import Center, RequireCertified, Reward, RewardRubric
from voirdire.cli.scoring_output import print_scoring, say_how_to_go_on, scoring_progress
from voirdire.cli.shell import Call, UsageError, say

if TYPE_CHECKING:
    from voirdire.judging import LlmJudge
    from voirdire.judging.cascade import CascadeJudge
    from voirdire.rewards.scoring.score_summary import ScoringSummary

__all__ = ["score_command"]

READ = Group("The items", sort_key=2)
VERDICTS = Group("The verdicts", sort_key=3)
WRITTEN = Group("The rewards", sort_key=4)


def score_command(
    items: Annotated[
        str,
        Parameter(
            help="Prompts with responses: JSONL, CSV, Parquet or JSON; - reads standard input.",
            metavar="ITEMS",
        ),
    ],
    /,
    *,
    call: Call,
    reward: Reward,
    output: Annotated[
        Path,
        Parameter(
            name=("--output", "-o"),
            help="The rewards: .parquet, .jsonl or .csv; - prints JSONL.",
            metavar="FILE",
            group=WRITTEN,
        ),
    ],
    verdicts: Annotated[
        list[str],
        Parameter(
            help="Verdicts of `voirdire judge` on the items, in any order; repeatable. Default: "
            "the items are judged now.",
            metavar="FILE",
            group=VERDICTS,
        ),
    ] = [],
    only: Only = None,
    judge: Annotated[
        str | None,
        Parameter(
            help="Who judges: local, a file that `voirdire distill` made, a language model, the "
            "YAML file of a cascade, or own: the judge that the reward was fitted on, wherever "
            "that is. Default: own "
            "where that is local.",
            metavar="local|own|FILE|MODEL",
            show_default=False,
            group=VERDICTS,
        ),
    ] = None,
    other_judge: Annotated[
        bool,
        Parameter(
            name="--other-judge",
            help="Take verdicts of another judge than the weights were fitted on; certificates "
            "say nothing of that one.",
            group=VERDICTS,
        ),
    ] = False,
    asking: models.UsualAsking = models.UsualAsking(),
    calls: models.UsualCalls = models.UsualCalls(),
    store: models.Store = None,
    retry_failures: models.RetryFailures = False,
    rubric: RewardRubric = None,
    require_certified: RequireCertified = False,
    center: Center = False,
    base: Annotated[
        str | None,
        Parameter(
            help="Column of the base reward, which is added. Default: base_reward, where the "
            "reward was fitted beside one.",
            metavar="COLUMN",
            show_default=False,
            group=READ,
        ),
    ] = None,
    behavior: Annotated[str | None, behavior_option("items", panel=READ)] = None,
    column: Annotated[list[str], column_option(COLUMNS_OF_ITEMS, panel=READ)] = [],
    file_format: Annotated[str | None, format_option(panel=READ)] = None,
    explain: Annotated[
        bool,
        Parameter(
            name="--explain",
            help="Add a column per feature: what it adds to the reward.",
            group=WRITTEN,
        ),
    ] = False,
    workers: Annotated[
        int,
        Parameter(
            help="Processes of a local judge; 0: one per core, at most 8, where there are more "
            "than 20,000 items.",
            group=WRITTEN,
            validator=Number(gte=0),
        ),
    ] = 0,
    restart: Annotated[bool, restart_option(panel=WRITTEN)] = False,
    as_json: AsJson = False,
) -> None:
    """Give responses their rewards: base reward plus weighted verdicts, to a file.

    An item without a reward says why; it never gets 0. A run that judges and was interrupted goes
    on where it was when the same command is given again.
    """
    if str(output) == "-" and as_json:
        msg = "`--json` must not be given with `-o -`: both print to standard output."
        raise UsageError(msg)
    listen_for_interrupts()
    settings: dict[str, Any] = {
        "verdicts": verdicts or None,
        "judge": _asked(
            call,
            named_judge(judge, only, verdicts=verdicts),
            asking=asking,
            calls=calls,
            has_verdicts=bool(verdicts),
        ),
        "store": store,
        "base": base,
        "columns": as_mapping(column, option="--column") or None,
        "format": file_format,
        "behavior": behavior,
        "explain": explain,
        "center": center,
        "other_judge": other_judge,
        "retry_failures": retry_failures,
        "restart": restart,
        "workers": workers or "auto",
    }
    if not verdicts:
        prepare_to_be_stopped(items)
    loading = {"rubric": rubric, "require_certified": require_certified}
    summary = _scored(items, output, reward=reward, loading=loading, settings=settings)
    print_scoring(summary, as_json=as_json)
    if not summary.n_scored:
        say("voirdire: no item got a reward.")
        raise SystemExit(1)


def _scored(
    items: str, output: Path, *, reward: Path, loading: dict[str, Any], settings: dict[str, Any]
) -> ScoringSummary:
    try:
        with caught_warnings(), scoring_progress(items) as tell:
            from voirdire.rewards.model_file import load_reward
            from voirdire.rewards.scoring.score_file import score_file

            model = load_reward(reward, **loading)
            return score_file(items, output, reward=model, progress=tell, **settings)
    except KeyboardInterrupt:
        if settings["verdicts"] is None:
            say_how_to_go_on(output, source=items)
        raise


def _asked(
    call: Call,
    judge: str | None,
    *,
    asking: models.UsualAsking,
    calls: models.UsualCalls,
    has_verdicts: bool,
) -> LlmJudge | CascadeJudge | str | None:
    """Make the judge that is named; with verdicts its name is only looked up among them."""
    if not has_verdicts:
        return judge_or_own(call, judge, asking=asking, calls=calls)
    idle = (*models.USUAL_OPTIONS, *models.OF_REPLIES)
    refuse_typed(call, idle, why="verdicts are not asked for again")
    return judge
