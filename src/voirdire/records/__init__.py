"""The records that travel between the layers: frozen, small, and versioned where they are kept.

Loaded when they are first used: items and replies bring msgspec, the others nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.records.certificates import CERTIFICATE_SCHEMA, Certificate
    from voirdire.records.failures import Dropped, Failure
    from voirdire.records.items import Item, Message
    from voirdire.records.plain import as_plain
    from voirdire.records.replies import Headroom, Reply, TokenChoice, TokenStep, Usage

__all__ = [
    "CERTIFICATE_SCHEMA",
    "Certificate",
    "Dropped",
    "Failure",
    "Headroom",
    "Item",
    "Message",
    "Reply",
    "TokenChoice",
    "TokenStep",
    "Usage",
    "as_plain",
]

_HOMES = {
    "CERTIFICATE_SCHEMA": "certificates",
    "Certificate": "certificates",
    "Dropped": "failures",
    "Failure": "failures",
    "Headroom": "replies",
    "Item": "items",
    "Message": "items",
    "Reply": "replies",
    "TokenChoice": "replies",
    "TokenStep": "replies",
    "Usage": "replies",
    "as_plain": "plain",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
