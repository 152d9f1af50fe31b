"""Runs the server: sockets, connections, signals, shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.web.app import create_app
from voirdire.web.auth import is_loopback
from voirdire.web.logs import keep_loop_quiet, log, write_logs
from voirdire.web.settings import ServerSettings
from voirdire.web.workers import WorkerLink, run_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from voirdire.rewards.live import LiveReward
    from voirdire.web.app import RewardApp

__all__ = ["serve"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_KEEP_ALIVE_S = 75
_GRACE_S = 5
_BACKLOG = 4_096
_PUBLISH_S = 1.0
_OTHER_FILES = 128
"""What is open beside connections: logs, the store, calls to a judge."""


def serve(
    live_reward: LiveReward,
    *,
    settings: ServerSettings | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    json_log: bool = False,
    started: Callable[[str], None] | None = None,
) -> None:
    """Serve rewards over HTTP until a signal ends it.

    Parameters
    ----------
    live_reward : LiveReward
        What gives the rewards.
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

    Notes
    -----
    As for `create_app`. The first SIGTERM or SIGINT stops accepting, lets the requests under way
    end within `drain_s`, and returns; the second ends the process at once.
    """
    settings = ServerSettings() if settings is None else settings
    if settings.token is None and not is_loopback(host):
        msg = (
            f"`host` must be an address of this machine alone where there is no token, got "
            f"{shorten(host)!r}. Put one into the environment variable VOIRDIRE_TOKEN, or take "
            "127.0.0.1."
        )
        raise InputError(msg)
    app = create_app(live_reward, settings=settings)
    tell = _tell_nobody if started is None else started
    if settings.workers == 1:
        with _bind_socket(host, port) as listening, write_logs(as_json=json_log):
            url = _url_of(listening, host)
            _serve_on(listening, app=app, url=url, started=lambda: tell(url))
        return
    if not hasattr(os, "fork"):
        msg = f"`workers` must be 1 on this system, got {settings.workers}. Start several servers."
        raise InputError(msg)

    def work(listening: socket.socket, link: WorkerLink, ready: Callable[[], None]) -> None:
        with write_logs(as_json=json_log):
            _serve_on(listening, app=app, url=url, started=ready, link=link)

    sockets = _bind_shared_sockets(host, port, n=settings.workers)
    url = _url_of(sockets[0], host)
    run_workers(sockets, work=work, started=lambda: tell(url))


def _tell_nobody(url: str) -> None:
    del url


def _serve_on(
    listening: socket.socket,
    *,
    app: RewardApp,
    url: str,
    started: Callable[[], None],
    link: WorkerLink | None = None,
) -> None:
    """Serve an application on a socket until a signal ends it."""
    settings = app.service.settings
    _allow_files(settings.connections)
    config = uvicorn.Config(
        app,
        http=_BoundedConnection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=math.ceil(settings.drain_s) + _GRACE_S,
    )
    _Server(config, app=app, url=url, started=started, link=link).run([listening])


class _Server(uvicorn.Server):
    """A server that drains before it ends, and exits with success."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        app: RewardApp,
        url: str,
        started: Callable[[], None],
        link: WorkerLink | None,
    ) -> None:
        super().__init__(config)
        self._service = app.service
        self._url = url
        self._started = started
        self._link = link

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        keep_loop_quiet(asyncio.get_running_loop())
        await self._service.start()  # before uvicorn does it, which would hide what is wrong
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # what is there now stays: going through it all again takes 50 ms each time
        log.info("rewards of %r at %s", shorten(self._service.live.reward.name), self._url)
        log.info("%s", self._service.needs)
        if self._link is not None:
            self._join(self._link)
        self._started()

    def _join(self, link: WorkerLink) -> None:
        """Share figures with the other workers, and end with the process that began them."""
        loop = asyncio.get_running_loop()
        metrics = self._service.metrics
        metrics.shared = link.metrics

        def end() -> None:
            loop.remove_reader(link.lifeline)
            self.handle_exit(signal.SIGTERM, None)

        def publish() -> None:
            link.metrics.publish(metrics.samples())
            loop.call_later(_PUBLISH_S, publish)

        loop.add_reader(link.lifeline, end)
        publish()
        if link.note:
            log.warning("%s", link.note)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        log.info("no more requests are taken; %d items are under way", self._service.queue.n_held)
        draining = asyncio.get_running_loop().create_task(self._service.drain())
        await super().shutdown(sockets)
        await draining
        if self._link is not None:
            self._link.metrics.publish(self._service.metrics.samples())
        gc.unfreeze()  # the process may go on with something else
        log.info("ended")

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals as requests to stop: uvicorn would raise them again at the end."""
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        del frame
        if self.should_exit:  # a second signal ends without waiting
            sys.stderr.flush()
            os._exit(128 + sig)
        self.should_exit = True
        self._service.queue.close()


# Sockets --------------------------------------------------------------------------------------


def _bind_socket(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    """Bind a socket, and listen; an `InputError` if the host is not known, or the port is taken."""
    if isinstance(port, bool) or not 0 <= port <= 65_535:
        msg = f"`port` must be in 0 to 65535, got {port!r}. 0 takes any that is free."
        raise InputError(msg)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        msg = f"`host` must be a name or an address of this machine, got {shorten(host)!r}."
        raise InputError(msg) from error
    family, kind, protocol, _, address = found[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
        listening.settimeout(0)
    except OSError as error:
        listening.close()
        msg = (
            f"`port` must be free on {shorten(host)}, got {port}: {error.strerror}. "
            "Take another one, or 0 for any."
        )
        raise InputError(msg) from error
    return listening


def _bind_shared_sockets(host: str, port: int, *, n: int) -> list[socket.socket]:
    """Bind a port for several processes.

    Linux spreads connections evenly over sockets that share a port. Elsewhere the processes share
    one socket.
    """
    first = _bind_socket(host, port)  # errs where another process has the port
    if sys.platform != "linux":
        return [first] * n
    port = first.getsockname()[1]
    first.close()
    return [_bind_socket(host, port, is_shared=True) for _ in range(n)]


def _url_of(listening: socket.socket, host: str) -> str:
    """Return the address that clients take."""
    port = listening.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _allow_files(connections: int) -> None:
    """Let the process open a file per connection, as far as the system lets it."""
    try:
        import resource
    except ImportError:  # no such limits on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


# Connections ----------------------------------------------------------------------------------

_MOST_HEAD_BYTES = 64 * 1024
"""Also of what comes after a body, and of the next head, while a request is answered: uvicorn keeps
all of it."""

_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-length: 0\r\n\r\n"
)


class _WriteBuffer:
    """A transport that sends head and body of an answer together, and with them a system call."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._pieces:
            pieces, self._pieces = self._pieces, []
            self._transport.write(b"".join(pieces))


_Base: Any = AutoHTTPProtocol


class _BoundedConnection(_Base):  # type: ignore[misc]  # uvicorn chooses the class
    """A connection of uvicorn's that bounds what a route cannot see.

    uvicorn itself waits for the head of a first request as long as the client likes, and for a
    client to read its answer.
    """

    def __init__(self, config: uvicorn.Config, *arguments: Any, **more: Any) -> None:
        super().__init__(config, *arguments, **more)
        self._settings: ServerSettings = config.app.service.settings  # type: ignore[union-attr]
        self._head_timer: asyncio.TimerHandle | None = None
        self._reading_timer: asyncio.TimerHandle | None = None
        self._n_head_bytes = 0
        self._has_ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(_WriteBuffer(transport, self.loop))
        if len(self.connections) > self._settings.connections:
            transport.write(_BUSY)
            transport.close()
        else:
            self._expect_head()

    def data_received(self, data: bytes) -> None:
        self._n_head_bytes += len(data)
        super().data_received(data)
        if self._n_head_bytes > _MOST_HEAD_BYTES:
            self.transport.abort()
        elif self._is_answering():
            self._stop_head_timer()
        elif self._head_timer is None and not self.transport.is_closing():
            self._expect_head()

    def handle_events(self) -> None:  # of h11, which itself bounds what it keeps
        super().handle_events()
        self._n_head_bytes = 0

    def on_headers_complete(self) -> None:  # this and the next two of httptools
        super().on_headers_complete()
        self._n_head_bytes = 0

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        if self._is_answering():
            self._n_head_bytes = 0

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._n_head_bytes = 0

    def eof_received(self) -> bool:
        """Answer a client that has closed only its sending side."""
        self._has_ended = True
        if self._is_answering() and not self.cycle.more_body:
            return True
        self.transport.close()  # after the last answer, which may not have left yet
        return False

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._has_ended and not self._is_answering():
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._reading_timer is None:
            self._reading_timer = self.loop.call_later(self._settings.body_s, self.transport.abort)

    def resume_writing(self) -> None:
        if self._reading_timer is not None:
            self._reading_timer.cancel()
            self._reading_timer = None
        super().resume_writing()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(self._settings.head_s, self._let_go)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _let_go(self) -> None:
        self._head_timer = None
        if not self._is_answering():
            self.transport.abort()
