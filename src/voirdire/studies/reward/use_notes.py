"""What the reader should know of the router, the policy and the benchmark."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from voirdire.studies.reward.notes import counted, note

if TYPE_CHECKING:
    from voirdire.studies.reward.bench import BenchCheck
    from voirdire.studies.reward.result import PolicyCheck, RewardNote, RouterCheck

__all__ = ["about_bench", "about_policy", "about_router"]

_DROWNED = 10.0
"""One part of the reward that varies this many times more than the other decides alone."""


def about_router(router: RouterCheck | None) -> list[RewardNote]:
    """Say what wrong choices of the router cost."""
    if router is None:
        return []
    n = sum(sum(row) for row in router.confusion)
    right = sum(router.confusion[k][k] for k in range(len(router.behaviors)))
    if right == n and not router.n_unrouted:
        return []
    right_rate, routed_rate = router.error_rate_right.value, router.error_rate_routed.value
    known = not math.isnan(routed_rate)
    change = f": the error rate goes from {right_rate:.3f} to {routed_rate:.3f}" if known else ""
    return [
        note(
            "router_cost",
            f"The router chose another behavior for {n - right:,} of {counted(n, 'prompt')}, and "
            f"none for {router.n_unrouted:,}{change}.",
            n_wrong=n - right,
            n_routed=n,
            n_unrouted=router.n_unrouted,
            **({"cost": routed_rate - right_rate} if known else {}),
        )
    ]


def about_policy(policy: PolicyCheck | None) -> list[RewardNote]:
    """Say what training would see too little or too much of."""
    if policy is None:
        return []
    found = []
    if policy.n_without_variance:
        share = policy.n_without_variance / policy.n_groups
        found.append(
            note(
                "policy_without_variance",
                f"{policy.n_without_variance:,} of {counted(policy.n_groups, 'group')} "
                f"({share:.0%}) have no two rewards that differ: a group-relative method learns "
                "nothing from them.",
                n=policy.n_without_variance,
                share=share,
            )
        )
    if policy.spread_ratio > _DROWNED:
        found.append(
            note(
                "base_drowned",
                f"Within groups the rules vary {policy.spread_ratio:.3g} times as much as the base "
                "reward: the base hardly counts.",
                ratio=policy.spread_ratio,
            )
        )
    if policy.spread_ratio < 1 / _DROWNED:
        found.append(
            note(
                "rules_drowned",
                f"Within groups the rules vary {policy.spread_ratio:.3g} times as much as the base "
                "reward: the rules hardly count.",
                ratio=policy.spread_ratio,
            )
        )
    if policy.n_missing:
        found.append(
            note(
                "policy_missing",
                f"{counted(policy.n_missing, 'response')} of the policy got no reward.",
                n=policy.n_missing,
            )
        )
    if policy.group_size < 2:
        found.append(
            note(
                "groups_of_one",
                f"There are {policy.group_size:.3g} responses per prompt on average: sample "
                "several, as training does.",
                group_size=policy.group_size,
            )
        )
    if math.isnan(policy.step_seconds):
        found.append(
            note(
                "policy_not_timed",
                "How long a step takes is not known: verdicts or replies were stored ones.",
            )
        )
    return found


def about_bench(bench: BenchCheck | None) -> list[RewardNote]:
    """Say what the pairs of a benchmark lack, and what that could hide."""
    if bench is None:
        return []
    found = []
    if bench.held_out is not None and bench.held_out.n_seen:
        n_seen, n_prompts = bench.held_out.n_seen, bench.held_out.n_prompts
        found.append(
            note(
                "bench_seen_prompts",
                f"{n_seen:,} of {counted(n_prompts, 'prompt')} of the benchmark were used in the "
                "fit: the accuracy is too high. Take a benchmark of other prompts.",
                n_seen=n_seen,
                n_prompts=n_prompts,
            )
        )
    if bench.lacks_base:
        found.append(
            note(
                "bench_base_missing",
                "The reward was fitted beside a base reward, and the pairs of the benchmark have "
                "none: their accuracy is that of the rules alone.",
            )
        )
    if not bench.n_missing:
        return found
    why = ""
    if bench.n_without_behavior:
        why = f" ({bench.n_without_behavior:,} have no behavior, so that no weights apply)"
    found.append(
        note(
            "bench_missing",
            f"{bench.n_missing:,} of {counted(bench.n_pairs, 'pair')} of the benchmark have no "
            f"rewards{why}; if all of them were wrong, the accuracy would be "
            f"{bench.worst_case:.3f}.",
            n_missing=bench.n_missing,
            n_pairs=bench.n_pairs,
            n_without_behavior=bench.n_without_behavior,
            worst_case=bench.worst_case,
        )
    )
    return found
