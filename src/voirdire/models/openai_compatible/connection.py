"""Sends HTTP requests: one session per event loop, and a bound on what is read."""

from __future__ import annotations

import asyncio
from io import BytesIO
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import aiohttp
import msgspec
from aiohttp.http import HttpProcessingError
from yarl import URL

from voirdire.errors import AccessError, InputError, ModelCallError, ModelTimeoutError, ServerError
from voirdire.models.endpoints import is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.models.endpoints import Keys

__all__ = ["HttpAnswer", "HttpConnection"]

_MOST_READ = 16 * 2**20  # bytes of an answer
_CONNECT_S = 30.0
_MOST_AT_ONCE = 1 << 20  # aiohttp warns of larger bodies that are bytes
_READ_BUFFER = 2**18  # a reply with log-probabilities then arrives without stopping the socket
# By name, since some are younger than the oldest client that we take; the nearest ancestor counts.
_BROKEN: Mapping[str, tuple[type[ModelCallError], str]] = {
    "ClientConnectionError": (ServerError, "the connection broke"),
    "ClientConnectorCertificateError": (AccessError, "its certificate is not trusted"),
    "ClientConnectorDNSError": (ServerError, "the name of the host is not known"),
    "ClientConnectorError": (ServerError, "no connection"),
    "ClientError": (ServerError, "the call failed"),
    "ClientHttpProxyError": (ServerError, "the proxy refused"),
    "ClientPayloadError": (ServerError, "the reply was cut off"),
    "ClientProxyConnectionError": (ServerError, "no connection to the proxy"),
    "ClientResponseError": (ServerError, "what came is no HTTP"),
    "ClientSSLError": (ServerError, "no encrypted connection"),
    "ConnectionTimeoutError": (ModelTimeoutError, "no connection in time"),
    "HttpProcessingError": (ServerError, "what came is no HTTP"),
    "InvalidURL": (AccessError, "the base URL is no address"),
    "NonHttpUrlClientError": (AccessError, "the base URL is not HTTP"),
    "OSError": (ServerError, "the connection broke"),
    "RedirectClientError": (AccessError, "it points elsewhere"),
    "ServerDisconnectedError": (ServerError, "the server closed the connection"),
    "ServerFingerprintMismatch": (AccessError, "its certificate is another"),
    "ServerTimeoutError": (ModelTimeoutError, "no reply in time"),
    "TimeoutError": (ModelTimeoutError, "no reply in time"),
}


class HttpAnswer(msgspec.Struct, gc=False):
    """A server's answer, with an unpacked body; header names ignore case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpConnection:
    """Sends bodies to one address, directly or through the proxy that the environment names."""

    def __init__(
        self, *, name: str, url: str, keys: Keys, timeout_s: float | None, connections: int = 0
    ) -> None:
        self._name = name
        self._url = URL(url, encoded=True)
        self._keys = keys
        self._timeout_s = timeout_s
        self._connections = connections
        self._proxy = _proxy_for(url)
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = (
            WeakKeyDictionary()
        )

    async def post(self, body: bytes) -> HttpAnswer:
        """Send a body and return the answer; raise a `ModelCallError` where there is none."""
        return await self._answer("POST", body if len(body) <= _MOST_AT_ONCE else BytesIO(body))

    async def get(self) -> HttpAnswer:
        """Read a URL; raise a `ModelCallError` where that fails."""
        return await self._answer("GET", None)

    async def close(self) -> None:
        """Close the session of this event loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    async def _answer(self, method: str, data: bytes | BytesIO | None) -> HttpAnswer:
        try:
            async with self._session().request(
                method, self._url, data=data, allow_redirects=False, proxy=self._proxy
            ) as response:
                read = await self._read(response)
                return HttpAnswer(response.status, response.headers, read)
        except (aiohttp.ClientError, HttpProcessingError, TimeoutError, OSError) as error:
            failure = self._failure(error)
        # Raised out here, so that it does not carry the client's frames with their headers.
        raise failure

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.closed:
            connect_s = min(self._timeout_s or _CONNECT_S, _CONNECT_S)
            session = self._sessions[loop] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={
                    "Content-Type": "application/json",
                    "Accept": "application/json",
                    "User-Agent": "voirdire",
                    **self._keys.headers(),
                },
                timeout=aiohttp.ClientTimeout(total=self._timeout_s, sock_connect=connect_s),
                read_bufsize=_READ_BUFFER,
            )
        return session

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        content = response.content
        first = await content.readany()
        if content.at_eof() and len(first) <= _MOST_READ:
            return first
        chunks, size = [first], len(first)
        while not content.at_eof():
            if size > _MOST_READ:
                msg = f"{self._name} sent a reply larger than {_MOST_READ // 2**20} MiB."
                raise ServerError(msg, status=response.status)
            chunk = await content.readany()
            chunks.append(chunk)
            size += len(chunk)
        return b"".join(chunks)

    def _failure(self, error: BaseException) -> ModelCallError:
        """Make our error, without the client's message, which may hold addresses or headers."""
        names = [kind.__name__ for kind in type(error).__mro__]
        kind, words = next(_BROKEN[name] for name in names if name in _BROKEN)
        if "ClientHttpProxyError" in names and getattr(error, "status", None) in (401, 403, 407):
            kind = AccessError
        host = f"{self._url.host}:{self._url.port}"
        if isinstance(error, TimeoutError):
            seconds = _CONNECT_S if self._timeout_s is None else self._timeout_s
            return kind(f"{self._name}: {words} ({seconds:g} s, {host}).")
        reason = getattr(getattr(error, "os_error", error), "strerror", None)
        if isinstance(reason, str) and reason:
            words = f"{words} ({self._keys.hide(reason)})"
        return kind(f"{self._name}: {words}, {host}.")


def _proxy_for(url: str) -> str | None:
    """Find the proxy that the environment names; none for this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    found = getproxies()
    proxy = found.get(parts.scheme) or found.get("all")
    if not proxy:
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        kind = proxy.partition("://")[0]
        msg = f"The proxy of the environment must be an HTTP proxy, got one of kind {kind!r}."
        raise InputError(f"{msg} Name the server's host in NO_PROXY to go without.")
    return proxy
