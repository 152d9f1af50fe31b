"""`voirdire report`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from voirdire._types import Language
from voirdire.cli.option_groups import Text
from voirdire.cli.options import ReportLanguage
from voirdire.cli.printing import progress
from voirdire.cli.written_files import check_report, write_text

__all__ = ["report_command"]


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
    """
    printed = str(output) == "-"
    if not printed:
        check_report(output, option="--output")
    with progress("writing"):
        make = _page_of_run if _is_folder(examination) else _page_of_examination
        page, lines = make(examination, language=language, title=title, created=created)
    if printed:
        sys.stdout.buffer.write(page.encode())
        return
    write_text(output, page)
    for line in (f"{output}: {len(page.encode()) / 1e6:.1f} MB", *lines):
        print(line)


def _is_folder(source: str) -> bool:
    return source != "-" and "\0" not in source and Path(source).is_dir()


def _page_of_examination(
    source: str, *, language: Language, title: str | None, created: str | None
) -> tuple[str, tuple[str, ...]]:
    from voirdire.reporting.page import html_report

    page = html_report(
        _read(source),
        language=language,
        title=title,
        created=created,
        source="<stdin>" if source == "-" else source,
    )
    return page, ()


def _page_of_run(
    source: str, *, language: Language, title: str | None, created: str | None
) -> tuple[str, tuple[str, ...]]:
    """Write the page of a training run; also what is said of it in the terminal."""
    from voirdire.cli.fit_output import say_notes
    from voirdire.errors import InputError
    from voirdire.reporting.training_page import training_report
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
    page = training_report(run, language=language, title=title, created=created, source=source)
    return page, training_summary(run)


def _read(source: str) -> bytes:
    """Read a file or standard input, but no more than a page is made of."""
    from voirdire.documents import NotRegularError, read_small
    from voirdire.errors import InputError
    from voirdire.reporting.page.reading import MOST_BYTES

    try:
        if source == "-":
            return sys.stdin.buffer.read(MOST_BYTES + 1)
        return read_small(source, most_bytes=MOST_BYTES)
    except FileNotFoundError as error:
        msg = (
            "`EXAMINATION.json` must be a file that exists, or the folder of a training run, got "
            f"{source!r}. Check the path."
        )
        raise InputError(msg) from error
    except IsADirectoryError as error:
        msg = f"`EXAMINATION.json` must be a file, got the folder {source!r}. Name a file in it."
        raise InputError(msg) from error
    except NotRegularError as error:
        msg = f"`EXAMINATION.json` must be a regular file, got {error.kind}: {source!r}."
        raise InputError(f"{msg} Name a file.") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        msg = f"`EXAMINATION.json` must be a file that can be read, got {source!r} ({why})."
        raise InputError(msg) from error
