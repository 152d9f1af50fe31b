"""What each feature adds to each reward."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from voirdire.errors import InputError
from voirdire.rewards.scoring.combining import contributions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.scoring.scores import Scores

__all__ = ["CENTER", "contribution_columns", "contribution_frame", "explanation"]

CENTER = "(center)"
"""What is called what is taken off a behavior's rule rewards."""

_PREFIX = "contribution:"
_SCHEMA = {
    "item": pl.String,
    "behavior": pl.String,
    "feature": pl.String,
    "value": pl.Float64,
    "weight": pl.Float64,
    "contribution": pl.Float64,
    "place": pl.Int64,
    "feature_place": pl.Int64,
}


def explanation(model: RewardModel, scores: Scores) -> pl.DataFrame:
    """Make one row per item and feature; see `RewardModel.explain`."""
    ids = pl.Series(scores.items, dtype=pl.String)
    parts = [pl.DataFrame(schema=_SCHEMA)]
    for behavior, rows, names, values, weights in _weighed_features(model, scores):
        width = len(names)
        columns = {
            "item": ids.gather(np.repeat(rows, width)),
            "behavior": pl.repeat(behavior, rows.size * width, dtype=pl.String, eager=True),
            "feature": list(names) * rows.size,
            "value": values.ravel(),
            "weight": np.tile(weights, rows.size),
            "contribution": contributions(values, weights).ravel(),
            "place": np.repeat(rows, width),
            "feature_place": np.tile(np.arange(width), rows.size),
        }
        parts.append(pl.DataFrame(columns, schema=_SCHEMA))
    frame = pl.concat(parts).with_columns(pl.col("value", "contribution").fill_nan(None))
    return frame.sort("place", "feature_place").drop("place", "feature_place")


def contribution_columns(model: RewardModel, *, center: bool) -> tuple[str, ...]:
    """Name the columns of contributions, those of all behaviors, each once."""
    names = [name for behavior in model.behaviors for name in model.feature_set(behavior).names]
    if center:
        names.append(CENTER)
    return tuple(f"{_PREFIX}{name}" for name in dict.fromkeys(names))


def contribution_frame(model: RewardModel, scores: Scores) -> pl.DataFrame:
    """Make one row per item: a column per feature, null where it is not one of the item's."""
    columns = contribution_columns(model, center=bool(scores.centers))
    found = {name: np.full(len(scores.items), np.nan) for name in columns}
    for _, rows, names, values, weights in _weighed_features(model, scores):
        for name, added in zip(names, contributions(values, weights).T, strict=True):
            found[f"{_PREFIX}{name}"][rows] = added
    return pl.DataFrame(found).fill_nan(None)


def _weighed_features(
    model: RewardModel, scores: Scores
) -> Iterator[
    tuple[str, NDArray[np.int64], tuple[str, ...], NDArray[np.float64], NDArray[np.float64]]
]:
    """Give, by behavior, its items' rows, and its features: names, values and weights.

    The center is a feature of value 1.
    """
    for behavior, found in scores.features.items():
        values, weights = found, model.weight_vector(behavior)
        names = model.feature_set(behavior).names
        if values.shape[1] != weights.size:
            msg = (
                f"`scores` must be by this reward, got {values.shape[1]} features of {behavior!r} "
                f"instead of {weights.size}. Score the items with it."
            )
            raise InputError(msg)
        if behavior in scores.centers:
            names, weights = (*names, CENTER), np.append(weights, -scores.centers[behavior])
            values = np.column_stack([values, np.ones(len(values))])
        rows = np.flatnonzero([name == behavior for name in scores.behaviors])
        yield behavior, rows, names, values, weights
