"""Centred rewards by completion label: a row per label, a column for each of the three rewards.

Rows instead of histograms over each other: five labels over each other cannot be told apart.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.canvas import (
    add_axes,
    clear,
    figure_of,
    new_plot,
    nice_ticks,
    note,
    set_ticks,
    set_x_ticks,
)
from voirdire.reporting.plots.marks import KeyItem, draw_key, key_height, legend
from voirdire.reporting.plots.names import distinct_labels, label, widest_px
from voirdire.reporting.plots.reward_sheet import reward_sheet
from voirdire.reporting.plots.reward_words import reward_words_in
from voirdire.reporting.plots.rows import number
from voirdire.reporting.plots.style import FONT_PX, LIGHT, SMALL_PX, settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language
    from voirdire.reporting.plots.figure import Plot
    from voirdire.reporting.plots.reward_sheet import RewardSheet
    from voirdire.reporting.plots.reward_words import RewardWords

__all__ = ["draw_reward_histograms"]

MOST_LABELS = 12
_WIDTH_PX = 690.0
_ROW_PX = 46.0
_HEAD_PX = 24.0
_GAP_PX = 22.0
_TALLEST = 0.84
"""Height of the tallest bar, as a share of its row."""


def draw_reward_histograms(
    result: Any,
    *,
    behavior: str | None = None,
    language: Language = "en",
    ax: Axes | None = None,
) -> Figure:
    """Draw the centred rewards of one behavior by completion label.

    Parameters
    ----------
    result : RewardExamination or mapping
        What `examine_reward` returns, or the parsed JSON of ``voirdire examine-reward --json``.
    behavior : str, optional
        Which, of several; by default the first.
    language : {"en", "zh"}, optional
        Of the words in the figure.
    ax : matplotlib.axes.Axes, optional
        Draw on these axes, laid out by the caller; then only base and rules together.

    Returns
    -------
    matplotlib.figure.Figure
        A column for each reward; 0 is the mean of the best label for the same prompt.

    Raises
    ------
    InputError
        If the result is no examination of a reward, or has no such histograms.
    """
    say = reward_words_in(language)
    sheet = reward_sheet(result, behavior=behavior)
    columns = _columns(sheet)
    if not columns:
        msg = f"`result` must hold histograms of {label(sheet.behavior)!r}, got none."
        raise InputError(msg)
    labels = list(dict.fromkeys(str(row["label"]) for rows in columns.values() for row in rows))
    labels = labels[:MOST_LABELS]
    with settings():
        if ax is None:
            return _draw_columns(sheet, columns, labels, say)
        clear(ax)
        shown = "total" if "total" in columns else next(iter(columns))
        _draw_column(ax, columns[shown], labels, say)
        set_ticks(ax.yaxis, range(len(labels)), distinct_labels(labels, width=20))
        ax.set_xlabel(_axis_title(labels[0], say), parse_math=False)
        legend(ax, _key(labels[0], say))
        return figure_of(ax)


def _columns(sheet: RewardSheet) -> dict[str, list[dict[str, Any]]]:
    columns: dict[str, list[dict[str, Any]]] = {}
    for signal in sheet.signals:
        rows = [
            row
            for row in sheet.histograms
            if row["behavior"] == sheet.behavior and row["signal"] == signal and sum(row["counts"])
        ]
        if rows:
            columns[signal] = rows
    return columns


def _axis_title(best: str, say: RewardWords) -> str:
    return say("histograms_axis", best=label(best, width=16))


def _key(best: str, say: RewardWords) -> list[KeyItem]:
    name = label(best, width=16)
    boxes = (("is_best", "series-1"), ("below_best", "series-8"), ("above_best", "fail"))
    items = [
        KeyItem(
            text=say(word, best=name), style={"facecolor": LIGHT[role], "linewidth": 0}, box=True
        )
        for word, role in boxes
    ]
    mark = {"color": LIGHT["ink"], "linewidth": 2}
    return [*items, KeyItem(text=say("label_mean"), style=mark)]


def _draw_columns(
    sheet: RewardSheet,
    columns: dict[str, list[dict[str, Any]]],
    labels: Sequence[str],
    say: RewardWords,
) -> Figure:
    texts = distinct_labels(labels, width=20)
    left = widest_px(texts, FONT_PX) + 14
    body = len(labels) * _ROW_PX
    key = _key(labels[0], say)
    figure = new_plot(
        height=_HEAD_PX + body + 58 + key_height(key, width=_WIDTH_PX),
        width=_WIDTH_PX,
        heading=say("histograms_title", behavior=label(sheet.behavior, width=36)),
        alt=say("alt_histograms", behavior=label(sheet.behavior, width=36)),
    )
    wide = (_WIDTH_PX - left - _GAP_PX * (len(columns) - 1) - 8) / len(columns)
    for place, (signal, rows) in enumerate(columns.items()):
        start = left + place * (wide + _GAP_PX)
        axes = add_axes(figure, left=start, top=_HEAD_PX, width=wide, height=body)
        _draw_column(axes, rows, labels, say, n_ticks=max(3, round(wide / 50)))
        _write_head(figure, say(signal), x=start + wide / 2)
        if not place:
            set_ticks(axes.yaxis, range(len(labels)), texts, fontsize=FONT_PX, va="bottom")
    foot = key_height(key, width=_WIDTH_PX)
    note(figure, _axis_title(labels[0], say), x=(left + _WIDTH_PX) / 2, y=foot + 16, ha="center")
    draw_key(figure, key)
    return figure


def _write_head(figure: Plot, text: str, *, x: float) -> None:
    top = figure.inner_px[1] - figure.heading_px - 10
    style: dict[str, Any] = {"ha": "center", "color": LIGHT["ink"], "fontweight": "bold"}
    note(figure, text, x=x, y=top, fontsize=SMALL_PX, **style)


def _draw_column(
    axes: Axes,
    rows: Sequence[dict[str, Any]],
    labels: Sequence[str],
    say: RewardWords,
    *,
    n_ticks: int = 6,
) -> None:
    by_label = {str(row["label"]): row for row in rows}
    tallest = max(max(row["counts"]) / sum(row["counts"]) for row in rows)
    for place, name in enumerate(labels):
        if name in by_label:
            _draw_label(axes, by_label[name], place=place, tallest=tallest, is_best=not place)
    for place in range(len(labels)):
        axes.axhline(place, color=LIGHT["grid"], linewidth=1, zorder=0.5)
    low, high = _ends(rows)
    axes.axvline(0, color=LIGHT["ink"], linewidth=1.2, zorder=2.5, gid="zero")
    axes.set_xlim(low, high)
    axes.set_ylim(len(labels) - 0.94, -0.94)
    set_x_ticks(axes, nice_ticks(low, high, n=n_ticks), title="", say=say, grid=False)
    axes.set_yticks([])


def _ends(rows: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Leave empty bins at both ends out; 0 is always there."""
    filled = [
        (a, b)
        for row in rows
        for (a, b), count in zip(pairwise(row["edges"]), row["counts"], strict=True)
        if count
    ]
    low = min([0.0, *(a for a, _ in filled)])
    high = max([0.0, *(b for _, b in filled)])
    return low, high


def _draw_label(
    axes: Axes, row: dict[str, Any], *, place: int, tallest: float, is_best: bool
) -> None:
    total = sum(row["counts"])
    heights = [count / total / tallest * _TALLEST for count in row["counts"]]
    sides = (
        [("best", -math.inf, math.inf, "series-1")]
        if is_best
        else [("below", -math.inf, 0.0, "series-8"), ("above", 0.0, math.inf, "fail")]
    )
    for side, low, high, role in sides:
        corners = _outline(row["edges"], heights, low=low, high=high)
        if corners:
            _fill(axes, corners, place=place, role=role, gid=f"{side}-{place}")
    mean = number(row["mean"])
    if math.isfinite(mean):
        ends = [place, place - _TALLEST * 0.55]
        style: dict[str, Any] = {"color": LIGHT["ink"], "linewidth": 2, "zorder": 3}
        axes.plot([mean, mean], ends, solid_capstyle="butt", gid=f"mean-{place}", **style)


def _outline(
    edges: Sequence[float], heights: Sequence[float], *, low: float, high: float
) -> list[tuple[float, float]]:
    """Give the corners of the bars between `low` and `high`, along the baseline and back."""
    tops = []
    for (start, end), height in zip(pairwise(edges), heights, strict=True):
        a, b = max(start, low), min(end, high)
        if a < b:
            tops += [(a, height), (b, height)]
    if not any(height for _, height in tops):
        return []
    return [(tops[0][0], 0.0), *tops, (tops[-1][0], 0.0)]


def _fill(
    axes: Axes, corners: Sequence[tuple[float, float]], *, place: int, role: str, gid: str
) -> None:
    from matplotlib.patches import Polygon

    points = [(x, place - height) for x, height in corners]
    colour = LIGHT[role]
    axes.add_artist(Polygon(points, facecolor=colour, linewidth=0, alpha=0.85, zorder=2, gid=gid))
