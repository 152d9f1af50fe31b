"""From verdicts to rewards: features, comparisons, the fit, the reward model and its scores.

Nothing heavy is imported here: numpy arrives with the first name that is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.comparisons.pair_set import PairSet
    from voirdire.rewards.features import FeatureSet, feature_set, feature_values
    from voirdire.rewards.fitting.result import BehaviorFit, Estimate, FittedWeight, RewardFit
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.rewards.judged_items import JudgedItems
    from voirdire.rewards.model import (
        REWARD_SCHEMA,
        BehaviorReward,
        RewardJudge,
        RewardModel,
    )
    from voirdire.rewards.scoring.scores import Scores

__all__ = [
    "REWARD_SCHEMA",
    "BehaviorFit",
    "BehaviorReward",
    "ComparisonData",
    "Estimate",
    "FeatureSet",
    "FitSettings",
    "FittedWeight",
    "JudgedItems",
    "PairSet",
    "RewardFit",
    "RewardJudge",
    "RewardModel",
    "Scores",
    "feature_set",
    "feature_values",
]

_HOMES = {
    "REWARD_SCHEMA": "model",
    "BehaviorFit": "fitting.result",
    "BehaviorReward": "model",
    "ComparisonData": "comparisons.data",
    "Estimate": "fitting.result",
    "FeatureSet": "features",
    "FitSettings": "fitting.settings",
    "FittedWeight": "fitting.result",
    "JudgedItems": "judged_items",
    "PairSet": "comparisons.pair_set",
    "RewardFit": "fitting.result",
    "RewardJudge": "model",
    "RewardModel": "model",
    "Scores": "scoring.scores",
    "feature_set": "features",
    "feature_values": "features",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
