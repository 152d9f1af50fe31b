"""`voirdire report`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voirdire._types import Language
from voirdire.cli.options import as_text
from voirdire.cli.printing import progress
from voirdire.cli.written_files import check_report, write_text

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["report_command"]


def report_command(
    examination: Annotated[
        str,
        typer.Argument(
            help="What `voirdire examine --json` printed; - reads standard input.",
            metavar="EXAMINATION.json",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The page; - prints it.", metavar="FILE")
    ] = Path("report.html"),
    language: Annotated[
        Language, typer.Option(help="Language of the page: English or Simplified Chinese.")
    ] = "en",
    title: Annotated[str | None, typer.Option(help="Heading of the page.", metavar="TEXT")] = None,
    created: Annotated[
        str | None,
        typer.Option(help="Date to show; by default none, so that pages compare.", metavar="TEXT"),
    ] = None,
) -> None:
    """Make one self-contained HTML page from an examination, for readers without a statistician."""
    from voirdire.reporting.page import html_report

    heading, date = as_text(title, option="--title"), as_text(created, option="--created")
    printed = str(output) == "-"
    if not printed:
        check_report(output, option="--output")
    with progress("writing"):
        page = html_report(
            _read(examination),
            language=language,
            title=heading,
            created=date,
            source="<stdin>" if examination == "-" else examination,
        )
    if printed:
        sys.stdout.buffer.write(page.encode())
        return
    write_text(output, page)
    typer.echo(f"{output}: {len(page.encode()) / 1e6:.1f} MB")


def _read(source: str) -> bytes:
    """Read a file or standard input, but no more than a page is made of."""
    from voirdire.errors import InputError

    try:
        if source == "-":
            return _at_most(sys.stdin.buffer)
        with Path(source).open("rb") as file:
            return _at_most(file)
    except FileNotFoundError as error:
        msg = f"`EXAMINATION.json` must be a file that exists, got {source!r}. Check the path."
        raise InputError(msg) from error
    except IsADirectoryError as error:
        msg = f"`EXAMINATION.json` must be a file, got the folder {source!r}. Name a file in it."
        raise InputError(msg) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        msg = f"`EXAMINATION.json` must be a file that can be read, got {source!r} ({why})."
        raise InputError(msg) from error


def _at_most(stream: BinaryIO) -> bytes:
    from voirdire.reporting.page.reading import MOST_BYTES

    return stream.read(MOST_BYTES + 1)
