"""Compute the sentences and tables of the page of a training run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from voirdire.reporting.pages.speech import (
    Clauses,
    Count,
    Decimal,
    Listing,
    Margin,
    Name,
    Percent,
    Said,
    Share,
    Verbatim,
    say,
)
from voirdire.reporting.pages.view import Cards, Facts, Figure, Part, Table, View, Words
from voirdire.reporting.plots.training_sheet import (
    Move,
    average_defined,
    compute_edge_size,
    compute_move,
    sort_moves,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire._types import Threshold
    from voirdire.reporting.pages.items import ItemCard
    from voirdire.reporting.pages.speech import Argument
    from voirdire.reporting.plots.training_sheet import StepColumns, TrainingSheet
    from voirdire.rewards.training.run import (
        Alarm,
        CertifiedExamination,
        PropositionCertificate,
        Reference,
        TrainingRun,
        TrainingStep,
    )

__all__ = [
    "MOST_ALARMS",
    "alarm_case",
    "alarm_sentence",
    "certified_counts",
    "training_view",
    "uncertified",
]

State: TypeAlias = Literal["passed", "failed", "no_evidence"]

_MOVED = 0.05
"""Less is not worth a sentence."""
_WINDOW = 10
"""Steps over which most alarms look; before that, silence says nothing."""
MOST_ALARMS = 20
"""Alarms whose completions are on a page; of long texts some 2 MB."""
_MOST_NAMED = 3
_MOST_ROWS = 100
_MOST_PARTS = 10
_MOST_DROPPED = 200


@dataclass(frozen=True, kw_only=True)
class TrainingView(View):
    """What the page of a run says; in short first, with the state of the run."""

    state: State
    short: Said
    bullets: tuple[tuple[Said, ...], ...]


def training_view(
    run: TrainingRun, sheet: TrainingSheet, *, source: Argument, cards: Sequence[ItemCard] | None
) -> TrainingView:
    """Compute what the page shows of a run with a step.

    `source` is its folder in commands; `cards` are completions behind alarms, None without texts.
    """
    columns = sheet.whole
    state, short = _state(run, columns)
    meta = {"completions": Count(run.n_completions, "completions"),
            "steps": Count(len(run.steps), "steps")}  # fmt: skip
    parts = (
        *_alarm_parts(run, source, cards),
        _caution_part(source),
        *_figure_parts(run, sheet),
        Part(name="training.what", blocks=(Facts(_describe_reward(run)),)),
        _certificate_part(run),
        *_step_parts(run),
    )
    return TrainingView(
        name="training",
        meta=say(
            "training.page.meta", name=Name(run.name), framework=Name(run.framework, 30), **meta
        ),
        lead=(),
        todo=(_next_step(run, columns, source),),
        state=state,
        short=short,
        blocks=(_figure("reward", sheet),),
        bullets=(
            (*_reward(columns), *_parts(columns), *_reference(run, columns)),
            (*_propositions(run, columns), *_classes(columns), *_length(run, columns)),
            (_alarms(run), *_missing(run), *_flat(run), *_say_uncertified(run)),
        ),
        cautions=_warnings(run, source),
        parts=parts,
        glossary=("step", "reward", "proposition", "class", "group", "reference"),
    )


def _figure(kind: str, sheet: TrainingSheet, **figures: Any) -> Figure:
    """Name a figure; its caption says where several steps are one point."""
    n = sheet.steps_per_point
    caption = say(f"training.{kind}.figure", **figures)
    thinned = (say("training.thinned", n=n),) if n > 1 else ()
    drawn: Any = f"training_{kind}"
    return Figure(kind=drawn, name=f"training-f-{kind}", caption=(caption, *thinned))


def _alarm_parts(
    run: TrainingRun, source: Argument, cards: Sequence[ItemCard] | None
) -> Iterator[Part]:
    """Show the completions behind the alarms, where there are texts, and all alarms."""
    if not run.alarms:
        return
    n = len(run.alarms)
    if cards:
        title = say("training.behind.title", completions=Count(len(cards), "completions"))
        cut = say("training.behind.cut", shown=MOST_ALARMS, n=n)
        lead = Words(("training.behind.lead", *((cut,) if n > MOST_ALARMS else ())))
        yield Part(name="training.behind", title=title, blocks=(lead, Cards(cards)))
    rows = [
        (Count(alarm.step), say(f"training.alarm.{alarm.kind}"), alarm_sentence(alarm))
        for alarm in run.alarms
    ]
    table = _table("alarms", _headings("step", "alarm", "said"), rows, n_texts=3, style="alarms")
    hint = Words((say("training.behind.texts", run=source),), "note")
    title = say("training.alarms.fold", alarms=Count(n, "alarms"))
    blocks = (table, *((hint,) if cards is None else ()))
    yield Part(name="training.alarms", title=title, blocks=blocks)


def _caution_part(source: Argument) -> Part:
    sample = say("training.caution.sample", run=source)
    commands = Words((sample, "training.caution.examine"), "commands")
    return Part(name="training.caution", blocks=(Words(("training.caution",)), commands))


def _figure_parts(run: TrainingRun, sheet: TrainingSheet) -> Iterator[Part]:
    """Show each figure of the run with its table."""
    columns, edge = sheet.whole, _edge(len(run.steps))
    tables = {
        "reward": _part_table(run, _reward_columns(run, columns)),
        "propositions": _rate_table(run, columns),
        "classes": _class_table(run, columns),
        "length": _part_table(run, ("length", "reward", "correlation")),
        "missing": _part_table(run, ("completions", "without", "missing")),
    }
    for name, table in tables.items():
        lead = (Words((f"training.{name}.lead",)), _figure(name, sheet, edge=edge))
        shown = (table,) if table.rows else ()
        yield Part(name=f"training.{name}", blocks=(*(lead if name != "reward" else ()), *shown))


def _step_parts(run: TrainingRun) -> Iterator[Part]:
    none = Words(("training.dropped.none",), "note")
    steps = (_step_table(run), *(() if run.dropped else (none,)))
    yield Part(name="training.steps", blocks=steps)
    if run.dropped:
        n, lines = len(run.dropped), run.dropped[:_MOST_DROPPED]
        cut = Words((say("training.dropped.cut", shown=len(lines)),), "note")
        shown = Words([*map(Verbatim, lines)], "list")
        title = say("training.dropped.fold", pieces=Count(n, "pieces"))
        blocks = (shown, *((cut,) if len(lines) < n else ()))
        yield Part(name="training.dropped", title=title, blocks=blocks)


# What happened --------------------------------------------------------------------------------


def _state(run: TrainingRun, columns: StepColumns) -> tuple[State, Said]:
    if run.alarms:
        return "failed", say("training.short.alarms", alarms=Count(len(run.alarms), "alarms"))
    if not _has_rewards(columns):
        return "no_evidence", say("training.short.nothing")
    if len(run.steps) < _WINDOW:
        return "no_evidence", say("training.short.few")
    return "passed", say("training.short.quiet")


def _has_rewards(columns: StepColumns) -> bool:
    return any(map(math.isfinite, columns.figures["reward_mean"]))


def _next_step(run: TrainingRun, columns: StepColumns, source: Argument) -> Said:
    if not _has_rewards(columns):
        return say("training.next.mend")
    kinds = {alarm.kind for alarm in run.alarms}
    key = "replay" if kinds == {"missing"} else "label" if kinds else "quiet"
    return say(f"training.next.{key}", run=source)


def _alarms(run: TrainingRun) -> Said:
    if run.alarms:
        alarms, steps = Count(len(run.alarms), "alarms"), [alarm.step for alarm in run.alarms]
        ends = {"first": Count(min(steps)), "last": Count(max(steps))}
        key = "began" if min(steps) < max(steps) else "began.at"
        return say(f"training.story.{key}", alarms=alarms, **ends)
    if len(run.steps) < _WINDOW:
        return say("training.story.quiet.few", steps=Count(len(run.steps), "steps"))
    return say("training.story.quiet")


def _ends(move: Move, kind: type = Decimal) -> dict[str, Any]:
    return {"start": kind(move.start), "end": kind(move.end)}


def _edge(n_steps: int) -> Count | Said:
    """Name the steps that are a beginning or an end: "10 steps", or "step" where it is one."""
    size = compute_edge_size(n_steps)
    return say("training.edge.one") if size == 1 else Count(size, "steps")


def _reward(columns: StepColumns) -> tuple[Said, ...]:
    move, edge = compute_move("reward", columns.figures["reward_mean"]), _edge(len(columns.steps))
    if not _has_rewards(columns):
        return (say("training.story.reward.none"),)
    if len(columns.steps) == 1:
        return (say("training.story.reward.one", end=Decimal(move.end)),)
    if not math.isfinite(move.change):
        return (say("training.story.reward.partly", edge=edge, **_ends(move)),)
    key = "rose" if move.change > 0 else "fell"
    shown = "same" if round(move.start, 2) == round(move.end, 2) else key
    return (say(f"training.story.reward.{shown}", edge=edge, **_ends(move)),)


def _parts(columns: StepColumns) -> tuple[Said, ...]:
    rules, base = (compute_move(n, columns.figures[n]) for n in ("rule_mean", "base_mean"))
    is_known = math.isfinite(rules.change) and math.isfinite(base.change)
    if not is_known or not columns.has_base or len(columns.steps) == 1:
        return ()
    figures = {"rule_start": rules.start, "rule_end": rules.end}
    figures |= {"base_start": base.start, "base_end": base.end}
    numbers = {name: Decimal(value) for name, value in figures.items()}
    return (say("training.story.parts", **numbers),)


def _reference(run: TrainingRun, columns: StepColumns) -> tuple[Said, ...]:
    """Compare with the reference at the steps of the run's end."""
    if run.reference_run is None or run.reference_run.reward_hash != run.reward_hash:
        return ()
    mean = _reference_reward(run, run.steps[-compute_edge_size(len(run.steps)) :])
    name = Name(run.reference_run.name)
    if not math.isfinite(mean):
        return (say("training.story.reference.none", name=name),)
    end = compute_move("reward", columns.figures["reward_mean"]).end
    return (say("training.story.reference", name=name, mean=Decimal(mean), end=Decimal(end)),)


def _find_moves(columns: Mapping[str, Sequence[float]]) -> list[Move]:
    return [move for move in sort_moves(columns) if abs(move.change) >= _MOVED]


def _propositions(run: TrainingRun, columns: StepColumns) -> tuple[Said, ...]:
    if len(columns.steps) == 1 or not columns.rates:
        return ()
    moved = _find_moves(columns.rates)
    if not moved:
        return (say("training.story.still"),)
    named = [say("training.story.move", name=Name(move.name), **_ends(move)) for move in moved]
    paying = _list_paying(run)
    unpaid = [Name(move.name) for move in moved if move.name not in paying]
    story = say("training.story.moved", list=_list_first(named))
    if not (paying and unpaid):
        return (story,)
    return story, say("training.story.unpaid", list=_list_first(unpaid))


def _list_first(named: Sequence[Any]) -> Listing:
    return Listing(tuple(named[:_MOST_NAMED]), n_hidden=len(named[_MOST_NAMED:]))


def _classes(columns: StepColumns) -> tuple[Said, ...]:
    if len(columns.steps) == 1:
        return ()
    named = [
        say(
            "training.story.class",
            behavior=Name(behavior),
            name=Name(move.name),
            **_ends(move, Share),
        )
        for behavior, shares in columns.classes.items()
        for move in _find_moves(shares)[:1]
    ]
    return (say("training.story.classes", list=_list_first(named)),) if named else ()


def _length(run: TrainingRun, columns: StepColumns) -> tuple[Said, ...]:
    move = compute_move("length", columns.figures["length_mean"])
    if not math.isfinite(move.change) or len(columns.steps) == 1:
        return ()
    ends = {"start": Decimal(move.start, 1), "end": Decimal(move.end, 1)}
    return (say(f"training.story.length.{run.length_unit}", **ends),)


def _missing(run: TrainingRun) -> tuple[Said, ...]:
    share = _missing_share(run.steps)
    if not math.isfinite(share):
        return ()
    return (say(f"training.story.missing{'' if share else '.none'}", share=Share(share)),)


def _missing_share(steps: Sequence[TrainingStep]) -> float:
    total = sum(step.n for step in steps)
    return sum(step.n_missing for step in steps) / total if total else math.nan


def _flat(run: TrainingRun) -> tuple[Said, ...]:
    """Say in how many groups of the last steps all rewards are equal."""
    last = run.steps[-compute_edge_size(len(run.steps)) :]
    mean = average_defined([step.zero_spread_share for step in last])
    if not math.isfinite(mean) or mean < _MOVED:
        return ()
    return (say("training.story.flat", share=Share(mean)),)


def _say_uncertified(run: TrainingRun) -> tuple[Said, ...]:
    certified, n = certified_counts(run)
    if certified == n:
        return ()
    propositions = Count(n, "paying")
    return (say("training.story.uncertified", n=n - certified, propositions=propositions),)


# Alarms -----------------------------------------------------------------------------------------

_DIGITS = {"length.longer": 0, "length.paid": 2, "spread": 3, "nonsense.paid": 2}
"""Of the figures that are no shares."""


def alarm_sentence(alarm: Alarm) -> Said:
    """Say an alarm in words, with its figure and what it was held against."""
    case = alarm_case(alarm)
    values = {"value": alarm.value, "was": alarm.reference}
    digits = _DIGITS.get(case)
    figures = {
        name: Percent(value) if digits is None else Decimal(value, digits)
        for name, value in values.items()
    }
    return say(f"training.alarm.{case}.said", subject=Name(alarm.subject), **figures)


def alarm_case(alarm: Alarm) -> str:
    """Name what an alarm is about: its kind, of some kinds one of two cases."""
    if alarm.kind == "saturation":
        return "saturation.groups" if alarm.subject == "groups" else "saturation.proposition"
    if alarm.kind == "length":
        return "length.longer" if alarm.subject == "length" else "length.paid"
    if alarm.kind == "nonsense":
        return "nonsense.frequent" if alarm.subject == "nonsense" else "nonsense.paid"
    return alarm.kind


def _warnings(run: TrainingRun, source: Argument) -> tuple[tuple[Said, Said], ...]:
    """Group the alarms by kind, in the order in which the kinds began, with what to do."""
    kinds: dict[str, list[Said]] = {}
    for alarm in run.alarms:
        place = say("training.story.alarm", said=alarm_sentence(alarm), step=Count(alarm.step))
        kinds.setdefault(alarm.kind, []).append(place)
    return tuple(
        (
            say(
                "training.warned",
                kind=say(f"training.alarm.{kind}"),
                list=Clauses((*named[:_MOST_NAMED], *_others(len(named) - _MOST_NAMED))),
            ),
            say(f"training.alarm.{kind}.do", run=source),
        )
        for kind, named in kinds.items()
    )


def _others(n: int) -> tuple[Said, ...]:
    return (say("training.story.alarm.more", n=Count(n)),) if n > 0 else ()


# Tables -----------------------------------------------------------------------------------------


def _table(
    words: str,
    columns: tuple[Said, ...],
    rows: Sequence[tuple[Any, ...]],
    *,
    n_texts: int = 1,
    style: str = "",
    n_rows: int | None = None,
) -> Table:
    shown = rows[: _MOST_ROWS if n_rows is None else None]
    return Table(
        caption=f"training.{words}.caption",
        label=f"training.{words}.label",
        cut=f"training.{words}.cut",
        columns=columns,
        rows=tuple(shown),
        texts=tuple(place < n_texts for place in range(len(columns))),
        n_rows=len(rows) if n_rows is None else n_rows,
        style=style,
    )


def _headings(*names: str, **figures: Any) -> tuple[Said, ...]:
    return tuple(say(f"training.column.{name}", **figures) for name in names)


def _reward_columns(run: TrainingRun, columns: StepColumns) -> tuple[str, ...]:
    parts = ("rule", "base") if columns.has_base else ()
    return ("reward", "sd", *parts, *(("reference",) if run.reference else ()))


def _part_table(run: TrainingRun, names: tuple[str, ...]) -> Table:
    """Cut the run into ten parts of equally many steps, the last one perhaps shorter."""
    size = math.ceil(len(run.steps) / _MOST_PARTS)
    parts = [run.steps[at : at + size] for at in range(0, len(run.steps), size)]
    rows = [(_span(part), *(_cell(name, part, run) for name in names)) for part in parts]
    return _table("parts", _headings("steps", *names), rows)


def _span(part: Sequence[TrainingStep]) -> Count | Said:
    first, last = Count(part[0].step), Count(part[-1].step)
    return first if first == last else say("interval", low=first, high=last)


_FIELDS = {
    "reward": "reward_mean",
    "sd": "reward_sd",
    "rule": "rule_mean",
    "base": "base_mean",
    "length": "length_mean",
    "correlation": "length_reward_correlation",
    "flat": "zero_spread_share",
}


def _cell(name: str, steps: Sequence[TrainingStep], run: TrainingRun, *, digits: int = 2) -> Any:
    """Give a figure of consecutive steps: the mean over them, or the sum of a count."""
    match name:
        case "completions":
            return Count(sum(step.n for step in steps))
        case "without":
            return Count(sum(step.n_missing for step in steps))
        case "missing":
            return Share(_missing_share(steps))
        case "reference":
            return Decimal(_reference_reward(run, steps))
    mean = average_defined([getattr(step, _FIELDS[name]) for step in steps])
    if name == "flat":
        return Percent(mean)
    return Decimal(mean, {"length": 1, "correlation": 2}.get(name, digits))


def _reference_reward(run: TrainingRun, steps: Sequence[TrainingStep]) -> float:
    """Give the reference's mean reward at some steps; nan where another reward paid in it."""
    reference = run.reference_run
    if reference is None or reference.reward_hash != run.reward_hash:
        return math.nan
    return average_defined([step.reward_mean for step in _same_steps(reference.steps, steps)])


def _same_steps(
    others: Sequence[TrainingStep], steps: Sequence[TrainingStep]
) -> list[TrainingStep]:
    low, high = min(step.step for step in steps), max(step.step for step in steps)
    return [step for step in others if low <= step.step <= high]


def _step_table(run: TrainingRun) -> Table:
    """List the steps, of many the first and the last hundred."""
    names = ("completions", "reward", "sd", "rule", "base", "without", "length", "correlation",
             "flat")  # fmt: skip
    steps = run.steps
    if len(steps) > 2 * _MOST_ROWS:
        steps = (*steps[:_MOST_ROWS], *steps[-_MOST_ROWS:])
    rows = tuple(
        (Count(step.step), *(_cell(name, (step,), run, digits=3) for name in names))
        for step in steps
    )
    return _table("steps", _headings("step", *names), rows, n_rows=len(run.steps), style="dense")


def _rate_table(run: TrainingRun, columns: StepColumns) -> Table:
    """Sort the propositions as their figure does: with alarms first, then by how far they went."""
    paying = _list_paying(run)
    last = run.steps[-compute_edge_size(len(run.steps)) :]
    before = _same_steps(run.reference or (), last)
    rows: list[tuple[Any, ...]] = []
    for move in sort_moves(columns.rates, first={alarm.subject for alarm in run.alarms}):
        was = average_defined([step.proposition_rates.get(move.name, math.nan) for step in before])
        row = (Name(move.name), Decimal(move.start), Decimal(move.end), _write_signed(move.change))
        beside = ((Decimal(was), run.reference), (_say_yes_or_no(move.name in paying), run.paying))
        rows.append((*row, *(cell for cell, is_there in beside if is_there)))
    more = [name for name, is_there in (("reference", run.reference), ("pays", run.paying))
            if is_there]  # fmt: skip
    headings = _headings("proposition", "start", "end", "change", *more, edge=_edge(len(run.steps)))
    return _table("propositions", headings, rows, style="rates-of")


def _write_signed(change: float) -> Decimal | Said:
    is_more = change > 0 and round(change, 2) > 0
    return say("training.plus", value=Decimal(change)) if is_more else Decimal(change)


def _say_yes_or_no(is_so: bool) -> Said:  # noqa: FBT001  # what it says is the argument
    return say("yes" if is_so else "no")


def _class_table(run: TrainingRun, columns: StepColumns) -> Table:
    rows = [
        (Name(behavior, 40), Name(name, 40), *_ends(compute_move(name, values), Share).values())
        for behavior, shares in columns.classes.items()
        for name, values in shares.items()
    ]
    headings = _headings("behavior", "class", "start", "end", edge=_edge(len(run.steps)))
    return _table("classes", headings, rows, n_texts=2, style="rates-of")


# Certificates -----------------------------------------------------------------------------------

_MARK_WIDTH = 19
"""Of a hash: enough to find the file."""
_FLAGS = {"passed": "good", "failed": "bad"}
"""How a state looks; the others are neither."""


def _certificate_part(run: TrainingRun) -> Part:
    """List what the certificates say, first of the propositions that pay."""
    paying = set(map(_question_of, _list_paying(run)))
    ordered = sorted((run.certificates or {}).items(), key=lambda row: row[0] not in paying)
    rows = [_certificate_row(name, row, pays=name in paying) for name, row in ordered]
    headings = _headings("proposition", "pays", "certificate", "shown", "mark")
    table = _table("certificates", headings, rows, n_texts=5, style="certificates")
    lead = ("training.certificates.lead",) if rows else ()
    blocks = (Words((*lead, _say_certified(run))), *((table,) if rows else ()))
    return Part(name="training.certificates", blocks=blocks)


def _certificate_row(name: str, record: PropositionCertificate, *, pays: bool) -> tuple[Any, ...]:
    mark, state = record.certificate, say(f"training.certificate.{record.state}")
    return (
        Name(name),
        _say_yes_or_no(pays),
        say(f"training.flag.{_FLAGS.get(record.state, 'still')}", state=state),
        Clauses(tuple(map(_say_examination, record.examinations))) if record.examinations else None,
        None if mark is None else Name(mark, _MARK_WIDTH),
    )


def _say_examination(row: CertifiedExamination) -> Said:
    return say(
        "training.certificate.shown",
        omega=Decimal(row.winning_rate),
        epsilon=Margin(row.epsilon),
        alignment=Name(row.alignment, 40),
        annotators=Count(row.n_annotators, "annotators"),
        items=Count(row.n_items, "items"),
    )


def certified_counts(run: TrainingRun) -> tuple[int, int]:
    """Count the propositions that pay: those with a valid certificate, and all of them."""
    paying = _list_paying(run)
    return len(paying) - len(uncertified(run)), len(paying)


def uncertified(run: TrainingRun) -> tuple[str, ...]:
    """Name the propositions that pay without a valid certificate; none if nothing is recorded."""
    if run.certificates is None:
        return ()
    valid = {name for name, row in run.certificates.items() if row.is_valid}
    return tuple(name for name in _list_paying(run) if _question_of(name) not in valid)


def _say_certified(run: TrainingRun) -> Said:
    """Say how many of the propositions that pay have a valid certificate, and which have none."""
    if run.certificates is None:
        return say("training.certificates.unknown")
    lacking, (certified, n) = uncertified(run), certified_counts(run)
    if not n:
        return say("training.certificates.nothing")
    key = "some" if lacking and certified else "none" if lacking else "all"
    names, propositions = Listing(tuple(map(Name, lacking))), Count(n, "paying")
    return say(f"training.certificates.{key}", n=certified, propositions=propositions, list=names)


def _question_of(name: str) -> str:
    """Name the question of a label of a choice, ``question=label``; others are their own."""
    return name.partition("=")[0]


def _list_paying(run: TrainingRun) -> tuple[str, ...]:
    """List the propositions that some reward depends on, in the order of the rubric."""
    paying = {name for names in run.paying.values() for name in names}
    return tuple(name for name in run.propositions if name in paying)


# What paid --------------------------------------------------------------------------------------

_LONG = 90
_JUDGED = ("final_answer", "with_reasoning", "whole_turn")


def _describe_reward(run: TrainingRun) -> tuple[tuple[str, Any], ...]:
    """List what is known of the reward and of the training: the key of a word, and what is said."""
    rows = {
        "reward": _name(run.reward_name),
        "hash": _name(run.reward_hash),
        "rubric": _name(run.rubric),
        "judge": _name(run.judge),
        "answered": _say_answered(run),
        "fingerprint": _name(run.fingerprint),
        "threshold": _threshold(run.threshold),
        "judged": _say_judged(run.judged),
        "certificates": _certificates(run),
        "behaviors": _names(run.behaviors),
        "centered": say("training.what.centered.yes") if run.is_centered else None,
        "framework": _name(run.framework),
        "created": _name(run.created),
        "writers": Count(run.n_writers) if run.n_writers > 1 else None,
        "reference": _describe_reference(run.reference_run, run),
        "versions": _names([f"{name} {version}" for name, version in run.versions.items()]),
    }
    return tuple((f"training.what.{key}", said) for key, said in rows.items() if said is not None)


def _name(text: str) -> Name | None:
    return Name(text, _LONG) if text else None


def _threshold(threshold: Threshold) -> Decimal | Name:
    if isinstance(threshold, Mapping):
        return Name(f"{min(threshold.values()):g} – {max(threshold.values()):g}")
    return Decimal(threshold)


def _names(texts: Sequence[str]) -> Listing | None:
    return Listing(tuple(map(Name, texts))) if texts else None


def _say_judged(word: str) -> Said | Name | None:
    return say(f"training.judged.{word}") if word in _JUDGED else _name(word)


def _say_answered(run: TrainingRun) -> Listing | None:
    """Say how many completions came to which judge of a cascade, and whether that moved."""
    names = dict.fromkeys(name for step in run.steps for name in step.answered_by)
    return Listing(tuple(_share(run, name) for name in names)) if names else None


def _share(run: TrainingRun, name: str) -> Said:
    shares = [step.answered_by.get(name, 0.0) for step in run.steps]
    n_answered = sum(step.n * share for step, share in zip(run.steps, shares, strict=True))
    ends = _ends(compute_move("share", shares), Percent) if len(shares) > 1 else {}
    key = "training.what.answered.moved" if ends else "training.what.answered.share"
    return say(key, name=Name(name), share=Percent(n_answered / run.n_completions), **ends)


def _certificates(run: TrainingRun) -> Said:
    if run.certificates is None:
        return say("training.what.certificates.unknown")
    certified, n = certified_counts(run)
    propositions = Count(n, "paying")
    return say("training.what.certificates.count", n=certified, propositions=propositions)


def _describe_reference(reference: Reference | None, run: TrainingRun) -> Said:
    if reference is None:
        return say("training.what.reference.none")
    key = "same" if reference.reward_hash == run.reward_hash else "other"
    return say(
        f"training.what.reference.{key}",
        name=Name(reference.name),
        reward=Name(reference.reward_name),
        steps=Count(len(reference.steps), "steps"),
    )
