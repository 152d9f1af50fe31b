"""What the page of a reward says and lists, computed beforehand."""

from __future__ import annotations

import math
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from voirdire.reporting.pages.reward_record import SIGNALS
from voirdire.reporting.pages.speech import (
    Count,
    Decimal,
    Dollars,
    Label,
    Listing,
    Name,
    Percent,
    Said,
    Seconds,
    Share,
    ShareEnds,
    Verbatim,
    rounded_count,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from voirdire.reporting.pages.reward_record import (
        BehaviorScale,
        BenchSubset,
        FeatureDrive,
        LabelHistogram,
        NearIdeal,
        PolicyCheck,
        Rate,
        RefusalErrors,
        RewardNote,
        RewardReport,
        RouterCheck,
    )
    from voirdire.reporting.pages.speech import Said, Speaker

__all__ = [
    "MOST_NOTES",
    "BehaviorView",
    "BenchRow",
    "DrivesView",
    "LabelRow",
    "NearRow",
    "RefusalRow",
    "RewardVerdict",
    "RewardView",
    "accuracies",
    "behaviors_of",
    "bench_rows",
    "bench_sentences",
    "by_signal",
    "certified_counts",
    "class_rows",
    "defined",
    "demand_of",
    "described",
    "drives_of",
    "error_of",
    "has_note",
    "held_out",
    "judge_name",
    "label_rows",
    "level_of",
    "main_signal",
    "near_rows",
    "near_sentences",
    "noted",
    "paper_sentences",
    "policy_sentences",
    "refusal_rows",
    "refusal_sentences",
    "reward_name",
    "reward_verdict",
    "reward_view",
    "router_sentences",
    "rubric_name",
    "scale_sentences",
    "short_feature",
    "short_verdict",
    "signals_of",
    "weighted",
]

_LONG = 90
_ORIENTATIONS = ("plain", "rule", "demanded")
_LOSSES = ("hinge", "logistic")


def reward_name(report: RewardReport) -> Name:
    """Name the reward."""
    return Name(_text(report.reward.get("name")) or "–")


def rubric_name(report: RewardReport) -> Said | Name:
    """Name the rubric with its version."""
    rubric = report.reward.get("rubric")
    name = _of(rubric, "name") or "–"
    version = _of(rubric, "version") if isinstance(rubric, dict) else ""
    version = version or _text(report.reward.get("rubric_version"))
    if not version:
        return Name(name)
    return say("reward.what.rubric.versioned", name=Name(name), version=Name(version))


def judge_name(report: RewardReport) -> Name:
    """Name the judge."""
    return Name(_of(report.reward.get("judge"), "name") or "–")


def described(report: RewardReport) -> tuple[tuple[str, Any], ...]:
    """List what is known of the reward: the key of a word, and what is said."""
    reward = report.reward
    judge = reward.get("judge")
    fingerprint = _of(judge, "fingerprint") if isinstance(judge, dict) else ""
    rows = [
        ("reward.what.name", reward_name(report)),
        ("reward.what.rubric", rubric_name(report)),
        ("reward.what.judge", judge_name(report)),
        ("reward.what.fingerprint", _name(fingerprint or _text(reward.get("fingerprint")))),
        ("reward.what.orientation", _orientation(reward)),
        ("reward.what.fit", _fit(reward)),
        ("reward.what.behaviors", _behaviors(report)),
        ("reward.what.certified", _certified(report)),
        ("reward.what.data", _name(_text(reward.get("data_hash")))),
        ("reward.what.hash", _name(_text(reward.get("content_hash")))),
        ("reward.what.created", _name(_text(reward.get("created")))),
    ]
    return tuple((key, said) for key, said in rows if said is not None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _of(value: Any, key: str) -> str:
    """Read a name that stands there by itself or in an object."""
    return _text(value.get(key)) if isinstance(value, dict) else _text(value)


def _name(text: str) -> Name | None:
    return Name(text, _LONG) if text else None


def _orientation(reward: dict[str, Any]) -> Said | None:
    found = reward.get("orientation")
    return say(f"reward.what.orientation.{found}") if found in _ORIENTATIONS else None


def _fit(reward: dict[str, Any]) -> Said | None:
    settings = reward.get("settings")
    loss = settings.get("loss") if isinstance(settings, dict) else None
    if loss in _LOSSES:
        return say(f"reward.what.fit.{loss}")
    return None if _text(reward.get("data_hash")) else say("reward.what.fit.given")


def _behaviors(report: RewardReport) -> Listing | None:
    names = behaviors_of(report)
    return Listing(tuple(Name(name) for name in names)) if names else None


def _certified(report: RewardReport) -> Said | None:
    certified, all_of_them = certified_counts(report)
    if not all_of_them:
        return None
    features = Count(all_of_them, "features")
    return say("reward.what.certified.count", n=certified, features=features)


MOST_FEATURES = 100
_HALF = 0.5
_STRONGEST = 5
_STRONG = 0.05
"""Share of the spread below which a feature is not worth a sentence."""
_NOTEWORTHY = 0.005
"""Half a point of the error rate: less is noise."""
_DEMANDS = (
    "required",
    "core_required",
    "required_false",
    "core_required_false",
    "desired",
    "desired_false",
    "allowed",
    "undesired",
    "unacceptable",
    "illogical",
    "disallowed",
)


@dataclass(frozen=True, kw_only=True)
class DrivesView:
    """The features of one behavior, the one that moves rankings most first."""

    behavior: str
    rows: tuple[FeatureDrive, ...]
    n_rows: int
    error: float | None
    sentences: tuple[Said, ...]


def drives_of(report: RewardReport, behavior: str) -> DrivesView | None:
    """Sort the features of a behavior and say what stands out; None where there are none."""
    rows = [row for row in report.drives if row.behavior == behavior]
    if not rows:
        return None
    rows.sort(key=lambda row: (-(row.share or 0.0), -abs(row.weight or 0.0)))
    rate = error_of(report, main_signal(report), behavior=behavior)
    error = None if rate is None else rate.value
    return DrivesView(
        behavior=behavior,
        rows=tuple(rows[:MOST_FEATURES]),
        n_rows=len(rows),
        error=error,
        sentences=(*_most(rows), *_listed(rows), *_helpless(rows, error)),
    )


def short_feature(row: FeatureDrive) -> tuple[str, bool]:
    """Give the name of a feature without its behavior, and whether it is a class."""
    prefix = f"{row.behavior}."
    return row.feature.removeprefix(prefix), row.feature.startswith(prefix)


def demand_of(row: FeatureDrive) -> Said | Name | None:
    """Say what the behavior demands of the feature, in the words of rubrics."""
    word = row.demand.replace(" ", "_")
    if word in _DEMANDS:
        return say(f"reward.demand.{word}")
    return Name(row.demand) if row.demand else None


def _named(rows: Sequence[FeatureDrive]) -> Listing:
    return Listing(tuple(Name(short_feature(row)[0]) for row in rows))


def _most(rows: Sequence[FeatureDrive]) -> tuple[Said, ...]:
    """Name the fewest features that make up half of the spread."""
    total, first = 0.0, []
    for row in rows:
        total += row.share or 0.0
        first.append(row)
        if total >= _HALF:
            break
    if total < _HALF:
        return ()
    return (say("reward.drives.most", features=_named(first), share=Percent(total)),)


def _listed(rows: Sequence[FeatureDrive]) -> tuple[Said, ...]:
    uncertified = [
        row
        for row in rows[:_STRONGEST]
        if not row.is_certified and row.weight and (row.share or 0.0) >= _STRONG
    ]
    parts = (
        ("reward.drives.contradictory", [row for row in rows if row.is_contradictory]),
        ("reward.drives.dead", [row for row in rows if row.is_dead]),
        ("reward.drives.uncertified", uncertified),
    )
    return tuple(say(key, features=_named(found)) for key, found in parts if found)


def _helpless(rows: Sequence[FeatureDrive], error: float | None) -> tuple[Said, ...]:
    """Name the feature without which the reward would rank better, where there is one."""
    known = [row for row in rows if row.error_rate_without is not None and row.weight]
    if error is None or not known:
        return ()
    least = min(known, key=lambda row: row.error_rate_without or 0.0)
    without = least.error_rate_without
    if without is None or error - without < _NOTEWORTHY:
        return ()
    return (
        say(
            "reward.drives.helpless",
            feature=Name(short_feature(least)[0]),
            without=Share(without),
            error=Share(error),
        ),
    )


MOST_NOTES = 60
_SHARES = ("share", "cost", "worst_case")


def noted(notes: Sequence[RewardNote], speaker: Speaker) -> tuple[Said | Verbatim, ...]:
    """Say each note: by its code where the language has words for it, else as it stands."""
    return tuple(_said(note, speaker) for note in notes[:MOST_NOTES])


def has_note(notes: Sequence[RewardNote], code: str) -> bool:
    """Whether there is a note with this code."""
    return any(note.code == code for note in notes)


def _said(note: RewardNote, speaker: Speaker) -> Said | Verbatim:
    key = f"reward.note.{note.code}"
    phrase = speaker.phrases.get(key)
    if phrase is None:
        return Verbatim(note.sentence)
    wanted = {name for _, name, _, _ in string.Formatter().parse(phrase) if name}
    if not wanted <= note.figures.keys():  # written by another version
        return Verbatim(note.sentence)
    return say(key, **{name: _figure(name, note.figures[name]) for name in wanted})


def _figure(name: str, value: Any) -> Any:
    """Turn a figure of a note into something that can be said."""
    if value is None or isinstance(value, bool):
        return Name("–" if value is None else str(value))
    if isinstance(value, int) and abs(value) < 10**15:
        return Count(value)
    if isinstance(value, int | float):
        return Share(float(value)) if name in _SHARES else Decimal(float(value))
    if isinstance(value, dict | list):
        return Listing(tuple(Name(str(each)) for each in value))
    return Name(str(value))


@dataclass(frozen=True, kw_only=True)
class LabelRow:
    """Centred rewards of one label, by signal."""

    label: str
    n: int
    by_signal: dict[str, LabelHistogram]


@dataclass(frozen=True, kw_only=True)
class NearRow:
    """The best label of a behavior against the next, by signal."""

    behavior: str
    best: str
    next: str
    n: int
    by_signal: dict[str, NearIdeal]


@dataclass(frozen=True, kw_only=True)
class RefusalRow:
    """False or missed refusals of a behavior, by signal."""

    behavior: str
    kind: str
    by: str
    n: int
    by_signal: dict[str, RefusalErrors]


def label_rows(report: RewardReport, behavior: str) -> list[LabelRow]:
    """Lay out the histograms of a behavior by label, the best first."""
    rows = [row for row in report.histograms if row.behavior == behavior]
    found = []
    for label in dict.fromkeys(row.label for row in rows):
        signals = by_signal(row for row in rows if row.label == label)
        n = max(sum(row.counts) for row in signals.values())
        found.append(LabelRow(label=label, n=n, by_signal=signals))
    return found


def near_rows(report: RewardReport) -> list[NearRow]:
    """Lay out the hardest comparisons by behavior."""
    keys = dict.fromkeys((row.behavior, row.best, row.next) for row in report.near_ideal)
    found = []
    for behavior, best, following in keys:
        rows = [
            row
            for row in report.near_ideal
            if (row.behavior, row.best, row.next) == (behavior, best, following)
        ]
        n = max(row.error_rate.n for row in rows)
        signals = by_signal(rows)
        row = NearRow(behavior=behavior, best=best, next=following, n=n, by_signal=signals)
        found.append(row)
    return found


def refusal_rows(report: RewardReport) -> list[RefusalRow]:
    """Lay out the refusals by behavior and kind."""
    keys = dict.fromkeys((row.behavior, row.kind, row.by) for row in report.refusals)
    found = []
    for key in keys:
        rows = [row for row in report.refusals if (row.behavior, row.kind, row.by) == key]
        signals, n = by_signal(rows), max(row.rate.n for row in rows)
        found.append(RefusalRow(behavior=key[0], kind=key[1], by=key[2], n=n, by_signal=signals))
    return found


def near_sentences(report: RewardReport) -> tuple[Said, ...]:
    """Say where the hardest comparisons go wrong most often under the reward of training."""
    signal = main_signal(report)
    rows = [row for row in report.near_ideal if row.signal == signal and defined(row.error_rate)]
    if not rows:
        return ()
    worst = max(rows, key=lambda row: row.error_rate.value or 0.0)
    first = say(
        "reward.near.worst",
        signal=_mid(signal),
        behavior=Name(worst.behavior),
        comparisons=Count(worst.error_rate.n, "comparisons"),
        best=Label(worst.best),
        next=Label(worst.next),
        **_figures(worst.error_rate, report),
    )
    unclear = any((row.mean_gap.low or 0.0) <= 0 <= (row.mean_gap.high or 0.0) for row in rows)
    return (first, say("reward.near.gap_unclear")) if unclear else (first,)


def refusal_sentences(report: RewardReport) -> tuple[Said, ...]:
    """Say where refusals go wrong most often under the reward of training."""
    signal = main_signal(report)
    rows = [row for row in report.refusals if row.signal == signal and defined(row.rate)]
    if not rows:
        return ()
    worst = max(rows, key=lambda row: row.rate.value or 0.0)
    if not worst.rate.value:
        return (say("reward.refusals.none", signal=_mid(signal)),)
    return (
        say(
            "reward.refusals.worst",
            signal=_mid(signal),
            kind=say(f"reward.refusal.{worst.kind}"),
            by=say(f"reward.refusal.by.{worst.by}"),
            behavior=Name(worst.behavior),
            prompts=Count(worst.rate.n, "prompts"),
            **_figures(worst.rate, report),
        ),
    )


def _mid(signal: str) -> Said:
    """Name a reward in the middle of a sentence."""
    return say(f"reward.signal.mid.{signal}")


def _figures(rate: Rate, report: RewardReport) -> dict[str, object]:
    return {
        "error": Share(rate.value),
        "level": level_of(report),
        "ends": ShareEnds(rate.low, rate.high),
    }


Row = TypeVar("Row")


def defined(rate: Rate | None) -> bool:
    """Whether there is a figure."""
    return rate is not None and rate.value is not None and math.isfinite(rate.value)


def signals_of(report: RewardReport) -> tuple[str, ...]:
    """List the rewards to show: without a base reward only the rules."""
    found = _ranking(report) | {row.signal for row in report.bench if defined(row.accuracy)}
    return tuple(signal for signal in SIGNALS if signal in found) if "base" in found else ("rules",)


def main_signal(report: RewardReport) -> str:
    """Name the reward that training would see."""
    found = _ranking(report) or set(signals_of(report))
    return "total" if found >= {"base", "total"} else "rules"


def _ranking(report: RewardReport) -> set[str]:
    """Name the rewards that rank the comparisons."""
    return {row.signal for row in report.error_rates if defined(row.rate)}


def accuracies(report: RewardReport) -> tuple[BenchSubset | None, BenchSubset | None]:
    """Find the accuracy on all pairs of the reward of training, and of its base."""
    found = by_signal(row for row in report.bench if row.subset is None and defined(row.accuracy))
    base = found.get("base")
    return found.get("rules" if base is None else "total"), base


def behaviors_of(report: RewardReport) -> tuple[str, ...]:
    """List the behaviors in the order in which they come."""
    names = [row.behavior for row in report.scales]
    names += [row.behavior for row in report.drives]
    names += [row.behavior for row in report.error_rates if row.behavior is not None]
    return tuple(dict.fromkeys(names))


def by_signal(rows: Iterable[Row]) -> dict[str, Row]:
    """Key rows by their signal."""
    return {row.signal: row for row in rows}  # type: ignore[attr-defined]


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


State: TypeAlias = Literal["passed", "depends", "failed", "no_evidence"]
HeldOut: TypeAlias = Literal["held_out", "not_held_out", "held_out_unknown"]
Finding: TypeAlias = Literal["helps", "hurts", "unclear", "better", "worse", "chance", "undefined"]

_USUAL_LEVEL = 0.95
_CHANCE = 0.5
_STATES: dict[Finding, State] = {
    "helps": "passed",
    "better": "passed",
    "hurts": "failed",
    "worse": "failed",
    "unclear": "no_evidence",
    "chance": "no_evidence",
    "undefined": "no_evidence",
}


@dataclass(frozen=True, kw_only=True)
class RewardVerdict:
    """What is found of the reward: a state for the chip, a sentence, and what limits it."""

    state: State
    short: Said
    sentence: Said
    more: tuple[Said, ...]


def level_of(report: RewardReport) -> Percent:
    """Give the confidence level of the intervals."""
    level = report.settings.get("confidence_level")
    return Percent(level if isinstance(level, float) and 0 < level < 1 else _USUAL_LEVEL)


def error_of(
    report: RewardReport, signal: str, *, behavior: str | None = None, against: str = "all"
) -> Rate | None:
    """Find an error rate; None where there is none."""
    for row in report.error_rates:
        if (row.behavior, row.signal, row.against) == (behavior, signal, against):
            return row.rate if defined(row.rate) else None
    return None


def held_out(report: RewardReport) -> HeldOut:
    """Tell whether the fit has seen the prompts, as far as it is known."""
    if report.is_held_out:
        return "held_out"
    return "held_out_unknown" if has_note(report.notes, "held_out_unknown") else "not_held_out"


def reward_verdict(report: RewardReport) -> RewardVerdict:
    """Say in one sentence how the reward ranks, and what the reader must bear in mind."""
    found = _finding(report, None)
    state, short = short_verdict(report, None)
    more = [] if found == "undefined" else [say(f"reward.verdict.{found}")]
    if found != "undefined":
        more.append(say(f"reward.verdict.{held_out(report)}"))
    return RewardVerdict(
        state=state,
        short=short,
        sentence=_sentence(report),
        more=(*more, *_certification(report)),
    )


def short_verdict(report: RewardReport, behavior: str | None) -> tuple[State, Said]:
    """Give the chip of a behavior, or of all: good news on the data of the fit is half of it."""
    found = _finding(report, behavior)
    state, short = _STATES[found], say(f"reward.short.{found}")
    if state == "passed" and not report.is_held_out:
        return "depends", say(f"reward.short.{held_out(report)}", short=short)
    return state, short


def _finding(report: RewardReport, behavior: str | None) -> Finding:
    rate = error_of(report, main_signal(report), behavior=behavior)
    base = error_of(report, "base", behavior=behavior)
    if rate is None:
        return "undefined"
    if "base" in signals_of(report) and base is not None:
        if _is_below(rate, base):
            return "helps"
        return "hurts" if _is_below(base, rate) else "unclear"
    if rate.low is None or rate.high is None:
        return "chance"
    if rate.high < _CHANCE:
        return "better"
    return "worse" if rate.low > _CHANCE else "chance"


def _is_below(one: Rate, other: Rate) -> bool:
    return one.high is not None and other.low is not None and one.high < other.low


def _sentence(report: RewardReport) -> Said:
    rate, base = error_of(report, main_signal(report)), error_of(report, "base")
    if rate is None:
        return say("reward.verdict.undefined")
    figures = {
        "error": Share(rate.value),
        "comparisons": Count(rate.n, "comparisons"),
        "level": level_of(report),
        "ends": ShareEnds(rate.low, rate.high),
    }
    if base is None:
        return say("reward.verdict.without_base", **figures)
    base_figures = {"base": Share(base.value), "base_ends": ShareEnds(base.low, base.high)}
    return say("reward.verdict.with_base", **figures, **base_figures)


def weighted(report: RewardReport, behavior: str | None = None) -> list[FeatureDrive]:
    """List the features with a weight."""
    return [
        row
        for row in report.drives
        if row.weight and (behavior is None or row.behavior == behavior)
    ]


def certified_counts(report: RewardReport, behavior: str | None = None) -> tuple[int, int]:
    """Count the features with a weight whose judge is certified, and all with a weight."""
    rows = weighted(report, behavior)
    return sum(row.is_certified for row in rows), len(rows)


def _certification(report: RewardReport) -> tuple[Said, ...]:
    certified, all_of_them = certified_counts(report)
    if not all_of_them:
        return ()
    features = Count(all_of_them, "features")
    if certified == all_of_them:
        return (say("reward.verdict.certified", features=features),)
    if not certified:
        return (say("reward.verdict.uncertified.all", features=features),)
    return (say("reward.verdict.uncertified", n=all_of_them - certified, features=features),)


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


def reward_view(report: RewardReport, speaker: Speaker, *, version: str) -> RewardView:
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


_DATA = {
    "held_out": "reward.paper.data",
    "not_held_out": "reward.paper.data.used",
    "held_out_unknown": "reward.paper.data.unknown",
}


def paper_sentences(report: RewardReport, *, version: str) -> tuple[Said, ...]:
    """Write the paragraph.

    Parameters
    ----------
    report : RewardReport
        What the page is made from.
    version : str
        Of voirdire.

    Returns
    -------
    tuple of Said
        Its sentences.
    """
    has_base = error_of(report, "base") is not None
    names = {"judge": judge_name(report), "rubric": rubric_name(report)}
    return (
        say("reward.paper.what.base" if has_base else "reward.paper.what", **names),
        say(
            _DATA[held_out(report)],
            comparisons=Count(report.n_comparisons, "comparisons"),
            completions=Count(report.n_items, "completions"),
            prompts=Count(report.n_prompts, "prompts"),
        ),
        *_error(report),
        *_bench(report),
        _interval(report),
        *_paper_certified(report),
        say("reward.paper.software", version=version),
    )


def _error(report: RewardReport) -> tuple[Said, ...]:
    rate, base = error_of(report, main_signal(report)), error_of(report, "base")
    if rate is None:
        return ()
    figures = {
        "error": Share(rate.value),
        "level": level_of(report),
        "ends": ShareEnds(rate.low, rate.high),
    }
    if base is None:
        return (say("reward.paper.error", **figures),)
    ends = ShareEnds(base.low, base.high)
    return (say("reward.paper.error.base", base=Share(base.value), base_ends=ends, **figures),)


def _bench(report: RewardReport) -> tuple[Said, ...]:
    main, _ = accuracies(report)
    if main is None:
        return ()
    return (
        say(
            "reward.paper.bench",
            accuracy=Share(main.accuracy.value),
            pairs=Count(main.accuracy.n, "pairs"),
            ends=ShareEnds(main.accuracy.low, main.accuracy.high),
        ),
    )


def _interval(report: RewardReport) -> Said:
    n = report.settings.get("n_resamples")
    if isinstance(n, int) and 0 < n < 10**9:
        return say("reward.paper.interval", n=Count(n))
    return say("reward.paper.interval.plain")


def _paper_certified(report: RewardReport) -> tuple[Said, ...]:
    certified, all_of_them = certified_counts(report)
    if not all_of_them:
        return ()
    return (say("reward.paper.certified", n=certified, features=Count(all_of_them, "features")),)
