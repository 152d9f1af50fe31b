"""Lay out a figure: a heading, panels, and a key below, for the width at which it is shown.

The width of text is estimated, not measured, since the browser draws it in a font of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Affine2D

from voirdire.errors import InputError
from voirdire.reporting.plots.figure import PAD_PX, Plot
from voirdire.reporting.plots.style import (
    FONT_PX,
    LIGHT,
    SMALL_PX,
    WIDTH_PX,
    choose_outcome_colour,
    use_settings,
)
from voirdire.reporting.plots.words import estimate_px, estimate_widest_px, wrap_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

    from voirdire.reporting.plots.words import Words

__all__ = [
    "Frame",
    "Key",
    "Panel",
    "Style",
    "choose_ticks",
    "draw_chart",
    "keep_finite",
    "make_interval_key",
    "make_outcome_key",
    "make_square_panels",
    "measure_axes",
    "set_scale",
    "set_ticks",
    "style_area",
    "style_mark",
]

Style: TypeAlias = dict[str, Any]
"""How a line or a filled box is drawn, in matplotlib's words."""

Key: TypeAlias = list[tuple[str, Style]]
"""What symbols mean: the words, and the style of a line or box; without a style, words only."""

LINE_PX = 20.0
GAP_PX = 18.0
_SYMBOL_PX = 26.0
_NOTE_PX = 66.0
"""Room for a number beside the title of a small panel."""
_LITERALLY: Style = {"parse_math": False, "usetex": False}
_BOLD_PX = 1.08 * SMALL_PX
"""Bold letters are so much wider."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """Where a figure is drawn: its language, and a width in CSS pixels or axes of the caller."""

    say: Words
    width: float = WIDTH_PX
    ax: Axes | None = None


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes, with the room around them in pixels.

    `draw` draws the marks and sets limits and ticks. `title` and `note` stand above the axes, left
    and right; `y_title` below these. `width` is that of the axes where it is not what is left.
    """

    draw: Callable[[Axes], None]
    height: float
    width: float | None = None
    left: float = 42.0
    right: float = 8.0
    above: float = 6.0
    below: float = 24.0
    title: str = ""
    note: str = ""
    x_title: str = ""
    y_title: str = ""


def draw_chart(
    frame: Frame,
    *,
    heading: str,
    alt: str,
    panels: Sequence[Panel],
    key: Key | None = None,
    n_columns: int = 1,
) -> Figure:
    """Lay panels out in rows, or draw the first one on the caller's axes."""
    with use_settings():
        if frame.ax is not None:
            return _draw_on_axes(frame.ax, panels[0], heading=heading, key=key or [])
        column = (frame.width - (n_columns - 1) * GAP_PX) / n_columns
        places = [_Place(each, column) for each in panels]
        rows = [places[at : at + n_columns] for at in range(0, len(places), n_columns)]
        width = max([frame.width, *(each.right for each in places if n_columns == 1)])
        titles = wrap_text(heading, size=1.08 * FONT_PX, width=width)
        lines = _wrap_key(key or [], width)
        head = len(titles) * LINE_PX + 8
        body = sum(max(each.height for each in row) for row in rows) + GAP_PX * (len(rows) - 1)
        height = head + body + len(lines) * LINE_PX + 10 * bool(lines)
        figure = Plot(width=width, height=height, alt=alt)
        bold: Style = {"fontweight": "bold", "fontsize": FONT_PX, "color": LIGHT["ink"]}
        _write_lines(figure, titles, x=0, top=0, **bold)
        top = head
        for row in rows:
            above = max(each.above for each in row)
            for place, each in enumerate(row):
                _draw_panel(figure, each, left=place * (column + GAP_PX), top=top, above=above)
            top += max(each.height for each in row) + GAP_PX
        _draw_key(figure, lines, top=height - len(lines) * LINE_PX)
        if width > frame.width:
            figure.min_width_px = width
        return figure


def make_square_panels(
    squares: Sequence[tuple[str, str, Callable[[Axes], None]]], frame: Frame
) -> tuple[list[Panel], int]:
    """Make square panels in as many columns as possible without breaking a word of a title."""
    words = [part for title, _, _ in squares for part in wrap_text(title, width=0)]
    needed = estimate_widest_px(words, _BOLD_PX) + GAP_PX + _NOTE_PX
    most = 2 if len(squares) <= 4 else 3
    fitting = (n for n in range(most, 1, -1) if (frame.width + GAP_PX) / n >= needed)
    n_columns = next(fitting, 1)
    side = min((frame.width - (n_columns - 1) * GAP_PX) / n_columns - 42, 320.0)
    panels = [
        Panel(draw=draw, height=side, width=side, left=34, title=title, note=note)
        for title, note, draw in squares
    ]
    return panels, n_columns


def _draw_on_axes(ax: Axes, panel: Panel, *, heading: str, key: Key) -> Figure:
    """Draw a panel on axes that the caller laid out, with the key as their legend."""
    figure = ax.get_figure(root=True)
    if figure is None:
        msg = "`ax` must be on a figure, got axes that are on none."
        raise InputError(msg)
    ax.set_facecolor("none")
    ax.spines[:].set_visible(False)
    ax.set_axisbelow(True)
    panel.draw(ax)
    has_title = panel.above < LINE_PX  # else names stand there
    if has_title:
        ax.set_title(heading, parse_math=False)
    ax.set_xlabel(panel.x_title if has_title else heading, parse_math=False)
    ax.set_ylabel(panel.y_title, parse_math=False)
    if key:
        handles = [
            Patch(label=text, **style)
            if "facecolor" in style
            else Line2D([], [], label=text, **(style or {"linestyle": "none"}))
            for text, style in key
        ]
        for text in ax.legend(handles=handles, frameon=False, loc="best").get_texts():
            text.set_parse_math(False)
    return figure


# Layout ---------------------------------------------------------------------------------------


class _Place:
    """A panel with its texts in lines and the size it takes."""

    def __init__(self, panel: Panel, column: float) -> None:
        self.panel, self.column = panel, column
        room = column - estimate_px(panel.note) - 8 * bool(panel.note)
        self.titles = wrap_text(panel.title, size=_BOLD_PX, width=room)
        self.x_titles = wrap_text(panel.x_title, width=column)
        self.y_titles = wrap_text(panel.y_title, width=column)
        self.width = panel.width or column - panel.left - panel.right
        self.right = panel.left + self.width + panel.right
        self.n_titles = max(len(self.titles), bool(panel.note))
        self.above = (self.n_titles + len(self.y_titles)) * LINE_PX + panel.above
        below = panel.below + len(self.x_titles) * LINE_PX
        self.height = self.above + panel.height + below


def _draw_panel(figure: Plot, place: _Place, *, left: float, top: float, above: float) -> None:
    """Put axes at their place and write what stands around them."""
    panel, start = place.panel, top + above - place.above
    bold = {"fontweight": "bold", "color": LIGHT["ink"]}
    _write_lines(figure, place.titles, x=left, top=start, **bold)
    _write_lines(figure, [panel.note], x=left + place.column, top=start, ha="right")
    _write_lines(figure, place.y_titles, x=left, top=start + place.n_titles * LINE_PX)
    width, height = (size + 2 * PAD_PX for size in figure.inner_px)
    axes_left, bottom = left + panel.left, top + above + panel.height
    axes = figure.add_axes(
        (
            (axes_left + PAD_PX) / width,
            (height - PAD_PX - bottom) / height,
            place.width / width,
            panel.height / height,
        )
    )
    panel.draw(axes)
    half = estimate_widest_px(place.x_titles) / 2
    middle = min(max(axes_left + place.width / 2, left + half), left + place.column - half)
    _write_lines(figure, place.x_titles, x=middle, top=bottom + panel.below, ha="center")


def _make_pixel_transform(figure: Plot) -> Transform:
    """Return the transform of pixels from the upper left corner within the margin."""
    flipped = Affine2D().scale(1, -1).translate(PAD_PX, PAD_PX + figure.inner_px[1])
    return flipped.scale(1 / 72) + figure.dpi_scale_trans


def _write_lines(
    figure: Plot, lines: Sequence[str], *, x: float, top: float, **style: Any
) -> list[Any]:
    """Write lines of text, the upper edge of the first at `top`."""
    usual: Style = {
        "color": LIGHT["muted"],
        "va": "baseline",
        "transform": _make_pixel_transform(figure),
    }
    return [
        figure.text(x, top + (number + 1) * LINE_PX - 6, line, **(usual | style))
        for number, line in enumerate(lines)
        if line
    ]


# The key --------------------------------------------------------------------------------------


def _wrap_key(key: Key, width: float) -> list[list[tuple[float, str, Style]]]:
    """Wrap the key into lines of texts with their places; continued lines have no symbol."""
    lines: list[list[tuple[float, str, Style]]] = []
    used = math.inf
    for text, style in key:
        symbol = _SYMBOL_PX if style else 0.0
        first, *others = wrap_text(text, width=width - symbol)
        needed = symbol + estimate_widest_px([first, *others])
        if used + needed > width or others:
            lines.append([])
            used = 0.0
        lines[-1].append((used, first, style))
        lines += [[(symbol, part, {})] for part in others]
        used = math.inf if others else used + needed + GAP_PX
    return lines


def _draw_key(figure: Plot, lines: list[list[tuple[float, str, Style]]], *, top: float) -> None:
    place = _make_pixel_transform(figure)
    for number, line in enumerate(lines):
        y = top + (number + 0.5) * LINE_PX
        for x, text, style in line:
            if "facecolor" in style:
                figure.add_artist(Rectangle((x, y - 6), 18, 12, transform=place, **style))
            elif style:
                is_point = style.get("linestyle") == "none"
                xs = [x + 9] if is_point else [x, x + 9, x + 18]
                line_style = style | {"transform": place, "markevery": [len(xs) // 2]}
                figure.add_artist(Line2D(xs, [y] * len(xs), **line_style))
            start = x + (_SYMBOL_PX if style else 0.0)
            _write_lines(figure, [text], x=start, top=y - LINE_PX / 2)


def style_area(role: str, **style: Any) -> Style:
    """Style an area in the colour of a role."""
    return {"facecolor": LIGHT[role], "linewidth": 0} | style


def style_mark(outcome: str | None, colour: str, *, size: float = 9) -> Style:
    """Style a point by its outcome.

    Passed is filled, passed but close half filled, failed hollow, no evidence a cross, a control
    a diamond.
    """
    paper = LIGHT["paper"]
    style: Style = {"linestyle": "none", "color": colour, "markersize": size}
    if outcome == "no_evidence":
        cross = {"marker": "X", "markeredgewidth": 1, "markeredgecolor": paper}
        return style | cross | {"markersize": size + 3}
    if outcome == "control":
        return style | {"marker": "D", "markersize": size - 2}
    style |= {"marker": "o", "markeredgewidth": 2, "markeredgecolor": colour}
    if outcome == "close":
        return style | {"fillstyle": "bottom", "markerfacecoloralt": paper}
    return style | {"markerfacecolor": paper if outcome == "failed" else colour}


def make_outcome_key(outcomes: Iterable[str], say: Words) -> Key:
    """Explain the marks of the outcomes that occur."""
    occurring = set(outcomes)
    return [
        (say(outcome), style_mark(outcome, choose_outcome_colour(outcome)))
        for outcome in ("passed", "close", "failed", "no_evidence")
        if outcome in occurring
    ]


def make_interval_key(level: float, say: Words, *, colour: str = LIGHT["ink"]) -> Key:
    """Explain the line of an interval, where its level is known."""
    return [] if math.isnan(level) else [(say("interval", level=level), {"color": colour})]


# On axes --------------------------------------------------------------------------------------


def measure_axes(axes: Axes) -> tuple[float, float]:
    """Return width and height of axes in pixels."""
    place = axes.get_position()
    figure = axes.get_figure(root=True)
    width, height = (float(size) * 72 for size in figure.get_size_inches())  # type: ignore[union-attr]
    return place.width * width, place.height * height


def set_ticks(axis: Any, places: Sequence[float], texts: Sequence[str], **style: Any) -> None:
    """Put literal texts at an axis."""
    style = {"fontsize": SMALL_PX, "color": LIGHT["ink"]} | style
    axis.set_ticks(list(places), labels=list(texts), **_LITERALLY, **style)
    axis.set_tick_params(which="both", length=0, pad=6)


def set_scale(
    axis: Any,
    low: float,
    high: float,
    say: Words,
    *,
    pad: float = 0.0,
    ticks: Sequence[float] | None = None,
    grid: bool = True,
    text: Callable[[float], str] | None = None,
) -> None:
    """Show an axis from `low` to `high` and `pad` beyond, with plain numbers and lines at them.

    Without `ticks` they are as many round numbers as the axis has room for.
    """
    set_limits = axis.axes.set_xlim if axis.axis_name == "x" else axis.axes.set_ylim
    set_limits(low - pad, high + pad)
    values = choose_ticks(axis, low, high) if ticks is None else ticks
    set_ticks(axis, values, [(text or say.digits)(value) for value in values], color=LIGHT["muted"])
    if grid:
        axis.grid(visible=True, color=LIGHT["grid"], linewidth=1, linestyle="-", alpha=1)


def choose_ticks(axis: Any, low: float, high: float, *, whole: bool = False) -> list[float]:
    """Return as many round numbers from `low` to `high` as the axis has room for."""
    width, height = measure_axes(axis.axes)
    room = width / 48 if axis.axis_name == "x" else height / 42
    steps = [1, 2, 5, 10] if whole else [1, 2, 2.5, 5, 10]
    locator = MaxNLocator(nbins=max(2, min(6, int(room))), steps=steps, integer=whole)
    slack = 1e-9 * max(abs(low), abs(high), 1)
    values = locator.tick_values(low, high)
    return [float(value) for value in values if low - slack <= value <= high + slack]


def keep_finite(values: Iterable[float]) -> list[float]:
    """Keep the finite values."""
    return [value for value in values if math.isfinite(value)]
