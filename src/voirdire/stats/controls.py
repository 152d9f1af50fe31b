"""Judges that know nothing, or everything: what a pass is worth is seen beside them.

A constant judge can pass on skewed labels; a pass that a constant shares is no evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.stats.label_sets import LabelSets

__all__ = ["Control", "make_controls"]

MAX_CONSTANTS = 10
_SAMPLE = 200_000


@dataclass(frozen=True, kw_only=True)
class Control:
    """One control judge.

    Attributes
    ----------
    control : {"constant", "random", "majority_vote"}
        What it does.
    answers : ndarray, shape (n_items,), or None
        Its labels; None for the majority vote, which is taken block by block.
    constant : object
        The code or number that a constant control always answers.
    """

    control: Literal["constant", "random", "majority_vote"]
    answers: NDArray[Any] | None
    constant: Any = None


def make_controls(
    humans: NDArray[Any], *, seed: int, label_sets: LabelSets | None = None
) -> list[Control]:
    """Make the controls for a label matrix.

    Parameters
    ----------
    humans : ndarray, shape (n_items, n_annotators)
        Codes with -1 for missing, or numbers with nan for missing.
    seed : int
        Of the random control.
    label_sets : LabelSets, optional
        The sets behind the codes: the empty set, and the set of the labels that most labels of
        annotators hold, are tried as constants too, where there is a code for them.

    Returns
    -------
    list of Control
        Constants for the `MAX_CONSTANTS` most frequent labels (and, for numbers, the mean and the
        median), one random control, one majority vote.
    """
    n_items = len(humans)
    rng = np.random.default_rng(seed)
    constants, pool = _frequent(humans, rng)
    if label_sets is not None:
        typical = label_sets.find_typical(pool)
        constants += [code for code in typical if code not in constants]
    controls = [
        Control(control="constant", answers=np.broadcast_to(value, (n_items,)), constant=value)
        for value in constants
    ]
    drawn = pool[rng.integers(0, len(pool), n_items, dtype=np.int32)] if len(pool) else None
    if drawn is not None:
        controls.append(Control(control="random", answers=drawn))
        controls.append(Control(control="majority_vote", answers=None))
    return controls


def _frequent(humans: NDArray[Any], rng: np.random.Generator) -> tuple[list[Any], NDArray[Any]]:
    """Find the labels worth trying as constants, and a sample of all labels (with repeats)."""
    if humans.size > _SAMPLE:
        rows, columns = (rng.integers(0, size, _SAMPLE) for size in humans.shape)
        pool = humans[rows, columns]
    else:
        pool = humans.ravel()
    numbers = np.issubdtype(humans.dtype, np.floating)
    pool = pool[~np.isnan(pool)] if numbers else pool[pool >= 0]
    values, counts = np.unique(pool, return_counts=True)
    order = np.lexsort((values, -counts))[:MAX_CONSTANTS]
    constants = list(values[order])
    if numbers and len(pool):
        constants += [v for v in (pool.mean(), np.median(pool)) if v not in constants]
    return constants, pool
