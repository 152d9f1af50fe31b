"""A server of its own: its socket, its signals, its end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import os
import signal
import sys
from typing import TYPE_CHECKING

import uvicorn

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.web.addresses import bound_socket, is_loopback, url_of
from voirdire.web.app import create_app, service_of
from voirdire.web.connections import watched_protocol
from voirdire.web.logs import keep_loop_quiet, log, written_logs
from voirdire.web.settings import ServerSettings

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from types import FrameType

    from voirdire.rewards.live import LiveReward
    from voirdire.web.service import RewardService

__all__ = ["serve"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_KEEP_ALIVE_S = 75
_GRACE_S = 5
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
    """Give rewards over HTTP until a signal ends it.

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
    with bound_socket(host, port) as listening, written_logs(as_json=json_log):
        _allow_files(settings.connections)
        config = uvicorn.Config(
            app,
            http=watched_protocol(settings),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=math.ceil(settings.drain_s) + _GRACE_S,
        )
        url = url_of(listening, host)
        _Server(config, service=service_of(app), url=url, started=started).run([listening])


class _Server(uvicorn.Server):
    """Drains when it is to end, and ends with success."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        service: RewardService,
        url: str,
        started: Callable[[str], None] | None,
    ) -> None:
        super().__init__(config)
        self._service = service
        self._url = url
        self._told = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        keep_loop_quiet(asyncio.get_running_loop())
        await self._service.start()  # before uvicorn does it, which would hide what is wrong
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # what is there now stays: going through it all again takes 50 ms each time
        log.info("rewards of %r at %s", shorten(self._service.live.reward.name), self._url)
        if self._told is not None:
            self._told(self._url)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        log.info("no more requests are taken; %d items are under way", self._service.queue.n_held)
        draining = asyncio.get_running_loop().create_task(self._service.drain())
        await super().shutdown(sockets)
        await draining
        gc.unfreeze()  # the process may go on with something else
        log.info("ended")

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take signals as wishes: uvicorn would raise them again in the end, and die of them."""
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        del frame
        if self.should_exit:  # the second one: whoever sends it does not want to wait
            sys.stderr.flush()
            os._exit(128 + sig)
        self.should_exit = True
        self._service.queue.close()


def _allow_files(connections: int) -> None:
    """Let the process open a file per connection, as far as the system lets it."""
    try:
        import resource
    except ImportError:  # no such limits on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        log.warning("the system allows %d open files, fewer than %d", allowed, wanted)
