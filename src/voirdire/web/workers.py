"""Several processes that serve one port: they share the store, and their figures are added up."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from voirdire.errors import InputError
from voirdire.web.logs import described

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import FrameType

__all__ = ["SharedMetrics", "WorkerLink", "run_workers"]

_LOOK_AGAIN_S = 0.05
_RESTART_S = 1.0
_READY = b"ready"


@dataclass(frozen=True, kw_only=True)
class WorkerLink:
    """What ties a worker to the process that began it.

    Attributes
    ----------
    lifeline : int
        A file descriptor on which something comes, or the end, when the worker is to end.
    metrics : SharedMetrics
        The figures of all workers.
    note : str
        What the log should say of the worker before this one; empty for the first.
    """

    lifeline: int
    metrics: SharedMetrics
    note: str = ""


def run_workers(
    sockets: Sequence[socket.socket],
    *,
    work: Callable[[socket.socket, WorkerLink, Callable[[], None]], None],
    started: Callable[[], None],
) -> None:
    """Serve each socket with a worker of its own until a signal ends them.

    Parameters
    ----------
    sockets : sequence of socket
        One for each worker. This process keeps them all, so that no connection is lost where a
        worker ends by accident; another one takes its place.
    work : callable
        Serves a socket, and calls the function that it is given when it takes requests.
    started : callable
        Called when all take requests.

    Raises
    ------
    InputError
        If a worker cannot begin; the others are ended.
    """
    with tempfile.TemporaryDirectory(prefix="voirdire-") as folder:
        _Supervisor(sockets, work=work, folder=Path(folder)).run(started)


class _Supervisor:
    def __init__(
        self,
        sockets: Sequence[socket.socket],
        *,
        work: Callable[[socket.socket, WorkerLink, Callable[[], None]], None],
        folder: Path,
    ) -> None:
        self._sockets = list(sockets)
        self._work = work
        self._folder = folder
        self._places: dict[int, int] = {}  # which socket a process serves
        self._is_ending = False
        self._lifeline, self._lifeline_end = os.pipe()

    def run(self, started: Callable[[], None]) -> None:
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self._end) for number in numbers}
        try:
            pipes = [self._begin(place) for place in range(len(self._sockets))]
            refused = [told for pipe in pipes if (told := _read_all(pipe)) != _READY]
            if refused and not self._is_ending:
                self._end(signal.SIGTERM, None)
                self._wait()
                msg = refused[0].decode() or "A worker ended before it took requests."
                raise InputError(msg)
            if not self._is_ending:
                started()
            self._wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(self._lifeline)
            if not self._is_ending:
                os.close(self._lifeline_end)

    def _begin(self, place: int, *, note: str = "") -> int:
        """Begin a worker; give a pipe that says how it went."""
        told, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(told)
            self._be_worker(place, tell, note=note)
        os.close(tell)
        self._places[pid] = place
        return told

    def _be_worker(self, place: int, tell: int, *, note: str) -> NoReturn:
        """Serve in this process, a worker, and end it."""
        code = 1
        try:
            os.setpgid(0, 0)  # Ctrl-C is for the supervisor, which passes it on once
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            os.close(self._lifeline_end)
            for other, listening in enumerate(self._sockets):
                if other != place and listening is not self._sockets[place]:
                    listening.close()
            metrics = SharedMetrics(self._folder)
            link = WorkerLink(lifeline=self._lifeline, metrics=metrics, note=note)

            def tell_ready() -> None:
                with contextlib.suppress(BrokenPipeError):  # nobody waits for a later worker
                    os.write(tell, _READY)
                os.close(tell)

            self._work(self._sockets[place], link, tell_ready)
            code = 0
        except InputError as error:
            with contextlib.suppress(OSError):
                os.write(tell, str(error).encode())
        except BaseException as error:  # noqa: BLE001  # written without its message; it ends here
            sys.stderr.write(f"a worker failed: {described(error)}\n")
            sys.stderr.flush()
        finally:
            os._exit(code)

    def _wait(self) -> None:
        """Wait until all have ended; where one ends by accident, begin another."""
        while self._places:
            for pid in list(self._places):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if not ended:
                    continue
                place = self._places.pop(pid)
                SharedMetrics.keep_of_ended(self._folder, pid)
                if not self._is_ending:
                    time.sleep(_RESTART_S)
                    code = os.waitstatus_to_exitcode(status)
                    os.close(self._begin(place, note=f"a worker ended with {code}; another begins"))
            time.sleep(_LOOK_AGAIN_S)

    def _end(self, number: int, frame: FrameType | None) -> None:
        del frame
        is_second, self._is_ending = self._is_ending, True
        for listening in self._sockets:
            listening.close()
        if not is_second:
            os.close(self._lifeline_end)  # the workers see that, and end in order
            return
        for pid in self._places:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        os._exit(128 + number)


def _read_all(pipe: int) -> bytes:
    found = b""
    while piece := os.read(pipe, 65_536):
        found += piece
    os.close(pipe)
    return found


class SharedMetrics:
    """The figures of several workers: each writes its own to a folder, and all are added up.

    Gauges of a worker that has ended no longer count; its counters do, which never go back.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = folder / f"{os.getpid()}.prom"

    def publish(self, text: bytes) -> None:
        """Write the figures of this worker, whole or not at all."""
        new = self._own.with_suffix(".new")
        new.write_bytes(text)
        new.replace(self._own)

    def merge(self, own: bytes) -> bytes:
        """Add the figures of the others to those of this worker."""
        texts = [(own, False)]
        for path in self._folder.iterdir():
            if path.suffix in (".prom", ".ended") and path != self._own:
                with contextlib.suppress(FileNotFoundError):
                    texts.append((path.read_bytes(), path.suffix == ".ended"))
        return generate_latest(_Merged(texts))

    @staticmethod
    def keep_of_ended(folder: Path, pid: int) -> None:
        """Keep the counters of a worker that has ended."""
        with contextlib.suppress(FileNotFoundError):
            (folder / f"{pid}.prom").rename(folder / f"{pid}.ended")


class _Merged:
    def __init__(self, texts: Iterable[tuple[bytes, bool]]) -> None:
        self._texts = list(texts)

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        found: dict[str, dict[tuple[str, Any], list[float]]] = {}
        for text, is_ended in self._texts:
            for family in text_string_to_metric_families(text.decode()):
                if is_ended and family.type == "gauge":
                    continue
                families.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                rows = found.setdefault(family.name, {})
                for sample in family.samples:
                    key = sample.name, tuple(sample.labels.items())
                    rows.setdefault(key, []).append(sample.value)
        for name, family in families.items():
            for (sample_name, labels), values in found[name].items():
                family.add_sample(sample_name, dict(labels), _together(name, values))
            yield family


def _together(name: str, values: Sequence[float]) -> float:
    """Put the values of several workers together: most are numbers of something."""
    if name == "voirdire_judge_broken":
        return max(values)
    if name == "voirdire_proposition_mean":
        return sum(values) / len(values)
    return min(values) if name.endswith("_created") else sum(values)
