"""ω of every judge beside ω of judges that know nothing, or everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.errors import InputError
from voirdire.reporting.plots.advantage import control_rows
from voirdire.reporting.plots.dot_rows import DotRow, DotRows, draw_dot_rows
from voirdire.reporting.plots.headings import heading_of
from voirdire.reporting.plots.marks import KeyItem, outcome_key
from voirdire.reporting.plots.names import distinct_labels
from voirdire.reporting.plots.rows import number
from voirdire.reporting.plots.style import LIGHT
from voirdire.reporting.plots.words import count_judges

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.rows import Sheet
    from voirdire.reporting.plots.words import Words

__all__ = ["draw_controls"]


def draw_controls(sheet: Sheet, *, say: Words, ax: Axes | None) -> Figure:
    """Draw judges and controls on the scale of ω, with the line at which they pass."""
    found = sheet.at_epsilon()
    controls = control_rows(found, "winning_rate", say)
    if not controls:
        msg = (
            "`kind` 'controls' needs an examination with controls, got one without. "
            "Examine with `controls=True`."
        )
        raise InputError(msg)
    labels = distinct_labels(row["judge"] for row in found)
    judges = [
        DotRow(label=text, value=number(row["winning_rate"]), outcome=row["outcome"])
        for row, text in zip(found, labels, strict=True)
    ]
    line = KeyItem(text=say("threshold"), style={"color": LIGHT["ink"], "linewidth": 1.4})
    return draw_dot_rows(
        DotRows(
            rows=[*judges, *controls],
            heading=heading_of(sheet, say),
            alt=say("alt_controls", judges=count_judges(len(found), say)),
            x_title=say("winning_rate"),
            limits=(0.0, 1.0),
            bounds=(0.0, 1.0),
            line=0.5,
            key=[line, *outcome_key((row["outcome"] for row in found), say)],
        ),
        say=say,
        ax=ax,
    )
