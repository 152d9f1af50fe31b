"""Names and addresses: which are this machine's own, and by which a server may be asked."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["bound_socket", "is_asked_by_own_name", "is_loopback", "url_of"]

_LOCAL_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")
_BACKLOG = 4_096


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches a host."""
    if host.lower().rstrip(".") in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def is_asked_by_own_name(named: bytes, *, hosts: Sequence[str]) -> bool:
    """Tell whether a `Host` header is a name of this machine, or one of `hosts`.

    A page of a stranger can have its own name point to this machine, and then ask whatever listens
    here through the reader's browser. It cannot change the name that the browser sends.
    """
    try:
        text = named.decode("ascii").strip()
    except UnicodeDecodeError:
        return False
    host = _without_port(text).lower().rstrip(".")
    return is_loopback(host) or host in [name.lower() for name in hosts]


def bound_socket(host: str, port: int) -> socket.socket:
    """Bind a socket, and listen.

    Raises
    ------
    InputError
        If the host is not known, or the port is taken or out of range.
    """
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


def url_of(listening: socket.socket, host: str) -> str:
    """Give the address that clients take."""
    port = listening.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _without_port(text: str) -> str:
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.rpartition(":")[0] if ":" in text else text
