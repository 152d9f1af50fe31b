"""How well judges agree with annotators, beside how well annotators agree with each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.dot_rows import DotRow, DotRows, draw_dot_rows
from voirdire.reporting.plots.findings import judges_of, part_of
from voirdire.reporting.plots.marks import KeyItem
from voirdire.reporting.plots.names import distinct_labels, label
from voirdire.reporting.plots.rows import number
from voirdire.reporting.plots.style import LIGHT
from voirdire.reporting.plots.words import count_judges, name_coefficient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.rows import Sheet
    from voirdire.reporting.plots.words import Words

__all__ = ["draw_ceiling"]

_USUAL = "cohen_kappa"


def draw_ceiling(sheet: Sheet, *, say: Words, ax: Axes | None, coefficient: str | None) -> Figure:
    """Draw the judges from the best to the worst against the band of the annotators."""
    agreement = part_of(sheet, "agreement", kind="ceiling")
    found = judges_of(agreement, sheet)
    wanted = _coefficient(agreement["ceiling"], coefficient)
    ceiling = _named(agreement["ceiling"], wanted)
    rows = _rows(found, wanted)
    text = name_coefficient(wanted, ceiling.get("weights"), say)
    human = DotRow(
        label=say("human_row"),
        value=number(ceiling["estimate"]),
        low=number(ceiling["low"]),
        high=number(ceiling["high"]),
        colour=LIGHT["ink"],
    )
    return draw_dot_rows(
        DotRows(
            rows=[human, *rows],
            heading=say(
                "agreement_title", question=label(sheet.question, width=36), coefficient=text
            ),
            alt=say("alt_ceiling", coefficient=text, judges=count_judges(len(rows), say)),
            x_title=text,
            limits=(math.nan, 1.0),
            bounds=(-1.0, 1.0),
            line=number(ceiling["estimate"]),
            band=(number(ceiling["low"]), number(ceiling["high"])),
            key=_key(ceiling, say),
        ),
        say=say,
        ax=ax,
    )


def _rows(found: Sequence[Mapping[str, Any]], wanted: str) -> list[DotRow]:
    labels = distinct_labels(each["judge"] for each in found)
    rows = []
    for place, (each, text) in enumerate(zip(found, labels, strict=True)):
        figure = _named(each["coefficients"], wanted)
        row = DotRow(
            label=text,
            value=number(figure.get("estimate")),
            low=number(figure.get("low")),
            high=number(figure.get("high")),
        )
        rows.append((math.isnan(row.value), -row.value, place, row))
    ordered = [row for *_, row in sorted(rows, key=lambda entry: entry[:3])]
    if ordered:
        first = ordered[0]
        ordered[0] = DotRow(
            label=first.label,
            value=first.value,
            low=first.low,
            high=first.high,
            starts_group=True,
        )
    return ordered


def _coefficient(given: Sequence[Mapping[str, Any]], wanted: str | None) -> str:
    """Choose Cohen's κ, or the first coefficient that is defined where it is not."""
    names = [each["coefficient"] for each in given]
    if wanted is not None:
        if wanted not in names:
            listed = ", ".join(repr(name) for name in names)
            msg = f"`coefficient` must be one of {listed}, got {wanted!r}."
            raise InputError(msg)
        return wanted
    defined = [each["coefficient"] for each in given if math.isfinite(number(each["estimate"]))]
    if not names:
        msg = "`kind` 'ceiling' needs the annotators' agreement, got none for this question."
        raise InputError(msg)
    return _USUAL if _USUAL in (defined or names) else (defined or names)[0]


def _named(given: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next((each for each in given if each["coefficient"] == name), {})


def _key(ceiling: Mapping[str, Any], say: Words) -> list[KeyItem]:
    items = [KeyItem(text=say("ceiling"), style={"color": LIGHT["ink"], "linewidth": 1.4})]
    level = ceiling.get("confidence_level")
    if math.isfinite(number(ceiling.get("low"))) and level is not None:
        box = {"facecolor": LIGHT["region-1"], "linewidth": 0}
        items.append(KeyItem(text=say("interval", level=level), style=box, box=True))
    return items
