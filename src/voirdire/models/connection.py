"""Sends HTTP requests: checked addresses, keys from the environment, one session per event loop."""

from __future__ import annotations

import asyncio
import io
import ipaddress
import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import msgspec
from yarl import URL

from voirdire import errors
from voirdire._messages import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import aiohttp

_WORD = re.compile(r"[A-Za-z0-9._-]+")
_SECRET_NAME = re.compile(r"key|token|secret|sig|password|auth", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HIDDEN = "***"
# Text that looks like a key, even if it is not the key that was sent.
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|fw|nvapi|tgp|csk|hf)[-_][-_*.A-Za-z0-9]{8,}|\bAIza[-_*A-Za-z0-9]{8,}"
    r"|(?<=\bBearer )(?=\S*\d)[-._~+/=A-Za-z0-9]{8,}",
    re.IGNORECASE,
)
_SHORTEST = 4  # a shorter value is not a secret, and may be part of common words
_NO_WORD = 16  # a shorter one, such as "none" for a local server, may occur in a reply
_MOST_READ = 16 * 2**20  # bytes of an answer
_FINE = 200
_CONNECT_S = 30.0
_JSON = "application/json"
_HEADERS = {"Content-Type": _JSON, "Accept": _JSON, "User-Agent": "voirdire"}
_LARGE = 2**20  # bytes that a client writes as a file, not at once
_READ_BUFFER = 2**18  # a reply with log-probabilities then arrives without stopping the socket
# What exceptions of the client mean, by name; the nearest ancestor counts.
_BROKEN = {
    "ClientConnectorCertificateError": "its certificate is not trusted; if an authority of your "
    "own signed it, name the file of that authority in SSL_CERT_FILE",
    "ClientConnectorDNSError": "the name of the host is not known",
    "ClientProxyConnectionError": "no connection to the proxy",
    "ClientHttpProxyError": "the proxy refused",
    "ClientConnectorError": "no connection",
    "TimeoutError": "no reply in time",
    "InvalidURL": "the base URL is no address",
    "ClientPayloadError": "the reply was cut off",
    "ServerDisconnectedError": "the server closed the connection",
    "ClientResponseError": "what came is no HTTP",
    "Exception": "the connection broke",
}


def check_base_url(base_url: str) -> str:
    """Return an address in one form: without the endpoint of chats and a slash at its end.

    Raises
    ------
    InputError
        If it is no HTTP address, or holds a password or a key.
    """
    text = str(base_url).strip()
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
        if not _WORD.fullmatch(host):
            ipaddress.ip_address(host)
        host.encode("idna").decode("idna")  # as the client does
    except ValueError:  # brackets without an address, a port that is none, an empty part
        parts, host = urlsplit(""), ""
    if parts.scheme not in ("http", "https") or not text.isprintable() or " " in text:
        shown = shorten(text.rpartition("@")[2].partition("?")[0])
        msg = f"`base_url` must be an address such as 'http://localhost:8000/v1', got {shown!r}."
        raise errors.InputError(f"{msg} Write it with http:// or https://.")
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    if parts.username or parts.password or any(map(_SECRET_NAME.search, names)):
        msg = f"`base_url` must hold no password and no key, got an address at {host!r} with one."
        raise errors.InputError(
            f"{msg} Name the environment variable that holds it: `api_key_env`."
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return urlunsplit((parts.scheme, parts.netloc.lower(), path, parts.query, ""))


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Keys:
    """Headers with secrets, kept in a closure so that no repr or dump shows them."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        secrets = [value.removeprefix("Bearer ") for value in headers.values()]
        held = (dict(headers), [secret for secret in secrets if len(secret) >= _SHORTEST])
        self._reveal: Callable[[], tuple[dict[str, str], list[str]]] = lambda: held

    def __repr__(self) -> str:
        return "Keys(hidden)"

    def __reduce__(self) -> str:
        msg = "keys are read from the environment of each process and do not travel"
        raise TypeError(msg)

    def headers(self) -> dict[str, str]:
        """Return the headers to send."""
        return dict(self._reveal()[0])

    def are_in(self, body: bytes) -> bool:
        """Return whether a body contains a secret; short ones, which may be words, are ignored."""
        secrets = self._reveal()[1]
        return any(len(word) >= _NO_WORD and word.encode() in body for word in secrets)

    def hide(self, text: str) -> str:
        """Remove every secret, and text that looks like one."""
        for secret in self._reveal()[1]:
            text = text.replace(secret, _HIDDEN)
        return _KEY_LIKE.sub(_HIDDEN, text)


def read_keys(variable: str | None, *, header: str | None = None) -> Keys:
    """Read a key from the environment; without `header` it is a bearer token.

    Raises
    ------
    InputError
        If the variable is missing, empty, or not plain ASCII; no value is ever shown.
    """
    if header is not None and not (variable and _WORD.fullmatch(header)):
        msg = f"`key_header` must name a header, such as api-key, got {shorten(header)!r}."
        raise errors.InputError(f"{msg} The variable that `api_key_env` names holds the key.")
    if not variable:
        return Keys({})
    if not _VARIABLE.fullmatch(variable):  # not shown, since it may be the key
        msg = "`api_key_env` must name an environment variable, such as OPENAI_API_KEY,"
        raise errors.InputError(
            f"{msg} got something else. Keys themselves stay in the environment."
        )
    value = os.environ.get(variable, "").strip()
    if not value:
        msg = f"The environment variable {variable} must hold a key, but it is not set."
        raise errors.InputError(f"{msg} Set it, or name another variable.")
    if not (value.isascii() and value.isprintable()):
        msg = f"The environment variable {variable} must be printable ASCII on one line, got"
        raise errors.InputError(f"{msg} {len(value)} characters that are not. Copy the key again.")
    return Keys({header: value} if header else {"Authorization": f"Bearer {value}"})


class HttpAnswer(msgspec.Struct, gc=False):
    """A server's answer, with an unpacked body; header names ignore case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpConnection:
    """Sends bodies to one address, directly or through the proxy that the environment names."""

    def __init__(self, base_url: str, path: str, *, name: str, keys: Keys) -> None:
        parts = urlsplit(base_url)
        self._name, self._base = name, base_url
        self._url = URL(urlunsplit(parts._replace(path=parts.path + path)), encoded=True)
        self._place = parts.netloc
        self.keys = keys
        self.variable: str | None = None  # that holds the key
        self._proxy: str | None = None
        # A proxy is never asked for this machine.
        proxies, host = getproxies(), parts.hostname or ""
        proxy = proxies.get(parts.scheme) or proxies.get("all")
        if proxy and not is_loopback(host) and not proxy_bypass(host):
            kind, _, rest = proxy.rpartition("://")
            if kind not in ("", "http", "https"):
                msg = (
                    f"The proxy of the environment must be an HTTP proxy, got one of kind {kind!r}."
                )
                raise errors.InputError(f"{msg} Name the server's host in NO_PROXY to go without.")
            self._proxy = f"{kind or 'http'}://{rest}"
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = (
            WeakKeyDictionary()
        )

    async def close(self) -> None:
        """Close the session of this event loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    async def send(self, body: bytes | None) -> HttpAnswer:
        """Post a body, or read where there is none; a `ModelCallError` says why no answer came."""
        method = "GET" if body is None else "POST"
        data = io.BytesIO(body) if body is not None and len(body) > _LARGE else body
        return await self.exchange(method, self._url, data=data)

    async def exchange(
        self,
        method: str,
        path: str | URL,
        *,
        data: Any = None,
        headers: Mapping[str, str] | None = None,
        into: Path | None = None,
    ) -> HttpAnswer:
        """Use another path of the same server; the body of an answer that is fine may go `into`."""
        import aiohttp

        if isinstance(path, str):
            parts = urlsplit(self._base)
            path, _, query = path.partition("?")
            query = "&".join(filter(None, (parts.query, query)))
            whole = urlunsplit(parts._replace(path=parts.path + path, query=query))
            path = URL(whole, encoded=True)
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.closed:
            session = self._sessions[loop] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=_HEADERS | self.keys.headers(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
                read_bufsize=_READ_BUFFER,
            )
        try:
            async with session.request(
                method, path, data=data, headers=headers, allow_redirects=False, proxy=self._proxy
            ) as response:
                if into is not None and response.status == _FINE:
                    with into.open("wb") as file:
                        while chunk := await response.content.readany():
                            file.write(chunk)
                    return HttpAnswer(response.status, response.headers, b"")
                chunks, left = [], _MOST_READ
                while not response.content.at_eof() and left >= 0:
                    chunks.append(await response.content.readany())
                    left -= len(chunks[-1])
                if left >= 0:
                    return HttpAnswer(response.status, response.headers, b"".join(chunks))
                large = f"{self._name} sent a reply larger than {_MOST_READ // 2**20} MiB."
                failure: errors.ModelCallError = errors.ServerError(large, status=response.status)
        except (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError) as error:
            failure = self._failure(error)
        # Raised out here, so that it does not carry the client's frames with their headers.
        raise failure

    def _failure(self, error: Exception) -> errors.ModelCallError:
        """Make our error, without the client's message, which may hold addresses or headers."""
        names = [kind.__name__ for kind in type(error).__mro__]
        name = next(name for name in names if name in _BROKEN)
        is_refused = getattr(error, "status", 0) in (401, 403, 407)  # by the proxy
        reason = getattr(getattr(error, "os_error", error), "strerror", None)
        why = f" ({self.keys.hide(reason)})" if isinstance(reason, str) and reason else ""
        message = f"{self._name}: {_BROKEN[name]}{why}, {self._place}."
        if is_refused or name in ("ClientConnectorCertificateError", "InvalidURL"):
            return errors.AccessError(message)
        is_late = isinstance(error, TimeoutError)
        return errors.ModelTimeoutError(message) if is_late else errors.ServerError(message)
