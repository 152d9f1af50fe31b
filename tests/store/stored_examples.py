"""Calls to put into stores."""

import hashlib

from voirdire.store import GroupCommit, StoredCall


def item(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


def call(
    number: int, *, name: str = "joint", attempt: int = 0, blob: bytes = b"reply"
) -> StoredCall:
    return StoredCall(item(number), name, attempt, blob)


async def claim(group: GroupCommit, number: int, *, attempt: int = 0) -> bool:
    return await group.claim(item(number), "joint", attempt=attempt)
