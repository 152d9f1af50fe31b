"""Tables for a terminal in one look, which a narrow one folds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from rich.console import RenderableType

__all__ = ["plain_table"]


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
        table.add_column(heading, justify="left" if heading in words else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
