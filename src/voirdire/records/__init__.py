"""The records that travel between the layers: frozen, small, and versioned where they are kept.

Loaded when they are first used: `Item` brings msgspec, the others nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.records.certificates import CERTIFICATE_SCHEMA, Certificate
    from voirdire.records.failures import Dropped, Failure
    from voirdire.records.items import Item, Message

__all__ = ["CERTIFICATE_SCHEMA", "Certificate", "Dropped", "Failure", "Item", "Message"]

_HOMES = {
    "CERTIFICATE_SCHEMA": "certificates",
    "Certificate": "certificates",
    "Dropped": "failures",
    "Failure": "failures",
    "Item": "items",
    "Message": "items",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
