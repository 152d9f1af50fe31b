"""Compares a judge's earlier and present answers on the same frozen items."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from voirdire._validation import check_fraction
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.intervals import (
    Estimate,
    check_units,
    count_units,
    estimate_mean,
    estimate_share,
    take_units,
)
from voirdire.stats.label_arrays import check_codes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["DriftVerdict", "JudgeDrift", "judge_drift"]

DriftVerdict: TypeAlias = Literal["same", "drifted", "undecided"]
"""Result: at most the tolerated change, more, or undecided."""


@dataclass(frozen=True, kw_only=True)
class JudgeDrift:
    """How a judge's answers to the same items changed.

    Attributes
    ----------
    verdict : {"same", "drifted", "undecided"}
        ``"same"`` where the interval of `changed` ends below the tolerance, ``"drifted"`` where it
        begins above it.
    changed : Estimate
        Share of the items with another label, or with none now; in [0, 1].
    shift : Estimate or None
        For booleans: how much more often the judge says yes now, in [-1, 1]; over items with both
        labels.
    probability_shift : Estimate or None
        The same for its probabilities; None without them.
    n_items : int
        Items that it answered then.
    n_changed, n_lost : int
        How many of them have another label, or none, now.
    tolerance : float
        The share of changed answers that is tolerated, fixed beforehand.
    confidence_level : float
        Nominal coverage of the intervals, in (0, 1).
    reason : str or None
        Why figures are nan.
    """

    verdict: DriftVerdict
    changed: Estimate
    shift: Estimate | None
    probability_shift: Estimate | None
    n_items: int
    n_changed: int
    n_lost: int
    tolerance: float
    confidence_level: float
    reason: str | None = None


def judge_drift(
    then: ArrayLike,
    now: ArrayLike,
    *,
    is_boolean: bool = False,
    probabilities: tuple[ArrayLike, ArrayLike] | None = None,
    clusters: ArrayLike | None = None,
    tolerance: float = 0.05,
    confidence_level: float = 0.95,
) -> JudgeDrift:
    """Compare a judge's answers to the same items at two times.

    A provider may change the model behind a name; the items are kept, judged again, and compared.

    Parameters
    ----------
    then, now : array_like of int, shape (n_items,)
        Codes of its labels, -1 where it gave none; for booleans 1 is yes.
    is_boolean : bool, optional
        Whether labels are 0 and 1, so that they can shift.
    probabilities : pair of array_like of float, each of shape (n_items,), optional
        What the judge stated then and now, nan where nothing.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to.
    tolerance : float, optional
        The share of changed answers that is tolerated, in (0, 1). A judge that answers at random
        at the margin changes some answers by itself: repeat it once to know how many.
    confidence_level : float, optional
        Nominal coverage, a fraction in (0, 1).

    Returns
    -------
    JudgeDrift

    Raises
    ------
    InputError
        If shapes or types are wrong, or a fraction is out of its range.

    Warns
    -----
    DegenerateDataWarning
        If fewer than two items, or clusters, were answered then.

    Notes
    -----
    The interval of the share is on the logit scale and by Clopper and
    Pearson where nothing changed: 72 items without a change show less than .05. Those of the
    shifts are of a mean, with Hall's correction for skewness.

    Examples
    --------
    >>> then = np.arange(200) % 2
    >>> now = np.where(np.arange(200) % 10 == 0, 1, then)  # 20 answers of "no" are now "yes"
    >>> found = judge_drift(then, now, is_boolean=True)
    >>> found.verdict, found.n_changed, found.shift.estimate
    ('drifted', 20, 0.1)
    """
    check_fraction("tolerance", tolerance)
    check_fraction("confidence_level", confidence_level)
    before, after = np.asarray(then), np.asarray(now)
    if before.ndim != 1 or before.shape != after.shape:
        msg = f"`then`, `now` must have one shape (n_items,), got {before.shape} and {after.shape}."
        raise InputError(msg)
    for name, labels in (("then", before), ("now", after)):
        if check_codes(name, labels).max(initial=0) > 1 and is_boolean:
            msg = f"`{name}` must hold 0, 1 or -1 for booleans, got {labels.max()}."
            raise InputError(msg)
    units = check_units(clusters, len(before))
    answered = before >= 0
    changed = answered & (before != after)
    share = estimate_share(
        changed[answered], take_units(units, answered), confidence_level=confidence_level
    )
    reason = None
    if count_units(units, answered) < 2:
        reason = "an interval needs at least two items, or two clusters"
        what = "the interval of drift" if answered.any() else "drift"
        warnings.warn(f"{what} is undefined: {reason}.", DegenerateDataWarning, stacklevel=2)
    verdict: DriftVerdict = "undecided"
    if share.high <= tolerance:
        verdict = "same"
    elif share.low > tolerance:
        verdict = "drifted"

    def measure_shift(first: ArrayLike, second: ArrayLike) -> Estimate:
        difference = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
        known = ~np.isnan(difference)
        kept = take_units(units, known)
        return estimate_mean(difference[known], kept, confidence_level=confidence_level)

    both = answered & (after >= 0)
    shift = None
    if is_boolean:
        shift = measure_shift(np.where(both, before, np.nan), np.where(both, after, np.nan))
    return JudgeDrift(
        verdict=verdict,
        changed=share,
        shift=shift,
        probability_shift=None if probabilities is None else measure_shift(*probabilities),
        n_items=int(np.count_nonzero(answered)),
        n_changed=int(np.count_nonzero(changed)),
        n_lost=int(np.count_nonzero(answered & (after < 0))),
        tolerance=tolerance,
        confidence_level=confidence_level,
        reason=reason,
    )
