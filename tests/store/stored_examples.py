"""Calls to put into stores."""

import hashlib

from voirdire.store import StoredCall


def item(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


def call(
    number: int, *, name: str = "joint", attempt: int = 0, blob: bytes = b"reply"
) -> StoredCall:
    return StoredCall(item(number), name, attempt, blob)
