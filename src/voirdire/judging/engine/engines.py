"""Which engine suits a judge, in a run and in service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.judging.engine.cascade_engine import CascadeEngine
from voirdire.judging.engine.thread_engine import ThreadEngine
from voirdire.judging.plan import asks_a_model, is_cascade, is_jury

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from voirdire.judging.bound import BoundJudge
    from voirdire.judging.engine.port import Engine
    from voirdire.judging.live.settings import LiveSettings
    from voirdire.judging.plan import JudgingPlan
    from voirdire.store import ReplyStore

__all__ = ["run_engine", "service_engine"]


def run_engine(plan: JudgingPlan, *, store: ReplyStore | None, retry_failures: bool) -> Engine:
    """Make what answers a run.

    Raises
    ------
    InputError
        If the judge cannot be asked like this, such as a limit of cost without a price.
    """

    def model_engine(bound: BoundJudge) -> Engine:
        from voirdire.judging.engine.model_engine import RunModelEngine

        return RunModelEngine(bound, store=store, retry_failures=retry_failures)

    return _engine(plan, model_engine, settings=None)


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

    def model_engine(bound: BoundJudge) -> Engine:
        from voirdire.judging.engine.model_engine import ServiceModelEngine

        return ServiceModelEngine(bound, store=store, settings=settings)

    return _engine(plan, model_engine, settings=settings)


def _engine(
    plan: JudgingPlan,
    model_engine: Callable[[BoundJudge], Engine],
    *,
    settings: LiveSettings | None,
) -> Engine:
    judge: Any = plan.judge
    if is_jury(judge):
        from voirdire.judging.engine.jury_engine import JuryEngine

        members = [_engine(each, model_engine, settings=settings) for each in judge.members]
        return JuryEngine(judge, members)
    if is_cascade(judge):
        first = ThreadEngine(judge.first, settings)
        return CascadeEngine(judge, first=first, then=model_engine(judge.then))
    if asks_a_model(judge):
        return model_engine(judge)
    return ThreadEngine(plan, settings)
