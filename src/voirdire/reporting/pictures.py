"""Draw with matplotlib what a page shows: tracks, lines, and judges against annotators."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.reporting.colours import LIGHT
from voirdire.reporting.layout import rows
from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.charts import plane_of
from voirdire.reporting.pages.speech import Speaker
from voirdire.reporting.pages.view import Lines, Scatter, Table, Track

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language

_STATES = {"passed": "pass", "close": "unsure", "failed": "fail"}
_CHINESE = (
    "Noto Sans CJK SC", "Source Han Sans SC", "Noto Sans SC", "PingFang SC", "Hiragino Sans GB",
    "Microsoft YaHei", "SimHei", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Arial Unicode MS",
)  # fmt: skip


def plot(
    result: Any, name: str | None = None, *, language: Language = "en", ax: Axes | None = None
) -> Figure:
    """Draw a result with matplotlib, as its page shows it.

    Parameters
    ----------
    result : Examination, AltTestResult, GoldExamination, PowerResult or other
        Whatever `voirdire.reporting.rows` takes.
    name : str, optional
        Which chart, such as ``"scatter"``; by default the first. An error lists the names.
    language : {"en", "zh"}, optional
        Of the words in the figure.
    ax : matplotlib.axes.Axes, optional
        Draw on these axes.

    Returns
    -------
    matplotlib.figure.Figure
        Made without pyplot: a notebook shows it, and nothing needs to be closed.

    Raises
    ------
    InputError
        If the result has no chart, or none of this name.

    Notes
    -----
    Characters are drawn with the fonts of this machine; Chinese needs one that has it, such as
    Noto Sans CJK.

    Examples
    --------
    >>> import voirdire
    >>> from voirdire.stats import power
    >>> found = power(human_noise=0.1, judge_noise=0.1, n_items=[50, 100], n_simulations=50)
    >>> voirdire.plot(found).axes[0].get_xlabel()
    'items that everybody labels'
    """
    view = rows(result)
    blocks: Iterator[Any] = view.all_blocks()
    charts = {block.name: block for block in blocks if _is_chart(block)}
    if not charts:
        msg = f"`result` must be one that has a chart, got {shorten(type(result).__name__)}."
        raise InputError(msg)
    chosen = next(iter(charts)) if name is None else name
    if chosen not in charts:
        listed = ", ".join(map(repr, [*charts][:20]))
        msg = f"`name` must be one of {listed}, got {shorten(repr(name))}."
        raise InputError(msg)
    speaker = Speaker(language)

    def say(thing: Any) -> str:
        """Say it as plain text that matplotlib does not read as a formula."""
        return speaker(thing).striptags().replace("$", r"\$")

    axes = ax or _new_axes(charts[chosen])
    chart = charts[chosen]
    if isinstance(chart, Lines):
        _draw_lines(axes, chart, say)
    elif isinstance(chart, Scatter):
        _draw_scatter(axes, chart, say)
    else:
        _draw_tracks(axes, chart, say)
    axes.spines[["top", "right"]].set_visible(False)
    return axes.get_figure(root=True)  # type: ignore[return-value]  # axes are on a figure


def _is_chart(block: Any) -> bool:
    if isinstance(block, Table):
        return any(isinstance(cell, Track) for row in block.rows for cell in row)
    return isinstance(block, Lines | Scatter)


def _new_axes(chart: Lines | Scatter | Table) -> Axes:
    from matplotlib.figure import Figure

    class Plot(Figure):
        """A figure that a notebook shows."""

        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            self.savefig(buffer, format="png")
            return buffer.getvalue()

    size = (6.4, 4.2)
    if isinstance(chart, Table):
        size = (7.0, 1.2 + 0.3 * len(chart.rows))
    elif isinstance(chart, Scatter) or chart.is_square:
        size = (5.0, 5.0)
    return Plot(figsize=size, dpi=144, layout="constrained").add_subplot()


@cache
def _fonts() -> list[str]:
    """List what text is written with: matplotlib's font, then those for what it lacks."""
    from matplotlib import font_manager

    installed = {*font_manager.get_font_names()}
    return ["DejaVu Sans", *(family for family in _CHINESE if family in installed)]


def _set_titles(axes: Axes, chart: Lines | Scatter, x_title: str, y_title: str) -> None:
    xs, ys = plane_of(chart)
    axes.set_xlim(xs.low, xs.high)
    axes.set_ylim(ys.low, ys.high)
    axes.set_xlabel(x_title, family=_fonts())
    axes.set_ylabel(y_title, family=_fonts())
    axes.grid(color=LIGHT["grid"])
    axes.set_axisbelow(True)


def _draw_lines(axes: Axes, chart: Lines, say: Callable[[Any], str]) -> None:
    _set_titles(axes, chart, say(chart.x_title), say(chart.y_title))
    if chart.is_square:
        axes.plot([0, 1], [0, 1], color=LIGHT["ink"], linewidth=1)
    for level, word in chart.levels:
        axes.axhline(level, color=LIGHT["muted"], linestyle="--", linewidth=1)
        axes.annotate(say(word), (0.01, level), xycoords=("axes fraction", "data"),
                      va="bottom", color=LIGHT["muted"], family=_fonts())  # fmt: skip
    for place, series in enumerate(chart.series):
        points = [point for point in series.points if is_defined(point[1])]
        colour, style = LIGHT[f"series-{place % 8 + 1}"], "none" if series.is_dots else "-"
        marker = "o" if len(points) <= 60 else ""
        axes.plot(*zip(*points, strict=True), color=colour, linestyle=style, marker=marker,
                  label=say(series.name))  # fmt: skip
        for (x, y), ends in zip(series.points, series.ends, strict=False):
            if is_defined(y) and all(map(is_defined, ends)):
                axes.vlines(x, *ends, color=colour)
    if len(chart.series) > 1:
        axes.legend(prop={"family": _fonts(), "size": "small"}, frameon=False)


def _draw_scatter(axes: Axes, chart: Scatter, say: Callable[[Any], str]) -> None:
    _set_titles(axes, chart, say("chart.judge"), say("chart.human"))
    low, high = axes.get_xlim()
    keep, less = (1 - chart.epsilon, 0.0) if chart.is_multiplicative else (1.0, chart.epsilon)
    axes.fill([low, high, high], [low, low, high], color=LIGHT["region-1"], zorder=0)
    axes.fill([low, high, keep * high - less, keep * low - less], [low, high, high, low],
              color=LIGHT["region-2"], zorder=0)  # fmt: skip
    axes.plot([low, high], [low, high], color=LIGHT["ink"], linewidth=1)
    for x, y, is_won, name in chart.points:
        blue = LIGHT["series-1"]
        axes.plot(x, y, "o", markeredgecolor=blue, color=blue if is_won else LIGHT["paper"])
        axes.annotate(say(name), (x, y), (6, 0), textcoords="offset points", va="center",
                      family=_fonts(), fontsize="small")  # fmt: skip
    axes.set_title(say(chart.title), family=_fonts())
    axes.set_aspect("equal")


def _draw_tracks(axes: Axes, table: Table, say: Callable[[Any], str]) -> None:
    place = next(at for at, cell in enumerate(table.rows[0]) if isinstance(cell, Track))
    for level, word in table.levels:
        axes.axvline(level, color=LIGHT["muted"], linestyle="--", linewidth=1)
        axes.annotate(say(word), (level, 1.01), xycoords=("data", "axes fraction"),
                      ha="center", color=LIGHT["muted"], family=_fonts())  # fmt: skip
    for at, row in enumerate(table.rows):
        track = row[place]
        if not isinstance(track, Track):
            continue
        colour = LIGHT[_STATES.get(track.state, "muted")]
        axes.hlines(at, track.low, track.high, color=LIGHT["muted"])
        axes.plot(track.reference, at, "|", color=LIGHT["muted"], markersize=12)
        axes.plot(track.value, at, "o", color=colour)
        for dot, is_filled in track.dots:
            axes.plot(dot, at, "o", markersize=5, markeredgecolor=colour,
                      color=colour if is_filled else LIGHT["paper"])  # fmt: skip
    words = [at for at, is_text in enumerate(table.texts) if is_text and at != place]
    words = [at for at in words if len({say(row[at]) for row in table.rows}) > 1] or words[:1]
    labels = [""] * len(table.rows)
    for at in words:  # as many columns as tell the rows apart
        if len({*labels}) < len(labels):
            said = (say(row[at]) for row in table.rows)
            labels = [" · ".join(filter(None, pair)) for pair in zip(labels, said, strict=True)]
    axes.set_yticks(range(len(labels)), labels, family=_fonts())
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlabel(say(table.columns[place]), family=_fonts())
