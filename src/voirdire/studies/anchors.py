"""A frozen set of items, judged when a judge was certified and judged again now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.stats import JudgeDrift, judge_drift

if TYPE_CHECKING:
    from voirdire.io import LabelTable

__all__ = ["AnchorResult", "compare_anchors"]


@dataclass(frozen=True, kw_only=True)
class AnchorResult:
    """One judge and question, then and now.

    Attributes
    ----------
    question, judge : str
        Which.
    drift : JudgeDrift
        What changed.
    """

    question: str
    judge: str
    drift: JudgeDrift


def compare_anchors(
    *, then: LabelTable, now: LabelTable, tolerance: float = 0.05, confidence_level: float = 0.95
) -> tuple[AnchorResult, ...]:
    """Compare judges' answers to the same items at two times.

    Parameters
    ----------
    then, now : LabelTable
        Labels of the judges, as `voirdire.io.read_labels` gives them. A judge has one name in both;
        where each has only one judge, it may have two.
    tolerance : float, optional
        The share of changed answers that is tolerated, in (0, 1); fixed beforehand.
    confidence_level : float, optional
        Nominal coverage of intervals, in (0, 1).

    Returns
    -------
    tuple of AnchorResult
        One per question and judge of `then`. An item without a label now counts as changed.

    Raises
    ------
    InputError
        If kinds differ, a judge or a question has no labels now, or a fraction is out of range.

    Warns
    -----
    DegenerateDataWarning
        If fewer than two items, or clusters, were answered then.

    Examples
    --------
    >>> from voirdire.io import read_labels
    >>> before = {"gpt": {item: "yes" for item in range(100)}}
    >>> after = {"gpt": {item: "no" if item < 30 else "yes" for item in range(100)}}
    >>> tables = [read_labels(x, role="judge", kind="boolean") for x in (before, after)]
    >>> [found] = compare_anchors(then=tables[0], now=tables[1])
    >>> found.drift.verdict, found.drift.n_changed, found.drift.shift.estimate
    ('drifted', 30, -0.3)
    """
    if then.kind != now.kind:
        msg = f"`then`, `now` must be of one kind of question, got {then.kind!r} and {now.kind!r}."
        raise InputError(msg)
    results = []
    for judge in then.raters:
        alone = len(then.raters) == len(now.raters) == 1
        later = now.of_raters(now.raters if alone else [judge])
        earlier = then.of_raters([judge])
        for question in earlier.questions:
            first, second = (side.of_questions([question]) for side in (earlier, later))
            if not len(second):
                msg = (
                    f"`now` must hold labels of {shorten(judge)!r} on {shorten(question)!r}, got "
                    "none. Judge the same items again, under the same names."
                )
                raise InputError(msg)
            drift = _drift(first, second, tolerance=tolerance, confidence_level=confidence_level)
            results.append(AnchorResult(question=question, judge=judge, drift=drift))
    return tuple(results)


def _drift(first: LabelTable, second: LabelTable, **settings: Any) -> JudgeDrift:
    """Align two tables of one judge and question on the items of the first."""
    place = {item: row for row, item in enumerate(_values(second, "item"))}
    rows = np.array([place.get(item, -1) for item in _values(first, "item")])
    codes: dict[Any, int] = {False: 0, True: 1} if first.kind == "boolean" else {}
    before, after = (
        np.array(
            [-1 if x is None else codes.setdefault(x, len(codes)) for x in _values(side, "label")]
        )
        for side in (first, second)
    )
    probabilities = None
    if first.stated is not None and second.stated is not None:
        probabilities = first.stated, np.append(second.stated, np.nan)[rows]
    clusters = None
    if first.cluster is not None and (first.cluster.codes >= 0).all():
        clusters = first.cluster.codes
    return judge_drift(
        before,
        np.append(after, -1)[rows],
        is_boolean=first.kind == "boolean",
        probabilities=probabilities,
        clusters=clusters,
        **settings,
    )


def _values(table: LabelTable, column: str) -> list[Any]:
    """List the values of a column, None where there is none."""
    coded = getattr(table, column)
    values = [*coded.values, None]
    return [values[code] for code in coded.codes.tolist()]
