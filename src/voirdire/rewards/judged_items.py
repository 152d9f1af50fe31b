"""What a judge said of items, wherever it comes from: probabilities of propositions by item id."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from voirdire.records.thresholds import USUAL_THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from voirdire._types import Threshold

__all__ = ["JudgedItems"]


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedItems:
    """Probabilities of propositions for items.

    Attributes
    ----------
    items : tuple of str
        Their ids, unique.
    propositions : tuple of str
        What the columns are.
    probabilities : ndarray of float, shape (n_items, n_propositions)
        That each proposition is true, in [0, 1]; nan where there is no verdict.
    behaviors : tuple of str or None
        The behavior that the verdicts name, such as one that a router chose.
    failures : mapping of str to str
        By item id why a verdict is missing, where one is.
    judge : str
        The judge's name.
    fingerprint : str
        Of its verdicts: judge, rubric, threshold, what is judged and class rule.
    threshold : float, or mapping of str to float
        A proposition is true from this probability on; one for all, or one for each.
    """

    items: tuple[str, ...] = field(repr=False)
    propositions: tuple[str, ...]
    probabilities: NDArray[np.float64] = field(repr=False)
    behaviors: tuple[str | None, ...] = field(repr=False)
    failures: Mapping[str, str] = field(default_factory=dict, repr=False)
    judge: str
    fingerprint: str
    threshold: Threshold = USUAL_THRESHOLD
