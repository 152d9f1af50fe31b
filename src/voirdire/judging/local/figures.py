"""Measures a judge on held-out items, beside a judge with constant answers."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import DegenerateDataWarning
from voirdire.judging.local.training import FEW
from voirdire.judging.local.weights import to_probabilities
from voirdire.stats import measure_classification

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["QuestionFigures", "measure_question"]

_LEAST_AREA = 0.7
_LEAST_MCC = 0.3


@dataclass(frozen=True, kw_only=True)
class QuestionFigures:
    """Figures of one question on one set of items, each answered by a fit without its group.

    Attributes
    ----------
    question : str
        Which question.
    data : str
        Which set of items.
    n_items, n_positives : int
        Items with a label, and those where it is true.
    sensitivity, specificity : float
        Shares of the true and of the false items that were recognised at the threshold; nan without
        any.
    mcc : float
        Matthews correlation in [-1, 1]; nan where all labels are the same, 0 where all answers are.
    auc, auc_low, auc_high : float
        Area under the ROC curve with its 95% interval; nan where all labels are the same.
    brier, accuracy : float
        Mean squared error of the calibrated probabilities; share of right answers.
    baseline_brier, baseline_accuracy : float
        The same of a judge that always gives the share of true labels, and the more frequent label.
    trusted : bool
        Whether this is evidence that the judge is useful.
    reason : str
        Why not; empty where it is trusted.
    threshold : float
        The probability from which on the judge says yes, chosen on all items; the figures are of
        thresholds that were chosen without the group of the item.
    """

    question: str
    data: str
    n_items: int
    n_positives: int
    sensitivity: float
    specificity: float
    mcc: float
    auc: float
    auc_low: float
    auc_high: float
    brier: float
    accuracy: float
    baseline_brier: float
    baseline_accuracy: float
    trusted: bool
    reason: str
    threshold: float = 0.5

    @property
    def enough(self) -> bool:
        """Whether there are enough items of both answers for a conclusion."""
        return FEW <= self.n_positives <= self.n_items - FEW

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; nan as None."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> QuestionFigures:
        """Read what `to_dict` gave."""
        known: dict[str, Any] = {
            name: math.nan if value is None else value for name, value in values.items()
        }
        return cls(**known)


def measure_question(
    probabilities: NDArray[np.float64],
    truths: NDArray[np.bool_],
    *,
    said: NDArray[np.bool_],
    scores: NDArray[np.float64],
    question: str,
    data: str,
    threshold: float,
) -> QuestionFigures:
    """Compare calibrated probabilities, and answers, with labels.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n_items,)
        In [0, 1], of items that were held out.
    truths : ndarray of bool, shape (n_items,)
        Their labels.
    said : ndarray of bool, shape (n_items,)
        Whether each probability reached the threshold.
    scores : ndarray of float64, shape (n_items,)
        Scores before calibration, for the area under the ROC curve, which calibrators that differ
        between folds would distort.
    question, data : str
        The question and the set of items.
    threshold : float
        The judge's threshold.

    Returns
    -------
    QuestionFigures
        With nan where a figure is undefined.
    """
    n, n_true = len(truths), int(truths.sum())
    share = n_true / n
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        found = measure_classification(
            said.astype(np.int64),
            truths.astype(np.int64),
            probabilities=to_probabilities(scores),
        ).figures
    area, mcc = found["auc"], found["mcc"].estimate
    if math.isnan(mcc) and 0 < n_true < n:
        mcc = 0.0  # the judge's answers are constant
    reason = _reason(n_true, n - n_true, low=area.low, mcc=mcc)
    return QuestionFigures(
        question=question,
        data=data,
        n_items=n,
        n_positives=n_true,
        sensitivity=found["sensitivity"].estimate,
        specificity=found["specificity"].estimate,
        mcc=mcc,
        auc=area.estimate,
        auc_low=area.low,
        auc_high=area.high,
        brier=float(np.mean((probabilities - truths) ** 2)),
        accuracy=float((said == truths).mean()),
        baseline_brier=share * (1 - share),
        baseline_accuracy=max(share, 1 - share),
        trusted=not reason,
        reason=reason,
        threshold=threshold,
    )


def _reason(n_true: int, n_false: int, *, low: float, mcc: float) -> str:
    if n_true < FEW:
        return f"only {n_true} positives"
    if n_false < FEW:
        return f"only {n_false} negatives"
    if not low >= _LEAST_AREA:
        return f"the AUC may be as low as {low:.2f}"
    if not mcc >= _LEAST_MCC:
        return f"the Matthews correlation is {mcc:.2f}"
    return ""
