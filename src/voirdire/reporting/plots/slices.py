"""Where a judge does worse than elsewhere: the difference on every slice, with its interval."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.dot_rows import DotRow, DotRows, draw_dot_rows
from voirdire.reporting.plots.findings import judges_of, part_of
from voirdire.reporting.plots.marks import KeyItem, mark_style
from voirdire.reporting.plots.names import distinct_labels, label
from voirdire.reporting.plots.rows import number
from voirdire.reporting.plots.style import LIGHT
from voirdire.reporting.plots.words import count_judges

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.rows import Sheet
    from voirdire.reporting.plots.words import Words

__all__ = ["draw_slices"]

MOST_SLICES = 60


def draw_slices(sheet: Sheet, *, say: Words, ax: Axes | None) -> Figure:
    """Draw the slices of every judge, the worst first; of very many only the worst."""
    judges = judges_of(part_of(sheet, "diagnosis", kind="slices"), sheet)
    slices = [
        (judge["judge"], part)
        for judge in judges
        for part in judge.get("slices") or ()
        if math.isfinite(number(part["difference"]))
    ]
    if not slices:
        msg = (
            "`kind` 'slices' needs slices with a difference, got none for this question. Give the "
            "examination the items' metadata."
        )
        raise InputError(msg)
    worst = sorted(slices, key=lambda pair: number(pair[1]["difference"]))[:MOST_SLICES]
    heading = say("slices_title", question=label(sheet.question, width=36))
    if len(judges) == 1:
        heading = f"{label(judges[0]['judge'], width=26)} · {heading}"
    if len(worst) < len(slices):
        heading += f", {say('worst_of', n=len(worst), total=len(slices))}"
    return draw_dot_rows(
        DotRows(
            rows=_rows(worst, [judge["judge"] for judge in judges]),
            heading=heading,
            alt=say("alt_slices", judges=count_judges(len(judges), say)),
            x_title=say("slice_difference"),
            line=0.0,
            key=_key(worst, say),
        ),
        say=say,
        ax=ax,
    )


def _rows(worst: Sequence[tuple[str, Mapping[str, Any]]], judges: Sequence[str]) -> list[DotRow]:
    """Return the slices judge by judge, below the judge's name where there are several."""
    names = distinct_labels(judges, width=26)
    rows: list[DotRow] = []
    for judge, name in zip(judges, names, strict=True):
        parts = [part for owner, part in worst if owner == judge]
        labels = distinct_labels((_name(part) for part in parts), width=28)
        if parts and len(judges) > 1:
            rows.append(DotRow(label=name, is_heading=True, starts_group=True))
        rows += [_row(part, text) for part, text in zip(parts, labels, strict=True)]
    return rows


def _name(part: Mapping[str, Any]) -> str:
    return f"{label(part['column'], width=16)} = {label(part['value'], width=24)}"


def _row(part: Mapping[str, Any], text: str) -> DotRow:
    row = DotRow(
        label=text,
        value=number(part["difference"]),
        low=number(part["low"]),
        high=number(part["high"]),
        outcome="failed",
    )
    return replace(row, outcome="passed", colour=LIGHT["fail"]) if part["worse"] else row


def _key(worst: Sequence[tuple[str, Mapping[str, Any]]], say: Words) -> list[KeyItem]:
    worse = {"linestyle": "none"} | mark_style("passed", LIGHT["fail"])
    not_worse = {"linestyle": "none"} | mark_style("failed", LIGHT["series-1"])
    items = [
        KeyItem(text=say("worse"), style=worse),
        KeyItem(text=say("not_worse"), style=not_worse),
    ]
    level = next((part.get("confidence_level") for _, part in worst), None)
    if level is not None:
        style = {"color": LIGHT["series-1"], "linewidth": 2}
        items.append(KeyItem(text=say("interval", level=level), style=style))
    return items
