"""One agreement coefficient with its interval, and what it rests on."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from voirdire.errors import DegenerateDataWarning

if TYPE_CHECKING:
    from voirdire.stats.agreement.weights import Weights

__all__ = ["AgreementResult"]


@dataclass(frozen=True, kw_only=True)
class AgreementResult:
    """An agreement coefficient and what it rests on.

    Attributes
    ----------
    coefficient : str
        ``"raw_agreement"``, ``"cohen_kappa"``, ``"fleiss_kappa"``, ``"krippendorff_alpha"``,
        ``"gwet_ac"``, ``"majority_agreement"`` or ``"majority_kappa"``.
    weights : {"linear", "quadratic", "jaccard"} or None
        How unequal labels agree in part; None where they do not agree at all.
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

    def as_dict(self) -> dict[str, Any]:
        """Every figure under the names of the JSON; nan stays nan."""
        return asdict(self)

    def warn_if_undefined(self, name: str) -> None:
        """Warn, on behalf of the function that calls this, that a figure is nan."""
        if self.reason is not None:
            what = name if math.isnan(self.estimate) else f"the interval of {name}"
            msg = f"{what} is undefined: {self.reason}."
            warnings.warn(msg, DegenerateDataWarning, stacklevel=3)
