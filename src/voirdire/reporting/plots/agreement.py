"""Who agrees with whom: the matrix of a coefficient among annotators and judges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.canvas import add_axes, clear, figure_of, new_plot, write
from voirdire.reporting.plots.findings import part_of
from voirdire.reporting.plots.heat import draw_cell, draw_raster, draw_undefined, heat_key
from voirdire.reporting.plots.marks import draw_key, key_height, legend
from voirdire.reporting.plots.names import distinct_labels, label, widest_px
from voirdire.reporting.plots.rows import number
from voirdire.reporting.plots.style import FONT_PX, LIGHT, SMALL_PX, WIDTH_PX
from voirdire.reporting.plots.words import name_coefficient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.marks import KeyItem
    from voirdire.reporting.plots.rows import Sheet
    from voirdire.reporting.plots.words import Words

__all__ = ["draw_agreement"]

MOST_WITH_NUMBERS = 14
MOST_CELLS_DRAWN = 30
_GAP = 0.4


@dataclass(frozen=True, kw_only=True)
class _Matrix:
    """The matrix in the order in which it is drawn, annotators first."""

    labels: list[str]
    values: list[list[float]]
    n_annotators: int
    coefficient: str
    weights: str | None

    @property
    def n(self) -> int:
        return len(self.labels)

    def place(self, rater: int) -> float:
        """Return where a rater's row and column begin."""
        return rater + (_GAP if self.n_annotators and rater >= self.n_annotators else 0.0)

    @property
    def side(self) -> float:
        return self.place(self.n - 1) + 1

    def pairs(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(self.n) for j in range(self.n) if i != j]


def draw_agreement(sheet: Sheet, *, say: Words, ax: Axes | None) -> Figure:
    """Draw the matrix: with numbers for up to 14 raters, as one picture beyond 30."""
    matrix = _matrix(sheet)
    values = [matrix.values[i][j] for i, j in matrix.pairs()]
    coefficient = name_coefficient(matrix.coefficient, matrix.weights, say)
    key = heat_key(values, title=coefficient, say=say)
    heading = say("agreement_title", question=_question(sheet), coefficient=coefficient)
    alt = say("alt_agreement", coefficient=coefficient, n=matrix.n)
    axes = _laid_out(matrix, key, heading=heading, alt=alt) if ax is None else ax
    if ax is not None:
        clear(axes)
    _draw_cells(axes, matrix, say)
    _draw_names(axes, matrix)
    axes.set_xlim(0, matrix.side)
    axes.set_ylim(matrix.side, 0)
    axes.set_aspect("equal", adjustable="box")
    axes.set_xticks([])
    axes.set_yticks([])
    if ax is not None:
        axes.set_xlabel(heading, parse_math=False)
        legend(axes, key)
    return figure_of(axes)


def _question(sheet: Sheet) -> str:
    return label(sheet.question, width=36)


def _matrix(sheet: Sheet) -> _Matrix:
    agreement = part_of(sheet, "agreement", kind="agreement")
    given = agreement.get("matrix")
    if given is None or not given["raters"]:
        msg = (
            "`kind` 'agreement' needs a matrix of agreement, got none for this question: too few "
            "raters share items, or its kind has no such coefficient."
        )
        raise InputError(msg)
    raters, values = _of_chosen_judges(given, sheet)
    is_judge = [rater["role"] == "judge" for rater in raters]
    order = sorted(range(len(raters)), key=lambda at: (is_judge[at], _mean(values[at], is_judge)))
    labels = distinct_labels((raters[at]["name"] for at in order), width=20)
    return _Matrix(
        labels=labels,
        values=[[values[row][column] for column in order] for row in order],
        n_annotators=is_judge.count(False) if any(is_judge) else 0,
        coefficient=given["coefficient"],
        weights=given.get("weights"),
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
    found = [
        value
        for value, judge in zip(values, is_judge, strict=True)
        if not judge and math.isfinite(value)
    ]
    return -sum(found) / len(found) if found else math.inf


def _laid_out(matrix: _Matrix, key: Sequence[KeyItem], *, heading: str, alt: str) -> Axes:
    size = _label_size(matrix)
    names = widest_px(matrix.labels, size) + 10
    is_slanted = matrix.n <= MOST_WITH_NUMBERS
    above = names * (0.72 if is_slanted else 1) + 6
    beside = above if is_slanted else 6
    room = (WIDTH_PX - names - beside) / matrix.side
    cell = 14.0 if matrix.n > MOST_CELLS_DRAWN else min(54.0, max(room, _least_cell(matrix)))
    side = cell * matrix.side
    width = max(names + side + beside, WIDTH_PX)
    foot = key_height(key, width=width)
    figure = new_plot(width=width, height=above + side + 12 + foot, heading=heading, alt=alt)
    if matrix.n > 8:
        figure.min_width_px = width
    draw_key(figure, key)
    return add_axes(figure, left=names, top=above, width=side, height=side)


def _least_cell(matrix: _Matrix) -> float:
    """Return the side of a cell that still holds its number, or a name's line beside it."""
    return 34.0 if matrix.n <= MOST_WITH_NUMBERS else 21.0


def _label_size(matrix: _Matrix) -> float:
    if matrix.n <= MOST_WITH_NUMBERS:
        return FONT_PX if matrix.n <= 10 else SMALL_PX
    return SMALL_PX if matrix.n <= MOST_CELLS_DRAWN else 11.5


def _draw_cells(axes: Axes, matrix: _Matrix, say: Words) -> None:
    undefined = [(i, j) for i, j in matrix.pairs() if math.isnan(matrix.values[i][j])]
    draw_undefined(axes, [(matrix.place(j), matrix.place(i)) for i, j in undefined])
    if matrix.n > MOST_CELLS_DRAWN:
        _draw_blocks(axes, matrix)
        return
    with_numbers = matrix.n <= MOST_WITH_NUMBERS
    for i, j in matrix.pairs():
        value = matrix.values[i][j]
        if math.isfinite(value):
            draw_cell(
                axes,
                x=matrix.place(j),
                y=matrix.place(i),
                value=value,
                text=say.two_digits(value) if with_numbers else "",
                size=13.0,
                gid=f"cell-{i}-{j}",
            )


def _draw_blocks(axes: Axes, matrix: _Matrix) -> None:
    """Draw annotators and judges against each other as up to four pictures."""
    split = matrix.n_annotators
    parts = [part for part in (range(split), range(split, matrix.n)) if len(part)]
    for rows in parts:
        for columns in parts:
            values = [[matrix.values[i][j] for j in columns] for i in rows]
            draw_raster(axes, values, x=matrix.place(columns[0]), y=matrix.place(rows[0]))


def _draw_names(axes: Axes, matrix: _Matrix) -> None:
    size = _label_size(matrix)
    slant = 45 if matrix.n <= MOST_WITH_NUMBERS else 90
    side = {"ha": "right", "fontsize": size, "clip_on": False}
    above = {
        "ha": "left",
        "va": "baseline" if slant == 45 else "center_baseline",
        "fontsize": size,
        "rotation": slant,
        "rotation_mode": "anchor",
    }
    off = 0.12 if matrix.n <= MOST_WITH_NUMBERS else 0.35
    for rater, text in enumerate(matrix.labels):
        middle = matrix.place(rater) + 0.5
        colour = LIGHT["muted"] if rater < matrix.n_annotators else LIGHT["ink"]
        write(axes, text, x=-off, y=middle, color=colour, **side)
        write(axes, text, x=middle, y=-off, color=colour, **above)
