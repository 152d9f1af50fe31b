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
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TextIO, cast

from voirdire._messages import shorten
from voirdire.cli.shell import rewrite_as_options, say
from voirdire.errors import (
    DegenerateDataWarning,
    DoubtfulLabelsWarning,
    DroppedRowsWarning,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from voirdire.records import Dropped

__all__ = [
    "keep_when_stopped",
    "listen_for_interrupts",
    "print_json",
    "print_result",
    "print_tables",
    "print_text",
    "progress",
    "say_drops",
    "say_notes",
    "say_warnings",
]

_MOST_SHOWN = 5


# Results --------------------------------------------------------------------------------------


def print_result(
    content: Any, *shown: RenderableType, as_json: bool, is_streamed: bool = False
) -> None:
    """Print a result as JSON, or as tables; beside rows on standard output, on standard error."""
    if as_json:
        print_json(content)
    else:
        print_tables(*shown, stream=sys.stderr if is_streamed else None)


def print_tables(*shown: RenderableType, stream: TextIO | None = None) -> None:
    """Print tables, 120 wide where nothing says how wide; a line of text is never broken."""
    from rich.console import Console

    stream = stream or sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 120
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
    for part in shown:
        console.print(part, soft_wrap=isinstance(part, str))


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


# Beside the result ----------------------------------------------------------------------------


@contextmanager
def say_warnings() -> Iterator[None]:
    """Say warnings of the library as notes, in a line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        say(f"note: {shorten(text, width=600)}")


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
    from voirdire.reporting.judging_tables import drop_lines

    for line in drop_lines(dropped, **about):
        say(line)


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Show that work goes on, on a terminal; warnings are part of the result and not repeated."""
    with warnings.catch_warnings(), _make_spinner(doing):
        for told in (DegenerateDataWarning, DoubtfulLabelsWarning, DroppedRowsWarning):
            warnings.simplefilter("ignore", told)
        yield


def _make_spinner(doing: str) -> AbstractContextManager[object]:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"{doing} …")


# Interruptions --------------------------------------------------------------------------------


def listen_for_interrupts() -> None:
    """Let Ctrl-C end a read that waits: polars installs a handler under which it would go on."""
    import polars as pl  # noqa: F401  # so that its handler is there before ours

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def keep_when_stopped(
    source: str,
    *,
    store: str | Path | Literal[False] | None = None,
    keeps: bool = True,
) -> Iterator[None]:
    """Let SIGTERM keep what is paid for, as Ctrl-C does, and say then where it is kept.

    A judge in this process keeps nothing. A read of standard input that waits can be left.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    if source == "-":
        _read_input_apart()
    try:
        yield
    except KeyboardInterrupt:
        if keeps:
            say(f"{_describe_kept_replies(store)}; the same command goes on from there.")
        raise


def _describe_kept_replies(store: str | Path | Literal[False] | None) -> str:
    if not store:
        return "every reply is kept in the store"
    from voirdire.store.reply_store import read_address, show_address

    shown = (
        show_address(read_address(store)) if "://" in str(store) else store
    )  # without a password
    return f"every reply is kept in {shown}"


def _read_input_apart() -> None:
    """Read standard input through an object that nothing closes when the program ends.

    Items are read in a thread. Python would close `sys.stdin` under it, and abort where it waits.
    """
    try:
        number = sys.stdin.fileno()
    except (OSError, ValueError):  # it is no file
        return
    sys.stdin = cast("TextIO", SimpleNamespace(buffer=os.fdopen(number, "rb", closefd=False)))
