"""Power against the number of items, and what each probe of a judge moved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.reporting.judge_tables import shown_question
from voirdire.reporting.plots.dots import LINE, DotRow, dot_row, draw_dots
from voirdire.reporting.plots.frame import (
    Panel,
    draw_chart,
    filled,
    mark_style,
    nice_ticks,
    set_numbers,
)
from voirdire.reporting.plots.rows import field_of, list_of, number
from voirdire.reporting.plots.style import LIGHT, series
from voirdire.reporting.plots.words import distinct_labels, label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.frame import Frame, Key, Style
    from voirdire.reporting.plots.rows import Choice
    from voirdire.studies import ProbeFinding

__all__ = ["draw_power", "draw_probes", "is_power", "is_probing"]

_MOST_CURVES = 12
_WANTED: Style = LINE | {"linestyle": (0, (5, 3))}


def is_power(result: Any) -> bool:
    """Whether something is a power analysis, or the dict of one."""
    rows = list_of(result, "rows")
    return bool(rows) and all(field_of(row, "power") is not None for row in rows)


def draw_power(result: Any, frame: Frame, _choice: Choice) -> Figure:
    """Draw one curve per number of annotators and ε, with the wanted power."""
    if not is_power(result):
        msg = (
            "`result` must be what the power analysis returns, or its dict, for `kind` 'power', "
            f"got {shorten(result)}."
        )
        raise InputError(msg)
    say, curves = frame.say, _power_curves(list_of(result, "rows"))
    wanted = number(result, "wanted_power")
    points = [point for curve in curves.values() for point in curve]
    low, high = min(x for x, _, _ in points), max(x for x, _, _ in points)
    room = (high - low) * 0.04 or 1.0

    def draw(axes: Axes) -> None:
        axes.set(xlim=(low - room, high + room), ylim=(-0.03, 1.03))
        set_numbers(axes.xaxis, nice_ticks(axes.xaxis, low, high), say, grid=False)
        set_numbers(axes.yaxis, [0, 0.2, 0.4, 0.6, 0.8, 1], say)
        if math.isfinite(wanted):
            axes.axhline(wanted, zorder=1.5, gid="wanted", **_WANTED)
        for place, curve in enumerate(curves.values()):
            _draw_curve(axes, curve, place=place)

    key: Key = [
        (say("power_curve", n_annotators=people, epsilon=say.digits(epsilon)), _curve_style(place))
        for place, (people, epsilon) in enumerate(curves)
    ]
    if math.isfinite(wanted):
        key.append((say("wanted_power", power=wanted), _WANTED))
    if any(math.isfinite(error) for *_, error in points):
        key.append((say("simulation_error"), {"color": LIGHT["ink"], "linewidth": 1.6}))
    height, titles = (
        min(320.0, 0.8 * frame.width),
        {"x_title": say("items"), "y_title": say("power")},
    )
    panel = Panel(draw=draw, height=height, **titles)  # type: ignore[arg-type]
    return draw_chart(
        frame, heading=say("power_title"), alt=say("alt_power"), panels=[panel], key=key
    )


def _power_curves(rows: Sequence[Any]) -> dict[tuple[int, float], list[tuple[float, float, float]]]:
    """Return items, power and its standard error by annotators and ε, fewest items first."""
    curves: dict[tuple[int, float], list[tuple[float, float, float]]] = {}
    for row in rows:
        names = ("n_items", "power", "standard_error")
        items, power, error = (number(row, name) for name in names)
        if math.isfinite(power):
            curve = (field_of(row, "n_annotators"), number(row, "epsilon"))
            curves.setdefault(curve, []).append((items, power, error))
    if not curves or len(curves) > _MOST_CURVES:
        msg = (
            f"`result` must hold from 1 to {_MOST_CURVES} pairs of annotators and ε with a "
            f"defined power, got {len(curves)}."
        )
        raise InputError(msg)
    return {curve: sorted(points) for curve, points in curves.items()}


def _curve_style(place: int) -> Style:
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
        (say(word), mark_style(mark, colour))
        for is_found, (word, mark, colour) in _FOUND.items()
        if any(row.is_found is is_found for row in report.probes)
    ]
    if floor > 0:
        key.append((say("noise_floor"), filled("region-1")))
    return draw_dots(
        frame,
        _probe_rows(report.probes),
        heading=say("probes_title", judge=label(report.judge)),
        alt=say("alt_probes", n=len(report.probes), n_found=len(report.found)),
        x_title=say("largest_shift"),
        line=0.0,
        band=(-floor, floor),
        key=key,
    )


def _probe_rows(probes: Sequence[ProbeFinding]) -> list[DotRow]:
    """Give one row per probe, families apart, each named after what is changed and where."""
    questions = [shown_question(probe) for probe in probes]
    names = distinct_labels(
        probe.probe if question is None else f"{probe.probe}: {question.question}"
        for probe, question in zip(probes, questions, strict=True)
    )
    families, rows = [probe.family for probe in probes], []
    for place, (probe, question) in enumerate(zip(probes, questions, strict=True)):
        shift = None if question is None else question.change.shift
        _, outcome, colour = _FOUND[probe.is_found]
        is_first = place > 0 and families[place] != families[place - 1]
        look: dict[str, Any] = {"outcome": outcome, "colour": colour, "starts_group": is_first}
        rows.append(dot_row(shift, "estimate", label=names[place], **look))
    return rows
