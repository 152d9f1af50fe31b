"""Checks the addresses of requests, and reads their keys from the environment."""

from __future__ import annotations

import ipaddress
import os
import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Keys", "check_base_url", "is_loopback", "looks_like_key", "read_keys"]

_ENDPOINT = "/chat/completions"
_HOST = re.compile(r"[A-Za-z0-9._-]+")
_SECRET_NAME = re.compile(r"key|token|secret|sig|password|auth", re.IGNORECASE)
_HIDDEN = "***"
# Text that looks like a key, even if it is not the key that was sent.
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|fw|nvapi|tgp|csk|hf)[-_][-_*.A-Za-z0-9]{8,}|\bAIza[-_*A-Za-z0-9]{8,}"
    r"|(?<=\bBearer )(?=\S*\d)[-._~+/=A-Za-z0-9]{8,}",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHORTEST = 4  # a shorter value is not a secret, and may be part of common words
_NO_WORD = 16  # a shorter one, such as "none" for a local server, may occur in a reply


def check_base_url(base_url: str) -> str:
    """Return an address in one form: without its endpoint and a slash at its end.

    Raises
    ------
    InputError
        If it is no HTTP address, or holds a password or a key.
    """
    text = str(base_url).strip()
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:  # brackets without an address, a port that is none
        parts, host = urlsplit(""), None
    is_plain = text.isprintable() and not re.search(r"\s", text)
    if parts.scheme not in ("http", "https") or not _is_host(host) or not is_plain:
        shown = shorten(text.rpartition("@")[2].partition("?")[0])
        msg = f"`base_url` must be an address such as 'http://localhost:8000/v1', got {shown!r}."
        raise InputError(f"{msg} Write it with http:// or https://.")
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    if parts.username or parts.password or any(_SECRET_NAME.search(name) for name in names):
        msg = f"`base_url` must hold no password and no key, got an address at {host!r} with one."
        raise InputError(f"{msg} Name the environment variable that holds it: `api_key_env`.")
    path = parts.path.rstrip("/").removesuffix(_ENDPOINT)
    return urlunsplit((parts.scheme, parts.netloc.lower(), path, parts.query, ""))


def _is_host(host: str | None) -> bool:
    """Whether it is an IP address or a name that the HTTP client can resolve."""
    try:
        if host and not _HOST.fullmatch(host):
            return bool(ipaddress.ip_address(host))
        return bool(host and host.encode("idna").decode("idna"))
    except ValueError:  # a part of the name is empty, too long, or no punycode
        return False


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

    __slots__ = ("_reveal",)

    def __init__(self, headers: Mapping[str, str]) -> None:
        secrets = [value.removeprefix("Bearer ") for value in headers.values()]
        held = (dict(headers), tuple(secret for secret in secrets if len(secret) >= _SHORTEST))
        self._reveal: Callable[[], tuple[dict[str, str], tuple[str, ...]]] = lambda: held

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


def looks_like_key(text: str) -> bool:
    """Return whether a text seems to contain a key."""
    return _KEY_LIKE.search(text) is not None


def read_keys(variable: str | None) -> Keys:
    """Read a key from the environment.

    Raises
    ------
    InputError
        If the variable is missing, empty, or not plain ASCII; no value is ever shown.
    """
    if not variable:
        return Keys({})
    if not _VARIABLE.fullmatch(variable):  # not shown, since it may be the key
        msg = "`api_key_env` must name an environment variable, such as OPENAI_API_KEY,"
        raise InputError(f"{msg} got something else. Keys themselves stay in the environment.")
    value = os.environ.get(variable, "").strip()
    if not value:
        msg = f"The environment variable {variable} must hold a key, but it is not set."
        raise InputError(f"{msg} Set it, or name another variable.")
    if not (value.isascii() and value.isprintable()):
        msg = f"The environment variable {variable} must be printable ASCII on one line, got"
        raise InputError(f"{msg} {len(value)} characters that are not. Copy the key again.")
    return Keys({"Authorization": f"Bearer {value}"})
