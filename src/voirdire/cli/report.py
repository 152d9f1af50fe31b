"""`voirdire report`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from voirdire.cli.option_groups import Text
from voirdire.cli.options import ReportLanguage
from voirdire.cli.printing import progress, say_notes
from voirdire.cli.view import write_page
from voirdire.cli.written_files import check_written
from voirdire.errors import InputError

__all__ = ["report_command"]


def report_command(
    result: Annotated[str, Parameter(metavar="RESULT|RUN")],
    /,
    *,
    output: Annotated[Path, Parameter(name=("--output", "-o"), metavar="FILE")] = Path(
        "report.html"
    ),
    language: ReportLanguage = "en",
    title: Text = None,
    created: Text = None,
    texts: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Make one self-contained HTML page of a result or a training run.

    For readers without a statistician; nothing on it is loaded from elsewhere.

    Parameters
    ----------
    result
        The JSON of `voirdire examine` or `voirdire examine-reward`, a certificate,
        verdicts, or the folder of a training run; - reads standard input.
    output
        The page; - prints it.
    title
        Heading of the page.
    created
        Date to show; by default none, so that pages compare.
    texts
        Show prompts and responses behind the alarms of a training run. Default: no text is on its
        page.
    """
    is_printed = str(output) == "-"
    if not is_printed:
        check_written(option="--output", report=output)
    if texts and not Path(result).is_dir():
        msg = f"`--texts` needs the folder of a training run, got {result!r}. Leave the option out."
        raise InputError(msg)
    from voirdire.reporting.result_pages import PageRequest, make_page

    with progress("writing"):
        page = make_page(
            PageRequest(file=result, language=language, title=title, created=created, texts=texts)
        )
    say_notes((), page.dropped)
    if is_printed:
        sys.stdout.buffer.write(page.html.encode())
    else:
        write_page(output, page)
