"""Holds what the routes of a reward server share: the reward, queue, metrics and record."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.rewards.live.missing_numbers import MissingRewards
from voirdire.rewards.live.turns import make_missing_scores
from voirdire.rewards.model import make_reward_document
from voirdire.rewards.training.watch import TrainingWatch
from voirdire.store.reply_store import read_address, show_address
from voirdire.web.answers import RewardDescription
from voirdire.web.logs import log, log_error
from voirdire.web.metrics import NO_PLACE, Metrics
from voirdire.web.refusals import RefusedError
from voirdire.web.requests import BodyLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from voirdire.rewards.live import LiveReward, LiveScores, Turn
    from voirdire.web.settings import ServerSettings

__all__ = ["RewardService"]

_BODIES = 4
"""Largest bodies that all requests together may hold."""

_PART = 128
"""Turns per part, after which other requests run: about 3 ms."""

_LONG = 1024 * 1024
"""Bodies with more bytes are read in a thread: they take more than a millisecond."""

_LEAST_S = 0.001
_LAST_S = 1.0

Found = TypeVar("Found")


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
        self.queue = ItemQueue(most, n_waiting=lambda: live.n_waiting)
        self.bodies = BodyLimit(
            settings.max_body, most_together=_BODIES * settings.max_body, seconds=settings.body_s
        )
        self.missing, self.why_no_missing = _missing_rewards(live, settings)
        self.record = None if settings.record is None else TrainingRecord(live, settings)
        self.metrics = Metrics(
            live.reward.columns,
            state=lambda: live.state,
            n_items=lambda: self.queue.length,
        )
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="voirdire-long")
        self.description: RewardDescription | None = None
        self._is_closed = False

    @property
    def is_started(self) -> bool:
        """Whether rewards are given."""
        return self.description is not None

    async def start(self) -> None:
        """Begin, once."""
        if self.is_started:
            return
        await self.live.start()
        reward, nothing = self.live.reward, (await self.live.rewards([])).judged
        self.description = RewardDescription(
            name=reward.name,
            content_hash=reward.content_hash,
            fingerprint=nothing.fingerprint,
            judge=nothing.judge,
            rubric=reward.rubric.name,
            rubric_version=reward.rubric.version,
            behaviors=list(reward.behaviors),
            propositions=list(reward.columns),
            uses_base=reward.uses_base,
            document=make_reward_document(reward),
        )

    async def drain(self) -> None:
        """Take no more requests, let open ones end, then answer the others with failures."""
        end = time.monotonic() + self.settings.drain_s
        self.queue.close()
        while self.queue.n_held and time.monotonic() < end:  # noqa: ASYNC110  # a clock ends it too
            await asyncio.sleep(_LOOK_AGAIN_S)
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
        if self.record is not None:
            await self.record.close()
        self.metrics.missing_log.write(is_last=True)
        self._thread.shutdown(wait=False)

    @property
    def needs(self) -> str:
        """Describe the judge of the server, and what requests need."""
        reward, judge = self.live.reward, self.description.judge if self.description else "?"
        token = "a name of this machine" if self.settings.token is None else "the token"
        base = "a `base_reward` with every item" if reward.uses_base else "no base rewards"
        store = self.live.store
        stored = "" if store is None else f", replies kept in {show_address(read_address(store))}"
        behavior = "one with every item"
        if self.settings.behavior is not None:
            behavior = f"{shorten(self.settings.behavior)!r} where an item has none"
        return (
            f"judge: {shorten(judge)}{stored}; clients need: {token}, {base}; behavior: {behavior}"
        )

    @property
    def why_not_ready(self) -> str | None:
        """Return why requests are not answered now; None where they are."""
        if not self.is_started:
            return "starting"
        if self.queue.is_closed:
            return "ending"
        return "the judge is out of order" if self.live.state.is_broken else None

    def deadline_s(self, asked: float | None) -> float:
        """Return the deadline of a request: its own, at most the server's."""
        own = self.live.settings.deadline_s
        return own if asked is None else min(asked, own)

    async def run(self, body: bytes, work: Callable[[], Found]) -> Found:
        """Run work on a body; for a long body in a thread, one at a time."""
        if len(body) < _LONG:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def reward_turns(self, turns: Sequence[Turn], *, deadline_s: float) -> list[LiveScores]:
        """Return the rewards of turns, for long requests in several parts.

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
            return [await self.reward_turns_at_once(turns, deadline_s=deadline_s)]
        end = time.monotonic() + deadline_s
        async with asyncio.TaskGroup() as group:
            tasks = []
            for first in range(0, len(turns), _PART):
                left = end - time.monotonic()
                part = self.reward_turns_at_once(turns[first : first + _PART], deadline_s=left)
                tasks.append(group.create_task(part))
                await asyncio.sleep(0)  # other requests get their turn
        return [task.result() for task in tasks]

    async def reward_turns_at_once(self, turns: Sequence[Turn], *, deadline_s: float) -> LiveScores:
        """Return the rewards of turns, in one part."""
        found = await self.live.turn_rewards(
            turns, behavior=self.settings.behavior, deadline_s=max(deadline_s, _LEAST_S)
        )
        self.metrics.count_rewards(found)
        return found

    def nothing(self, turns: Sequence[Turn]) -> LiveScores:
        """Return missing rewards for all turns, without a call."""
        found = make_missing_scores(
            self.live.reward, turns, why=NO_PLACE, behavior=self.settings.behavior
        )
        self.metrics.count_rewards(found)
        return found

    async def write_record(
        self,
        found: Sequence[LiveScores],
        turns: Sequence[Turn],
        *,
        step: int | None,
        run: str | None,
    ) -> None:
        """Record the rewards, where there is a record."""
        if self.record is not None and turns:
            n_alarms = await self.record.add(found, turns, step=step, run=run)
            self.metrics.n_alarms += n_alarms


def _is_divisible(turns: Sequence[Turn]) -> bool:
    """Return whether parts are treated as the whole: one base reward among turns concerns all."""
    with_base = sum(turn.base_reward is not None for turn in turns)
    return with_base in (0, len(turns))


def _missing_rewards(
    live: LiveReward, settings: ServerSettings
) -> tuple[MissingRewards | None, str]:
    """Return the numbers that stand for missing rewards, or say why there are none."""
    try:
        return MissingRewards(live.reward, declared=settings.missing_reward), ""
    except InputError:
        if settings.missing_reward is not None:
            raise
    return None, "This reward knows no mean. Start the server with --missing-reward."


# The queue ------------------------------------------------------------------------------------

_WINDOW_S = 10.0
_LONGEST_RETRY_S = 60
_LOOK_AGAIN_S = 0.05


class ItemQueue:
    """A bound on items under way.

    Parameters
    ----------
    most : int
        Items.
    n_waiting : callable
        Items that wait for the judge, also those whose requests were answered without them.
    """

    def __init__(self, most: int, *, n_waiting: Callable[[], int]) -> None:
        self.most = most
        self.n_held = 0
        self.is_closed = False
        self._n_waiting = n_waiting
        self._done: deque[tuple[float, int]] = deque()

    @property
    def length(self) -> int:
        """Items under way."""
        return max(self.n_held, self._n_waiting())

    def check_open(self, n_items: int = 1) -> None:
        """Refuse a request: before its body is read, where it could not be taken anyway."""
        if self.is_closed:
            msg = "The server is about to end. Ask another one."
            raise RefusedError("ending", msg, retry_after_s=_LONGEST_RETRY_S // 6)
        if self.length + n_items > self.most:
            seconds = self.retry_after_s(n_items)
            msg = f"The server has as many items as it may hold. Ask again in {seconds} s."
            raise RefusedError("queue_full", msg, retry_after_s=seconds)

    async def has_place(self, n_items: int, *, seconds: float) -> bool:
        """Wait so long until the items can be held; tell whether they can."""
        end = time.monotonic() + seconds
        while not self.is_closed and self.length + n_items > self.most:
            left = end - time.monotonic()
            if left <= 0:
                return False
            await asyncio.sleep(min(_LOOK_AGAIN_S, left))
        return not self.is_closed

    @contextmanager
    def hold(self, n_items: int) -> Iterator[None]:
        """Hold the items of a request until the block ends."""
        self.n_held += n_items
        try:
            yield
        finally:
            self.n_held -= n_items
            now = time.monotonic()
            self._done.append((now, n_items))
            while self._done[0][0] < now - _WINDOW_S:
                self._done.popleft()

    def close(self) -> None:
        """Take no more."""
        self.is_closed = True

    def retry_after_s(self, n_items: int) -> int:
        """Estimate in how many seconds so many items have a place, from how many are done."""
        now = time.monotonic()
        recent = [(when, n) for when, n in self._done if when >= now - _WINDOW_S]
        if not recent:
            return math.ceil(_WINDOW_S / 2)
        rate = sum(n for _, n in recent) / max(now - recent[0][0], 1.0)
        too_many = max(self.length + n_items - self.most, 1)
        return min(max(math.ceil(too_many / max(rate, 1e-9)), 1), _LONGEST_RETRY_S)


# The record -----------------------------------------------------------------------------------

_MOST_RUNS = 32
"""Runs that one server records: each has files that are open."""

_LATE_STEPS = 8
"""How far the clients of one training may be apart; beyond, it was begun again."""


class TrainingRecord:
    """Writes metrics, completions and alarms of runs, in a thread of its own.

    What clients send without a name is one run, in the folder itself; a run with a name has a
    folder of that name in it.
    """

    def __init__(self, live: LiveReward, settings: ServerSettings) -> None:
        self._live = live
        self._settings = settings
        self._runs: dict[str | None, TrainingWatch] = {
            None: self._watch(None)
        }  # a mistake is told at once
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="voirdire-record")

    async def add(
        self,
        found: Sequence[LiveScores],
        turns: Sequence[Turn],
        *,
        step: int | None,
        run: str | None,
    ) -> int:
        """Write the rewards of a request; return the number of alarms that began.

        The training needs the rewards more than the record: an error of writing is only logged.
        """
        loop = asyncio.get_running_loop()
        try:
            alarms = await loop.run_in_executor(self._thread, self._add, found, turns, step, run)
        except Exception as error:  # noqa: BLE001  # logged; the rewards are given
            log_error("nothing is recorded of a request", error)
            return 0
        for alarm in alarms:
            log.warning("alarm: %s", alarm)
        return len(alarms)

    async def close(self) -> None:
        """Write what waits."""
        loop = asyncio.get_running_loop()
        for watch in self._runs.values():
            await loop.run_in_executor(self._thread, watch.close)
        self._thread.shutdown(wait=False)

    def _watch(self, run: str | None) -> TrainingWatch:
        reward, settings = self._live.reward, self._settings
        return TrainingWatch(
            Path(str(settings.record), *(() if run is None else (run,))),
            reward=reward,
            name=reward.name,
            framework="server",
            late_steps=_LATE_STEPS,
        )

    def _add(
        self,
        found: Sequence[LiveScores],
        turns: Sequence[Turn],
        step: int | None,
        run: str | None,
    ) -> list[str]:
        if run not in self._runs:
            if len(self._runs) > _MOST_RUNS:
                log.warning("nothing is recorded of a request: %d runs are recorded", _MOST_RUNS)
                return []
            self._runs[run] = self._watch(run)
        alarms: list[str] = []
        first = 0
        for scores in found:
            end = first + len(scores.scores.items)
            alarms += self._runs[run].add(scores, turns[first:end], step=step)
            first = end
        return alarms
