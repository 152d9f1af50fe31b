"""Which of the annotators' labels a judge takes for which: counts, coloured by share of the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.canvas import add_axes, clear, figure_of, new_plot, note, write
from voirdire.reporting.plots.findings import judges_of, part_of
from voirdire.reporting.plots.heat import draw_cell, draw_undefined, heat_key
from voirdire.reporting.plots.marks import KeyItem, draw_key, key_height, legend
from voirdire.reporting.plots.names import distinct_labels, label, widest_px
from voirdire.reporting.plots.style import FONT_PX, LIGHT, SMALL_PX, WIDTH_PX
from voirdire.reporting.plots.words import count_judges, quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire.reporting.plots.rows import Sheet
    from voirdire.reporting.plots.words import Words

__all__ = ["draw_confusion"]

MOST_JUDGES = 6
_GAP_PX = 30.0
_NAME_PX = 30.0


@dataclass(frozen=True, kw_only=True)
class _Table:
    """What is drawn of one judge: names of rows and columns, and the counts."""

    judge: str
    rows: list[str]
    columns: list[str]
    counts: list[list[int]]
    is_of_sets: bool = False


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """Sizes that all panels share, in pixels."""

    n_across: int
    n_down: int
    beside: float
    above: float
    cell: float
    tall: float
    wide: float

    @property
    def panel(self) -> float:
        return self.above + self.tall + _GAP_PX


def draw_confusion(sheet: Sheet, *, say: Words, ax: Axes | None) -> Figure:
    """Draw a panel per judge, for the best six at most."""
    found = judges_of(part_of(sheet, "diagnosis", kind="confusion"), sheet)
    tables = [table for each in found if (table := _table(each, say)) is not None]
    if not tables:
        msg = "`kind` 'confusion' needs a table of labels, got none for this question."
        raise InputError(msg)
    if ax is not None:
        clear(ax)
        _draw_table(ax, tables[0], size=SMALL_PX)
        title = f"{label(tables[0].judge, width=28)} · {_heading(sheet, say, 1, 1)}"
        ax.set_xlabel(title, parse_math=False)
        legend(ax, heat_key([0.0], title=say("share_of_row"), say=say))
        return figure_of(ax)
    heading = _heading(sheet, say, min(len(tables), MOST_JUDGES), len(tables))
    return _draw_panels(tables[:MOST_JUDGES], heading=heading, say=say)


def _table(judge: Mapping[str, Any], say: Words) -> _Table | None:
    given = judge.get("confusion")
    if not given:
        return None
    if given.get("per_label"):
        return _table_of_sets(judge["judge"], given["per_label"], say)
    names = quote(distinct_labels(given["labels"], width=14), say)
    counts = [list(row) for row in given["counts"]]
    if len(counts) > len(names):  # the other labels together
        names = [*names, say("other_labels", n=given["n_other"])]
    if not counts:
        return None
    return _Table(judge=judge["judge"], rows=names, columns=names, counts=counts)


def _table_of_sets(judge: str, per_label: Sequence[Mapping[str, Any]], say: Words) -> _Table:
    """Return one row per label of a multi-label question: who gave it, where anybody did."""
    columns = ("both", "judge_only", "human_only")
    return _Table(
        judge=judge,
        rows=quote(distinct_labels((row["label"] for row in per_label), width=18), say),
        columns=[say(name) for name in columns],
        counts=[[int(row[name]) for name in columns] for row in per_label],
        is_of_sets=True,
    )


def _heading(sheet: Sheet, say: Words, n: int, total: int) -> str:
    text = say("confusion_title", question=label(sheet.question, width=24))
    return text if n == total else f"{text}, {say('best_of', n=n, total=total)}"


def _layout(tables: Sequence[_Table]) -> _Layout:
    beside = max(widest_px(table.rows, SMALL_PX) for table in tables) + 10
    slanted = max(widest_px(table.columns, SMALL_PX) for table in tables) * 0.72
    above = max(slanted, SMALL_PX) + 10 + _NAME_PX
    n_columns = max(len(table.columns) for table in tables)
    n_rows = max(len(table.rows) for table in tables)
    largest = 52.0 if n_rows <= 12 else 34.0
    overhang = (above - _NAME_PX) * 0.8
    two_wide = (WIDTH_PX - _GAP_PX) / 2 - beside - overhang
    n_across = 2 if len(tables) > 1 and two_wide >= 40 * n_columns else 1
    room = two_wide if n_across == 2 else WIDTH_PX - beside - overhang
    cell = min(largest, max(room / n_columns, 30.0))
    return _Layout(
        n_across=n_across,
        n_down=-(-len(tables) // n_across),
        beside=beside,
        above=above,
        cell=cell,
        tall=cell * n_rows,
        wide=max(beside + cell * n_columns + overhang, WIDTH_PX) if n_across == 1 else WIDTH_PX,
    )


def _draw_panels(tables: Sequence[_Table], *, heading: str, say: Words) -> Figure:
    layout = _layout(tables)
    key = heat_key([0.0], title=say("share_of_row"), say=say)
    if not any(table.is_of_sets for table in tables):
        key = [*key, KeyItem(text=say("table_sides"))]
    below = key_height(key, width=layout.wide)
    figure = new_plot(
        width=layout.wide,
        height=layout.n_down * layout.panel + 8 + below,
        heading=heading,
        alt=say("alt_confusion", judges=count_judges(len(tables), say)),
    )
    figure_height = layout.n_down * layout.panel + 8 + below
    names = distinct_labels((table.judge for table in tables), width=26)
    for place, (table, name) in enumerate(zip(tables, names, strict=True)):
        down, across = divmod(place, layout.n_across)
        left = across * (WIDTH_PX + _GAP_PX) / layout.n_across
        top = down * layout.panel
        style = {"fontweight": "bold", "color": LIGHT["ink"], "fontsize": FONT_PX}
        note(figure, name, x=left, y=figure_height - top - 14, **style)
        axes = add_axes(
            figure,
            left=left + layout.beside,
            top=top + layout.above,
            width=layout.cell * len(table.columns),
            height=layout.cell * len(table.rows),
        )
        _draw_table(axes, table, size=min(SMALL_PX, layout.cell * 0.36))
    draw_key(figure, key)
    return figure


def _draw_table(axes: Axes, table: _Table, *, size: float) -> None:
    for row, counts in enumerate(table.counts):
        total = sum(counts)
        if not total:
            draw_undefined(axes, [(column, row) for column in range(len(counts))])
            continue
        for column, count in enumerate(counts):
            share = count / total
            name = f"cell-{row}-{column}"
            text = f"{count:,}"
            draw_cell(axes, x=column, y=row, value=share, text=text, size=size, gid=name)
    for place, text in enumerate(table.rows):
        write(axes, text, x=-0.12, y=place + 0.5, ha="right")
    slanted: Any = {"ha": "left", "va": "baseline", "rotation": 45, "rotation_mode": "anchor"}
    for place, text in enumerate(table.columns):
        write(axes, text, x=place + 0.5, y=-0.12, **slanted)
    axes.set_xlim(0, len(table.columns))
    axes.set_ylim(len(table.rows), 0)
    axes.set_aspect("equal", adjustable="box")
    axes.set_xticks([])
    axes.set_yticks([])
