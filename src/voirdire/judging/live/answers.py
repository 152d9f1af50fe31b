"""What is asked of a live judge, and what it answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    import asyncio

    from numpy.typing import NDArray

    from voirdire.records import Item

__all__ = [
    "CLOSED",
    "LATE",
    "TOO_MANY",
    "Asked",
    "LiveAnswer",
    "LiveState",
    "LiveVerdicts",
    "no_answer",
]

LATE = "no verdict within the deadline"
"""Why an item has no verdict whose answer may still come, for the next time it is asked about."""

CLOSED = "the judge is closed"
TOO_MANY = "too many items wait for the judge"


# A hundred thousand of them are remembered: a struct takes a fifth of the time to make.
class LiveAnswer(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a judge said of one item.

    Attributes
    ----------
    probabilities : ndarray of float, shape (n_propositions,)
        In the order of the rubric, in [0, 1]; nan where the judge failed.
    behavior : str or None
        The item's own.
    failure : str or None
        Why a probability is missing, where one is; without any text of the item.
    is_stored : bool
        Whether it came from the store, and nothing was called.
    answered_by : str or None
        Which judge of a cascade it came to, answered or not; None where there is only one, and
        where it came to none.
    """

    probabilities: NDArray[np.float64]
    behavior: str | None = None
    failure: str | None = None
    is_stored: bool = False
    answered_by: str | None = None


def no_answer(n_propositions: int, why: str, *, behavior: str | None = None) -> LiveAnswer:
    """Say that a judge said nothing of an item.

    Parameters
    ----------
    n_propositions : int
        Of the rubric.
    why : str
        The reason, without any text of the item.
    behavior : str, optional
        The item's own.

    Returns
    -------
    LiveAnswer
        All nan.
    """
    return LiveAnswer(probabilities=_nothing(n_propositions), behavior=behavior, failure=why)


@cache
def _nothing(n_propositions: int) -> NDArray[np.float64]:
    row = np.full(n_propositions, np.nan)
    row.setflags(write=False)
    return row


@dataclass(eq=False, slots=True)
class Asked:
    """One item that somebody waits for; the asker sets the future, whatever happens.

    Attributes
    ----------
    key : bytes
        Hash of what the judge sees of it.
    item : Item
        What is asked about.
    future : asyncio.Future of LiveAnswer
        Where the answer goes. One that is done is not to be begun any more.
    wanted_until : float
        When the last who waits for it gives up, by the event loop's clock. What nobody waits for
        comes after everything else.
    answered_by : str or None
        Which judge of a cascade it has come to.
    """

    key: bytes
    item: Item
    future: asyncio.Future[LiveAnswer]
    wanted_until: float = math.inf
    answered_by: str | None = None

    @property
    def is_answered(self) -> bool:
        """Whether nothing is to be done about it any more."""
        return self.future.done()

    def answer(self, answer: LiveAnswer) -> None:
        """Give it its answer, unless it has one."""
        if self.future.done():
            return
        if self.answered_by is not None:
            answer = msgspec.structs.replace(answer, answered_by=self.answered_by)
        self.future.set_result(answer)


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
    answered_by : tuple of str or None, or None
        By item which judge of a cascade it came to; None where there is only one judge.
    """

    probabilities: NDArray[np.float64] = field(repr=False)
    behaviors: tuple[str | None, ...] = field(repr=False)
    failures: tuple[str | None, ...] = field(repr=False)
    n_remembered: int = 0
    n_stored: int = 0
    n_late: int = 0
    answered_by: tuple[str | None, ...] | None = field(default=None, repr=False)


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
