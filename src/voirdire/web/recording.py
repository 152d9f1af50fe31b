"""The record of what a server gave, as of a training run; written in a thread of its own."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from voirdire.rewards.training.watch import TrainingWatch
from voirdire.web.logs import log, log_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.live import LiveScores, Turn
    from voirdire.rewards.model import RewardModel
    from voirdire.web.settings import ServerSettings

__all__ = ["Recording"]

_LATE_STEPS = 8
"""How far clients of one training may be apart."""


class Recording:
    """Writes figures, completions and alarms to a folder, where one is named."""

    def __init__(self, reward: RewardModel, settings: ServerSettings) -> None:
        self._watch: TrainingWatch | None = None
        if settings.record is not None:
            self._watch = TrainingWatch(
                settings.record,
                reward=reward,
                name=reward.name,
                framework="server",
                reference=settings.reference,
                late_steps=_LATE_STEPS,
            )

    @property
    def is_kept(self) -> bool:
        """Whether there is a folder."""
        return self._watch is not None

    def start(self) -> None:
        """Begin."""
        if self._watch is not None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="voirdire-record")

    async def add(
        self, found: Sequence[LiveScores], turns: Sequence[Turn], *, step: int | None
    ) -> int:
        """Write the rewards of a request; give the number of alarms that began.

        Whoever trains needs the rewards more than the record: where it cannot be written, the log
        says so.
        """
        loop = asyncio.get_running_loop()
        try:
            alarms = await loop.run_in_executor(self._thread, self._added, found, turns, step)
        except Exception as error:  # noqa: BLE001  # logged; the rewards are given
            log_error("nothing is recorded of a request", error)
            return 0
        for alarm in alarms:
            log.warning("alarm: %s", alarm)
        return len(alarms)

    async def close(self) -> None:
        """Write what waits."""
        if self._watch is not None:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._thread, self._watch.close)
            self._thread.shutdown(wait=False)

    def _added(
        self, found: Sequence[LiveScores], turns: Sequence[Turn], step: int | None
    ) -> list[str]:
        watch = self._watch
        alarms: list[str] = []
        first = 0
        for scores in found:
            end = first + len(scores.scores.items)
            if watch is not None:
                alarms += watch.add(scores, turns[first:end], step=step)
            first = end
        return alarms
