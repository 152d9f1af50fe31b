"""Comparisons as an examination takes them: with behaviors, labels, and the test split only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire.rewards.comparisons.data import select_completions
from voirdire.rewards.comparisons.reading import comparisons_of
from voirdire.rewards.fitting.judged_comparisons import with_behaviors
from voirdire.studies.reward.notes import counted, note

if TYPE_CHECKING:
    from voirdire.records import Item, Verdicts
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.model import RewardModel
    from voirdire.studies.reward.result import RewardNote

__all__ = ["ExaminedData", "examined_data", "items_to_judge", "with_class_labels"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ExaminedData:
    """What is examined.

    Attributes
    ----------
    data : ComparisonData
        Every completion has a behavior of the rubric, or None and a place among `dropped`.
    notes : tuple of RewardNote
        What the reader should know of it.
    """

    data: ComparisonData = field(repr=False)
    notes: tuple[RewardNote, ...] = ()


def examined_data(
    comparisons: Any, reward: RewardModel, *, behavior: str | None = None
) -> ExaminedData:
    """Read comparisons, and keep those that a fit has left alone where the file says which.

    Parameters
    ----------
    comparisons : optional
        What `comparisons_of` takes.
    reward : RewardModel
        With the rubric.
    behavior : str, optional
        Of completions that have none.

    Returns
    -------
    ExaminedData
        Where some completions are of the split ``"test"``, only those.

    Raises
    ------
    InputError
        If the comparisons cannot be read.
    """
    read = comparisons_of(comparisons, behavior=behavior, judged=reward.judge.judged)
    found = with_behaviors(read, reward.rubric)
    is_test = np.array([split == "test" for split in found.splits], dtype=bool)
    if not is_test.any() or is_test.all():
        return ExaminedData(data=found)
    n_left = int((~is_test).sum())
    said = note(
        "train_left_out",
        f"{counted(n_left, 'completion')} of the training split are left out: the figures rest on "
        "the test split.",
        n=n_left,
    )
    return ExaminedData(data=select_completions(found, is_test), notes=(said,))


def items_to_judge(data: ComparisonData) -> list[Item]:
    """Give the completions with the behaviors that they are examined under."""
    return [
        item if item.behavior == behavior else msgspec.structs.replace(item, behavior=behavior)
        for item, behavior in zip(data.items, data.behaviors, strict=True)
    ]


def with_class_labels(
    found: ExaminedData, judged: Verdicts, *, reward: RewardModel
) -> ExaminedData:
    """Label completions by their classes, where nothing else says which are better.

    Parameters
    ----------
    found : ExaminedData
        Where any completion has a label or any pair is declared, it stays as it is.
    judged : Verdicts
        The verdicts that classes are computed from.
    reward : RewardModel
        With the rubric.

    Returns
    -------
    ExaminedData
        With a note where labels are the judge's own.
    """
    data = found.data
    if data.better.size or any(label is not None for label in data.labels):
        return found
    from voirdire.rewards.comparisons.data import labelled_by_class

    said = note(
        "labels_from_classes",
        "The labels are the classes of the judge's own verdicts: the figures say how well the "
        "reward follows its judge, and not whether the judge is right.",
    )
    labelled = labelled_by_class(data, judged, rubric=reward.rubric)
    return ExaminedData(data=labelled, notes=(*found.notes, said))
