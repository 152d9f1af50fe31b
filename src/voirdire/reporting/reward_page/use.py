"""Before training: scales of the behaviors, the router, the policy's pre-flight, the benchmark."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire.reporting.page_frame.speech import Count, Decimal, Name, Percent, Said, Share, say
from voirdire.reporting.reward_page.numerals import rounded_count
from voirdire.reporting.reward_page.signals import accuracies, by_signal, defined
from voirdire.reporting.reward_page.speech import Dollars, Seconds, ShareEnds
from voirdire.reporting.reward_page.verdicts import level_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.reporting.reward_page.content import (
        BehaviorScale,
        BenchSubset,
        PolicyCheck,
        RewardReport,
        RouterCheck,
    )

__all__ = [
    "BenchRow",
    "bench_rows",
    "bench_sentences",
    "class_rows",
    "policy_sentences",
    "router_sentences",
    "scale_sentences",
]

_HALF = 0.5
_DROWNS = 10.0
"""From this ratio on the smaller of two spreads hardly changes an order."""
_UNEVEN = 2.0


@dataclass(frozen=True, kw_only=True)
class BenchRow:
    """A subset of the benchmark, by signal."""

    subset: str | None
    n: int
    by_signal: dict[str, BenchSubset]


def scale_sentences(scales: Sequence[BehaviorScale]) -> tuple[Said, ...]:
    """Say how far the origins and the scales of the behaviors are apart."""
    rows = [(row, row.mean, row.standard_deviation or 0.0) for row in scales]
    known = [(row, mean, wide) for row, mean, wide in rows if mean is not None and wide > 0]
    if len(known) < 2:  # nothing to put side by side
        return ()
    lowest, highest = (choose(known, key=lambda each: each[1]) for choose in (min, max))
    usual = sorted(wide for *_, wide in known)[len(known) // 2]
    gap = highest[1] - lowest[1]
    found = [say("reward.scales.alike")]
    if gap > usual:
        figures = {"lowest": Name(lowest[0].behavior), "highest": Name(highest[0].behavior)}
        numbers = {"gap": gap, "low": lowest[1], "high": highest[1]}
        figures |= {name: Decimal(value) for name, value in numbers.items()}  # type: ignore[misc]
        found = [say("reward.scales.apart", ratio=Decimal(gap / usual, 1), **figures)]
    narrow, wide = (choose(known, key=lambda each: each[2]) for choose in (min, max))
    if wide[2] >= _UNEVEN * narrow[2]:
        names = {"wide": Name(wide[0].behavior), "narrow": Name(narrow[0].behavior)}
        found.append(say("reward.scales.uneven", ratio=Decimal(wide[2] / narrow[2], 1), **names))
    return tuple(found)


def router_sentences(router: RouterCheck) -> tuple[Said, ...]:
    """Say how often the router was right, and what its mistakes cost."""
    right = sum(row[place] for place, row in enumerate(router.confusion))
    total = sum(map(sum, router.confusion)) + router.n_unrouted
    found = []
    if total:
        prompts = Count(total, "prompts")
        share = Percent(right / total)
        found.append(say("reward.router.right", right=right, prompts=prompts, share=share))
    if router.n_unrouted:
        unrouted = Count(router.n_unrouted, "prompts")
        found.append(say("reward.router.unrouted", prompts=unrouted))
    if defined(router.error_rate_right) and defined(router.error_rate_routed):
        routed, error = router.error_rate_routed.value, router.error_rate_right.value
        found.append(say("reward.router.cost", routed=Share(routed), error=Share(error)))
    return (*found, *_costliest(router))


def _costliest(router: RouterCheck) -> tuple[Said, ...]:
    costs = [
        (value, behavior, other)
        for behavior, row in zip(router.behaviors, router.cost, strict=True)
        for other, value in zip(router.behaviors, row, strict=True)
        if value is not None and other != behavior
    ]
    if not costs:
        return ()
    value, behavior, other = max(costs)
    names = {"behavior": Name(behavior), "other": Name(other)}
    return (say("reward.router.worst", error=Share(value), **names),)


def policy_sentences(policy: PolicyCheck) -> tuple[Said, ...]:
    """Say whether the reward would teach this policy anything, and what it would cost."""
    lead = say(
        "reward.policy.lead",
        responses=Count(policy.n_items, "responses"),
        groups=Count(policy.n_groups, "groups"),
        size=_whole(policy.group_size),
    )
    found = [lead, *_flat(policy), *_ratio(policy)]
    if policy.n_missing:
        missing = Count(policy.n_missing, "responses")
        found.append(say("reward.policy.missing", responses=missing))
    return (*found, *_step(policy))


def _whole(value: float | None) -> Decimal:
    """Write groups of 8 without a decimal, and groups of 7.5 with one."""
    return Decimal(value, 0 if value is not None and value == round(value) else 1)


def _flat(policy: PolicyCheck) -> tuple[Said, ...]:
    if not policy.n_groups:
        return ()
    share = policy.n_without_variance / policy.n_groups
    if not share:
        return (say("reward.policy.flat.none"),)
    flat = say("reward.policy.flat", share=Percent(share))
    return (flat, say("reward.policy.flat.many")) if share > _HALF else (flat,)


def _ratio(policy: PolicyCheck) -> tuple[Said, ...]:
    ratio = policy.spread_ratio
    if ratio is None or not math.isfinite(ratio):
        return ()
    figures = {"rules": Decimal(policy.rule_spread), "base": Decimal(policy.base_spread)}
    first = say("reward.policy.ratio", ratio=Decimal(ratio, 1 if ratio >= 1 else 2), **figures)
    if ratio >= _DROWNS:
        return first, say("reward.policy.ratio.drowned")
    if ratio <= 1 / _DROWNS:
        return first, say("reward.policy.ratio.drowning")
    return first, say("reward.policy.ratio.even")


def _step(policy: PolicyCheck) -> tuple[Said, ...]:
    calls = rounded_count(policy.step_calls)
    if not policy.step_size or (calls is None and policy.step_seconds is None):
        return ()
    unknown = say("reward.policy.cost.unknown")
    cost = unknown if policy.step_cost is None else Dollars(policy.step_cost)
    late = say("reward.policy.seconds.unknown")
    return (
        say(
            "reward.policy.step",
            responses=Count(policy.step_size, "responses"),
            calls=say("reward.policy.calls.unknown") if calls is None else Count(calls, "calls"),
            cost=say("reward.policy.free") if policy.step_cost == 0 else cost,
            seconds=late if policy.step_seconds is None else Seconds(policy.step_seconds),
        ),
    )


def class_rows(policy: PolicyCheck, *, most: int) -> list[tuple[str, str, float | None]]:
    """List the shares of classes as behavior, class, share."""
    found = []
    for name, value in list(policy.class_shares.items())[:most]:
        behavior, _, sort = name.rpartition(".")
        found.append((behavior, sort, value))
    return found


def bench_rows(report: RewardReport) -> list[BenchRow]:
    """Lay out the benchmark: all pairs and the mean over subsets first."""
    subsets = dict.fromkeys(row.subset for row in report.bench)
    first: list[str | None] = [name for name in (None, "*") if name in subsets]
    found = []
    for subset in [*first, *(name for name in subsets if name not in (None, "*"))]:
        signals = by_signal(row for row in report.bench if row.subset == subset)
        n = max(row.accuracy.n for row in signals.values())
        found.append(BenchRow(subset=subset, n=n, by_signal=signals))
    return found


def bench_sentences(report: RewardReport) -> tuple[Said, ...]:
    """Say how often the reward of training prefers the chosen response."""
    main, base = accuracies(report)
    if main is None:
        return ()
    figures = {
        "signal": say(f"reward.signal.{main.signal}"),
        "accuracy": Share(main.accuracy.value),
        "pairs": Count(main.accuracy.n, "pairs"),
        "level": level_of(report),
        "ends": ShareEnds(main.accuracy.low, main.accuracy.high),
    }
    if base is None:
        return (say("reward.bench.overall", **figures),)
    ends = ShareEnds(base.accuracy.low, base.accuracy.high)
    shares = {"base": Share(base.accuracy.value), "base_ends": ends}
    return (say("reward.bench.against", **figures, **shares),)
