"""Who is served next: what somebody waits for, and after it what they gave up on."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Line", "Waits"]


class Waits(Protocol):
    """Something that waits for its turn."""

    @property
    def wanted_until(self) -> float:
        """When the last who waits for it gives up."""

    @property
    def is_answered(self) -> bool:
        """Whether nothing is to be done about it any more."""


W = TypeVar("W", bound=Waits)


class Line(Generic[W]):
    """Things to do, in the order in which they came.

    A judge that is too slow would otherwise work on what is late already, and make everything
    late that comes after it.

    Parameters
    ----------
    drop : callable
        Takes what is not to be done any more.
    patience_s : float
        Seconds for which something may be begun that nobody waits for any more.
    """

    def __init__(self, drop: Callable[[W], None], *, patience_s: float) -> None:
        self._drop = drop
        self._patience_s = patience_s
        self._wanted: deque[W] = deque()
        self._late: deque[W] = deque()

    def __len__(self) -> int:
        return len(self._wanted) + len(self._late)

    def add(self, several: Iterable[W]) -> None:
        """Put some at the end."""
        self._wanted.extend(several)

    def clear(self) -> list[W]:
        """Take out all."""
        found = [*self._wanted, *self._late]
        self._wanted.clear()
        self._late.clear()
        return found

    def next(self, now: float) -> W | None:
        """Take out what is to be done next; None where there is nothing."""
        found = self._wanted_again(now) if self._wanted else None
        while found is None and self._wanted:
            first = self._wanted.popleft()
            if first.is_answered:
                self._drop(first)
            elif first.wanted_until < now:
                self._late.append(first)
            else:
                found = first
        while found is None and self._late:
            found = self._kept(self._late.popleft(), now)
        return found

    def _wanted_again(self, now: float) -> W | None:
        """Look at one of those who were given up on: somebody may have asked again."""
        if not self._late:
            return None
        first = self._kept(self._late.popleft(), now)
        if first is not None and first.wanted_until < now:
            self._late.append(first)
            return None
        return first

    def _kept(self, first: W, now: float) -> W | None:
        if first.is_answered or first.wanted_until + self._patience_s < now:
            self._drop(first)
            return None
        return first
