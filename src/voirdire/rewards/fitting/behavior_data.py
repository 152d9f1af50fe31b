"""What the weights of one behavior are fitted on: features of completions, and pairs of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.records import Dropped
from voirdire.rewards.features import feature_values
from voirdire.rewards.prompt_hash import prompt_hash
from voirdire.rewards.vetoes import veto_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from voirdire.records import Verdicts
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.comparisons.pairs import PairSet
    from voirdire.rewards.fitting.feature_choice import FeatureChoice
    from voirdire.rubrics import Rubric

__all__ = ["BehaviorData", "behavior_data"]


@dataclass(frozen=True, kw_only=True, eq=False)
class BehaviorData:
    """The comparisons of one behavior as arrays.

    Attributes
    ----------
    behavior : str
        Its id.
    items : ndarray of int, shape (n_items,)
        Places in the `ComparisonData` of the completions that are compared.
    features : ndarray of float, shape (n_items, n_features)
        Of these completions, all features of the behavior; finite.
    base : ndarray of float, shape (n_items,)
        Their base rewards; 0 where none is used.
    better, worse : ndarray of int, shape (n_pairs,)
        Rows of `features`.
    prompts : ndarray of int, shape (n_pairs,)
        The prompt of each pair, numbered from 0, ascending.
    margins : ndarray of float, shape (n_pairs,)
        How much higher the better one's reward is to be.
    is_vetoed : ndarray of bool, shape (n_items,)
        Which completions lie below all others whatever the weights are.
    dropped : tuple of Dropped
        Completions that were in a pair and could not be used.
    """

    behavior: str
    items: NDArray[np.int64] = field(repr=False)
    features: NDArray[np.float64] = field(repr=False)
    base: NDArray[np.float64] = field(repr=False)
    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)
    prompts: NDArray[np.int64] = field(repr=False)
    margins: NDArray[np.float64] = field(repr=False)
    is_vetoed: NDArray[np.bool_] = field(repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)

    @property
    def n_pairs(self) -> int:
        """How many comparisons."""
        return int(self.better.size)

    @property
    def n_prompts(self) -> int:
        """How many prompts these belong to."""
        return int(self.prompts[-1]) + 1 if self.prompts.size else 0

    @property
    def base_gain(self) -> NDArray[np.float64]:
        """What the base reward of the better one is above that of the worse one."""
        return self.base[self.better] - self.base[self.worse]

    def ranked(self, gain: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put what the better one is above the worse one out of reach where a veto parts them."""
        better, worse = self.is_vetoed[self.better], self.is_vetoed[self.worse]
        return np.where(better == worse, gain, np.where(worse, np.inf, -np.inf))

    def of_pairs(self, kept: NDArray[np.bool_]) -> BehaviorData:
        """Take some of the pairs, with the completions and prompts that are in them."""
        better, worse = self.better[kept], self.worse[kept]
        used, places = np.unique(np.concatenate([better, worse]), return_inverse=True)
        return BehaviorData(
            behavior=self.behavior,
            items=self.items[used],
            features=self.features[used],
            base=self.base[used],
            better=places[: better.size],
            worse=places[better.size :],
            prompts=np.unique(self.prompts[kept], return_inverse=True)[1],
            margins=self.margins[kept],
            is_vetoed=self.is_vetoed[used],
            dropped=self.dropped,
        )


def behavior_data(
    data: ComparisonData,
    judged: Verdicts,
    *,
    pairs: PairSet,
    rubric: Rubric,
    choice: FeatureChoice,
    use_base: bool,
) -> BehaviorData:
    """Bring comparisons, verdicts and base rewards of one behavior together.

    Parameters
    ----------
    data : ComparisonData
        The completions.
    judged : Verdicts
        Verdicts on them, in any order; completions may be missing.
    pairs : PairSet
        The comparisons of the behavior.
    rubric : Rubric
        With the behavior.
    choice : FeatureChoice
        Its features.
    use_base : bool
        Whether the base reward is part of every difference.

    Returns
    -------
    BehaviorData
        Without the pairs of which a completion has no verdict, or no base reward where it is used;
        these completions are listed in `dropped`.
    """
    rank, prompts = _by_prompt_hash(data, pairs)
    better, worse = pairs.better[rank], pairs.worse[rank]
    used, places = np.unique(np.concatenate([better, worse]), return_inverse=True)
    behavior = choice.features.behavior
    given: dict[str, Any] = {
        "probabilities": _probabilities(data, judged, used),
        "propositions": judged.questions,
    }
    features = feature_values(rubric, behavior, **given, orientation=choice.features.orientation)
    vetoed = veto_values(rubric, behavior, choice.vetoes, **given, threshold=judged.threshold)
    base = data.base_rewards[used] if use_base else np.zeros(used.size)
    unjudged = ~np.all(np.isfinite(np.column_stack([features, vetoed])), axis=1)
    unbased = ~np.isfinite(base)
    found = BehaviorData(
        behavior=behavior,
        items=used,
        features=features,
        base=base,
        better=places[: pairs.n_pairs],
        worse=places[pairs.n_pairs :],
        prompts=prompts,
        margins=pairs.margins[rank],
        is_vetoed=vetoed == 1,
        dropped=tuple(_drops(data, judged, places=used, unjudged=unjudged, unbased=unbased)),
    )
    is_usable = ~(unjudged | unbased)
    return found.of_pairs(is_usable[found.better] & is_usable[found.worse])


def _by_prompt_hash(
    data: ComparisonData, pairs: PairSet
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order pairs by the hashes of their prompts, and number these anew.

    Folds and resamples deal prompts out by number: the same comparisons in another order of rows,
    which have the same data hash, are to give the same figures.
    """
    _, firsts, numbers = np.unique(pairs.prompts, return_index=True, return_inverse=True)
    hashes = [prompt_hash(data.items[place]) for place in pairs.better[firsts].tolist()]
    order = sorted(range(len(hashes)), key=hashes.__getitem__)
    renumbered = np.empty(len(order), dtype=np.int64)
    renumbered[order] = np.arange(len(order))
    prompts = renumbered[numbers]
    rank = np.argsort(prompts, kind="stable")
    return rank, prompts[rank]


def _probabilities(
    data: ComparisonData, judged: Verdicts, places: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Look verdicts up by item id; nan in all columns where there is none."""
    rows = {name: row for row, name in enumerate(judged.items)}
    found = np.array([rows.get(data.items.id_at(place), -1) for place in places], dtype=np.int64)
    known = found >= 0
    values = np.full((places.size, len(judged.questions)), np.nan)
    values[known] = judged.probabilities[found[known]]
    return values


def _drops(
    data: ComparisonData,
    judged: Verdicts,
    *,
    places: NDArray[np.int64],
    unjudged: NDArray[np.bool_],
    unbased: NDArray[np.bool_],
) -> Iterator[Dropped]:
    for row in np.flatnonzero(unjudged | unbased):
        item = data.items[places[row]].id
        if unjudged[row]:
            why = judged.missing.get(item, "there is none")
            reason = f"its features cannot be computed, since a verdict is missing: {why}"
        else:
            reason = "it has no base reward, and others have one (`--no-base` fits without)"
        yield Dropped(reason=reason, source=data.source, item=item)
