"""`voirdire score`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voirdire.cli import model_options as models
from voirdire.cli.fit_output import caught_warnings
from voirdire.cli.idle_options import refuse_typed
from voirdire.cli.model_judges import judge_or_own, prepare_to_be_stopped
from voirdire.cli.option_groups import takes_groups
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

if TYPE_CHECKING:
    from voirdire.cli.model_options import AskingOptions, CallOptions
    from voirdire.judging import LlmJudge
    from voirdire.judging.cascade import CascadeJudge
    from voirdire.rewards.scoring.score_summary import ScoringSummary

__all__ = ["score_command"]

READ, VERDICTS, WRITTEN = "The items", "The verdicts", "The rewards"


@takes_groups
def score_command(
    context: typer.Context,
    *,
    items: Annotated[
        str,
        typer.Argument(
            help="Prompts with responses: JSONL, CSV, Parquet or JSON; - reads standard input.",
            metavar="ITEMS",
        ),
    ],
    reward: Reward,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The rewards: .parquet, .jsonl or .csv; - prints JSONL.",
            metavar="FILE",
            rich_help_panel=WRITTEN,
        ),
    ],
    verdicts: Annotated[
        list[str],
        typer.Option(
            help="Verdicts of `voirdire judge` on the items, in any order; repeatable. Default: "
            "the items are judged now.",
            metavar="FILE",
            rich_help_panel=VERDICTS,
        ),
    ] = [],  # noqa: B006  # typer copies it
    judge: Annotated[
        str | None,
        typer.Option(
            help="Who judges: local, a file that `voirdire distill` made, a language model, the "
            "YAML file of a cascade, or own: the judge that the reward was fitted on, wherever "
            "that is. With --verdicts the name of the judge whose verdicts count. Default: own "
            "where that is local.",
            metavar="local|own|FILE|MODEL",
            show_default=False,
            rich_help_panel=VERDICTS,
        ),
    ] = None,
    other_judge: Annotated[
        bool,
        typer.Option(
            "--other-judge",
            help="Take verdicts of another judge than the weights were fitted on; certificates "
            "say nothing of that one.",
            rich_help_panel=VERDICTS,
        ),
    ] = False,
    asking: models.UsualAsking,
    calls: models.UsualCalls,
    store: models.Store = None,
    retry_failures: models.RetryFailures = False,
    rubric: RewardRubric = None,
    require_certified: RequireCertified = False,
    center: Center = False,
    base: Annotated[
        str | None,
        typer.Option(
            help="Column of the base reward, which is added. Default: base_reward, where the "
            "reward was fitted beside one.",
            metavar="COLUMN",
            show_default=False,
            rich_help_panel=READ,
        ),
    ] = None,
    behavior: Annotated[str | None, behavior_option("items", panel=READ)] = None,
    column: Annotated[list[str], column_option(COLUMNS_OF_ITEMS, panel=READ)] = [],  # noqa: B006
    file_format: Annotated[str | None, format_option(panel=READ)] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Add a column per feature: what it adds to the reward.",
            rich_help_panel=WRITTEN,
        ),
    ] = False,
    workers: Annotated[
        int,
        typer.Option(
            min=0,
            help="Processes of a local judge; 0: one per core, at most 8, where there are more "
            "than 20,000 items.",
            rich_help_panel=WRITTEN,
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
        raise typer.BadParameter(msg)
    listen_for_interrupts()
    settings: dict[str, Any] = {
        "verdicts": verdicts or None,
        "judge": _asked(context, judge, asking=asking, calls=calls, has_verdicts=bool(verdicts)),
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
        typer.echo("voirdire: no item got a reward.", err=True)
        raise typer.Exit(1)


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
    context: typer.Context,
    judge: str | None,
    *,
    asking: AskingOptions,
    calls: CallOptions,
    has_verdicts: bool,
) -> LlmJudge | CascadeJudge | str | None:
    """Make the judge that is named; with verdicts its name is only looked up among them."""
    if not has_verdicts:
        return judge_or_own(context, judge, asking=asking, calls=calls)
    idle = (*models.USUAL_OPTIONS, *models.OF_REPLIES)
    refuse_typed(context, idle, why="verdicts are not asked for again")
    return judge
