"""Finds the items on which judges and annotators disagree most, with their texts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.label_arrays import is_present

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from voirdire.io import LabelTable
    from voirdire.studies.label_matrix import LabelMatrix

__all__ = ["DisputedItem", "add_texts", "find_disputed"]

_MOST_OF_A_JUDGE, _MOST_DISPUTED = 50, 200
_MOST_CHARACTERS, _MOST_COLUMNS = 2_000, 20


@dataclass(frozen=True, kw_only=True)
class DisputedItem:
    """An item on which a judge and the annotators disagree.

    Attributes
    ----------
    item : str
        Its id.
    telling : float
        How much further the judge is from the annotators than they are from each other, from 0 to
        1: its mean distance to them less their own, of the judge for which that is most. A distance
        is 0 or 1 for labels and sets, and a share of the range of all labels for numbers.
    judges : tuple of str
        Judges that are further from the annotators than they are from each other.
    labels, answers : dict of str to str
        Labels of annotators and of judges, by name; raters without one are left out.
    texts : dict of str to str
        Metadata of the item, such as `prompt` and `response`: at most 2,000 characters each, of at
        most 20 columns. Without metadata prompt and response of the tables of labels.
    reasons : dict of str to str
        Reasons of judges, by name, where the tables of their labels have them.
    """

    item: str
    telling: float
    judges: tuple[str, ...]
    labels: dict[str, str]
    answers: dict[str, str]
    texts: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


def find_disputed(matrix: LabelMatrix, metadata: pl.DataFrame | None) -> tuple[DisputedItem, ...]:
    """Find items on which judges and annotators disagree most: 50 of each judge, 200 in all."""
    further = _distance_to_judges(matrix) - _distance_among_annotators(matrix)[:, None]
    further = np.where(np.isnan(further), -1, further)
    chosen = {
        place
        for column in further.T
        for place in np.argsort(-column, kind="stable")[:_MOST_OF_A_JUDGE].tolist()
        if column[place] > 0
    }
    ranked = sorted(chosen, key=lambda place: (-further[place].max(), place))[:_MOST_DISPUTED]
    texts = _texts_of([matrix.items[place] for place in ranked], metadata)
    return tuple(
        DisputedItem(
            item=matrix.items[place],
            telling=float(further[place].max()),
            judges=tuple(
                name for name, x in zip(matrix.judges, further[place], strict=True) if x > 0
            ),
            labels=_labels_of(matrix, matrix.annotators, matrix.humans[place]),
            answers=_labels_of(matrix, matrix.judges, matrix.answers[place]),
            texts=texts.get(matrix.items[place], {}),
        )
        for place in ranked
    )


def add_texts(
    disputed: Sequence[DisputedItem], judges: LabelTable, humans: LabelTable
) -> tuple[DisputedItem, ...]:
    """Add judges' reasons, prompts and responses from the tables of labels."""
    wanted = {row.item for row in disputed}
    reasons: dict[str, dict[str, str]] = {}
    texts: dict[str, dict[str, str]] = {}
    for table in (humans, judges):
        columns = {name: getattr(table, name) for name in ("reason", "prompt", "response")}
        given = {name: column for name, column in columns.items() if column is not None}
        if not given:
            continue
        codes = [code for code, item in enumerate(table.item.values) if item in wanted]
        for row in np.flatnonzero(np.isin(table.item.codes, codes)).tolist():
            item = table.item.value(row)
            for name, column in given.items():
                if (said := column.value(row)) is None:
                    continue
                if name == "reason":
                    reasons.setdefault(item, {})[table.rater.value(row)] = said
                else:
                    texts.setdefault(item, {}).setdefault(name, said)
    return tuple(
        replace(row, reasons=reasons.get(row.item, {}), texts=texts.get(row.item, {}) | row.texts)
        for row in disputed
    )


def _distance(matrix: LabelMatrix, one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.float64]:
    """Return the distance of two columns of labels, nan where one of them is missing."""
    both = is_present(one) & is_present(other)
    if not matrix.is_numeric:
        return np.where(both, (one != other).astype(np.float64), np.nan)
    labels = np.concatenate([matrix.humans.ravel(), matrix.answers.ravel()])
    span = np.nanmax(labels) - np.nanmin(labels) if is_present(labels).any() else 0.0
    return np.where(both, np.abs(one - other) / (span or 1.0), np.nan)


def _mean_present(columns: list[NDArray[np.float64]], n_items: int) -> NDArray[np.float64]:
    total, count = np.zeros(n_items), np.zeros(n_items)
    for column in columns:
        known = ~np.isnan(column)
        total[known] += column[known]
        count += known
    with np.errstate(invalid="ignore"):
        return total / count


def _distance_to_judges(matrix: LabelMatrix) -> NDArray[np.float64]:
    n_items = len(matrix.items)
    means = [
        _mean_present([_distance(matrix, answers, human) for human in matrix.humans.T], n_items)
        for answers in matrix.answers.T
    ]
    return np.stack(means, axis=1) if means else np.empty((n_items, 0))


def _distance_among_annotators(matrix: LabelMatrix) -> NDArray[np.float64]:
    """Return the mean distance of two annotators; 0 where only one labelled an item."""
    pairs = [_distance(matrix, one, other) for one, other in combinations(matrix.humans.T, 2)]
    return np.nan_to_num(_mean_present(pairs, len(matrix.items)))


def _labels_of(matrix: LabelMatrix, names: Sequence[str], codes: NDArray[Any]) -> dict[str, str]:
    known = is_present(codes)
    return {
        name: matrix.label_of(code)
        for name, code, is_known in zip(names, codes, known.tolist(), strict=True)
        if is_known
    }


def _texts_of(items: Sequence[str], metadata: Any) -> dict[str, dict[str, str]]:
    if metadata is None:
        return {}
    import polars as pl

    from voirdire.io.metadata import metadata_from_frame

    found = metadata_from_frame(metadata).filter(pl.col("item").is_in(list(items)))
    return {
        row["item"]: {
            name: str(value)[:_MOST_CHARACTERS]
            for name, value in list(row.items())[: _MOST_COLUMNS + 1]
            if name != "item" and value is not None
        }
        for row in found.iter_rows(named=True)
    }
