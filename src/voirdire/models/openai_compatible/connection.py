"""The HTTP client: one session per event loop, and a bound on what is read."""

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

from voirdire.errors import InputError, ServerError
from voirdire.models.openai_compatible.addresses import is_loopback
from voirdire.models.openai_compatible.broken_connections import place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.errors import ModelCallError
    from voirdire.models.openai_compatible.keys import Keys

__all__ = ["MOST_BYTES", "HttpAnswer", "HttpConnection", "proxy_for"]

MOST_BYTES = 16 * 2**20
"""The longest answer that is read."""

_CONNECT_S = 30.0
_MOST_BYTES = 1 << 20
"""aiohttp warns of larger bodies that are bytes, since it sends them in one go."""

_READ_BUFFER = 2**18  # a reply with log-probabilities then arrives without stopping the socket


class HttpAnswer(msgspec.Struct, gc=False):
    """What a server answered.

    Attributes
    ----------
    status : int
        Of HTTP.
    headers : mapping of str to str
        Their names are found in any case.
    body : bytes
        Decompressed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpConnection:
    """Sends bodies to one address.

    Parameters
    ----------
    name : str
        What messages call the server.
    url : str
        Where to.
    keys : Keys
        Headers with secrets.
    timeout_s : float or None
        Deadline for a whole call.
    connections : int or None
        How many at once; None is as many as there are calls.
    proxy : str or None
        Address of a proxy, as `proxy_for` gives it.
    """

    def __init__(
        self,
        *,
        name: str,
        url: str,
        keys: Keys,
        timeout_s: float | None,
        connections: int | None,
        proxy: str | None = None,
    ) -> None:
        self._name = name
        self._url = URL(url, encoded=True)
        self._keys = keys
        self._timeout = aiohttp.ClientTimeout(
            total=timeout_s, sock_connect=min(timeout_s or _CONNECT_S, _CONNECT_S)
        )
        self._timeout_s = timeout_s
        self._connections = connections
        self._proxy = proxy
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = (
            WeakKeyDictionary()
        )

    async def post(self, body: bytes) -> HttpAnswer:
        """Send a body and read the answer; a `ModelCallError` says why there is none."""
        return await self._answer("POST", body if len(body) <= _MOST_BYTES else BytesIO(body))

    async def get(self) -> HttpAnswer:
        """Read what is there; a `ModelCallError` says why it cannot be."""
        return await self._answer("GET", None)

    async def _answer(self, method: str, data: bytes | BytesIO | None) -> HttpAnswer:
        try:
            async with self._session().request(
                method,
                self._url,
                data=data,
                allow_redirects=False,
                proxy=self._proxy,
            ) as response:
                read = await self._read(response)
                return HttpAnswer(response.status, response.headers, read)
        except (aiohttp.ClientError, HttpProcessingError, TimeoutError, OSError) as error:
            failure = self._failure(error)
        # Raised out here, so that it does not carry the client's frames with their headers.
        raise failure

    async def close(self) -> None:
        """Close what this event loop has open."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.closed:
            session = self._sessions[loop] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections or 0),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={
                    "Content-Type": "application/json",
                    "Accept": "application/json",
                    "User-Agent": "voirdire",
                    **self._keys.headers(),
                },
                timeout=self._timeout,
                read_bufsize=_READ_BUFFER,
            )
        return session

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        content = response.content
        first = await content.readany()
        if content.at_eof() and len(first) <= MOST_BYTES:
            return first
        chunks, size = [first], len(first)
        while not content.at_eof():
            if size > MOST_BYTES:
                msg = f"{self._name} sent a reply larger than {MOST_BYTES // 2**20} MiB."
                raise ServerError(msg, status=response.status)
            chunk = await content.readany()
            chunks.append(chunk)
            size += len(chunk)
        return b"".join(chunks)

    def _failure(self, error: BaseException) -> ModelCallError:
        kind, words = place(error)
        host = f"{self._url.host}:{self._url.port}"
        if isinstance(error, TimeoutError):
            seconds = _CONNECT_S if self._timeout_s is None else self._timeout_s
            return kind(f"{self._name}: {words} ({seconds:g} s, {host}).")
        return kind(f"{self._name}: {self._keys.hide(words)}, {host}.")


def proxy_for(url: str) -> str | None:
    """Find the proxy that the environment names for an address.

    Parameters
    ----------
    url : str
        Of the server. This machine itself is never asked through a proxy.

    Returns
    -------
    str or None
        The proxy's address, which may hold a password.

    Raises
    ------
    InputError
        If it is no HTTP proxy.
    """
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
