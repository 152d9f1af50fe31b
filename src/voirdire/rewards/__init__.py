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
    from voirdire.rewards.comparisons.class_labels import labelled_by_class
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.comparisons.given import comparisons_of
    from voirdire.rewards.comparisons.order import LabelOrder, default_order
    from voirdire.rewards.comparisons.pair_set import PairSet
    from voirdire.rewards.comparisons.pairs import pairs_of
    from voirdire.rewards.comparisons.reading import read_comparisons
    from voirdire.rewards.features import FeatureSet, feature_set, feature_values
    from voirdire.rewards.fitting.fit import fit_reward
    from voirdire.rewards.fitting.fit_progress import FitProgress
    from voirdire.rewards.fitting.result import BehaviorFit, Estimate, FittedWeight, RewardFit
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.rewards.given_weights import reward_of_weights
    from voirdire.rewards.judged_items import JudgedItems
    from voirdire.rewards.model import REWARD_SCHEMA, BehaviorReward, RewardJudge, RewardModel
    from voirdire.rewards.model_file import load_reward
    from voirdire.rewards.scoring.score_file import score_file
    from voirdire.rewards.scoring.score_summary import (
        BehaviorScores,
        ScoringProgress,
        ScoringSummary,
    )
    from voirdire.rewards.scoring.scores import Scores
    from voirdire.rewards.synthesis.default_recipes import default_recipes
    from voirdire.rewards.synthesis.estimate import SynthesisEstimate, estimate_synthesis
    from voirdire.rewards.synthesis.file_synthesis import synthesize_file
    from voirdire.rewards.synthesis.recipe import (
        RECIPES_SCHEMA,
        Instruction,
        Recipes,
        Sampled,
        Slot,
    )
    from voirdire.rewards.synthesis.recipe_reading import (
        built_in_recipes,
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
    from voirdire.rewards.synthesis.synthesize import synthesize
    from voirdire.rewards.verdict_reading import read_judged_items

__all__ = [
    "RECIPES_SCHEMA",
    "REWARD_SCHEMA",
    "BehaviorFit",
    "BehaviorReward",
    "BehaviorScores",
    "CertificateStatus",
    "ComparisonData",
    "Estimate",
    "FeatureSet",
    "FitProgress",
    "FitSettings",
    "FittedWeight",
    "Instruction",
    "JudgedItems",
    "LabelOrder",
    "PairSet",
    "Recipes",
    "RejectedSlot",
    "RewardFit",
    "RewardJudge",
    "RewardModel",
    "Sampled",
    "Scores",
    "ScoringProgress",
    "ScoringSummary",
    "Slot",
    "SlotCount",
    "SynthesisEstimate",
    "SynthesisProgress",
    "SynthesisResult",
    "SynthesisSummary",
    "SynthesizedRow",
    "WriterCalls",
    "built_in_recipes",
    "certified",
    "check_certified",
    "comparisons_of",
    "default_order",
    "default_recipes",
    "estimate_synthesis",
    "feature_set",
    "feature_values",
    "fit_reward",
    "labelled_by_class",
    "load_recipes",
    "load_reward",
    "pairs_of",
    "read_certificate",
    "read_comparisons",
    "read_judged_items",
    "recipes_from_text",
    "reward_of_weights",
    "score_file",
    "synthesize",
    "synthesize_file",
]

_HOMES = {
    "RECIPES_SCHEMA": "synthesis.recipe",
    "REWARD_SCHEMA": "model",
    "BehaviorFit": "fitting.result",
    "BehaviorReward": "model",
    "BehaviorScores": "scoring.score_summary",
    "CertificateStatus": "certification",
    "ComparisonData": "comparisons.data",
    "Estimate": "fitting.result",
    "FeatureSet": "features",
    "FitProgress": "fitting.fit_progress",
    "FitSettings": "fitting.settings",
    "FittedWeight": "fitting.result",
    "Instruction": "synthesis.recipe",
    "JudgedItems": "judged_items",
    "LabelOrder": "comparisons.order",
    "PairSet": "comparisons.pair_set",
    "Recipes": "synthesis.recipe",
    "RejectedSlot": "synthesis.result",
    "RewardFit": "fitting.result",
    "RewardJudge": "model",
    "RewardModel": "model",
    "Sampled": "synthesis.recipe",
    "Scores": "scoring.scores",
    "ScoringProgress": "scoring.score_summary",
    "ScoringSummary": "scoring.score_summary",
    "Slot": "synthesis.recipe",
    "SlotCount": "synthesis.result",
    "SynthesisEstimate": "synthesis.estimate",
    "SynthesisProgress": "synthesis.result",
    "SynthesisResult": "synthesis.result",
    "SynthesisSummary": "synthesis.result",
    "SynthesizedRow": "synthesis.result",
    "WriterCalls": "synthesis.result",
    "built_in_recipes": "synthesis.recipe_reading",
    "certified": "certification",
    "check_certified": "certification",
    "comparisons_of": "comparisons.given",
    "default_order": "comparisons.order",
    "default_recipes": "synthesis.default_recipes",
    "estimate_synthesis": "synthesis.estimate",
    "feature_set": "features",
    "feature_values": "features",
    "fit_reward": "fitting.fit",
    "labelled_by_class": "comparisons.class_labels",
    "load_recipes": "synthesis.recipe_reading",
    "load_reward": "model_file",
    "pairs_of": "comparisons.pairs",
    "read_certificate": "certification",
    "read_comparisons": "comparisons.reading",
    "read_judged_items": "verdict_reading",
    "recipes_from_text": "synthesis.recipe_reading",
    "reward_of_weights": "given_weights",
    "score_file": "scoring.score_file",
    "synthesize": "synthesis.synthesize",
    "synthesize_file": "synthesis.file_synthesis",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
