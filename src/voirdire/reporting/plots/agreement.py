"""Draw agreement: a matrix of raters, judges beside the human ceiling, confusion of labels."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from voirdire.reporting.plots.dots import LINE, draw_dots, make_dot_row
from voirdire.reporting.plots.frame import Panel, draw_chart, keep_finite, style_area
from voirdire.reporting.plots.results import choose, make_sheet, require
from voirdire.reporting.plots.style import LIGHT, NARROW_PX
from voirdire.reporting.plots.words import estimate_widest_px, make_distinct_labels, shorten_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.frame import Frame, Key, Style
    from voirdire.reporting.plots.results import Choice, Sheet
    from voirdire.reporting.plots.words import Words
    from voirdire.stats.agreement import AgreementMatrix, AgreementResult
    from voirdire.studies.diagnosis import ConfusionTable

__all__ = ["draw_agreement", "draw_ceiling", "draw_confusion"]

# Cells ----------------------------------------------------------------------------------------

_MOST_CELLS_DRAWN = 30
_LEAST_CELL, _LARGEST_CELL, _LARGEST_OF_MANY = 14.0, 46.0, 32.0
_MANY = 8
_STRONGEST = 0.9
"""Opacity of 1 and -1: numbers in the ink of the page can still be read on it."""
_UNDEFINED: Style = {"facecolor": "none", "edgecolor": LIGHT["muted"], "hatch": "/////",
                     "linewidth": 0}  # fmt: skip


def _make_cells_panel(
    values: Sequence[Sequence[float]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    text: Callable[[int, int], str],
    room: float,
    split: int = 0,
    without_diagonal: bool = False,
    title: str = "",
) -> Panel:
    """Draw a grid of cells, as large as `room` allows, with names left and above.

    `text` gives the text of a cell, which is written where all texts fit; a gap before `split`
    separates two groups of raters; `without_diagonal` leaves the diagonal out.
    """
    across = [at + (0.4 if split and at >= split else 0.0) for at in range(len(columns))]
    down = across if split else list(range(len(rows)))
    wide, tall = across[-1] + 1, down[-1] + 1
    left, above = estimate_widest_px(rows) + 10, estimate_widest_px(columns)
    largest = _LARGEST_CELL if len(rows) <= _MANY else _LARGEST_OF_MANY
    cell = min(max((room - left - 8) / wide, _LEAST_CELL), largest)
    at = [
        (i, j)
        for i in range(len(rows))
        for j in range(len(columns))
        if not without_diagonal or i != j
    ]
    has_texts = estimate_widest_px(text(i, j) for i, j in at) <= cell - 3
    is_level = above <= cell - 4

    def draw(axes: Axes) -> None:
        axes.set(xlim=(0, wide), ylim=(tall, 0), xticks=[], yticks=[])
        axes.set_aspect("equal", adjustable="box")
        _hatch_cells(axes, [(across[j], down[i]) for i, j in at if math.isnan(values[i][j])])
        if len(rows) > _MOST_CELLS_DRAWN:
            _draw_rasters(axes, values, split=split, places=across)
            at.clear()
        for i, j in at:
            if math.isfinite(values[i][j]):
                x, y, face = across[j], down[i], _choose_cell_colour(values[i][j])
                box = Rectangle((x, y), 1, 1, facecolor=face, gid=f"cell-{i}-{j}", clip_on=False)
                axes.add_artist(box)  # `add_patch` takes as long to find limits, which are set
                if has_texts:
                    axes.text(x + 0.5, y + 0.5, text(i, j), ha="center", va="center_baseline")
        off = 6 / cell
        colours = [
            LIGHT["muted" if n < split else "ink"] for n in range(max(len(rows), len(columns)))
        ]
        turned: Any = {"ha": "left", "rotation": 90, "rotation_mode": "anchor",
                       "va": "center_baseline"}  # fmt: skip
        level: Any = {"ha": "center", "va": "baseline"}
        for y, name, colour in zip(down, rows, colours, strict=False):
            axes.text(-off, y + 0.5, name, ha="right", va="center_baseline", color=colour)
        for x, name, colour in zip(across, columns, colours, strict=False):
            axes.text(x + 0.5, -off, name, color=colour, **(level if is_level else turned))

    return Panel(draw=draw, height=cell * tall, width=cell * wide, left=left,
                 above=24.0 if is_level else above + 12, below=6.0, title=title)  # fmt: skip


def _choose_cell_colour(value: float) -> tuple[str, float]:
    """Return colour and opacity of a value in [-1, 1]; the paper shows through near 0."""
    role = "heat-1" if value >= 0 else "heat-2"
    return LIGHT[role], round(min(abs(value), 1.0) * _STRONGEST, 3)


def _hatch_cells(axes: Axes, corners: Iterable[tuple[float, float]]) -> None:
    """Hatch the cells that have no value."""
    cells = [
        Path([(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1), (x, y)], closed=True)
        for x, y in corners
    ]
    if cells:
        outline = Path.make_compound_path(*cells)
        axes.add_patch(PathPatch(outline, gid="undefined", **_UNDEFINED))


def _draw_rasters(
    axes: Axes, values: Sequence[Sequence[float]], *, split: int, places: Sequence[float]
) -> None:
    """Draw both groups against each other as up to four pictures, a dot a cell; nan is blank."""
    blank = ("none", 0.0)
    dots = np.array([[to_rgba(*(blank if math.isnan(x) else _choose_cell_colour(x))) for x in row]
                     for row in values])  # fmt: skip
    parts = [part for part in (range(split), range(split, len(values))) if len(part)]
    for rows in parts:
        for columns in parts:
            x, y = places[columns[0]], places[rows[0]]
            style: Any = {"interpolation": "none", "aspect": "auto", "zorder": 1, "gid": "raster"}
            ends = (x, x + len(columns), y + len(rows), y)
            axes.imshow(dots[np.ix_(rows, columns)], extent=ends, **style)


def _make_cells_key(values: Iterable[float], *, title: str, say: Words) -> Key:
    """Explain the colours of the values that occur, from the least fifth below them to 1."""
    values_drawn = list(values)
    least = min((round(value, 2) for value in keep_finite(values_drawn)), default=0.0)
    steps = [step / 5 for step in range(max(math.floor(5 * min(least, 0.0)), -5), 6)]
    edge: Style = {"edgecolor": LIGHT["grid"], "linewidth": 0.8}
    key: Key = [(title, {})]
    key += [(say.digits(step), {"facecolor": _choose_cell_colour(step)} | edge) for step in steps]
    if any(map(math.isnan, values_drawn)):
        key.append((say("undefined"), _UNDEFINED))
    return key


# Every two raters -----------------------------------------------------------------------------


def draw_agreement(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw the coefficient of every two raters, annotators first; beyond 30 as one picture."""
    say, sheet = frame.say, make_sheet(result, choice)
    matrix = sheet.part("agreement", kind="agreement").matrix
    require(
        matrix and matrix.raters,
        "`kind` 'agreement' needs a matrix of agreement, got none for this question: too few "
        "raters share items, or its kind has no such coefficient.",
    )
    order, n_annotators = _order_raters(matrix, sheet)
    width = 20 if frame.is_narrow else 28
    names = make_distinct_labels((matrix.raters[at].name for at in order), width=width)
    values = [[_read_value(matrix, i, j) for j in order] for i in order]
    coefficient = _name_coefficient(matrix, say)
    panel = _make_cells_panel(
        values,
        rows=names,
        columns=names,
        text=lambda i, j: say.two_digits(values[i][j]),
        room=frame.width,
        split=n_annotators if n_annotators < len(order) else 0,
        without_diagonal=True,
    )
    others = [value for i, row in enumerate(values) for j, value in enumerate(row) if i != j]
    return draw_chart(
        frame,
        heading=say(
            "agreement_title", question=shorten_label(sheet.question), coefficient=coefficient
        ),
        alt=say("alt_agreement", coefficient=coefficient, n=len(names)),
        panels=[panel],
        key=_make_cells_key(others, title=coefficient, say=say),
    )


def _read_value(matrix: AgreementMatrix, one: int, other: int) -> float:
    return math.nan if one == other else float(matrix.values[one][other])


def _order_raters(matrix: AgreementMatrix, sheet: Sheet) -> tuple[list[int], int]:
    """Sort annotators and the judges to be drawn by their mean agreement with annotators."""
    raters = matrix.raters
    judges = {at for at, rater in enumerate(raters) if rater.role == "judge"}
    people = [at for at in range(len(raters)) if at not in judges]
    chosen = [at for at in judges if sheet.choice.has_judge(raters[at].name)]

    def rank(at: int) -> tuple[bool, float, int]:
        agreements = keep_finite(_read_value(matrix, at, other) for other in people)
        return at in judges, -sum(agreements) / len(agreements) if agreements else math.inf, at

    return sorted([*people, *chosen], key=rank), len(people)


def _name_coefficient(result: AgreementMatrix | AgreementResult, say: Words) -> str:
    name, weights = say(result.coefficient), result.weights
    return name if weights is None else say("weighted", coefficient=name, weights=say(weights))


# The human ceiling ----------------------------------------------------------------------------

_USUAL = "cohen_kappa"


def draw_ceiling(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw the judges from the best to the worst against the band of the annotators."""
    say, sheet = frame.say, make_sheet(result, choice)
    agreement = sheet.part("agreement", kind="ceiling")
    ceiling = _choose_coefficient(agreement.ceiling, choice.coefficient)
    judges = sheet.judges_in(agreement)
    names = make_distinct_labels(each.judge for each in judges)
    own = (_find_coefficient(each.coefficients, ceiling.coefficient) for each in judges)
    rows = [
        make_dot_row(each, "estimate", label=name) for each, name in zip(own, names, strict=True)
    ]
    rows.sort(key=lambda row: (math.isnan(row.value), -row.value))
    rows[:1] = [replace(row, starts_group=True) for row in rows[:1]]
    human = make_dot_row(ceiling, "estimate", label=say("human_row"), colour=LIGHT["ink"])
    text, level = _name_coefficient(ceiling, say), ceiling.confidence_level
    key: Key = [(say("ceiling"), LINE)]
    if math.isfinite(human.low) and math.isfinite(level):
        key.append((say("interval", level=level), style_area("region-1")))
    return draw_dots(
        frame,
        [human, *rows],
        heading=say("agreement_title", question=shorten_label(sheet.question), coefficient=text),
        alt=say("alt_ceiling", coefficient=text, judges=say.count_judges(len(rows))),
        x_title=text,
        limits=(math.nan, 1.0),
        bounds=(-1.0, 1.0),
        line=human.value,
        band=(human.low, human.high),
        key=key,
    )


def _choose_coefficient(
    coefficients: Sequence[AgreementResult], wanted: str | None
) -> AgreementResult:
    """Choose Cohen's κ, or the first coefficient that is defined where it is not."""
    names = [each.coefficient for each in coefficients]
    require(names, "`kind` 'ceiling' needs the annotators' agreement, got none for this question.")
    defined = [each for each in coefficients if math.isfinite(each.estimate)] or coefficients
    if wanted is not None:
        defined, wanted = coefficients, choose(names, "coefficient", wanted)
    return _find_coefficient(defined, wanted or _USUAL) or defined[0]


def _find_coefficient(coefficients: Sequence[AgreementResult], name: str) -> AgreementResult | None:
    return next((each for each in coefficients if each.coefficient == name), None)


# Labels confused ------------------------------------------------------------------------------

_MOST_JUDGES = 6
_SETS = ("both", "judge_only", "human_only")


def draw_confusion(result: Any, frame: Frame, choice: Choice) -> Figure:
    """Draw counts of the annotators' labels by the judge's, a panel for each of the best six."""
    say, sheet = frame.say, make_sheet(result, choice)
    judges = sheet.judges_in(sheet.part("diagnosis", kind="confusion"))
    tables = [
        (each.judge, table)
        for each in judges
        if (table := each.confusion) and (table.counts or table.per_label)
    ]
    require(tables, "`kind` 'confusion' needs a table of labels, got none for this question.")
    shown, half = tables[:_MOST_JUDGES], (frame.width - 18) / 2
    n_columns, panels = 2, [_make_confusion_panel(*each, half, say) for each in shown]
    if len(shown) == 1 or max(p.left + (p.width or 0.0) + p.right for p in panels) > half:
        n_columns, panels = 1, [_make_confusion_panel(*each, frame.width, say) for each in shown]
    heading = say("confusion_title", question=shorten_label(sheet.question))
    heading = say.add_count(heading, "best_of", n=len(shown), total=len(tables))
    if frame.ax is not None:
        heading = f"{shorten_label(shown[0][0])} · {heading}"
    key = _make_cells_key([0.0], title=say("share_of_row"), say=say)
    if not any(table.per_label for _, table in shown):
        key.append((say("table_sides"), {}))
    return draw_chart(
        frame,
        heading=heading,
        alt=say("alt_confusion", judges=say.count_judges(len(shown))),
        panels=panels,
        key=key,
        n_columns=n_columns,
    )


def _make_confusion_panel(judge: str, table: ConfusionTable, room: float, say: Words) -> Panel:
    """Draw one judge; of label sets a row per label: who gave it, where anybody did."""
    by_label = table.per_label or ()
    labels = [row.label for row in by_label] or table.labels
    width = 18 if room < NARROW_PX else 28
    rows = columns = [say.quote(text) for text in make_distinct_labels(labels, width=width)]
    counts: Sequence[Sequence[int]] = table.counts
    if by_label:
        columns = [say(name) for name in _SETS]
        counts = [[getattr(row, name) for name in _SETS] for row in by_label]
    elif len(counts) > len(rows):  # the other labels together
        rows = columns = [*rows, say("other_labels", n=table.n_other)]
    totals = [sum(row) or math.nan for row in counts]
    return _make_cells_panel(
        [[n / total for n in row] for row, total in zip(counts, totals, strict=True)],
        rows=rows,
        columns=columns,
        text=lambda i, j: f"{counts[i][j]:,}",
        room=room,
        title=shorten_label(judge),
    )
