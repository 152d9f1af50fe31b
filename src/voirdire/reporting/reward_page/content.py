"""What the page is made from: the JSON of a reward's examination, as records with types."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from voirdire.reporting.page_frame.dropped import Dropped  # noqa: TC001  # msgspec reads it
from voirdire.studies.reward.result import DegenerateKind  # noqa: TC001

__all__ = [
    "SIGNALS",
    "BehaviorScale",
    "BenchSubset",
    "DegenerateCheck",
    "DegenerateExample",
    "ErrorRate",
    "FeatureDrive",
    "LabelHistogram",
    "NearIdeal",
    "PolicyCheck",
    "Rate",
    "RefusalErrors",
    "RewardNote",
    "RewardReport",
    "RouterCheck",
    "as_reward_report",
]

SCHEMA = "voirdire.reward_examination/1"
SIGNALS = ("base", "total", "rules")
_WITH_SIGNALS = ("error_rates", "histograms", "near_ideal", "refusals", "bench")

Signal: TypeAlias = Literal["base", "total", "rules"]
Number: TypeAlias = float | None
Share: TypeAlias = Annotated[float, Meta(ge=-1e-9, le=1 + 1e-9)] | None
Count: TypeAlias = Annotated[int, Meta(ge=0, le=10**15)]


class Rate(Struct, frozen=True, kw_only=True):
    """A share or a mean with its interval."""

    value: Number
    low: Number = None
    high: Number = None
    n: Count = 0
    n_prompts: Count = 0


class ErrorRate(Struct, frozen=True, kw_only=True):
    """How often a signal ranks a comparison the wrong way; no behavior is all together."""

    behavior: str | None
    signal: Signal
    against: Literal["all", "best"]
    rate: Rate
    tie_share: Share = None


class LabelHistogram(Struct, frozen=True, kw_only=True):
    """Centred rewards of the completions with one label."""

    behavior: str
    signal: Signal
    label: str
    edges: list[float]
    counts: list[Count]
    mean: Number = None
    standard_deviation: Number = None


class NearIdeal(Struct, frozen=True, kw_only=True):
    """The best label against the next."""

    behavior: str
    signal: Signal
    best: str
    next: str
    error_rate: Rate
    mean_gap: Rate


class RefusalErrors(Struct, frozen=True, kw_only=True):
    """Prompts whose best-rewarded completion refuses and should not, or the other way round."""

    behavior: str
    signal: Signal
    kind: Literal["false_refusal", "missed_refusal"]
    by: Literal["labels", "judge"] = "judge"
    rate: Rate


class DegenerateExample(Struct, frozen=True, kw_only=True):
    """Nonsense that gets more reward than the best real response of its prompt."""

    prompt: str
    response: str
    reward: Number
    best_response: str
    best_reward: Number


class DegenerateCheck(Struct, frozen=True, kw_only=True):
    """What one kind of nonsense gets beside the real responses of its prompts."""

    behavior: str
    kind: DegenerateKind
    n_prompts: Count = 0
    mean_reward: Number = None
    mean_best: Number = None
    mean_median: Number = None
    share_above_best: Share = None
    share_above_median: Share = None
    examples: list[DegenerateExample] = field(default_factory=list)


class FeatureDrive(Struct, frozen=True, kw_only=True):
    """What one feature does to the reward of its behavior."""

    behavior: str
    feature: str
    weight: Number
    low: Number = None
    high: Number = None
    mean: Number = None
    spread: Number = None
    share: Share = None
    error_rate_without: Share = None
    is_dead: bool = False
    is_contradictory: bool = False
    demand: str = ""
    is_certified: bool = False


class BehaviorScale(Struct, frozen=True, kw_only=True):
    """Origin and scale of the rule rewards of one behavior."""

    behavior: str
    n_items: Count = 0
    n_prompts: Count = 0
    mean: Number = None
    standard_deviation: Number = None
    lowest: Number = None
    highest: Number = None
    mean_ideal: Number = None
    mean_worst: Number = None
    base_standard_deviation: Number = None


class RouterCheck(Struct, frozen=True, kw_only=True):
    """What the behavior router chose, and what a wrong weight vector costs."""

    behaviors: list[str]
    confusion: list[list[Count]]
    error_rate_right: Rate
    error_rate_routed: Rate
    cost: list[list[Share]]
    n_unrouted: Count = 0


class PolicyCheck(Struct, frozen=True, kw_only=True):
    """A pre-flight on the policy's own responses."""

    n_items: Count
    n_groups: Count
    group_size: Number = None
    n_without_variance: Count = 0
    n_missing: Count = 0
    base_spread: Number = None
    rule_spread: Number = None
    spread_ratio: Number = None
    class_shares: dict[str, Share] = field(default_factory=dict)
    n_calls: Count = 0
    n_tokens: Count = 0
    cost: Number = None
    seconds: Number = None
    step_size: Count = 0
    step_calls: Number = None
    step_cost: Number = None
    step_seconds: Number = None
    behaviors: dict[str, dict[str, Number]] = field(default_factory=dict)


class BenchSubset(Struct, frozen=True, kw_only=True):
    """Accuracy on chosen and rejected responses; no subset is all, ``*`` the mean over subsets."""

    subset: str | None
    signal: Signal
    accuracy: Rate
    tie_share: Share = None


class RewardNote(Struct, frozen=True, kw_only=True):
    """Something that the reader should know."""

    code: str
    sentence: str
    figures: dict[str, Any] = field(default_factory=dict)


class RewardReport(Struct, frozen=True, kw_only=True):
    """What `voirdire examine-reward --json` prints."""

    reward: dict[str, Any]
    n_items: Count
    n_prompts: Count
    n_comparisons: Count
    is_held_out: bool
    schema: str = SCHEMA
    error_rates: list[ErrorRate] = field(default_factory=list)
    histograms: list[LabelHistogram] = field(default_factory=list)
    near_ideal: list[NearIdeal] = field(default_factory=list)
    refusals: list[RefusalErrors] = field(default_factory=list)
    degenerate: list[DegenerateCheck] = field(default_factory=list)
    drives: list[FeatureDrive] = field(default_factory=list)
    scales: list[BehaviorScale] = field(default_factory=list)
    router: RouterCheck | None = None
    policy: PolicyCheck | None = None
    bench: list[BenchSubset] = field(default_factory=list)
    notes: list[RewardNote] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


def as_reward_report(content: Any) -> RewardReport:
    """Turn plain values into records; `msgspec.ValidationError` says where they are not fit.

    Where there is no base reward, the JSON calls the rules ``"total"``: here they are the rules.
    """
    report = msgspec.convert(content, RewardReport, strict=True)
    parts: dict[str, list[Any]] = {name: getattr(report, name) for name in _WITH_SIGNALS}
    alone = {
        name: [msgspec.structs.replace(row, signal="rules") for row in rows]
        for name, rows in parts.items()
        if {row.signal for row in rows} == {"total"}
    }
    return msgspec.structs.replace(report, **alone)
