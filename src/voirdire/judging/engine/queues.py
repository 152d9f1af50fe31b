"""Queues: one shared fairly by its callers, and one by arrival with abandoned entries last."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["DeadlineQueue", "FairQueue", "QueueEntry"]

T = TypeVar("T")


class QueueEntry(Protocol):
    """An entry of a queue."""

    @property
    def deadline(self) -> float:
        """When the last caller stops waiting for it."""

    @property
    def is_answered(self) -> bool:
        """Whether it needs no more work."""


W = TypeVar("W", bound=QueueEntry)


class DeadlineQueue(Generic[W]):
    """Entries in the order of arrival; entries that no caller waits for any more come last.

    Else a slow judge would work on late entries first, and so make all later ones late. An entry
    that is late by more than `patience_s` is dropped.
    """

    def __init__(self, drop: Callable[[W], None], *, patience_s: float) -> None:
        self._drop = drop
        self._patience_s = patience_s
        self._wanted: deque[W] = deque()
        self._late: deque[W] = deque()

    def __len__(self) -> int:
        return len(self._wanted) + len(self._late)

    def add(self, several: Sequence[W], *, first: bool = False) -> None:
        """Add entries at the end, or at the beginning."""
        if first:
            self._wanted.extendleft(reversed(several))
        else:
            self._wanted.extend(several)

    def clear(self) -> list[W]:
        """Take out all."""
        found = [*self._wanted, *self._late]
        self._wanted.clear()
        self._late.clear()
        return found

    def next(self, now: float) -> W | None:
        """Take out the next entry; None where there is none."""
        found = self._take_revived(now) if self._wanted else None
        while found is None and self._wanted:
            first = self._wanted.popleft()
            if first.is_answered:
                self._drop(first)
            elif first.deadline < now:
                self._late.append(first)
            else:
                found = first
        while found is None and self._late:
            found = self._take_or_drop(self._late.popleft(), now)
        return found

    def _take_revived(self, now: float) -> W | None:
        """Take out a late entry that a caller waits for again."""
        if not self._late:
            return None
        first = self._take_or_drop(self._late.popleft(), now)
        if first is not None and first.deadline < now:
            self._late.append(first)
            return None
        return first

    def _take_or_drop(self, first: W, now: float) -> W | None:
        if first.is_answered or first.deadline + self._patience_s < now:
            self._drop(first)
            return None
        return first


class FairQueue(Generic[T]):
    """Entries of several callers: each caller's stay in order, and all callers get their turn.

    In a single queue, a request with one item would wait for the ten thousand items of the request
    before it. At most `most` entries are taken out at once, about as many per caller; None takes
    out the entries that were added together.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._groups: deque[deque[T]] = deque()

    def add(self, several: Sequence[T]) -> None:
        """Add the entries of one caller."""
        if several:
            self._groups.append(deque(several))

    def take(self) -> list[T]:
        """Take out the next entries; an empty list where there are none."""
        taken: list[T] = []
        most = self._most
        if most is None:
            return list(self._groups.popleft()) if self._groups else taken
        share = max(1, most // max(1, len(self._groups)))
        while self._groups and len(taken) < most:
            group = self._groups.popleft()
            n_taken = min(share, most - len(taken), len(group))
            taken += [group.popleft() for _ in range(n_taken)]
            if group:
                self._groups.append(group)
        return taken

    def clear(self) -> list[T]:
        """Take out all."""
        found = [one for group in self._groups for one in group]
        self._groups.clear()
        return found
