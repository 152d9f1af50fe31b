"""What the HTTP client raises, and which of our errors each of it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.errors import AccessError, ModelCallError, ModelTimeoutError, ServerError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PLACES", "place"]

# By name, since some of them are younger than the oldest client that we take.
PLACES: Mapping[str, tuple[type[ModelCallError], str]] = {
    "ClientConnectionError": (ServerError, "the connection broke"),
    "ClientConnectionResetError": (ServerError, "the connection broke"),
    "ClientConnectorCertificateError": (AccessError, "its certificate is not trusted"),
    "ClientConnectorDNSError": (ServerError, "the name of the host is not known"),
    "ClientConnectorError": (ServerError, "no connection"),
    "ClientConnectorSSLError": (ServerError, "no encrypted connection"),
    "ClientError": (ServerError, "the call failed"),
    "ClientHttpProxyError": (ServerError, "the proxy refused"),
    "ClientOSError": (ServerError, "the connection broke"),
    "ClientPayloadError": (ServerError, "the reply was cut off"),
    "ClientProxyConnectionError": (ServerError, "no connection to the proxy"),
    "ClientResponseError": (ServerError, "what came is no HTTP"),
    "ClientSSLError": (ServerError, "no encrypted connection"),
    "ConnectionTimeoutError": (ModelTimeoutError, "no connection in time"),
    "ContentTypeError": (ServerError, "what came is of another type"),
    "HttpProcessingError": (ServerError, "what came is no HTTP"),
    "InvalidURL": (AccessError, "the base URL is none"),
    "InvalidUrlClientError": (AccessError, "the base URL is none"),
    "InvalidUrlRedirectClientError": (AccessError, "it points to what is no URL"),
    "NonHttpUrlClientError": (AccessError, "the base URL is not HTTP"),
    "NonHttpUrlRedirectClientError": (AccessError, "it points to what is not HTTP"),
    "OSError": (ServerError, "the connection broke"),
    "RedirectClientError": (AccessError, "it points elsewhere"),
    "ServerConnectionError": (ServerError, "the connection broke"),
    "ServerDisconnectedError": (ServerError, "the server closed the connection"),
    "ServerFingerprintMismatch": (AccessError, "its certificate is another"),
    "ServerTimeoutError": (ModelTimeoutError, "no reply in time"),
    "SocketTimeoutError": (ModelTimeoutError, "no reply in time"),
    "TimeoutError": (ModelTimeoutError, "no reply in time"),
    "TooManyRedirects": (ServerError, "it points elsewhere"),
    "UnixClientConnectorError": (ServerError, "no connection"),
    "UploadAbortedError": (ServerError, "the request was cut off"),
    "WSServerHandshakeError": (ServerError, "what came is of another type"),
}


def place(error: BaseException) -> tuple[type[ModelCallError], str]:
    """Say which of our errors one of the HTTP client is, and in which words.

    Its own words are left out: they may hold the address of a proxy, or the headers of a request.

    Parameters
    ----------
    error : BaseException
        What the client raised.

    Returns
    -------
    tuple
        The class, and the words.
    """
    names = [kind.__name__ for kind in type(error).__mro__]
    kind, words = next(PLACES[name] for name in names if name in PLACES)
    if "ClientHttpProxyError" in names and getattr(error, "status", None) in (401, 403, 407):
        kind = AccessError
    reason = getattr(getattr(error, "os_error", error), "strerror", None)
    return kind, f"{words} ({reason})" if isinstance(reason, str) and reason else words
