"""How often what a judge states comes true: shares of truths against stated probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.canvas import (
    add_axes,
    clear,
    figure_of,
    new_plot,
    note,
    set_x_ticks,
    set_y_ticks,
    write,
)
from voirdire.reporting.plots.marks import KeyItem, draw_key, key_height, legend, mark_style
from voirdire.reporting.plots.names import distinct_labels, label
from voirdire.reporting.plots.style import LIGHT, WIDTH_PX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.words import Words
    from voirdire.stats import CalibrationResult
    from voirdire.studies import GoldResult

__all__ = ["draw_reliability"]

_MOST_PANELS = 12
_LEFT_PX, _GAP_PX, _HEAD_PX, _FOOT_PX = 40.0, 22.0, 34.0, 42.0
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def draw_reliability(
    result: Any,
    *,
    question: str | None,
    judge: str | Sequence[str] | None,
    say: Words,
    ax: Axes | None,
) -> Figure:
    """Draw a panel per question and judge, those that are farthest from the truth first."""
    found = _chosen(result, question=question, judge=judge)
    if ax is not None:
        clear(ax)
        _draw_panel(ax, found[0][1])
        ax.set_title(_names(found[:1], width=28)[0], parse_math=False)
        _set_scales(ax, say, title_x=say("stated"), title_y=say("came_true"), is_ours=False)
        legend(ax, _key(found[0][1], say))
        return figure_of(ax)
    return _draw_panels(found[:_MOST_PANELS], n_found=len(found), say=say)


def _chosen(
    result: Any, *, question: str | None, judge: str | Sequence[str] | None
) -> list[tuple[GoldResult, CalibrationResult]]:
    """Take what has probabilities, from gold labels or from the annotators' majority."""
    rows = getattr(result, "results", ())
    if hasattr(result, "questions"):
        rows = [row for each in result.questions for row in each.against_majority]
    judges = [judge] if isinstance(judge, str) else judge
    found = [
        (row, row.calibration)
        for row in rows
        if getattr(row, "calibration", None) is not None
        and (question is None or row.question == question)
        and (judges is None or row.judge in judges)
    ]
    if not found:
        msg = (
            "`kind` 'reliability' needs probabilities of a judge beside labels, got none. Draw "
            "what `examine_gold` or `examine` returns for judges that state probabilities of "
            "boolean questions."
        )
        raise InputError(msg)
    return sorted(found, key=lambda each: -each[1].calibration_error)


def _names(found: Sequence[tuple[GoldResult, CalibrationResult]], *, width: int) -> list[str]:
    """Name the panels by what differs between them."""
    questions = dict.fromkeys(row.question for row, _ in found)
    judges = dict.fromkeys(row.judge for row, _ in found)
    if len(judges) == 1:
        return distinct_labels((row.question for row, _ in found), width=width)
    if len(questions) == 1:
        return distinct_labels((row.judge for row, _ in found), width=width)
    half = width // 2 - 1
    return [
        f"{label(row.question, width=half)} · {label(row.judge, width=half)}" for row, _ in found
    ]


def _draw_panels(
    found: Sequence[tuple[GoldResult, CalibrationResult]], *, n_found: int, say: Words
) -> Figure:
    n_across = min(len(found), 2 if len(found) <= 4 else 3)
    n_down = -(-len(found) // n_across)
    size = (WIDTH_PX - _LEFT_PX - _GAP_PX * 2) / max(n_across, 2)
    step = size + _HEAD_PX + _GAP_PX
    names = _names(found, width=int((size - 60) / 9.4))
    key = _key(found[0][1], say)
    foot = key_height(key, width=WIDTH_PX)
    height = n_down * step + _FOOT_PX + foot
    heading = say("reliability_title")
    if n_found > len(found):
        heading += f", {say('farthest_of', n=len(found), total=n_found)}"
    alt = say("alt_reliability", n=len(found))
    figure = new_plot(height=height, heading=heading, alt=alt)
    for place, ((_, measured), name) in enumerate(zip(found, names, strict=True)):
        down, across = divmod(place, n_across)
        axes = add_axes(
            figure,
            left=_LEFT_PX + across * (size + _GAP_PX),
            top=_HEAD_PX + 14 + down * step,
            width=size,
            height=size,
        )
        _draw_panel(axes, measured)
        _set_scales(axes, say, title_x="", title_y="", with_y=across == 0)
        style = {"transform": axes.transAxes, "va": "baseline"}
        write(axes, name, x=0, y=1.04, fontweight="bold", **style)
        error = f"ECE {say.two_digits(measured.calibration_error)}"
        write(axes, error, x=1, y=1.04, ha="right", color=LIGHT["muted"], **style)
    note(figure, say("came_true"), x=0, y=height - 10)
    note(figure, say("stated"), x=_LEFT_PX + size / 2, y=foot + 14, ha="center")
    draw_key(figure, key)
    return figure


def _draw_panel(axes: Axes, measured: CalibrationResult) -> None:
    """Draw the diagonal, on which what is stated comes true, and a point with interval per bin."""
    axes.plot([0, 1], [0, 1], color=LIGHT["ink"], linewidth=1.2, zorder=1.5, gid="diagonal")
    bins = measured.bins
    stated = [each.probability for each in bins]
    axes.vlines(
        stated,
        [each.low for each in bins],
        [each.high for each in bins],
        color=LIGHT["series-1"],
        linewidth=2,
        zorder=3,
        gid="intervals",
    )
    axes.plot(
        stated,
        [each.share for each in bins],
        linestyle="none",
        zorder=4,
        gid="shares",
        **mark_style("passed", LIGHT["series-1"], size=7),
    )


def _set_scales(
    axes: Axes,
    say: Words,
    *,
    title_x: str,
    title_y: str,
    with_y: bool = True,
    is_ours: bool = True,
) -> None:
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.03)
    set_x_ticks(axes, _TICKS, title=title_x, say=say)
    set_y_ticks(axes, _TICKS, title=title_y, say=say, is_ours=is_ours)
    if not with_y:
        axes.set_yticklabels([])


def _key(measured: CalibrationResult, say: Words) -> list[KeyItem]:
    blue = LIGHT["series-1"]
    return [
        KeyItem(
            text=say("one_tenth"), style={"linestyle": "none"} | mark_style("passed", blue, size=7)
        ),
        KeyItem(
            text=say("interval", level=measured.confidence_level),
            style={"color": blue, "linewidth": 2},
        ),
        KeyItem(text=say("comes_true"), style={"color": LIGHT["ink"], "linewidth": 1.2}),
    ]
