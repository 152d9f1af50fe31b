"""Computes frozen results from arrays, without files, models, clocks or global randomness."""

from voirdire.stats.agreement import (
    AgreementResult,
    PanelAgreement,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    measure_panel,
    raw_agreement,
)
from voirdire.stats.agreement.krippendorff import KrippendorffResult, krippendorff_alpha
from voirdire.stats.alignment import character_cosine
from voirdire.stats.alt_test import Names, alt_test
from voirdire.stats.calibration import (
    CalibrationBin,
    CalibrationMethod,
    CalibrationResult,
    Calibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    calibrator_from_dict,
    cross_calibrate,
    fit_calibrator,
    group_folds,
    measure_calibration,
)
from voirdire.stats.calibration_error import BrierDecomposition, decompose_brier
from voirdire.stats.classification import (
    ClassificationResult,
    CrossFittedThreshold,
    cross_threshold,
    measure_classification,
)
from voirdire.stats.diagnosis import (
    OutlierAnnotators,
    PanelCounts,
    SliceResult,
    compare_slices,
    count_panels,
    outlier_annotators,
)
from voirdire.stats.exact_test import exact_p_value
from voirdire.stats.fdr import benjamini_hochberg, benjamini_yekutieli
from voirdire.stats.intervals import Estimate
from voirdire.stats.judge_difference import JudgeDifference, compare_judges
from voirdire.stats.label_arrays import LabelSets, majority_shares
from voirdire.stats.noise_model import NoiseModel, fit_noise_model
from voirdire.stats.outcome_sums import OutcomeSums, sum_outcomes
from voirdire.stats.paired_change import ChangeResult, PairedChange, measure_change
from voirdire.stats.power_analysis import PowerResult, PowerRow, SmallestSize, power
from voirdire.stats.rates import (
    ChainedRate,
    RateDifference,
    RateResult,
    chain_rates,
    compare_rates,
    estimate_rate,
)
from voirdire.stats.results import (
    AltTestResult,
    AnnotatorResult,
    Caution,
    ControlResult,
    Uncertainty,
    WorstCase,
)

__all__ = [
    "AgreementResult",
    "AltTestResult",
    "AnnotatorResult",
    "BrierDecomposition",
    "CalibrationBin",
    "CalibrationMethod",
    "CalibrationResult",
    "Calibrator",
    "Caution",
    "ChainedRate",
    "ChangeResult",
    "ClassificationResult",
    "ControlResult",
    "CrossFittedThreshold",
    "Estimate",
    "JudgeDifference",
    "KrippendorffResult",
    "LabelSets",
    "Names",
    "NoiseModel",
    "OutcomeSums",
    "OutlierAnnotators",
    "PairedChange",
    "PanelAgreement",
    "PanelCounts",
    "PlattCalibrator",
    "PowerResult",
    "PowerRow",
    "RateDifference",
    "RateResult",
    "SliceResult",
    "SmallestSize",
    "TemperatureCalibrator",
    "Uncertainty",
    "WorstCase",
    "alt_test",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "calibrator_from_dict",
    "chain_rates",
    "character_cosine",
    "cohen_kappa",
    "compare_judges",
    "compare_rates",
    "compare_slices",
    "count_panels",
    "cross_calibrate",
    "cross_threshold",
    "decompose_brier",
    "estimate_rate",
    "exact_p_value",
    "fit_calibrator",
    "fit_noise_model",
    "fleiss_kappa",
    "group_folds",
    "gwet_ac",
    "krippendorff_alpha",
    "majority_shares",
    "measure_calibration",
    "measure_change",
    "measure_classification",
    "measure_panel",
    "outlier_annotators",
    "power",
    "raw_agreement",
    "sum_outcomes",
]
