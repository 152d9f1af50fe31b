"""`voirdire view`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from voirdire.cli import options as typed
from voirdire.cli.calls import is_source, require
from voirdire.cli.printing import print_tables, progress, start_reading
from voirdire.cli.written_files import check_written, open_page, write_text


def view_command(
    result: Annotated[str, Parameter(metavar="RESULT|RUN", validator=is_source)],
    /,
    *,
    items: typed.Source = None,
    columns: typed.Columns = None,
    output: typed.Output = None,
    browse: Annotated[bool | None, Parameter(name="--open", negative="--no-open")] = None,
    language: typed.ReportLanguage = "en",
    title: typed.Text = None,
    texts: bool = False,
) -> None:
    """Open the page of a result in the browser, or write it to a file.

    It is one HTML page for readers without a statistician; nothing on it is loaded from elsewhere.

    Parameters
    ----------
    result
        What a command prints with --json, a reward, a certificate, verdicts (JSONL, CSV, Parquet,
        JSON), or the folder of a training run; - reads standard input.
    items
        Prompts and responses of verdicts, by id; an examination has them by `examine --items`.
    columns
        Your name for a column of verdicts or of --items, as OURS=YOURS: item for the ids, judge,
        label, question, failure, probability; repeatable.
    output
        The page; - prints it. By default it is in a new folder that only you can read.
    browse
        Open the page in the browser, where there is a screen. Default: where no --output is named.
    title
        Heading of the page.
    texts
        Show prompts and responses behind the alarms of a training run in --output too. Default:
        only the page that nobody else can read has them.
    """
    is_printed = str(output) == "-"
    if not is_printed:
        check_written({"report": output}, option="--output")
    rule = f"`--texts` needs the folder of a training run, got {result!r}. Leave the option out."
    require(not texts or Path(result).is_dir(), rule)
    start_reading()
    from voirdire.reporting import ResultTables
    from voirdire.reporting.pages.frame import render_page
    from voirdire.reporting.result_pages import view_of_file

    with progress("writing"):
        texts = texts or output is None
        view = view_of_file(result, items=items, columns=columns, texts=texts)
        page = render_page(view, language=language, title=title)
    if is_printed:
        sys.stdout.buffer.write(page.encode())
        return
    browse = output is None if browse is None else browse
    if output is None:
        output = Path(tempfile.mkdtemp(prefix="voirdire-")) / "view.html"  # of mode 0700
    write_text(output, page)
    print(f"{output}: {len(page.encode()) / 1e3:,.0f} kB")
    if view.name == "training":  # no other command says what is in it
        print_tables(ResultTables(view))
    if browse:
        open_page(output)
