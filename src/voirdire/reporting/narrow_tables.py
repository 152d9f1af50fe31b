"""Tables in a narrow terminal: columns of text give way first, and no figure is ever cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.style import StyleType
    from rich.table import Column

__all__ = ["NarrowTable", "plain_table"]

_LEAST_TEXT = 12
"""Of fewer columns of a name nobody knows which one it is."""

_USUAL = 80
_WIDE = 10_000


class NarrowTable:
    """A table that a narrow console shows whole: print it with a `Console`.

    Where the table is too wide, its columns of text become narrower, and all stand closer. Where
    that is not enough, rows and columns change places, if that fits; else rows are stacked: what
    stands in the first column, and below it a line per figure. Columns that are aligned to the
    right or are not to be wrapped hold figures.

    Parameters
    ----------
    table : rich.table.Table
        With the columns that the reader is to see. It is changed where it is too wide.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield the table, or its rows stacked."""
        table, width = self._table, options.max_width
        sizes = [_size(column, console, options) for column in table.columns]
        texts = {
            place: size
            for place, (size, column) in enumerate(zip(sizes, table.columns, strict=True))
            if not _is_figure(column)
        }
        figures = sum(sizes) - sum(texts.values())
        least = sum(min(size, _LEAST_TEXT) for size in texts.values())
        if least > width - _rules(table) - figures:
            table.padding = 0  # columns stand closer
        room = width - _rules(table) - figures
        turned = _turn(table, console)
        if sum(texts.values()) <= room:
            yield table
        elif least <= room:
            for place, size in _narrowed(texts, room).items():
                table.columns[place].width = size
                if width < _USUAL:  # too little is left to tell names apart by their beginnings
                    table.columns[place].overflow = "fold"
            yield table
        elif len(table.rows) > 1 and _measure(turned, console, options) <= width:
            yield turned
        else:
            yield from _stack(table, console)


def _measure(cell: RenderableType, console: Console, options: ConsoleOptions) -> int:
    """Give the room that something takes where there is enough of it."""
    return Measurement.get(console, options.update_width(_WIDE), cell).maximum


def _turn(table: Table, console: Console) -> Table:
    """Let rows and columns change places: names of rows become heads."""
    heads = [" ".join(_text(column.header, console).plain.split()) for column in table.columns]
    columns = [[_text(cell, console) for cell in column.cells] for column in table.columns]
    turned = plain_table((heads[0], *(cell.plain for cell in columns[0])), words=heads[:1])
    for head, cells in zip(heads[1:], columns[1:], strict=True):
        turned.add_row(Text(head), *map(_stripped, cells))
    return turned


def _is_figure(column: Column) -> bool:
    return column.justify == "right" or column.no_wrap


def _size(column: Column, console: Console, options: ConsoleOptions) -> int:
    """Give the room that a column takes where there is enough of it."""
    size = max(1, *(_measure(cell, console, options) for cell in (column.header, *column.cells)))
    if column.min_width is not None:
        size = max(size, column.min_width)
    return size if column.max_width is None else min(size, column.max_width)


def _rules(table: Table) -> int:
    """Count the room between columns: padding, and lines of which all are blank."""
    _, right, _, left = table.padding
    n = len(table.columns)
    taken = n * (left + right) - (0 if table.pad_edge else left + right)
    if table.box is not None:
        taken += n - 1 + (2 if table.show_edge else 0)
    return taken


def _narrowed(sizes: dict[int, int], room: int) -> dict[int, int]:
    """Take from the widest column of text, one step after the other."""
    narrowed = dict(sizes)
    while sum(narrowed.values()) > room:
        narrowed[max(narrowed, key=lambda place: narrowed[place])] -= 1
    return narrowed


def _stack(table: Table, console: Console) -> Iterator[RenderableType]:
    """Lay a row out as lines, each with the head of its column."""
    if table.title:
        style = table.title_style or "table.title"
        yield _text(table.title, console, style=style)
        yield ""
    heads = [" ".join(_text(column.header, console).plain.split()) for column in table.columns]
    longest = max(cell_len(head) for head in heads[1:]) if heads[1:] else 0
    columns = [list(column.cells) for column in table.columns]
    for place, row in enumerate(table.rows):
        style = row.style or ""
        name, *rest = (_text(cells[place], console, style=style) for cells in columns)
        lines = [name]
        for head, cell in zip(heads[1:], rest, strict=True):
            if not cell.plain.strip():
                continue
            if not head:  # marks, which belong to the name
                name.append("  ").append_text(_stripped(cell))
                continue
            line = Text(f"  {head}{' ' * (longest - cell_len(head))}  ", style=style)
            lines.append(line.append_text(_stripped(cell)))
        yield from lines
        if row.end_section:
            yield ""


def _text(cell: RenderableType, console: Console, *, style: StyleType = "") -> Text:
    if isinstance(cell, Text):
        text = cell.copy()
        text.stylize_before(style)
        return text
    return console.render_str(str(cell), style=style)


def _stripped(cell: Text) -> Text:
    start = len(cell.plain) - len(cell.plain.lstrip())
    cell.rstrip()
    return cell[start:]


def plain_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[RenderableType]] = (),
    *,
    words: Collection[str],
    title: str = "",
    style: str = "bold",
) -> Table:
    """Lay out rows under headings: `words` to the left, numbers to the right."""
    table = Table(
        title=title or None,
        title_justify="left",
        title_style=style,
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for heading in headings:
        if heading in words:
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table
