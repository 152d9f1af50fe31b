"""How far runs are, on a terminal: what is done, rate, time left."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from voirdire._messages import shorten
from voirdire.cli.calls import say
from voirdire.cli.printing import keep_when_stopped, say_warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rich.progress import Progress

    from voirdire.judging import CallCounts, JudgingProgress


class ProgressLines:
    """Lines on a terminal, one for each run, and what is said once beside them."""

    def __init__(self, bar: Progress) -> None:
        self._bar, self._started, self._lock = bar, time.monotonic(), threading.Lock()
        self._in_flight: dict[str, int] = {}
        self._answered: dict[str, dict[str, int]] = {}
        self._said: set[str] = set()

    @property
    def seconds(self) -> float:
        """How long this has gone on."""
        return time.monotonic() - self._started

    def tell(self, name: str, done: float, total: float | None = None, text: str = "") -> None:
        """Say how far a run is."""
        with self._lock:
            tasks = {task.fields["name"]: task.id for task in self._bar.tasks}
            task = tasks.get(name)
            if task is None:
                task = self._bar.add_task("", name=name, text="…")
        about = {"completed": done, "total": total, "description": shorten(name)}
        self._bar.update(task, text=text, **about)  # type: ignore[arg-type]  # its fields

    def tell_judging(
        self,
        state: JudgingProgress,
        *,
        name: str = "judging",
        judge: str = "",
        total: float | None = None,
    ) -> None:
        """Say how far a judge is; judges of one line, `name`, are counted together."""
        from voirdire.reporting.progress_text import count_answered, judging_text

        answered = self._answered.setdefault(name, {})
        answered[judge] = count_answered(state)
        n_items = sum(answered.values())
        text = judging_text(replace(state, n_items=n_items), seconds=self.seconds)
        self.tell(name, n_items + state.n_dropped, total, text)
        self.note(state.calls, name=judge or name)

    def note(self, calls: CallCounts | None, *, name: str = "") -> None:
        """Say what the first reply of a judge showed, and that a run was stopped, each once."""
        if calls is None:
            return
        with self._lock:
            self._in_flight[name] = calls.n_in_flight
            notices = [calls.check]
            if calls.is_stopped and calls.n_in_flight and "" not in self._said:
                self._said.add("")
                n = sum(self._in_flight.values())
                waiting = (
                    "1 call is in flight and is" if n == 1 else f"{n:,} calls are in flight and are"
                )
                notices.append(f"stopping: {waiting} waited for; Ctrl-C again does not wait")
            for notice in notices:
                if notice and notice not in self._said:
                    self._said.add(notice)
                    say(notice)  # where a bar is drawn, rich puts this above it
        sys.stderr.flush()


@contextmanager
def watch() -> Iterator[ProgressLines]:
    """Give what runs tell their state to; it is drawn where somebody watches."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    words = (TextColumn("{task.description}"), TextColumn("{task.fields[text]}"))
    left = (TimeRemainingColumn(), TextColumn("left"))
    columns = (words[0], BarColumn(bar_width=24), words[1], *left)
    console, is_watched = Console(stderr=True), sys.stderr.isatty()
    with Progress(*columns, console=console, transient=True, disable=not is_watched) as bar:
        yield ProgressLines(bar)


@contextmanager
def running(
    source: str = "", *, store: str | Path | Literal[False] | None = None, keeps: bool = True
) -> Iterator[ProgressLines]:
    """Watch a run; where it is stopped, what was paid is kept, and its warnings are notes."""
    with keep_when_stopped(source, store=store, keeps=keeps), say_warnings(), watch() as lines:
        yield lines


@contextmanager
def judging_of(
    source: str, *, store: str | Path | Literal[False] | None, keeps: bool
) -> Iterator[Callable[..., None]]:
    """Watch a judge that goes over a file; where it is stopped, what was paid is kept."""
    from voirdire.io.rows import estimate_rows

    total = estimate_rows(source) if sys.stderr.isatty() else None
    with keep_when_stopped(source, store=store, keeps=keeps), watch() as lines:
        yield partial(lines.tell_judging, total=total)
