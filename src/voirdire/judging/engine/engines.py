"""Makes the engine for a judge, for a run or for a live judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.judging.engine.composite_engines import CascadeEngine, JuryEngine
from voirdire.judging.engine.thread_engine import ThreadEngine
from voirdire.judging.plan import asks_a_model, is_cascade, is_jury

if TYPE_CHECKING:
    from voirdire.judging.bound import BoundJudge, JudgingPlan
    from voirdire.judging.engine.live_settings import LiveSettings
    from voirdire.judging.engine.port import Engine
    from voirdire.judging.settings import StoredReplies

__all__ = ["make_engine"]


def make_engine(
    plan: JudgingPlan, replies: StoredReplies, *, settings: LiveSettings | None = None
) -> Engine:
    """Make the engine for a plan: of a live judge where there are `settings`, else of a run.

    Nothing is opened or called yet. A judge that cannot be asked this way raises an `InputError`.
    """

    def make_model_engine(bound: BoundJudge) -> Engine:
        from voirdire.judging.engine.model_engine import ModelEngine

        return ModelEngine(bound, replies, settings=settings)

    def make_for_plan(plan: JudgingPlan) -> Engine:
        judge: Any = plan.judge
        if is_jury(judge):
            return JuryEngine(judge, [make_for_plan(each) for each in judge.members])
        if is_cascade(judge):
            first = ThreadEngine(judge.first, settings)
            return CascadeEngine(judge, first=first, then=make_model_engine(judge.then))
        return make_model_engine(judge) if asks_a_model(judge) else ThreadEngine(plan, settings)

    return make_for_plan(plan)
