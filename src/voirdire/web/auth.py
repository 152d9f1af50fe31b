"""Decides which requests are allowed: with the token, or by a name of this machine."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
from functools import lru_cache
from typing import TYPE_CHECKING

from voirdire.web.forms import RefusedError

if TYPE_CHECKING:
    from starlette.types import Scope

__all__ = ["Auth", "is_loopback", "list_header"]

_LOCAL_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")


class Auth:
    """Checks the head of a request.

    Only the token's hash is kept, and it is compared in a time that tells nothing of it.

    Parameters
    ----------
    token : str or None
        What clients must show; None answers all who ask by a name of this machine.
    hosts : tuple of str
        Further such names.
    """

    def __init__(self, token: str | None, *, hosts: tuple[str, ...]) -> None:
        self._digest = None if token is None else hashlib.sha256(token.encode()).digest()
        self._hosts = frozenset(name.lower() for name in hosts)

    def check(self, scope: Scope, *, is_open: bool) -> None:
        """Refuse a request by its head, whatever its body holds."""
        if self._digest is None:
            hosts = list_header(scope, b"host")
            if not hosts or not all(map(self._is_own_name, hosts)):
                msg = "The server answers to names of this machine only. Start it with a token."
                raise RefusedError("wrong_host", msg)
        elif not is_open:
            shown = list_header(scope, b"authorization")
            if not (len(shown) == 1 and self._is_token(shown[0], self._digest)):
                msg = "Send the header `Authorization: Bearer TOKEN` with the server's token."
                raise RefusedError("no_token", msg, www_authenticate="Bearer")
        if scope["method"] == "POST":
            # another site's page cannot make a browser post this without a preflight request
            kinds = list_header(scope, b"content-type")
            kind = kinds[0].partition(b";")[0].strip().lower() if len(kinds) == 1 else b""
            if kind != b"application/json":
                msg = "Send the header `Content-Type: application/json`."
                raise RefusedError("wrong_type", msg)

    def _is_own_name(self, named: bytes) -> bool:
        """Return whether a `Host` header is a name of this machine, or one of the further ones.

        Another site can let its own name point to this machine (DNS rebinding), and reach local
        servers through the user's browser. It cannot change the name that the browser sends.
        """
        text = named.decode("latin-1").strip()
        if text.startswith("["):
            text = text[1:].partition("]")[0]
        elif ":" in text:
            text = text.rpartition(":")[0]
        host = text.lower().rstrip(".")
        return is_loopback(host) or host in self._hosts

    @staticmethod
    def _is_token(authorization: bytes, digest: bytes) -> bool:
        """Return whether a header holds the token: as a bearer token, or as a password.

        Some clients can send a password only, in an address such as ``http://user:token@host/``.
        """
        scheme, _, shown = authorization.strip().partition(b" ")
        if scheme.lower() == b"basic":
            try:
                shown = base64.b64decode(shown.strip(), validate=True).partition(b":")[2]
            except (binascii.Error, ValueError):
                shown = b""
        elif scheme.lower() != b"bearer":
            return False
        return hmac.compare_digest(hashlib.sha256(shown.strip()).digest(), digest)


def list_header(scope: Scope, name: bytes) -> list[bytes]:
    """Return the values of a header."""
    return [value for key, value in scope["headers"] if key == name]


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host."""
    if host.lower().rstrip(".") in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
