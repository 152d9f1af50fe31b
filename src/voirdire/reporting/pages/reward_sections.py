"""What the examination of a reward says, in the order of its page."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from voirdire._version import __version__
from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.frame import drop_reasons, settings_rows
from voirdire.reporting.pages.reward_facts import (
    RewardFacts,
    describe_reward,
    group_by_signal,
    name_judge,
    name_rules,
    or_zero,
    say_rubric,
)
from voirdire.reporting.pages.reward_notes import say_note, say_todo
from voirdire.reporting.pages.speech import (
    Clauses,
    Count,
    Decimal,
    Listing,
    Name,
    Percent,
    Said,
    Share,
    ShareEnds,
    Verbatim,
    has_sentence,
    say,
    say_with_ends,
)
from voirdire.reporting.pages.view import (
    Advice,
    Facts,
    Part,
    Quote,
    Settings,
    Table,
    View,
    Words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from voirdire.reporting.pages.speech import Speaker
    from voirdire.reporting.pages.view import Block
    from voirdire.studies.reward.result import (
        FeatureDrive,
        RateEstimate,
        RewardExamination,
    )

__all__ = ["reward_view"]

_MOST_NOTES = 60
_TOP_NOTES = 3

State: TypeAlias = Literal["passed", "depends", "failed", "no_evidence"]

_HALF = 0.5
_STRONGEST = 5
_STRONG = 0.05
"""Share of the spread below which a feature is not worth a sentence."""
_NOTEWORTHY = 0.005
"""Half a point of the error rate: less is noise."""


def _columns(kind: Callable[[Any], Any], **attributes: str) -> dict[str, Any]:
    """Make columns that say attributes of a row in one way, by the keys of their heads."""

    def column(path: str) -> Callable[[Any], Any]:
        read = attrgetter(path)
        return lambda row: kind(read(row))

    return {f"reward.column.{head}": column(path) for head, path in attributes.items()}


def reward_view(report: RewardExamination, speaker: Speaker) -> View:
    """Say what an examination found, for its page and for a terminal."""
    facts = RewardFacts(name_rules(report))
    report = facts.report
    notes = [(say_note(note, speaker), say_todo(note)) for note in report.notes]
    top = [note for note in notes if note[1]][:_TOP_NOTES]
    others = [note for note in notes if note not in top]
    drives = [words for name in facts.shown for words in _say_behavior(facts, name)]
    parts = (_notes_part(others), *_list_parts(facts), *_list_appendix(facts))
    return View(
        name="reward",
        meta=say("reward.page.meta", reward=facts.reward_name, **facts.sizes),
        lead=tuple(_headline(facts)),
        todo=(say(_choose_next_step(facts)),),
        blocks=(
            _glance_table(facts),
            *_note_cut_behaviors(facts),
        ),
        brief=(
            *((_rates_table(facts),) if facts.error(facts.main) else ()),
            *((Words(("reward.drives.title",), "heading"), *drives) if drives else ()),
        ),
        more=say("reward.more", n=len(others)),
        cautions=tuple(top),
        parts=tuple(part for part in parts if part.blocks),
        glossary=(
            *("reward", "base_reward", "behavior", "completion", "label", "comparison"),
            *("proposition", "feature", "weight", "error_rate", "certificate", "interval"),
        ),
    )


def _list_parts(facts: RewardFacts) -> Iterator[Part]:
    report = facts.report
    yield _drives_part(facts)
    yield _errors_part(facts)
    if facts.refusals:
        yield _refusals_part(facts)
    if report.degenerate:
        yield _nonsense_part(facts)
    if report.bench:
        yield _bench_part(facts)


# The verdict --------------------------------------------------------------------------------------


def _headline(facts: RewardFacts) -> Iterator[Said]:
    error, base = facts.error(facts.main), facts.error("base")
    if error is not None:
        where = say(f"reward.headline.{facts.held_out}")
        comparisons = Count(error.n, "comparisons")
        yield say(
            "reward.headline.beside" if base else "reward.headline.alone",
            where=where, comparisons=comparisons, **_beside(facts, error, base),
        )  # fmt: skip
    if error is None or is_defined(error.high):  # one prompt alone has no interval to speak of
        yield say(f"reward.verdict.{facts.verdict()}")


def _beside(facts: RewardFacts, rate: RateEstimate, base: RateEstimate | None) -> dict[str, Any]:
    """Give a rate with its interval, and that of the base reward beside it."""
    figures = {"error": Share(rate.value), "level": facts.level, "ends": _ends(rate)}
    return figures | ({"base": Share(base.value), "base_ends": _ends(base)} if base else {})


def _ends(rate: RateEstimate) -> ShareEnds:
    return ShareEnds(rate.low, rate.high)


def _choose_next_step(facts: RewardFacts) -> str:
    """Choose the one thing to do now: the key of its sentence."""
    verdict, report = facts.verdict(), facts.report
    steps = {
        "compare": verdict == "undefined",
        "mend": verdict in ("hurts", "worse"),
        "unseen": not report.is_held_out,
        "nonsense": "degenerate_outranks" in facts.codes,
        "demands": "contradictory_features" in facts.codes,
        "certify": "uncertified" in facts.codes,
        "prompts": verdict in ("unclear", "chance"),
        "train": True,
    }
    return "reward.next." + next(step for step, is_due in steps.items() if is_due)


def _glance_table(facts: RewardFacts) -> Table:
    """Give the verdict on all behaviors together, and on each."""
    beside = [x for x in facts.signals if x in ("base", facts.main)]

    def refusals(name: str | None) -> Any:
        rows = (row.by_signal for row in facts.refusals if row.key[0] == name)
        return _say_rate(getattr(next(rows, {}).get(facts.main), "rate", None))

    def certified(name: str | None) -> Said:
        n, of = facts.certified(*(() if name is None else (name,)))
        return say("reward.certified.of", n=n, of=of)

    def against(name: str | None) -> int:
        return sum(
            row.is_contradictory and bool(row.demand)
            for row in facts.report.drives
            if name in (None, row.behavior)
        )

    columns: dict[str, Any] = {
        "reward.column.behavior": _say_behavior_name,
        "reward.column.verdict": partial(_say_verdict, facts),
        **{f"reward.signal.{x}": lambda name, x=x: _say_rate(facts.error(x, name))
           for x in reversed(beside)},
        "reward.column.refusals": refusals,
        "reward.column.against_demands": against,
        "reward.column.certified": certified,
    }  # fmt: skip
    return Table.of(
        say("reward.behaviors.table", level=facts.level), (None, *facts.shown), columns,
        n_texts=2, label="reward.glance.label", style="glance rates", row_style=_mark_total,
    )  # fmt: skip


def _rates_table(facts: RewardFacts) -> Table:
    """Give the error rates of every reward, for a terminal."""

    def count(name: str | None) -> Any:
        rate = facts.error(facts.main, name)
        return Decimal(None) if rate is None else rate.n

    columns: dict[str, Any] = {
        "reward.column.behavior": _say_behavior_name,
        **{f"reward.signal.{x}": lambda name, x=x: _say_rate(facts.error(x, name))
           for x in facts.signals},
        "reward.column.n": count,
    }  # fmt: skip
    return Table.of(say("reward.rates.table", level=facts.level), (*facts.shown, None), columns)


def _mark_total(name: str | None) -> str:
    return "total-row" if name in (None, "*") else ""


def _say_verdict(facts: RewardFacts, behavior: str | None) -> Said:
    verdict = facts.verdict(behavior)
    states: dict[str, State] = {"helps": "passed", "better": "passed"}
    states |= {"hurts": "failed", "worse": "failed"}
    state, short = states.get(verdict, "no_evidence"), say(f"reward.short.{verdict}")
    if state == "passed" and not facts.report.is_held_out:  # half of good news
        state, short = "depends", say(f"reward.short.{facts.held_out}", short=short)
    return say(f"reward.chip.{state}", short=short)


def _say_rate(rate: RateEstimate | None) -> Any:
    """Say a share with its interval; a dash where it is undefined."""
    if rate is None:
        return Share(None)
    return say_with_ends(rate.value, rate.low, rate.high, is_share=True)


def _say_behavior_name(name: str | None) -> str | Name:
    return "reward.all" if name is None else Name(name, 40)


def _note_cut_behaviors(facts: RewardFacts) -> tuple[Words, ...]:
    if len(facts.shown) == len(facts.names):
        return ()
    n = Count(len(facts.names), "behaviors")
    return (Words((say("reward.cut.behaviors", shown=len(facts.shown), n=n),), "note"),)


# What drives the reward ---------------------------------------------------------------------------


def _drives_part(facts: RewardFacts) -> Part:
    blocks = [
        Words(("reward.drives.lead",)),
        *(x for name in facts.shown for x in _show_features(facts, name)),
        *_note_cut_behaviors(facts),
    ]  # fmt: skip
    return Part(name="reward.drives", blocks=blocks, shown_in="details")


def _say_behavior(facts: RewardFacts, name: str) -> tuple[Words, ...]:
    """Say of a behavior in a line or two what moves its rankings."""
    rows = facts.drives(name)
    error = facts.error(facts.main, name)
    sentences = [
        *_say_largest_features(rows),
        *(() if error is None else _say_harmful_feature(rows, error.value)),
    ]
    of = say("reward.drives.of", behavior=Name(name, 40))
    return (Words((of, *sentences)),) if sentences else ()


def _show_features(facts: RewardFacts, name: str) -> Iterator[Block]:
    rows = facts.drives(name)
    if not rows:
        return
    yield Words((Name(name, 40),), "heading")
    yield Words(_say_drives(facts, rows), "list")
    error = facts.error(facts.main, name)
    caption: Any = "reward.drives.table.plain"
    if error is not None:
        caption = say("reward.drives.table", error=Share(error.value))
    yield Table.of(
        caption,
        rows,
        {
            "reward.column.feature": _say_feature,
            "reward.column.demand": lambda row: (
                _say_demand(row.demand) if row.demand else Name("–")
            ),
            "reward.column.weight": lambda row: say_with_ends(row.weight, row.low, row.high),
            **_columns(Decimal, mean="mean", spread="spread"),
            **_columns(Percent, share="share"),
            **_columns(Share, without="error_rate_without"),
            "reward.column.remarks": lambda row: Clauses(tuple(_say_remarks(row))),
        },
        n_texts=2,
        texts=("reward.column.remarks",),
        most=100,
        style="dense features",
        label=say("reward.drives.label", behavior=Name(name, 40)),
    )


def _shorten_feature(row: FeatureDrive) -> str:
    return row.feature.removeprefix(f"{row.behavior}.")


def _say_feature(row: FeatureDrive) -> Said | Name:
    name = Name(_shorten_feature(row), 60)
    is_class = row.feature.startswith(f"{row.behavior}.")
    return say("reward.feature.class", name=name) if is_class else name


def _say_demand(words: str) -> Said | Name:
    """Say what a rubric demands of a proposition."""
    key = f"reward.demand.{words.replace(' ', '_')}"
    return say(key) if has_sentence(key, "reward") else Name(words)


def _say_remarks(row: FeatureDrive) -> Iterator[Said]:
    if row.is_contradictory:
        yield say("reward.mark.contradictory" if row.demand else "reward.mark.out_of_order")
    if row.is_dead:
        yield say("reward.mark.dead")
    yield say("reward.mark.certified" if row.is_certified else "reward.mark.uncertified")


def _say_drives(facts: RewardFacts, rows: Sequence[FeatureDrive]) -> list[Said]:
    """Say what stands out among the sorted features of a behavior."""
    strong = [row for row in rows[:_STRONGEST] if or_zero(row.share) >= _STRONG]
    parts = {
        "contradictory": [row for row in rows if row.is_contradictory and row.demand],
        "out_of_order": [row for row in rows if row.is_contradictory and not row.demand],
        "dead": [row for row in rows if row.is_dead],
        "uncertified": [row for row in strong if row.weight and not row.is_certified],
    }
    rate = facts.error(facts.main, rows[0].behavior)
    return [
        *_say_largest_features(rows),
        *(say(f"reward.drives.{key}", features=_name_features(these))
          for key, these in parts.items() if these),
        *(() if rate is None else _say_harmful_feature(rows, rate.value)),
    ]  # fmt: skip


def _name_features(rows: Sequence[FeatureDrive]) -> Listing:
    return Listing(tuple(Name(_shorten_feature(row)) for row in rows))


def _say_largest_features(rows: Sequence[FeatureDrive]) -> list[Said]:
    """Name the fewest features that make up half of the spread."""
    total = 0.0
    for place, row in enumerate(rows, start=1):
        total += or_zero(row.share)
        if total >= _HALF:
            share = Percent(total)
            return [say("reward.drives.most", features=_name_features(rows[:place]), share=share)]
    return []


def _say_harmful_feature(rows: Sequence[FeatureDrive], error: float) -> list[Said]:
    """Name the feature without which the reward would rank better, where there is one."""
    known = [x for x in rows if is_defined(x.error_rate_without) and or_zero(x.weight)]
    least = min(known, key=lambda row: row.error_rate_without, default=None)
    if least is None or error - least.error_rate_without < _NOTEWORTHY:
        return []
    figures = {"without": Share(least.error_rate_without), "error": Share(error)}
    return [say("reward.drives.helpless", feature=_name_features([least]), **figures)]


# How it ranks -------------------------------------------------------------------------------------


def _errors_part(facts: RewardFacts) -> Part:
    lead = "reward.verdict.lead" if "base" in facts.signals else "reward.verdict.lead.rules"
    rows = [row for row in facts.report.error_rates if row.signal in facts.signals]
    table = Table.of(
        say("reward.errors.table", level=facts.level),
        rows,
        {
            **_columns(_say_behavior_name, behavior="behavior"),
            "reward.column.against": lambda row: f"reward.against.{row.against}",
            "reward.glossary.reward.word": lambda row: f"reward.signal.{row.signal}",
            "reward.glossary.error_rate.word": lambda row: _say_rate(row.rate),
            **_columns(Share, ties="tie_share"),
            **_columns(int, n="rate.n", prompts="rate.n_prompts"),
        },
        n_texts=3,
        most=400,
        style="rates dense",
        label="reward.errors.label",
    )
    blocks = (Words((lead, "reward.errors.lead")), table)
    return Part(name="reward.errors", blocks=blocks, shown_in="details")


def _choose_worst(facts: RewardFacts, rows: Iterable[Any], value: Callable[[Any], float]) -> Any:
    """Find where the reward of training goes wrong most often; None where nothing is known."""
    known = [row for row in rows if row.signal == facts.main and is_defined(value(row))]
    return max(known, key=value, default=None)


def _refusals_part(facts: RewardFacts) -> Part:
    lead: list[Any] = ["reward.refusals.lead"]
    worst = _choose_worst(facts, facts.report.refusals, lambda row: row.rate.value)
    if worst is not None:
        figures: dict[str, Any] = {"signal": say(f"reward.signal.mid.{facts.main}")}
        if worst.rate.value:
            figures |= {
                "kind": say(f"reward.refusal.{worst.kind}"),
                "by": say(f"reward.refusal.by.{worst.by}"),
                "behavior": Name(worst.behavior),
                "error": Share(worst.rate.value),
                "prompts": Count(worst.rate.n, "prompts"),
                "level": facts.level,
                "ends": _ends(worst.rate),
            }
        lead.append(
            say("reward.refusals.worst" if worst.rate.value else "reward.refusals.none", **figures)
        )
    columns: dict[str, Any] = {
        "reward.column.behavior": lambda row: Name(row.key[0], 40),
        "reward.column.kind": lambda row: say(
            "reward.refusal.kind_by",
            kind=say(f"reward.refusal.{row.key[1]}"),
            by=say(f"reward.refusal.by.{row.key[2]}"),
        ),
        **facts.columns(lambda row: _say_rate(row.rate)),
        "reward.column.prompts": lambda row: row.n,
    }
    caption = say("reward.refusals.table", level=facts.level)
    table = Table.of(caption, facts.refusals, columns, n_texts=2, most=400, style="rates",
                     label="reward.refusals.label")  # fmt: skip
    return Part(name="reward.refusals", blocks=(Words(lead), table), shown_in="details")


def _nonsense_part(facts: RewardFacts) -> Part:
    rows = facts.report.degenerate
    table = Table.of(
        "reward.degenerate.table",
        rows,
        {
            **_columns(_say_behavior_name, behavior="behavior"),
            "reward.column.nonsense": lambda row: f"reward.degenerate.kind.{row.kind}",
            **_columns(Decimal, mean="mean_reward", mean_best="mean_best"),
            **_columns(Decimal, mean_median="mean_median"),
            **_columns(Percent, above_best="share_above_best", above_median="share_above_median"),
            **_columns(int, prompts="n_prompts"),
        },
        n_texts=2,
        style="dense",
        label="reward.degenerate.label",
    )
    examples = Table.of(
        "reward.degenerate.examples",
        [(row.behavior, each) for row in rows[:200] for each in row.examples[:3]],
        {
            "reward.column.behavior": lambda row: Name(row[0], 40),
            "reward.column.prompt": lambda row: Name(row[1].prompt, 160),
            "reward.column.nonsense": lambda row: Name(row[1].response or "–", 160),
            "reward.column.own_reward": lambda row: Decimal(row[1].reward),
            "reward.column.best_response": lambda row: Name(row[1].best_response, 160),
            "reward.column.best_reward": lambda row: Decimal(row[1].best_reward),
        },
        n_texts=3,
        texts=("reward.column.best_response",),
        most=600,
        style="dense",
    )
    return Part(
        name="reward.degenerate",
        blocks=(Words(("reward.degenerate.lead",)), table, *((examples,) if examples.rows else ())),
        shown_in="details",
    )


def _bench_part(facts: RewardFacts) -> Part:
    """Show the benchmark: all pairs and the mean over subsets first."""
    lead: list[Any] = ["reward.bench.lead"]
    main, beside = facts.accuracies
    if main is not None:
        figures = {"signal": say(f"reward.signal.{main.signal}"), "level": facts.level,
                   "accuracy": Share(main.accuracy.value), "ends": _ends(main.accuracy),
                   "pairs": Count(main.accuracy.n, "pairs")}  # fmt: skip
        if beside is not None:
            figures |= {"base": Share(beside.accuracy.value), "base_ends": _ends(beside.accuracy)}
        lead.append(say("reward.bench.against" if beside else "reward.bench.overall", **figures))
    rows = group_by_signal(facts.report.bench, ("subset",), lambda row: row.accuracy.n)
    rows.sort(key=lambda row: {None: 0, "*": 1}.get(row.key[0], 2))
    named = {None: "reward.bench.all", "*": "reward.bench.mean"}
    table = Table.of(
        say("reward.bench.table", level=facts.level),
        rows,
        {
            "reward.column.subset": lambda row: named.get(row.key[0]) or Name(row.key[0], 40),
            **facts.columns(lambda row: _say_rate(row.accuracy)),
            "reward.column.pairs": lambda row: row.n,
        },
        most=100,
        style="rates",
        label="reward.bench.label",
        cut="reward.bench.cut",
        row_style=lambda row: _mark_total(row.key[0]),
    )
    return Part(name="reward.bench", blocks=(Words(lead), table))


# What it is -------------------------------------------------------------------------------------


def _list_appendix(facts: RewardFacts) -> Iterator[Part]:
    """Say what the reward is, what a paper can take over, and what was given."""
    report = facts.report
    what = (Words(("reward.what.lead",)), Facts([*describe_reward(facts)]))
    yield Part(name="reward.what", blocks=what, shown_in="page")
    quote = Quote((Words([_say_paragraph(facts)]), Words(("reward.reference.mu",), "references")))
    paper = (Words(("reward.paper.lead",)), quote)
    yield Part(name="reward.paper", blocks=paper, shown_in="page")
    if report.dropped:
        yield _dropped_part(report)
    if rows := settings_rows(dict(report.settings)):
        title = say("reward.appendix.settings")
        block = Settings("reward.appendix.settings", rows)
        yield Part(name="reward.settings", title=title, blocks=(block,), shown_in="page")


def _say_paragraph(facts: RewardFacts) -> Said:
    """Say for a paper what was examined on what, and how well it ranks."""
    n_certified, n_features = facts.certified()
    main = facts.accuracies[0]
    return say(
        "reward.paper",
        judge=name_judge(facts.report.reward),
        rubric=say_rubric(facts.report.reward),
        fit=say(f"reward.paper.{facts.held_out}"),
        error=_say_rate(facts.error(facts.main)),
        base=_say_rate(facts.error("base")),
        accuracy=_say_rate(None if main is None else main.accuracy),
        level=facts.level,
        certified=n_certified,
        features=Count(n_features, "features"),
        version=Verbatim(__version__),
        **facts.sizes,
    )


def _dropped_part(report: RewardExamination) -> Part:
    reasons, n_others = drop_reasons(report.dropped)
    columns: dict[str, Any] = {
        "column.reason": lambda row: Verbatim(row.reason),
        "reward.column.count": lambda row: row.n_rows,
        "column.first_place": lambda row: Name(row.first.place() or "–", 80),
        "column.item": lambda row: Name(row.first.item or "–", 40),
        "column.value": lambda row: Name(row.first.value or "–", 40),
    }
    table = Table.of(None, reasons, columns, style="dense", label="reward.appendix.dropped.label",
                     texts=("column.first_place", "column.item", "column.value"))  # fmt: skip
    more = Words((say("reward.appendix.dropped.more", n=n_others),), "note")
    title = say("reward.appendix.dropped", n=Count(len(report.dropped), "rows"))
    blocks = (table, *((more,) if n_others else ()))
    return Part(name="reward.dropped", title=title, blocks=blocks, shown_in="details")


def _notes_part(notes: Sequence[tuple[Any, Any]]) -> Part:
    n_more = len(notes) - _MOST_NOTES
    more = Words((say("reward.notes.more", n=n_more),), "note")
    return Part(
        name="reward.notes",
        title=say("reward.notes.others", n=len(notes)),
        blocks=(Advice(notes[:_MOST_NOTES]), *((more,) if n_more > 0 else ())) if notes else (),
        shown_in="details",
    )
