"""Completions of prompts, and which of them are better than which."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from voirdire.records import Dropped, Item

__all__ = ["ComparisonData"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparisonData:
    """Completions with what is known of them, and pairs of which one is declared to be better.

    Attributes
    ----------
    items : tuple of Item
        The completions; ids are unique.
    prompts : ndarray of int, shape (n_items,)
        Which prompt each completion answers, numbered from 0 in the order of the file.
    prompt_names : tuple of str
        What each prompt is called: the `group` of its items, or the id of its first.
    behaviors : tuple of str or None
        The behavior that each completion's prompt deserves.
    labels : tuple of str or None
        Completion labels, such as ``"ideal"``.
    base_rewards : ndarray of float, shape (n_items,)
        What another reward model gave; nan where it gave nothing.
    better, worse : ndarray of int, shape (n_pairs,)
        Places in `items` of pairs that the file itself declares (pairs, ranked lists); both of one
        prompt. Pairs that follow from labels are not among them: `pairs_of_labels` makes those.
    margins : ndarray of float, shape (n_pairs,)
        How much better, where the file says so; nan where it does not.
    splits : tuple of str or None
        ``"train"`` or ``"test"`` where the file says so.
    dropped : tuple of Dropped
        Rows that were set aside, each with its reason and place.
    source : str
        What messages call it.
    data_hash : str
        ``sha256:`` and 64 digits over everything above but `dropped` and `source`.
    """

    items: tuple[Item, ...] = field(repr=False)
    prompts: NDArray[np.int64] = field(repr=False)
    prompt_names: tuple[str, ...] = field(repr=False)
    behaviors: tuple[str | None, ...] = field(repr=False)
    labels: tuple[str | None, ...] = field(repr=False)
    base_rewards: NDArray[np.float64] = field(repr=False)
    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)
    margins: NDArray[np.float64] = field(repr=False)
    splits: tuple[str | None, ...] = field(default=(), repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    source: str = "comparisons"
    data_hash: str = ""
