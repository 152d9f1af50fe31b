"""How far a run is, on a terminal: what is done, rate, time left."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from voirdire._messages import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress, TaskID

    from voirdire.judging import CallCounts, JudgingProgress
    from voirdire.rewards import SynthesisProgress

__all__ = [
    "ProgressLines",
    "StopNotice",
    "open_progress_lines",
    "watch_judges",
    "watch_judging",
    "watch_run",
    "watch_steps",
]

S = TypeVar("S")


class ProgressLines:
    """Lines on a terminal, one for each name: a bar, words beside it, and the time left."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._started = time.monotonic()
        self._tasks: dict[str, TaskID] = {}

    @property
    def seconds(self) -> float:
        """How long this has gone on."""
        return time.monotonic() - self._started

    def show(
        self, name: str, text: str, *, done: float, total: float | None, label: str | None = None
    ) -> None:
        """Say how far one of them is; `label` stands before the bar instead of the name."""
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task("", text="…")
        about = {"description": shorten(label or name), "text": text}
        self._bar.update(self._tasks[name], completed=done, total=total, **about)  # type: ignore[arg-type]  # fields


@contextmanager
def open_progress_lines() -> Iterator[ProgressLines | None]:
    """Give lines on a terminal; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    words = (TextColumn("{task.description}"), TextColumn("{task.fields[text]}"))
    left = (TimeRemainingColumn(), TextColumn("left"))
    columns = (words[0], BarColumn(bar_width=24), words[1], *left)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield ProgressLines(bar)


@contextmanager
def watch_run(
    doing: str,
    describe: Callable[[S, float], tuple[str, float, float | None]],
    calls: Callable[[S], CallCounts | SynthesisProgress | None] = lambda _: None,
) -> Iterator[Callable[[S], None]]:
    """Give what a run tells its state to.

    `describe` takes a state and the seconds since the start, and gives words, what is done, and
    the total; `calls` gives the calls that an interruption waits for.
    """
    notice = StopNotice()
    with open_progress_lines() as lines:

        def tell(state: S) -> None:
            if lines is not None:
                text, done, total = describe(state, lines.seconds)
                lines.show(doing, text, done=done, total=total)
            notice.note(calls(state))

        yield tell


@contextmanager
def watch_steps(doing: str) -> Iterator[Callable[[int, int], None]]:
    """Give what is told of steps done and steps in all."""

    def describe(state: tuple[int, int], _seconds: float) -> tuple[str, float, float]:
        return "", *state

    with watch_run(doing, describe) as tell:
        yield lambda done, total: tell((done, total))


@contextmanager
def watch_judges(
    source: str | int, *, together: str | None = None
) -> Iterator[Callable[[str, JudgingProgress], None]]:
    """Give what runs over a file, or over so many items, tell their progress to.

    Each has a line of its own, or all are on one line `together`. Where nobody watches, little is
    text.
    """
    from voirdire.io.rows import estimate_rows
    from voirdire.reporting.progress_text import count_answered, judging_text

    notice = StopNotice()
    answered: dict[str, int] = {}
    with open_progress_lines() as lines:
        total = source if isinstance(source, int) else None
        if lines is not None and isinstance(source, str):
            total = estimate_rows(source)

        def tell(name: str, state: JudgingProgress) -> None:
            answered[name] = count_answered(state)
            if lines is not None:
                n_items = sum(answered.values()) if together else answered[name]
                text = judging_text(replace(state, n_items=n_items), seconds=lines.seconds)
                done = n_items + state.n_dropped
                lines.show(together or name, text, done=done, total=total, label=name)
            notice.note(state.calls, name=name)

        yield tell


@contextmanager
def watch_judging(source: str) -> Iterator[Callable[[JudgingProgress], None]]:
    """Give what `judge_file` tells its progress to."""
    with watch_judges(source) as tell:
        yield partial(tell, "judging")


class StopNotice:
    """Says what the first reply showed, and that a run was interrupted, each once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_flight: dict[str, int] = {}
        self._is_said = False
        self._checks: set[str] = set()

    def note(self, calls: CallCounts | SynthesisProgress | None, *, name: str = "") -> None:
        """Look at the calls of one of the judges; the first that ends speaks for all."""
        if calls is None:
            return
        with self._lock:
            check = getattr(calls, "check", "")
            if check and check not in self._checks:  # what the first reply of each judge showed
                self._checks.add(check)
                sys.stderr.write(f"{check}\n")
                sys.stderr.flush()
            self._in_flight[name] = calls.n_in_flight
            if not (calls.is_stopped and calls.n_in_flight) or self._is_said:
                return
            self._is_said = True
            n = sum(self._in_flight.values())
        waiting = "1 call is in flight and is" if n == 1 else f"{n:,} calls are in flight and are"
        # where a bar is drawn, rich puts this above it
        sys.stderr.write(f"stopping: {waiting} waited for; Ctrl-C again does not wait\n")
        sys.stderr.flush()
