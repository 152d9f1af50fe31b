"""Power against the number of items, and what each probe of a judge moved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.reporting.judge_tables import shown_question
from voirdire.reporting.plots.chart import (
    KeyItem,
    Panel,
    draw_chart,
    mark_style,
    nice_ticks,
    set_numbers,
)
from voirdire.reporting.plots.dots import DotRow, dot_row, dots_panel
from voirdire.reporting.plots.rows import field_of, number
from voirdire.reporting.plots.style import LIGHT, series
from voirdire.reporting.plots.words import distinct_labels, label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.chart import Frame
    from voirdire.studies import ProbeFinding, ProbeReport

__all__ = ["draw_power", "draw_probes", "is_power", "is_probing"]

_MOST_CURVES = 12
_WANTED: dict[str, Any] = {"color": LIGHT["ink"], "linewidth": 1.4, "linestyle": (0, (5, 3))}


def is_power(result: Any) -> bool:
    """Whether something is a power analysis, or the dict of one."""
    rows = field_of(result, "rows")
    return (
        isinstance(rows, list | tuple)
        and len(rows) > 0
        and all(field_of(row, "power") is not None for row in rows)
    )


def draw_power(result: Any, frame: Frame) -> Figure:
    """Draw one curve per number of annotators and ε, with the wanted power."""
    if not is_power(result):
        msg = (
            "`result` must be what the power analysis returns, or its dict, for `kind` 'power', "
            f"got {shorten(result)}."
        )
        raise InputError(msg)
    say, curves = frame.say, _power_curves(field_of(result, "rows"))
    wanted = number(field_of(result, "wanted_power"))
    sizes = [x for points in curves.values() for x, _, _ in points]
    has_errors = any(math.isfinite(e) for points in curves.values() for *_, e in points)

    def draw(axes: Axes) -> None:
        low, high = min(sizes), max(sizes)
        room = (high - low) * 0.04 or 1.0
        axes.set_xlim(low - room, high + room)
        axes.set_ylim(-0.03, 1.03)
        set_numbers(axes.xaxis, nice_ticks(axes.xaxis, low, high), say, grid=False)
        set_numbers(axes.yaxis, [0, 0.2, 0.4, 0.6, 0.8, 1], say)
        if math.isfinite(wanted):
            axes.axhline(wanted, zorder=1.5, gid="wanted", **_WANTED)
        for place, points in enumerate(curves.values()):
            _draw_curve(axes, points, place=place)

    key = [
        KeyItem(
            text=say("power_curve", n_annotators=people, epsilon=say.digits(number(epsilon))),
            style=_curve_style(place),
        )
        for place, (people, epsilon) in enumerate(curves)
    ]
    if math.isfinite(wanted):
        key.append(KeyItem(text=say("wanted_power", power=wanted), style=_WANTED))
    if has_errors:
        style = {"color": LIGHT["ink"], "linewidth": 1.6}
        key.append(KeyItem(text=say("simulation_error"), style=style))
    return draw_chart(
        frame,
        heading=say("power_title"),
        alt=say("alt_power"),
        panels=[
            Panel(
                draw=draw,
                height=min(320.0, 0.8 * frame.width),
                x_title=say("items"),
                y_title=say("power"),
            )
        ],
        key=key,
    )


def _power_curves(rows: Sequence[Any]) -> dict[tuple[Any, Any], list[tuple[float, float, float]]]:
    """Return items, power and its standard error by annotators and ε, fewest items first."""
    curves: dict[tuple[Any, Any], list[tuple[float, float, float]]] = {}
    for row in rows:
        names = ("n_items", "power", "standard_error")
        items, power, error = (number(field_of(row, name)) for name in names)
        if math.isfinite(power):
            curve = (field_of(row, "n_annotators"), field_of(row, "epsilon"))
            curves.setdefault(curve, []).append((items, power, error))
    if not curves or len(curves) > _MOST_CURVES:
        msg = (
            f"`result` must hold from 1 to {_MOST_CURVES} pairs of annotators and ε with a "
            f"defined power, got {len(curves)}."
        )
        raise InputError(msg)
    return {curve: sorted(points) for curve, points in curves.items()}


def _curve_style(place: int) -> dict[str, Any]:
    line = "-" if place < 8 else "--"  # there are eight colours
    return {"color": series(place), "linewidth": 2.2, "linestyle": line, "marker": "o",
            "markersize": 6}  # fmt: skip


def _draw_curve(axes: Axes, points: Sequence[tuple[float, float, float]], *, place: int) -> None:
    xs, ys, errors = zip(*points, strict=True)
    if all(map(math.isfinite, errors)):
        lows = [max(y - 1.96 * error, 0.0) for y, error in zip(ys, errors, strict=True)]
        highs = [min(y + 1.96 * error, 1.0) for y, error in zip(ys, errors, strict=True)]
        style: Any = {"color": series(place), "linewidth": 1.6, "zorder": 2.5}
        axes.vlines(xs, lows, highs, gid=f"error-{place}", **style)
    axes.plot(xs, ys, zorder=3, gid=f"curve-{place}", **_curve_style(place))


# Probes ---------------------------------------------------------------------------------------


def is_probing(result: Any) -> bool:
    """Tell whether a result is what probes of a judge found."""
    return hasattr(result, "probes") and hasattr(result, "stability")


def draw_probes(report: ProbeReport, frame: Frame) -> Figure:
    """Draw the largest shift under each probe; those that found a bias are in colour."""
    if not is_probing(report) or not report.probes:
        got = "none" if is_probing(report) else type(report).__name__
        msg = f"`result` must be what `probe_judge` returns, with at least one probe, got {got}."
        raise InputError(msg)
    say = frame.say
    floor = report.stability[0].mean_difference if report.stability else math.nan
    key = [
        KeyItem(text=say(word), style=mark_style(mark, LIGHT[role]))
        for is_found, word, mark, role in (
            (True, "bias_found", "passed", "fail"),
            (False, "bias_not_found", "failed", "muted"),
        )
        if any(row.is_found is is_found for row in report.probes)
    ]
    if floor > 0:
        box = {"facecolor": LIGHT["region-1"], "linewidth": 0}
        key.append(KeyItem(text=say("noise_floor"), style=box, box=True))
    return draw_chart(
        frame,
        heading=say("probes_title", judge=label(report.judge)),
        alt=say("alt_probes", n=len(report.probes), n_found=len(report.found)),
        panels=[
            dots_panel(
                _probe_rows(report.probes),
                frame,
                x_title=say("largest_shift"),
                line=0.0,
                band=(-floor, floor),
            )
        ],
        key=key,
    )


def _probe_rows(probes: Sequence[ProbeFinding]) -> list[DotRow]:
    """Give one row per probe, families apart, each named after what is changed and where."""
    questions = [shown_question(probe) for probe in probes]
    names = [
        probe.probe if question is None else f"{probe.probe}: {question.question}"
        for probe, question in zip(probes, questions, strict=True)
    ]
    rows = []
    for place, (probe, question, name) in enumerate(
        zip(probes, questions, distinct_labels(names), strict=True)
    ):
        shift = None if question is None else question.change.shift
        rows.append(
            dot_row(
                shift,
                "estimate",
                label=name,
                outcome="passed" if probe.is_found else "failed",
                colour=LIGHT["fail" if probe.is_found else "muted"],
                starts_group=place > 0 and probes[place - 1].family != probe.family,
            )
        )
    return rows
