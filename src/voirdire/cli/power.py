"""`voirdire power`."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any

from cyclopts import Parameter

from voirdire._messages import shorten
from voirdire._types import AlignmentName
from voirdire.cli import options as typed
from voirdire.cli.calls import list_typed, refuse, require, say
from voirdire.cli.printing import Shown, progress, start_reading
from voirdire.cli.study_files import ReadingOptions, check_streams, read_files
from voirdire.io import Reading
from voirdire.studies import TestPlan

_OF_PLAN = ("epsilon", "epsilon_mode", "false_discovery_rate", "min_items", "seed")
_OF_PILOT = ("only", "question", "alignment", *(row.name for row in fields(Reading)))
_EPSILON = "Cost-benefit margin in [0, 1); repeatable. Default .1, .15 and .2."


@typed.group_of("The test", 3, only=_OF_PLAN)
class PowerOptions(TestPlan):
    """The plan of the test, as far as it matters here."""

    epsilon: Annotated[typed.Numbers, Parameter(help=_EPSILON, show_default=False)]
    seed: Annotated[int, Parameter(help="Of the simulation.")]


def power_command(
    *,
    human_noise: float | None = None,
    judge_noise: float | None = None,
    n_categories: int | None = None,
    prevalences: Annotated[list[float], Parameter(name="--prevalence", metavar="SHARE")] = [],
    humans: typed.Sources = [],
    judges: typed.Sources = [],
    only: str | None = None,
    question: str | None = None,
    alignment: AlignmentName | None = None,
    n_items: typed.Sizes = [],
    n_annotators: Annotated[list[int], Parameter(metavar="NUMBER")] = [],
    wanted_power: Annotated[float, Parameter(name="--power")] = 0.8,
    n_simulations: int = 1_000,
    reading: ReadingOptions = ReadingOptions(),
    plan: PowerOptions = PowerOptions(),
    shown: Shown = Shown(),
) -> None:
    """Plan a study: how many items and annotators until a judge probably passes.

    Parameters
    ----------
    human_noise
        Probability in [0, 1] that an annotator's label is a blind guess: .1, .3, .5 stand for a
        kappa of .81, .49, .25 between annotators.
    judge_noise
        The same for the judge's label.
    n_categories
        Number of labels. Default 2.
    prevalences
        Share of a label; repeatable, once for each label. Default: all equal.
    humans
        Annotations of a pilot study, as `voirdire examine` reads them.
    judges
        Judge labels of the pilot.
    only
        Which judge of the pilot, where there are several.
    question
        Which question of the pilot, where there are several.
    alignment
        How close two labels of the pilot are; by default neg_rmse for a scale, else accuracy.
    n_items
        Numbers of items to look at, as 30,50,100; repeatable. Default: from 30 to 400.
    n_annotators
        Number of annotators to look at; repeatable. Default: 3, or the pilot's.
    wanted_power
        The power that is wanted.
    n_simulations
        Studies to simulate.
    """
    shown.check()
    check_streams(*humans, *judges)
    asked: dict[str, Any] = {name: getattr(plan, name) for name in _OF_PLAN if name in list_typed()}
    asked |= {"wanted_power": wanted_power, "n_simulations": n_simulations}
    asked |= {"n_items": [size for sizes in n_items for size in sizes]} if n_items else {}
    asked |= {"n_annotators": n_annotators} if n_annotators else {}
    assumed: dict[str, Any] = {
        "human_noise": human_noise,
        "judge_noise": judge_noise,
        "n_categories": n_categories,
        "prevalences": prevalences or None,
    }
    judges = judges or (humans if reading.judge_columns else [])
    if not (humans or judges):
        refuse(_OF_PILOT, why="there is no pilot. Give `--humans` and `--judges` too")
        rule = "give `--human-noise` and `--judge-noise`, or a pilot: `--humans`, `--judges`."
        require(human_noise is not None and judge_noise is not None, rule)
        is_fitting = not prevalences or n_categories in (None, len(prevalences))
        rule = f"`--prevalence` must be given once for each of {n_categories} labels"
        require(is_fitting, f"{rule}, got {len(prevalences)}.")
        from voirdire.stats.power_analysis import power

        with progress("simulating"):
            result = power(**{name: x for name, x in assumed.items() if x is not None}, **asked)
    else:
        require(humans and judges, "a pilot needs both `--humans` and `--judges`.")
        refuse(assumed, why="noise, categories and prevalences come from the pilot")
        start_reading()
        from voirdire.studies.pilot import power_from_pilot

        alignments = [] if alignment is None else [alignment]
        with progress("reading"):
            study = read_files(
                humans,
                judges,
                reading=reading,
                alignments=alignments,
                questions=[question] if question else [],
                only=[only] if only else [],
            )
        say(study.understood())
        names = ", ".join(repr(shorten(name)) for name in study.judges.raters)
        rule = f"`--only` must name one of {names}: a pilot is of one judge."
        require(only or len(study.judges.raters) == 1, rule)
        with progress("simulating"):
            result = power_from_pilot(
                study.humans,
                study.judges,
                judge=only,
                question=question,
                alignment=alignment,
                labels=reading.labels,
                clustered=reading.cluster is not None,
                **asked,
            )
    shown.show(result)
