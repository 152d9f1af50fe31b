"""Draw the test of judges: advantage, ω against ε, annotators, and power."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from matplotlib.patches import Polygon

from voirdire._messages import shorten
from voirdire.reporting.plots.dots import LINE, RANGE, REFERENCE, DotRow, draw_dots
from voirdire.reporting.plots.frame import (
    Panel,
    choose_ticks,
    draw_chart,
    keep_finite,
    make_interval_key,
    make_outcome_key,
    make_square_panels,
    measure_axes,
    set_scale,
    style_area,
    style_mark,
)
from voirdire.reporting.plots.results import find_controls, make_sheet, read_outcome, require
from voirdire.reporting.plots.style import LIGHT, choose_outcome_colour, choose_series_colour
from voirdire.reporting.plots.words import estimate_widest_px, make_distinct_labels, shorten_label
from voirdire.stats import PowerResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.frame import Frame, Key, Style
    from voirdire.reporting.plots.results import Choice, Sheet
    from voirdire.reporting.plots.words import Words
    from voirdire.stats import AltTestResult, ControlResult, PowerRow

__all__ = [
    "draw_advantage",
    "draw_power",
    "draw_scatter",
    "draw_winning_rate",
]

# ρ and ω as rows ------------------------------------------------------------------------------


def draw_advantage(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw ρ of the judges from the best to the worst beside that of people, controls below."""
    say, sheet = frame.say, make_sheet(result, choice, needs_examinations="advantage")
    rows = sheet.at_epsilon()
    levels = [
        row.uncertainty.confidence_level
        for row in rows
        if row.uncertainty and math.isfinite(row.uncertainty.advantage_low)
    ]
    return draw_dots(
        frame,
        _make_judge_rows(rows, say),
        heading=sheet.heading(say),
        alt=say("alt_advantage", judges=say.count_judges(len(rows))),
        x_title=say("advantage"),
        key=[
            *make_outcome_key(map(read_outcome, rows), say),
            (say("human_mark"), REFERENCE),
            (say("margin_mark"), RANGE),
            *make_interval_key(next(iter(levels), math.nan), say),
        ],
    )


def _make_judge_rows(results: Sequence[AltTestResult], say: Words) -> list[DotRow]:
    """Make rows of the judges with all that ρ is compared with, and of the controls."""
    rows = []
    for result, text in zip(results, _name_judges(results), strict=True):
        outcome, people, epsilon = read_outcome(result), result.human_advantage, result.epsilon
        is_share, resampled = result.epsilon_mode == "multiplicative", result.uncertainty
        rows.append(
            DotRow(
                label=text,
                value=result.advantage_probability,
                low=math.nan if resampled is None else resampled.advantage_low,
                high=math.nan if resampled is None else resampled.advantage_high,
                reference=people,
                range_=(people * (1 - epsilon) if is_share else people - epsilon, people),
                outcome=outcome,
                colour=choose_outcome_colour(outcome),
            )
        )
    controls = [
        DotRow(
            label=_name_control(control, say),
            value=control.advantage_probability,
            outcome="control",
            colour=LIGHT["muted"],
            starts_group=place == 0,
        )
        for place, control in enumerate(find_controls(results))
    ]
    return rows + controls


def _name_judges(rows: Sequence[Any]) -> list[str]:
    return make_distinct_labels(row.judge for row in rows)


def _name_control(control: ControlResult, say: Words) -> str:
    return say(control.control, label=say.quote(shorten_label(control.label, width=16)))


# ω against ε ----------------------------------------------------------------------------------

_MOST_LABELLED = 8
_BEST = 5
_FAINT: Style = {"color": LIGHT["muted"], "linewidth": 1.2, "alpha": 0.35}
_DASHES: Style = {"constant": (0, (1, 2)), "random": (0, (5, 3)),
                  "majority_vote": (0, (8, 2, 1, 2))}  # fmt: skip


def draw_winning_rate(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw ω against ε, one line per judge and per control."""
    say, sheet = frame.say, make_sheet(result, choice, needs_examinations="winning_rate")
    judges, epsilons = sheet.judges(), sheet.epsilons
    named = judges if len(judges) <= _MOST_LABELLED else judges[:_BEST]
    controls = _collect_controls(sheet, say)
    is_share = sheet.rows[0].epsilon_mode == "multiplicative"
    room = (epsilons[-1] - epsilons[0]) * 0.03 or 0.05

    def draw(axes: Axes) -> None:
        axes.axhline(0.5, zorder=1.5, gid="threshold", **LINE)
        gap = (epsilons[-1] - epsilons[0]) * 40 / measure_axes(axes)[0]
        ticks = [x for n, x in enumerate(epsilons) if n == 0 or x >= epsilons[0] + n * gap]
        set_scale(axes.xaxis, epsilons[0], epsilons[-1], say, pad=room, ticks=ticks, grid=False)
        set_scale(axes.yaxis, 0, 1, say, pad=0.04, ticks=[0, 0.25, 0.5, 0.75, 1])
        for place, name in enumerate(judges):
            _draw_judge(axes, sheet, name, place=place, is_named=name in named)
        for style, points in controls.values():
            axes.plot(*zip(*points, strict=True), zorder=2.5, **style)

    lines = enumerate(make_distinct_labels(named))
    key = [
        *(
            (text, {"color": choose_series_colour(place), "linewidth": 2.4})
            for place, text in lines
        ),
        *make_outcome_key(map(read_outcome, sheet.rows), say),
        (say("threshold"), LINE),
        *((text, style) for text, (style, _) in controls.items()),
    ]
    if len(named) < len(judges):
        key.append((say("others", n=len(judges) - len(named)), _FAINT))
    x_title = say("epsilon_multiplicative" if is_share else "epsilon")
    height = min(320.0, 0.8 * frame.width)
    panel = Panel(draw=draw, height=height, x_title=x_title, y_title=say("winning_rate"))
    return draw_chart(
        frame,
        heading=sheet.heading(say, with_epsilon=False),
        alt=say("alt_winning_rate", judges=say.count_judges(len(judges))),
        panels=[panel],
        key=key,
    )


def _draw_judge(axes: Axes, sheet: Sheet, name: str, *, place: int, is_named: bool) -> None:
    """Draw ω of a judge where it is defined, smallest ε first, with its outcomes."""
    points = sorted(
        (row.epsilon, row.winning_rate, read_outcome(row))
        for row in sheet.rows
        if row.judge == name and math.isfinite(row.winning_rate)
    )
    style = {"color": choose_series_colour(place), "linewidth": 2.4} if is_named else _FAINT
    order = (3.9 if is_named else 2) - place / 10_000
    xs, ys = [x for x, _, _ in points], [y for _, y, _ in points]
    axes.plot(xs, ys, zorder=order, gid=f"judge-{place}", **style)
    for x, y, outcome in points if is_named else ():
        axes.plot(
            [x], [y], zorder=order + 1, **style_mark(outcome, choose_series_colour(place), size=8)
        )


def _collect_controls(sheet: Sheet, say: Words) -> dict[str, tuple[Style, list[Any]]]:
    """Return style, ε and ω of every control by its name; a constant's label may change with ε."""
    by_kind: dict[str, list[tuple[float, float, ControlResult]]] = {}
    for epsilon in sheet.epsilons:
        for control in find_controls([row for row in sheet.rows if row.epsilon == epsilon]):
            point = (epsilon, control.winning_rate, control)
            by_kind.setdefault(control.control, []).append(point)
    lines = {}
    for kind, points in by_kind.items():
        style: Style = {"color": LIGHT["muted"], "linewidth": 1.6}
        style["linestyle"] = _DASHES.get(kind, "--")
        if len(points) == 1:
            style |= {"marker": "_", "markersize": 12}
        if defined := [(x, y) for x, y, _ in points if math.isfinite(y)]:
            lines[_name_control(points[-1][2], say)] = (style, defined)
    return lines


# Power ---------------------------------------------------------------------------------------

_MOST_CURVES = 12
_WANTED: Style = LINE | {"linestyle": (0, (5, 3))}


def draw_power(result: Any, frame: Frame, _choice: Choice) -> Figure:
    """Draw one curve per number of annotators and ε, with the wanted power."""
    rule = "`result` must be what the power analysis returns, or its dict, for `kind` 'power'"
    require(isinstance(result, PowerResult), f"{rule}, got {shorten(result)}.")
    say, curves, wanted_power = frame.say, _collect_curves(result.rows), result.wanted_power
    points = [point for curve in curves.values() for point in curve]
    low, high = min(x for x, _, _ in points), max(x for x, _, _ in points)
    room = (high - low) * 0.04 or 1.0

    def draw(axes: Axes) -> None:
        set_scale(axes.xaxis, low, high, say, pad=room, grid=False)
        set_scale(axes.yaxis, 0, 1, say, pad=0.03, ticks=[0, 0.2, 0.4, 0.6, 0.8, 1])
        if math.isfinite(wanted_power):
            axes.axhline(wanted_power, zorder=1.5, gid="wanted", **_WANTED)
        for place, curve in enumerate(curves.values()):
            _draw_curve(axes, curve, place=place)

    key: Key = [
        (say("power_curve", n_annotators=people, epsilon=say.digits(epsilon)), _style_curve(place))
        for place, (people, epsilon) in enumerate(curves)
    ]
    if math.isfinite(wanted_power):
        key.append((say("wanted_power", power=wanted_power), _WANTED))
    if any(math.isfinite(error) for *_, error in points):
        key.append((say("simulation_error"), {"color": LIGHT["ink"], "linewidth": 1.6}))
    titles: dict[str, Any] = {"x_title": say("items"), "y_title": say("power")}
    panel = Panel(draw=draw, height=min(320.0, 0.8 * frame.width), **titles)
    heading, alt = say("power_title"), say("alt_power")
    return draw_chart(frame, heading=heading, alt=alt, panels=[panel], key=key)


def _collect_curves(
    rows: Sequence[PowerRow],
) -> dict[tuple[int, float], list[tuple[float, float, float]]]:
    """Return items, power and its standard error by annotators and ε, fewest items first."""
    curves: dict[tuple[int, float], list[tuple[float, float, float]]] = {}
    for row in rows:
        if math.isfinite(row.power):
            points = curves.setdefault((row.n_annotators, row.epsilon), [])
            points.append((row.n_items, row.power, row.standard_error))
    rule = f"from 1 to {_MOST_CURVES} pairs of annotators and ε with a defined power"
    require(0 < len(curves) <= _MOST_CURVES, f"`result` must hold {rule}, got {len(curves)}.")
    return {curve: sorted(points) for curve, points in curves.items()}


def _style_curve(place: int) -> Style:
    line = "-" if place < 8 else "--"  # there are eight colours
    style: Style = {"linewidth": 2.2, "linestyle": line, "marker": "o", "markersize": 6}
    return style | {"color": choose_series_colour(place)}


def _draw_curve(axes: Axes, points: Sequence[tuple[float, float, float]], *, place: int) -> None:
    xs, ys, errors = zip(*points, strict=True)
    if all(map(math.isfinite, errors)):
        lows = [max(y - 1.96 * error, 0.0) for y, error in zip(ys, errors, strict=True)]
        highs = [min(y + 1.96 * error, 1.0) for y, error in zip(ys, errors, strict=True)]
        style: Any = {"color": choose_series_colour(place), "linewidth": 1.6, "zorder": 2.5}
        axes.vlines(xs, lows, highs, gid=f"error-{place}", **style)
    axes.plot(xs, ys, zorder=3, gid=f"curve-{place}", **_style_curve(place))


# Advantages of judge and annotators -----------------------------------------------------------

_MOST_PANELS = 9
_TOP = 1.03
_MARKERS = ("o", "s", "^", "D", "v")
_NAME_STEP = 16.0


def draw_scatter(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw one judge with its annotators' names, a panel each for a few, or a cloud for many."""
    say, sheet = frame.say, make_sheet(result, choice, needs_examinations="scatter")
    results, heading = sheet.at_epsilon(), sheet.heading(say)
    titles: dict[str, Any] = {
        "x_title": say("judge_advantage"), "y_title": say("human_advantage"),
    }  # fmt: skip
    n_columns, key = 1, _make_scatter_key(say)
    if len(results) == 1:
        heading = f"{shorten_label(results[0].judge)} · {heading}"
        panels = [_make_judge_panel(results, frame, titles)]
    elif frame.ax is None and len(results) <= _MOST_PANELS:
        squares = []
        for row, name in zip(results, _name_judges(results), strict=True):
            note = f"ω {say.two_digits(row.winning_rate)}"
            blue = [(_read_points(row), {"color": LIGHT["series-1"], "size": 8})]
            squares.append((name, note, _make_drawing(results, say, blue)))
        panels, n_columns = make_square_panels(squares, frame)
        key = [(say("across_up", **titles), {}), *key]
    else:
        side = min(frame.width - 50, 480.0)
        cloud = [point for row in results[_BEST:] for point in _read_points(row)]
        groups = [(cloud, {"color": LIGHT["muted"], "size": 5, "is_cloud": True})]
        for place, row in reversed(list(enumerate(results[:_BEST]))):
            style = {"color": choose_series_colour(place), "size": 8, "marker": _MARKERS[place]}
            groups.append((_read_points(row), style))
        draw = _make_drawing(results, say, groups)
        panels = [Panel(draw=draw, height=side, width=side, **titles)]
        key = [*_make_best_key(results, say), *key]
    return draw_chart(
        frame,
        heading=heading,
        alt=say("alt_scatter", judges=say.count_judges(len(results))),
        panels=panels,
        key=key,
        n_columns=n_columns,
    )


def _make_drawing(
    results: Sequence[AltTestResult], say: Words, groups: Sequence[tuple[Sequence[Any], Any]]
) -> Callable[[Axes], None]:
    """Draw groups of points, each in a style of its own, on the plane of ρ."""

    def draw(axes: Axes) -> None:
        _draw_plane(axes, results, say)
        for points, style in groups:
            _draw_points(axes, points, **style)

    return draw


def _make_judge_panel(
    results: Sequence[AltTestResult], frame: Frame, titles: dict[str, Any]
) -> Panel:
    """Draw every annotator with a name, in a column at the right."""
    points = _read_points(results[0])
    side = min(0.68 * frame.width, 440.0)
    most = int(side / _NAME_STEP)
    named = points if len(points) <= most else [each for each in points if not each[2]]
    named = named if len(named) <= most else []
    width = int((frame.width - side - 90) / 8.1) if frame.ax is None else 16
    texts = make_distinct_labels((each[3] for each in named), width=max(width, 6))
    plane = _make_drawing(results, frame.say, [(points, {"color": LIGHT["series-1"], "size": 10})])

    def draw(axes: Axes) -> None:
        plane(axes)
        _name_points(axes, [(x, y) for x, y, _, _ in named], texts)

    right = estimate_widest_px(texts) + 30 if texts else 8.0
    return Panel(draw=draw, height=side, width=side, right=right, **titles)


def _name_points(axes: Axes, points: Sequence[tuple[float, float]], names: Sequence[str]) -> None:
    """Write names in a column right of the axes, in the order of the points' heights."""
    width, height = measure_axes(axes)
    low, high = axes.get_ylim()
    free = height - _NAME_STEP * len(points)
    thread: Any = {"arrowstyle": "-", "color": LIGHT["muted"], "linewidth": 0.6, "shrinkB": 5,
                   "relpos": (0, 0.5)}  # fmt: skip
    under = 0.0
    for rank, at in enumerate(sorted(range(len(points)), key=lambda at: points[at][1])):
        wanted = (points[at][1] - low) / (high - low) * height - _NAME_STEP / 2
        place = min(max(wanted, under), free + _NAME_STEP * rank)
        under = place + _NAME_STEP
        axes.annotate(
            names[at],
            xy=points[at],
            xytext=(1 + 24 / width, (place + _NAME_STEP / 2) / height),
            textcoords="axes fraction",
            va="center",
            annotation_clip=False,
            arrowprops=thread,
        )


def _read_points(row: AltTestResult) -> list[tuple[float, float, bool, str]]:
    """Return ρ of the judge, ρ of the annotator, who wins, and the name, where defined."""
    points = [
        (each.advantage_judge, each.advantage_human, each.rejected, each.annotator)
        for each in row.annotators
    ]
    return [point for point in points if all(map(math.isfinite, point[:2]))]


def _draw_plane(axes: Axes, results: Sequence[AltTestResult], say: Words) -> None:
    """Shade where the judge is at least as good (x ≥ y), and where it is worse by less than ε.

    All panels have one scale. The margin is x = y - ε, or x = (1 - ε)·y.
    """
    values = keep_finite(
        value for row in results for point in _read_points(row) for value in point[:2]
    )
    low = max(math.floor((min(values, default=0.0) - 0.05) * 10) / 10, -0.03)
    epsilon, top = results[0].epsilon, _TOP
    is_share = results[0].epsilon_mode == "multiplicative"
    at_top = (1 - epsilon) * top if is_share else top - epsilon
    at_left = low / (1 - epsilon) if is_share else low + epsilon
    upper = (at_top, top) if at_top >= low else (low, top)
    lower = (low, min(max(at_left, low), top))
    _shade_region(axes, [(low, low), (top, low), (top, top)], region="region-1")
    _shade_region(axes, [(low, low), (top, top), upper, lower], region="region-2")
    axes.plot([low, top], [low, top], color=LIGHT["ink"], linewidth=1.2, zorder=1.5, gid="diagonal")
    for axis in (axes.xaxis, axes.yaxis):
        ticks = choose_ticks(axis, max(low, 0), 1)
        set_scale(axis, low, top, say, ticks=ticks, grid=False)


def _shade_region(axes: Axes, corners: Sequence[tuple[float, float]], *, region: str) -> None:
    axes.add_artist(Polygon(list(corners), zorder=0.3, gid=region, **style_area(region)))


def _draw_points(
    axes: Axes,
    points: Sequence[tuple[float, float, bool, str]],
    *,
    color: str,
    size: float,
    marker: str = "o",
    is_cloud: bool = False,
) -> None:
    """Draw annotators whom the judge wins filled, the others hollow."""
    for rejected, outcome in ((False, "failed"), (True, "passed")):
        chosen = [point[:2] for point in points if point[2] is rejected]
        style = style_mark(outcome, color, size=size)
        style |= {"marker": marker, "zorder": 3 if is_cloud else 4}
        style |= {"alpha": 0.45, "markeredgewidth": 1} if is_cloud else {}
        if chosen:
            xs, ys = zip(*chosen, strict=True)
            axes.plot(xs, ys, gid="rejected" if rejected else "not-rejected", **style)


def _make_scatter_key(say: Words) -> Key:
    return [
        (say("wins"), style_mark("passed", LIGHT["ink"])),
        (say("wins_not"), style_mark("failed", LIGHT["ink"])),
        *((say(f"region_{place}"), style_area(f"region-{place}")) for place in (1, 2)),
    ]


def _make_best_key(results: Sequence[AltTestResult], say: Words) -> Key:
    key = [
        (text, style_mark("passed", choose_series_colour(place)) | {"marker": _MARKERS[place]})
        for place, text in enumerate(_name_judges(results[:_BEST]))
    ]
    if len(results) > _BEST:
        others = say("others", n=len(results) - _BEST)
        key.append((others, style_mark("passed", LIGHT["muted"], size=6)))
    return key
