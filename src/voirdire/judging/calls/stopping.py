"""What ends a run of calls before its last one: a wish, a budget."""

from __future__ import annotations

from voirdire.errors import VoirdireError

__all__ = ["CostLimitReachedError", "StoppedError"]


class StoppedError(VoirdireError):
    """The run was stopped: what was in flight is finished and kept, nothing new is begun."""


class CostLimitReachedError(StoppedError):
    """The run has spent what it may: what was in flight is finished and kept."""
