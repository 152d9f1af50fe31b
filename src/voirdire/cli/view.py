"""`voirdire view`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from voirdire.cli.option_groups import Text
from voirdire.cli.options import Columns, File, Output, ReportLanguage
from voirdire.cli.printing import progress, say_notes
from voirdire.cli.written_files import check_written, open_page, write_text

if TYPE_CHECKING:
    from voirdire.reporting.result_pages import ResultPage

__all__ = ["view_command", "write_page"]


def view_command(
    file: Annotated[str, Parameter(metavar="FILE|RUN")],
    /,
    *,
    items: File = None,
    columns: Columns = None,
    output: Output = None,
    browse: Annotated[bool, Parameter(name="--open", negative="--no-open")] = True,
    language: ReportLanguage = "en",
    title: Text = None,
) -> None:
    """Open a result in the browser: with the items, a search and filters.

    Nothing is served or loaded from elsewhere: it is one HTML page on this machine.

    Parameters
    ----------
    file
        The JSON of `voirdire examine` or `voirdire examine-reward`, verdicts (JSONL, CSV, Parquet,
        JSON), a certificate, or the folder of a training run; - reads standard input.
    items
        Prompts and responses of an examination or of verdicts, by id.
    columns
        Your name for a column of verdicts or of --items, as OURS=YOURS: item for the ids, judge,
        label, question, failure, probability; repeatable.
    output
        The page; by default in a new folder that only you can read.
    browse
        Open the page in the browser, where there is a screen.
    title
        Heading of the page.
    """
    check_written(option="--output", report=output)
    from voirdire.io.declared import Reading
    from voirdire.reporting.result_pages import PageRequest, make_page

    with progress("writing"):
        request = PageRequest(
            file=file,
            language=language,
            title=title,
            items=items,
            reading=Reading(columns=columns),
            texts=True,
        )
        page = make_page(request)
    say_notes((), page.dropped)
    if output is None:
        output = Path(tempfile.mkdtemp(prefix="voirdire-")) / "view.html"  # of mode 0700
    write_page(output, page)
    if browse:
        open_page(output)


def write_page(output: Path, page: ResultPage) -> None:
    """Write a page, and say where it is and what is on it."""
    write_text(output, page.html)
    size = len(page.html.encode())
    shown = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    for line in (f"{output}: {shown}", *page.lines):
        print(line)
