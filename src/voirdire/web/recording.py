"""The record of what a server gave, as of a training run; written in a thread of its own."""

from __future__ import annotations

import asyncio
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from voirdire.rewards.training.watch import TrainingWatch
from voirdire.web.logs import log, log_error
from voirdire.web.strands import Strands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.live import LiveScores, Turn
    from voirdire.rewards.model import RewardModel
    from voirdire.web.settings import ServerSettings

__all__ = ["Recording"]


class Recording:
    """Writes figures, completions and alarms to a folder, where one is named."""

    def __init__(self, reward: RewardModel, settings: ServerSettings) -> None:
        self._reward = reward
        self._settings = settings
        self._strands: Strands[TrainingWatch] | None = None
        if settings.record is not None:
            self._first: TrainingWatch | None = self._watch()  # a mistake is told at once
            self._strands = Strands(self._begun, TrainingWatch.close)

    @property
    def is_kept(self) -> bool:
        """Whether there is a folder."""
        return self._strands is not None

    def start(self) -> None:
        """Begin."""
        if self._strands is not None:
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
        if self._strands is not None:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._thread, self._strands.end)
            self._thread.shutdown(wait=False)

    def _begun(self) -> TrainingWatch:
        """Make what records a strand; each writes files of its own."""
        first, self._first = self._first, None
        return self._watch() if first is None else first

    def _watch(self) -> TrainingWatch:
        return TrainingWatch(
            str(self._settings.record),
            reward=self._reward,
            name=self._reward.name,
            framework="server",
            reference=self._settings.reference,
            late_steps=sys.maxsize,  # what is a new beginning is for the strands to say
        )

    def _added(
        self, found: Sequence[LiveScores], turns: Sequence[Turn], step: int | None
    ) -> list[str]:
        alarms: list[str] = []
        if self._strands is None or not turns:
            return alarms
        watch = self._strands.writer_of(step, now=time.monotonic())
        first = 0
        for scores in found:
            end = first + len(scores.scores.items)
            alarms += watch.add(scores, turns[first:end], step=step)
            first = end
        return alarms
