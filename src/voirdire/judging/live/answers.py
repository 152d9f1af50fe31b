"""What is asked of a live judge, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

    import numpy as np
    from numpy.typing import NDArray

    from voirdire.records import Item

__all__ = ["LATE", "Asked", "LiveAnswer", "LiveState", "LiveVerdicts"]

LATE = "no verdict within the deadline"
"""Why an item has no verdict whose answer may still come, for the next time it is asked about."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class LiveAnswer:
    """What a judge said of one item.

    Attributes
    ----------
    probabilities : ndarray of float, shape (n_propositions,)
        In the order of the rubric, in [0, 1]; nan where the judge failed.
    behavior : str or None
        What a router chose, or the item's own.
    failure : str or None
        Why a probability is missing, where one is; without any text of the item.
    is_stored : bool
        Whether it came from the store, and nothing was called.
    """

    probabilities: NDArray[np.float64]
    behavior: str | None = None
    failure: str | None = None
    is_stored: bool = False


@dataclass(eq=False, slots=True)
class Asked:
    """One item that somebody waits for; the asker sets the future, whatever happens."""

    key: bytes
    item: Item
    future: asyncio.Future[LiveAnswer]


@dataclass(frozen=True, kw_only=True, eq=False)
class LiveVerdicts:
    """What a judge said of items by the deadline.

    Attributes
    ----------
    probabilities : ndarray of float, shape (n_items, n_propositions)
        In [0, 1]; nan where there is none.
    behaviors : tuple of str or None
        By item.
    failures : tuple of str or None
        By item why a probability is missing.
    n_remembered : int
        Items whose answer was in memory.
    n_stored : int
        Items whose answer was in the store.
    n_late : int
        Items whose answer did not come in time.
    """

    probabilities: NDArray[np.float64] = field(repr=False)
    behaviors: tuple[str | None, ...] = field(repr=False)
    failures: tuple[str | None, ...] = field(repr=False)
    n_remembered: int = 0
    n_stored: int = 0
    n_late: int = 0


@dataclass(frozen=True, kw_only=True)
class LiveState:
    """How a live judge stands.

    Attributes
    ----------
    n_waiting : int
        Items that somebody waits for.
    n_calls, n_failures : int
        Calls made, and items that failed, since it started.
    cost : float or None
        US dollars spent; None where nobody knows.
    is_broken : bool
        Whether the judge is out of order just now, so that nothing is called.
    """

    n_waiting: int = 0
    n_calls: int = 0
    n_failures: int = 0
    cost: float | None = None
    is_broken: bool = False
