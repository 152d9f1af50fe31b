"""Paper to draw on: sizes in CSS pixels, no junk, and text that is taken literally."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.names import text_px
from voirdire.reporting.plots.style import FONT_PX, LIGHT, SMALL_PX, WIDTH_PX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Transform

    from voirdire.reporting.plots.figure import Plot
    from voirdire.reporting.plots.words import Words

__all__ = [
    "add_axes",
    "clear",
    "figure_of",
    "new_plot",
    "nice_ticks",
    "note",
    "pixels",
    "set_ticks",
    "set_x_ticks",
    "set_y_ticks",
    "size_px",
    "wrap_px",
    "write",
]

HEADING_PX = 36.0
_LITERALLY: dict[str, Any] = {"parse_math": False, "usetex": False}


def new_plot(*, height: float, heading: str, alt: str, width: float = WIDTH_PX) -> Plot:
    """Make an empty figure with a heading; `height` counts what is below the heading."""
    from voirdire.reporting.plots.figure import Plot

    figure = Plot(width=width, height=height + HEADING_PX, alt=alt)
    figure.heading_px = HEADING_PX
    figure.heading = figure.text(
        0,
        height + 14,
        heading,
        transform=pixels(figure),
        fontsize=FONT_PX,
        fontweight="bold",
        color=LIGHT["ink"],
        ha="left",
        va="baseline",
        **_LITERALLY,
    )
    return figure


def pixels(figure: Figure) -> Transform:
    """Return the transform of pixels from the lower left corner within the margin."""
    from matplotlib.transforms import Affine2D

    from voirdire.reporting.plots.figure import PAD_PX

    return Affine2D().translate(PAD_PX, PAD_PX).scale(1 / 72) + figure.dpi_scale_trans


def add_axes(figure: Plot, *, left: float, top: float, width: float, height: float) -> Axes:
    """Add axes without frame or ticks; `top` is counted from below the heading."""
    from voirdire.reporting.plots.figure import PAD_PX

    full_width, full_height = (size + 2 * PAD_PX for size in figure.inner_px)
    bottom = full_height - PAD_PX - figure.heading_px - top - height
    axes = figure.add_axes(
        (
            (left + PAD_PX) / full_width,
            bottom / full_height,
            width / full_width,
            height / full_height,
        )
    )
    clear(axes)
    return axes


def clear(axes: Axes) -> None:
    """Take frame, background and tick marks away."""
    axes.set_facecolor("none")
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, which="both")
    axes.set_axisbelow(True)


def figure_of(axes: Axes) -> Figure:
    """Return the whole figure that axes are on."""
    figure = axes.get_figure(root=True)
    if figure is None:
        msg = "`ax` must be on a figure, got axes that are on none."
        raise InputError(msg)
    return figure


def size_px(axes: Axes) -> tuple[float, float]:
    """Return width and height of axes in pixels."""
    place = axes.get_position()
    width, height = (float(size) * 72 for size in figure_of(axes).get_size_inches())
    return place.width * width, place.height * height


def write(axes: Axes, text: str, *, x: float, y: float, **style: Any) -> Text:
    """Write literal text at a point of the data, or of `transform`."""
    usual: dict[str, Any] = {"fontsize": SMALL_PX, "color": LIGHT["ink"], "va": "center_baseline"}
    return axes.text(x, y, text, **_LITERALLY, **(usual | style))


def note(figure: Plot, text: str, *, x: float, y: float, **style: Any) -> Text:
    """Write literal text at pixels from the lower left corner within the margin."""
    usual: dict[str, Any] = {"fontsize": SMALL_PX, "color": LIGHT["muted"]}
    usual["va"] = "center_baseline"
    return figure.text(x, y, text, transform=pixels(figure), **_LITERALLY, **(usual | style))


def set_x_ticks(
    axes: Axes, values: Sequence[float], *, title: str, say: Words, grid: bool = True
) -> None:
    """Put plain numbers below the axes, with lines at them and a title."""
    _number_ticks(axes.xaxis, values, grid=grid, say=say)
    axes.set_xlabel(title, fontsize=SMALL_PX, color=LIGHT["muted"], labelpad=6, **_LITERALLY)


def set_y_ticks(
    axes: Axes,
    values: Sequence[float],
    *,
    title: str,
    say: Words,
    grid: bool = True,
    is_ours: bool = True,
) -> None:
    """Put plain numbers beside the axes and lines at them; the title above, if we laid them out."""
    _number_ticks(axes.yaxis, values, grid=grid, say=say)
    style: dict[str, Any] = {"fontsize": SMALL_PX, "color": LIGHT["muted"]} | _LITERALLY
    if is_ours:
        axes.set_title(title, loc="left", pad=12, x=0, **style)
    else:
        axes.set_ylabel(title, labelpad=6, **style)


def _number_ticks(axis: Any, values: Sequence[float], *, grid: bool, say: Words) -> None:
    set_ticks(axis, values, [say.digits(value) for value in values], color=LIGHT["muted"])
    if grid:
        axis.grid(visible=True, color=LIGHT["grid"], linewidth=1, linestyle="-", alpha=1)


def set_ticks(axis: Any, places: Sequence[float], texts: Sequence[str], **style: Any) -> None:
    """Put literal texts at an axis."""
    style = {"fontsize": SMALL_PX, "color": LIGHT["ink"]} | style
    axis.set_ticks(list(places), labels=list(texts), **_LITERALLY, **style)
    axis.set_tick_params(length=0, pad=6)


def nice_ticks(low: float, high: float, *, n: int = 6) -> list[float]:
    """Return at most about `n` round numbers from `low` to `high`."""
    from matplotlib.ticker import MaxNLocator

    values = MaxNLocator(nbins=n, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    slack = 1e-9 * max(abs(low), abs(high), 1)
    return [float(value) for value in values if low - slack <= value <= high + slack]


def wrap_px(texts: Sequence[str], *, size: float, width: float, gap: float) -> list[list[int]]:
    """Break a row of texts into lines of at most `width` pixels; return their places by line."""
    lines: list[list[int]] = [[]]
    used = 0.0
    for place, text in enumerate(texts):
        needed = text_px(text, size) + gap
        if lines[-1] and used + needed > width:
            lines.append([])
            used = 0.0
        lines[-1].append(place)
        used += needed
    return lines
