"""Judges beside the truth: gold labels, rates that people correct, and stated probabilities."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.reporting.plots.chart import (
    KeyItem,
    Panel,
    columns_for,
    draw_chart,
    interval_item,
    mark_style,
    set_numbers,
)
from voirdire.reporting.plots.dots import REFERENCE, DotRow, dot_row, dots_panel, heading_rows
from voirdire.reporting.plots.rows import field_of, number
from voirdire.reporting.plots.style import LIGHT
from voirdire.reporting.plots.words import distinct_labels, label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.chart import Frame

__all__ = ["draw_gold", "draw_rates", "draw_reliability", "is_gold", "is_rates"]

_MOST_GROUPS = 20
_BOOLEAN = ("sensitivity", "specificity")


def is_gold(result: Any) -> bool:
    """Tell whether a result is what gold labels say of judges, or its JSON."""
    return bool(_results(result)) and field_of(_results(result)[0], "classification") is not None


def is_rates(result: Any) -> bool:
    """Tell whether a result holds rates, or is the JSON of them."""
    found = _results(result)
    return bool(found) and field_of(field_of(found[0], "result"), "naive") is not None


def _results(result: Any) -> Sequence[Any]:
    found = field_of(result, "results")
    return found if isinstance(found, list | tuple) else ()


def _choose(
    rows: Sequence[Any], *, question: str | None, judge: str | Sequence[str] | None
) -> list[Any]:
    judges = [judge] if isinstance(judge, str) else judge
    return [
        row
        for row in rows
        if question in (None, field_of(row, "question"))
        and (judges is None or field_of(row, "judge") in judges)
    ]


def _name_rows(rows: Sequence[Any], *, width: int = 60) -> list[str]:
    """Name results by what differs between them: question, judge or both."""
    pairs = [(field_of(row, "question"), field_of(row, "judge")) for row in rows]
    if len({judge for _, judge in pairs}) == 1:
        return distinct_labels((question for question, _ in pairs), width=width)
    if len({question for question, _ in pairs}) == 1:
        return distinct_labels((judge for _, judge in pairs), width=width)
    half = width // 2 - 1
    return [f"{label(q, width=half)} · {label(judge, width=half)}" for q, judge in pairs]


# Gold labels ----------------------------------------------------------------------------------


def draw_gold(
    result: Any, frame: Frame, *, question: str | None = None, judge: Any = None
) -> Figure:
    """Draw how often judges are right, and what they find: a group per question and judge."""
    say = frame.say
    found = _choose(_results(result), question=question, judge=judge) if is_gold(result) else []
    if not found:
        msg = f"`kind` 'gold' needs what `examine_gold` returns, got {_shown(result)}."
        raise InputError(msg)
    rows: list[DotRow] = []
    for row, text in zip(
        found[:_MOST_GROUPS],
        _name_rows(found[:_MOST_GROUPS], width=36 if frame.is_narrow else 60),
        strict=True,
    ):
        measured = field_of(row, "classification")
        figures, always = field_of(measured, "figures"), field_of(measured, "always")
        is_boolean = all(name in figures for name in _BOOLEAN)
        rows += heading_rows(text, frame)
        for name in ("accuracy", *(_BOOLEAN if is_boolean else ("balanced_accuracy",))):
            reference = number(always.get(name))
            shown = dot_row(figures[name], "estimate", label=say(name), reference=reference)
            rows.append(shown if name == "accuracy" else replace(shown, colour=LIGHT["series-8"]))
    level = number(field_of(field_of(found[0], "classification"), "confidence_level"))
    return draw_chart(
        frame,
        heading=_heading(say("gold_title"), found, frame),
        alt=say("alt_gold", n=len(found)),
        panels=[
            dots_panel(rows, frame, x_title=say("share_right"), limits=(0.0, 1.0), bounds=(0, 1))
        ],
        key=[KeyItem(text=say("always_one"), style=REFERENCE), *interval_item(level, say)],
    )


def _heading(text: str, found: Sequence[Any], frame: Frame) -> str:
    """Add what is the same for all, and how many are shown of how many."""
    for name in ("question", "judge"):
        names = {field_of(row, name) for row in found}
        if len(names) == 1:
            text = frame.say("titled", title=text, name=label(names.pop()))
    if len(found) > _MOST_GROUPS:
        part = frame.say("n_of", n=_MOST_GROUPS, total=len(found))
        text = frame.say("with_detail", title=text, detail=part)
    return text


def _shown(result: Any) -> str:
    return "none such" if is_gold(result) or is_rates(result) else shorten(result)


# Rates ----------------------------------------------------------------------------------------


def draw_rates(
    result: Any, frame: Frame, *, question: str | None = None, judge: Any = None
) -> Figure:
    """Draw how often something holds: corrected, from labels alone, and by raw verdicts."""
    say = frame.say
    found = _choose(_results(result), question=question, judge=judge) if is_rates(result) else []
    if not found:
        msg = f"`kind` 'rates' needs what `rate` returns, got {_shown(result)}."
        raise InputError(msg)
    rows: list[DotRow] = []
    for row, text in zip(
        found[:_MOST_GROUPS],
        _name_rows(found[:_MOST_GROUPS], width=36 if frame.is_narrow else 60),
        strict=True,
    ):
        groups: Mapping[str, Any] = field_of(row, "groups") or {}
        for group, measured in ((None, field_of(row, "result")), *groups.items()):
            heading = text if group is None else f"{text}: {label(group, width=20)}"
            rows += heading_rows(heading, frame)
            for name, outcome, role in (
                ("rate", "passed", "series-1"),
                ("human", "passed", "series-8"),
                ("naive", "failed", "muted"),
            ):
                shown = dot_row(field_of(measured, name), "estimate", label=say(f"rate_{name}"),
                                      outcome=outcome, colour=LIGHT[role])  # fmt: skip
                value = shown.value
                text_of = "–" if math.isnan(value) else f"{value:.1%}"
                rows.append(replace(shown, number=text_of))
    level = number(field_of(field_of(found[0], "result"), "confidence_level"))
    return draw_chart(
        frame,
        heading=_heading(say("rates_title"), found, frame),
        alt=say("alt_rates", n=len(found)),
        panels=[
            dots_panel(
                rows, frame, x_title=say("share_true"), limits=(0.0, math.nan), bounds=(0.0, 1.0)
            )
        ],
        key=[
            KeyItem(text=say("report_this"), style=mark_style("passed", LIGHT["series-1"])),
            KeyItem(text=say("report_not"), style=mark_style("failed", LIGHT["muted"])),
            *interval_item(level, say),
        ],
    )


# Stated probabilities -------------------------------------------------------------------------

_MOST_PANELS = 12
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def draw_reliability(
    result: Any, frame: Frame, *, question: str | None = None, judge: Any = None
) -> Figure:
    """Draw how often what is stated comes true, those farthest from the truth first."""
    say = frame.say
    rows = _results(result)
    if field_of(result, "questions"):
        asked = field_of(result, "questions")
        rows = [row for each in asked for row in field_of(each, "against_majority") or ()]
    rows = [row for row in rows if field_of(row, "calibration") is not None]
    found = _choose(rows, question=question, judge=judge)
    if not found:
        msg = (
            "`kind` 'reliability' needs probabilities of a judge beside labels, got none. Draw "
            "what `examine_gold` or `examine` returns for judges that state probabilities of "
            "boolean questions."
        )
        raise InputError(msg)
    found.sort(key=lambda row: -_error(row))
    heading = say("reliability_title")
    if len(found) > _MOST_PANELS and frame.ax is None:
        heading += f", {say('farthest_of', n=_MOST_PANELS, total=len(found))}"
    shown = found[:_MOST_PANELS]
    names = _name_rows(shown)
    n_columns = columns_for(names, frame, most=2 if len(shown) <= 4 or frame.is_narrow else 3)
    side = min((frame.width - (n_columns - 1) * 18) / n_columns - 42, 320.0)
    panels = [
        _reliability_panel(field_of(row, "calibration"), frame, title=name, side=side)
        for row, name in zip(shown, names, strict=True)
    ]
    axes: dict[str, Any] = {"x_title": say("stated"), "y_title": say("came_true")}
    key = _reliability_key(found[0], frame)
    if frame.ax is None:
        key.insert(0, KeyItem(text=say("across_up", **axes)))
    else:
        heading, panels = names[0], [replace(panels[0], **axes)]
    return draw_chart(
        frame,
        heading=heading,
        alt=say("alt_reliability", n=len(shown)),
        panels=panels,
        key=key,
        n_columns=n_columns,
    )


def _error(row: Any) -> float:
    return number(field_of(field_of(row, "calibration"), "calibration_error"))


def _reliability_panel(measured: Any, frame: Frame, *, title: str, side: float) -> Panel:
    say, bins = frame.say, field_of(measured, "bins")
    stated, shares, lows, highs = (
        [number(field_of(each, name)) for each in bins]
        for name in ("probability", "share", "low", "high")
    )
    blue = LIGHT["series-1"]

    def draw(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=LIGHT["ink"], linewidth=1.2, zorder=1.5, gid="diagonal")
        axes.vlines(stated, lows, highs, color=blue, linewidth=2, zorder=3, gid="intervals")
        style = mark_style("passed", blue, size=7)
        axes.plot(stated, shares, zorder=4, gid="shares", **style)
        axes.set_xlim(-0.03, 1.03)
        axes.set_ylim(-0.03, 1.03)
        for axis in (axes.xaxis, axes.yaxis):
            set_numbers(axis, _TICKS[:: 1 if side > 160 else 2], say)

    error = number(field_of(measured, "calibration_error"))
    note = f"ECE {say.two_digits(error)}"
    return Panel(draw=draw, height=side, width=side, left=34, title=title, note=note)


def _reliability_key(row: Any, frame: Frame) -> list[KeyItem]:
    say, blue = frame.say, LIGHT["series-1"]
    level = number(field_of(field_of(row, "calibration"), "confidence_level"))
    return [
        KeyItem(text=say("one_tenth"), style=mark_style("passed", blue, size=7)),
        *interval_item(level, say, colour=blue),
        KeyItem(text=say("comes_true"), style={"color": LIGHT["ink"], "linewidth": 1.2}),
    ]
