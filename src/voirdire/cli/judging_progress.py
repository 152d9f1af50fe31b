"""How far a run of judging is, on a terminal: items, rate, time left."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire._validation import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from voirdire.judging import CallProgress, JudgingProgress

__all__ = [
    "estimated_rows",
    "judging_progress",
    "probing_progress",
    "said_of",
    "several_progress",
    "steps_progress",
]

_SAMPLE_BYTES = 1 << 22


@contextmanager
def judging_progress(source: str) -> Iterator[Callable[[JudgingProgress], None]]:
    """Give what `judge_file` tells its progress to; where nobody watches, it says little."""
    ending = _Ending()
    if not sys.stderr.isatty():
        yield ending.note
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(
        TextColumn("judging"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[said]}"),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("judging", total=estimated_rows(source), said="…")
        started = time.monotonic()

        def tell(state: JudgingProgress) -> None:
            answered = state.n_items if state.calls is None else state.calls.n_answered
            done = max(state.n_items, answered) + state.n_dropped
            said = said_of(
                state, seconds=time.monotonic() - started, total=bar.tasks[0].total, done=done
            )
            bar.update(task, completed=done, said=said)
            ending.note(state)

        yield tell


@contextmanager
def steps_progress(doing: str) -> Iterator[Callable[[int, int], None] | None]:
    """Give what is told of steps done and steps in all; nothing where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn(doing), BarColumn(bar_width=24), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def said_of(state: JudgingProgress, *, seconds: float, total: float | None, done: int) -> str:
    """Words for a state: items, items a second, and the time left where the total is known."""
    if state.finishing:
        return f"{state.n_items:,} items · writing the file"
    if state.calls is not None:
        return _said_of_calls(state, state.calls, seconds=seconds, total=total)
    rate = (state.n_items - state.n_reused) / seconds if seconds > 0 else 0.0
    said = f"{state.n_items:,} items"
    if state.n_reused:
        said += f" ({state.n_reused:,} from before)"
    if rate > 0:
        said += f" · {rate:,.0f}/s"
        if total is not None:
            left = round(max(total - done, 0) / rate)
            said += f" · about {left // 60}:{left % 60:02d} left"
    return said


def _said_of_calls(
    state: JudgingProgress, calls: CallProgress, *, seconds: float, total: float | None
) -> str:
    """Words for a run of calls: items, rate, cost, calls in flight, failures, time left."""
    answered = max(state.n_items, calls.n_answered)
    rate = (answered - state.n_reused) / seconds if seconds > 0 else 0.0
    said = [f"{answered:,} items"]
    said += [f"{rate:,.1f}/s"] if rate > 0 else []
    said += [] if calls.cost is None else [f"${calls.cost:,.4f}"]
    said += [f"{calls.n_in_flight} of {calls.concurrency} in flight"]
    said += [f"{calls.n_retries:,} tried again"] if calls.n_retries else []
    said += [f"{calls.n_failed:,} failed"] if calls.n_failed else []
    if rate > 0 and total is not None:
        left = round(max(total - answered - state.n_dropped, 0) / rate)
        said.append(f"about {left // 60}:{left % 60:02d} left")
    return " · ".join(said)


@contextmanager
def several_progress(source: str) -> Iterator[Callable[[str, JudgingProgress], None]]:
    """Give what several judges tell their progress to, a line for each."""
    ending = _Ending()
    if not sys.stderr.isatty():
        yield lambda name, state: ending.note(state, name=name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        TextColumn("{task.fields[said]}"),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        total = estimated_rows(source)
        started = time.monotonic()
        tasks: dict[str, TaskID] = {}

        def tell(name: str, state: JudgingProgress) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(shorten(name), total=total, said="…")
            answered = state.n_items if state.calls is None else state.calls.n_answered
            done = max(state.n_items, answered) + state.n_dropped
            said = said_of(state, seconds=time.monotonic() - started, total=total, done=done)
            bar.update(tasks[name], completed=done, said=said)
            ending.note(state, name=name)

        yield tell


@contextmanager
def probing_progress(total: int) -> Iterator[Callable[[str, JudgingProgress], None]]:
    """Give what one prompt after the other tells its progress to, all on one line."""
    ending = _Ending()
    if not sys.stderr.isatty():
        yield lambda name, state: ending.note(state, name=name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        TextColumn("{task.fields[said]}"),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("probing", total=total, said="…")
        started = time.monotonic()
        answered: dict[str, int] = {}

        def tell(name: str, state: JudgingProgress) -> None:
            answered[name] = max(
                state.n_items, 0 if state.calls is None else state.calls.n_answered
            )
            done = sum(answered.values())
            said = said_of(
                replace(state, n_items=done),
                seconds=time.monotonic() - started,
                total=total,
                done=done,
            )
            bar.update(task, description=shorten(name), completed=done, said=said)
            ending.note(state, name=name)

        yield tell


class _Ending:
    """Says, once, that a run was interrupted and what is waited for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_flight: dict[str, int] = {}
        self._is_said = False

    def note(self, state: JudgingProgress, *, name: str = "") -> None:
        """Look at the state of one of the judges; the first that ends speaks for all."""
        if state.calls is None:
            return
        with self._lock:
            self._in_flight[name] = state.calls.n_in_flight
            if not state.calls.stopping or self._is_said:
                return
            self._is_said = True
            n = sum(self._in_flight.values())
        waited = "1 call is in flight and is" if n == 1 else f"{n:,} calls are in flight and are"
        # where a bar is drawn, rich puts this above it
        sys.stderr.write(f"stopping: {waited} waited for; Ctrl-C again does not wait\n")
        sys.stderr.flush()


def estimated_rows(source: str) -> int | None:
    """About how many rows a file has, from its first bytes; None where that says nothing."""
    path = Path(source)
    suffix = path.suffix.lower()
    try:
        if suffix == ".parquet":
            import polars as pl

            return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
        if suffix not in (".jsonl", ".ndjson", ".csv", ".tsv"):
            return None
        size = path.stat().st_size
        with path.open("rb") as file:
            sample = file.read(_SAMPLE_BYTES)
    except Exception:  # noqa: BLE001  # whatever is wrong with it is said where it is read
        return None
    lines = sample.splitlines()
    n_rows = len(lines) if suffix in (".jsonl", ".ndjson") else _records(lines) - 1
    return max(round(n_rows * size / len(sample)), 1) if sample else None


def _records(lines: Iterable[bytes]) -> int:
    """Count the records of a delimited file, whose cells may hold line ends between quotes."""
    n_records, quoted = 0, False
    for line in lines:
        quoted ^= line.count(b'"') % 2 == 1
        n_records += not quoted
    return n_records
