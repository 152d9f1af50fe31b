"""Score while other tasks of an event loop go on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError, StoppedError
from voirdire.judging.engine.stopping import Stopping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.scoring.scores import Scores

__all__ = ["score_in_thread"]


async def score_in_thread(model: RewardModel, items: Any, settings: Mapping[str, Any]) -> Scores:
    """Score in a thread; see `RewardModel.ascore`."""
    if "stopping" in settings:
        msg = "`stopping` must be left out of `ascore`, got one. Cancel the task instead."
        raise InputError(msg)
    stopping = Stopping()

    def run() -> Scores:
        try:
            return model.score(items, stopping=stopping, **settings)
        except KeyboardInterrupt as error:  # how a run ends that is stopped; not a user's Ctrl-C
            msg = "the scoring was cancelled; the replies that came are kept in the store."
            raise StoppedError(msg) from error

    work = asyncio.ensure_future(asyncio.to_thread(run))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        stopping.set()
        await _ended(work, stopping)
        raise


async def _ended(work: asyncio.Future[Scores], stopping: Stopping) -> None:
    """Wait for what is in flight; cancelled again, do not wait for its replies."""
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            stopping.at_once.set()
    if not work.cancelled():
        work.exception()  # looked at, so that nobody complains of it
