"""Classes of reasons why a reward is missing: words that figures may be counted by."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from voirdire.judging.engine.call_queue import CLOSED, LATE
from voirdire.judging.live.live_judge import TOO_MANY

__all__ = ["NO_PLACE", "REASON_CLASSES", "ReasonClass", "reason_class"]

ReasonClass: TypeAlias = Literal[
    "late",
    "failed_verdict",
    "behavior",
    "base_reward",
    "unreadable",
    "number",
    "no_place",
    "ending",
    "other",
]

REASON_CLASSES: tuple[ReasonClass, ...] = get_args(ReasonClass)

NO_PLACE = "no place in the queue within the deadline"

_FAILED = "failed verdict: "
_BEGINNINGS: tuple[tuple[str, ReasonClass], ...] = (
    (f"{_FAILED}{LATE}", "late"),
    (f"{_FAILED}{TOO_MANY}", "no_place"),
    (f"{_FAILED}{CLOSED}", "ending"),
    (f"{_FAILED}the response or its prompt is neither", "unreadable"),
    (f"{_FAILED}the behavior is no text", "unreadable"),
    (_FAILED, "failed_verdict"),
    ("no verdict", "failed_verdict"),
    ("no behavior", "behavior"),
    ("no weights for behavior", "behavior"),
    ("unknown behavior", "behavior"),
    ("no base reward", "base_reward"),
    ("the base reward is", "base_reward"),
    ("no class probability", "number"),
    ("the reward is too large", "number"),
    (NO_PLACE, "no_place"),
)


def reason_class(reason: str) -> ReasonClass:
    """Name the class of a reason, which itself may hold words of a client or of a judge."""
    for beginning, found in _BEGINNINGS:
        if reason.startswith(beginning):
            return found
    return "other"
