"""`voirdire report`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from voirdire.cli.option_groups import Text
from voirdire.cli.options import ReportLanguage
from voirdire.cli.printing import progress
from voirdire.cli.written_files import check_report, write_text

__all__ = ["page_of_run", "read_result", "report_command"]


def report_command(
    examination: Annotated[str, Parameter(metavar="EXAMINATION.json|RUN")],
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
    """Make one self-contained HTML page from an examination or a training run.

    For readers without a statistician; nothing on it is loaded from elsewhere.

    Parameters
    ----------
    examination
        What `voirdire examine --json` printed, or the folder of a training run; - reads standard
        input.
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
    printed = str(output) == "-"
    if not printed:
        check_report(output, option="--output")
    with progress("writing"):
        asked: dict[str, Any] = {"language": language, "title": title, "created": created}
        lines: tuple[str, ...] = ()
        if examination != "-" and "\0" not in examination and Path(examination).is_dir():
            page, lines = page_of_run(examination, texts=texts, **asked)
        else:
            from voirdire.errors import InputError
            from voirdire.reporting.pages.examination import html_report

            if texts:
                msg = f"`--texts` needs the folder of a training run, got {examination!r}."
                raise InputError(f"{msg} Leave the option out.")
            source = "<stdin>" if examination == "-" else examination
            page = html_report(read_result(examination, "EXAMINATION.json"), source=source, **asked)
    if printed:
        sys.stdout.buffer.write(page.encode())
        return
    write_text(output, page)
    for line in (f"{output}: {len(page.encode()) / 1e6:.1f} MB", *lines):
        print(line)


def page_of_run(source: str, **asked: Any) -> tuple[str, tuple[str, ...]]:
    """Write the page of a training run; also what is said of it in the terminal."""
    from voirdire.cli.fit_output import say_notes
    from voirdire.errors import InputError
    from voirdire.reporting.pages.training import training_report
    from voirdire.reporting.training_tables import training_summary
    from voirdire.rewards.training.run_reading import read_training_run

    if not (Path(source) / "run.json").exists():
        msg = (
            f"`EXAMINATION.json` must be a file, got the folder {source!r}, which holds no "
            "run.json. Name a file in it, or the folder of a training run."
        )
        raise InputError(msg)
    run = read_training_run(source)
    say_notes((), run.dropped)
    return training_report(run, source=source, **asked), training_summary(run)


def read_result(source: str, argument: str) -> bytes:
    """Read a file or standard input, but no more than a page is made of."""
    from voirdire.documents import NotRegularError, read_small
    from voirdire.errors import InputError
    from voirdire.reporting.as_json import MOST_BYTES

    try:
        if source == "-":
            return sys.stdin.buffer.read(MOST_BYTES + 1)
        return read_small(source, most_bytes=MOST_BYTES)
    except (OSError, ValueError) as error:
        rules = {
            FileNotFoundError: "a file that exists, or the folder of a training run",
            NotRegularError: "a regular file",
        }
        rule = rules.get(type(error), "a file that can be read")
        why = getattr(error, "kind", None) or getattr(error, "strerror", None) or error
        msg = f"`{argument}` must be {rule}, got {source!r} ({why}). Name another."
        raise InputError(msg) from error
