"""Which asker suits a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.judging.live.thread_asker import ThreadAsker

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire.judging.live.asker import Asker
    from voirdire.judging.live.settings import LiveSettings
    from voirdire.judging.plan import JudgingPlan

__all__ = ["asker_of"]


def asker_of(plan: JudgingPlan, *, store: str | Path | None, settings: LiveSettings) -> Asker:
    """Make what answers for a plan; nothing is opened or called yet."""
    del store  # a judge in process stores nothing
    return ThreadAsker(plan, settings)
