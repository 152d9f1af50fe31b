"""From verdicts to rewards: features, comparisons, the fit, the reward model and its scores.

Nothing heavy is imported here: numpy arrives with the first name that is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.rewards.certification import (
        CertificateStatus,
        certified,
        check_certified,
        read_certificate,
    )
    from voirdire.rewards.comparisons.data import ComparisonData, labelled_by_class
    from voirdire.rewards.comparisons.order import LabelOrder, default_order
    from voirdire.rewards.comparisons.pairs import PairSet, pairs_of
    from voirdire.rewards.comparisons.reading import comparisons_of, read_comparisons
    from voirdire.rewards.features import FeatureSet, feature_set, feature_values
    from voirdire.rewards.file_scoring import (
        BehaviorScores,
        ScoringProgress,
        ScoringSummary,
        score_file,
    )
    from voirdire.rewards.fitting.behavior_fitting import BehaviorFit, FittedWeight
    from voirdire.rewards.fitting.fit import RewardFit, fit_reward
    from voirdire.rewards.fitting.judged_comparisons import FitProgress
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.rewards.fitting.weight_problem import Estimate
    from voirdire.rewards.given_weights import reward_of_weights
    from voirdire.rewards.live.live_reward import LiveReward
    from voirdire.rewards.live.missing_numbers import MissingRewards
    from voirdire.rewards.live.turns import LiveScores, Turn
    from voirdire.rewards.model import REWARD_SCHEMA, BehaviorReward, RewardModel
    from voirdire.rewards.reward_judge import RewardJudge
    from voirdire.rewards.scores import Scores
    from voirdire.rewards.settings import (
        ComparisonLayout,
        ComparisonSettings,
        ScoringSettings,
        SynthesisSettings,
    )
    from voirdire.rewards.synthesis.recipes import (
        RECIPES_SCHEMA,
        Instruction,
        Recipes,
        Sampled,
        Slot,
        built_in_recipes,
        default_recipes,
        load_recipes,
        recipes_from_text,
    )
    from voirdire.rewards.synthesis.result import (
        RejectedSlot,
        SlotCount,
        SynthesisProgress,
        SynthesisResult,
        SynthesisSummary,
        SynthesizedRow,
        WriterCalls,
    )
    from voirdire.rewards.synthesis.synthesize import (
        synthesize,
        synthesize_file,
    )
    from voirdire.rewards.training.nonsense import find_nonsense
    from voirdire.rewards.training.replay import Replay, replay
    from voirdire.rewards.training.run import Alarm, TrainingRun, TrainingStep
    from voirdire.rewards.training.run_reading import read_training_run
    from voirdire.rewards.training.sample import TrainingSample, sample_training_run, write_sample
    from voirdire.rewards.training.watch import TrainingWatch

__all__ = [
    "RECIPES_SCHEMA",
    "REWARD_SCHEMA",
    "Alarm",
    "BehaviorFit",
    "BehaviorReward",
    "BehaviorScores",
    "CertificateStatus",
    "ComparisonData",
    "ComparisonLayout",
    "ComparisonSettings",
    "Estimate",
    "FeatureSet",
    "FitProgress",
    "FitSettings",
    "FittedWeight",
    "Instruction",
    "LabelOrder",
    "LiveReward",
    "LiveScores",
    "MissingRewards",
    "PairSet",
    "Recipes",
    "RejectedSlot",
    "Replay",
    "RewardFit",
    "RewardJudge",
    "RewardModel",
    "Sampled",
    "Scores",
    "ScoringProgress",
    "ScoringSettings",
    "ScoringSummary",
    "Slot",
    "SlotCount",
    "SynthesisProgress",
    "SynthesisResult",
    "SynthesisSettings",
    "SynthesisSummary",
    "SynthesizedRow",
    "TrainingRun",
    "TrainingSample",
    "TrainingStep",
    "TrainingWatch",
    "Turn",
    "WriterCalls",
    "built_in_recipes",
    "certified",
    "check_certified",
    "comparisons_of",
    "default_order",
    "default_recipes",
    "feature_set",
    "feature_values",
    "find_nonsense",
    "fit_reward",
    "labelled_by_class",
    "load_recipes",
    "load_reward",
    "pairs_of",
    "read_certificate",
    "read_comparisons",
    "read_training_run",
    "recipes_from_text",
    "replay",
    "reward_of_weights",
    "sample_training_run",
    "score_file",
    "synthesize",
    "synthesize_file",
    "write_sample",
]

_HOMES = {
    "RECIPES_SCHEMA": "synthesis.recipes",
    "REWARD_SCHEMA": "model",
    "Alarm": "training.run",
    "BehaviorFit": "fitting.behavior_fitting",
    "BehaviorReward": "model",
    "BehaviorScores": "file_scoring",
    "CertificateStatus": "certification",
    "ComparisonData": "comparisons.data",
    "ComparisonLayout": "settings",
    "ComparisonSettings": "settings",
    "Estimate": "fitting.weight_problem",
    "FeatureSet": "features",
    "FitProgress": "fitting.judged_comparisons",
    "FitSettings": "fitting.settings",
    "FittedWeight": "fitting.behavior_fitting",
    "Instruction": "synthesis.recipes",
    "LabelOrder": "comparisons.order",
    "LiveReward": "live.live_reward",
    "LiveScores": "live.turns",
    "MissingRewards": "live.missing_numbers",
    "PairSet": "comparisons.pairs",
    "Recipes": "synthesis.recipes",
    "RejectedSlot": "synthesis.result",
    "Replay": "training.replay",
    "RewardFit": "fitting.fit",
    "RewardJudge": "reward_judge",
    "RewardModel": "model",
    "Sampled": "synthesis.recipes",
    "Scores": "scores",
    "ScoringProgress": "file_scoring",
    "ScoringSettings": "settings",
    "ScoringSummary": "file_scoring",
    "Slot": "synthesis.recipes",
    "SlotCount": "synthesis.result",
    "SynthesisProgress": "synthesis.result",
    "SynthesisResult": "synthesis.result",
    "SynthesisSettings": "settings",
    "SynthesisSummary": "synthesis.result",
    "SynthesizedRow": "synthesis.result",
    "TrainingRun": "training.run",
    "TrainingSample": "training.sample",
    "TrainingStep": "training.run",
    "TrainingWatch": "training.watch",
    "Turn": "live.turns",
    "WriterCalls": "synthesis.result",
    "built_in_recipes": "synthesis.recipes",
    "certified": "certification",
    "check_certified": "certification",
    "comparisons_of": "comparisons.reading",
    "default_order": "comparisons.order",
    "default_recipes": "synthesis.recipes",
    "feature_set": "features",
    "feature_values": "features",
    "find_nonsense": "training.nonsense",
    "fit_reward": "fitting.fit",
    "labelled_by_class": "comparisons.data",
    "load_recipes": "synthesis.recipes",
    "load_reward": "reward_file",
    "pairs_of": "comparisons.pairs",
    "read_certificate": "certification",
    "read_comparisons": "comparisons.reading",
    "read_training_run": "training.run_reading",
    "recipes_from_text": "synthesis.recipes",
    "replay": "training.replay",
    "reward_of_weights": "given_weights",
    "sample_training_run": "training.sample",
    "score_file": "file_scoring",
    "synthesize": "synthesis.synthesize",
    "synthesize_file": "synthesis.synthesize",
    "write_sample": "training.sample",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
