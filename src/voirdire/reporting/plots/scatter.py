"""The judge's advantage against each annotator's own: whom it beats, and by how much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.reporting.plots.canvas import (
    add_axes,
    clear,
    figure_of,
    new_plot,
    nice_ticks,
    note,
    set_x_ticks,
    set_y_ticks,
    write,
)
from voirdire.reporting.plots.headings import heading_of
from voirdire.reporting.plots.marks import KeyItem, draw_key, key_height, legend, mark_style
from voirdire.reporting.plots.names import distinct_labels
from voirdire.reporting.plots.point_labels import label_points
from voirdire.reporting.plots.rows import number
from voirdire.reporting.plots.style import LIGHT, SMALL_PX, WIDTH_PX, series
from voirdire.reporting.plots.words import count_judges

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.rows import Sheet
    from voirdire.reporting.plots.words import Words

__all__ = ["draw_scatter"]

_MOST_PANELS = 9
_BEST = 5
_MOST_LABELS = 30
_ONE_PX = 520.0
_TOP = 1.03
_MARKERS = ("o", "s", "^", "D", "v")


@dataclass(frozen=True, kw_only=True)
class _Plane:
    """What every panel shares: the square's ends and where the judge is good enough."""

    low: float
    epsilon: float
    multiplicative: bool


def draw_scatter(sheet: Sheet, *, say: Words, ax: Axes | None) -> Figure:
    """Draw one judge with its annotators' names, a panel each for a few, or a cloud for many."""
    found = sheet.at_epsilon()
    plane = _plane(found, sheet.epsilon)
    if len(found) == 1:
        return _draw_one(sheet, found[0], plane, say=say, ax=ax)
    if ax is None and len(found) <= _MOST_PANELS:
        return _draw_panels(sheet, found, plane, say=say)
    return _draw_cloud(sheet, found, plane, say=say, ax=ax)


def _plane(found: Sequence[Mapping[str, Any]], epsilon: float) -> _Plane:
    values = [value for row in found for point in _points(row) for value in point[:2]]
    lowest = min(values, default=0.0)
    return _Plane(
        low=max(math.floor((lowest - 0.05) * 10) / 10, -0.03),
        epsilon=epsilon,
        multiplicative=found[0]["epsilon_mode"] == "multiplicative",
    )


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


def _draw_one(
    sheet: Sheet, row: Mapping[str, Any], plane: _Plane, *, say: Words, ax: Axes | None
) -> Figure:
    (judge,) = distinct_labels([row["judge"]], width=28)
    heading = f"{judge} · {heading_of(sheet, say)}"
    key = _key(say)
    axes = _square(ax, key, heading=heading, alt=say("alt_scatter", judges=count_judges(1, say)))
    _draw_plane(axes, plane)
    points = _points(row)
    _draw_points(axes, points, colour=LIGHT["series-1"], size=10)
    _set_scales(axes, plane, say, is_ours=ax is None)
    shown = points if len(points) <= _MOST_LABELS else [p for p in points if not p[2]]
    if len(shown) <= _MOST_LABELS:
        names = distinct_labels((point[3] for point in shown), width=16)
        label_points(axes, [(x, y) for x, y, _, _ in shown], names, size=SMALL_PX)
    if ax is not None:
        legend(axes, key)
    return figure_of(axes)


def _square(ax: Axes | None, key: Sequence[KeyItem], *, heading: str, alt: str) -> Axes:
    """Lay out one large panel, or take the given one."""
    if ax is not None:
        clear(ax)
        ax.set_title(heading, parse_math=False)
        return ax
    foot = key_height(key, width=WIDTH_PX)
    figure = new_plot(height=24 + _ONE_PX + 56 + foot, heading=heading, alt=alt)
    draw_key(figure, key)
    return add_axes(figure, left=40, top=24, width=_ONE_PX, height=_ONE_PX)


def _draw_panels(
    sheet: Sheet, found: Sequence[Mapping[str, Any]], plane: _Plane, *, say: Words
) -> Figure:
    n_columns = 2 if len(found) <= 4 else 3
    n_rows = -(-len(found) // n_columns)
    left, gap, head = 40.0, 16.0, 30.0
    size = (WIDTH_PX - left - gap * (n_columns - 1) - 4) / n_columns
    key = _key(say)
    height = 26 + n_rows * (size + head + 14) + 42 + key_height(key, width=WIDTH_PX)
    figure = new_plot(
        height=height,
        heading=heading_of(sheet, say),
        alt=say("alt_scatter", judges=count_judges(len(found), say)),
    )
    note(figure, say("human_advantage"), x=left, y=height - 8)
    labels = distinct_labels((row["judge"] for row in found), width=int((size - 60) / 9.4))
    for place, (row, text) in enumerate(zip(found, labels, strict=True)):
        down, across = divmod(place, n_columns)
        top = 26 + head + down * (size + head + 14)
        axes = add_axes(figure, left=left + across * (size + gap), top=top, width=size, height=size)
        _draw_plane(axes, plane)
        _draw_points(axes, _points(row), colour=LIGHT["series-1"], size=8)
        is_last = place + n_columns >= len(found)
        _set_panel_scales(axes, plane, say, with_x=is_last, with_y=across == 0)
        _write_panel_heading(axes, row, text, say)
    draw_key(figure, key)
    foot = key_height(key, width=WIDTH_PX)
    note(figure, say("judge_advantage"), x=(left + WIDTH_PX) / 2, y=foot + 14, ha="center")
    return figure


def _write_panel_heading(axes: Axes, row: Mapping[str, Any], text: str, say: Words) -> None:
    shown = say.two_digits(number(row["winning_rate"]))
    style = {"transform": axes.transAxes, "va": "baseline"}
    write(axes, text, x=0, y=1.045, fontweight="bold", **style)
    write(axes, f"ω {shown}", x=1, y=1.045, ha="right", color=LIGHT["muted"], **style)


def _draw_cloud(
    sheet: Sheet,
    found: Sequence[Mapping[str, Any]],
    plane: _Plane,
    *,
    say: Words,
    ax: Axes | None,
) -> Figure:
    best = found[:_BEST]
    key = [*_judge_key(best, n_others=len(found) - len(best), say=say), *_key(say)]
    alt = say("alt_scatter", judges=count_judges(len(found), say))
    axes = _square(ax, key, heading=heading_of(sheet, say), alt=alt)
    _draw_plane(axes, plane)
    others = [point for row in found[_BEST:] for point in _points(row)]
    _draw_points(axes, others, colour=LIGHT["muted"], size=5, is_cloud=True)
    for place, row in reversed(list(enumerate(best))):
        marker = _MARKERS[place]
        _draw_points(axes, _points(row), colour=series(place), size=8, marker=marker)
    _set_scales(axes, plane, say, is_ours=ax is None)
    if ax is not None:
        legend(axes, key)
    return figure_of(axes)


def _draw_plane(axes: Axes, plane: _Plane) -> None:
    """Shade where the judge is at least as good (x ≥ y), and where it is worse by less than ε."""
    low, top, epsilon = plane.low, _TOP, plane.epsilon
    good = [(low, low), (top, low), (top, top)]
    axes.add_artist(_polygon(good, colour=LIGHT["region-1"], gid="region-1"))
    band = [(low, low), (top, top), *_margin_line(low, top, epsilon, plane.multiplicative)]
    axes.add_artist(_polygon(band, colour=LIGHT["region-2"], gid="region-2"))
    axes.plot([low, top], [low, top], color=LIGHT["ink"], linewidth=1.2, zorder=1.5, gid="diagonal")


def _margin_line(
    low: float,
    top: float,
    epsilon: float,
    multiplicative: bool,  # noqa: FBT001  # private
) -> list[tuple[float, float]]:
    """Return where x = y - ε, or x = (1 - ε)·y, meets the square, from top to bottom."""

    def least(y: float) -> float:
        return (1 - epsilon) * y if multiplicative else y - epsilon

    def most(x: float) -> float:
        return x / (1 - epsilon) if multiplicative else x + epsilon

    upper = (least(top), top) if least(top) >= low else (low, top)
    lower = (low, min(max(most(low), low), top))
    return [upper, lower]


def _polygon(corners: Sequence[tuple[float, float]], *, colour: str, gid: str) -> Any:
    from matplotlib.patches import Polygon

    return Polygon(list(corners), closed=True, facecolor=colour, linewidth=0, zorder=0.3, gid=gid)


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
        if is_cloud:
            style |= {"alpha": 0.45, "markeredgewidth": 1}
        if chosen:
            axes.plot(
                [point[0] for point in chosen],
                [point[1] for point in chosen],
                linestyle="none",
                zorder=3 if is_cloud else 4,
                gid="rejected" if rejected else "not-rejected",
                **style | {"marker": marker},
            )


def _set_scales(axes: Axes, plane: _Plane, say: Words, *, is_ours: bool) -> None:
    axes.set_xlim(plane.low, _TOP)
    axes.set_ylim(plane.low, _TOP)
    axes.set_aspect("equal", adjustable="box")
    ticks = nice_ticks(max(plane.low, 0), 1)
    set_x_ticks(axes, ticks, title=say("judge_advantage"), say=say, grid=False)
    set_y_ticks(axes, ticks, title=say("human_advantage"), say=say, grid=False, is_ours=is_ours)


def _set_panel_scales(axes: Axes, plane: _Plane, say: Words, *, with_x: bool, with_y: bool) -> None:
    axes.set_xlim(plane.low, _TOP)
    axes.set_ylim(plane.low, _TOP)
    ticks = nice_ticks(max(plane.low + 0.02, 0), 1, n=4)  # none in the corner, by the next panel
    set_x_ticks(axes, ticks if with_x else [], title="", say=say, grid=False)
    set_y_ticks(axes, ticks if with_y else [], title="", say=say, grid=False)


def _key(say: Words) -> list[KeyItem]:
    wins = {"linestyle": "none"} | mark_style("passed", LIGHT["ink"])
    wins_not = {"linestyle": "none"} | mark_style("failed", LIGHT["ink"])
    boxes = [{"facecolor": LIGHT[region], "linewidth": 0} for region in ("region-1", "region-2")]
    return [
        KeyItem(text=say("wins"), style=wins),
        KeyItem(text=say("wins_not"), style=wins_not),
        KeyItem(text=say("region_1"), style=boxes[0], box=True),
        KeyItem(text=say("region_2"), style=boxes[1], box=True),
    ]


def _judge_key(best: Sequence[Mapping[str, Any]], *, n_others: int, say: Words) -> list[KeyItem]:
    labels = distinct_labels((row["judge"] for row in best), width=20)
    items = [
        KeyItem(
            text=text,
            style={"linestyle": "none"}
            | mark_style("passed", series(place))
            | {"marker": _MARKERS[place]},
        )
        for place, text in enumerate(labels)
    ]
    grey = {"linestyle": "none"} | mark_style("passed", LIGHT["muted"], size=6)
    if n_others:
        items.append(KeyItem(text=say("others", n=n_others), style=grey))
    return items
