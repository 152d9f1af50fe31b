"""What the annotators' labels alone say about the evidence: sides, agreement, skew."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.krippendorff import measure_agreement
from voirdire.stats.outcome import Panel, sides_by_majority

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from voirdire._types import AlignmentName
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.stats.comparison import Raters
    from voirdire.stats.label_distance import Level
    from voirdire.stats.preparation import Universe

__all__ = ["describe_panel"]

_ITEMS_AT_ONCE = 16_384


def describe_panel(
    raters: Raters,
    universe: Universe,
    alignment: AlignmentName | VectorizedScore,
    *,
    min_annotators: int,
    label: Callable[[Any], str] = str,
) -> Panel:
    """Describe the annotators of a run; `label` names a label code."""
    humans = raters.humans
    sides: tuple[int, int] | None = None
    level: Level | None = None
    if universe.label_sets is not None:
        level = "sets"
    elif alignment == "neg_rmse":
        level = "interval"
    elif alignment == "accuracy" or (
        callable(alignment) and not _mostly_distinct(humans, universe.n_codes)
    ):
        level = "nominal"
    if level == "nominal" and universe.label_sets is None:
        sides = _sides(raters, universe, min_annotators=min_annotators)
    agreement = None
    if level is not None:
        agreement = measure_agreement(
            humans, level=level, label_sets=universe.label_sets, clusters=raters.clusters
        )
    top_share, top_code = _most_frequent(humans, universe) if level == "nominal" else (math.nan, 0)
    return Panel(
        sides=sides,
        agreement=agreement,
        has_reference=raters.reference is not None,
        n_clusters=None if raters.clusters is None else len(np.unique(raters.clusters)),
        top_share=top_share,
        top_label=None if math.isnan(top_share) else label(top_code),
    )


def _most_frequent(humans: NDArray[Any], universe: Universe) -> tuple[float, int]:
    """Share and code of the label that annotators give most often; nan without labels."""
    counts = np.zeros(universe.n_codes + 1, dtype=np.int64)
    for column in humans.T:  # code -1 lands in front and is left out
        counts += np.bincount(column.astype(np.int64) + 1, minlength=len(counts))
    n_labels = int(counts[1:].sum())
    if not n_labels:
        return math.nan, 0
    top = int(counts[1:].argmax())
    return float(counts[1 + top] / n_labels), top


def _mostly_distinct(codes: NDArray[Any], n_codes: int) -> bool:
    """Tell free text, on which agreement word by word means nothing, by its many labels."""
    return bool(n_codes > np.count_nonzero(codes >= 0) / 2)


def _sides(raters: Raters, universe: Universe, *, min_annotators: int) -> tuple[int, int] | None:
    """Items on either side of a question with two labels, whatever words a judge uses."""
    labels = raters.humans if raters.reference is None else raters.reference[:, np.newaxis]
    if universe.declared and universe.n_codes != 2:
        return None
    used = _labels_in_use(labels, universe.n_codes)
    if len(used) > 2:
        return None
    fewest = min_annotators if raters.reference is None else 1
    return sides_by_majority(labels, used, min_annotators=fewest)


def _labels_in_use(labels: NDArray[Any], n_codes: int) -> NDArray[np.intp]:
    """Codes that occur, or the first three found: more are not told apart."""
    used = np.zeros(n_codes + 1, dtype=np.bool_)
    for start in range(0, len(labels), _ITEMS_AT_ONCE):
        used[labels[start : start + _ITEMS_AT_ONCE] + 1] = True
        if np.count_nonzero(used[1:]) > 2:
            break
    return np.flatnonzero(used[1:])
