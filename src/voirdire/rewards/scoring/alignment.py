"""Verdicts laid beside items, by id."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from voirdire.rewards.scoring.combining import NO_VERDICT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.records import Item
    from voirdire.rewards.judged_items import JudgedItems
    from voirdire.rubrics import Rubric

__all__ = ["aligned", "places_of", "to_be_judged"]


def places_of(judged: JudgedItems) -> dict[str, int]:
    """Tell where each item stands."""
    return {name: place for place, name in enumerate(judged.items)}


def aligned(
    judged: JudgedItems, items: Sequence[str], *, places: Mapping[str, int] | None = None
) -> JudgedItems:
    """Give the verdicts of these items in this order; those without any are missing.

    Parameters
    ----------
    judged : JudgedItems
        Verdicts on any items.
    items : sequence of str
        Ids.
    places : mapping of str to int, optional
        What `places_of` gives, where it is known already.
    """
    wanted = tuple(items)
    if judged.items == wanted:
        return judged
    known = places_of(judged) if places is None else places
    rows = np.array([known.get(name, -1) for name in wanted], dtype=np.int64)
    found = rows >= 0
    probabilities = np.full((len(wanted), len(judged.propositions)), np.nan)
    probabilities[found] = judged.probabilities[rows[found]]
    failures = {name: judged.failures[name] for name in wanted if name in judged.failures}
    failures |= {wanted[place]: NO_VERDICT for place in np.flatnonzero(~found).tolist()}
    return replace(
        judged,
        items=wanted,
        probabilities=probabilities,
        behaviors=tuple(None if row < 0 else judged.behaviors[row] for row in rows.tolist()),
        failures=failures,
    )


def to_be_judged(items: Sequence[Item], rubric: Rubric) -> list[Item]:
    """Leave out behaviors that the rubric does not have, which no judge takes."""
    known = {row.id for row in rubric.behaviors} | {None}
    return [
        item if item.behavior in known else msgspec.structs.replace(item, behavior=None)
        for item in items
    ]
