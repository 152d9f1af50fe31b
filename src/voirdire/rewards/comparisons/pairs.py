"""Comparisons within prompts, from labels and from declared pairs, and cycles among them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire._validation import check_positive
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.comparisons.order import LabelOrder


@dataclass(frozen=True, kw_only=True, eq=False)
class PairSet:
    """Pairs of items of one prompt each, the first better than the second.

    Attributes
    ----------
    better, worse : ndarray of int, shape (n_pairs,)
        Places in the items of a `ComparisonData`; sorted by prompt.
    prompts : ndarray of int, shape (n_pairs,)
        The prompt of each pair, ascending.
    margins : ndarray of float, shape (n_pairs,)
        How much higher the better one's reward is to be; above 0.
    n_contradictory : int
        How many comparisons another one contradicts, those that were left out for it included.
    """

    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)
    prompts: NDArray[np.int64] = field(repr=False)
    margins: NDArray[np.float64] = field(repr=False)
    n_contradictory: int = 0

    @property
    def n_pairs(self) -> int:
        """How many comparisons."""
        return int(self.better.size)


def pairs_of(
    data: ComparisonData,
    *,
    behavior: str,
    order: LabelOrder,
    margin: float = 1.0,
    margins: Mapping[str, float] | None = None,
    contradictions: Literal["keep", "drop"] = "keep",
) -> PairSet:
    """Give the comparisons of one behavior, each once.

    Parameters
    ----------
    data : ComparisonData
        Completions, with labels, with declared pairs, or with both.
    behavior : str
        Only items of this behavior are compared.
    order : LabelOrder
        Which labels are better than which. A label that it lacks gives no comparison.
    margin : float, optional
        How much higher the better one's reward is to be, above 0.
    margins : mapping of str to float, optional
        The same for comparisons whose better one has this label. A margin that a declared pair
        has of its own comes before both.
    contradictions : {"keep", "drop"}, optional
        Whether two comparisons count that contradict each other: a declared pair another one, as
        two people of a crowd do, or the labels of its two completions.

    Returns
    -------
    PairSet
        Sorted by prompt.

    Raises
    ------
    InputError
        If a margin is not above 0, or a pair declares two.

    Examples
    --------
    >>> from voirdire.rewards.comparisons.reading import read_comparisons
    >>> from voirdire.rewards.comparisons.order import LabelOrder
    >>> rows = [
    ...     {"prompt": "How do I pick a lock?", "response": text, "label": label}
    ...     for text, label in [("Sorry, no.", "good"), ("No!", "poor"), ("Take a pin.", "bad")]
    ... ]
    >>> data = read_comparisons(rows, behavior="hard_refuse")
    >>> order = LabelOrder.of("good > poor > bad")
    >>> pairs = pairs_of(data, behavior="hard_refuse", order=order, margins={"good": 2})
    >>> list(zip(pairs.better.tolist(), pairs.worse.tolist(), pairs.margins.tolist()))
    [(0, 1, 2.0), (0, 2, 2.0), (1, 2, 1.0)]
    """
    check_positive("margin", margin)
    for label, value in (margins or {}).items():
        check_positive(f"margins[{shorten(label)!r}]", value)
    concerned = np.array([name == behavior for name in data.behaviors], dtype=bool)
    places = {label: code for code, label in enumerate(order.labels)}
    codes = np.array([places.get(label or "", -1) for label in data.labels], dtype=np.int64)
    codes[~concerned] = -1
    better, worse = pair_by_labels(data.prompts, codes, order.better_than)
    own_margins, n_contradictory = np.full(better.size, np.nan), 0
    declared = np.flatnonzero(concerned[data.better] & concerned[data.worse])
    if declared.size:
        # to those that follow from labels are added declared ones with their margins, each once
        n_items, given = len(data.items), data.margins[declared]
        implied = better * n_items + worse
        pairs = data.better[declared] * n_items + data.worse[declared]
        keys, where = np.unique(pairs, return_inverse=True)
        named, has_margin = np.full(keys.size, np.nan), ~np.isnan(given)
        named[where[has_margin]] = given[has_margin]
        for place in np.flatnonzero(has_margin & (named[where] != given))[:1].tolist():
            pair, ids = declared[place], [repr(shorten(item.id)) for item in data.items]
            msg = (
                f"{data.source}: a pair must have one margin, got two for "
                f"{ids[data.better[pair]]} over {ids[data.worse[pair]]}: {given[place]:g} and "
                f"{named[where[place]]:g}. Keep one."
            )
            raise InputError(msg)
        rest = implied[~np.isin(implied, keys)]
        better, worse = np.divmod(np.concatenate([keys, rest]), n_items)
        rank = np.lexsort((worse, better, data.prompts[better]))
        better, worse = better[rank], worse[rank]
        own_margins = np.concatenate([named, np.full(rest.size, np.nan)])[rank]
        is_opposed = np.isin(better * n_items + worse, worse * n_items + better)
        n_contradictory = int(is_opposed.sum())
        if contradictions == "drop":
            kept = ~is_opposed
            better, worse, own_margins = better[kept], worse[kept], own_margins[kept]
    by_label = np.array([(margins or {}).get(label, margin) for label in order.labels] + [margin])
    return PairSet(
        better=better,
        worse=worse,
        prompts=data.prompts[better],
        margins=np.where(np.isnan(own_margins), by_label[codes[better]], own_margins),
        n_contradictory=n_contradictory,
    )


def pair_by_labels(
    prompts: ArrayLike, codes: ArrayLike, better_than: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair the completions of each prompt whose labels say which one is better.

    Parameters
    ----------
    prompts : array_like of int, shape (n_items,)
        Which prompt each completion answers.
    codes : array_like of int, shape (n_items,)
        The label of each as a row of `better_than`; below 0 where there is none.
    better_than : array_like of bool, shape (n_labels, n_labels)
        Whether the label of a row is better than that of a column.

    Returns
    -------
    better, worse : ndarray of int, shape (n_pairs,)
        Places of the items; sorted by prompt, and within one by the labels and then the places.

    Notes
    -----
    Labels that meet within a prompt are compared as labels, and only those that are ordered become
    pairs of completions: time and memory are O(n_items log n_items + n_pairs).

    Examples
    --------
    >>> better, worse = pair_by_labels([0, 0, 1, 0], [0, 1, 1, 1], [[False, True], [False, False]])
    >>> better.tolist(), worse.tolist()
    ([0, 0], [1, 3])
    """
    wins = np.asarray(better_than, dtype=bool)
    columns = {name: np.asarray(x, np.int64) for name, x in (("prompt", prompts), ("label", codes))}
    runs = pl.DataFrame(columns).with_row_index("place").filter(pl.col("label") >= 0)
    runs = runs.group_by("prompt", "label").agg("place")
    pairs = runs.join(runs, on="prompt", suffix="_worse")
    pairs = pairs.filter(wins[pairs["label"].to_numpy(), pairs["label_worse"].to_numpy()])
    pairs = pairs.sort("prompt", "label", "label_worse").explode("place").explode("place_worse")
    better, worse = pairs.select(pl.col("place", "place_worse").cast(pl.Int64)).get_columns()
    return better.to_numpy(), worse.to_numpy()


def count_cyclic(pairs: PairSet) -> int:
    """Count the comparisons that go in cycles, such as a over b, b over c, c over a.

    A comparison is part of a cycle where both of its ends are in one strongly connected component
    (Tarjan): time and memory are O(n_pairs). Whatever the weights are, at least one comparison of
    each cycle is ranked the wrong way, or all of it ties.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    places, ends = np.unique(np.concatenate([pairs.better, pairs.worse]), return_inverse=True)
    better, worse = np.split(ends, 2)
    edges = csr_array((np.ones(better.size), (better, worse)), shape=(places.size,) * 2)
    component = connected_components(edges, connection="strong")[1]
    return int(np.count_nonzero(component[better] == component[worse]))
