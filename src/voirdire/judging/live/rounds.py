"""Who is looked up next: some of everybody's, so that nobody waits for the whole of another."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Rounds"]

T = TypeVar("T")


class Rounds(Generic[T]):
    """Things of several who ask; each keeps their order, and all get their turn.

    In one line a request for one thing would wait for the ten thousand of the request before it.
    """

    def __init__(self) -> None:
        self._groups: deque[deque[T]] = deque()

    def __bool__(self) -> bool:
        return bool(self._groups)

    def add(self, several: Sequence[T]) -> None:
        """Take what one of them asks for."""
        if several:
            self._groups.append(deque(several))

    def take(self, most: int) -> list[T]:
        """Take out so many, of everybody about as many."""
        taken: list[T] = []
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
