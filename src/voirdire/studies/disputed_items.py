"""Finds the items on which judges and annotators disagree most, with their texts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.label_arrays import is_present

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    further = np.nan_to_num(_measure_distances(matrix), nan=-1.0)
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
        filled = {name: column for name, column in columns.items() if column is not None}
        if not filled:
            continue
        codes = [code for code, item in enumerate(table.item.values) if item in wanted]
        for row in np.flatnonzero(np.isin(table.item.codes, codes)).tolist():
            item = table.item.value(row)
            for name, column in filled.items():
                if (text := column.value(row)) is None:
                    continue
                if name == "reason":
                    reasons.setdefault(item, {})[table.rater.value(row)] = text
                else:
                    texts.setdefault(item, {}).setdefault(name, text)
    return tuple(
        replace(row, reasons=reasons.get(row.item, {}), texts=texts.get(row.item, {}) | row.texts)
        for row in disputed
    )


def _measure_distances(matrix: LabelMatrix) -> NDArray[np.float64]:
    """Measure how much further each judge is from annotators than they are from each other.

    Where only one annotator labelled an item, that is the judge's distance to it. nan where there
    is nothing to compare a judge with.
    """
    span = None
    if matrix.is_numeric:
        labels = np.concatenate([matrix.humans.ravel(), matrix.answers.ravel()])
        span = np.nanmax(labels) - np.nanmin(labels) if is_present(labels).any() else 0.0
    humans, n_items = matrix.humans.T, len(matrix.items)
    to_judges = [
        _average_distances(((answers, human) for human in humans), span, n_items)
        for answers in matrix.answers.T
    ]
    among = np.nan_to_num(_average_distances(combinations(humans, 2), span, n_items))
    return np.stack(to_judges, axis=1) - among[:, None] if to_judges else np.empty((n_items, 0))


def _average_distances(
    pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]], span: float | None, n_items: int
) -> NDArray[np.float64]:
    """Average the distances of columns of labels per item; nan where no pair has two labels."""
    total, count = np.zeros(n_items), np.zeros(n_items)
    for one, other in pairs:
        both = is_present(one) & is_present(other)
        distances = one != other if span is None else np.abs(one - other) / (span or 1.0)
        total += np.where(both, distances, 0.0)
        count += both
    with np.errstate(invalid="ignore"):
        return total / count


def _labels_of(matrix: LabelMatrix, names: Sequence[str], codes: NDArray[Any]) -> dict[str, str]:
    is_given = is_present(codes)
    return {
        name: matrix.label_of(code)
        for name, code, is_there in zip(names, codes, is_given.tolist(), strict=True)
        if is_there
    }


def _texts_of(items: Sequence[str], metadata: Any) -> dict[str, dict[str, str]]:
    if metadata is None:
        return {}
    import polars as pl

    from voirdire.io.metadata import metadata_from_frame

    rows = metadata_from_frame(metadata).filter(pl.col("item").is_in(list(items)))
    return {
        row["item"]: {
            name: str(value)[:_MOST_CHARACTERS]
            for name, value in list(row.items())[: _MOST_COLUMNS + 1]
            if name != "item" and value is not None
        }
        for row in rows.iter_rows(named=True)
    }
