"""Which engine suits a judge, in a run and in service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.judging.engine.cascade_engine import CascadeEngine
from voirdire.judging.engine.model_engine import RunModelEngine, ServiceModelEngine
from voirdire.judging.engine.thread_engine import ThreadEngine
from voirdire.judging.plan import asks_a_model, is_cascade

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire.judging.engine.port import Engine
    from voirdire.judging.live.settings import LiveSettings
    from voirdire.judging.plan import JudgingPlan
    from voirdire.store import ReplyStore

__all__ = ["run_engine", "service_engine"]


def run_engine(
    plan: JudgingPlan, *, store: ReplyStore | None, retry_failures: bool
) -> tuple[Engine, int]:
    """Make what answers a run, and say how many calls it makes at once.

    Raises
    ------
    InputError
        If the judge cannot be asked like this, such as a limit of cost without a price.
    """
    judge = plan.judge
    if is_cascade(judge):
        then = RunModelEngine(judge.then, store=store, retry_failures=retry_failures)
        first = ThreadEngine(judge.first, None)
        return CascadeEngine(judge, first=first, then=then), judge.judge.limits.concurrency
    if asks_a_model(judge):
        engine = RunModelEngine(judge, store=store, retry_failures=retry_failures)
        return engine, judge.judge.limits.concurrency
    return ThreadEngine(plan, None), 1


def service_engine(
    plan: JudgingPlan, *, store: str | Path | None, settings: LiveSettings
) -> Engine:
    """Make what answers in service; nothing is opened or called yet.

    Parameters
    ----------
    plan : JudgingPlan
        Who answers what.
    store : str or path, optional
        Where a language model's replies are kept; a judge in process stores nothing.
    settings : LiveSettings
        Deadline, memory and bounds.

    Raises
    ------
    InputError
        If the judge cannot be asked like this, such as a limit of cost without a price.
    """
    judge = plan.judge
    if is_cascade(judge):
        then = ServiceModelEngine(judge.then, store=store, settings=settings)
        return CascadeEngine(judge, first=ThreadEngine(judge.first, settings), then=then)
    if asks_a_model(judge):
        return ServiceModelEngine(judge, store=store, settings=settings)
    return ThreadEngine(plan, settings)
