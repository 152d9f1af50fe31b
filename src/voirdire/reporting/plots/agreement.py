"""Who agrees with whom: a matrix of raters, judges beside the human ceiling, labels confused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.chart import KeyItem, Panel, draw_chart, finite, write
from voirdire.reporting.plots.dots import dot_row, dots_panel
from voirdire.reporting.plots.rows import number
from voirdire.reporting.plots.style import LIGHT, NARROW_PX, SMALL_PX
from voirdire.reporting.plots.words import distinct_labels, label, text_px, widest_px

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.chart import Frame
    from voirdire.reporting.plots.rows import Sheet
    from voirdire.reporting.plots.words import Words

__all__ = ["draw_agreement", "draw_ceiling", "draw_confusion"]

# Cells ----------------------------------------------------------------------------------------

_MOST_CELLS_DRAWN = 30
_LEAST_CELL, _LARGEST_CELL, _LARGEST_OF_MANY = 14.0, 46.0, 32.0
_MANY = 8
_STRONGEST = 0.9
"""Opacity of 1 and -1: numbers in the ink of the page can still be read on it."""


def _cells_panel(
    values: Sequence[Sequence[float]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    text: Callable[[int, int], str],
    room: float,
    split: int | None = None,
    oneself: bool = False,
    **around: Any,
) -> Panel:
    """Draw a grid of cells, as large as `room` allows, with names left and above.

    `text` gives what is written in a cell where all fit; `split` is where a gap parts two groups,
    `oneself` leaves the diagonal out.
    """
    places = [at + (0.4 if split and at >= split else 0.0) for at in range(len(columns))]
    left = widest_px(rows, SMALL_PX) + 10
    right = 8.0
    across = places[-1] + 1
    largest = _LARGEST_CELL if len(rows) <= _MANY else _LARGEST_OF_MANY
    cell = min(max((room - left - right) / across, _LEAST_CELL), largest)
    tall = (places[-1] if split else len(rows) - 1) + 1
    at = [(i, j) for i in range(len(rows)) for j in range(len(columns)) if not oneself or i != j]
    has_texts = max((text_px(text(i, j), SMALL_PX) for i, j in at), default=0.0) <= cell - 3
    widest = widest_px(columns, SMALL_PX)
    is_level = widest <= cell - 4

    def draw(axes: Axes) -> None:
        down = places if split else list(range(len(rows)))
        axes.set_xlim(0, across)
        axes.set_ylim(tall, 0)
        axes.set_aspect("equal", adjustable="box")
        axes.set_xticks([])
        axes.set_yticks([])
        _hatch(axes, [(places[j], down[i]) for i, j in at if math.isnan(values[i][j])])
        if len(rows) > _MOST_CELLS_DRAWN:
            _draw_rasters(axes, values, split=split, places=places)
        else:
            for i, j in at:
                if math.isfinite(values[i][j]):
                    shown = text(i, j) if has_texts else ""
                    _draw_cell(axes, places[j], down[i], values[i][j], shown, f"cell-{i}-{j}")
        off = 6 / cell
        for place, name in enumerate(rows):
            colour = LIGHT["muted" if split and place < split else "ink"]
            write(axes, name, x=-off, y=down[place] + 0.5, ha="right", color=colour)
        level: Any = {"ha": "center", "va": "baseline"}
        upright: Any = {"ha": "left", "rotation": 90, "rotation_mode": "anchor"}
        for place, name in enumerate(columns):
            colour = LIGHT["muted" if split and place < split else "ink"]
            style = level if is_level else upright
            write(axes, name, x=places[place] + 0.5, y=-off, color=colour, **style)

    return Panel(
        draw=draw,
        height=cell * tall,
        width=cell * across,
        left=left,
        right=right,
        above=24.0 if is_level else widest + 12,
        below=6.0,
        **around,
    )


def _cell_colour(value: float) -> tuple[str, float]:
    """Return colour and opacity of a value in [-1, 1]; the paper shows through near 0."""
    role = "heat-1" if value >= 0 else "heat-2"
    return LIGHT[role], round(min(abs(value), 1.0) * _STRONGEST, 3)


def _draw_cell(axes: Axes, x: float, y: float, value: float, text: str, gid: str) -> None:
    from matplotlib.patches import Rectangle

    style: Any = {"facecolor": _cell_colour(value), "linewidth": 0, "gid": gid, "zorder": 1}
    cell = Rectangle((x, y), 1, 1, clip_on=False, **style)
    axes.add_artist(cell)  # `add_patch` takes as long to find limits, which we set ourselves
    if text:
        write(axes, text, x=x + 0.5, y=y + 0.5, ha="center")


def _hatch(axes: Axes, corners: Iterable[tuple[float, float]]) -> None:
    """Hatch the cells that have no value."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    cells = [
        Path([(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1), (x, y)], closed=True)
        for x, y in corners
    ]
    if cells:
        outline = Path.make_compound_path(*cells)
        axes.add_patch(PathPatch(outline, zorder=1, gid="undefined", **_hatched()))


def _hatched() -> dict[str, Any]:
    return {"facecolor": "none", "edgecolor": LIGHT["muted"], "hatch": "/////", "linewidth": 0}


def _draw_rasters(
    axes: Axes, values: Sequence[Sequence[float]], *, split: int | None, places: Sequence[float]
) -> None:
    """Draw both groups against each other as up to four pictures, a dot a cell; nan is blank."""
    import numpy as np
    from matplotlib.colors import to_rgba

    n, cut = len(values), split or 0
    blank = (0.0, 0.0, 0.0, 0.0)
    parts = [part for part in (range(cut), range(cut, n)) if len(part)]
    for rows in parts:
        for columns in parts:
            dots = np.array(
                [
                    [
                        blank if math.isnan(values[i][j]) else to_rgba(*_cell_colour(values[i][j]))
                        for j in columns
                    ]
                    for i in rows
                ]
            )
            x, y = places[columns[0]], places[rows[0]]
            ends = (x, x + len(columns), y + len(rows), y)
            style: Any = {"interpolation": "none", "aspect": "auto", "zorder": 1, "gid": "raster"}
            axes.imshow(dots, extent=ends, **style)


def _cells_key(values: Iterable[float], *, title: str, say: Words) -> list[KeyItem]:
    """Explain the colours of the values that occur, from the least fifth below them to 1."""
    found = list(values)
    least = min((round(value, 2) for value in finite(found)), default=0.0)
    steps = [step / 5 for step in range(max(math.floor(5 * min(least, 0.0)), -5), 6)]
    items = [KeyItem(text=title)]
    items += [
        KeyItem(
            text=say.digits(step),
            style={"facecolor": _cell_colour(step), "edgecolor": LIGHT["grid"], "linewidth": 0.8},
            box=True,
        )
        for step in steps
    ]
    if any(math.isnan(value) for value in found):
        items.append(KeyItem(text=say("undefined"), style=_hatched(), box=True))
    return items


# Every two raters -----------------------------------------------------------------------------


def draw_agreement(sheet: Sheet, frame: Frame) -> Figure:
    """Draw the coefficient of every two raters, annotators first; beyond 30 as one picture."""
    say = frame.say
    given = sheet.part("agreement", kind="agreement").get("matrix")
    if given is None or not given["raters"]:
        msg = (
            "`kind` 'agreement' needs a matrix of agreement, got none for this question: too few "
            "raters share items, or its kind has no such coefficient."
        )
        raise InputError(msg)
    raters, values = _of_chosen_judges(given, sheet)
    is_judge = [rater["role"] == "judge" for rater in raters]
    order = sorted(range(len(raters)), key=lambda at: (is_judge[at], _mean(values[at], is_judge)))
    width = 20 if frame.is_narrow else 28
    names = distinct_labels((raters[at]["name"] for at in order), width=width)
    values = [[values[row][column] for column in order] for row in order]
    coefficient = _name_coefficient(given["coefficient"], given.get("weights"), say)
    others = [value for i, row in enumerate(values) for j, value in enumerate(row) if i != j]
    return draw_chart(
        frame,
        heading=say("agreement_title", question=label(sheet.question), coefficient=coefficient),
        alt=say("alt_agreement", coefficient=coefficient, n=len(names)),
        panels=[
            _cells_panel(
                values,
                rows=names,
                columns=names,
                text=lambda i, j: say.two_digits(values[i][j]),
                room=frame.width,
                split=is_judge.count(False) if any(is_judge) else None,
                oneself=True,
            )
        ],
        key=_cells_key(others, title=coefficient, say=say),
    )


def _of_chosen_judges(
    given: Mapping[str, Any], sheet: Sheet
) -> tuple[list[Mapping[str, Any]], list[list[float]]]:
    only = (sheet.findings or {}).get("only_judges")
    kept = [
        place
        for place, rater in enumerate(given["raters"])
        if only is None or rater["role"] != "judge" or rater["name"] in only
    ]
    values = [[math.nan if i == j else number(given["values"][i][j]) for j in kept] for i in kept]
    return [given["raters"][place] for place in kept], values


def _mean(values: Sequence[float], is_judge: Sequence[bool]) -> float:
    """Return minus the mean with the annotators, by which raters are sorted; nan comes last."""
    pairs = zip(values, is_judge, strict=True)
    found = finite(value for value, judge in pairs if not judge)
    return -sum(found) / len(found) if found else math.inf


def _name_coefficient(name: str, weights: str | None, say: Words) -> str:
    if weights is None:
        return say(name)
    return say("weighted", coefficient=say(name), weights=say(weights))


# The human ceiling ----------------------------------------------------------------------------

_USUAL = "cohen_kappa"


def draw_ceiling(sheet: Sheet, frame: Frame, *, coefficient: str | None = None) -> Figure:
    """Draw the judges from the best to the worst against the band of the annotators."""
    say = frame.say
    agreement = sheet.part("agreement", kind="ceiling")
    wanted = _choose_coefficient(agreement["ceiling"], coefficient)
    ceiling = _named(agreement["ceiling"], wanted)
    found = sheet.judges_in(agreement)
    rows = [
        dot_row(_named(each["coefficients"], wanted), "estimate", label=text)
        for each, text in zip(found, distinct_labels(e["judge"] for e in found), strict=True)
    ]
    rows.sort(key=lambda row: (math.isnan(row.value), -row.value))
    if rows:
        rows[0] = replace(rows[0], starts_group=True)
    human = dot_row(ceiling, "estimate", label=say("human_row"), colour=LIGHT["ink"])
    text = _name_coefficient(wanted, ceiling.get("weights"), say)
    key = [KeyItem(text=say("ceiling"), style={"color": LIGHT["ink"], "linewidth": 1.4})]
    if math.isfinite(human.low) and ceiling.get("confidence_level") is not None:
        box = {"facecolor": LIGHT["region-1"], "linewidth": 0}
        level = say("interval", level=ceiling["confidence_level"])
        key.append(KeyItem(text=level, style=box, box=True))
    return draw_chart(
        frame,
        heading=say("agreement_title", question=label(sheet.question), coefficient=text),
        alt=say("alt_ceiling", coefficient=text, judges=say.count_judges(len(rows))),
        panels=[
            dots_panel(
                [human, *rows],
                frame,
                x_title=text,
                limits=(math.nan, 1.0),
                bounds=(-1.0, 1.0),
                line=human.value,
                band=(human.low, human.high),
            )
        ],
        key=key,
    )


def _choose_coefficient(given: Sequence[Mapping[str, Any]], wanted: str | None) -> str:
    """Choose Cohen's κ, or the first coefficient that is defined where it is not."""
    names = [each["coefficient"] for each in given]
    if wanted is not None:
        if wanted not in names:
            listed = ", ".join(repr(name) for name in names)
            msg = f"`coefficient` must be one of {listed}, got {wanted!r}."
            raise InputError(msg)
        return wanted
    if not names:
        msg = "`kind` 'ceiling' needs the annotators' agreement, got none for this question."
        raise InputError(msg)
    defined = [each["coefficient"] for each in given if math.isfinite(number(each["estimate"]))]
    return _USUAL if _USUAL in (defined or names) else (defined or names)[0]


def _named(given: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next((each for each in given if each["coefficient"] == name), {})


# Labels confused ------------------------------------------------------------------------------

_MOST_JUDGES = 6
_SETS = ("both", "judge_only", "human_only")


def draw_confusion(sheet: Sheet, frame: Frame) -> Figure:
    """Draw counts of the annotators' labels by the judge's, a panel for each of the best six."""
    say = frame.say
    found = sheet.judges_in(sheet.part("diagnosis", kind="confusion"))
    found = [each for each in found if _has_table(each.get("confusion"))]
    if not found:
        msg = "`kind` 'confusion' needs a table of labels, got none for this question."
        raise InputError(msg)
    shown = found[:_MOST_JUDGES]
    half = (frame.width - 18) / 2
    panels = [_confusion_panel(each, half, say) for each in shown]
    n_columns = 2
    if len(shown) == 1 or max(p.left + (p.width or 0.0) + p.right for p in panels) > half:
        n_columns = 1
        panels = [_confusion_panel(each, frame.width, say) for each in shown]
    heading = say("confusion_title", question=label(sheet.question))
    if len(shown) < len(found):
        heading += f", {say('best_of', n=len(shown), total=len(found))}"
    if frame.ax is not None:
        heading = f"{label(shown[0]['judge'])} · {heading}"
    key = _cells_key([0.0], title=say("share_of_row"), say=say)
    if not any(each["confusion"].get("per_label") for each in shown):
        key.append(KeyItem(text=say("table_sides")))
    return draw_chart(
        frame,
        heading=heading,
        alt=say("alt_confusion", judges=say.count_judges(len(shown))),
        panels=panels,
        key=key,
        n_columns=n_columns,
    )


def _has_table(given: Mapping[str, Any] | None) -> bool:
    return given is not None and bool(given["counts"] or given.get("per_label"))


def _confusion_panel(judge: Mapping[str, Any], room: float, say: Words) -> Panel:
    """Draw one judge; of label sets a row per label: who gave it, where anybody did."""
    given, width = judge["confusion"], 18 if room < NARROW_PX else 28
    if given.get("per_label"):
        rows = _quoted([row["label"] for row in given["per_label"]], say, width=width)
        columns = [say(name) for name in _SETS]
        counts = [[int(row[name]) for name in _SETS] for row in given["per_label"]]
    else:
        rows = _quoted(given["labels"], say, width=width)
        counts = [list(row) for row in given["counts"]]
        if len(counts) > len(rows):  # the other labels together
            rows = [*rows, say("other_labels", n=given["n_other"])]
        columns = rows
    totals = [sum(row) for row in counts]
    return _cells_panel(
        [
            [count / total if total else math.nan for count in row]
            for row, total in zip(counts, totals, strict=True)
        ],
        rows=rows,
        columns=columns,
        text=lambda i, j: f"{counts[i][j]:,}",
        room=room,
        title=label(judge["judge"]),
    )


def _quoted(labels: Sequence[str], say: Words, *, width: int) -> list[str]:
    return [say.quote(text) for text in distinct_labels(labels, width=width)]
