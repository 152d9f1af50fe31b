"""Turn a judge's probabilities into calibrated ones, and say how well calibrated they are."""

from voirdire.stats.calibration.calibrators import (
    CalibrationMethod,
    Calibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    calibrator_from_dict,
    cross_calibrate,
    fit_calibrator,
    group_folds,
)
from voirdire.stats.calibration.measures import (
    CalibrationBin,
    CalibrationResult,
    measure_calibration,
)

__all__ = [
    "CalibrationBin",
    "CalibrationMethod",
    "CalibrationResult",
    "Calibrator",
    "IsotonicCalibrator",
    "PlattCalibrator",
    "TemperatureCalibrator",
    "calibrator_from_dict",
    "cross_calibrate",
    "fit_calibrator",
    "group_folds",
    "measure_calibration",
]
