"""A pre-flight on the policy's own responses: what training would learn, and what it costs."""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import InputError
from voirdire.judging.plan import asks_a_model, is_jury
from voirdire.judging.runs.estimate import estimate_tokens
from voirdire.records import Usage
from voirdire.rewards.comparisons.prompts import hash_prompt
from voirdire.rewards.verdict_source import plan_judge
from voirdire.studies.reward.notes import write_note
from voirdire.studies.reward.ranking import TIE
from voirdire.studies.reward.resampling import center_by_prompt, compute_mean, sum_by_prompt
from voirdire.studies.reward.responses import (
    Part,
    judge_responses,
    rate_items,
    read_base_reward,
    read_responses,
)
from voirdire.studies.reward.result import PolicyCheck

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.judging.bound import BoundJudge
    from voirdire.records import Item
    from voirdire.records.calls import CallSummary
    from voirdire.studies.reward.responses import ExaminationRequest, RatedItems
    from voirdire.studies.reward.result import RewardNote

__all__ = ["check_policy"]

_NAN = float("nan")
_DROWNED = 10.0
"""One part of the reward that varies this many times more than the other decides alone."""

_MOST_ESTIMATED = 200
"""Responses whose tokens are estimated; the others are taken to be like them."""

_NONCE = "0" * 16


def check_policy(policy: Any, request: ExaminationRequest, verdicts: Any) -> Part:
    """Score a sample of a policy's responses, several per prompt, and say what training would see.

    Responses of one `group` share a prompt; without groups those with the same messages. Standard
    deviations within groups divide by n - 1, as trainers do. A group with fewer than two rewards
    has no variance either: there is nothing to compare it with.
    """
    responses = read_responses(
        policy,
        request,
        name="policy",
        prompt_of=lambda x: (x.group, None if x.group is not None else hash_prompt(x)),
        base_of=lambda x: read_base_reward(x.metadata),
    )
    started = time.perf_counter()
    judged = judge_responses(responses.items, request, verdicts)
    if verdicts is not None:
        started = time.perf_counter()  # that reading verdicts takes is no part of a step
    rated = rate_items(responses, request.reward, judged)
    check = PolicyCheck(
        **_describe_groups(rated),
        class_shares=_compute_class_shares(rated),
        behaviors=_describe_behaviors(rated),
        step_size=request.settings.step_size,
        **_estimate_cost(
            responses.items,
            request,
            calls=judged.calls,
            is_stored=verdicts is not None,
            seconds=time.perf_counter() - started,
        ),
    )
    return Part(
        figures={"policy": check},
        notes=_note_policy(check),
        dropped=(*responses.dropped, *rated.dropped),
        settings={},
    )


def _note_policy(policy: PolicyCheck) -> list[RewardNote]:
    """Say what training would see too little or too much of."""
    notes = []
    if policy.n_without_variance:
        share = policy.n_without_variance / policy.n_groups
        notes.append(
            write_note(
                "policy_without_variance",
                words={"n_groups": policy.n_groups},
                n=policy.n_without_variance,
                share=share,
            )
        )
    if policy.spread_ratio > _DROWNED:
        notes.append(write_note("base_drowned", ratio=policy.spread_ratio))
    if policy.spread_ratio < 1 / _DROWNED:
        notes.append(write_note("rules_drowned", ratio=policy.spread_ratio))
    if policy.n_missing:
        notes.append(write_note("policy_missing", n=policy.n_missing))
    if policy.group_size < 2:
        notes.append(write_note("groups_of_one", group_size=policy.group_size))
    if math.isnan(policy.step_seconds):
        notes.append(write_note("policy_not_timed"))
    return notes


def _describe_groups(rated: RatedItems) -> dict[str, Any]:
    """Figures of all groups together."""
    n = rated.n_prompts
    is_rated = rated.is_rated
    rules = _compute_spreads(rated, rated.rules)
    base = _compute_spreads(rated, rated.signals["base"]) if rated.has_base else np.empty(0)
    base_spread, rule_spread = compute_mean(base), compute_mean(rules)
    return {
        "n_items": len(rated.items),
        "n_groups": n,
        "group_size": len(rated.items) / n,
        "n_without_variance": int(_is_flat(rated).sum()),
        "n_missing": int((~is_rated).sum()),
        "base_spread": base_spread,
        "rule_spread": rule_spread,
        "spread_ratio": rule_spread / base_spread if base_spread > 0 else _NAN,
    }


def _compute_spreads(rated: RatedItems, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the standard deviation within each group of at least two."""
    is_rated, n = np.isfinite(rewards) & rated.is_rated, rated.n_prompts
    prompts = rated.prompts[is_rated]
    deviations, counts = center_by_prompt(prompts, rewards[is_rated], n_prompts=n)
    squares = sum_by_prompt(prompts, np.square(deviations), n_prompts=n)
    is_several = counts > 1
    return np.sqrt(squares[is_several] / (counts[is_several] - 1))


def _is_flat(rated: RatedItems) -> NDArray[np.bool_]:
    """Tell which groups have no two rewards that differ."""
    is_rated, n = rated.is_rated, rated.n_prompts
    prompts, values = rated.prompts[is_rated], rated.signals["total"][is_rated]
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(low, prompts, values)
    np.maximum.at(high, prompts, values)
    has_any = np.isfinite(low)
    flat = np.ones(n, dtype=bool)
    scale = np.maximum(1.0, np.maximum(np.abs(low[has_any]), np.abs(high[has_any])))
    flat[has_any] = high[has_any] - low[has_any] <= TIE * scale
    return flat


def _compute_class_shares(rated: RatedItems) -> dict[str, float]:
    shares = {}
    for behavior, features in rated.features.items():
        places = [k for k, name in enumerate(features.names) if name.startswith(f"{behavior}.")]
        classes = features.values[:, places]
        complete = classes[~np.isnan(classes).any(axis=1)]
        for k, place in enumerate(places):
            shares[features.names[place]] = compute_mean(complete.argmax(axis=1) == k)
    return shares


def _describe_behaviors(rated: RatedItems) -> Mapping[str, Mapping[str, float]]:
    flat = _is_flat(rated)
    figures = {}
    for behavior, features in rated.features.items():
        values = rated.signals["total"][features.rows]
        values = values[np.isfinite(values)]
        groups = np.unique(rated.prompts[features.rows])
        figures[behavior] = {
            "n_items": int(features.rows.size),
            "n_groups": int(groups.size),
            "mean": compute_mean(values),
            "standard_deviation": float(values.std()) if values.size else _NAN,
            "share_without_variance": float(flat[groups].mean()),
        }
    return figures


def _estimate_cost(
    items: Sequence[Item],
    request: ExaminationRequest,
    *,
    calls: CallSummary | None,
    is_stored: bool,
    seconds: float,
) -> dict[str, Any]:
    """Work out what judging took, and what a step of training will.

    Where verdicts were given, calls, tokens and dollars are an estimate of what they would take.
    The seconds of a step are unknown then, and where some replies came from a store.
    """
    figures = {"n_calls": 0, "n_tokens": 0, "cost": _NAN, "seconds": seconds}
    figures |= {"step_calls": _NAN, "step_cost": _NAN, "step_seconds": _NAN}
    try:
        plan = plan_judge(request.reward, None if is_stored else request.judge)
    except InputError:  # nobody knows the judge, or its key is missing
        return figures
    if not is_stored and not (calls and calls.n_reused):
        figures["step_seconds"] = seconds / len(items) * request.settings.step_size
    n_kept = 0 if calls is None else calls.n_kept or 0
    share_asked = 1 - n_kept / len(items)  # a cascade asks about the others only
    members = [row.judge for row in plan.judge.members] if is_jury(plan.judge) else [plan.judge]
    models = [judge for judge in members if asks_a_model(judge)]
    n_item_calls = sum(len(model.calls.specs) for model in models)
    step_calls = n_item_calls * request.settings.step_size * share_asked
    if not step_calls:
        return figures | {"cost": 0.0, "step_calls": 0.0, "step_cost": 0.0}
    if calls is not None and calls.n_calls:
        n_calls, cost = calls.n_calls, _NAN if calls.cost is None else calls.cost
        n_tokens = calls.prompt_tokens + calls.completion_tokens
    else:
        n_calls, n_tokens, cost = _estimate_calls(models, items, share_asked=share_asked)
    figures |= {"n_calls": n_calls, "n_tokens": n_tokens, "cost": cost}
    return figures | {"step_calls": step_calls, "step_cost": cost / n_calls * step_calls}


def _estimate_calls(
    models: Sequence[BoundJudge], items: Sequence[Item], *, share_asked: float
) -> tuple[int, int, float]:
    """Estimate the tokens of some responses, and take the others to be like them."""
    sample = items[:_MOST_ESTIMATED]
    scale = share_asked * len(items) / len(sample)
    n_calls, n_tokens, cost = 0.0, 0.0, 0.0
    for model in models:
        used = Usage(0, 0)
        for spec in model.calls.specs:
            answer = json.dumps({row.id: True for row in spec.builder.ask.questions})
            for item in sample:
                messages = spec.request(item, "json_schema", nonce=_NONCE).messages
                used = Usage(
                    used.prompt_tokens + sum(estimate_tokens(row.content) for row in messages),
                    used.completion_tokens + estimate_tokens(answer),
                )
        price = model.judge.known_price
        n_calls += len(model.calls.specs) * len(sample) * scale
        n_tokens += (used.prompt_tokens + used.completion_tokens) * scale
        cost += _NAN if price is None else price.cost(used) * scale
    return round(n_calls), round(n_tokens), cost
