"""Defines the frozen records that travel between the layers.

They are loaded when they are first used, since verdicts need numpy and polars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire._types import VerdictLayout
    from voirdire.records.certificates import CERTIFICATE_SCHEMA, Certificate
    from voirdire.records.items import Dropped, Failure, Item, Message
    from voirdire.records.plain import as_plain
    from voirdire.records.replies import Reply, TokenChoice, TokenStep, Usage
    from voirdire.records.verdicts import BehaviorClasses, CallDetails, Verdicts

__all__ = [
    "CERTIFICATE_SCHEMA",
    "BehaviorClasses",
    "CallDetails",
    "Certificate",
    "Dropped",
    "Failure",
    "Item",
    "Message",
    "Reply",
    "TokenChoice",
    "TokenStep",
    "Usage",
    "VerdictLayout",
    "Verdicts",
    "as_plain",
]

_HOMES = {
    "BehaviorClasses": "verdicts",
    "CERTIFICATE_SCHEMA": "certificates",
    "CallDetails": "verdicts",
    "Certificate": "certificates",
    "Dropped": "items",
    "Failure": "items",
    "Item": "items",
    "Message": "items",
    "Reply": "replies",
    "TokenChoice": "replies",
    "TokenStep": "replies",
    "Usage": "replies",
    "VerdictLayout": "voirdire._types",
    "Verdicts": "verdicts",
    "as_plain": "plain",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
