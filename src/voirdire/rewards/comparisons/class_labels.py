"""Labels from verdicts: the completion class that each item is of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire.records.thresholds import threshold_of_each
from voirdire.rewards.comparisons.data_hash import hash_of_comparisons
from voirdire.rubrics import hard_classes

if TYPE_CHECKING:
    from voirdire.records import Verdicts
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rubrics import Rubric

__all__ = ["labelled_by_class"]


def labelled_by_class(data: ComparisonData, judged: Verdicts, *, rubric: Rubric) -> ComparisonData:
    """Label completions by the class that holds under the threshold of the verdicts.

    Parameters
    ----------
    data : ComparisonData
        Completions; labels that they have are replaced.
    judged : Verdicts
        Verdicts, in any order.
    rubric : Rubric
        With the behaviors.

    Returns
    -------
    ComparisonData
        With a hash of its own. A label is None where no verdict is there, where one is missing on
        which the class depends, and where the behavior is none of the rubric's.

    Raises
    ------
    InputError
        If no verdict at all is on a proposition that classes depend on.

    Notes
    -----
    A proposition is true from the threshold on. The judge that labels is then also the one whose
    probabilities are weighed: such labels say whether a reward follows the judge's own classes,
    and nothing of whether the judge is right.
    """
    places = {name: row for row, name in enumerate(judged.items)}
    rows = np.array([places.get(item.id, -1) for item in data.items], dtype=np.int64)
    labels: list[str | None] = [None] * len(data.items)
    for behavior in rubric.behaviors:
        own = np.array([name == behavior.id for name in data.behaviors], dtype=bool)
        concerned = np.flatnonzero(own & (rows >= 0))
        if not concerned.size:
            continue
        chosen = judged.probabilities[rows[concerned]]
        # a missing answer stays missing: it is no "false"
        limits = threshold_of_each(judged.threshold, judged.questions)
        answers = np.where(np.isnan(chosen), np.nan, chosen >= limits)
        found = hard_classes(rubric, behavior.id, labels=answers, propositions=judged.questions)
        for place, number in zip(concerned.tolist(), found.tolist(), strict=True):
            labels[place] = None if number < 0 else behavior.classes[number].name
    labelled = replace(data, labels=tuple(labels))
    return replace(labelled, data_hash=hash_of_comparisons(labelled))
