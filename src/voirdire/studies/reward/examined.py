"""What an examination looks at: rated completions, their labels, and comparisons by behavior."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import shorten
from voirdire.documents import did_you_mean
from voirdire.errors import InputError
from voirdire.rewards.comparisons.order import LabelOrder, default_order
from voirdire.rewards.comparisons.pairs import pairs_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.model import RewardModel
    from voirdire.studies.reward.rated_items import RatedItems

__all__ = ["Examined", "ExaminedBehavior", "examined_behaviors", "orders_for"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ExaminedBehavior:
    """Comparisons of one behavior, both sides with a reward.

    Attributes
    ----------
    behavior : str
        Its id.
    order : LabelOrder
        Of its completion labels.
    rows : ndarray of int, shape (n_rows,)
        Places of its items with a reward, ascending.
    better, worse, prompts : ndarray of int, shape (n_pairs,)
        Places of the items of each comparison, and their prompt; sorted by prompt.
    is_best : ndarray of bool, shape (n_pairs,)
        Whether the better side is one of the best of its prompt: worse than nothing.
    """

    behavior: str
    order: LabelOrder
    rows: NDArray[np.int64] = field(repr=False)
    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)
    prompts: NDArray[np.int64] = field(repr=False)
    is_best: NDArray[np.bool_] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Examined:
    """Rated completions with everything that is known of them.

    Attributes
    ----------
    reward : RewardModel
        What is examined.
    rated : RatedItems
        The completions.
    labels : ndarray of object, shape (n_items,)
        Their labels; None where there is none.
    is_labelled_by_people : bool
        Whether the labels are not the judge's own classes.
    behaviors : tuple of ExaminedBehavior
        Those with weights and completions, in the order of the rubric.
    """

    reward: RewardModel = field(repr=False)
    rated: RatedItems = field(repr=False)
    labels: NDArray[np.object_] = field(repr=False)
    is_labelled_by_people: bool
    behaviors: tuple[ExaminedBehavior, ...]

    @property
    def n_comparisons(self) -> int:
        """How many comparisons."""
        return sum(row.better.size for row in self.behaviors)


def orders_for(
    reward: RewardModel,
    data: ComparisonData,
    *,
    orders: Mapping[str, str | Mapping[str, Sequence[str]]] | None = None,
) -> dict[str, LabelOrder]:
    """Settle which labels are better than which: as asked, else as in the fit, else as declared.

    Parameters
    ----------
    reward : RewardModel
        Its settings may hold the orders of the fit.
    data : ComparisonData
        A behavior needs an order where its completions have labels.
    orders : mapping of str to (str or mapping), optional
        Per behavior, ``"*"`` for all others.

    Returns
    -------
    dict of str to LabelOrder
        For every behavior of the reward.

    Raises
    ------
    InputError
        If completions have labels, and nothing says which are better.
    """
    of_fit = reward.settings.get("orders") or {}
    asked = orders or {}
    known = [row.id for row in reward.rubric.behaviors]
    for behavior in asked:
        if behavior not in (*known, "*"):
            msg = (
                f"`orders` must name behaviors of rubric {reward.rubric.name!r} or '*', got "
                f"{shorten(behavior)!r}.{did_you_mean(behavior, known)}"
            )
            raise InputError(msg)
    found = {}
    for behavior in reward.behaviors:
        own = of_fit.get(behavior, of_fit.get("*"))
        spec = asked.get(behavior, asked.get("*", own))
        if spec is not None:
            found[behavior] = LabelOrder.of(spec)
            continue
        pairs = zip(data.behaviors, data.labels, strict=True)
        labels = {label for name, label in pairs if name == behavior and label is not None}
        try:
            found[behavior] = default_order(reward.rubric, behavior, labels=labels)
        except InputError:
            if labels:
                raise
            found[behavior] = LabelOrder.of("unlabelled")
    return found


def examined_behaviors(
    data: ComparisonData, rated: RatedItems, *, orders: Mapping[str, LabelOrder]
) -> tuple[ExaminedBehavior, ...]:
    """Make the comparisons of every behavior of which both sides have a reward.

    Parameters
    ----------
    data : ComparisonData
        Completions, labels and declared pairs.
    rated : RatedItems
        The same completions with their rewards.
    orders : mapping of str to LabelOrder
        By behavior.

    Returns
    -------
    tuple of ExaminedBehavior
        In the order of the rubric.
    """
    is_rated = rated.is_rated
    found = []
    for behavior, features in rated.features.items():
        pairs = pairs_of(data, behavior=behavior, order=orders[behavior])
        kept = is_rated[pairs.better] & is_rated[pairs.worse]
        better, worse = pairs.better[kept], pairs.worse[kept]
        found.append(
            ExaminedBehavior(
                behavior=behavior,
                order=orders[behavior],
                rows=features.rows[is_rated[features.rows]],
                better=better,
                worse=worse,
                prompts=pairs.prompts[kept],
                is_best=~np.isin(better, worse),
            )
        )
    return tuple(found)
