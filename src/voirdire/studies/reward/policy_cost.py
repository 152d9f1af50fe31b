"""Calls, tokens, dollars and seconds that judging a policy's responses takes."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.judging.judges.token_estimate import estimate_tokens
from voirdire.judging.plan import asks_a_model, plan_judging
from voirdire.records import Usage
from voirdire.rewards.reward_judge import asked_judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.bound import BoundJudge
    from voirdire.judging.engine.call_summary import CallSummary
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item
    from voirdire.rewards.model import RewardModel
    from voirdire.studies.reward.given_responses import JudgedBy

__all__ = ["policy_cost"]

_NAN = float("nan")
_MOST_ESTIMATED = 200
"""Responses whose tokens are estimated; the others are taken to be like them."""

_NONCE = "0" * 16


def policy_cost(
    found: JudgedBy,
    reward: RewardModel,
    *,
    judge: Any,
    items: Sequence[Item],
    step_size: int,
    scoring_s: float,
) -> dict[str, Any]:
    """Work out what judging took, and what a step of training will.

    Parameters
    ----------
    found : JudgedBy
        Verdicts, and what they took where they were made now.
    reward : RewardModel
        Whose judge is asked where none is given.
    judge : optional
        Who judges.
    items : sequence of Item
        The responses.
    step_size : int
        Responses per step.
    scoring_s : float
        Seconds that it took to get from verdicts to rewards.

    Returns
    -------
    dict
        The fields `n_calls`, `n_tokens`, `cost`, `seconds`, `step_calls`, `step_cost` and
        `step_seconds` of `PolicyCheck`.

    Notes
    -----
    Where verdicts were given, calls, tokens and dollars are an estimate of what they would take,
    and the seconds of a step are unknown. Where some replies came from a store, the seconds of a
    step are unknown too.
    """
    is_given = math.isnan(found.seconds)
    plan = _plan(reward, None if is_given else judge)
    if plan is None:
        return _figures(_NAN, _NAN, 0, n_calls=0, seconds=scoring_s, step_seconds=_NAN)
    seconds = scoring_s if is_given else found.seconds + scoring_s
    n_reused = 0 if found.calls is None else found.calls.n_reused
    is_timed = not is_given and not n_reused
    step_seconds = seconds / len(items) * step_size if is_timed else _NAN
    if not asks_a_model(plan.judge):
        timed = {"seconds": seconds, "step_seconds": step_seconds}
        return _figures(0.0, 0.0, 0, n_calls=0, cost=0.0, **timed)
    step_calls = float(len(plan.judge.calls.specs) * step_size)
    n_kept = None if found.calls is None else found.calls.n_kept
    share_asked = 1 - (n_kept or 0) / len(items)  # a cascade asks about the others only
    step_calls *= share_asked
    if step_calls == 0:
        return _figures(
            0.0, 0.0, 0, n_calls=0, cost=0.0, seconds=seconds, step_seconds=step_seconds
        )
    if found.calls is not None and found.calls.n_calls:
        n_calls, n_tokens, cost = _spent(found.calls)
    else:
        n_calls, n_tokens, cost = _estimated(plan.judge, items, share_asked=share_asked)
    return _figures(
        step_calls,
        cost / n_calls * step_calls,
        n_tokens,
        n_calls=n_calls,
        cost=cost,
        seconds=seconds,
        step_seconds=step_seconds,
    )


def _figures(
    step_calls: float, step_cost: float, n_tokens: int, *, cost: float = _NAN, **others: float
) -> dict[str, Any]:
    named = {"step_calls": step_calls, "step_cost": step_cost, "n_tokens": n_tokens}
    return {**named, "cost": cost, **others}


def _plan(reward: RewardModel, judge: Any) -> JudgingPlan | None:
    """Plan calls without making any; None where nobody knows the judge, or its key is missing."""
    try:
        asked = asked_judge(reward.judge, judge)
        return plan_judging(
            asked, reward.rubric, threshold=reward.judge.threshold, judged=reward.judge.judged
        )
    except InputError:
        return None


def _spent(calls: CallSummary) -> tuple[int, int, float]:
    cost = _NAN if calls.cost is None else calls.cost
    return calls.n_calls, calls.prompt_tokens + calls.completion_tokens, cost


def _estimated(
    bound: BoundJudge, items: Sequence[Item], *, share_asked: float
) -> tuple[int, int, float]:
    """Estimate the tokens of some responses, and take the others to be like them."""
    price = bound.judge.known_price
    sample = items[:_MOST_ESTIMATED]
    used = Usage(0, 0)
    for spec in bound.calls.specs:
        answer = json.dumps({row.id: True for row in spec.builder.ask.questions})
        for item in sample:
            shown = spec.request(item, "json_schema", nonce=_NONCE).messages
            used = Usage(
                used.prompt_tokens + sum(estimate_tokens(each.content) for each in shown),
                used.completion_tokens + estimate_tokens(answer),
            )
    scale = share_asked * len(items) / len(sample)
    n_tokens = round((used.prompt_tokens + used.completion_tokens) * scale)
    cost = _NAN if price is None else price.cost(used) * scale
    return round(len(bound.calls.specs) * len(items) * share_asked), n_tokens, cost
