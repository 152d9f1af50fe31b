"""Where the rewards of each behavior begin and how far they reach, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.studies.reward.result import BehaviorScale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.studies.reward.examined import Examined, ExaminedBehavior

__all__ = ["behavior_scales"]

_NAN = float("nan")


def behavior_scales(examined: Examined) -> tuple[BehaviorScale, ...]:
    """Describe the rule rewards of every behavior.

    Parameters
    ----------
    examined : Examined
        Rated completions.

    Returns
    -------
    tuple of BehaviorScale
        In the order of the rubric. The worst label is that of the lowest level that any completion
        has.

    Notes
    -----
    A fit looks at differences within prompts only, so that every behavior has an origin of its
    own: the same number may be a good response under one and a bad one under another.
    """
    return tuple(_scale(examined, row) for row in examined.behaviors if row.rows.size)


def _scale(examined: Examined, row: ExaminedBehavior) -> BehaviorScale:
    rated = examined.rated
    rules = rated.rules[row.rows]
    levels = [_of_level(examined, row, level) for level in row.order.levels]
    labelled = [level for level in levels if level.size]
    base = rated.signals["base"][row.rows] if rated.has_base else np.empty(0)
    return BehaviorScale(
        behavior=row.behavior,
        n_items=int(row.rows.size),
        n_prompts=int(np.unique(rated.prompts[row.rows]).size),
        mean=float(rules.mean()),
        standard_deviation=float(rules.std()),
        lowest=float(rules.min()),
        highest=float(rules.max()),
        mean_ideal=float(rated.rules[levels[0]].mean()) if levels[0].size else _NAN,
        mean_worst=float(rated.rules[labelled[-1]].mean()) if len(labelled) > 1 else _NAN,
        base_standard_deviation=float(base.std()) if base.size else _NAN,
    )


def _of_level(
    examined: Examined, row: ExaminedBehavior, level: tuple[str, ...]
) -> NDArray[np.int64]:
    labels = examined.labels[row.rows]
    chosen = np.array([label in level for label in labels], dtype=bool)
    found: NDArray[np.int64] = row.rows[chosen]
    return found
