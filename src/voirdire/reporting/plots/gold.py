"""Draw results on gold labels, rates and stated probabilities, and the shifts under probes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from voirdire._validation import shorten
from voirdire.reporting.plots.dots import (
    REFERENCE,
    DotRow,
    draw_dots,
    make_dot_row,
    make_heading_rows,
)
from voirdire.reporting.plots.frame import (
    draw_chart,
    make_interval_key,
    make_square_panels,
    measure_axes,
    set_scale,
    style_area,
    style_mark,
)
from voirdire.reporting.plots.results import require
from voirdire.reporting.plots.style import LIGHT
from voirdire.reporting.plots.words import make_distinct_labels, shorten_label
from voirdire.studies import (
    Examination,
    GoldExamination,
    GoldResult,
    ProbeReport,
    QuestionRate,
    RateReport,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.frame import Frame, Key
    from voirdire.reporting.plots.results import Choice
    from voirdire.reporting.plots.words import Words
    from voirdire.stats import CalibrationResult
    from voirdire.studies import ProbeFinding

__all__ = ["draw_gold", "draw_probes", "draw_rates", "draw_reliability"]

_MOST_GROUPS = 20
_BOOLEAN = ("sensitivity", "specificity")

Row = TypeVar("Row", GoldResult, QuestionRate)


def _choose_rows(rows: Sequence[Row], choice: Choice) -> list[Row]:
    return [
        row
        for row in rows
        if choice.question in (None, row.question) and choice.has_judge(row.judge)
    ]


def _name_rows(rows: Sequence[Row], *, width: int = 60) -> list[str]:
    """Name results by what differs between them: question, judge or both."""
    if len({row.judge for row in rows}) == 1:
        return make_distinct_labels((row.question for row in rows), width=width)
    if len({row.question for row in rows}) == 1:
        return make_distinct_labels((row.judge for row in rows), width=width)
    half = width // 2 - 1
    return [
        f"{shorten_label(row.question, width=half)} · {shorten_label(row.judge, width=half)}"
        for row in rows
    ]


# Gold labels and rates ------------------------------------------------------------------------


def draw_gold(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw how often judges are right, in a group per question and judge."""
    results = _choose_rows(result.results, choice) if isinstance(result, GoldExamination) else []
    require(results, f"`kind` 'gold' needs what `examine_gold` returns, got {_describe(result)}.")
    say, rows = frame.say, []
    for row, text in _name_groups(results, frame):
        classification = row.classification
        is_boolean = all(name in classification.figures for name in _BOOLEAN)
        rows += make_heading_rows(text, frame)
        for name in ("accuracy", *(_BOOLEAN if is_boolean else ("balanced_accuracy",))):
            more: dict[str, Any] = {"reference": classification.always.get(name, math.nan),
                "colour": LIGHT["series-1" if name == "accuracy" else "series-8"]}  # fmt: skip
            rows.append(
                make_dot_row(classification.figures[name], "estimate", label=say(name), **more)
            )
    level = results[0].classification.confidence_level
    return draw_dots(
        frame,
        rows,
        heading=_write_heading(say("gold_title"), results, frame),
        alt=say("alt_gold", n=len(results)),
        x_title=say("share_right"),
        limits=(0.0, 1.0),
        bounds=(0.0, 1.0),
        key=[(say("always_one"), REFERENCE), *make_interval_key(level, say)],
    )


_RATES = {"rate": ("passed", "series-1"), "human": ("passed", "series-8"),
          "naive": ("failed", "muted")}  # fmt: skip


def draw_rates(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw how often something holds: corrected, from labels alone, and by raw verdicts."""
    results = _choose_rows(result.results, choice) if isinstance(result, RateReport) else []
    require(results, f"`kind` 'rates' needs what `rate` returns, got {_describe(result)}.")
    say, rows = frame.say, list[DotRow]()
    for row, text in _name_groups(results, frame):
        groups = {f"{text}: {shorten_label(name, width=20)}": group
                  for name, group in row.groups.items()}  # fmt: skip
        for heading, rates in {text: row.result, **groups}.items():
            rows += make_heading_rows(heading, frame)
            for name, (outcome, role) in _RATES.items():
                share = getattr(rates, name)
                number = "–" if math.isnan(share.estimate) else f"{share.estimate:.1%}"
                more = {"number": number, "outcome": outcome, "colour": LIGHT[role]}
                rows.append(make_dot_row(share, "estimate", label=say(f"rate_{name}"), **more))
    return draw_dots(
        frame,
        rows,
        heading=_write_heading(say("rates_title"), results, frame),
        alt=say("alt_rates", n=len(results)),
        x_title=say("share_true"),
        limits=(0.0, math.nan),
        bounds=(0.0, 1.0),
        key=[
            (say("report_this"), style_mark("passed", LIGHT["series-1"])),
            (say("report_not"), style_mark("failed", LIGHT["muted"])),
            *make_interval_key(results[0].result.confidence_level, say),
        ],
    )


def _name_groups(rows: Sequence[Row], frame: Frame) -> list[tuple[Row, str]]:
    shown = rows[:_MOST_GROUPS]
    return list(zip(shown, _name_rows(shown, width=36 if frame.is_narrow else 60), strict=True))


def _write_heading(text: str, rows: Sequence[Row], frame: Frame) -> str:
    """Add the name that all results share, and how many of them are shown."""
    for names in ({row.question for row in rows}, {row.judge for row in rows}):
        if len(names) == 1:
            text = frame.say("titled", title=text, name=shorten_label(names.pop()))
    return frame.say.add_count(text, "n_of", n=min(len(rows), _MOST_GROUPS), total=len(rows))


def _describe(result: Any) -> str:
    return "none such" if isinstance(result, GoldExamination | RateReport) else shorten(result)


# Stated probabilities -------------------------------------------------------------------------

_MOST_PANELS = 12
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def draw_reliability(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw how often stated probabilities come true, the least calibrated judges first."""
    say, results = frame.say, list[GoldResult]()
    if isinstance(result, Examination):
        results = [row for each in result.questions for row in each.against_majority]
    elif isinstance(result, GoldExamination):
        results = [*result.results]
    pairs = [(row, row.calibration) for row in _choose_rows(results, choice) if row.calibration]
    require(
        pairs,
        "`kind` 'reliability' needs probabilities of a judge beside labels, got none. Draw what "
        "`examine_gold` or `examine` returns for judges that state probabilities of boolean "
        "questions.",
    )
    pairs.sort(key=lambda pair: -pair[1].calibration_error)
    shown = pairs[:_MOST_PANELS]
    names = _name_rows([row for row, _ in shown])
    squares = [
        (name, f"ECE {say.two_digits(calibration.calibration_error)}", _draw_bins(calibration, say))
        for (_, calibration), name in zip(shown, names, strict=True)
    ]
    panels, n_columns = make_square_panels(squares, frame)
    axes: dict[str, Any] = {"x_title": say("stated"), "y_title": say("came_true")}
    blue = LIGHT["series-1"]
    key: Key = [
        (say("one_tenth"), style_mark("passed", blue, size=7)),
        *make_interval_key(pairs[0][1].confidence_level, say, colour=blue),
        (say("comes_true"), {"color": LIGHT["ink"], "linewidth": 1.2}),
    ]
    heading = say("reliability_title")
    if frame.ax is None:
        heading = say.add_count(heading, "farthest_of", n=len(shown), total=len(pairs))
        key.insert(0, (say("across_up", **axes), {}))
    else:
        heading, panels = squares[0][0], [replace(panels[0], **axes)]
    return draw_chart(
        frame,
        heading=heading,
        alt=say("alt_reliability", n=len(shown)),
        panels=panels,
        key=key,
        n_columns=n_columns,
    )


def _draw_bins(calibration: CalibrationResult, say: Words) -> Callable[[Axes], None]:
    names, blue = ("probability", "share", "low", "high"), LIGHT["series-1"]
    stated, shares, lows, highs = (
        [getattr(each, name) for each in calibration.bins] for name in names
    )

    def draw(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=LIGHT["ink"], linewidth=1.2, zorder=1.5, gid="diagonal")
        axes.vlines(stated, lows, highs, color=blue, linewidth=2, zorder=3, gid="intervals")
        axes.plot(stated, shares, zorder=4, gid="shares", **style_mark("passed", blue, size=7))
        ticks = _TICKS[:: 1 if measure_axes(axes)[0] > 160 else 2]
        for axis in (axes.xaxis, axes.yaxis):
            set_scale(axis, 0, 1, say, pad=0.03, ticks=ticks)

    return draw


# Probes ---------------------------------------------------------------------------------------

_FOUND = {True: ("bias_found", "passed", LIGHT["fail"]),
          False: ("bias_not_found", "failed", LIGHT["muted"])}  # fmt: skip


def draw_probes(report: Any, frame: Frame, _choice: Choice) -> Figure:
    """Draw the largest shift under each probe; those that found a bias are in colour."""
    is_report = isinstance(report, ProbeReport)
    got = "none" if is_report else type(report).__name__
    rule = "`result` must be what `probe_judge` returns, with at least one probe"
    require(is_report and report.probes, f"{rule}, got {got}.")
    say = frame.say
    floor = report.stability[0].mean_difference if report.stability else math.nan
    key: Key = [
        (say(word), style_mark(mark, colour))
        for is_found, (word, mark, colour) in _FOUND.items()
        if any(row.is_found is is_found for row in report.probes)
    ]
    if floor > 0:
        key.append((say("noise_floor"), style_area("region-1")))
    return draw_dots(
        frame,
        _make_probe_rows(report.probes),
        heading=say("probes_title", judge=shorten_label(report.judge)),
        alt=say("alt_probes", n=len(report.probes), n_found=len(report.found)),
        x_title=say("largest_shift"),
        line=0.0,
        band=(-floor, floor),
        key=key,
    )


def _make_probe_rows(probes: Sequence[ProbeFinding]) -> list[DotRow]:
    """Make one row per probe, named by its change and its question, with families apart."""
    questions = [probe.main_question for probe in probes]
    names = make_distinct_labels(
        probe.probe if question is None else f"{probe.probe}: {question.question}"
        for probe, question in zip(probes, questions, strict=True)
    )
    families, rows = [probe.family for probe in probes], []
    for place, (probe, question) in enumerate(zip(probes, questions, strict=True)):
        shift = None if question is None else question.change.shift
        _, outcome, colour = _FOUND[probe.is_found]
        is_first = place > 0 and families[place] != families[place - 1]
        look: dict[str, Any] = {"outcome": outcome, "colour": colour, "starts_group": is_first}
        rows.append(make_dot_row(shift, "estimate", label=names[place], **look))
    return rows
