"""How far a fit is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["FitProgress"]


@dataclass(frozen=True, kw_only=True)
class FitProgress:
    """How far a fit is.

    Attributes
    ----------
    doing : {"judging", "fitting"}
        What is being done.
    n_done, n_total : int
        Completions that are judged, or problems that are solved: the fits themselves, those of
        cross-validation and those of resamples.
    """

    doing: Literal["judging", "fitting"]
    n_done: int
    n_total: int
