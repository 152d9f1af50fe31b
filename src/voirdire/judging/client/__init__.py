"""Calls a model within its limits, stores each reply before it is used, and retries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.client.call import Call, CallFailure, Outcome, decode_attempt
    from voirdire.judging.client.client import (
        ClaimedElsewhereError,
        Client,
        ClientState,
        ReplyLog,
        StepDown,
    )
    from voirdire.judging.client.limits import Limits

__all__ = [
    "Call",
    "CallFailure",
    "ClaimedElsewhereError",
    "Client",
    "ClientState",
    "Limits",
    "Outcome",
    "ReplyLog",
    "StepDown",
    "decode_attempt",
]

_HOMES = {
    "Call": "call",
    "CallFailure": "call",
    "ClaimedElsewhereError": "client",
    "Client": "client",
    "ClientState": "client",
    "ReplyLog": "client",
    "Limits": "limits",
    "Outcome": "call",
    "StepDown": "client",
    "decode_attempt": "call",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
