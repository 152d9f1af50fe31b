"""Starts and supervises several processes that serve one port."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from voirdire.errors import InputError
from voirdire.web.logs import describe_error
from voirdire.web.metrics import SharedMetrics

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess
    from types import FrameType

__all__ = ["WorkerLink", "run_workers"]

_RESTART_S = 1.0


@dataclass(frozen=True, kw_only=True)
class WorkerLink:
    """Links a worker to its parent process.

    Attributes
    ----------
    lifeline : int
        A file descriptor that comes to its end when the worker is to end.
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
        self._sockets = sockets
        self._work = work
        self._folder = folder
        self._context = multiprocessing.get_context("fork")
        self._workers: dict[ForkProcess, int] = {}  # and the place of the socket that each serves
        self._is_ending = False
        self._lifeline, self._lifeline_end = os.pipe()

    def run(self, started: Callable[[], None]) -> None:
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self._end) for number in numbers}
        try:
            pipes = [self._begin(place) for place in range(len(self._sockets))]
            refused = [why for pipe in pipes if (why := _ask_refusal_reason(pipe)) is not None]
            if refused and not self._is_ending:
                self._end(signal.SIGTERM, None)
                self._wait()
                raise InputError(refused[0])
            if not self._is_ending:
                started()
            self._wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(self._lifeline)
            if not self._is_ending:
                os.close(self._lifeline_end)

    def _begin(self, place: int, *, note: str = "") -> Connection:
        """Start a worker; return a pipe with the result of its start."""
        receiving, sending = self._context.Pipe(duplex=False)
        worker = self._context.Process(target=self._be_worker, args=(place, sending, note))
        worker.start()
        sending.close()
        self._workers[worker] = place
        return receiving

    def _be_worker(self, place: int, sending: Connection, note: str) -> NoReturn:
        """Serve in this process, a worker."""
        os.setpgid(0, 0)  # Ctrl-C is for the supervisor, which passes it on once
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.close(self._lifeline_end)
        # a step of a training run is the sum of what its ranks record, and each worker is one
        os.environ.update(RANK=str(place), WORLD_SIZE=str(len(self._sockets)))
        listening = self._sockets[place]
        for other in self._sockets:
            if other is not listening:
                other.close()
        metrics = SharedMetrics(self._folder)
        link = WorkerLink(lifeline=self._lifeline, metrics=metrics, note=note)
        code = 1
        try:
            self._work(listening, link, lambda: _send(sending, ""))
            code = 0
        except InputError as error:
            _send(sending, str(error))
        except BaseException as error:  # noqa: BLE001  # written without its message; it ends here
            sys.stderr.write(f"a worker failed: {describe_error(error)}\n")
        finally:
            sys.stderr.flush()
            os._exit(code)  # a judge that is stuck in a thread is not waited for

    def _wait(self) -> None:
        """Wait until all have ended; replace one that ends unexpectedly."""
        while self._workers:
            wait([worker.sentinel for worker in self._workers])
            for worker in [one for one in self._workers if not one.is_alive()]:
                place = self._workers.pop(worker)
                SharedMetrics.keep_of_ended(self._folder, pid=worker.pid)
                if not self._is_ending:
                    time.sleep(_RESTART_S)
                if not self._is_ending:
                    note = f"a worker ended with {worker.exitcode}; another begins"
                    self._begin(place, note=note).close()

    def _end(self, number: int, frame: FrameType | None) -> None:
        del frame
        if not self._is_ending:
            self._is_ending = True
            for listening in self._sockets:
                listening.close()
            os.close(self._lifeline_end)  # the workers see that, and end in order
            return
        for worker in self._workers:
            worker.terminate()
        os._exit(128 + number)


def _send(sending: Connection, why: str) -> None:
    """Send that a worker takes requests, or why not; not awaited for a replaced worker."""
    with contextlib.suppress(OSError):
        sending.send_bytes(why.encode())


def _ask_refusal_reason(pipe: Connection) -> str | None:
    """Return why a worker takes no requests; None where it does."""
    try:
        return pipe.recv_bytes().decode() or None
    except EOFError:
        return "A worker ended before it took requests."
    finally:
        pipe.close()
