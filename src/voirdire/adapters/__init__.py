"""Rewards in training: one file per framework, which is imported only inside its own file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.adapters.guarded import GuardedReward, GuardedScores

__all__ = ["GuardedReward", "GuardedScores"]

_HOMES = {"GuardedReward": "guarded", "GuardedScores": "guarded"}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
