"""What stands behind a live judge: something that answers items in its own time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.live.answers import Asked, LiveState

__all__ = ["Asker"]


class Asker(Protocol):
    """Answers items; belongs to one event loop."""

    async def start(self) -> None:
        """Begin."""

    def submit(self, asked: Sequence[Asked]) -> None:
        """Take items, each of which gets its answer or its failure; never raises, never waits."""

    async def close(self, *, drain_s: float) -> None:
        """Take no more, wait so long for what is on its way, and answer the rest with failures."""

    @property
    def state(self) -> LiveState:
        """How it stands."""
