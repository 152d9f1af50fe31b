"""The test of judges: their advantage, ω against ε, whom they beat, controls, and slices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.chart import (
    KeyItem,
    Panel,
    columns_for,
    draw_chart,
    finite,
    interval_item,
    mark_style,
    nice_ticks,
    outcome_key,
    set_numbers,
    size_px,
)
from voirdire.reporting.plots.dots import REFERENCE, DotRow, dot_row, dots_panel
from voirdire.reporting.plots.rows import controls_of, number
from voirdire.reporting.plots.style import LIGHT, SMALL_PX, outcome_colour, series
from voirdire.reporting.plots.words import distinct_labels, label, widest_px

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.chart import Frame
    from voirdire.reporting.plots.rows import Sheet
    from voirdire.reporting.plots.words import Words

__all__ = [
    "draw_advantage",
    "draw_controls",
    "draw_scatter",
    "draw_slices",
    "draw_winning_rate",
]

_THRESHOLD: dict[str, Any] = {"color": LIGHT["ink"], "linewidth": 1.4}


# ρ and ω as rows ------------------------------------------------------------------------------


def draw_advantage(sheet: Sheet, frame: Frame) -> Figure:
    """Draw ρ of the judges from the best to the worst beside that of people, controls below."""
    say, found = frame.say, sheet.at_epsilon()
    rows = []
    for row, text in zip(found, distinct_labels(row["judge"] for row in found), strict=True):
        uncertainty = row["uncertainty"] or {}
        rows.append(
            DotRow(
                label=text,
                value=number(row["advantage_probability"]),
                low=number(uncertainty.get("advantage_low")),
                high=number(uncertainty.get("advantage_high")),
                reference=number(row["human_advantage"]),
                range_=_margin_of(row),
                outcome=row["outcome"],
                colour=outcome_colour(row["outcome"]),
            )
        )
    levels = [(row["uncertainty"] or {}).get("confidence_level") for row in found]
    level = next((each for each in levels if each is not None), 0.95)
    has_interval = any(math.isfinite(row.low) for row in rows)
    rows += _control_rows(found, "advantage_probability", say)
    return draw_chart(
        frame,
        heading=sheet.heading(say),
        alt=say("alt_advantage", judges=say.count_judges(len(found))),
        panels=[
            dots_panel(
                rows,
                frame,
                x_title=say("advantage"),
                limits=(math.nan, 1.0),
                bounds=(0.0, 1.0),
            )
        ],
        key=[
            *outcome_key((row["outcome"] for row in found), say),
            KeyItem(text=say("human_mark"), style=REFERENCE),
            KeyItem(text=say("margin_mark"), style={"color": LIGHT["muted"], "linewidth": 1.2}),
            *interval_item(level if has_interval else None, say),
        ],
    )


def _margin_of(row: Mapping[str, Any]) -> tuple[float, float]:
    """Give how far below people's ρ a judge may be."""
    people, epsilon = number(row["human_advantage"]), row["epsilon"]
    least = people * (1 - epsilon) if row["epsilon_mode"] == "multiplicative" else people - epsilon
    return least, people


def draw_controls(sheet: Sheet, frame: Frame) -> Figure:
    """Draw judges and controls on the scale of ω, with the line at which they pass."""
    say, found = frame.say, sheet.at_epsilon()
    controls = _control_rows(found, "winning_rate", say)
    if not controls:
        msg = (
            "`kind` 'controls' needs an examination with controls, got one without. "
            "Examine with `controls=True`."
        )
        raise InputError(msg)
    judges = [
        DotRow(
            label=text,
            value=number(row["winning_rate"]),
            outcome=row["outcome"],
            colour=outcome_colour(row["outcome"]),
        )
        for row, text in zip(found, distinct_labels(row["judge"] for row in found), strict=True)
    ]
    return draw_chart(
        frame,
        heading=sheet.heading(say),
        alt=say("alt_controls", judges=say.count_judges(len(found))),
        panels=[
            dots_panel(
                [*judges, *controls],
                frame,
                x_title=say("winning_rate"),
                limits=(0.0, 1.0),
                bounds=(0.0, 1.0),
                line=0.5,
            )
        ],
        key=[
            *outcome_key((row["outcome"] for row in found), say),
            KeyItem(text=say("threshold"), style=_THRESHOLD),
        ],
    )


def _control_rows(found: Sequence[Mapping[str, Any]], figure: str, say: Words) -> list[DotRow]:
    """Return the rows of the controls, in grey."""
    return [
        DotRow(
            label=_name_control(control, say),
            value=number(control[figure]),
            outcome="control",
            colour=LIGHT["muted"],
            starts_group=place == 0,
        )
        for place, control in enumerate(controls_of(found))
    ]


def _name_control(control: Mapping[str, Any], say: Words) -> str:
    return say(control["control"], label=say.quote(label(control["label"], width=16)))


# Slices ---------------------------------------------------------------------------------------

MOST_SLICES = 60


def draw_slices(sheet: Sheet, frame: Frame) -> Figure:
    """Draw the slices of every judge, the worst first; of very many only the worst."""
    say = frame.say
    judges = sheet.judges_in(sheet.part("diagnosis", kind="slices"))
    slices = [
        (judge["judge"], part)
        for judge in judges
        for part in judge.get("slices") or ()
        if math.isfinite(number(part["difference"]))
    ]
    if not slices:
        msg = (
            "`kind` 'slices' needs slices with a difference, got none for this question. Give the "
            "examination the items' metadata."
        )
        raise InputError(msg)
    worst = sorted(slices, key=lambda pair: number(pair[1]["difference"]))[:MOST_SLICES]
    heading = say("slices_title", question=label(sheet.question))
    if len(judges) == 1:
        heading = f"{label(judges[0]['judge'])} · {heading}"
    if len(worst) < len(slices):
        heading += f", {say('worst_of', n=len(worst), total=len(slices))}"
    rows: list[DotRow] = []
    names = [judge["judge"] for judge in judges]
    for judge, name in zip(names, distinct_labels(names), strict=True):
        parts = [part for owner, part in worst if owner == judge]
        texts = [f"{label(p['column'], width=18)} = {label(p['value'], width=24)}" for p in parts]
        if parts and len(judges) > 1:
            rows.append(DotRow(label=name, is_heading=True, starts_group=True))
        rows += [
            dot_row(
                part,
                "difference",
                label=text,
                outcome="passed" if part["worse"] else "failed",
                colour=LIGHT["fail" if part["worse"] else "series-8"],
            )
            for part, text in zip(parts, distinct_labels(texts, width=46), strict=True)
        ]
    level = next((part.get("confidence_level") for _, part in worst), None)
    return draw_chart(
        frame,
        heading=heading,
        alt=say("alt_slices", judges=say.count_judges(len(judges))),
        panels=[dots_panel(rows, frame, x_title=say("slice_difference"), line=0.0)],
        key=[
            KeyItem(text=say("worse"), style=mark_style("passed", LIGHT["fail"])),
            KeyItem(text=say("not_worse"), style=mark_style("failed", LIGHT["series-8"])),
            *interval_item(level, say),
        ],
    )


# ω against ε ----------------------------------------------------------------------------------

_MOST_LABELLED = 8
_BEST = 5
_FAINT: dict[str, Any] = {"color": LIGHT["muted"], "linewidth": 1.2, "alpha": 0.35}
_DASHES: dict[str, Any] = {"constant": (0, (1, 2)), "random": (0, (5, 3)),
                           "majority_vote": (0, (8, 2, 1, 2))}  # fmt: skip


def draw_winning_rate(sheet: Sheet, frame: Frame) -> Figure:
    """Draw one line per judge and per control: how much a judge must be forgiven to pass."""
    say, judges, epsilons = frame.say, sheet.judges(), sheet.epsilons
    named = judges if len(judges) <= _MOST_LABELLED else judges[:_BEST]
    controls = _control_lines(sheet, say)
    mode = sheet.rows[0]["epsilon_mode"]
    title = "epsilon_multiplicative" if mode == "multiplicative" else "epsilon"

    def draw(axes: Axes) -> None:
        room = (epsilons[-1] - epsilons[0]) * 0.03 or 0.05
        axes.set_xlim(epsilons[0] - room, epsilons[-1] + room)
        axes.set_ylim(-0.04, 1.04)
        axes.axhline(0.5, zorder=1.5, gid="threshold", **_THRESHOLD)
        gap = (epsilons[-1] - epsilons[0]) * 40 / size_px(axes)[0]
        ticks = [x for n, x in enumerate(epsilons) if n == 0 or x >= epsilons[0] + n * gap]
        set_numbers(axes.xaxis, ticks, say, grid=False)
        set_numbers(axes.yaxis, [0, 0.25, 0.5, 0.75, 1], say)
        for place, name in enumerate(judges):
            _draw_judge(axes, sheet, name, place=place, is_named=name in named)
        for style, points in controls.values():
            xs, ys = zip(*points, strict=True)
            axes.plot(xs, ys, zorder=2.5, **style)

    texts = distinct_labels(named)
    key = [
        *(
            KeyItem(text=text, style={"color": series(place), "linewidth": 2.4})
            for place, text in enumerate(texts)
        ),
        *outcome_key((row["outcome"] for row in sheet.rows), say),
        KeyItem(text=say("threshold"), style=_THRESHOLD),
        *(KeyItem(text=text, style=style) for text, (style, _) in controls.items()),
    ]
    if len(named) < len(judges):
        key.append(KeyItem(text=say("others", n=len(judges) - len(named)), style=_FAINT))
    return draw_chart(
        frame,
        heading=sheet.heading(say, with_epsilon=False),
        alt=say("alt_winning_rate", judges=say.count_judges(len(judges))),
        panels=[
            Panel(
                draw=draw,
                height=min(320.0, 0.8 * frame.width),
                x_title=say(title),
                y_title=say("winning_rate"),
            )
        ],
        key=key,
    )


def _draw_judge(axes: Axes, sheet: Sheet, name: str, *, place: int, is_named: bool) -> None:
    """Draw ω of a judge where it is defined, smallest ε first, with its outcomes."""
    points = sorted(
        (row["epsilon"], number(row["winning_rate"]), row["outcome"])
        for row in sheet.rows
        if row["judge"] == name and math.isfinite(number(row["winning_rate"]))
    )
    xs, ys = [x for x, _, _ in points], [y for _, y, _ in points]
    style = {"color": series(place), "linewidth": 2.4} if is_named else _FAINT
    order = (3.9 if is_named else 2) - place / 10_000
    axes.plot(xs, ys, zorder=order, gid=f"judge-{place}", **style)
    for x, y, outcome in points if is_named else ():
        axes.plot([x], [y], zorder=order + 1, **mark_style(outcome, series(place), size=8))


def _control_lines(sheet: Sheet, say: Words) -> dict[str, tuple[dict[str, Any], list[Any]]]:
    """Return style, ε and ω of every control by its name; a constant's label may change with ε."""
    found: dict[str, list[tuple[float, float, Any]]] = {}
    for epsilon in sheet.epsilons:
        for control in controls_of([row for row in sheet.rows if row["epsilon"] == epsilon]):
            point = (epsilon, number(control["winning_rate"]), control["label"])
            found.setdefault(control["control"], []).append(point)
    lines = {}
    for kind, points in found.items():
        text = _name_control({"control": kind, "label": points[-1][2]}, say)
        style: dict[str, Any] = {"color": LIGHT["muted"], "linewidth": 1.6}
        style["linestyle"] = _DASHES.get(kind, "--")
        if len(points) == 1:
            style |= {"marker": "_", "markersize": 12}
        defined = [(x, y) for x, y, _ in points if math.isfinite(y)]
        if defined:
            lines[text] = (style, defined)
    return lines


# Advantages of judge and annotators -----------------------------------------------------------

_MOST_PANELS = 9
_TOP = 1.03
_MARKERS = ("o", "s", "^", "D", "v")
_NAME_STEP = 16.0


def draw_scatter(sheet: Sheet, frame: Frame) -> Figure:
    """Draw one judge with its annotators' names, a panel each for a few, or a cloud for many."""
    say, found = frame.say, sheet.at_epsilon()
    heading = sheet.heading(say)
    titles = {"x_title": say("judge_advantage"), "y_title": say("human_advantage")}
    n_columns, key = 1, _scatter_key(say)
    if len(found) == 1:
        heading = f"{label(found[0]['judge'])} · {heading}"
        panels = [_one_judge(found, frame, titles)]
    elif frame.ax is None and len(found) <= _MOST_PANELS:
        names = distinct_labels(row["judge"] for row in found)
        most = 2 if len(found) <= 4 or frame.is_narrow else 3
        n_columns = columns_for(names, frame, most=most)
        side = min((frame.width - (n_columns - 1) * 18) / n_columns - 42, 320.0)
        panels = [
            _small_panel(found, row, frame.say, title=name, side=side)
            for row, name in zip(found, names, strict=True)
        ]
        key = [KeyItem(text=say("across_up", **titles)), *key]
    else:
        panels = [_many_judges(found, frame, titles)]
        key = [*_best_key(found, say), *key]
    return draw_chart(
        frame,
        heading=heading,
        alt=say("alt_scatter", judges=say.count_judges(len(found))),
        panels=panels,
        key=key,
        n_columns=n_columns,
    )


def _one_judge(
    found: Sequence[Mapping[str, Any]], frame: Frame, titles: Mapping[str, Any]
) -> Panel:
    """Draw every annotator with a name, in a column at the right."""
    points = _points(found[0])
    side = 0.62 * frame.width if frame.is_narrow else min(0.68 * frame.width, 440.0)
    most = int(side / _NAME_STEP)
    named = points if len(points) <= most else [each for each in points if not each[2]]
    named = named if len(named) <= most else []
    width = int((frame.width - side - 90) / 8.1) if frame.ax is None else 16
    texts = distinct_labels((each[3] for each in named), width=max(width, 6))

    def draw(axes: Axes) -> None:
        _draw_plane(axes, found, frame.say)
        _draw_points(axes, points, colour=LIGHT["series-1"], size=10)
        _name_points(axes, [(x, y) for x, y, _, _ in named], texts)

    return Panel(
        draw=draw,
        height=side,
        width=side,
        right=widest_px(texts, SMALL_PX) + 30 if texts else 8.0,
        **titles,
    )


def _name_points(axes: Axes, points: Sequence[tuple[float, float]], names: Sequence[str]) -> None:
    """Write names in a column right of the axes, in the order of the points' heights."""
    height = size_px(axes)[1]
    low, high = axes.get_ylim()
    order = sorted(range(len(points)), key=lambda at: points[at][1])
    free = height - _NAME_STEP * len(order)
    under = 0.0
    for rank, at in enumerate(order):
        x, y = points[at]
        wanted = (y - low) / (high - low) * height - _NAME_STEP / 2
        highest = free + _NAME_STEP * rank
        place = min(max(wanted, under), highest)
        under = place + _NAME_STEP
        thread: Any = {"arrowstyle": "-", "color": LIGHT["muted"], "linewidth": 0.6, "shrinkB": 5}
        axes.annotate(
            names[at],
            xy=(x, y),
            xycoords="data",
            xytext=(1 + 24 / size_px(axes)[0], (place + _NAME_STEP / 2) / height),
            textcoords="axes fraction",
            fontsize=SMALL_PX,
            color=LIGHT["ink"],
            va="center",
            annotation_clip=False,
            arrowprops=thread | {"relpos": (0, 0.5)},
            parse_math=False,
            usetex=False,
        )


def _small_panel(
    found: Sequence[Mapping[str, Any]],
    row: Mapping[str, Any],
    say: Words,
    *,
    title: str,
    side: float,
) -> Panel:
    def draw(axes: Axes) -> None:
        _draw_plane(axes, found, say)
        _draw_points(axes, _points(row), colour=LIGHT["series-1"], size=8)

    note = f"ω {say.two_digits(number(row['winning_rate']))}"
    return Panel(draw=draw, height=side, width=side, left=34, title=title, note=note)


def _many_judges(
    found: Sequence[Mapping[str, Any]], frame: Frame, titles: Mapping[str, Any]
) -> Panel:
    side = min(frame.width - 50, 480.0)

    def draw(axes: Axes) -> None:
        _draw_plane(axes, found, frame.say)
        others = [point for row in found[_BEST:] for point in _points(row)]
        _draw_points(axes, others, colour=LIGHT["muted"], size=5, is_cloud=True)
        for place, row in reversed(list(enumerate(found[:_BEST]))):
            marker = _MARKERS[place]
            _draw_points(axes, _points(row), colour=series(place), size=8, marker=marker)

    return Panel(draw=draw, height=side, width=side, **titles)


def _points(row: Mapping[str, Any]) -> list[tuple[float, float, bool, str]]:
    """Return ρ of the judge, ρ of the annotator, who wins, and the name, where defined."""
    points = [
        (
            number(person["advantage_judge"]),
            number(person["advantage_human"]),
            bool(person["rejected"]),
            person["annotator"],
        )
        for person in row["annotators"]
    ]
    return [point for point in points if math.isfinite(point[0]) and math.isfinite(point[1])]


def _draw_plane(axes: Axes, found: Sequence[Mapping[str, Any]], say: Words) -> None:
    """Shade where the judge is at least as good (x ≥ y), and where it is worse by less than ε.

    All panels have one scale. The margin is x = y - ε, or x = (1 - ε)·y.
    """
    values = finite(value for row in found for point in _points(row) for value in point[:2])
    low = max(math.floor((min(values, default=0.0) - 0.05) * 10) / 10, -0.03)
    epsilon, top = number(found[0]["epsilon"]), _TOP
    is_share = found[0]["epsilon_mode"] == "multiplicative"
    at_top = (1 - epsilon) * top if is_share else top - epsilon
    at_left = low / (1 - epsilon) if is_share else low + epsilon
    upper = (at_top, top) if at_top >= low else (low, top)
    lower = (low, min(max(at_left, low), top))
    _shade(axes, [(low, low), (top, low), (top, top)], region="region-1")
    _shade(axes, [(low, low), (top, top), upper, lower], region="region-2")
    axes.plot([low, top], [low, top], color=LIGHT["ink"], linewidth=1.2, zorder=1.5, gid="diagonal")
    axes.set_xlim(low, top)
    axes.set_ylim(low, top)
    for axis in (axes.xaxis, axes.yaxis):
        set_numbers(axis, nice_ticks(axis, max(low, 0), 1), say, grid=False)


def _shade(axes: Axes, corners: Sequence[tuple[float, float]], *, region: str) -> None:
    from matplotlib.patches import Polygon

    style: Any = {"facecolor": LIGHT[region], "linewidth": 0, "zorder": 0.3, "gid": region}
    axes.add_artist(Polygon(list(corners), closed=True, **style))


def _draw_points(
    axes: Axes,
    points: Sequence[tuple[float, float, bool, str]],
    *,
    colour: str,
    size: float,
    marker: str = "o",
    is_cloud: bool = False,
) -> None:
    """Draw annotators whom the judge wins filled, the others hollow."""
    for rejected in (False, True):
        chosen = [point for point in points if point[2] is rejected]
        style = mark_style("passed" if rejected else "failed", colour, size=size)
        style |= {"marker": marker, "zorder": 3 if is_cloud else 4}
        style |= {"alpha": 0.45, "markeredgewidth": 1} if is_cloud else {}
        if chosen:
            xs, ys = [point[0] for point in chosen], [point[1] for point in chosen]
            axes.plot(xs, ys, gid="rejected" if rejected else "not-rejected", **style)


def _scatter_key(say: Words) -> list[KeyItem]:
    points = (("wins", "passed"), ("wins_not", "failed"))
    return [
        *(KeyItem(text=say(word), style=mark_style(mark, LIGHT["ink"])) for word, mark in points),
        *(
            KeyItem(
                text=say(f"region_{place}"),
                style={"facecolor": LIGHT[f"region-{place}"], "linewidth": 0},
                box=True,
            )
            for place in (1, 2)
        ),
    ]


def _best_key(found: Sequence[Mapping[str, Any]], say: Words) -> list[KeyItem]:
    best = found[:_BEST]
    items = [
        KeyItem(text=text, style=mark_style("passed", series(place)) | {"marker": _MARKERS[place]})
        for place, text in enumerate(distinct_labels(row["judge"] for row in best))
    ]
    if len(best) < len(found):
        grey = mark_style("passed", LIGHT["muted"], size=6)
        items.append(KeyItem(text=say("others", n=len(found) - len(best)), style=grey))
    return items
