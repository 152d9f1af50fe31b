"""`voirdire power`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from voirdire._types import (
    AlignmentName,
    EpsilonMode,
    Method,
    QuestionKind,
)
from voirdire.cli.item_grid import as_sizes
from voirdire.cli.label_options import kind_option, labels_option, missing_option, rater_option
from voirdire.cli.options import as_labels, as_mapping
from voirdire.cli.output_options import json_option
from voirdire.cli.printing import print_tables, print_text, progress
from voirdire.cli.shell import Call, UsageError
from voirdire.cli.study_files import Reading, read_study
from voirdire.cli.written_files import check_picture, write_bytes

if TYPE_CHECKING:
    from voirdire.stats.planning.result import PowerResult

__all__ = ["power_command"]

_PICTURES = (".svg", ".png", ".pdf")

ASSUMED = Group("Without a pilot", sort_key=1)
PILOT = Group("From a pilot", sort_key=2)
SIZES = Group("Sizes of study", sort_key=3)
TEST = Group("The test", sort_key=4)
OUTPUT = Group("Output", sort_key=9)


def power_command(
    *,
    call: Call,
    human_noise: Annotated[
        float | None,
        Parameter(
            help="Probability in [0, 1] that an annotator's label is a blind guess: .1, .3, .5 "
            "stand for a kappa of .81, .49, .25 between annotators.",
            group=ASSUMED,
        ),
    ] = None,
    judge_noise: Annotated[
        float | None,
        Parameter(help="The same for the judge's label.", group=ASSUMED),
    ] = None,
    categories: Annotated[
        int | None,
        Parameter(help="Number of labels. Default 2.", group=ASSUMED, show_default=False),
    ] = None,
    prevalence: Annotated[
        list[float],
        Parameter(
            help="Share of a label; repeatable, once for each label. Default: drawn anew for "
            "every study.",
            metavar="SHARE",
            group=ASSUMED,
        ),
    ] = [],
    humans: Annotated[
        list[str],
        Parameter(
            help="Annotations of a pilot study, as `voirdire examine` reads them.",
            metavar="FILE",
            group=PILOT,
        ),
    ] = [],
    judges: Annotated[
        list[str],
        Parameter(help="Judge labels of the pilot.", metavar="FILE", group=PILOT),
    ] = [],
    only: Annotated[
        str | None,
        Parameter(help="Which judge, where there are several.", group=PILOT),
    ] = None,
    question: Annotated[
        str | None,
        Parameter(help="Which question, where there are several.", group=PILOT),
    ] = None,
    kind: Annotated[QuestionKind | None, kind_option(panel=PILOT)] = None,
    alignment: Annotated[
        AlignmentName, Parameter(help="How close two labels are.", group=PILOT)
    ] = "accuracy",
    labels: Annotated[str | None, labels_option(panel=PILOT)] = None,
    file_format: Annotated[
        str | None,
        Parameter(
            name="--format", help="Instead of the file's ending, as in examine.", group=PILOT
        ),
    ] = None,
    column: Annotated[
        list[str],
        Parameter(
            help="Your name for a column, as OURS=YOURS; repeatable.",
            metavar="OURS=YOURS",
            group=PILOT,
        ),
    ] = [],
    rater: Annotated[list[str], rater_option(panel=PILOT)] = [],
    separator: Annotated[
        str | None,
        Parameter(help="What parts the labels of a set in one cell.", group=PILOT),
    ] = None,
    missing: Annotated[list[str], missing_option(panel=PILOT)] = [],
    threshold: Annotated[
        float | None,
        Parameter(
            help="Boolean judges given as probabilities: true from here on. Default: what verdicts "
            "of `voirdire judge` declare, else .5.",
            show_default=False,
            group=PILOT,
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        Parameter(
            help="Column of the annotations that names what an item shares its source with: "
            "whole clusters are then drawn.",
            metavar="COLUMN",
            group=PILOT,
        ),
    ] = None,
    items: Annotated[
        list[str],
        Parameter(
            help="Numbers of items to look at, as 30,50,100 or START:STOP:STEP; repeatable. "
            "Default: from 30 to 400.",
            metavar="SIZES",
            group=SIZES,
        ),
    ] = [],
    annotators: Annotated[
        list[int],
        Parameter(
            help="Number of annotators to look at; repeatable. Default: 3, or the pilot's.",
            metavar="NUMBER",
            group=SIZES,
        ),
    ] = [],
    power: Annotated[float, Parameter(help="The power that is wanted.", group=SIZES)] = 0.8,
    epsilon: Annotated[
        list[float],
        Parameter(
            help="Cost-benefit margin in [0, 1); repeatable. Default .1, .15 and .2.",
            metavar="NUMBER",
            group=TEST,
            show_default=False,
        ),
    ] = [],
    epsilon_mode: Annotated[EpsilonMode, Parameter(help="How ε enters.", group=TEST)] = "additive",
    method: Annotated[Method, Parameter(help="The t-test, or the exact test.", group=TEST)] = "t",
    false_discovery_rate: Annotated[
        float, Parameter(help="q of Benjamini-Yekutieli.", group=TEST)
    ] = 0.05,
    min_items: Annotated[
        int, Parameter(help="Fewest items of a tested annotator.", group=TEST)
    ] = 30,
    simulations: Annotated[
        int,
        Parameter(help="Studies to simulate.", group=TEST),
    ] = 1_000,
    seed: Annotated[int, Parameter(help="Of the simulation.", group=TEST)] = 0,
    plot: Annotated[
        Path | None,
        Parameter(
            help="Draw the power curves into this file (.svg, .png, .pdf).",
            metavar="FILE",
            group=OUTPUT,
        ),
    ] = None,
    as_json: Annotated[bool, json_option(panel=OUTPUT)] = False,
) -> None:
    """Plan a study: how many items and annotators until a judge probably passes."""
    if plot is not None and plot.suffix.lower() not in _PICTURES:
        msg = f"`--plot` must end in {', '.join(_PICTURES)}, got {str(plot)!r}."
        raise UsageError(msg)
    check_picture(plot)
    asked: dict[str, Any] = {
        "epsilon_mode": epsilon_mode,
        "method": method,
        "false_discovery_rate": false_discovery_rate,
        "min_items": min_items,
        "wanted_power": power,
        "n_simulations": simulations,
        "seed": seed,
    }
    chosen = {"n_items": as_sizes(items), "n_annotators": annotators, "epsilon": epsilon}
    asked |= {name: numbers for name, numbers in chosen.items() if numbers}
    assumed = {
        "human_noise": human_noise,
        "judge_noise": judge_noise,
        "n_categories": categories,
        "prevalences": prevalence or None,
    }
    if not humans and not judges:
        _check_no_pilot(call)
        result = _from_assumptions(assumed, asked)
    else:
        _check_pilot(humans, judges, assumed)
        declared = _declared_kind(kind, alignment)
        reading = Reading(
            kind=declared,
            file_format=file_format,
            columns=as_mapping(column, option="--column"),
            raters=rater,
            labels=as_labels(labels, numeric=declared == "scale"),
            separator=separator,
            missing=missing,
            threshold=threshold,
            cluster=cluster,
            questions=[question] if question is not None else [],
            streamed="-" in [*humans, *judges],
        )
        asked |= {"judge": only, "question": question, "alignment": alignment}
        result = _from_pilot(humans, judges, reading, asked)
    if plot is not None:
        _draw(result, plot)
    _print(result, as_json=as_json)


def _from_assumptions(assumed: dict[str, Any], asked: dict[str, Any]) -> PowerResult:
    from voirdire.stats.planning.assumptions import power

    if assumed["human_noise"] is None or assumed["judge_noise"] is None:
        msg = "give `--human-noise` and `--judge-noise`, or a pilot with `--humans` and `--judges`."
        raise UsageError(msg)
    shares, number = assumed["prevalences"], assumed["n_categories"]
    if shares is not None and number is not None and len(shares) != number:
        msg = f"`--prevalence` must be given once for each of {number} labels, got {len(shares)}."
        raise UsageError(msg)
    with progress("simulating"):
        return power(**{name: x for name, x in assumed.items() if x is not None}, **asked)


def _from_pilot(
    humans: list[str], judges: list[str], reading: Reading, asked: dict[str, Any]
) -> PowerResult:
    with progress("reading"):
        from voirdire.studies.pilot import power_from_pilot

        only = [] if asked["judge"] is None else [asked["judge"]]
        study = read_study(humans, judges, None, reading=reading, only=only)
    with progress("simulating"):
        return power_from_pilot(
            study.humans,
            study.judges,
            labels=reading.labels,
            clustered=reading.cluster is not None,
            **asked,
        )


def _check_no_pilot(call: Call) -> None:
    """Refuse what only a pilot's files can be read with: it would do nothing."""
    for option in call.options.values():
        if option.group == PILOT.name:
            msg = f"`{option.flag}` belongs to a pilot: give `--humans` and `--judges` too."
            raise UsageError(msg)


def _check_pilot(humans: list[str], judges: list[str], assumed: dict[str, Any]) -> None:
    if not humans or not judges:
        msg = "a pilot needs both `--humans` and `--judges`."
        raise UsageError(msg)
    if [*humans, *judges].count("-") > 1:
        msg = "standard input (-) can be read once, got it twice."
        raise UsageError(msg)
    if any(value is not None for value in assumed.values()):
        msg = "noise, categories and prevalences come from the pilot: leave their options out."
        raise UsageError(msg)


def _declared_kind(kind: QuestionKind | None, alignment: AlignmentName) -> QuestionKind:
    from voirdire.studies.examination import kind_of

    needed = kind_of(alignment)
    if kind is None or needed in ("choice", kind):
        return kind or needed
    msg = f"`--kind` must be {needed} for {alignment}, got {kind}."
    raise UsageError(msg)


def _draw(result: PowerResult, path: Path) -> None:
    """Draw the whole figure before anything is written."""
    from voirdire.reporting.power_picture import power_picture

    ending = path.suffix.lower().removeprefix(".")
    picture = power_picture(result, file_format=ending)  # type: ignore[arg-type]  # was checked
    write_bytes(path, picture)


def _print(result: PowerResult, *, as_json: bool) -> None:
    if as_json:
        from voirdire.reporting.power_json import power_to_json

        print_text(power_to_json(result) + "\n")
    else:
        from voirdire.reporting.power_tables import PowerTables

        print_tables(PowerTables(result))
