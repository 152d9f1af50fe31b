"""Everything that the templates show of a reward, computed beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.reporting.reward_page.described import described, reward_name
from voirdire.reporting.reward_page.drives import drives_of
from voirdire.reporting.reward_page.noted import noted
from voirdire.reporting.reward_page.paper import paper_sentences
from voirdire.reporting.reward_page.ranking import (
    label_rows,
    near_rows,
    near_sentences,
    refusal_rows,
    refusal_sentences,
)
from voirdire.reporting.reward_page.signals import behaviors_of, main_signal, signals_of
from voirdire.reporting.reward_page.use import (
    bench_rows,
    bench_sentences,
    policy_sentences,
    router_sentences,
    scale_sentences,
)
from voirdire.reporting.reward_page.verdicts import (
    certified_counts,
    error_of,
    level_of,
    reward_verdict,
    short_verdict,
)

if TYPE_CHECKING:
    from voirdire.reporting.page_frame.speech import Percent, Said, Verbatim
    from voirdire.reporting.reward_page.content import Rate, RewardReport
    from voirdire.reporting.reward_page.drives import DrivesView
    from voirdire.reporting.reward_page.ranking import LabelRow, NearRow, RefusalRow
    from voirdire.reporting.reward_page.speaker import RewardSpeaker
    from voirdire.reporting.reward_page.use import BenchRow
    from voirdire.reporting.reward_page.verdicts import RewardVerdict

__all__ = ["BehaviorView", "RewardView", "reward_view"]

MOST_BEHAVIORS = 20
MOST_DRAWN = 6
"""Behaviors with figures: drawing takes longer than all the rest."""
MOST_LABELS = 30
MOST_SUBSETS = 100
MOST_ROUTED = 12
"""Behaviors in the tables of the router: larger ones do not fit a page."""


@dataclass(frozen=True, kw_only=True)
class BehaviorView:
    """One behavior's part of the page."""

    behavior: str
    number: int
    state: str
    short: Said
    errors: dict[str, Rate | None]
    near: NearRow | None
    refusals: RefusalRow | None
    certified: tuple[int, int]
    labels: tuple[LabelRow, ...]
    drives: DrivesView | None

    @property
    def is_drawn(self) -> bool:
        """Whether it has figures."""
        return self.number <= MOST_DRAWN


@dataclass(frozen=True, kw_only=True)
class RewardView:
    """A reward's examination, ready to be shown."""

    report: RewardReport
    name: Any
    signals: tuple[str, ...]
    main: str
    level: Percent
    verdict: RewardVerdict
    overall: BehaviorView
    behaviors: tuple[BehaviorView, ...]
    n_behaviors: int
    described: tuple[tuple[str, Any], ...]
    notes: tuple[Said | Verbatim, ...]
    near: tuple[NearRow, ...]
    near_said: tuple[Said, ...]
    refusals: tuple[RefusalRow, ...]
    refusals_said: tuple[Said, ...]
    scales_said: tuple[Said, ...]
    router_said: tuple[Said, ...]
    policy_said: tuple[Said, ...]
    bench: tuple[BenchRow, ...]
    n_bench: int
    bench_said: tuple[Said, ...]
    paper: tuple[Said, ...]

    @property
    def has_router_tables(self) -> bool:
        """Whether the tables of the router fit the page."""
        router = self.report.router
        return router is not None and 0 < len(router.behaviors) <= MOST_ROUTED


def reward_view(report: RewardReport, speaker: RewardSpeaker, *, version: str) -> RewardView:
    """Compute what is shown of a reward."""
    names = behaviors_of(report)
    bench = bench_rows(report)
    router, policy = report.router, report.policy
    behaviors = tuple(
        _behavior_view(report, name, number=number)
        for number, name in enumerate(names[:MOST_BEHAVIORS], start=1)
    )
    shown = set(names[:MOST_BEHAVIORS])
    return RewardView(
        report=report,
        name=reward_name(report),
        signals=signals_of(report),
        main=main_signal(report),
        level=level_of(report),
        verdict=reward_verdict(report),
        overall=_behavior_view(report, None, number=0),
        behaviors=behaviors,
        n_behaviors=len(names),
        described=described(report),
        notes=noted(report.notes, speaker),
        near=tuple(row for row in near_rows(report) if row.behavior in shown),
        near_said=near_sentences(report),
        refusals=tuple(row for row in refusal_rows(report) if row.behavior in shown),
        refusals_said=refusal_sentences(report),
        scales_said=scale_sentences(report.scales),
        router_said=() if router is None else router_sentences(router),
        policy_said=() if policy is None else policy_sentences(policy),
        bench=tuple(bench[:MOST_SUBSETS]),
        n_bench=len(bench),
        bench_said=bench_sentences(report),
        paper=paper_sentences(report, version=version),
    )


def _behavior_view(report: RewardReport, behavior: str | None, *, number: int) -> BehaviorView:
    state, short = short_verdict(report, behavior)
    near = [row for row in near_rows(report) if row.behavior == behavior]
    refusals = [row for row in refusal_rows(report) if row.behavior == behavior]
    return BehaviorView(
        behavior=behavior or "",
        number=number,
        state=state,
        short=short,
        errors={
            signal: error_of(report, signal, behavior=behavior) for signal in signals_of(report)
        },
        near=near[0] if near else None,
        refusals=refusals[0] if refusals else None,
        certified=certified_counts(report, behavior),
        labels=() if behavior is None else tuple(label_rows(report, behavior)[:MOST_LABELS]),
        drives=None if behavior is None else drives_of(report, behavior),
    )
