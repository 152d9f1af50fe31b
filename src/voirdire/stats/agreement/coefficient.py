"""Defines one agreement coefficient with its interval and its counts."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import DegenerateDataWarning
from voirdire.stats.agreement.labels import Weights  # noqa: TC001  # what reads the JSON looks at the types
from voirdire.stats.intervals import count_units, make_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AgreementResult", "make_result", "undefined", "warn_if_undefined"]


@dataclass(frozen=True, kw_only=True)
class AgreementResult:
    """An agreement coefficient with its interval and its counts.

    Attributes
    ----------
    coefficient : str
        ``"raw_agreement"``, ``"cohen_kappa"``, ``"fleiss_kappa"``, ``"krippendorff_alpha"``,
        ``"gwet_ac"``, ``"majority_agreement"`` or ``"majority_kappa"``.
    weights : {"linear", "quadratic", "jaccard"} or None
        Partial agreement of unequal labels; None where only equal labels agree.
    estimate : float
        At most 1; for all but the two agreements, which lie in [0, 1], 0 is chance. nan where it
        is undefined (see `reason`).
    low, high : float
        Ends of the interval; nan where undefined.
    confidence_level : float
        Nominal coverage, in (0, 1).
    n_items : int
        Items with at least two of the labels that are compared.
    n_raters : int
        Raters who labelled such an item; beside a judge, the annotators it is compared with.
    n_clusters : int
        Independent units behind the interval: clusters, or items where none are declared.
    reason : str or None
        Why a figure is nan, or how many pairs of raters are left out of a mean.
    """

    coefficient: str
    weights: Weights | None
    estimate: float
    low: float
    high: float
    confidence_level: float
    n_items: int
    n_raters: int
    n_clusters: int
    reason: str | None = None


def warn_if_undefined(name: str, estimate: float, reason: str | None) -> None:
    """Warn, with the line of the caller's caller, that a figure is nan."""
    if reason is not None:
        what = name if math.isnan(estimate) else f"the interval of {name}"
        warnings.warn(f"{what} is undefined: {reason}.", DegenerateDataWarning, stacklevel=3)


def make_result(
    coefficient: str,
    estimate: float,
    influence: NDArray[np.float64],
    *,
    compared: NDArray[np.bool_],
    units: NDArray[np.intp] | None,
    confidence_level: float,
    reach: NDArray[np.float64] | None = None,
    least: float = -1.0,
    **fields: Any,
) -> AgreementResult:
    """Make a coefficient with its interval; see `make_interval`, and AgreementResult.

    `compared` marks the items with labels to compare; others may count towards chance agreement.
    """
    n_units = count_units(units, compared)
    low, high = make_interval(
        estimate,
        influence,
        reach=reach,
        n_units=n_units,
        units=units,
        confidence_level=confidence_level,
        least=least,
    )
    if fields["reason"] is None and n_units < 2:
        fields["reason"] = "an interval needs at least two items, or two clusters"
    return AgreementResult(
        coefficient=coefficient,
        estimate=float(estimate),
        low=low,
        high=high,
        confidence_level=confidence_level,
        n_clusters=n_units,
        **{"n_items": int(np.count_nonzero(compared))} | fields,
    )


def undefined(
    coefficient: str, weights: Weights | None, confidence_level: float, reason: str
) -> AgreementResult:
    """Return an undefined coefficient."""
    return AgreementResult(
        coefficient=coefficient,
        weights=weights,
        estimate=math.nan,
        low=math.nan,
        high=math.nan,
        confidence_level=confidence_level,
        n_items=0,
        n_raters=0,
        n_clusters=0,
        reason=reason,
    )
