"""Draw results on gold labels, rates and stated probabilities, and the shifts under probes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
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
    set_numbers,
    style_area,
    style_mark,
)
from voirdire.reporting.plots.rows import read_field, read_list, read_number
from voirdire.reporting.plots.style import LIGHT
from voirdire.reporting.plots.words import make_distinct_labels, shorten_label

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.frame import Frame, Key
    from voirdire.reporting.plots.rows import Choice
    from voirdire.reporting.plots.words import Words
    from voirdire.studies import ProbeFinding

__all__ = [
    "draw_gold",
    "draw_probes",
    "draw_rates",
    "draw_reliability",
    "is_gold",
    "is_probing",
    "is_rates",
]

_MOST_GROUPS = 20
_BOOLEAN = ("sensitivity", "specificity")


def is_gold(result: Any) -> bool:
    """Tell whether a result is what gold labels say of judges, or its JSON."""
    found = read_list(result, "results")
    return bool(found) and read_field(found[0], "classification") is not None


def is_rates(result: Any) -> bool:
    """Tell whether a result holds rates, or is the JSON of them."""
    found = read_list(result, "results")
    return bool(found) and read_field(read_field(found[0], "result"), "naive") is not None


def _choose_rows(rows: Sequence[Any], choice: Choice) -> list[Any]:
    return [
        row
        for row in rows
        if choice.question in (None, read_field(row, "question"))
        and (choice.judges is None or read_field(row, "judge") in choice.judges)
    ]


def _name_rows(rows: Sequence[Any], *, width: int = 60) -> list[str]:
    """Name results by what differs between them: question, judge or both."""
    questions, judges = ([read_field(row, name) for row in rows] for name in ("question", "judge"))
    if len(set(judges)) == 1:
        return make_distinct_labels(questions, width=width)
    if len(set(questions)) == 1:
        return make_distinct_labels(judges, width=width)
    half = width // 2 - 1
    pairs = zip(questions, judges, strict=True)
    return [
        f"{shorten_label(question, width=half)} · {shorten_label(judge, width=half)}"
        for question, judge in pairs
    ]


# Gold labels and rates ------------------------------------------------------------------------


def draw_gold(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw how often judges are right, in a group per question and judge."""
    found = _choose_rows(read_list(result, "results"), choice) if is_gold(result) else []
    if not found:
        msg = f"`kind` 'gold' needs what `examine_gold` returns, got {_describe(result)}."
        raise InputError(msg)
    say, rows = frame.say, []
    for row, text in _name_groups(found, frame):
        measured = read_field(row, "classification")
        figures, always = read_field(measured, "figures"), read_field(measured, "always")
        is_boolean = all(name in figures for name in _BOOLEAN)
        rows += make_heading_rows(text, frame)
        for name in ("accuracy", *(_BOOLEAN if is_boolean else ("balanced_accuracy",))):
            colour = LIGHT["series-1" if name == "accuracy" else "series-8"]
            more: dict[str, Any] = {"reference": read_number(always, name), "colour": colour}
            rows.append(make_dot_row(figures[name], "estimate", label=say(name), **more))
    level = read_number(read_field(found[0], "classification"), "confidence_level")
    return draw_dots(
        frame,
        rows,
        heading=_write_heading(say("gold_title"), found, frame),
        alt=say("alt_gold", n=len(found)),
        x_title=say("share_right"),
        limits=(0.0, 1.0),
        bounds=(0.0, 1.0),
        key=[(say("always_one"), REFERENCE), *make_interval_key(level, say)],
    )


_RATES = {"rate": ("passed", "series-1"), "human": ("passed", "series-8"),
          "naive": ("failed", "muted")}  # fmt: skip


def draw_rates(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw how often something holds: corrected, from labels alone, and by raw verdicts."""
    found = _choose_rows(read_list(result, "results"), choice) if is_rates(result) else []
    if not found:
        msg = f"`kind` 'rates' needs what `rate` returns, got {_describe(result)}."
        raise InputError(msg)
    say, rows = frame.say, list[DotRow]()
    for row, text in _name_groups(found, frame):
        groups: Mapping[str, Any] = read_field(row, "groups") or {}
        for group, measured in ((None, read_field(row, "result")), *groups.items()):
            heading = text if group is None else f"{text}: {shorten_label(group, width=20)}"
            rows += make_heading_rows(heading, frame)
            for name, (outcome, role) in _RATES.items():
                share = read_number(read_field(measured, name), "estimate")
                more = {"number": "–" if math.isnan(share) else f"{share:.1%}",
                        "outcome": outcome, "colour": LIGHT[role]}  # fmt: skip
                given = read_field(measured, name)
                rows.append(make_dot_row(given, "estimate", label=say(f"rate_{name}"), **more))
    level = read_number(read_field(found[0], "result"), "confidence_level")
    return draw_dots(
        frame,
        rows,
        heading=_write_heading(say("rates_title"), found, frame),
        alt=say("alt_rates", n=len(found)),
        x_title=say("share_true"),
        limits=(0.0, math.nan),
        bounds=(0.0, 1.0),
        key=[
            (say("report_this"), style_mark("passed", LIGHT["series-1"])),
            (say("report_not"), style_mark("failed", LIGHT["muted"])),
            *make_interval_key(level, say),
        ],
    )


def _name_groups(found: Sequence[Any], frame: Frame) -> list[tuple[Any, str]]:
    shown = found[:_MOST_GROUPS]
    return list(zip(shown, _name_rows(shown, width=36 if frame.is_narrow else 60), strict=True))


def _write_heading(text: str, found: Sequence[Any], frame: Frame) -> str:
    """Add the name that all results share, and how many of them are shown."""
    for name in ("question", "judge"):
        names = {read_field(row, name) for row in found}
        if len(names) == 1:
            text = frame.say("titled", title=text, name=shorten_label(names.pop()))
    if len(found) > _MOST_GROUPS:
        part = frame.say("n_of", n=_MOST_GROUPS, total=len(found))
        text = frame.say("with_detail", title=text, detail=part)
    return text


def _describe(result: Any) -> str:
    return "none such" if is_gold(result) or is_rates(result) else shorten(result)


# Stated probabilities -------------------------------------------------------------------------

_MOST_PANELS = 12
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def draw_reliability(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw how often stated probabilities come true, the least calibrated judges first."""
    say, rows = frame.say, read_list(result, "results")
    if asked := read_list(result, "questions"):
        rows = [row for each in asked for row in read_list(each, "against_majority")]
    found = [
        row for row in _choose_rows(rows, choice) if read_field(row, "calibration") is not None
    ]
    if not found:
        msg = (
            "`kind` 'reliability' needs probabilities of a judge beside labels, got none. Draw "
            "what `examine_gold` or `examine` returns for judges that state probabilities of "
            "boolean questions."
        )
        raise InputError(msg)
    found.sort(key=lambda row: -read_number(read_field(row, "calibration"), "calibration_error"))
    heading = say("reliability_title")
    if len(found) > _MOST_PANELS and frame.ax is None:
        heading += f", {say('farthest_of', n=_MOST_PANELS, total=len(found))}"
    shown = found[:_MOST_PANELS]
    tables = [read_field(row, "calibration") for row in shown]
    squares = []
    for measured, name in zip(tables, _name_rows(shown), strict=True):
        note = f"ECE {say.two_digits(read_number(measured, 'calibration_error'))}"
        squares.append((name, note, _make_reliability_drawing(measured, say)))
    panels, n_columns = make_square_panels(squares, frame)
    axes: dict[str, Any] = {"x_title": say("stated"), "y_title": say("came_true")}
    level = read_number(tables[0], "confidence_level")
    blue = LIGHT["series-1"]
    key: Key = [
        (say("one_tenth"), style_mark("passed", blue, size=7)),
        *make_interval_key(level, say, colour=blue),
        (say("comes_true"), {"color": LIGHT["ink"], "linewidth": 1.2}),
    ]
    if frame.ax is None:
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


def _make_reliability_drawing(measured: Any, say: Words) -> Callable[[Axes], None]:
    bins, blue = read_list(measured, "bins"), LIGHT["series-1"]
    names = ("probability", "share", "low", "high")
    stated, shares, lows, highs = ([read_number(each, name) for each in bins] for name in names)

    def draw(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=LIGHT["ink"], linewidth=1.2, zorder=1.5, gid="diagonal")
        axes.vlines(stated, lows, highs, color=blue, linewidth=2, zorder=3, gid="intervals")
        axes.plot(stated, shares, zorder=4, gid="shares", **style_mark("passed", blue, size=7))
        axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        ticks = _TICKS[:: 1 if measure_axes(axes)[0] > 160 else 2]
        for axis in (axes.xaxis, axes.yaxis):
            set_numbers(axis, ticks, say)

    return draw


# Probes ---------------------------------------------------------------------------------------

_FOUND = {True: ("bias_found", "passed", LIGHT["fail"]),
          False: ("bias_not_found", "failed", LIGHT["muted"])}  # fmt: skip


def is_probing(result: Any) -> bool:
    """Tell whether a result is what probes of a judge found."""
    return hasattr(result, "probes") and hasattr(result, "stability")


def draw_probes(report: Any, frame: Frame, _choice: Choice) -> Figure:
    """Draw the largest shift under each probe; those that found a bias are in colour."""
    if not is_probing(report) or not report.probes:
        got = "none" if is_probing(report) else type(report).__name__
        msg = f"`result` must be what `probe_judge` returns, with at least one probe, got {got}."
        raise InputError(msg)
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
