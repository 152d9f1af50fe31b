"""Draw how often the probabilities that judges state come true."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voirdire.reporting.plots.frame import (
    draw_chart,
    make_interval_key,
    make_square_panels,
    measure_axes,
    set_scale,
    style_mark,
)
from voirdire.reporting.plots.results import require
from voirdire.reporting.plots.style import LIGHT
from voirdire.reporting.plots.words import make_distinct_labels, shorten_label
from voirdire.studies import Examination, GoldExamination, GoldResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.frame import Frame, Key
    from voirdire.reporting.plots.results import Choice
    from voirdire.reporting.plots.words import Words
    from voirdire.stats import CalibrationResult

__all__ = ["draw_reliability"]


def _name_rows(rows: Sequence[GoldResult]) -> list[str]:
    """Name results by what differs between them: question, judge or both."""
    if len({row.judge for row in rows}) == 1:
        return make_distinct_labels((row.question for row in rows), width=60)
    if len({row.question for row in rows}) == 1:
        return make_distinct_labels((row.judge for row in rows), width=60)
    return [
        f"{shorten_label(row.question, width=29)} · {shorten_label(row.judge, width=29)}"
        for row in rows
    ]


_MOST_PANELS = 12
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def draw_reliability(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw how often stated probabilities come true, the least calibrated judges first."""
    say, results = frame.say, list[GoldResult]()
    if isinstance(result, Examination):
        results = [row for each in result.questions for row in each.against_majority]
    elif isinstance(result, GoldExamination):
        results = [*result.results]
    pairs = [
        (row, row.calibration)
        for row in results
        if row.calibration
        and choice.question in (None, row.question)
        and choice.has_judge(row.judge)
    ]
    require(
        pairs,
        "`kind` 'reliability' needs probabilities of a judge beside labels, got none. Draw what "
        "`examine_gold` or `examine` returns for judges that state probabilities of boolean "
        "questions.",
    )
    pairs.sort(key=lambda pair: -pair[1].calibration_error)
    shown = pairs[:_MOST_PANELS]
    names = _name_rows([row for row, _ in shown])
    squares = [
        (name, f"ECE {say.two_digits(calibration.calibration_error)}", _draw_bins(calibration, say))
        for (_, calibration), name in zip(shown, names, strict=True)
    ]
    panels, n_columns = make_square_panels(squares, frame)
    axes: dict[str, Any] = {"x_title": say("stated"), "y_title": say("came_true")}
    blue = LIGHT["series-1"]
    key: Key = [
        (say("one_tenth"), style_mark("passed", blue, size=7)),
        *make_interval_key(pairs[0][1].confidence_level, say, colour=blue),
        (say("comes_true"), {"color": LIGHT["ink"], "linewidth": 1.2}),
    ]
    heading = say("reliability_title")
    if frame.ax is None:
        heading = say.add_count(heading, "farthest_of", n=len(shown), total=len(pairs))
        key.insert(0, (say("across_up", **axes), {}))
    else:
        heading, panels = squares[0][0], [replace(panels[0], **axes)]
    return draw_chart(
        frame,
        heading=heading,
        alt=say("alt_reliability", n=len(shown)),
        panels=panels,
        key=key,
        n_columns=n_columns,
    )


def _draw_bins(calibration: CalibrationResult, say: Words) -> Callable[[Axes], None]:
    names, blue = ("probability", "share", "low", "high"), LIGHT["series-1"]
    stated, shares, lows, highs = (
        [getattr(each, name) for each in calibration.bins] for name in names
    )

    def draw(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=LIGHT["ink"], linewidth=1.2, zorder=1.5, gid="diagonal")
        axes.vlines(stated, lows, highs, color=blue, linewidth=2, zorder=3, gid="intervals")
        axes.plot(stated, shares, zorder=4, gid="shares", **style_mark("passed", blue, size=7))
        ticks = _TICKS[:: 1 if measure_axes(axes)[0] > 160 else 2]
        for axis in (axes.xaxis, axes.yaxis):
            set_scale(axis, 0, 1, say, pad=0.03, ticks=ticks)

    return draw
