"""What is measured about the agreement of a panel and its judges."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from voirdire.stats.agreement.result import AgreementResult
    from voirdire.stats.agreement.weights import Weights

__all__ = ["AgreementMatrix", "JudgeAgreement", "MatrixRater", "PanelAgreement"]


@dataclass(frozen=True, kw_only=True)
class JudgeAgreement:
    """How far a judge agrees with the annotators.

    Attributes
    ----------
    judge : str
        Its name.
    coefficients : tuple of AgreementResult
        Those of the ceiling, in the same order: the judge in the annotators' place.
    """

    judge: str
    coefficients: tuple[AgreementResult, ...]

    def as_dict(self) -> dict[str, Any]:
        """Every figure under the names of the JSON; nan stays nan."""
        return {
            "judge": self.judge,
            "coefficients": [row.as_dict() for row in self.coefficients],
        }


@dataclass(frozen=True, kw_only=True)
class MatrixRater:
    """One row and column of the matrix.

    Attributes
    ----------
    name : str
        What the rater is called.
    role : {"annotator", "judge"}
        What the rater is.
    """

    name: str
    role: Literal["annotator", "judge"]


@dataclass(frozen=True, kw_only=True)
class AgreementMatrix:
    """Cohen's κ of every two raters.

    Attributes
    ----------
    coefficient : str
        ``"cohen_kappa"``.
    weights : {"quadratic", "jaccard"} or None
        How unequal labels agree in part.
    raters : tuple of MatrixRater
        Rows and columns, annotators first.
    values : ndarray, shape (n_raters, n_raters)
        κ, at most 1; nan where undefined, and on the diagonal.
    n_items : ndarray of int, shape (n_raters, n_raters)
        Common items; on the diagonal, the labels of the rater.
    """

    coefficient: str = "cohen_kappa"
    weights: Weights | None
    raters: tuple[MatrixRater, ...]
    values: NDArray[np.float64] = field(repr=False)
    n_items: NDArray[np.int64] = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Every figure under the names of the JSON; nan stays nan."""
        return {
            "coefficient": self.coefficient,
            "weights": self.weights,
            "raters": [asdict(rater) for rater in self.raters],
            "values": self.values.tolist(),
            "n_items": self.n_items.tolist(),
        }


@dataclass(frozen=True, kw_only=True)
class PanelAgreement:
    """How far annotators agree with each other, and judges with annotators.

    Attributes
    ----------
    confidence_level : float
        Nominal coverage of all intervals, in (0, 1).
    panel : tuple of AgreementResult
        Among all annotators: raw agreement, Cohen's κ (mean over pairs), Fleiss' κ,
        Krippendorff's α, Gwet's coefficient.
    ceiling : tuple of AgreementResult
        Each annotator against the others, averaged: raw agreement, Cohen's κ and Gwet's
        coefficient over pairs; agreement and κ with the majority of the others.
    judges : tuple of JudgeAgreement
        The same for every judge in the place of each annotator.
    matrix : AgreementMatrix or None
        κ of every two raters; None beyond 100 raters, or where it would take too long.
    """

    confidence_level: float
    panel: tuple[AgreementResult, ...]
    ceiling: tuple[AgreementResult, ...]
    judges: tuple[JudgeAgreement, ...]
    matrix: AgreementMatrix | None

    def as_dict(self) -> dict[str, Any]:
        """Every figure under the names of the JSON; nan stays nan."""
        return {
            "confidence_level": self.confidence_level,
            "panel": [row.as_dict() for row in self.panel],
            "ceiling": [row.as_dict() for row in self.ceiling],
            "judges": [row.as_dict() for row in self.judges],
            "matrix": None if self.matrix is None else self.matrix.as_dict(),
        }
