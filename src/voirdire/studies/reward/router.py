"""Which behavior a router chose, and what it costs to be paid by the weights of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire.rewards.scoring.combining import weighed
from voirdire.studies.reward.ranking import per_prompt, wrongness
from voirdire.studies.reward.result import RouterCheck

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Item
    from voirdire.studies.reward.examined import Examined, ExaminedBehavior
    from voirdire.studies.reward.resampling import PromptResamples
    from voirdire.studies.reward.result import RateEstimate

__all__ = ["Routing", "check_router", "routed_behaviors"]

ROUTED = "routed_behavior"
"""What a file calls the behavior that a router chose."""


@dataclass(frozen=True, kw_only=True)
class Routing:
    """What a router chose.

    Attributes
    ----------
    behaviors : tuple of str or None
        Per item.
    source : {"items", "verdicts"}
        Who says so.
    """

    behaviors: tuple[str | None, ...]
    source: str


def routed_behaviors(
    items: Sequence[Item],
    behaviors: Sequence[str | None],
    *,
    judged_behaviors: Mapping[str, str | None],
) -> Routing | None:
    """Find what a router chose: what the items say, else verdicts that differ from the items.

    Parameters
    ----------
    items : sequence of Item
        Their metadata may have `routed_behavior`.
    behaviors : sequence of str or None
        What their prompts deserve.
    judged_behaviors : mapping of str to str or None
        By item what the verdicts say.

    Returns
    -------
    Routing or None
        None where nobody chose.
    """
    told = [item.metadata.get(ROUTED) for item in items]
    if any(isinstance(name, str) and name for name in told):
        chosen = tuple(name if isinstance(name, str) and name else None for name in told)
        return Routing(behaviors=chosen, source="items")
    judged = tuple(judged_behaviors.get(item.id) for item in items)
    if any(name is not None and name != own for name, own in zip(judged, behaviors, strict=True)):
        return Routing(behaviors=judged, source="verdicts")
    return None


def check_router(
    examined: Examined, routing: Routing, *, resamples: PromptResamples
) -> RouterCheck:
    """Compare the behaviors that were chosen with those that prompts deserve.

    Parameters
    ----------
    examined : Examined
        Comparisons under the right behaviors.
    routing : Routing
        What was chosen.
    resamples : PromptResamples
        Of the prompts.

    Returns
    -------
    RouterCheck
        Prompts count by the behavior of their first completion, and by the first choice for any of
        them. Both error rates are over the comparisons of prompts with a choice that the reward
        has weights for, so that they differ by the weights alone.
    """
    rubric = examined.reward.rubric
    names = tuple(row.id for row in rubric.behaviors)
    places = {name: place for place, name in enumerate(names)}
    own = _by_prompt(examined, examined.rated.behaviors, places)
    chosen = _by_prompt(examined, routing.behaviors, places)
    confusion = np.zeros((len(names), len(names)), dtype=np.int64)
    known = (own >= 0) & (chosen >= 0)
    np.add.at(confusion, (own[known], chosen[known]), 1)
    wrong = {row.behavior: _wrong_by_column(examined, row, names) for row in examined.behaviors}
    right, routed = _rates(examined, wrong, chosen, places, resamples)
    return RouterCheck(
        behaviors=names,
        confusion=tuple(tuple(line) for line in confusion.tolist()),
        n_unrouted=int(((own >= 0) & (chosen < 0)).sum()),
        error_rate_right=right,
        error_rate_routed=routed,
        cost=tuple(_costs(wrong.get(name), len(names)) for name in names),
    )


def _by_prompt(
    examined: Examined, behaviors: Sequence[str | None], places: Mapping[str, int]
) -> NDArray[np.int64]:
    """Give the first known behavior of each prompt as a place; -1 for none."""
    found = np.full(examined.rated.n_prompts, -1, dtype=np.int64)
    codes = np.array([places.get(name or "", -1) for name in behaviors], dtype=np.int64)
    known = np.flatnonzero(codes >= 0)[::-1]
    found[examined.rated.prompts[known]] = codes[known]
    return found


def _wrong_by_column(
    examined: Examined, row: ExaminedBehavior, names: Sequence[str]
) -> NDArray[np.float64]:
    """Rank the comparisons of one behavior by the weights of every behavior: a column for each."""
    rated, reward = examined.rated, examined.reward
    base = np.zeros(len(rated.items)) if not rated.has_base else rated.signals["base"]
    found = np.full((row.better.size, len(names)), np.nan)
    for column, name in enumerate(names):
        if name not in reward.behaviors:
            continue
        features = reward.feature_values(
            name, rated.probabilities[row.rows], propositions=rated.propositions
        )
        rewards = np.full(len(rated.items), np.nan)
        rewards[row.rows] = base[row.rows] + weighed(features, reward.weight_vector(name))
        high, low = rewards[row.better], rewards[row.worse]
        is_known = np.isfinite(high) & np.isfinite(low)
        found[is_known, column] = wrongness(high[is_known], low[is_known])[0]
    return found


def _costs(wrong: NDArray[np.float64] | None, n_columns: int) -> tuple[float, ...]:
    if wrong is None:
        return (float("nan"),) * n_columns
    known = ~np.isnan(wrong)
    sums, counts = np.where(known, wrong, 0.0).sum(axis=0), known.sum(axis=0)
    shares = np.divide(sums, counts, out=np.full(n_columns, np.nan), where=counts > 0)
    return tuple(shares.tolist())


def _rates(
    examined: Examined,
    wrong: Mapping[str, NDArray[np.float64]],
    chosen: NDArray[np.int64],
    places: Mapping[str, int],
    resamples: PromptResamples,
) -> tuple[RateEstimate, RateEstimate]:
    """Error rates under the right weights and under the chosen ones, over the same comparisons."""
    n = examined.rated.n_prompts
    sums = np.zeros((n, 3))
    for row in examined.behaviors:
        columns = chosen[row.prompts]
        pairs = np.flatnonzero(columns >= 0)
        own = wrong[row.behavior][pairs, places[row.behavior]]
        routed = wrong[row.behavior][pairs, columns[pairs]]
        both = ~np.isnan(own) & ~np.isnan(routed)
        prompts = row.prompts[pairs[both]]
        sums[:, 0] += per_prompt(prompts, own[both], n_prompts=n)
        sums[:, 1] += per_prompt(prompts, routed[both], n_prompts=n)
        sums[:, 2] += per_prompt(prompts, None, n_prompts=n)
    first, second = resamples.estimates(sums[:, :2], np.repeat(sums[:, 2:], 2, axis=1))
    return first, second
