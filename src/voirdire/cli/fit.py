"""`voirdire fit`."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from voirdire import reporting, rewards
from voirdire._messages import shorten
from voirdire.cli import options as typed
from voirdire.cli import printing
from voirdire.cli.calls import UsageError, list_typed, refuse, require
from voirdire.cli.models import UsualOptions, choose_name, make_judge_or_own
from voirdire.cli.progress import running
from voirdire.cli.written_files import check_written
from voirdire.rewards.fitting.settings import FitSettings
from voirdire.rewards.settings import ComparisonSettings


@typed.group_of()
class ComparisonOptions(ComparisonSettings):
    """How comparisons are read and judged."""


@typed.group_of("How it is fitted", 5, without=("use_base",))
class FittingOptions(FitSettings):
    """How a reward is fitted."""


def fit_command(
    comparisons: typed.Comparisons = None,
    /,
    *,
    output: typed.Output = None,
    rubric: typed.RubricName = "safety",
    reading: ComparisonOptions = ComparisonOptions(),
    no_base: bool = False,
    verdicts: typed.Sources = [],
    only: typed.Only = None,
    judge: typed.OptionalJudge = None,
    asking: UsualOptions = UsualOptions(),
    weights: typed.Source = None,
    criteria: bool = False,
    negative: rewards.Negative | None = None,
    must: typed.Must = None,
    clip: bool = False,
    fitting: FittingOptions = FittingOptions(),
    certificates: Annotated[list[Path], Parameter(name="--certificate", metavar="FILE")] = [],
    require_certified: typed.RequireCertified = False,
    name: str | None = None,
    printed: printing.Printed = printing.Printed(),
) -> None:
    """Fit the weights of a reward to comparisons of completions.

    One weight per proposition and completion class of a behavior, from completions of the same
    prompt of which one is better. The file holds everything that `voirdire score` needs.

    Parameters
    ----------
    comparisons
        Completions with labels, pairs (prompt, chosen, rejected) or ranked lists: JSONL, Parquet,
        CSV, or a folder; - reads standard input.
    output
        The reward, a .json file.
    no_base
        Leave base rewards out.
    verdicts
        Verdicts of `voirdire judge` on the completions; repeatable. Default: they are judged now.
    judge
        Who judges: local, a file that `voirdire distill` made, a language model, or the YAML file
        of a cascade or a jury. Default: local.
    weights
        Take these weights, in JSON or YAML as behavior: {feature: number}, instead of fitting any.
        No COMPARISONS.
    criteria
        Pay the criteria that each row of COMPARISONS brings, once their signs are settled; a row
        needs no response, and nothing is fitted. Needs --judge with a language model.
    negative
        With --criteria: what negative points mean. Default: met_is_bad, where no such criterion
        says what a response avoids.
    clip
        With --criteria: clip the score of each item to 0 and 1.
    certificates
        Certificate of an examination of the judge; repeatable.
    name
        What scores call the reward. Default: after the file.
    """
    judge = choose_name(judge, only, verdicts=verdicts)
    if output is None:
        msg = "`--output` must name the file of the reward: -o reward.json."
        raise UsageError(msg)
    check_written({"reward": output}, option="--output")
    about: dict[str, Any] = {"rubric": rubric, "name": name or output.stem}
    require(criteria or not (negative or must or clip), "`--negative`, `--must` and `--clip` go "
            "with `--criteria`.")  # fmt: skip
    if criteria:
        require(comparisons is not None, "`COMPARISONS` must be a file of rows with criteria.")
        require(judge is not None, "`--judge` must name the language model that judges criteria.")
        kept = ("comparisons", "criteria", "negative", "must", "clip", "output", "judge", "name",
                "certificates", "columns", "format", "as_json", "as_csv")  # fmt: skip
        used = {*vars(asking), *kept}
        idle = [field for field in list_typed() if field not in used]
        refuse(idle, why="`--criteria` are paid, and nothing is fitted")
        printing.start_reading()
        made: Any = make_judge_or_own(judge, asking)
        about = {"negative": negative, "must": must, "clip": clip, "name": about["name"]}
        model = rewards.reward_of_criteria(
            str(comparisons),
            judge=made,
            certificates=certificates,
            reading=reading.reading(),
            **about,
        )
        content = {"reward": about | {"content_hash": model.content_hash}}
        tables: list[Any] = [f"{output}: written; it pays criteria\n"]
    elif weights is None:
        rule = "`--base` and `--no-base` must not both be given."
        require(reading.base is None or not no_base, rule)
        rule = "`COMPARISONS` must be a file of completions. Name one, or give `--weights`."
        require(comparisons is not None, rule)
        printing.start_reading()
        from voirdire.judging.outputs import STORE_NAME

        made = make_judge_or_own(
            judge or (None if verdicts else "local"), asking, verdicts=verdicts
        )
        keeps = not isinstance(made, str | None)
        if keeps:
            reading = replace(reading, store=reading.store or output.resolve().parent / STORE_NAME)
        use_base = False if no_base else True if reading.base is not None else None
        with running(str(comparisons), store=reading.store, keeps=keeps) as lines:
            fit = rewards.fit_reward(
                comparisons,
                reading=reading,
                judge=made if verdicts or judge else None,
                verdicts=verdicts or None,
                settings=replace(fitting, use_base=use_base),
                certificates=certificates,
                require_certified=require_certified,
                progress=lambda done, total: lines.tell("fitting", done, total),
                **about,
            )

        model, content = fit.model, fit.as_dict()
        names = ", ".join(shorten(row.behavior, width=40) for row in fit.behaviors)
        tables = [reporting.ResultTables(fit), f"{output}: weights of {names}\n"]
        printing.say_drops(fit.dropped, output="--json")
        printing.say_notes(fit.notes)
    else:
        also = ("rubric", "output", "weights", "orientation", "judge", "name", "as_json", "as_csv")
        idle = [field for field in list_typed() if field not in also]
        refuse(idle, why="`--weights` are given, and nothing is fitted")
        about |= {"orientation": fitting.orientation, "judge": judge or "local"}
        model = rewards.reward_of_weights(Path(weights), **about)
        given = {name: dict(row.weights) for name, row in model.behaviors.items()}
        about = {"name": model.name, "content_hash": model.content_hash, "weights": given}
        content, tables = {"reward": about}, [reporting.ResultTables(model), f"{output}: written\n"]
    model.save(output)
    # the judge or verdicts that it takes where it asks for them
    whose = {"local": "", None: " --verdicts VERDICTS"}.get(model.judge.made_by.get("judge"))
    taken = f"--reward {shlex.quote(str(output))}{' --judge own' if whose is None else whose}"
    if weights is None and not criteria:
        other = f"  voirdire examine-reward OTHER_COMPARISONS {taken} --report reward.html"
        tables.append(other)
    tables.append(f"  voirdire score ITEMS {taken} -o rewards.jsonl")
    rows = "behaviors.weights" if weights is None and not criteria else None
    printed.print({"output": str(output), **content}, *tables, rows=rows)
