"""The token that clients show."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

__all__ = ["TokenCheck"]


class TokenCheck:
    """Compares what clients send with a token, in a time that tells nothing of it.

    Only the token's hash is kept.
    """

    def __init__(self, token: str) -> None:
        self._digest = hashlib.sha256(token.encode()).digest()

    def is_right(self, authorization: bytes | None) -> bool:
        """Tell whether a header holds the token: as a bearer token, or as a password.

        Some clients can send a password only, in an address such as ``http://user:token@host/``.
        """
        if authorization is None:
            return False
        scheme, _, given = authorization.strip().partition(b" ")
        if scheme.lower() == b"basic":
            given = _password(given)
        elif scheme.lower() != b"bearer":
            return False
        return hmac.compare_digest(hashlib.sha256(given.strip()).digest(), self._digest)


def _password(given: bytes) -> bytes:
    try:
        return base64.b64decode(given.strip(), validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""
