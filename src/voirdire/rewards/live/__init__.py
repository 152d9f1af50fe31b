"""A reward that is asked while a model trains: in time, never infinite, missing where it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.engine import LiveState
    from voirdire.judging.settings import LiveSettings
    from voirdire.rewards.live.live_reward import LiveReward
    from voirdire.rewards.live.missing_numbers import MissingRewards
    from voirdire.rewards.live.turns import LiveScores, Turn

__all__ = [
    "LiveReward",
    "LiveScores",
    "LiveSettings",
    "LiveState",
    "MissingRewards",
    "Turn",
]

_HOMES = {
    "LiveReward": "rewards.live.live_reward",
    "LiveScores": "rewards.live.turns",
    "LiveSettings": "judging.settings",
    "LiveState": "judging.engine",
    "MissingRewards": "rewards.live.missing_numbers",
    "Turn": "rewards.live.turns",
}


__getattr__, __dir__ = _lazy.lazy_names("voirdire", _HOMES)
