"""Runs the server under uvicorn: the socket, workers, signals and the end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import multiprocessing
import os
import signal
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import uvicorn
from uvicorn.supervisors import Multiprocess

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.web.app import create_app, is_loopback
from voirdire.web.logs import keep_quiet, log, make_log_config
from voirdire.web.metrics import METRICS_FOLDER
from voirdire.web.settings import ServerSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette

    from voirdire.rewards.live import LiveReward

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_KEEP_ALIVE_S = 75
_START_S = 120
_BACKLOG = 4_096
_OTHER_FILES = 128
"""What is open beside connections: logs, the store, calls to a judge."""

UVICORN: dict[str, Any] = {
    "http": "h11",  # which bounds heads
    "ws": "none",
    "access_log": False,
    "proxy_headers": False,
    "server_header": False,
}
"""How both servers are set."""


def serve(
    live: LiveReward | Callable[[], LiveReward],
    *,
    settings: ServerSettings | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    json_log: bool = False,
    started: Callable[[str], None] | None = None,
) -> None:
    """Serve rewards and verdicts over HTTP until a signal ends the process.

    Parameters
    ----------
    live : LiveReward or callable
        What gives the rewards. For several workers a function that makes it, which can be pickled:
        each of them calls it, and a script must guard its start with ``if __name__ ==
        "__main__"``.
    settings : ServerSettings, optional
        Who may ask, how much, and how long.
    host : str, optional
        Where to listen. Any but this machine's own addresses needs a token.
    port : int, optional
        Where to listen; 0 takes any that is free.
    json_log : bool, optional
        Write the log, on standard error, as JSON.
    started : callable, optional
        Told the address when requests are taken.

    Raises
    ------
    InputError
        If the host needs a token, the port is taken, or the judge or the store cannot be made
        ready.
    SystemExit
        With 128 and the number of the signal, after requests under way have ended; 143 for SIGTERM.

    Notes
    -----
    As for `create_app`. The first SIGTERM or SIGINT stops accepting and lets the requests under way
    end within `drain_s`. Token and settings reach workers through the pipe that starts them.
    """
    settings = ServerSettings() if settings is None else settings
    if settings.token is None and not is_loopback(host):
        msg = (
            f"`host` must be an address of this machine alone where there is no token, got "
            f"{shorten(host)!r}. Put one into the environment variable VOIRDIRE_TOKEN, or take "
            "127.0.0.1."
        )
        raise InputError(msg)
    if settings.workers > 1 and not callable(live):
        msg = (
            f"`live` must be a function that makes it where `workers` is {settings.workers}, got "
            f"{type(live).__name__}. Each worker calls the function."
        )
        raise InputError(msg)
    if settings.workers > 1 and not hasattr(os, "fork"):
        msg = f"`workers` must be 1 on this system, got {settings.workers}. Start several servers."
        raise InputError(msg)
    app = create_app(live() if callable(live) else live, settings=settings)
    _allow_files(settings.limit_concurrency)
    given = UVICORN | {
        "lifespan": "on",
        "log_config": make_log_config(as_json=json_log),
        "limit_concurrency": settings.limit_concurrency + 1,
        "timeout_keep_alive": _KEEP_ALIVE_S,
        "timeout_graceful_shutdown": math.ceil(settings.drain_s),
        "timeout_worker_healthcheck": _START_S,
    }

    with bind(host, port) as listening:
        port = listening.getsockname()[1]
        url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        for number in _SIGNALS:
            signal.signal(number, _exit)

        def tell() -> None:
            log.info("ready at %s", url)
            if started is not None:
                started(url)

        if settings.workers == 1:
            asyncio.run(_serve_alone(app, listening, given, tell))
        with tempfile.TemporaryDirectory(prefix="voirdire-") as folder:
            # what a worker starts, so that a mistake is told in one line
            with asyncio.Runner() as runner:
                runner.run(app.state.service.start())
                runner.run(app.state.service.close())
            os.environ[METRICS_FOLDER] = folder
            making = _WorkerApp(live, settings)  # type: ignore[arg-type]  # checked above
            config = uvicorn.Config(making, factory=True, workers=settings.workers, **given)
            workers = _Workers(config, listening, tell)
            workers.run()
    if not workers.number:
        raise InputError("`workers` must all start, and one did not. The log says why.")
    _exit(workers.number)


def _exit(number: int, frame: object = None) -> NoReturn:
    del frame
    raise SystemExit(128 + number)


async def _serve_alone(
    app: Starlette, listening: socket.socket, given: dict[str, Any], tell: Callable[[], None]
) -> None:
    """Serve in this process; uvicorn raises the signal again at its end."""
    keep_quiet(asyncio.get_running_loop())
    config = uvicorn.Config(app, **given)
    await app.state.service.start()  # a mistake is one line, where uvicorn would log a traceback
    _freeze()
    tell()
    await uvicorn.Server(config).serve(sockets=[listening])


def _freeze() -> None:
    """Spare the collector what is there now and stays: going through it takes 50 ms each time."""
    gc.collect()
    gc.freeze()


# Workers ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _WorkerApp:
    """Makes the application of a worker; a pipe carries it there, so nobody sees the token."""

    make: Callable[[], LiveReward]
    settings: ServerSettings

    def __call__(self) -> Starlette:
        loop, parent = asyncio.get_running_loop(), multiprocessing.parent_process()
        keep_quiet(loop)

        def end() -> None:
            loop.remove_reader(parent.sentinel)  # type: ignore[union-attr]
            signal.raise_signal(signal.SIGTERM)

        if parent is not None:
            loop.add_reader(parent.sentinel, end)  # it is killed, and nobody else ends this one
        if self.settings.record is not None:
            # a step of a training run is the sum of what its ranks record, and each worker is one
            rank, world = _claim_rank(self.settings.workers), self.settings.workers
            os.environ.update(RANK=str(rank), WORLD_SIZE=str(world))
        app = create_app(self.make(), settings=self.settings)
        _freeze()
        return app


def _claim_rank(n_workers: int) -> int:
    """Take the first rank that no worker has: the system frees a lock when its process ends."""
    import fcntl

    folder = Path(os.environ[METRICS_FOLDER])
    for rank in range(n_workers):
        lock = os.open(folder / f"rank-{rank}", os.O_CREAT | os.O_WRONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
        else:
            return rank
    return 0


class _Workers(Multiprocess):
    """Uvicorn's workers, that tell when all take requests, and which signal ended them."""

    def __init__(
        self, config: uvicorn.Config, listening: socket.socket, tell: Callable[[], None]
    ) -> None:
        super().__init__(config, sockets=[listening])
        self.number = 0
        self._tell = tell

    def init_processes(self) -> None:
        super().init_processes()
        if all(process.wait_until_ready(_START_S, self.should_exit) for process in self.processes):
            self._tell()

    def handle_int(self) -> None:
        self.number = signal.SIGINT
        super().handle_int()

    def handle_term(self) -> None:
        self.number = signal.SIGTERM
        super().handle_term()


# The socket ---------------------------------------------------------------------------------------


def bind(host: str, port: int) -> socket.socket:
    """Bind a socket, and listen; an `InputError` if the host is not known, or the port is taken."""
    if isinstance(port, bool) or not 0 <= port <= 65_535:
        msg = f"`port` must be in 0 to 65535, got {port!r}. 0 takes any that is free."
        raise InputError(msg)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        msg = f"`host` must be a name or an address of this machine, got {shorten(host)!r}."
        raise InputError(msg) from error
    # with its protocol, without which asyncio does not turn the delay of small packets off
    family, kind, protocol, _, address = found[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        msg = (
            f"`port` must be free on {shorten(host)}, got {port}: {error.strerror}. "
            "Take another one, or 0 for any."
        )
        raise InputError(msg) from error
    return listening


def _allow_files(connections: int) -> None:
    """Let the process open a file per connection, as far as the system lets it."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # no such limits on Windows
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = connections + _OTHER_FILES
        if soft != resource.RLIM_INFINITY and soft < wanted:
            allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
