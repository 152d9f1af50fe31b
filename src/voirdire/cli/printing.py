"""Results on standard output, in files and on pages; everything else on standard error."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
import warnings
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TextIO, cast

from cyclopts import Parameter

from voirdire import reporting
from voirdire._messages import shorten
from voirdire.cli.calls import check_sources, require, rewrite_as_options, say
from voirdire.cli.options import AsCsv, AsJson, ReportLanguage
from voirdire.cli.written_files import check_written, write_text
from voirdire.errors import DegenerateDataWarning, DoubtfulLabelsWarning, DroppedRowsWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from voirdire.records import Dropped

_MOST_SHOWN = 5


# Results --------------------------------------------------------------------------------------


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Printed:
    """How a result is printed: for people, or as JSON or CSV for programs."""

    as_json: AsJson = False
    as_csv: AsCsv = False

    def __post_init__(self) -> None:
        """Refuse two forms at once."""
        require(not (self.as_json and self.as_csv), "`--json` and `--csv` exclude each other.")

    @property
    def is_data(self) -> bool:
        """Whether a program reads it."""
        return self.as_json or self.as_csv

    def check_streamed(self, output: object) -> None:
        """Refuse two things on standard output at once."""
        form = "--csv" if self.as_csv else "--json"
        rule = f"`{form}` must not be given with `-o -`: both print to standard output."
        require(str(output) != "-" or not self.is_data, rule)

    def print(self, content: Any, *tables: RenderableType, rows: str | None = None) -> None:
        """Print a result, or the JSON of one with its list `rows`, in the form that is wanted.

        Beside rows on standard output its tables go to standard error.
        """
        if self.as_json:
            print_json(content.as_dict() if hasattr(content, "as_dict") else content)
        elif self.as_csv:
            from voirdire.io.files import write_csv
            from voirdire.records.tables import Tabular, as_table

            is_table = isinstance(content, Tabular)
            frame = content.frame() if is_table else as_table(_as_json(content), rows)
            print_text(write_csv(frame))
        else:
            is_streamed = getattr(content, "output", None) == "-"
            print_tables(*tables, stream=sys.stderr if is_streamed else None)

    def sum_up(self, summary: Any, *, what: str = "row", **about: Any) -> None:
        """Print what a run over a file gave; say before which rows were set aside."""
        n, output = summary.n_dropped, summary.dropped_output
        say_drops(summary.dropped, what=what, n_dropped=n, output=output)
        self.print(summary, reporting.ResultTables(reporting.rows(summary, **about)))


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Shown(Printed):
    """How a result is shown: printed, and as a page.

    Parameters
    ----------
    report
        Write everything to this HTML file, to be read without a statistician.
    """

    report: Path | None = None
    language: ReportLanguage = "en"

    def check(self, **others: Path | None) -> None:
        """Refuse to write over a file of another kind, and two results to one file."""
        check_written(others | {"report": self.report})

    def show(
        self,
        result: Any,
        *,
        content: Any = None,
        details: bool = False,
        **about: Any,
    ) -> None:
        """Write a result's page and print it; `content` is its JSON, where it has another.

        What is printed is what its page says.
        """
        if self.report is not None:
            with progress("writing the report"):
                page = reporting.html_page(result, language=self.language, **about)
                write_text(self.report, page)
            say(f"report: {self.report}")
        content = result if content is None else content
        if self.is_data:
            self.print(content)
        else:
            view = reporting.rows(result, **about)
            self.print(content, reporting.ResultTables(view, details=details))


def print_tables(*tables: RenderableType, stream: TextIO | None = None) -> None:
    """Print tables, 120 wide where nothing says how wide; a line of text is never broken."""
    from rich.console import Console

    stream = stream or sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 120
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
    for part in tables:
        console.print(part, soft_wrap=isinstance(part, str), crop=False)


def print_json(result: Any) -> None:
    """Print a result as one JSON object; null stands for what is no number."""
    print_text(json.dumps(_as_json(result), ensure_ascii=False, indent=2) + "\n")


def _as_json(result: Any) -> Any:
    from voirdire.documents import plain_json
    from voirdire.records import as_plain

    return plain_json(as_plain(result))


def print_text(text: str) -> None:
    """Print what programs read: in UTF-8, whatever the terminal is in.

    A file's name may be no UTF-8. Its bytes become escapes, which JSON reads.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.stdout.write(text)


# Beside the result ----------------------------------------------------------------------------


@contextmanager
def say_warnings() -> Iterator[None]:
    """Say warnings of the library as notes, in a line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    say_notes(dict.fromkeys(str(warning.message) for warning in caught))


def say_notes(notes: Iterable[str], dropped: Sequence[str] = ()) -> None:
    """Say what a reader should know, and name the parts of a run that could not be read."""
    for note in notes:
        say(f"note: {shorten(rewrite_as_options(note), width=600)}")
    for row in dropped[:_MOST_SHOWN]:
        say(f"left out: {shorten(row, width=160)}")
    if len(dropped) > _MOST_SHOWN:
        say(f"and {len(dropped) - _MOST_SHOWN} more")


def say_drops(dropped: Sequence[Dropped], **about: Any) -> None:
    """Say how many rows were set aside, and why the first of them were."""
    from voirdire.reporting.progress_text import drop_lines

    for line in drop_lines(dropped, **about):
        say(rewrite_as_options(line))


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Show that work goes on, on a terminal; warnings are part of the result and not repeated."""
    spinner: Any = nullcontext()
    if sys.stderr.isatty():
        from rich.console import Console

        spinner = Console(stderr=True).status(f"{doing} …")
    with warnings.catch_warnings(), spinner:
        for told in (DegenerateDataWarning, DoubtfulLabelsWarning, DroppedRowsWarning):
            warnings.simplefilter("ignore", told)
        yield


# Interruptions --------------------------------------------------------------------------------


def start_reading() -> None:
    """Let Ctrl-C end a read that waits: polars installs a handler under which it would go on.

    A file that does not exist is refused before.
    """
    check_sources()
    import polars as pl  # noqa: F401  # so that its handler is there before ours

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def keep_when_stopped(
    source: str, *, store: str | Path | Literal[False] | None = None, keeps: bool = True
) -> Iterator[None]:
    """Let SIGTERM keep what is paid for, as Ctrl-C does, and say then where it is kept.

    A judge in this process keeps nothing. A read of standard input that waits can be left: it goes
    through an object that nothing closes, since items are read in a thread under which Python would
    close `sys.stdin`, and abort where it waits.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    if source == "-":
        with suppress(OSError, ValueError):  # it is no file
            file = os.fdopen(sys.stdin.fileno(), "rb", closefd=False)
            sys.stdin = cast("TextIO", SimpleNamespace(buffer=file))
    try:
        yield
    except KeyboardInterrupt:
        if keeps:
            from voirdire.store.database import read_address, show_address

            is_address = "://" in str(store)
            shown = show_address(read_address(str(store))) if is_address else store  # no password
            kept = f"every reply is kept in {shown or 'the store'}"
            say(f"{kept}; the same command goes on from there.")
        raise
