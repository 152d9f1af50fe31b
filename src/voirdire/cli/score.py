"""`voirdire score`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from voirdire import reporting, rewards
from voirdire.cli import options as typed
from voirdire.cli import printing
from voirdire.cli.calls import is_folder, require, say, say_failed
from voirdire.cli.models import UsualOptions, choose_name, make_judge_or_own
from voirdire.cli.progress import running


@typed.group_of()
class ScoringOptions(rewards.ScoringSettings):
    """How items are scored."""


def score_command(
    items: typed.Items,
    /,
    *,
    output: typed.Target,
    reward: typed.OptionalReward = None,
    criteria: bool = False,
    negative: rewards.Negative | None = None,
    must: typed.Must = None,
    clip: bool = False,
    verdicts: typed.Sources = [],
    only: typed.Only = None,
    judge: typed.RewardJudge = None,
    asking: UsualOptions = UsualOptions(),
    rubric: typed.RewardRubric = None,
    certificates: Annotated[list[Path], Parameter(name="--certificate", metavar="FILE")] = [],
    require_certified: typed.RequireCertified = False,
    shard: typed.Shard = None,
    sample: typed.Sample = None,
    settings: ScoringOptions = ScoringOptions(),
    workers: typed.Workers = 0,
    printed: printing.Printed = printing.Printed(),
) -> None:
    """Give responses their rewards: base reward plus weighted verdicts, to a file.

    An item without a reward says why; it never gets 0. Replies of a language model that judges are
    kept, and never paid for twice.

    Parameters
    ----------
    items
        Prompts with responses: JSONL, CSV, Parquet or JSON, or a folder; - reads standard input.
        The folder of a training run: its completions, with its verdicts where they fit.
    output
        The rewards: .parquet, .jsonl or .csv, or a folder for those of a folder; - prints JSONL.
    verdicts
        Verdicts of `voirdire judge` on the items, in any order; repeatable. Default: the items are
        judged now.
    criteria
        In place of a reward: score by the criteria that the items bring, points of those that are
        met. The verdicts are of `voirdire judge --rubric criteria`.
    negative
        With --criteria: what negative points mean. Default: met_is_bad, where no such criterion
        says what a response avoids.
    certificates
        With --criteria and --require-certified: what `voirdire rubric check --certificate` wrote;
        only criteria pay whose judge passed on one of their tags, and failed on none; repeatable.
    clip
        With --criteria: clip the score of each item to 0 and 1, and not only their mean.
    """
    printed.check_streamed(output)
    is_run = (Path(items) / "run.json").is_file()
    require(sample is None or is_run, "`--sample` goes with the folder of a training run.")
    if criteria:
        way = "voirdire judge ITEMS --rubric criteria --judge MODEL -o verdicts.parquet"
        require(verdicts, f"`--criteria` needs `--verdicts`: {way}.")
        printing.start_reading()
        with running(items):
            scored = rewards.score_criteria(
                items, output, reading=settings.reading(criteria=True), verdicts=[*verdicts],
                judge=only, negative=negative, must=must, clip=clip, explain=settings.explain,
                certificates=certificates, require_certified=require_certified,
            )  # fmt: skip
        printed.print(scored, reporting.ResultTables(scored))
        if not scored.n_scored:
            say("voirdire: no item got a score.")
            raise SystemExit(1)
        return
    require(not certificates, "`--certificate` goes with `--criteria`: a reward has its own.")
    require(negative is None and must is None and not clip, "`--negative`, `--must` and `--clip` "
            "go with `--criteria`.")  # fmt: skip
    require(reward is not None, "`--reward` must name the reward's file; or say `--criteria`.")
    judge = choose_name(judge, only, verdicts=verdicts)
    printing.start_reading()
    from voirdire.io.rows import estimate_rows

    made: Any = make_judge_or_own(judge, asking, verdicts=verdicts)
    keeps = not verdicts and not isinstance(made, str | None)
    total = estimate_rows(items)
    with running(items, keeps=keeps) as lines:
        about: Any = {"rubric": rubric, "require_certified": require_certified}
        asked: dict[str, Any] = {
            "reward": rewards.load_reward(str(reward), **about),
            "verdicts": verdicts or None,
            "judge": made,
            "settings": replace(settings, workers=workers or "auto"),
            "progress": partial(lines.tell_judging, name="scoring", total=total),
        }
        if is_run:
            summary = rewards.score_run(items, output, sample=sample, **asked)
        elif shard is not None or is_folder(output):
            scores = rewards.score_folder(items, output, shard=shard, **asked)
        else:
            summary = rewards.score_file(items, output, **asked)
    if shard is not None or is_folder(output):
        printed.print(scores, reporting.ResultTables(scores))
        say_failed(scores.failed, what="rewards")
        return
    printing.say_notes(summary.notes)
    printed.sum_up(summary)
    if not summary.n_scored:
        say("voirdire: no item got a reward.")
        raise SystemExit(1)
