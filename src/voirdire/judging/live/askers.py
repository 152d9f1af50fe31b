"""Which asker suits a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.judging.cascade.bound_cascade import BoundCascade
from voirdire.judging.plan import asks_a_model

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire.judging.live.asker import Asker
    from voirdire.judging.live.settings import LiveSettings
    from voirdire.judging.plan import JudgingPlan

__all__ = ["asker_of"]


def asker_of(plan: JudgingPlan, *, store: str | Path | None, settings: LiveSettings) -> Asker:
    """Make what answers for a plan; nothing is opened or called yet.

    Parameters
    ----------
    plan : JudgingPlan
        Who answers what.
    store : str or path, optional
        Where a language model's replies are kept; a judge in process stores nothing.
    settings : LiveSettings
        Deadline, memory and bounds.

    Returns
    -------
    Asker
        Not started.

    Raises
    ------
    InputError
        If the judge cannot be asked like this.
    """
    judge = plan.judge
    if isinstance(judge, BoundCascade):
        from voirdire.judging.live.cascade_asker import CascadeAsker

        return CascadeAsker(judge, store=store, settings=settings)
    if asks_a_model(judge):
        from voirdire.judging.live.model_asker import ModelAsker

        return ModelAsker(judge, store=store, settings=settings)
    from voirdire.judging.live.thread_asker import ThreadAsker

    return ThreadAsker(plan, settings)
