"""What a judge in this process says of a batch; what is wrong with one item costs no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.live.answers import LiveAnswer, no_answer
from voirdire.judging.live.bugs import tell_bug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item

__all__ = ["batch_answers"]

_NO_NUMBER = "the judge gave no probability"
_OUTSIDE = "the judge gave a probability outside [0, 1]"
_SHAPE = "the judge gave probabilities of another shape than it was asked for"


class _ShapeError(Exception):
    """Nobody knows which number belongs to which item."""


def batch_answers(items: Sequence[Item], plan: JudgingPlan) -> list[LiveAnswer]:
    """Ask a judge about items at once, and one by one where it cannot take them at once.

    Parameters
    ----------
    items : sequence of Item
        What is asked about.
    plan : JudgingPlan
        Who is asked what.

    Returns
    -------
    list of LiveAnswer
        In the order of the items; the judge's faults are failures of the items concerned.
    """
    try:
        return _answers(items, plan)
    except Exception as error:  # noqa: BLE001  # the judge's fault: each item says so
        if len(items) > 1:
            return [answer for item in items for answer in batch_answers([item], plan)]
        why = _SHAPE
        if not isinstance(error, _ShapeError):
            tell_bug(error)
            why = f"the judge raised {type(error).__name__}"
        (item,) = items
        return [no_answer(len(plan.rubric.propositions), why, behavior=item.behavior)]


def _answers(items: Sequence[Item], plan: JudgingPlan) -> list[LiveAnswer]:
    given = np.asarray(plan.judge.probabilities(items), dtype=np.float64)
    if given.shape != (len(items), len(plan.judge.questions)):
        raise _ShapeError
    found = given[:, list(plan.columns)]
    missing = np.flatnonzero(np.isnan(found).any(axis=1)).tolist()
    outside = np.flatnonzero(((found < 0) | (found > 1)).any(axis=1)).tolist()
    faults = dict.fromkeys(missing, _NO_NUMBER) | dict.fromkeys(outside, _OUTSIDE)
    return [
        _answer(item, row, fault=faults.get(place))
        for place, (item, row) in enumerate(zip(items, found, strict=True))
    ]


def _answer(item: Item, row: NDArray[np.float64], *, fault: str | None) -> LiveAnswer:
    if fault == _OUTSIDE:
        return no_answer(row.size, fault, behavior=item.behavior)
    # a copy: a view would keep the whole batch in memory
    return LiveAnswer(probabilities=row.copy(), behavior=item.behavior, failure=fault)
