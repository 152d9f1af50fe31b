"""What every figure is made of: a heading, panels, and a key below, at the width it is seen at.

The room for text is estimated, not measured: a browser draws it in a font that is not here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.style import (
    FONT_PX,
    LIGHT,
    NARROW_PX,
    SMALL_PX,
    WIDTH_PX,
    outcome_colour,
    settings,
)
from voirdire.reporting.plots.words import text_px, wrap_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

    from voirdire.reporting.plots.figure import Plot
    from voirdire.reporting.plots.words import Words

__all__ = [
    "Frame",
    "KeyItem",
    "Panel",
    "columns_for",
    "draw_chart",
    "finite",
    "interval_item",
    "mark_style",
    "nice_ticks",
    "outcome_key",
    "set_numbers",
    "set_ticks",
    "size_px",
    "write",
]

LINE_PX = 20.0
GAP_PX = 18.0
_SYMBOL_PX = 26.0
_NOTE_PX = 66.0
"""Room for a number beside the title of a small panel."""
_LITERALLY: dict[str, Any] = {"parse_math": False, "usetex": False}
_BOLD = 1.08
"""Bold letters are so much wider."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What a figure is drawn for: a language, and a width in CSS pixels or axes of the caller."""

    say: Words
    width: float = WIDTH_PX
    ax: Axes | None = None

    @property
    def is_narrow(self) -> bool:
        """Whether it is seen on a telephone."""
        return self.width < NARROW_PX


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


@dataclass(frozen=True, kw_only=True)
class KeyItem:
    """A symbol with its meaning; `style` is that of a line, or of a filled box if `box`.

    Without a style it is words only.
    """

    text: str
    style: dict[str, Any] = field(default_factory=dict)
    box: bool = False


def draw_chart(
    frame: Frame,
    *,
    heading: str,
    alt: str,
    panels: Sequence[Panel],
    key: Sequence[KeyItem] = (),
    n_columns: int = 1,
) -> Figure:
    """Lay panels out in rows, or draw the first one on the caller's axes."""
    with settings():
        if frame.ax is not None:
            return _draw_on(frame.ax, panels[0], heading=heading, key=key)
        column = (frame.width - (n_columns - 1) * GAP_PX) / n_columns
        places = [_lay_out(each, column) for each in panels]
        rows = [places[at : at + n_columns] for at in range(0, len(places), n_columns)]
        width = max([frame.width, *(each.right for row in rows for each in row if n_columns == 1)])
        titles = wrap_text(heading, size=FONT_PX * _BOLD, width=width)
        lines = _key_lines(key, width)
        head = len(titles) * LINE_PX + 8
        body = sum(max(each.height for each in row) for row in rows)
        height = head + body + GAP_PX * (len(rows) - 1) + len(lines) * LINE_PX + 10 * bool(lines)
        figure = _new_figure(titles, width=width, height=height, head=head, alt=alt)
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


def columns_for(titles: Sequence[str], frame: Frame, *, most: int) -> int:
    """Return in how many columns panels fit with these titles, no word of which is broken."""
    words = [part for text in titles for part in wrap_text(text, size=SMALL_PX, width=0)]
    widest = max((text_px(word, SMALL_PX * _BOLD) for word in words), default=0.0)
    needed = widest + GAP_PX + _NOTE_PX
    fitting = (n for n in range(most, 1, -1) if (frame.width + GAP_PX) / n >= needed)
    return next(fitting, 1)


def _draw_on(ax: Axes, panel: Panel, *, heading: str, key: Sequence[KeyItem]) -> Figure:
    """Draw a panel on axes that the caller laid out, with the key as their legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure = ax.get_figure(root=True)
    if figure is None:
        msg = "`ax` must be on a figure, got axes that are on none."
        raise InputError(msg)
    _clear(ax)
    panel.draw(ax)
    if panel.above < LINE_PX:
        ax.set_title(heading, parse_math=False)
    ax.set_xlabel(panel.x_title if panel.above < LINE_PX else heading, parse_math=False)
    ax.set_ylabel(panel.y_title, parse_math=False)
    if key:
        handles = [
            Patch(label=item.text, **item.style)
            if item.box
            else Line2D([], [], label=item.text, **(item.style or {"linestyle": "none"}))
            for item in key
        ]
        for text in ax.legend(handles=handles, frameon=False, loc="best").get_texts():
            text.set_parse_math(False)
    return figure


# Layout ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A panel with its texts in lines and the size it takes."""

    panel: Panel
    titles: list[str]
    x_titles: list[str]
    y_titles: list[str]
    column: float
    width: float

    @property
    def right(self) -> float:
        return self.panel.left + self.width + self.panel.right

    @property
    def above(self) -> float:
        lines = max(len(self.titles), bool(self.panel.note)) + len(self.y_titles)
        return lines * LINE_PX + self.panel.above

    @property
    def height(self) -> float:
        below = self.panel.below + len(self.x_titles) * LINE_PX
        return self.above + self.panel.height + below


def _lay_out(panel: Panel, column: float) -> _Place:
    room = column - text_px(panel.note, SMALL_PX) - 8 * bool(panel.note)
    width = column - panel.left - panel.right if panel.width is None else panel.width

    def lines(text: str, size: float, room: float) -> list[str]:
        return wrap_text(text, size=size, width=room) if text else []

    return _Place(
        panel=panel,
        titles=lines(panel.title, SMALL_PX * _BOLD, room),
        x_titles=lines(panel.x_title, SMALL_PX, column),
        y_titles=lines(panel.y_title, SMALL_PX, column),
        column=column,
        width=width,
    )


def _new_figure(
    titles: Sequence[str], *, width: float, height: float, head: float, alt: str
) -> Plot:
    from voirdire.reporting.plots.figure import Plot

    figure = Plot(width=width, height=height, alt=alt)
    figure.heading_px = head
    style = {"fontsize": FONT_PX, "fontweight": "bold", "color": LIGHT["ink"]}
    for number, text in enumerate(titles):
        figure.heading.append(_note(figure, text, x=0, top=number * LINE_PX, **style))
    return figure


def _draw_panel(figure: Plot, place: _Place, *, left: float, top: float, above: float) -> None:
    """Put axes at their place and write what stands around them."""
    from voirdire.reporting.plots.figure import PAD_PX

    panel = place.panel
    start = top + above - place.above
    for number, text in enumerate(place.titles):
        style = {"fontweight": "bold", "color": LIGHT["ink"]}
        _note(figure, text, x=left, top=start + number * LINE_PX, **style)
    if panel.note:
        _note(figure, panel.note, x=left + place.column, top=start, ha="right")
    under = start + (max(len(place.titles), bool(panel.note))) * LINE_PX
    for number, text in enumerate(place.y_titles):
        _note(figure, text, x=left, top=under + number * LINE_PX)
    full_width, full_height = (size + 2 * PAD_PX for size in figure.inner_px)
    bottom = full_height - PAD_PX - top - above - panel.height
    axes = figure.add_axes(
        (
            (left + panel.left + PAD_PX) / full_width,
            bottom / full_height,
            place.width / full_width,
            panel.height / full_height,
        )
    )
    _clear(axes)
    panel.draw(axes)
    middle = left + panel.left + place.width / 2
    widest = max((text_px(text, SMALL_PX) for text in place.x_titles), default=0.0)
    middle = min(max(middle, left + widest / 2), left + place.column - widest / 2)
    foot = top + above + panel.height + panel.below
    for number, text in enumerate(place.x_titles):
        _note(figure, text, x=middle, top=foot + number * LINE_PX, ha="center")


def _clear(axes: Axes) -> None:
    """Take frame, background and tick marks away."""
    axes.set_facecolor("none")
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, which="both")
    axes.set_axisbelow(True)


def _pixels(figure: Plot) -> Transform:
    """Return the transform of pixels from the upper left corner within the margin."""
    from matplotlib.transforms import Affine2D

    from voirdire.reporting.plots.figure import PAD_PX

    flipped = Affine2D().scale(1, -1).translate(PAD_PX, PAD_PX + figure.inner_px[1])
    return flipped.scale(1 / 72) + figure.dpi_scale_trans


def _note(figure: Plot, text: str, *, x: float, top: float, **style: Any) -> Any:
    """Write literal text in a line whose upper edge is at `top`."""
    usual: dict[str, Any] = {"fontsize": SMALL_PX, "color": LIGHT["muted"], "va": "baseline"}
    at = top + LINE_PX - 6
    return figure.text(x, at, text, transform=_pixels(figure), **_LITERALLY, **(usual | style))


# The key --------------------------------------------------------------------------------------


def _key_lines(items: Sequence[KeyItem], width: float) -> list[list[tuple[float, KeyItem | str]]]:
    """Break the items into lines: each a list of places with an item, or the rest of its text."""
    lines: list[list[tuple[float, KeyItem | str]]] = []
    used = math.inf
    for item in items:
        symbol = _SYMBOL_PX if item.style else 0.0
        parts = wrap_text(item.text, size=SMALL_PX, width=width - symbol)
        needed = symbol + max(text_px(part, SMALL_PX) for part in parts)
        if used + needed > width or len(parts) > 1:
            lines.append([])
            used = 0.0
        lines[-1].append((used, KeyItem(text=parts[0], style=item.style, box=item.box)))
        lines += [[(symbol, part)] for part in parts[1:]]
        used = used + needed + GAP_PX if len(parts) == 1 else math.inf
    return lines


def _draw_key(
    figure: Plot, lines: Sequence[list[tuple[float, KeyItem | str]]], *, top: float
) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    place = _pixels(figure)
    for number, line in enumerate(lines):
        at = top + number * LINE_PX
        for x, item in line:
            if isinstance(item, str):
                _note(figure, item, x=x, top=at)
                continue
            y = at + LINE_PX / 2
            if item.box:
                box = Rectangle((x, y - 6), 18, 12, transform=place, **item.style)
                figure.add_artist(box)
            elif item.style:
                is_point = item.style.get("linestyle") == "none"
                xs = [x + 9] if is_point else [x, x + 9, x + 18]
                style = item.style | {"transform": place, "markevery": [len(xs) // 2]}
                figure.add_artist(Line2D(xs, [y] * len(xs), **style))
            _note(figure, item.text, x=x + (_SYMBOL_PX if item.style else 0.0), top=at)


def mark_style(outcome: str | None, colour: str, *, size: float = 9) -> dict[str, Any]:
    """Style a point by what it stands for.

    Passed is filled, passed but close half filled, failed hollow, no evidence a cross, a control
    a diamond.
    """
    style: dict[str, Any] = {"linestyle": "none", "color": colour, "markersize": size}
    if outcome == "no_evidence":
        return style | {
            "marker": "X",
            "markersize": size + 3,
            "markeredgewidth": 1,
            "markeredgecolor": LIGHT["paper"],
        }
    if outcome == "control":
        return style | {"marker": "D", "markersize": size - 2}
    style |= {"marker": "o", "markeredgewidth": 2, "markeredgecolor": colour}
    if outcome == "close":
        return style | {"fillstyle": "bottom", "markerfacecoloralt": LIGHT["paper"]}
    return style | {"markerfacecolor": LIGHT["paper"] if outcome == "failed" else colour}


def outcome_key(outcomes: Iterable[str], say: Words) -> list[KeyItem]:
    """Explain the marks of the outcomes that occur."""
    found = set(outcomes)
    return [
        KeyItem(text=say(outcome), style=mark_style(outcome, outcome_colour(outcome)))
        for outcome in ("passed", "close", "failed", "no_evidence")
        if outcome in found
    ]


def interval_item(level: float | None, say: Words, *, colour: str = LIGHT["ink"]) -> list[KeyItem]:
    """Explain the line of an interval, where its level is known."""
    if level is None or math.isnan(level):
        return []
    style = {"color": colour, "linewidth": 2}
    return [KeyItem(text=say("interval", level=level), style=style)]


# On axes --------------------------------------------------------------------------------------


def size_px(axes: Axes) -> tuple[float, float]:
    """Return width and height of axes in pixels."""
    place = axes.get_position()
    figure = axes.get_figure(root=True)
    width, height = (float(size) * 72 for size in figure.get_size_inches())  # type: ignore[union-attr]
    return place.width * width, place.height * height


def write(axes: Axes, text: str, *, x: float, y: float, **style: Any) -> Any:
    """Write literal text at a point of the data, or of `transform`."""
    usual: dict[str, Any] = {"fontsize": SMALL_PX, "color": LIGHT["ink"], "va": "center_baseline"}
    return axes.text(x, y, text, **_LITERALLY, **(usual | style))


def set_ticks(axis: Any, places: Sequence[float], texts: Sequence[str], **style: Any) -> None:
    """Put literal texts at an axis."""
    style = {"fontsize": SMALL_PX, "color": LIGHT["ink"]} | style
    axis.set_ticks(list(places), labels=list(texts), **_LITERALLY, **style)
    axis.set_tick_params(length=0, pad=6)


def set_numbers(
    axis: Any,
    values: Sequence[float],
    say: Words,
    *,
    grid: bool = True,
    text: Callable[[float], str] | None = None,
) -> None:
    """Put plain numbers at an axis, with lines at them."""
    texts = [(text or say.digits)(value) for value in values]
    set_ticks(axis, values, texts, color=LIGHT["muted"])
    if grid:
        axis.grid(visible=True, color=LIGHT["grid"], linewidth=1, linestyle="-", alpha=1)


def nice_ticks(axis: Any, low: float, high: float, *, whole: bool = False) -> list[float]:
    """Return as many round numbers from `low` to `high` as the axis has room for."""
    from matplotlib.ticker import MaxNLocator

    width, height = size_px(axis.axes)
    room = width / 48 if axis.axis_name == "x" else height / 42
    n = max(2, min(6, int(room)))
    steps = [1, 2, 5, 10] if whole else [1, 2, 2.5, 5, 10]
    values = MaxNLocator(nbins=n, steps=steps, integer=whole).tick_values(low, high)
    slack = 1e-9 * max(abs(low), abs(high), 1)
    return [float(value) for value in values if low - slack <= value <= high + slack]


def finite(values: Iterable[float]) -> list[float]:
    """Keep what is defined."""
    return [value for value in values if math.isfinite(value)]
