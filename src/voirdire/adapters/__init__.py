"""Rewards in training: one file per framework, which is imported only inside its own file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.adapters.checking import check_adapter
    from voirdire.adapters.golden import (
        GoldenJudge,
        GoldenKind,
        GoldenRow,
        golden_judge,
        golden_reward,
        golden_rows,
        golden_settings,
    )
    from voirdire.adapters.guarded import GuardedReward, GuardedScores
    from voirdire.adapters.plain import RewardFunction, reward_function
    from voirdire.adapters.trackers import log_training_run

__all__ = [
    "GoldenJudge",
    "GoldenKind",
    "GoldenRow",
    "GuardedReward",
    "GuardedScores",
    "RewardFunction",
    "check_adapter",
    "golden_judge",
    "golden_reward",
    "golden_rows",
    "golden_settings",
    "log_training_run",
    "reward_function",
]

_HOMES = {
    "GoldenJudge": "golden",
    "GoldenKind": "golden",
    "GoldenRow": "golden",
    "GuardedReward": "guarded",
    "GuardedScores": "guarded",
    "RewardFunction": "plain",
    "check_adapter": "checking",
    "golden_judge": "golden",
    "golden_reward": "golden",
    "golden_rows": "golden",
    "golden_settings": "golden",
    "log_training_run": "trackers",
    "reward_function": "plain",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
