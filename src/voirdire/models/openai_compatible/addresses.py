"""Base URLs: checked, brought to one form, and free of secrets."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from voirdire._validation import shorten
from voirdire.errors import InputError

__all__ = ["check_base_url", "completions_url", "is_loopback"]

_ENDPOINT = "/chat/completions"
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_SECRET_NAME = re.compile(r"key|token|secret|sig|password|auth", re.IGNORECASE)


def check_base_url(base_url: str) -> str:
    """Return the address of a server in one form.

    Parameters
    ----------
    base_url : str
        What comes before ``/chat/completions``, usually up to ``/v1``.

    Returns
    -------
    str
        Without a slash at its end; a query is kept.

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
    """Whether the HTTP client can make a name for the resolver of it, or it is an IP address."""
    try:
        if host and not _NAME.fullmatch(host):
            return bool(ipaddress.ip_address(host))
        return bool(host and host.encode("idna").decode("idna"))
    except ValueError:  # a part of the name is empty, too long, or no punycode
        return False


def completions_url(base_url: str) -> str:
    """Give the address that requests go to, from a base URL that was checked."""
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(path=parts.path + _ENDPOINT))


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
