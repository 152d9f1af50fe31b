"""What each feature adds to each reward."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from voirdire.errors import InputError
from voirdire.rewards.scoring.weighing import contributions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.scoring.scores import Scores

__all__ = ["CENTER", "contribution_columns", "contribution_frame", "explanation"]

CENTER = "(center)"
"""What is called what is taken off a behavior's rule rewards."""

_PREFIX = "contribution:"


def explanation(model: RewardModel, scores: Scores) -> pl.DataFrame:
    """Make one row per item and feature; see `RewardModel.explain`."""
    parts = [_empty(), *_behavior_parts(model, scores)]
    frame = pl.concat(parts).sort("place", "feature_place")
    return frame.drop("place", "feature_place")


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
    for behavior, rows in _rows(scores):
        names, _, added = _added(model, scores, behavior)
        for name, values in zip(names, added.T, strict=True):
            found[f"{_PREFIX}{name}"][rows] = values
    return pl.DataFrame([pl.Series(name, values).fill_nan(None) for name, values in found.items()])


def _behavior_parts(model: RewardModel, scores: Scores) -> Iterator[pl.DataFrame]:
    ids = pl.Series(scores.items, dtype=pl.String)
    for behavior, rows in _rows(scores):
        names, weights, added = _added(model, scores, behavior)
        values = scores.features[behavior]
        if len(names) > values.shape[1]:
            values = np.concatenate([values, np.ones((len(rows), 1))], axis=1)
        width = len(names)
        yield pl.DataFrame(
            {
                "item": ids.gather(np.repeat(rows, width)),
                "behavior": pl.repeat(behavior, rows.size * width, dtype=pl.String, eager=True),
                "feature": list(names) * rows.size,
                "value": values.ravel(),
                "weight": np.tile(weights, rows.size),
                "contribution": added.ravel(),
                "place": np.repeat(rows, width),
                "feature_place": np.tile(np.arange(width), rows.size),
            },
            schema=_empty().schema,
        ).with_columns(pl.col("value", "contribution").fill_nan(None))


def _added(
    model: RewardModel, scores: Scores, behavior: str
) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.float64]]:
    """Names, weights and contributions; the center is a feature of value 1."""
    values = scores.features[behavior]
    names, weights = model.feature_set(behavior).names, model.weight_vector(behavior)
    if values.shape[1] != weights.size:
        msg = (
            f"`scores` must be by this reward, got {values.shape[1]} features of {behavior!r} "
            f"instead of {weights.size}. Score the items with it."
        )
        raise InputError(msg)
    added = contributions(values, weights)
    if behavior not in scores.centers:
        return names, weights, added
    center = -scores.centers[behavior]
    last = np.full((values.shape[0], 1), center)
    return (*names, CENTER), np.append(weights, center), np.concatenate([added, last], axis=1)


def _rows(scores: Scores) -> Iterator[tuple[str, NDArray[np.int64]]]:
    for behavior in scores.features:
        yield behavior, np.flatnonzero([name == behavior for name in scores.behaviors])


def _empty() -> pl.DataFrame:
    return pl.DataFrame(
        schema={
            "item": pl.String,
            "behavior": pl.String,
            "feature": pl.String,
            "value": pl.Float64,
            "weight": pl.Float64,
            "contribution": pl.Float64,
            "place": pl.Int64,
            "feature_place": pl.Int64,
        }
    )
