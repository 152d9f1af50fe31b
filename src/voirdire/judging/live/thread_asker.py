"""A judge in this process, asked about whatever has gathered, in a thread of its own."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.answering import verdicts_on
from voirdire.judging.live.answers import LiveAnswer, LiveState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.live.answers import Asked
    from voirdire.judging.live.settings import LiveSettings
    from voirdire.judging.plan import JudgingPlan

__all__ = ["ThreadAsker"]


class ThreadAsker:
    """Answers items with a plan whose judge is called like a function."""

    def __init__(self, plan: JudgingPlan, settings: LiveSettings) -> None:
        self._plan = plan
        self._settings = settings
        self._waiting: deque[Asked] = deque()
        self._n_calls = self._n_failures = 0
        self._working: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="voirdire-judge")

    @property
    def state(self) -> LiveState:
        """How it stands."""
        return LiveState(
            n_waiting=len(self._waiting), n_calls=self._n_calls, n_failures=self._n_failures
        )

    def submit(self, asked: Sequence[Asked]) -> None:
        """Take items."""
        self._waiting.extend(asked)
        if self._working is None or self._working.done():
            self._working = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            size = min(len(self._waiting), self._settings.batch_size)
            batch = [self._waiting.popleft() for _ in range(size)]
            self._n_calls += 1
            answers = await loop.run_in_executor(self._thread, self._answers, batch)
            for asked, answer in zip(batch, answers, strict=True):
                self._n_failures += answer.failure is not None
                if not asked.future.done():
                    asked.future.set_result(answer)

    def _answers(self, batch: Sequence[Asked]) -> list[LiveAnswer]:
        n_propositions = len(self._plan.rubric.propositions)
        try:
            found = verdicts_on([asked.item for asked in batch], self._plan)
        except Exception as error:  # noqa: BLE001  # the judge's fault: each item says so
            failure = f"the judge raised {type(error).__name__}"
            nothing = np.full(n_propositions, np.nan)
            return [LiveAnswer(probabilities=nothing, failure=failure) for _ in batch]
        failures = {row: failure.reason for (row, _), failure in found.failures.items()}
        return [
            LiveAnswer(
                probabilities=found.probabilities[row],
                behavior=found.behaviors[row],
                failure=failures.get(row),
            )
            for row in range(len(batch))
        ]

    async def close(self, *, drain_s: float) -> None:
        """Take no more."""
        if self._working is not None and not self._working.done():
            await asyncio.wait([self._working], timeout=drain_s)
        self._thread.shutdown(wait=False, cancel_futures=True)
