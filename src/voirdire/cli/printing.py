"""Results on standard output, everything else on standard error."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
import warnings
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, TextIO

from voirdire.errors import (
    DegenerateDataWarning,
    DoubtfulLabelsWarning,
    DroppedRowsWarning,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from voirdire.studies import Examination, GoldExamination

__all__ = [
    "counted",
    "listen_for_interrupts",
    "plain_table",
    "print_examination",
    "print_gold",
    "print_json",
    "print_tables",
    "print_text",
    "progress",
]


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Show that work goes on, on a terminal; warnings are part of the result and not repeated."""
    with warnings.catch_warnings(), _spinner(doing):
        for told in (DegenerateDataWarning, DoubtfulLabelsWarning, DroppedRowsWarning):
            warnings.simplefilter("ignore", told)
        yield


def _spinner(doing: str) -> AbstractContextManager[object]:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"{doing} …")


def listen_for_interrupts() -> None:
    """Let Ctrl-C end a read that waits: polars installs a handler under which it would go on."""
    import polars as pl  # noqa: F401  # so that its handler is there before ours

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def print_examination(examination: Examination, *, as_json: bool, details: bool) -> None:
    """Print an examination as tables, or as one JSON object."""
    from voirdire.reporting import ExaminationTables, examination_to_json

    if as_json:
        print_text(examination_to_json(examination) + "\n")
    else:
        print_tables(ExaminationTables(examination, details=details))


def print_gold(examination: GoldExamination, *, as_json: bool, details: bool) -> None:
    """Print judges against gold labels as a table, or as one JSON object."""
    if as_json:
        print_json({"gold": examination.results, "dropped": examination.dropped})
        return
    from voirdire.reporting.judge_tables import GoldTables

    print_tables(GoldTables(examination, details=details))


def print_tables(*shown: RenderableType, stream: TextIO | None = None) -> None:
    """Print tables, 120 wide where nothing says how wide; a line of text is never broken.

    A table that is wider than the terminal gives up text and then columns, but no figure.
    """
    from rich.console import Console
    from rich.table import Table

    from voirdire.reporting.narrow_tables import NarrowTable

    stream = stream or sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 120
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
    for part in shown:
        whole = NarrowTable(part) if isinstance(part, Table) else part
        console.print(whole, soft_wrap=isinstance(part, str))


def plain_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, words: Sequence[str]
) -> Table:
    """Lay out rows under headings: `words` to the left, numbers to the right, the first whole."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for place, heading in enumerate(headings):
        justify: Literal["left", "right"] = "left" if heading in words else "right"
        table.add_column(heading, justify=justify, no_wrap=place == 0)
    for row in rows:
        table.add_row(*row)
    return table


def counted(number: int, what: str) -> str:
    """Write a number of things."""
    return f"{number:,} {what}{'s'[: number != 1]}"


def print_json(result: Any) -> None:
    """Print a result as one JSON object; null stands for what is no number."""
    from voirdire.documents import plain_json
    from voirdire.records import as_plain

    content = plain_json(as_plain(result))
    print_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n")


def print_text(text: str) -> None:
    """Print what programs read: in UTF-8, whatever the terminal is in.

    A file's name may be no UTF-8. Its bytes become escapes, which JSON reads.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.stdout.write(text)
