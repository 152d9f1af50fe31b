"""Numbers in, frozen results out: no files, models, clocks or global randomness."""

from voirdire.stats.agreement import (
    AgreementResult,
    PanelAgreement,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    measure_panel,
    raw_agreement,
)
from voirdire.stats.alt_test import alt_test
from voirdire.stats.exact_test import exact_p_value
from voirdire.stats.fdr import benjamini_hochberg, benjamini_yekutieli
from voirdire.stats.judge_difference import JudgeDifference, compare_judges
from voirdire.stats.krippendorff import KrippendorffResult, krippendorff_alpha
from voirdire.stats.label_sets import LabelSets
from voirdire.stats.normalization import normalize_scale
from voirdire.stats.outcome_sums import OutcomeSums, sum_outcomes
from voirdire.stats.planning import (
    NoiseModel,
    PowerResult,
    PowerRow,
    SmallestSize,
    fit_noise_model,
    power,
)
from voirdire.stats.report import Names
from voirdire.stats.results import (
    AltTestResult,
    AnnotatorResult,
    Caution,
    ControlResult,
    Uncertainty,
    WorstCase,
)
from voirdire.stats.text_similarity import character_cosine

__all__ = [
    "AgreementResult",
    "AltTestResult",
    "AnnotatorResult",
    "Caution",
    "ControlResult",
    "JudgeDifference",
    "KrippendorffResult",
    "LabelSets",
    "Names",
    "NoiseModel",
    "OutcomeSums",
    "PanelAgreement",
    "PowerResult",
    "PowerRow",
    "SmallestSize",
    "Uncertainty",
    "WorstCase",
    "alt_test",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "character_cosine",
    "cohen_kappa",
    "compare_judges",
    "exact_p_value",
    "fit_noise_model",
    "fleiss_kappa",
    "gwet_ac",
    "krippendorff_alpha",
    "measure_panel",
    "normalize_scale",
    "power",
    "raw_agreement",
    "sum_outcomes",
]
