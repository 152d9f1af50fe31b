"""What each probe of a judge moved, against the noise of asking the same twice."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.dot_rows import DotRow, DotRows, draw_dot_rows
from voirdire.reporting.plots.marks import KeyItem, mark_style
from voirdire.reporting.plots.names import distinct_labels, label
from voirdire.reporting.plots.style import LIGHT
from voirdire.reporting.judge_tables import shown_question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.words import Words
    from voirdire.studies import ProbeFinding, ProbeReport

__all__ = ["draw_probes", "is_probing"]


def is_probing(result: Any) -> bool:
    """Tell whether a result is what probes of a judge found."""
    return hasattr(result, "probes") and hasattr(result, "stability")


def draw_probes(report: ProbeReport, *, say: Words, ax: Axes | None) -> Figure:
    """Draw the largest shift under each probe; those that found a bias are in colour."""
    if not is_probing(report) or not report.probes:
        got = "none" if is_probing(report) else type(report).__name__
        msg = f"`result` must be what `probe_judge` returns, with at least one probe, got {got}."
        raise InputError(msg)
    floor = report.stability[0].mean_difference if report.stability else math.nan
    return draw_dot_rows(
        DotRows(
            rows=_rows(report.probes),
            heading=say("probes_title", judge=label(report.judge, width=36)),
            alt=say("alt_probes", n=len(report.probes), n_found=len(report.found)),
            x_title=say("largest_shift"),
            line=0.0,
            band=(-floor, floor),
            key=_key(report, floor, say),
        ),
        say=say,
        ax=ax,
    )


def _rows(probes: Sequence[ProbeFinding]) -> list[DotRow]:
    """Give one row per probe, families apart, each named after what is changed and where."""
    questions = [shown_question(probe) for probe in probes]
    names = [
        probe.probe if question is None else f"{probe.probe}: {question.question}"
        for probe, question in zip(probes, questions, strict=True)
    ]
    families = [probe.family for probe in probes]
    rows = []
    for place, (probe, question, name) in enumerate(
        zip(probes, questions, distinct_labels(names, width=40), strict=True)
    ):
        shift = None if question is None else question.change.shift
        rows.append(
            DotRow(
                label=name,
                value=math.nan if shift is None else shift.estimate,
                low=math.nan if shift is None else shift.low,
                high=math.nan if shift is None else shift.high,
                colour=LIGHT["fail" if probe.is_found else "muted"],
                starts_group=place > 0 and families[place] != families[place - 1],
            )
        )
    return rows


def _key(report: ProbeReport, floor: float, say: Words) -> list[KeyItem]:
    items = [
        KeyItem(text=say(word), style={"linestyle": "none"} | mark_style(None, LIGHT[colour]))
        for is_found, word, colour in (
            (True, "bias_found", "fail"),
            (False, "bias_not_found", "muted"),
        )
        if any(row.is_found is is_found for row in report.probes)
    ]
    if floor > 0:
        box = {"facecolor": LIGHT["region-1"], "linewidth": 0}
        items.append(KeyItem(text=say("noise_floor"), style=box, box=True))
    return items
