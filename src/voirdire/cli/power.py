"""`voirdire power`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Group, Parameter

from voirdire._types import AlignmentName
from voirdire.cli.option_groups import Numbers, option_group
from voirdire.cli.options import AsJson, Files
from voirdire.cli.printing import print_tables, print_text, progress
from voirdire.cli.shell import Call, UsageError, say
from voirdire.cli.study_files import ReadingOptions, check_streams, declare_kind, read_files
from voirdire.cli.written_files import Page, check_written, write_picture
from voirdire.io import Reading
from voirdire.studies import TestPlan

_OF_PLAN = ("epsilon", "epsilon_mode", "false_discovery_rate", "min_items", "seed")

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.stats.power_analysis import PowerResult

    PlanOptions: TypeAlias = TestPlan
else:
    PlanOptions = option_group(
        TestPlan,
        panel=Group("The test", sort_key=3),
        only=_OF_PLAN,
        epsilon=Annotated[
            Numbers,
            Parameter(
                help="Cost-benefit margin in [0, 1); repeatable. Default .1, .15 and .2.",
                show_default=False,
            ),
        ],
        seed=Annotated[int, Parameter(help="Of the simulation.")],
    )

__all__ = ["power_command"]

_OF_PILOT = ("only", "question", "alignment", *(row.name for row in fields(Reading)))


def power_command(
    *,
    call: Call,
    human_noise: float | None = None,
    judge_noise: float | None = None,
    n_categories: int | None = None,
    prevalences: Annotated[list[float], Parameter(name="--prevalence", metavar="SHARE")] = [],
    humans: Files = [],
    judges: Files = [],
    only: str | None = None,
    question: str | None = None,
    alignment: AlignmentName = "accuracy",
    n_items: Annotated[list[str], Parameter(metavar="SIZES")] = [],
    n_annotators: Annotated[list[int], Parameter(metavar="NUMBER")] = [],
    wanted_power: Annotated[float, Parameter(name="--power")] = 0.8,
    n_simulations: int = 1_000,
    reading: ReadingOptions = Reading(),
    plan: PlanOptions = TestPlan(),
    plot: Path | None = None,
    page: Page = Page(),
    as_json: AsJson = False,
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
        Share of a label; repeatable, once for each label. Default: drawn anew for every study.
    humans
        Annotations of a pilot study, as `voirdire examine` reads them.
    judges
        Judge labels of the pilot.
    only
        Which judge of the pilot, where there are several.
    question
        Which question of the pilot, where there are several.
    alignment
        How close two labels of the pilot are.
    n_items
        Numbers of items to look at, as 30,50,100; repeatable. Default: from 30 to 400.
    n_annotators
        Number of annotators to look at; repeatable. Default: 3, or the pilot's.
    wanted_power
        The power that is wanted.
    n_simulations
        Studies to simulate.
    plot
        Draw the power curves into this file (.svg, .png, .pdf).
    """
    check_written(plot=plot, report=page.report)
    asked: dict[str, Any] = {
        **{name: getattr(plan, name) for name in _OF_PLAN if name in call.options},
        "wanted_power": wanted_power,
        "n_simulations": n_simulations,
    }
    asked |= {"n_items": sizes} if (sizes := _read_sizes(n_items)) else {}
    asked |= {"n_annotators": n_annotators} if n_annotators else {}
    assumed: dict[str, Any] = {
        "human_noise": human_noise,
        "judge_noise": judge_noise,
        "n_categories": n_categories,
        "prevalences": prevalences or None,
    }
    _check_sources(call, humans, judges, assumed)
    if not humans:
        from voirdire.stats.power_analysis import power

        with progress("simulating"):
            result = power(**{name: x for name, x in assumed.items() if x is not None}, **asked)
    else:
        asked |= {"judge": only, "question": question, "alignment": alignment}
        result = _simulate_pilot(humans, judges, declare_kind(reading, [alignment]), asked)
    if plot is not None:
        write_picture(plot, result)
    page.write(result)
    if as_json:
        from voirdire.reporting import power_to_json

        print_text(power_to_json(result) + "\n")
        return
    from voirdire.reporting.result_tables import ResultTables

    print_tables(ResultTables(result))


def _check_sources(
    call: Call, humans: list[str], judges: list[str], assumed: dict[str, Any]
) -> None:
    """Refuse half a pilot, assumptions beside one, and options of a pilot without one."""
    check_streams(*humans, *judges)
    shares, number = assumed["prevalences"], assumed["n_categories"]
    if not (humans or judges):
        call.refuse(_OF_PILOT, why="there is no pilot. Give `--humans` and `--judges` too")
        if assumed["human_noise"] is None or assumed["judge_noise"] is None:
            msg = "give `--human-noise` and `--judge-noise`, or a pilot: `--humans`, `--judges`."
        elif shares is not None and number is not None and len(shares) != number:
            msg = (
                f"`--prevalence` must be given once for each of {number} labels, got {len(shares)}."
            )
        else:
            return
    elif not humans or not judges:
        msg = "a pilot needs both `--humans` and `--judges`."
    elif any(value is not None for value in assumed.values()):
        msg = "noise, categories and prevalences come from the pilot: leave their options out."
    else:
        return
    raise UsageError(msg)


def _simulate_pilot(
    humans: list[str], judges: list[str], reading: Reading, asked: dict[str, Any]
) -> PowerResult:
    with progress("reading"):
        from voirdire.studies.pilot import power_from_pilot

        only, questions = (
            [] if asked[name] is None else [asked[name]] for name in ("judge", "question")
        )
        study = read_files(humans, judges, reading=reading, questions=questions, only=only)
    say(study.understood())
    with progress("simulating"):
        return power_from_pilot(
            study.humans,
            study.judges,
            labels=reading.labels,
            clustered=reading.cluster is not None,
            **asked,
        )


def _read_sizes(words: Sequence[str]) -> list[int]:
    """Read sizes of study: `50`, or `30,50,100`."""
    try:
        return [int(number) for word in words for number in word.split(",")]
    except ValueError:
        msg = f"`--items` must be numbers, as 30,50,100, got {' '.join(words)!r}."
        raise UsageError(msg) from None
