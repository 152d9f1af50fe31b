"""Runs a reward in an event loop of its own, begun anew in each process that it is sent to."""

from __future__ import annotations

import asyncio
import sys
import weakref
from functools import partial
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from voirdire.errors import InputError
from voirdire.judging.background_loop import BackgroundLoop, fork_lock
from voirdire.models.reward_server import is_reward_server
from voirdire.rewards.live.live_reward import LiveReward
from voirdire.rewards.live.served_reward import ServedReward, read_served_reward
from voirdire.rewards.reward_file import load_reward

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future
    from threading import Thread

    from voirdire.judging.settings import LiveSettings
    from voirdire.rewards.live.turns import LiveScores, Turn
    from voirdire.rewards.model import RewardModel

    _Started = dict[asyncio.AbstractEventLoop, asyncio.Task[LiveReward | ServedReward]]

_GRACE_S = 5.0
_LAST_S = 1.0
"""Seconds that a reward gets when the process ends, or when it is garbage collected."""


class RewardLoop:
    """Makes a live or a served reward, at the latest when it is first asked, and asks it."""

    def __init__(
        self,
        reward: RewardModel | str | Path,
        *,
        settings: LiveSettings,
        behavior: str | None,
        address: str | None = None,
        **judging: Any,
    ) -> None:
        self._address = str(reward) if is_reward_server(reward) else address
        self.reward = (
            reward
            if not isinstance(reward, str | Path)
            else (
                read_served_reward(str(reward)) if is_reward_server(reward) else load_reward(reward)
            )
        )
        self._settings, self._behavior, self._judging = settings, behavior, judging
        decided = [name for name in judging if judging[name] and name != "base_column"]
        if self._address is not None and decided:
            msg = (
                "`judge`, `other_judge`, `store` and `center` must be left out where `reward` is "
                "the address of a server, which decides on them. Start the server with them."
            )
            raise InputError(msg)
        self._made: LiveReward | ServedReward | None = self._make()  # raises mistakes now
        self.judge_fingerprint = self._made.judge_fingerprint
        self._started: _Started = {}
        self._loop = BackgroundLoop()
        self._loop.held = self._started
        self._at_end = weakref.finalize(self, _end, self._loop, self._started)

    def __reduce__(self) -> tuple[Any, ...]:
        _check_travels(self._judging.get("judge"))
        return partial(RewardLoop, **self._describe()), ()

    def anew(self) -> Self:
        """Give a copy that is not begun."""
        return type(self)(**self._describe())

    def _describe(self) -> dict[str, Any]:
        about = {"reward": self.reward, "settings": self._settings, "behavior": self._behavior}
        return about | {"address": self._address} | self._judging

    @property
    def is_alive(self) -> bool:
        """Whether this was not collected, and the process does not end."""
        return self._at_end.alive

    def begin(
        self, turns: Sequence[Turn], limit_s: float, *, adds_base: bool
    ) -> Future[LiveScores]:
        """Ask for the rewards of turns."""
        return self._loop.begin(self._ask(turns, limit_s, adds_base=adds_base))

    def close(self, *, drain_s: float) -> None:
        """Wait for open calls, then end."""
        with fork_lock:
            thread = _leave(self._loop, self._started, drain_s=drain_s)
        if thread is not None:
            thread.join(drain_s + _GRACE_S)

    async def _ask(self, turns: Sequence[Turn], limit_s: float, *, adds_base: bool) -> LiveScores:
        loop = asyncio.get_running_loop()
        if loop not in self._started:
            self._started[loop] = loop.create_task(self._start())
        # a cancelled caller must not cancel the others' work
        live = await asyncio.shield(self._started[loop])
        return await live.turn_rewards(
            turns, behavior=self._behavior, deadline_s=limit_s, adds_base=adds_base
        )

    async def _start(self) -> LiveReward | ServedReward:
        made, self._made = self._made, None
        try:
            live = self._make() if made is None else made
            await live.start()
        except BaseException:
            self._started.pop(asyncio.get_running_loop(), None)  # the next call tries again
            raise
        return live

    def _make(self) -> LiveReward | ServedReward:
        if self._address is None:
            return LiveReward(self.reward, settings=self._settings, **self._judging)
        return ServedReward(
            self._address,
            reward=self.reward,
            base_column=self._judging.get("base_column"),
            settings=self._settings,
        )


def _leave(loop: BackgroundLoop, started: _Started, *, drain_s: float) -> Thread | None:
    """Close the live reward, then stop its loop; return the loop's thread."""

    async def close() -> None:
        starting = started.pop(asyncio.get_running_loop(), None)
        if starting is not None and (await asyncio.wait([starting], timeout=drain_s))[0]:
            await starting.result().close(drain_s=drain_s)

    return None if loop.is_out_of_reach else loop.stop_after(close)


def _end(loop: BackgroundLoop, started: _Started) -> None:
    """Close a reward that is garbage collected, or that runs when the process ends."""
    if (thread := _leave(loop, started, drain_s=0.0)) is not None:
        thread.join(_LAST_S)


def _check_travels(judge: Any) -> None:
    """Refuse an object that cannot be sent to another process, with a clear message.

    Ray and others pickle more than Python does, and theirs may be in use.
    """
    if judge is None or isinstance(judge, str | Path):
        return
    others = [sys.modules.get(name) for name in ("cloudpickle", "ray.cloudpickle")]
    for dumps in (ForkingPickler.dumps, *(other.dumps for other in others if other is not None)):
        try:
            dumps(judge)
        except Exception as error:  # noqa: BLE001  # whatever objects of other people raise
            why = type(error).__name__
        else:
            return
    msg = (
        f"`judge` must be one that can be pickled to travel to another process, got "
        f"{type(judge).__name__} ({why}). Name the judge or its file, which is then made again "
        "there."
    )
    raise InputError(msg)
