"""What the routes of a reward server share: the reward, the queue, the figures, the record."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from voirdire.errors import InputError
from voirdire.rewards.live.live_scores import nothing_scored
from voirdire.rewards.live.missing import MissingRewards
from voirdire.web.bodies import BodyBudget
from voirdire.web.figures import Figures
from voirdire.web.item_queue import ItemQueue
from voirdire.web.logs import log
from voirdire.web.reasons import NO_PLACE
from voirdire.web.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.live import LiveReward
    from voirdire.rewards.live.live_scores import LiveScores
    from voirdire.rewards.live.turns import Turn
    from voirdire.web.settings import ServerSettings

__all__ = ["RewardService"]

_BODIES = 4
"""Largest bodies that all requests together may hold."""

_PART = 128
"""Turns that are worked on before others get their turn: about 3 ms."""

_LEAST_S = 0.001
_LAST_S = 1.0


class RewardService:
    """Gives rewards to routes; belongs to one event loop.

    Parameters
    ----------
    live : LiveReward
        What gives rewards.
    settings : ServerSettings
        Who may ask, how much, and how long.

    Raises
    ------
    InputError
        If the reward has no such behavior, or the record cannot be kept.
    """

    def __init__(self, live: LiveReward, settings: ServerSettings) -> None:
        if settings.behavior is not None:
            live.reward.behavior(settings.behavior)
        self.live = live
        self.settings = settings
        most = min(settings.queue, live.settings.most_waiting)
        self.queue = ItemQueue(most, n_waiting=lambda: live.state.n_waiting)
        self.budget = BodyBudget(_BODIES * settings.max_body)
        self.missing, self.why_no_missing = _missing(live, settings)
        self.reading = asyncio.Lock()
        self.recording = Recording(live.reward, settings)
        self.figures = Figures(
            live.reward.rubric.propositions,
            state=lambda: live.state,
            queue_length=lambda: self.queue.length,
        )
        self.fingerprint = ""
        self.judge = ""
        self.is_started = False
        self._is_closed = False

    async def start(self) -> None:
        """Begin, once."""
        if self.is_started:
            return
        self.recording.start()
        await self.live.start()
        nothing = (await self.live.rewards([])).judged
        self.fingerprint, self.judge = nothing.fingerprint, nothing.judge
        self.is_started = True

    async def drain(self) -> None:
        """Take no more, let requests under way end, then have the rest answered with failures."""
        began = time.monotonic()
        end = began + self.settings.drain_s
        self.queue.close()
        await self.queue.emptied(seconds=self.settings.drain_s)
        if self.queue.n_held:
            log.warning("%d items are left after %g s", self.queue.n_held, self.settings.drain_s)
        await self.close(drain_s=max(end - time.monotonic(), _LAST_S))

    async def close(self, *, drain_s: float | None = None) -> None:
        """End, once."""
        self.queue.close()
        if self._is_closed or not self.is_started:
            return
        self._is_closed = True
        await self.live.close(drain_s=self.settings.drain_s if drain_s is None else drain_s)
        await self.recording.close()

    @property
    def why_not_ready(self) -> str | None:
        """Say why nobody should ask just now; None where everybody may."""
        if not self.is_started:
            return "starting"
        if self.queue.is_closed:
            return "ending"
        return "the judge is out of order" if self.live.state.is_broken else None

    def deadline_s(self, asked: float | None) -> float:
        """Give the seconds that a request has: what it asks for, at most the server's own."""
        own = self.live.settings.deadline_s
        return own if asked is None else min(asked, own)

    async def rewarded(self, turns: Sequence[Turn], *, deadline_s: float) -> list[LiveScores]:
        """Give turns their rewards, long requests in several parts.

        Parameters
        ----------
        turns : sequence of Turn
            In any number.
        deadline_s : float
            Seconds after which what is there is given.

        Returns
        -------
        list of LiveScores
            One after the other they follow the turns; at least one.
        """
        if len(turns) <= _PART or not _is_divisible(turns):
            found = [await self._part(turns, seconds=deadline_s)]
        else:
            found = await self._parts(turns, end=time.monotonic() + deadline_s)
        for scores in found:
            self.figures.rewarded(scores)
        return found

    async def rewarded_at_once(self, turns: Sequence[Turn], *, seconds: float) -> LiveScores:
        """Give turns their rewards, in one part however many there are."""
        found = await self._part(turns, seconds=seconds)
        self.figures.rewarded(found)
        return found

    async def record(
        self, found: Sequence[LiveScores], turns: Sequence[Turn], *, step: int | None
    ) -> None:
        """Write down what was given, where a record is kept."""
        if self.recording.is_kept:
            self.figures.alarms.inc(await self.recording.add(found, turns, step=step))

    def nothing(self, turns: Sequence[Turn]) -> LiveScores:
        """Give turns no rewards, without asking anybody."""
        found = nothing_scored(
            self.live.reward, turns, why=NO_PLACE, behavior=self.settings.behavior
        )
        self.figures.rewarded(found)
        return found

    async def _part(self, turns: Sequence[Turn], *, seconds: float) -> LiveScores:
        return await self.live.turn_rewards(
            turns, behavior=self.settings.behavior, deadline_s=max(seconds, _LEAST_S)
        )

    async def _parts(self, turns: Sequence[Turn], *, end: float) -> list[LiveScores]:
        async with asyncio.TaskGroup() as group:
            tasks = []
            for first in range(0, len(turns), _PART):
                left = end - time.monotonic()
                part = self._part(turns[first : first + _PART], seconds=left)
                tasks.append(group.create_task(part))
                await asyncio.sleep(0)  # other requests get their turn
        return [task.result() for task in tasks]


def _is_divisible(turns: Sequence[Turn]) -> bool:
    """Tell whether parts are treated as the whole: one base reward among turns concerns all."""
    with_base = sum(turn.base_reward is not None for turn in turns)
    return with_base in (0, len(turns))


def _missing(
    live: LiveReward, settings: ServerSettings
) -> tuple[MissingRewards | None, str | None]:
    """Give the numbers that stand for missing rewards, or say why there are none."""
    try:
        return MissingRewards(live.reward, declared=settings.missing_reward), None
    except InputError:
        if settings.missing_reward is not None:
            raise
    return None, "This reward knows no mean. Start the server with --missing-reward."
