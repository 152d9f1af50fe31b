"""Calls to a model: paced, stored before they are used, tried again where that can help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.calls.attempts import CallFailure, decode_attempt, encode_attempt
    from voirdire.judging.calls.call import Call, Outcome
    from voirdire.judging.calls.caller import Caller
    from voirdire.judging.calls.committing import Commit
    from voirdire.judging.calls.ladder import StepDown
    from voirdire.judging.calls.limits import Limits
    from voirdire.judging.calls.state import CallerState

__all__ = [
    "Call",
    "CallFailure",
    "Caller",
    "CallerState",
    "Commit",
    "Limits",
    "Outcome",
    "StepDown",
    "decode_attempt",
    "encode_attempt",
]

_HOMES = {
    "Call": "call",
    "CallFailure": "attempts",
    "Caller": "caller",
    "CallerState": "state",
    "Commit": "committing",
    "Limits": "limits",
    "Outcome": "call",
    "StepDown": "ladder",
    "decode_attempt": "attempts",
    "encode_attempt": "attempts",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
