"""A judge that lives long: answers in memory, one call for equal items, a deadline per request."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.live.answers import LATE, Asked, LiveVerdicts
from voirdire.judging.live.askers import asker_of
from voirdire.judging.live.remembered import Remembered
from voirdire.judging.live.settings import LiveSettings, check_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from voirdire.judging.live.answers import LiveAnswer, LiveState
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item

__all__ = ["LiveJudge"]


class LiveJudge:
    """Answers the propositions of one rubric about items, request by request.

    Parameters
    ----------
    plan : JudgingPlan
        Who answers what.
    store : str or path, optional
        Where a language model's replies are kept and found again, shared with the command line.
    settings : LiveSettings, optional
        Deadline, memory and bounds.

    Notes
    -----
    *Order*: verdicts follow the items of their request. *Errors*: an item that gets no answer has
    a failure; no request raises for what the judge does. *Cancellation*: a request may be
    cancelled; what it asked goes on, and is stored. *Memory*: the verdicts that are remembered,
    and the items that wait, both bounded. *Retries and caching*: the limits of a language model
    hold over all requests together; equal items are asked about once, and whole answers are
    remembered.
    """

    def __init__(
        self,
        plan: JudgingPlan,
        *,
        store: str | Path | None = None,
        settings: LiveSettings | None = None,
    ) -> None:
        self.plan = plan
        self.settings = LiveSettings() if settings is None else settings
        self._remembered = Remembered(self.settings.remembered)
        self._under_way: dict[bytes, asyncio.Future[LiveAnswer]] = {}
        self._asker = asker_of(plan, store=store, settings=self.settings)

    @property
    def state(self) -> LiveState:
        """How the judge stands."""
        return self._asker.state

    async def start(self) -> None:
        """Begin; call it in the event loop that asks."""
        await self._asker.start()

    async def close(self, *, drain_s: float = 30.0) -> None:
        """Wait so long for what is on its way, then end."""
        await self._asker.close(drain_s=drain_s)

    async def ask(self, items: Sequence[Item], *, deadline_s: float | None = None) -> LiveVerdicts:
        """Answer the propositions about items.

        Parameters
        ----------
        items : sequence of Item
            Equal ones are asked about once.
        deadline_s : float, optional
            Seconds; by default what the settings say.

        Returns
        -------
        LiveVerdicts
            In the order of the items; what was late or failed is missing, with its reason.
        """
        limit = self.settings.deadline_s
        if deadline_s is not None:
            limit = check_seconds("deadline_s", deadline_s)
        keys = [item.content_hash() for item in items]
        found = {key: self._remembered.get(key) for key in dict.fromkeys(keys)}
        n_remembered = sum(found[key] is not None for key in keys)
        waiting = self._begun(keys, items, found)
        if waiting:
            await asyncio.wait(waiting.values(), timeout=limit)
        for key, future in waiting.items():
            if future.done() and not future.cancelled():
                found[key] = future.result()
        return self._verdicts([found[key] for key in keys], n_remembered=n_remembered)

    def _begun(
        self,
        keys: Sequence[bytes],
        items: Sequence[Item],
        found: dict[bytes, LiveAnswer | None],
    ) -> dict[bytes, asyncio.Future[LiveAnswer]]:
        """Have asked what nobody has asked yet; give what is waited for."""
        loop = asyncio.get_running_loop()
        waiting: dict[bytes, asyncio.Future[LiveAnswer]] = {}
        new: list[Asked] = []
        for key, item in zip(keys, items, strict=True):
            if found[key] is not None or key in waiting:
                continue
            future = self._under_way.get(key)
            if future is None:
                future = loop.create_future()
                future.add_done_callback(partial(self._ended, key))
                self._under_way[key] = future
                new.append(Asked(key, item, future))
            waiting[key] = future
        if new:
            self._asker.submit(new)
        return waiting

    def _ended(self, key: bytes, future: asyncio.Future[LiveAnswer]) -> None:
        self._under_way.pop(key, None)
        if not future.cancelled() and future.exception() is None:
            answer = future.result()
            if answer.failure is None:
                self._remembered.put(key, answer)

    def _verdicts(self, answers: Sequence[LiveAnswer | None], *, n_remembered: int) -> LiveVerdicts:
        nothing = np.full(len(self.plan.rubric.propositions), np.nan)
        rows = [nothing if answer is None else answer.probabilities for answer in answers]
        return LiveVerdicts(
            probabilities=np.array(rows).reshape(len(rows), nothing.size),
            behaviors=tuple(None if answer is None else answer.behavior for answer in answers),
            failures=tuple(LATE if answer is None else answer.failure for answer in answers),
            n_remembered=n_remembered,
            n_stored=sum(answer is not None and answer.is_stored for answer in answers),
            n_late=sum(answer is None for answer in answers),
        )
