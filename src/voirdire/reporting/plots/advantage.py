"""ρ of every judge with its interval, beside the annotators' own advantage."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.reporting.plots.dot_rows import DotRow, DotRows, draw_dot_rows
from voirdire.reporting.plots.headings import heading_of
from voirdire.reporting.plots.marks import KeyItem, outcome_key
from voirdire.reporting.plots.names import distinct_labels
from voirdire.reporting.plots.rows import controls_of, number
from voirdire.reporting.plots.style import LIGHT
from voirdire.reporting.plots.words import count_judges, name_control

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.rows import Sheet
    from voirdire.reporting.plots.words import Words

__all__ = ["control_rows", "draw_advantage"]


def draw_advantage(sheet: Sheet, *, say: Words, ax: Axes | None) -> Figure:
    """Draw the judges from the best to the worst, the controls below."""
    found = sheet.at_epsilon()
    labels = distinct_labels(row["judge"] for row in found)
    rows = [_judge_row(row, text) for row, text in zip(found, labels, strict=True)]
    rows += control_rows(found, "advantage_probability", say)
    return draw_dot_rows(
        DotRows(
            rows=rows,
            heading=heading_of(sheet, say),
            alt=say("alt_advantage", judges=count_judges(len(found), say)),
            x_title=say("advantage"),
            limits=(math.nan, 1.0),
            bounds=(0.0, 1.0),
            key=[*_key(found, rows, say), *outcome_key((r["outcome"] for r in found), say)],
        ),
        say=say,
        ax=ax,
    )


def _judge_row(row: Mapping[str, Any], text: str) -> DotRow:
    uncertainty = row["uncertainty"] or {}
    return DotRow(
        label=text,
        value=number(row["advantage_probability"]),
        low=number(uncertainty.get("advantage_low")),
        high=number(uncertainty.get("advantage_high")),
        reference=number(row["human_advantage"]),
        outcome=row["outcome"],
    )


def control_rows(found: Sequence[Mapping[str, Any]], figure: str, say: Words) -> list[DotRow]:
    """Return the rows of the controls, in grey."""
    return [
        DotRow(
            label=name_control(control, say, width=14),
            value=number(control[figure]),
            outcome="control",
            colour=LIGHT["muted"],
            starts_group=place == 0,
        )
        for place, control in enumerate(controls_of(found))
    ]


def _key(found: Sequence[Mapping[str, Any]], rows: Sequence[DotRow], say: Words) -> list[KeyItem]:
    bar = {"linestyle": "none", "marker": "|", "markersize": 13, "markeredgewidth": 2.2}
    items = [KeyItem(text=say("human_mark"), style=bar | {"color": LIGHT["muted"]})]
    if any(math.isfinite(row.low) for row in rows):
        levels = [(row["uncertainty"] or {}).get("confidence_level") for row in found]
        level = next((each for each in levels if each is not None), 0.95)
        style = {"color": LIGHT["series-1"], "linewidth": 2}
        items.append(KeyItem(text=say("interval", level=level), style=style))
    return items
