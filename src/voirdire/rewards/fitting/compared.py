"""Which completions are compared with which, before anybody has judged them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import shorten
from voirdire.documents import did_you_mean
from voirdire.errors import InputError
from voirdire.records import Dropped
from voirdire.rewards.comparisons.order import LabelOrder, default_order
from voirdire.rewards.comparisons.pairs import pairs_of
from voirdire.rewards.comparisons.prompts import our_behavior

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.comparisons.pairs import PairSet
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.rubrics import Rubric

__all__ = ["behavior_orders", "behavior_pairs", "compared_places", "is_test", "with_behaviors"]

_ANY = "*"
_UNLABELLED = "unlabelled"


def with_behaviors(data: ComparisonData, rubric: Rubric) -> ComparisonData:
    """Give every completion a behavior of the rubric, or set it aside.

    Parameters
    ----------
    data : ComparisonData
        As it was read.
    rubric : Rubric
        With behaviors. Where it has one only, completions without a behavior are of that one.

    Returns
    -------
    ComparisonData
        Completions whose behavior is unknown have None, and are among `dropped`.
    """
    known = [row.id for row in rubric.behaviors]
    only = known[0] if len(known) == 1 else None
    found = [
        only if behavior is None else our_behavior(behavior, known) for behavior in data.behaviors
    ]
    drops = []
    for place, behavior in enumerate(found):
        if behavior in known:
            continue
        reason = (
            "it has no behavior"
            if behavior is None
            else f"its behavior is none of rubric {rubric.name!r}"
        )
        drops.append(
            Dropped(
                reason=reason,
                source=data.source,
                item=data.items[place].id,
                value=None if behavior is None else shorten(behavior),
            )
        )
        found[place] = None
    return replace(
        data,
        items=replace(data.items, behaviors=tuple(found)),
        behaviors=tuple(found),
        dropped=(*data.dropped, *drops),
    )


def behavior_orders(
    data: ComparisonData, rubric: Rubric, settings: FitSettings, *, from_classes: bool
) -> dict[str, LabelOrder]:
    """Settle for each behavior which labels are better than which.

    Parameters
    ----------
    data : ComparisonData
        The completions.
    rubric : Rubric
        Its classes are the labels, where nothing else is declared.
    settings : FitSettings
        With `orders` and `margins`.
    from_classes : bool
        Whether the labels are the classes, as a judge finds them.

    Returns
    -------
    dict of str to LabelOrder
        By behavior.

    Raises
    ------
    InputError
        If an order names a behavior or class that there is not, a margin a label that no order
        has, or the classes of a behavior with labels have no order of their own.
    """
    known = [row.id for row in rubric.behaviors]
    for behavior in settings.orders:
        if behavior not in (*known, _ANY):
            msg = (
                f"`orders` must name behaviors of rubric {rubric.name!r} or '*', got "
                f"{shorten(behavior)!r}.{did_you_mean(behavior, known)}"
            )
            raise InputError(msg)
    given = set(zip(data.behaviors, data.labels, strict=True))
    labelled = {name for name, label in given if from_classes or label is not None}
    orders = {}
    for row in rubric.behaviors:
        classes = [one.name for one in row.classes]
        spec = settings.orders.get(row.id, settings.orders.get(_ANY))
        if spec is not None:
            orders[row.id] = LabelOrder.of(spec, known=classes if from_classes else None)
            continue
        try:
            labels = [label for name, label in given if name == row.id and label is not None]
            orders[row.id] = default_order(rubric, row.id, labels=() if from_classes else labels)
        except InputError:
            if row.id in labelled:
                raise
            orders[row.id] = LabelOrder.of(_UNLABELLED)  # pairs are declared, or there are none
    _check_margins(settings, orders)
    return orders


def behavior_pairs(
    data: ComparisonData, orders: Mapping[str, LabelOrder], settings: FitSettings
) -> dict[str, PairSet]:
    """List the comparisons of each behavior that has some.

    Parameters
    ----------
    data : ComparisonData
        The completions.
    orders : mapping of str to LabelOrder
        By behavior.
    settings : FitSettings
        With margins.

    Returns
    -------
    dict of str to PairSet
        By behavior.

    Raises
    ------
    InputError
        If comparisons contradict each other, or one is of two splits.
    """
    found = {}
    for behavior, order in orders.items():
        pairs = pairs_of(
            data,
            behavior=behavior,
            order=order,
            margin=settings.margin,
            margins={x: settings.margins[x] for x in order.labels if x in settings.margins},
        )
        if pairs.n_pairs:
            _check_splits(data, pairs)
            found[behavior] = pairs
    return found


def compared_places(
    data: ComparisonData, pairs: Mapping[str, PairSet], *, from_classes: bool
) -> NDArray[np.int64]:
    """Find the completions that have to be judged, so that no others are paid for.

    Parameters
    ----------
    data : ComparisonData
        All completions.
    pairs : mapping of str to PairSet
        Comparisons by behavior.
    from_classes : bool
        Whether it is verdicts that say which one is better: then all are needed whose prompt has
        another one.

    Returns
    -------
    ndarray of int
        Places in `data`, ascending.
    """
    if not from_classes:
        ends = [side for row in pairs.values() for side in (row.better, row.worse)]
        return np.unique(np.concatenate(ends)) if ends else np.zeros(0, dtype=np.int64)
    has_behavior = np.array([behavior is not None for behavior in data.behaviors], dtype=bool)
    counts = np.bincount(data.prompts[has_behavior], minlength=len(data.prompt_names) or 1)
    return np.flatnonzero(has_behavior & (counts[data.prompts] > 1))


def is_test(data: ComparisonData, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which completions are marked to be kept out of the fit."""
    if not data.splits:
        return np.zeros(places.size, dtype=bool)
    return np.array([data.splits[place] == "test" for place in places], dtype=bool)


def _check_splits(data: ComparisonData, pairs: PairSet) -> None:
    parted = np.flatnonzero(is_test(data, pairs.better) != is_test(data, pairs.worse))
    if parted.size:
        prompt = data.prompt_names[int(pairs.prompts[parted[0]])]
        msg = (
            f"{data.source}: a prompt must be in one split, got {shorten(prompt)!r} in two. An "
            "error rate on prompts of the fit would be too low. Split by prompt."
        )
        raise InputError(msg)


def _check_margins(settings: FitSettings, orders: Mapping[str, LabelOrder]) -> None:
    labels = list(dict.fromkeys(label for order in orders.values() for label in order.labels))
    for label in settings.margins:
        if label not in labels:
            msg = (
                f"`margins` must name labels of the orders, got {shorten(label)!r}."
                f"{did_you_mean(label, labels)}"
            )
            raise InputError(msg)
