"""`voirdire score`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from voirdire.cli.fit_output import caught_warnings
from voirdire.cli.model_judges import (
    OF_REPLIES,
    USUAL,
    Only,
    RetryFailures,
    Store,
    UsualAskingOptions,
    judge_or_own,
    named_judge,
    prepare_to_be_stopped,
    refuse_typed,
)
from voirdire.cli.options import (
    AsJson,
    Base,
    Behavior,
    Center,
    Columns,
    Files,
    Format,
    OtherJudge,
    RequireCertified,
    Restart,
    RewardFile,
    RewardRubric,
    Workers,
)
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.scoring_output import print_scoring, say_how_to_go_on, scoring_progress
from voirdire.cli.shell import Call, UsageError, say
from voirdire.judging import Asking

if TYPE_CHECKING:
    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.rewards.scoring.score_summary import ScoringSummary

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
    judge: Annotated[
        str | None, Parameter(metavar="local|own|FILE|MODEL", allow_repeating=False)
    ] = None,
    other_judge: OtherJudge = False,
    asking: UsualAskingOptions = Asking(),
    store: Store = None,
    retry_failures: RetryFailures = False,
    rubric: RewardRubric = None,
    require_certified: RequireCertified = False,
    center: Center = False,
    base: Base = None,
    behavior: Behavior = None,
    columns: Columns = None,
    format: Format = None,
    explain: bool = False,
    workers: Workers = 0,
    restart: Restart = False,
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
    base
        Column of the base reward, which is added. Default: base_reward, where the reward was
        fitted beside one.
    columns
        Your name for a column, as OURS=YOURS (id, prompt, response, messages, chosen, rejected,
        behavior, group, cluster); repeatable.
    explain
        Add a column per feature: what it adds to the reward.
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
            has_verdicts=bool(verdicts),
        ),
        "store": store,
        "base": base,
        "columns": columns,
        "format": format,
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
            from voirdire.rewards.file_scoring import score_file
            from voirdire.rewards.model_file import load_reward

            model = load_reward(reward, **loading)
            return score_file(items, output, reward=model, progress=tell, **settings)
    except KeyboardInterrupt:
        if settings["verdicts"] is None:
            say_how_to_go_on(output, source=items)
        raise


def _asked(
    call: Call, judge: str | None, *, asking: Asking, has_verdicts: bool
) -> JudgeLike | None:
    """Make the judge that is named; with verdicts its name is only looked up among them."""
    if not has_verdicts:
        return judge_or_own(call, judge, asking)
    refuse_typed(call, (*USUAL, *OF_REPLIES), why="verdicts are not asked for again")
    return judge
