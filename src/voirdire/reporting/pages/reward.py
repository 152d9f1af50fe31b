"""What is said of rewards: their examination, their fit, the rewards of a file, a synthesis."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from voirdire.reporting.as_json import from_json
from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.examination_findings import say_coded
from voirdire.reporting.pages.results_sections import list_notes
from voirdire.reporting.pages.speech import (
    Argument,
    Clauses,
    Count,
    Decimal,
    Listing,
    Name,
    Percent,
    Said,
    Share,
    Verbatim,
    argument_of,
    say,
    say_rate,
    say_with_ends,
)
from voirdire.reporting.pages.verdicts import list_missing, say_calls, say_output
from voirdire.reporting.pages.view import Column, Part, Table, Track, View, Words
from voirdire.rewards.against_demands import (
    AgainstDemand,
    describe_paid_against_demands,
    find_paid_against_demands,
)
from voirdire.rewards.fitting.weight_problem import UNDEFINED, BehaviorFit, FittedWeight
from voirdire.studies.reward.result import SEARCHED, NonsenseKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from voirdire.rewards import RewardModel, SynthesisSummary
    from voirdire.rewards.criteria_scoring import CriteriaScores
    from voirdire.rewards.fitting.fit import RewardFit
    from voirdire.rewards.folder_scoring import FolderScores
    from voirdire.rewards.scoring import ScoringSummary
    from voirdire.studies.reward.result import (
        FeatureDrive,
        FigureChange,
        GuardFigures,
        RateEstimate,
        RewardExamination,
    )


_SIGNALS = ("base", "total", "rules")
_MOST_BEHAVIORS = 20
_MOST_NOTES = 60
_MOST_LEADS = 4
_NOTE_WIDTH = 600
_NOTEWORTHY = 0.005
"""Half a point of the error rate: less is noise."""


# The examination of a reward ----------------------------------------------------------------------


def reward_view(report: RewardExamination) -> View:
    """Say what the examination of a reward found."""
    facts = _Facts(_name_rules(report))
    report, shown = facts.report, facts.behaviors[:_MOST_BEHAVIORS]
    step = _next_step(facts)
    todos = {code: say(f"reward.do.{key}") for code, key in _TODO.items()}
    notes = sorted(report.notes[:_MOST_NOTES], key=lambda note: note.code not in todos)
    said = [
        Verbatim(note.sentence, otherwise=say_coded("reward.note", note), width=_NOTE_WIDTH)
        for note in notes
    ]
    cautions = [(one, todos.get(note.code)) for one, note in zip(said, notes, strict=True)]
    drives = [said for name in shown for said in _say_drives(facts, name)]
    reward = {name: each for name, each in report.reward.items() if name != "weights"}
    if isinstance(reward.get("settings"), dict):
        reward["settings"] = _without_hashes(reward["settings"])
    return View(
        name="reward",
        meta=say("reward.meta", reward=str(report.reward.get("name") or "–"),
                 comparisons=report.n_comparisons, completions=report.n_items,
                 prompts=report.n_prompts),
        notice=("reward.simulated",) if report.settings.get("simulated") is True else (),
        lead=(*_headline(facts), *_say_change(facts)),
        todo=(step,),
        blocks=(
            _rates_table(facts, shown),
            *((_changes_table(facts),) if report.changes else ()),
            *(
                (Words(("reward.drives.title",), "heading"), Words(drives, "list"))
                if drives
                else ()
            ),
        ),
        more=say("reward.more"),
        cautions=tuple((note, None if todo == step else todo) for note, todo in cautions),
        notes=list_notes((), report.dropped),
        parts=tuple(_list_parts(facts, shown)),
        settings={f"reward.{name}": each for name, each in reward.items()} | {**report.settings},
        glossary=("base_reward", "feature", "certificate"),
    )  # fmt: skip


def _without_hashes(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in settings.items() if name != "prompt_hashes"}


def _name_rules(report: RewardExamination) -> RewardExamination:
    """Call the total the rules where there is no base reward beside it."""
    changed: dict[str, Any] = {}
    for name in ("error_rates", "refusals", "bench"):
        rows = getattr(report, name)
        if {row.signal for row in rows} == {"total"}:
            changed[name] = tuple(replace(row, signal="rules") for row in rows)
    return replace(report, **changed)


@dataclass(frozen=True)
class _Facts:
    """What several parts say: which reward ranks the comparisons, and how well."""

    report: RewardExamination

    @cached_property
    def _ranking(self) -> set[str]:
        return {row.signal for row in self.report.error_rates if is_defined(row.rate.value)}

    @cached_property
    def signals(self) -> tuple[str, ...]:
        """The rewards to show: without a base reward only the rules."""
        bench = {row.signal for row in self.report.bench if is_defined(row.accuracy.value)}
        known = self._ranking | bench
        return tuple(x for x in _SIGNALS if x in known) if "base" in known else ("rules",)

    @cached_property
    def main(self) -> str:
        """The reward that training would see."""
        return "total" if (self._ranking or {*self.signals}) >= {"base", "total"} else "rules"

    @property
    def level(self) -> Percent:
        """The confidence level of the intervals."""
        return Percent(self.report.settings.get("confidence_level", 0.95))

    @cached_property
    def behaviors(self) -> tuple[str, ...]:
        """In the order in which they come."""
        rows: tuple[Any, ...] = (*self.report.drives, *self.report.error_rates)
        return tuple(dict.fromkeys(row.behavior for row in rows if row.behavior is not None))

    def error(self, signal: str, behavior: str | None = None) -> RateEstimate | None:
        """Find an error rate over all comparisons; None where there is none."""
        for row in self.report.error_rates:
            if (row.behavior, row.signal, row.against) == (behavior, signal, "all"):
                return row.rate if is_defined(row.rate.value) else None
        return None

    def verdict(self, behavior: str | None = None) -> str:
        """Tell what the intervals show of a behavior, or of all together."""
        rate, base = self.error(self.main, behavior), self.error("base", behavior)
        if rate is None:
            return "undefined"
        if "base" not in self.signals or base is None:
            return "better" if rate.high < 0.5 else "worse" if rate.low > 0.5 else "chance"
        if rate.high < base.low:  # never with nan
            return "helps"
        return "hurts" if base.high < rate.low else "unclear"

    def beside(self, name: str) -> list[Column]:
        """Make a column of each reward for rows that `_by_signal` puts together."""

        def cell(row: tuple[Any, dict[str, Any]], signal: str) -> Any:
            return say_rate(getattr(row[1][signal], name)) if signal in row[1] else None

        return [(f"reward.signal.{x}", partial(cell, signal=x)) for x in self.signals]


def _by_signal(rows: Iterable[Any], *names: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Put rows together that differ by their signal alone."""
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, name) for name in names), {})[row.signal] = row
    return [*groups.items()]


def _track(rate: Any, **more: Any) -> Track:
    return Track(value=rate.value, low=rate.low, high=rate.high, **more)


def _behavior(name: str | None) -> Said | Name:
    return say("reward.all") if name is None else Name(name, 40)


def _headline(facts: _Facts) -> Iterator[Said]:
    error, base = facts.error(facts.main), facts.error("base")
    if error is not None:
        is_unknown = any(note.code == "held_out_unknown" for note in facts.report.notes)
        seen = "held_out_unknown" if is_unknown else "not_held_out"
        where = say(f"reward.headline.{'held_out' if facts.report.is_held_out else seen}")
        comparisons = error.n
        key = "alone" if base is None else "beside"
        yield say(f"reward.headline.{key}", where=where, comparisons=comparisons,
                  level=facts.level, error=say_rate(error), base=say_rate(base))  # fmt: skip
    if error is None or is_defined(error.high):  # one prompt alone has no interval to speak of
        yield say(f"reward.verdict.{facts.verdict()}")
    searched = {row.kind: row for row in facts.report.nonsense if row.kind in SEARCHED}
    if searched:
        counts = {
            kind: Count(searched[kind].n_best if kind in searched else 0) for kind in SEARCHED
        }
        n = max(row.n_prompts for row in searched.values())
        yield say("reward.nonsense.found", best=Count(facts.report.n_nonsense_best), n=Count(n),
                  median=Count(facts.report.n_nonsense_above_median), **counts)  # fmt: skip


def _say_change(facts: _Facts) -> Iterator[Said]:
    """Say which figures are worse than those of the reward that it is held against."""
    if facts.report.against is None:
        return
    worse = [_name_figure(row) for row in facts.report.changes if row.is_regression]
    old = Name(facts.report.against["name"], 40)
    if worse:
        yield say("reward.against.worse", old=old, figures=[*map(say, worse)])
    else:
        yield say("reward.against.fine", old=old)


def _name_figure(row: FigureChange) -> str:
    return f"reward.{'nonsense' if row.figure in get_args(NonsenseKind) else 'figure'}.{row.figure}"


def _changes_table(facts: _Facts) -> Table:
    def state(row: FigureChange) -> Said:
        is_better = row.difference.high < 0
        return say(
            f"outcome.{'worse' if row.is_regression else 'better' if is_better else 'not_shown'}"
        )

    columns: list[Column] = [
        ("figure", lambda row: say(_name_figure(row))),
        ("new", lambda row: say_rate(row.new)),
        ("old", lambda row: say_rate(row.old)),
        ("difference", lambda row: say_with_ends(row.difference.value, row.difference.low,
                                                 row.difference.high)),
        ("verdict", state),
    ]  # fmt: skip
    return Table.of(say("reward.against.caption", level=facts.level), facts.report.changes, columns)


_STATES = {
    "helps": ("better", "passed"),
    "better": ("better", "passed"),
    "hurts": ("worse", "failed"),
    "worse": ("worse", "failed"),
    "unclear": ("not_shown", "close"),
    "chance": ("not_shown", "close"),
}
"""The word and the mark for what intervals show."""


def _rates_table(facts: _Facts, shown: Sequence[str]) -> Table:
    """Give the error rates of all behaviors together, and of each."""

    def state(name: str | None) -> Any:
        verdict = facts.verdict(name)
        return say(f"outcome.{_STATES[verdict][0]}") if verdict in _STATES else None

    def track(name: str | None) -> Track:
        rate, base = facts.error(facts.main, name), facts.error("base", name)
        if rate is None:
            return Track()
        return _track(rate, reference=math.nan if base is None else base.value,
                      state=_STATES[facts.verdict(name)][1])  # fmt: skip

    columns: list[Column] = [
        *(("behavior", _behavior), ("verdict", state), ("error_track", track)),
        *((f"reward.signal.{x}", partial(_error_of, facts=facts, signal=x)) for x in facts.signals),
        ("n_pairs", lambda name: getattr(facts.error(facts.main, name), "n", None)),
    ]
    caption, levels = say("reward.rates", level=facts.level), ((0.5, "reward.chance"),)
    table = Table.of(caption, (None, *shown), columns, levels=levels)
    return replace(table, n_rows=1 + len(facts.behaviors))


def _error_of(name: str | None, *, facts: _Facts, signal: str) -> Any:
    return say_rate(facts.error(signal, name))


def _list_parts(facts: _Facts, shown: Sequence[str]) -> Iterator[Part]:
    """Show what drives the reward, and each way in which it errs."""
    report = facts.report
    if report.drives:
        features = [_features_part(facts, number, name) for number, name in enumerate(shown)]
        lead = Words(("reward.features.lead",))
        yield Part(name="reward.features", blocks=(lead, *features), shown_in="details")
    if report.refusals:
        columns: list[Column] = [
            ("behavior", lambda row: row[0][0]),
            ("kind", lambda row: say(f"reward.refusal.{row[0][1]}")),
            ("by", lambda row: say(f"reward.refusal.by.{row[0][2]}")),
            *facts.beside("rate"),
            ("n_prompts", lambda row: max(each.rate.n for each in row[1].values())),
        ]
        rows = _by_signal(report.refusals, "behavior", "kind", "by")
        table = Table.of(say("reward.refusals.caption", level=facts.level), rows, columns)
        blocks = (Words(("reward.refusals.lead",)), table)
        yield Part(name="reward.refusals", blocks=blocks, shown_in="details")
    if report.nonsense:
        yield _nonsense_part(report)
    if report.guards is not None:
        yield _guards_part(report, report.guards)
    if report.bench:
        yield _bench_part(facts)


# What drives the reward


def _drives(facts: _Facts, behavior: str) -> list[FeatureDrive]:
    """List the features of a behavior, the one that moves rankings most first."""

    def size(row: FeatureDrive) -> tuple[float, float]:
        share, weight = (x if math.isfinite(x) else 0.0 for x in (row.share, row.weight))
        return -round(share, 9), -round(abs(weight), 9)  # ties in the order of the reward

    return sorted((row for row in facts.report.drives if row.behavior == behavior), key=size)


def _name_feature(row: FeatureDrive) -> Name:
    return Name(row.feature.removeprefix(f"{row.behavior}."), 60)


def _say_drives(facts: _Facts, behavior: str) -> Iterator[Said]:
    """Name the fewest features that make up half of the spread, and one that does harm."""
    rows, total = _drives(facts, behavior), 0.0
    for place, row in enumerate(rows, start=1):
        total += row.share if math.isfinite(row.share) else 0.0
        if total >= 0.5:
            features = Listing(tuple(map(_name_feature, rows[:place])))
            yield say("reward.drives.most", behavior=behavior, features=features,
                      share=Percent(total))  # fmt: skip
            break
    error = facts.error(facts.main, behavior)
    known = [
        x for x in rows if is_defined(x.error_rate_without) and is_defined(x.weight) and x.weight
    ]
    least = min(known, key=attrgetter("error_rate_without"), default=None)
    if error and least and error.value - least.error_rate_without >= _NOTEWORTHY:
        shares = {"error": Share(error.value), "without": Share(least.error_rate_without)}
        feature = _name_feature(least)
        yield say("reward.drives.helpless", behavior=behavior, feature=feature, **shares)


def _features_part(facts: _Facts, number: int, behavior: str) -> Part:
    def remarks(row: FeatureDrive) -> Clauses:
        marks = {
            "contradictory": row.is_contradictory and row.demand,
            "out_of_order": row.is_contradictory and not row.demand,
            "dead": row.is_dead,
            "certified": row.is_certified,
            "uncertified": not row.is_certified,
        }
        return Clauses(tuple(say(f"reward.mark.{key}") for key, is_so in marks.items() if is_so))

    rows = _drives(facts, behavior)
    columns: list[Column] = [
        ("feature", lambda row: (
            say("reward.class", name=_name_feature(row))
            if row.feature.startswith(f"{behavior}.")
            else _name_feature(row)
        )),
        ("demand", lambda row: Verbatim(row.demand) if row.demand else None),
        ("effect", lambda row: Track(value=row.weight, low=row.low, high=row.high)),
        ("weight", lambda row: say_with_ends(row.weight, row.low, row.high)),
        *(("share", lambda row: Percent(row.share)), "error_rate_without", ("remarks", remarks)),
    ]  # fmt: skip
    table = Table.of("reward.features.caption", rows, columns, most=100, levels=((0.0, Count(0)),))
    title = say("reward.features.of", behavior=behavior)
    return Part(name=f"reward.features.{number}", title=title, blocks=(table,))


# Where it errs


def _nonsense_part(report: RewardExamination) -> Part:
    kind: Column = ("nonsense", lambda row: say(f"reward.nonsense.{row.kind}"))
    counts = ("n_prompts", "n_best", "n_above_best", "n_above_median", "n_texts")
    table = Table.of("reward.nonsense.caption", report.nonsense,
                     [kind, *counts, "share_best", "share_above_median"])  # fmt: skip
    examples = Table.of(
        "reward.nonsense.examples",
        [each for row in report.nonsense for each in row.examples[:3]],
        [("items.prompt", lambda row: Name(row.prompt, 160)),
         ("text", lambda row: Name(row.text or "–", 160)), "reward", "best_reward"],
    )  # fmt: skip
    seed = Count(int(report.settings.get("seed", 0)))
    blocks = (Words((say("reward.nonsense.lead", seed=seed),)), table, examples)
    return Part(name="reward.nonsense", blocks=blocks, shown_in="details")


def _guards_part(report: RewardExamination, guards: GuardFigures) -> Part:
    """Say what gate and cap do to real responses."""
    rates = {"floored": guards.floored, "error": guards.error_rate,
             "without": guards.error_rate_without}  # fmt: skip
    said = say("reward.guards.lead", n=guards.n_floored, completions=report.n_items,
               capped=Percent(guards.share_at_cap),
               **{name: say_rate(rate) for name, rate in rates.items()})  # fmt: skip
    blocks: list[Any] = [Words((said,))]
    if guards.examples:
        labels = Listing(
            tuple(Name(f"{name or '–'}: {n}", 60) for name, n in guards.floored_by_label.items())
        )
        columns: list[Column] = [
            ("items.prompt", lambda row: Name(row.prompt, 160)),
            ("response", lambda row: Name(row.response or "–", 160)),
            ("label", lambda row: row.label or "–"),
        ]
        table = Table.of(say("reward.guards.caption", labels=labels), guards.examples, columns)
        blocks.append(table)
    return Part(name="reward.guards", blocks=tuple(blocks), shown_in="details")


def _bench_part(facts: _Facts) -> Part:
    """Show the benchmark: all pairs and the mean over subsets first."""
    order = {None: 0, "*": 1}
    named = {None: "reward.bench.all", "*": "reward.bench.mean"}
    rows = sorted(_by_signal(facts.report.bench, "subset"), key=lambda row: order.get(row[0][0], 2))
    columns: list[Column] = [
        ("subset", lambda row: say(named[row[0][0]]) if row[0][0] in named else row[0][0]),
        *facts.beside("accuracy"),
        ("n_compared", lambda row: max(each.accuracy.n for each in row[1].values())),
    ]
    table = Table.of(say("reward.bench.caption", level=facts.level), rows, columns)
    return Part(name="reward.bench", blocks=(table,))


# What to know, and what to do

_TODO = {
    **dict.fromkeys(("seen_prompts", "held_out_unknown", "bench_seen_prompts"), "unseen"),
    **dict.fromkeys(("worse_than_base", "no_better_than_chance"), "mend"),
    **dict.fromkeys(("contradictory_features", "classes_out_of_order"), "demands"),
    "other_judge": "judge",
    "labels_from_classes": "labels",
    "no_comparisons": "compare",
    **dict.fromkeys(("nonsense_paid", "false_alarms"), "nonsense"),
    "uncertified": "certify",
}
"""What to do about a note, by its code."""


def _next_step(facts: _Facts) -> Said:
    """Choose the one thing to do now."""
    verdict = facts.verdict()
    due = {_TODO.get(note.code) for note in facts.report.notes}
    steps = {
        "compare": verdict == "undefined",
        "mend": verdict in ("hurts", "worse"),
        "unseen": not facts.report.is_held_out,
        **{step: step in due for step in ("nonsense", "demands", "certify")},
        "prompts": verdict in ("unclear", "chance"),
        "train": True,
    }
    return say("reward.do." + next(step for step, is_due in steps.items() if is_due))


# Its fit ------------------------------------------------------------------------------------------


def fit_view(fit: RewardFit) -> View:
    """Say which weights were fitted, and how often they rank comparisons the wrong way."""
    paid = find_paid_against_demands(fit.model)
    return _weights_view(fit.model.name, fit.behaviors, fit.model.settings, paid)


def model_view(model: RewardModel) -> View:
    """Say which weights a reward has, and how they were fitted where they were."""
    fits = [_read_fit(name, row.figures) for name, row in model.behaviors.items() if row.figures]
    given = {
        name: [
            FittedWeight(feature=feature, weight=replace(UNDEFINED, value=value), origin="fixed")
            for feature, value in row.weights.items()
        ]
        for name, row in model.behaviors.items()
        if not row.figures
    }
    paid = find_paid_against_demands(model)
    return _weights_view(model.name, fits, model.settings, paid, given)


def read_fit_view(document: Mapping[str, Any]) -> View:
    """Lay out what `voirdire fit --json` prints."""
    fits = [_read_fit(row["behavior"], row) for row in document["behaviors"]]
    paid = [AgainstDemand(**row) for row in document["against_demands"]]
    return _weights_view(document["reward"]["name"], fits, document["settings"], paid)


def _read_fit(behavior: str, figures: Mapping[str, Any]) -> BehaviorFit:
    """Read the figures of a fit as a reward file and the JSON of a fit have them."""
    names = {each.name for each in fields(BehaviorFit)}
    plain = {"n_test_prompts": 0, "n_cyclic_pairs": 0, "notes": []}  # younger than some rewards
    plain |= {name: x for name, x in figures.items() if name in names}
    plain["weights"] = [
        {"feature": name, "origin": row["origin"],
         "weight": {end: row[end] for end in ("value", "low", "high")}}
        for name, row in figures["weights"].items()
    ]  # fmt: skip
    fit: BehaviorFit = from_json(plain | {"behavior": behavior, "l2_path": {}}, BehaviorFit)
    return fit


def _weights_view(
    name: str,
    rows: Sequence[BehaviorFit],
    settings: Mapping[str, Any],
    paid: Sequence[AgainstDemand],
    given: Mapping[str, Sequence[FittedWeight]] = MappingProxyType({}),
) -> View:
    level = Percent(settings.get("confidence_level", 0.95))
    has_base = any(is_defined(row.error_rate_base.value) for row in rows)
    columns: list[Column] = [
        *("behavior", "n_pairs", ("completions", "n_items"), "n_prompts"),
        *(["n_test_prompts"] if any(row.n_test_prompts for row in rows) else []),
        ("error_track", lambda row: _track(row.error_rate, reference=row.error_rate_base.value)),
        "error_rate",
        *([("reward.signal.base", "error_rate_base")] if has_base else []),
        "error_rate_fitted",
    ]
    behaviors = Listing(tuple(Name(x, 40) for x in (*(row.behavior for row in rows), *given)))
    of_note: dict[str, list[str]] = {}
    for row in rows:
        for note in row.notes:
            of_note.setdefault(note, []).append(row.behavior)
    against = describe_paid_against_demands(paid)
    parts = [_weights_part(row.behavior, row.weights, level, row) for row in rows]
    parts += [_weights_part(behavior, weights, level) for behavior, weights in given.items()]
    return View(
        name="fit",
        meta=say("fit.meta", reward=name, behaviors=behaviors),
        lead=tuple(
            say("fit.lead", behavior=row.behavior, rate=say_rate(row.error_rate))
            for row in rows[:_MOST_LEADS]
        ),
        blocks=(Table.of(say("fit.rates", level=level), rows, columns,
                         levels=((0.5, "reward.chance"),)),) if rows else (),
        parts=tuple(replace(part, name=f"fit.weights.{n}") for n, part in enumerate(parts)),
        notes=(
            *(say("fit.cycles", behavior=row.behavior, n=row.n_cyclic_pairs)
              for row in rows if row.n_cyclic_pairs),
            *(say("fit.note", behaviors=[*names], note=Verbatim(note))
              for note, names in of_note.items()),
            *((Verbatim(against, width=_NOTE_WIDTH),) if against else ()),
        ),
        settings=_without_hashes(settings),
        glossary=("base_reward", "feature"),
    )  # fmt: skip


def _weights_part(
    behavior: str, weights: Sequence[FittedWeight], level: Percent, fit: BehaviorFit | None = None
) -> Part:
    def weight(one: Any) -> Any:
        value, ends = Decimal(one.weight.value, 3), (one.weight.low, one.weight.high)
        if not all(map(is_defined, ends)):
            return value
        low, high = (Decimal(end, 3) for end in ends)
        return say("cell.figure", value=value, ends=say("interval.negative", low=low, high=high))

    columns: list[Column] = [
        *("feature", ("effect", lambda one: _track(one.weight)), ("weight", weight)),
        ("origin", lambda one: say(f"fit.origin.{one.origin}")),
    ]
    title, caption = say("fit.weights.title", behavior=behavior), None
    if fit is not None:  # 1e-12 would say no more of the gap: the bound is rounded
        gap = Name(f"{max(fit.objective - fit.bound, 1e-9):.0e}")
        caption = say("fit.weights", level=level, l2=f"{fit.l2:g}", gap=gap)
    table = Table.of(caption, weights, columns, label=title, levels=((0.0, Count(0)),))
    return Part(name="fit.weights", title=title, blocks=(table,), is_open=True)


# The rewards of a file ----------------------------------------------------------------------------


def criteria_view(scores: CriteriaScores) -> View:
    """Say what responses score by the criteria of their items, whole and by tag."""
    rows = [("score.all", scores.n_scored, scores.mean)]
    rows += [(row.tag, row.n_items, row.mean) for row in scores.tags]
    columns: list[Column] = [
        ("score.tag", lambda row: say(row[0]) if row[0] == "score.all" else Name(row[0], 60)),
        ("n_items", lambda row: row[1]),
        ("score.share", lambda row: Percent(row[2]) if is_defined(row[2]) else "–"),
    ]
    signs = () if scores.negative is None else (say(f"score.{scores.negative}"),)
    return View(
        name="score",
        meta=say("score.criteria", n=scores.n_scored, items=scores.n_items,
                 criteria=scores.n_criteria, judge=scores.judge),
        lead=tuple(
            say(f"score.{name}", n=n)
            for name, n in (("missing", scores.n_missing), ("uncertified", scores.n_uncertified))
            if n
        ),
        blocks=(Table.of(None, rows, columns, label="score.title"), *say_output(scores.output)),
        notes=(*signs, *list_missing(scores.missing)),
    )  # fmt: skip


def folder_view(scores: FolderScores) -> View:
    """Say of how many files the items got rewards, and why others got none."""
    n_items, n_scored = (sum(getattr(x, n) for x in scores.parts) for n in ("n_items", "n_scored"))
    return View(
        name="score",
        meta=say("score.folder", n=n_scored, items=n_items, reward=scores.reward),
        lead=(say("score.files", files=scores.n_files, n=len(scores.parts),
                  there=scores.n_files_there, failed=len(scores.failed)),),
        blocks=say_output(scores.output),
        notes=list_missing(scores.missing),
    )  # fmt: skip


def score_view(summary: ScoringSummary) -> View:
    """Say which items of a file got which rewards, and why others got none."""
    figures = ("mean", "standard_deviation", "minimum", "maximum", "mean_rule", "mean_base")
    columns: list[Column] = [
        *(("behavior", lambda row: row.behavior or say("score.none")), "n_items", "n_scored"),
        *((x, lambda row, x=x: Decimal(getattr(row, x), 3)) for x in figures),
    ]
    return View(
        name="score",
        meta=say("score.meta", n=summary.n_scored, items=summary.n_items, reward=summary.reward,
                 judge=summary.judge, rubric=f"{summary.rubric} {summary.rubric_version}"),
        lead=(*(("score.centered",) if summary.is_centered else ()), *_say_parting(summary)),
        blocks=(
            Table.of(None, summary.behaviors, columns, label="score.title"),
            *(() if summary.calls is None else say_calls(summary.calls)),
            *say_output(summary.output),
        ),
        notes=list_missing(summary.missing),
    )  # fmt: skip


def _say_parting(summary: ScoringSummary) -> Iterator[Said]:
    """Say how another judge than that of the training sees its completions."""
    if (found := summary.parting) is None:
        return
    names = ("trained_first", "trained_last", "second_first", "second_last")
    figures: dict[str, Any] = {name: Decimal(getattr(found, name)) for name in names}
    yield say("score.parting", completions=found.n, r=Decimal(found.correlation), **figures)
    if found.step is not None:
        yield say("score.parts", step=found.step)


# Completions that a model wrote -------------------------------------------------------------------


def synthesis_view(summary: SynthesisSummary, *, rubric: str | None = None) -> View:
    """Say which completions were written, and the command that fits a reward to them."""
    columns = ["behavior", "label", "n_wanted", "n_written"]
    calls, judged = summary.calls, summary.judge_calls
    todo: tuple[Any, ...] = ()
    if summary.output not in (None, "-"):
        made, asked = (argument_of(x).text for x in (summary.output, rubric or summary.rubric))
        command = Argument(f"voirdire fit {made} --rubric {asked} -o reward.json")
        todo = ("synthesis.next", say("command", text=command))
    return View(
        name="synthesis",
        meta=say("synthesis.meta", completions=summary.n_written, prompts=summary.n_prompts,
                 model=summary.model, judge=summary.judge, recipes=summary.recipes,
                 rubric=f"{summary.rubric} {summary.rubric_version}"),
        lead=(say("synthesis.complete", prompts=summary.n_complete),),
        todo=todo,
        blocks=(
            Table.of(None, summary.slots, columns, label="synthesis.title"),
            *say_calls(calls),
            *(() if judged is None else (Words(("synthesis.verified",)), *say_calls(judged))),
            *say_output(summary.output),
            *say_output(summary.rejected_output, "synthesis.rejected"),
        ),
        notes=tuple(map(Verbatim, summary.notes)),
    )  # fmt: skip
