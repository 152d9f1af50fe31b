"""How far a run is, on a terminal: what is done, rate, time left."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire._validation import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.progress import Progress, TaskID

    from voirdire.judging import CallProgress, JudgingProgress
    from voirdire.rewards import SynthesisProgress

__all__ = [
    "ProgressLines",
    "StopNotice",
    "estimated_rows",
    "judging_progress",
    "probing_progress",
    "progress_lines",
    "said_of",
    "several_progress",
    "steps_progress",
]

_SAMPLE_BYTES = 1 << 22


class ProgressLines:
    """Lines on a terminal, one for each name: a bar, and words beside it."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._started = time.monotonic()
        self._tasks: dict[str, TaskID] = {}

    @property
    def seconds(self) -> float:
        """How long this has gone on."""
        return time.monotonic() - self._started

    def show(
        self, name: str, said: str, *, done: float, total: float | None, label: str | None = None
    ) -> None:
        """Say how far one of them is; `label` stands before the bar instead of the name."""
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task("", said="…")
        self._bar.update(
            self._tasks[name],
            description=shorten(label or name),
            completed=done,
            total=total,
            said=said,
        )


@contextmanager
def progress_lines() -> Iterator[ProgressLines | None]:
    """Give lines on a terminal; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[said]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield ProgressLines(bar)


@contextmanager
def steps_progress(doing: str) -> Iterator[Callable[[int, int], None] | None]:
    """Give what is told of steps done and steps in all; nothing where nobody watches."""
    with progress_lines() as lines:
        if lines is None:
            yield None
            return

        def tell(done: int, total: int) -> None:
            said = _left(done, done / lines.seconds if lines.seconds > 0 else 0.0, total=total)
            lines.show(doing, said, done=done, total=total)

        yield tell


@contextmanager
def several_progress(source: str) -> Iterator[Callable[[str, JudgingProgress], None]]:
    """Give what judges tell their progress to, a line for each; said little if nobody watches."""
    notice = StopNotice()
    with progress_lines() as lines:
        total = None if lines is None else estimated_rows(source)

        def tell(name: str, state: JudgingProgress) -> None:
            if lines is not None:
                done = _answered(state) + state.n_dropped
                said = said_of(state, seconds=lines.seconds, total=total, done=done)
                lines.show(name, said, done=done, total=total)
            notice.note(state.calls, name=name)

        yield tell


@contextmanager
def judging_progress(source: str) -> Iterator[Callable[[JudgingProgress], None]]:
    """Give what `judge_file` tells its progress to."""
    with several_progress(source) as tell:
        yield partial(tell, "judging")


@contextmanager
def probing_progress(total: int) -> Iterator[Callable[[str, JudgingProgress], None]]:
    """Give what one prompt after the other tells its progress to, all on one line."""
    notice = StopNotice()
    answered: dict[str, int] = {}
    with progress_lines() as lines:

        def tell(name: str, state: JudgingProgress) -> None:
            answered[name] = _answered(state)
            done = sum(answered.values())
            if lines is not None:
                whole = replace(state, n_items=done)
                said = said_of(whole, seconds=lines.seconds, total=total, done=done)
                lines.show("probing", said, done=done, total=total, label=name)
            notice.note(state.calls, name=name)

        yield tell


def _answered(state: JudgingProgress) -> int:
    return max(state.n_items, 0 if state.calls is None else state.calls.n_answered)


def _left(done: float, rate: float, *, total: float) -> str:
    left = round(max(total - done, 0) / rate) if rate > 0 else 0
    return f"about {left // 60}:{left % 60:02d} left"


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
            said += f" · {_left(done, rate, total=total)}"
    return said


def _said_of_calls(
    state: JudgingProgress, calls: CallProgress, *, seconds: float, total: float | None
) -> str:
    """Words for a run of calls: items, rate, cost, calls in flight, failures, time left."""
    answered = _answered(state)
    rate = (answered - state.n_reused) / seconds if seconds > 0 else 0.0
    said = [f"{answered:,} items"]
    said += [f"{rate:,.1f}/s"] if rate > 0 else []
    said += [] if calls.cost is None else [f"${calls.cost:,.4f}"]
    said += [f"{calls.n_in_flight} of {calls.concurrency} in flight"]
    said += [f"{calls.n_retries:,} tried again"] if calls.n_retries else []
    said += [f"{calls.n_failed:,} failed"] if calls.n_failed else []
    if rate > 0 and total is not None:
        said.append(_left(answered + state.n_dropped, rate, total=total))
    return " · ".join(said)


class StopNotice:
    """Says, once, that a run was interrupted and what is waited for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_flight: dict[str, int] = {}
        self._is_said = False

    def note(self, calls: CallProgress | SynthesisProgress | None, *, name: str = "") -> None:
        """Look at the calls of one of the judges; the first that ends speaks for all."""
        if calls is None:
            return
        with self._lock:
            self._in_flight[name] = calls.n_in_flight
            if not calls.stopping or self._is_said:
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
