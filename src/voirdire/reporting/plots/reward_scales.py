"""Origin and scale of the rule rewards of each behavior, side by side on one axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.canvas import (
    add_axes,
    clear,
    figure_of,
    new_plot,
    nice_ticks,
    set_ticks,
    set_x_ticks,
)
from voirdire.reporting.plots.marks import KeyItem, draw_key, key_height, legend
from voirdire.reporting.plots.names import distinct_labels, label, widest_px
from voirdire.reporting.plots.reward_sheet import reward_sheet
from voirdire.reporting.plots.reward_words import reward_words_in
from voirdire.reporting.plots.rows import number
from voirdire.reporting.plots.style import FONT_PX, LIGHT, WIDTH_PX, settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language
    from voirdire.reporting.plots.reward_sheet import RewardSheet
    from voirdire.reporting.plots.reward_words import RewardWords

__all__ = ["draw_reward_scales"]

MOST_BEHAVIORS = 20
_ROW_PX = 40.0
_RANGE: dict[str, Any] = {"color": LIGHT["muted"], "linewidth": 1.4}
_SPREAD: dict[str, Any] = {"color": LIGHT["series-1"], "linewidth": 7, "solid_capstyle": "butt"}
_MEAN: dict[str, Any] = {"marker": "o", "markersize": 5, "color": LIGHT["paper"]}
_IDEAL: dict[str, Any] = {"marker": "^", "markersize": 9, "color": LIGHT["pass"]}
_WORST: dict[str, Any] = {"marker": "v", "markersize": 9, "color": LIGHT["fail"]}


def draw_reward_scales(result: Any, *, language: Language = "en", ax: Axes | None = None) -> Figure:
    """Draw where the rule rewards of each behavior lie.

    Parameters
    ----------
    result : RewardExamination or mapping
        What `examine_reward` returns, or the parsed JSON of ``voirdire examine-reward --json``.
    language : {"en", "zh"}, optional
        Of the words in the figure.
    ax : matplotlib.axes.Axes, optional
        Draw on these axes, laid out by the caller.

    Returns
    -------
    matplotlib.figure.Figure
        A row per behavior: range, mean and standard deviation, best and worst label.

    Raises
    ------
    InputError
        If the result is no examination of a reward, or has no scales.
    """
    say = reward_words_in(language)
    sheet = reward_sheet(result)
    rows = [row for row in sheet.scales if math.isfinite(number(row["mean"]))][:MOST_BEHAVIORS]
    if not rows:
        msg = "`result` must hold the scale of a behavior, got none."
        raise InputError(msg)
    texts = distinct_labels([row["behavior"] for row in rows], width=26)
    key = _key(say)
    with settings():
        axes = _laid_out(sheet, texts, key, say) if ax is None else ax
        if ax is not None:
            clear(axes)
        for place, row in enumerate(rows):
            _draw_row(axes, row, place=place)
        _set_scale(axes, rows, texts, say)
        if ax is not None:
            legend(axes, key)
        return figure_of(axes)


def _laid_out(
    sheet: RewardSheet, texts: Sequence[str], key: Sequence[KeyItem], say: RewardWords
) -> Axes:
    body = len(texts) * _ROW_PX
    left = widest_px(texts, FONT_PX) + 12
    figure = new_plot(
        height=body + 58 + key_height(key, width=WIDTH_PX),
        heading=say("scales_title", name=label(sheet.name, width=36)),
        alt=say("alt_scales"),
    )
    axes = add_axes(figure, left=left, top=0, width=WIDTH_PX - left - 14, height=body)
    draw_key(figure, key)
    return axes


def _draw_row(axes: Axes, row: dict[str, Any], *, place: int) -> None:
    mean, deviation = number(row["mean"]), number(row["standard_deviation"])
    ends = [number(row["lowest"]), number(row["highest"])]
    if all(map(math.isfinite, ends)):
        axes.plot(ends, [place, place], zorder=1.6, gid=f"range-{place}", **_RANGE)
    if math.isfinite(deviation):
        spread = [mean - deviation, mean + deviation]
        axes.plot(spread, [place, place], zorder=2, gid=f"spread-{place}", **_SPREAD)
    marks = (
        ("mean", mean, _MEAN, 0.0),
        ("ideal", number(row["mean_ideal"]), _IDEAL, 0.3),
        ("worst", number(row["mean_worst"]), _WORST, -0.3),
    )
    for name, value, style, below in marks:
        if math.isfinite(value):
            gid = f"{name}-{place}"
            axes.plot([value], [place + below], linestyle="none", zorder=3, gid=gid, **style)


def _set_scale(
    axes: Axes, rows: Sequence[dict[str, Any]], texts: Sequence[str], say: RewardWords
) -> None:
    names = ("mean", "lowest", "highest", "mean_ideal", "mean_worst")
    values = [number(row[name]) for row in rows for name in names]
    for row in rows:
        mean, deviation = number(row["mean"]), number(row["standard_deviation"])
        values += [mean - deviation, mean + deviation]
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite), max(finite)
    pad = 0.04 * (high - low) or 0.5
    axes.set_xlim(low - pad, high + pad)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    set_x_ticks(axes, nice_ticks(low, high), title=say("scales_axis"), say=say)
    set_ticks(axes.yaxis, range(len(rows)), texts, fontsize=FONT_PX)


def _key(say: RewardWords) -> list[KeyItem]:
    return [
        KeyItem(text=say("scales_range"), style=_RANGE),
        KeyItem(text=say("scales_spread"), style=_SPREAD),
        KeyItem(text=say("scales_ideal"), style={"linestyle": "none"} | _IDEAL),
        KeyItem(text=say("scales_worst"), style={"linestyle": "none"} | _WORST),
    ]
