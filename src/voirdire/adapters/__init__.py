"""Rewards for training frameworks: one file per framework, which alone imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.adapters.guarded import GuardedReward, NumberReward
    from voirdire.adapters.plain import RewardFunction, reward_function

__all__ = [
    "GuardedReward",
    "NumberReward",
    "RewardFunction",
    "reward_function",
]

_HOMES = {
    "GuardedReward": "guarded",
    "NumberReward": "guarded",
    "RewardFunction": "plain",
    "reward_function": "plain",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
