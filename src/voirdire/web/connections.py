"""Connections that are watched: who sends or reads too slowly is let go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    import asyncio

    from voirdire.web.settings import ServerSettings

__all__ = ["watched_protocol"]

_MOST_HEAD_BYTES = 64 * 1024
"""Also of what comes after a body, and of the next head, while a request is answered: uvicorn keeps
all of it."""

_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-length: 0\r\n\r\n"
)


def watched_protocol(settings: ServerSettings) -> type[asyncio.Protocol]:
    """Make the protocol of connections, on top of the fastest that uvicorn finds installed.

    uvicorn itself waits for the head of a first request as long as the client likes, and for a
    client to read its answer. A route can see neither.

    Parameters
    ----------
    settings : ServerSettings
        How many connections, and how long.
    """

    class WatchedConnection(_Watched):
        most = settings.connections
        head_s = settings.head_s
        reading_s = settings.body_s

    return WatchedConnection


_Base: Any = AutoHTTPProtocol


class _Watched(_Base):  # type: ignore[misc]  # uvicorn chooses the class
    most: int
    head_s: float
    reading_s: float

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._head_timer: asyncio.TimerHandle | None = None
        self._reading_timer: asyncio.TimerHandle | None = None
        self._n_head_bytes = 0
        super().connection_made(transport)
        if len(self.connections) > self.most:
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
            self._head_came()
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

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._reading_timer is None:
            self._reading_timer = self.loop.call_later(self.reading_s, self.transport.abort)

    def resume_writing(self) -> None:
        if self._reading_timer is not None:
            self._reading_timer.cancel()
            self._reading_timer = None
        super().resume_writing()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_s, self._let_go)

    def _head_came(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _let_go(self) -> None:
        self._head_timer = None
        if not self._is_answering():
            self.transport.abort()
