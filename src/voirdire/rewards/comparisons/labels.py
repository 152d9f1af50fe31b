"""Labels against the orders that they are compared by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import shorten
from voirdire.records import Dropped
from voirdire.rewards.comparisons.data_hash import hash_of_comparisons

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.comparisons.order import LabelOrder

__all__ = ["checked_labels", "kept_items"]


def checked_labels(data: ComparisonData, orders: Mapping[str, LabelOrder]) -> ComparisonData:
    """Set completions aside whose label is not in the order of their behavior.

    Parameters
    ----------
    data : ComparisonData
        As it was read.
    orders : mapping of str to LabelOrder
        By behavior. Labels under a behavior without an order are left alone.

    Returns
    -------
    ComparisonData
        Without these completions, each listed among what was dropped. One that is in a declared
        pair is listed and kept, without its label. The same object where nothing is wrong.

    Examples
    --------
    >>> from voirdire.rewards.comparisons.given import comparisons_of
    >>> from voirdire.rewards.comparisons.order import LabelOrder
    >>> rows = [
    ...     {"prompt": "Hi", "response": text, "label": label}
    ...     for text, label in [("Hello.", "good"), ("No.", "bad"), ("What?", "god")]
    ... ]
    >>> data = comparisons_of(rows, behavior="comply")
    >>> found = checked_labels(data, {"comply": LabelOrder.of("good > bad")})
    >>> found.labels, [(drop.item, drop.value) for drop in found.dropped]
    (('good', 'bad'), [('comparisons:3', 'god')])
    """
    known = {behavior: frozenset(order.labels) for behavior, order in orders.items()}
    wrong = [
        place
        for place, (label, behavior) in enumerate(zip(data.labels, data.behaviors, strict=True))
        if label is not None and behavior in known and label not in known[behavior]
    ]
    if not wrong:
        return data
    dropped = []
    labels = list(data.labels)
    for place in wrong:
        shown = ", ".join(shorten(name) for name in orders[f"{data.behaviors[place]}"].labels)
        dropped.append(
            Dropped(
                reason=f"unknown label: must be one of {shown}",
                source=data.source,
                item=data.items[place].id,
                value=shorten(data.labels[place] or ""),
            )
        )
        labels[place] = None
    kept = np.ones(len(data.items), dtype=bool)
    kept[wrong] = False
    kept[data.better] = kept[data.worse] = True
    listed = replace(data, labels=tuple(labels), dropped=(*data.dropped, *dropped))
    return kept_items(listed, kept)


def kept_items(data: ComparisonData, kept: NDArray[np.bool_]) -> ComparisonData:
    """Take some completions, with the declared pairs of which both sides are there.

    Parameters
    ----------
    data : ComparisonData
        All of them.
    kept : ndarray of bool, shape (n_items,)
        Which to take.

    Returns
    -------
    ComparisonData
        With prompts numbered anew, and a hash of its own. What was dropped stays listed.
    """
    chosen = np.flatnonzero(kept)
    places = np.full(len(data.items), -1, dtype=np.int64)
    places[chosen] = np.arange(chosen.size)
    inside = kept[data.better] & kept[data.worse]
    numbers, prompts = np.unique(data.prompts[chosen], return_inverse=True)
    rows = chosen.tolist()
    found = replace(
        data,
        items=tuple(data.items[k] for k in rows),
        prompts=prompts.astype(np.int64),
        prompt_names=tuple(data.prompt_names[k] for k in numbers.tolist()),
        behaviors=tuple(data.behaviors[k] for k in rows),
        labels=tuple(data.labels[k] for k in rows),
        base_rewards=data.base_rewards[chosen],
        better=places[data.better[inside]],
        worse=places[data.worse[inside]],
        margins=data.margins[inside],
        splits=tuple(data.splits[k] for k in rows) if data.splits else (),
    )
    return replace(found, data_hash=hash_of_comparisons(found))
