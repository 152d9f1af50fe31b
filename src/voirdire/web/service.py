"""Holds what the routes of a reward server share: the reward, queue, metrics and record."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.judging.engine import CLOSED
from voirdire.rewards.live.missing_numbers import MissingRewards
from voirdire.rewards.live.turns import make_missing_scores
from voirdire.rewards.model import make_reward_document
from voirdire.rewards.training.watch import TrainingWatch
from voirdire.store.database import read_address, show_address
from voirdire.web.forms import RefusedError
from voirdire.web.logs import log, log_error
from voirdire.web.metrics import NO_PLACE, Metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from voirdire.judging.live import LiveVerdicts
    from voirdire.records import Item
    from voirdire.rewards.live import LiveReward, LiveScores, Turn
    from voirdire.web.settings import ServerSettings

_BODIES = 4
"""Largest bodies that all requests together may hold."""

_LEAST_S = 0.001
_UPDATE_S = 1.0


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
        self.missing: MissingRewards | None = None
        try:
            self.missing = MissingRewards(live.reward, declared=settings.missing_reward)
        except InputError:
            if settings.missing_reward is not None:
                raise
        self.record = TrainingRecord(live, settings)
        self.metrics = Metrics(  # scores by criteria are no probabilities, and may be negative
            () if live.reward.criteria else live.judge.questions,
            state=lambda: live.state,
            n_items=lambda: self.queue.length,
        )
        self._n_bytes = 0
        self._said: set[str] = set()
        self._updating: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin, once."""
        if self._updating is not None:
            return
        await self.live.start()

        async def update() -> None:
            while True:  # other workers show these figures
                self.metrics.update()
                await asyncio.sleep(_UPDATE_S)

        self._updating = asyncio.create_task(update())
        live, settings = self.live, self.settings
        needs = "a name of this machine" if settings.token is None else "the token"
        if live.reward.behaviors:
            needs += ", a `base_reward`" * live.adds_base or ", no base rewards"
            own = settings.behavior
            needs += "; behavior: "
            needs += f"{shorten(own)!r} where an item has none" if own else "one with every item"
        stored = live.store and f", replies kept in {show_address(read_address(live.store))}"
        name = shorten(live.judge.plan.judge.name)
        log.info("judge: %s%s; clients need: %s", name, stored or "", needs)

    async def close(self) -> None:
        """End, once."""
        if self._updating is None:
            return
        self._updating.cancel()
        self._updating = None
        await self.live.close(drain_s=self.settings.drain_s)
        await self.record.close()
        self.metrics.log_missing(is_last=True)
        self.metrics.update()

    def describe(self) -> dict[str, Any]:
        """Describe what pays: the reward, its judge, and the document it was loaded from."""
        reward, plan = self.live.reward, self.live.judge.plan
        return {
            "name": reward.name,
            "content_hash": reward.content_hash,
            "fingerprint": plan.fingerprint,
            "judge": plan.judge.name,
            "rubric": reward.rubric.name,
            "rubric_version": reward.rubric.version,
            "behaviors": list(reward.behaviors),
            "propositions": list(reward.columns),
            "uses_base": reward.uses_base,
            "document": make_reward_document(reward),
        }

    def check_ready(self) -> dict[str, str]:
        """Tell that requests are answered; refuse while the judge is out of order."""
        if self.live.state.is_broken:
            msg = "Not ready: the judge is out of order."
            raise RefusedError("not_ready", msg, retry_after="1")
        return {"status": "ready"}

    @contextmanager
    def hold_bytes(self, announced: int | None) -> Iterator[None]:
        """Hold the announced bytes of a request, so that all bodies together stay within bounds.

        A request that announces none holds the most that a body may have.
        """
        most = self.settings.max_body
        n_bytes = most if announced is None else announced
        if n_bytes > most:
            msg = f"The body must have at most {most} bytes. Send the items in several requests."
            raise RefusedError("too_large", msg)
        if self._n_bytes + n_bytes > _BODIES * most:
            msg = "The server holds as many bytes of requests as it may."
            raise RefusedError("queue_full", msg, retry_after="2")
        self._n_bytes += n_bytes
        try:
            yield
        finally:
            self._n_bytes -= n_bytes

    async def judge(self, item: Item) -> LiveVerdicts:
        """Return the verdicts on an item."""
        self.queue.check(1)
        with self.queue.hold(1):
            try:
                verdicts = await self.live.judge.ask([item])
            except asyncio.CancelledError:  # as in `reward_turns`
                msg = "The server is about to end."
                raise RefusedError("not_ready", msg, retry_after="1") from None
        self.metrics.count_verdicts(verdicts)
        return verdicts

    async def reward_turns(
        self, turns: Sequence[Turn], *, end: float, step: int | None = None, run: str | None
    ) -> LiveScores:
        """Return the rewards of turns that are there at a time, and record them.

        Nothing but missing rewards where the server ends meanwhile.
        """
        with self.queue.hold(len(turns)):
            try:
                scores = await self.live.turn_rewards(
                    turns,
                    behavior=self.settings.behavior,
                    deadline_s=max(end - time.monotonic(), _LEAST_S),
                )
                self._count(scores)
            except asyncio.CancelledError:  # uvicorn sends what is answered now
                scores = self.give_nothing(turns, why=f"failed verdict: {CLOSED}")
            self.metrics.alarms.inc(await self.record.add(scores, turns, step=step, run=run))
        return scores

    def give_nothing(self, turns: Sequence[Turn], *, why: str = NO_PLACE) -> LiveScores:
        """Return missing rewards for all turns, without a call."""
        behavior = self.settings.behavior
        scores = make_missing_scores(self.live.reward, turns, why=why, behavior=behavior)
        self._count(scores)
        return scores

    def _count(self, scores: LiveScores) -> None:
        if not self._said.issuperset(scores.scores.notes):
            self._said.update(scores.scores.notes)
            log.warning("%s", "; ".join(scores.scores.notes))
        self.metrics.count_verdicts(scores)
        self.metrics.count_rewards(scores.scores.rewards, list(scores.scores.missing.values()))


# The queue ------------------------------------------------------------------------------------

_RETRY_S = 2
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
        self._n_held = 0
        self._n_waiting = n_waiting

    @property
    def length(self) -> int:
        """Items under way."""
        return max(self._n_held, self._n_waiting())

    def check(self, n_items: int) -> None:
        """Refuse a request that has no place now, or never has one."""
        if n_items > self.most:
            msg = f"A request must have at most {self.most} items. Send several requests."
            raise RefusedError("too_large", msg)
        if self.length + n_items > self.most:
            msg = f"The server has as many items as it may hold. Ask again in {_RETRY_S} s."
            raise RefusedError("queue_full", msg, retry_after=str(_RETRY_S))

    async def wait_for_place(self, n_items: int, *, end: float) -> bool:
        """Wait until a time for the items to have places; tell whether they have."""
        while self.length + n_items > self.most and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_AGAIN_S)
        return self.length + n_items <= self.most

    @contextmanager
    def hold(self, n_items: int) -> Iterator[None]:
        """Hold the items of a request until the block ends."""
        self._n_held += n_items
        try:
            yield
        finally:
            self._n_held -= n_items


# The record -----------------------------------------------------------------------------------

_MOST_RUNS = 32
"""Runs that one server records: each has files that are open."""

_LATE_STEPS = 8
"""How far the clients of one training may be apart; beyond, it was begun again."""


class TrainingRecord:
    """Writes metrics, completions and alarms of runs, in a thread of its own, where it is to.

    What clients send without a name is one run, in the folder itself; a run with a name has a
    folder of that name in it.
    """

    def __init__(self, live: LiveReward, settings: ServerSettings) -> None:
        self._live, self._settings = live, settings
        self._stopped: dict[str | None, str] = {}
        self._runs: dict[str | None, TrainingWatch] = {}
        self._is_kept = settings.record is not None or bool(settings.stop_on)
        if self._is_kept:
            self._watch(None)  # now, so that a mistake is told at once
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="voirdire-record")

    async def add(
        self, scores: LiveScores, turns: Sequence[Turn], *, step: int | None, run: str | None
    ) -> int:
        """Write the rewards of a request; return the number of alarms that began.

        The training needs the rewards more than the record: an error of writing is only logged.
        """
        if not self._is_kept or not turns:
            return 0

        if run not in self._runs and len(self._runs) > _MOST_RUNS:
            log.warning("nothing is recorded of a request: %d runs are recorded", _MOST_RUNS)
            return 0
        try:
            loop = asyncio.get_running_loop()
            alarms = await loop.run_in_executor(
                self._thread, lambda: self._watch(run).add(scores, turns, step=step)
            )
        except Exception as error:  # noqa: BLE001  # logged; the rewards are given
            log_error("nothing is recorded of a request", error)
            return 0
        for alarm in alarms:
            said = f"step {alarm.step}: {alarm.text}"
            log.warning("alarm: %s", said)
            if alarm.kind in self._settings.stop_on:
                self._stopped[run] = said
        return len(alarms)

    def check_stopped(self, run: str | None) -> None:
        """Refuse a request of a run that was to stop at an alarm."""
        if run in self._stopped:
            msg = f"The run was to stop at an alarm, which began: {self._stopped[run]}."
            raise RefusedError("stopped", msg)

    async def close(self) -> None:
        """Write what waits."""
        loop = asyncio.get_running_loop()
        for watch in self._runs.values():
            await loop.run_in_executor(self._thread, watch.close)
        self._thread.shutdown(wait=False)

    def _watch(self, run: str | None) -> TrainingWatch:
        if run not in self._runs:
            folder = self._settings.record
            self._runs[run] = TrainingWatch(
                None if folder is None else Path(folder) / (run or ""),
                reward=self._live.reward,
                name=self._live.reward.name,
                framework="server",
                judge_fingerprint=self._live.judge_fingerprint,
                late_steps=_LATE_STEPS,
            )
        return self._runs[run]
