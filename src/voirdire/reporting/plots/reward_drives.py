"""What drives the reward of a behavior: weights with intervals, and what each does to rankings."""

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
    note,
    set_ticks,
    set_x_ticks,
    write,
)
from voirdire.reporting.plots.marks import KeyItem, draw_key, key_height, legend, mark_style
from voirdire.reporting.plots.names import distinct_labels, label, widest_px
from voirdire.reporting.plots.reward_sheet import reward_sheet
from voirdire.reporting.plots.reward_words import reward_words_in
from voirdire.reporting.plots.rows import number
from voirdire.reporting.plots.style import LIGHT, SMALL_PX, settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language
    from voirdire.reporting.plots.reward_sheet import RewardSheet
    from voirdire.reporting.plots.reward_words import RewardWords

__all__ = ["draw_reward_drives"]

MOST_FEATURES = 40
_WIDTH_PX = 690.0
_ROW_PX = 23.0
_HEAD_PX = 24.0
_BARS_PX = 130.0
_NUMBER_PX = 46.0
_GAP_PX = 20.0


def draw_reward_drives(
    result: Any,
    *,
    behavior: str | None = None,
    language: Language = "en",
    ax: Axes | None = None,
) -> Figure:
    """Draw the weights of one behavior's features, and their share of the spread.

    Parameters
    ----------
    result : RewardExamination or mapping
        What `examine_reward` returns, or the parsed JSON of ``voirdire examine-reward --json``.
    behavior : str, optional
        Which, of several; by default the first.
    language : {"en", "zh"}, optional
        Of the words in the figure.
    ax : matplotlib.axes.Axes, optional
        Draw on these axes, laid out by the caller; then only the weights.

    Returns
    -------
    matplotlib.figure.Figure
        A row per feature, the one that moves rankings most on top: its weight with the interval
        of the fit, and its share of the spread within prompts.

    Raises
    ------
    InputError
        If the result is no examination of a reward, or has no weights of that behavior.
    """
    say = reward_words_in(language)
    sheet = reward_sheet(result, behavior=behavior)
    found = [
        row
        for row in sheet.drives
        if row["behavior"] == sheet.behavior and math.isfinite(number(row["weight"]))
    ]
    if not found:
        msg = f"`result` must hold weights of {label(sheet.behavior)!r}, got none."
        raise InputError(msg)
    rows = sorted(found, key=_rank)[:MOST_FEATURES]
    with settings():
        if ax is None:
            return _draw_both(sheet, rows, n_features=len(found), say=say)
        clear(ax)
        _draw_weights(ax, rows, say)
        set_ticks(ax.yaxis, range(len(rows)), _names(rows, say))
        ax.set_xlabel(say("drives_weight"), parse_math=False)
        legend(ax, _key(rows, sheet, say))
        return figure_of(ax)


def _rank(row: dict[str, Any]) -> tuple[float, float]:
    share = number(row["share"])
    return (-share if math.isfinite(share) else math.inf, -abs(number(row["weight"])))


def _names(rows: Sequence[dict[str, Any]], say: RewardWords) -> list[str]:
    texts = []
    for row in rows:
        name, prefix = str(row["feature"]), f"{row['behavior']}."
        is_class = name.startswith(prefix)
        texts.append(say("drives_class", name=name.removeprefix(prefix)) if is_class else name)
    return distinct_labels(texts, width=30)


def _draw_both(
    sheet: RewardSheet, rows: Sequence[dict[str, Any]], *, n_features: int, say: RewardWords
) -> Figure:
    texts = _names(rows, say)
    left = min(widest_px(texts, SMALL_PX), 270.0) + 12
    body = len(rows) * _ROW_PX + 6
    key = _key(rows, sheet, say)
    heading = say("drives_title", behavior=label(sheet.behavior, width=36))
    if len(rows) < n_features:
        heading += f", {say('drives_first', n=len(rows), total=n_features)}"
    figure = new_plot(
        height=_HEAD_PX + body + 34 + key_height(key, width=_WIDTH_PX),
        width=_WIDTH_PX,
        heading=heading,
        alt=say("alt_drives", behavior=label(sheet.behavior, width=36)),
    )
    wide = _WIDTH_PX - left - _GAP_PX - _BARS_PX - _NUMBER_PX
    weights = add_axes(figure, left=left, top=_HEAD_PX, width=wide, height=body)
    bars_at = left + wide + _GAP_PX
    bars = add_axes(figure, left=bars_at, top=_HEAD_PX, width=_BARS_PX, height=body)
    _draw_weights(weights, rows, say)
    set_ticks(weights.yaxis, range(len(rows)), texts, fontsize=SMALL_PX)
    _draw_shares(bars, rows, say)
    top = figure.inner_px[1] - figure.heading_px - 10
    style: dict[str, Any] = {"color": LIGHT["ink"], "fontweight": "bold"}
    note(figure, say("drives_weight"), x=left + wide / 2, y=top, ha="center", **style)
    note(figure, say("drives_share"), x=bars_at, y=top, **style)
    draw_key(figure, key)
    return figure


def _draw_weights(axes: Axes, rows: Sequence[dict[str, Any]], say: RewardWords) -> None:
    ends = [0.0]
    for place, row in enumerate(rows):
        colour = _colour(row)
        value, low, high = (number(row[name]) for name in ("weight", "low", "high"))
        if math.isfinite(low) and math.isfinite(high):
            line: dict[str, Any] = {"color": colour, "linewidth": 2, "solid_capstyle": "butt"}
            axes.plot([low, high], [place, place], zorder=2, gid=f"interval-{place}", **line)
            ends += [low, high]
        style = mark_style("passed" if row["is_certified"] else "failed", colour, size=8)
        axes.plot([value], [place], linestyle="none", zorder=3, gid=f"weight-{place}", **style)
        ends.append(value)
    low, high = min(ends), max(ends)
    pad = 0.05 * (high - low) or 0.5
    axes.axvline(0, color=LIGHT["ink"], linewidth=1.2, zorder=1.5, gid="zero")
    axes.set_xlim(low - pad, high + pad)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    set_x_ticks(axes, nice_ticks(low, high), title="", say=say)


def _colour(row: dict[str, Any]) -> str:
    if row["is_contradictory"]:
        return LIGHT["fail"]
    return LIGHT["muted"] if row["is_dead"] else LIGHT["series-1"]


def _draw_shares(axes: Axes, rows: Sequence[dict[str, Any]], say: RewardWords) -> None:
    shares = [number(row["share"]) for row in rows]
    most = max([0.01, *filter(math.isfinite, shares)])
    for place, (row, share) in enumerate(zip(rows, shares, strict=True)):
        if math.isfinite(share):
            colour = _colour(row)
            axes.barh([place], [share], height=0.55, color=colour, zorder=2, gid=f"share-{place}")
        style: dict[str, Any] = {"color": LIGHT["muted"], "transform": axes.get_yaxis_transform()}
        at = (share / most if math.isfinite(share) else 0.0) + 0.05
        write(axes, say.percent(share), x=at, y=place, **style)
    axes.set_xlim(0, most)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xticks([])
    axes.set_yticks([])


def _key(rows: Sequence[dict[str, Any]], sheet: RewardSheet, say: RewardWords) -> list[KeyItem]:
    plain: dict[str, Any] = {"linestyle": "none"}
    colour = LIGHT["series-1"]
    items = [
        KeyItem(text=say(word), style=plain | mark_style(outcome, colour, size=8))
        for word, outcome, is_there in (
            ("certified", "passed", any(row["is_certified"] for row in rows)),
            ("uncertified", "failed", not all(row["is_certified"] for row in rows)),
        )
        if is_there
    ]
    for word, role, flag in (
        ("contradictory", "fail", "is_contradictory"),
        ("dead", "muted", "is_dead"),
    ):
        if any(row[flag] for row in rows):
            items.append(
                KeyItem(text=say(word), style={"facecolor": LIGHT[role], "linewidth": 0}, box=True)
            )
    if math.isfinite(sheet.level) and any(math.isfinite(number(row["low"])) for row in rows):
        items.append(
            KeyItem(
                text=say("interval", level=sheet.level), style={"color": colour, "linewidth": 2}
            )
        )
    return items
