"""What the page of a training run says and lists, computed beforehand."""

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
    say,
)
from voirdire.reporting.plots.training_moves import Move, edge_size, move_of, moves_of
from voirdire.reporting.plots.training_sheet import mean_of
from voirdire.rewards.training.run import ALARM_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import Threshold
    from voirdire.reporting.pages.speech import Argument, Said
    from voirdire.reporting.plots.training_moves import Move
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
    "MOST_CERTIFICATES",
    "AlarmRow",
    "CertificateRow",
    "ClassRow",
    "PartRow",
    "RateRow",
    "Story",
    "TrainingView",
    "advice_of",
    "alarm_rows",
    "alarm_sentence",
    "certificate_rows",
    "certified_counts",
    "certified_sentence",
    "class_rows",
    "described",
    "edge_of",
    "kind_word",
    "missing_share",
    "part_rows",
    "rate_rows",
    "reference_reward",
    "shown_steps",
    "story_of",
    "training_view",
    "uncertified",
]

State: TypeAlias = Literal["passed", "failed", "no_evidence"]

_MOVED = 0.05
"""Less is not worth a sentence."""
_WINDOW = 10
"""Steps over which most alarms look; before that, silence says nothing."""
_MOST_NAMED = 3
_MOST_ALARMS = 3
_MOST_BEHAVIORS = 3


@dataclass(frozen=True, kw_only=True)
class Story:
    """What happened: a state for the chip, a first sentence, and the others."""

    state: State
    short: Said
    sentence: Said
    more: tuple[Said, ...]


def story_of(run: TrainingRun, columns: StepColumns) -> Story:
    """Tell what happened in a training.

    Parameters
    ----------
    run : TrainingRun
        With at least one step.
    columns : StepColumns
        All of its steps.

    Returns
    -------
    Story
        In the order in which it should be read.
    """
    state, short = _state(run, columns)
    return Story(
        state=state,
        short=short,
        sentence=_alarms(run),
        more=(
            *_reward(columns),
            *_parts(columns),
            *_reference(run, columns),
            *_propositions(run, columns),
            *_classes(columns),
            *_length(run, columns),
            *_missing(run),
            *_flat(run),
            *_uncertified(run),
        ),
    )


def _state(run: TrainingRun, columns: StepColumns) -> tuple[State, Said]:
    if run.alarms:
        return "failed", say("training.short.alarms", alarms=Count(len(run.alarms), "alarms"))
    if not any(map(math.isfinite, columns.figures["reward_mean"])):
        return "no_evidence", say("training.short.nothing")
    if len(run.steps) < _WINDOW:
        return "no_evidence", say("training.short.few")
    return "passed", say("training.short.quiet")


def _alarms(run: TrainingRun) -> Said:
    if not run.alarms:
        if len(run.steps) < _WINDOW:
            return say("training.story.quiet.few", steps=Count(len(run.steps), "steps"))
        return say("training.story.quiet")
    named: list[Said] = [
        say("training.story.alarm", said=alarm_sentence(alarm), step=Count(alarm.step))
        for alarm in run.alarms[:_MOST_ALARMS]
    ]
    n_others = len(run.alarms) - len(named)
    if n_others:
        named.append(say("training.story.alarm.more", n=Count(n_others)))
    alarms = Count(len(run.alarms), "alarms")
    return say("training.story.alarms", alarms=alarms, list=Clauses(tuple(named)))


def _ends(move: Move) -> dict[str, Any]:
    return {"start": Decimal(move.start), "end": Decimal(move.end)}


def edge_of(n_steps: int) -> Count | Said:
    """Name the steps that are a beginning or an end: "10 steps", or "step" where it is one."""
    size = edge_size(n_steps)
    return say("training.edge.one") if size == 1 else Count(size, "steps")


def _reward(columns: StepColumns) -> tuple[Said, ...]:
    move = move_of("reward", columns.figures["reward_mean"])
    if not any(map(math.isfinite, columns.figures["reward_mean"])):
        return (say("training.story.reward.none"),)
    if len(columns.steps) == 1:
        return (say("training.story.reward.one", end=Decimal(move.end)),)
    if not math.isfinite(move.change):
        return (
            say("training.story.reward.partly", edge=edge_of(len(columns.steps)), **_ends(move)),
        )
    key = "rose" if move.change > 0 else "fell"
    shown = "same" if round(move.start, 2) == round(move.end, 2) else key
    return (say(f"training.story.reward.{shown}", edge=edge_of(len(columns.steps)), **_ends(move)),)


def _parts(columns: StepColumns) -> tuple[Said, ...]:
    rules, base = (move_of(n, columns.figures[n]) for n in ("rule_mean", "base_mean"))
    is_told = math.isfinite(rules.change) and math.isfinite(base.change)
    if not is_told or not columns.has_base or len(columns.steps) == 1:
        return ()
    figures = {"rule_start": rules.start, "rule_end": rules.end}
    figures |= {"base_start": base.start, "base_end": base.end}
    numbers = {name: Decimal(value) for name, value in figures.items()}
    return (say("training.story.parts", **numbers),)


def _reference(run: TrainingRun, columns: StepColumns) -> tuple[Said, ...]:
    """Compare with the reference at the steps of the run's end."""
    if run.reference_run is None or run.reference_run.reward_hash != run.reward_hash:
        return ()
    last = columns.steps[-edge_size(len(columns.steps)) :]
    mean = reference_reward(run, first=min(last), last=max(last))
    name = Name(run.reference_run.name)
    if not math.isfinite(mean):
        return (say("training.story.reference.none", name=name),)
    end = move_of("reward", columns.figures["reward_mean"]).end
    return (say("training.story.reference", name=name, mean=Decimal(mean), end=Decimal(end)),)


def _moved(columns: Mapping[str, Sequence[float]]) -> list[Move]:
    return [move for move in moves_of(columns) if abs(move.change) >= _MOVED]


def _propositions(run: TrainingRun, columns: StepColumns) -> tuple[Said, ...]:
    if len(columns.steps) == 1 or not columns.rates:
        return ()
    moved = _moved(columns.rates)
    if not moved:
        return (say("training.story.still"),)
    named = [say("training.story.move", name=Name(m.name), **_ends(m)) for m in moved]
    listed = Listing(tuple(named[:_MOST_NAMED]), n_hidden=len(named[_MOST_NAMED:]))
    paying = {name for names in run.paying.values() for name in names}
    unpaid = [Name(move.name) for move in moved if move.name not in paying]
    if not (paying and unpaid):
        return (say("training.story.moved", list=listed),)
    aside = Listing(tuple(unpaid[:_MOST_NAMED]), n_hidden=len(unpaid[_MOST_NAMED:]))
    return say("training.story.moved", list=listed), say("training.story.unpaid", list=aside)


def _classes(columns: StepColumns) -> tuple[Said, ...]:
    if len(columns.steps) == 1:
        return ()
    named = []
    for behavior, shares in columns.classes.items():
        for move in _moved(shares)[:1]:
            ends = {"start": Share(move.start), "end": Share(move.end)}
            names = {"behavior": Name(behavior), "name": Name(move.name)}
            named.append(say("training.story.class", **names, **ends))
    if not named:
        return ()
    return (say("training.story.classes", list=Listing(tuple(named), most=_MOST_BEHAVIORS)),)


def _length(run: TrainingRun, columns: StepColumns) -> tuple[Said, ...]:
    move = move_of("length", columns.figures["length_mean"])
    if not math.isfinite(move.change) or len(columns.steps) == 1:
        return ()
    ends = {"start": Decimal(move.start, 1), "end": Decimal(move.end, 1)}
    return (say(f"training.story.length.{run.length_unit}", **ends),)


def missing_share(run: TrainingRun) -> float:
    """Give the share of all completions that have no reward; nan without completions."""
    total = run.n_completions
    return sum(step.n_missing for step in run.steps) / total if total else math.nan


def _missing(run: TrainingRun) -> tuple[Said, ...]:
    share = missing_share(run)
    if not math.isfinite(share):
        return ()
    if not share:
        return (say("training.story.missing.none"),)
    return (say("training.story.missing", share=Share(share)),)


def _flat(run: TrainingRun) -> tuple[Said, ...]:
    """Say how many groups of the last steps teach nothing."""
    last = run.steps[-edge_size(len(run.steps)) :]
    mean = mean_of([step.zero_spread_share for step in last])
    if not math.isfinite(mean) or mean < _MOVED:
        return ()
    return (say("training.story.flat", share=Share(mean)),)


def _uncertified(run: TrainingRun) -> tuple[Said, ...]:
    certified, n = certified_counts(run)
    if certified == n:
        return ()
    propositions = Count(n, "paying")
    return (say("training.story.uncertified", n=n - certified, propositions=propositions),)


MOST_ALARMS = 100
_DIGITS = {"length.longer": 0, "length.paid": 2, "spread": 3, "nonsense.paid": 2}
"""Of the figures that are no shares."""


@dataclass(frozen=True, kw_only=True)
class AlarmRow:
    """One alarm, ready to be shown."""

    step: int
    kind: Said
    said: Said


def alarm_rows(run: TrainingRun) -> tuple[AlarmRow, ...]:
    """List the alarms in the order in which they began.

    Parameters
    ----------
    run : TrainingRun
        Which.

    Returns
    -------
    tuple of AlarmRow
        The first hundred.
    """
    return tuple(
        AlarmRow(step=alarm.step, kind=kind_word(alarm), said=alarm_sentence(alarm))
        for alarm in run.alarms[:MOST_ALARMS]
    )


def kind_word(alarm: Alarm) -> Said:
    """Name the kind of an alarm."""
    return say(f"training.alarm.{alarm.kind}")


def alarm_sentence(alarm: Alarm) -> Said:
    """Say an alarm in words, with its figure and what it was held against."""
    case = _case(alarm)
    values = {"value": alarm.value, "was": alarm.reference}
    digits = _DIGITS.get(case)
    figures = {
        name: Percent(value) if digits is None else Decimal(value, digits)
        for name, value in values.items()
    }
    return say(f"training.alarm.{case}.said", subject=Name(alarm.subject), **figures)


def _case(alarm: Alarm) -> str:
    if alarm.kind == "saturation":
        return "saturation.groups" if alarm.subject == "groups" else "saturation.proposition"
    if alarm.kind == "length":
        return "length.longer" if alarm.subject == "length" else "length.paid"
    if alarm.kind == "nonsense":
        return "nonsense.frequent" if alarm.subject == "nonsense" else "nonsense.paid"
    return alarm.kind


def advice_of(alarms: Sequence[Alarm], *, source: Argument) -> tuple[tuple[Said, Said], ...]:
    """Give each kind that occurs with what to do about it.

    Parameters
    ----------
    alarms : sequence of Alarm
        Of the run.
    source : Argument
        The run's folder, for commands.

    Returns
    -------
    tuple of (Said, Said)
        The kind, and the advice.
    """
    found = {alarm.kind for alarm in alarms}
    return tuple(
        (say(f"training.alarm.{kind}"), say(f"training.alarm.{kind}.do", run=source))
        for kind in ALARM_KINDS
        if kind in found
    )


MOST_CERTIFICATES = 100
_MARK_WIDTH = 19
"""Of a hash: enough to find the file."""

Flag: TypeAlias = Literal["good", "bad", "still"]
_FLAGS: dict[str, Flag] = {"passed": "good", "failed": "bad"}
"""How a state looks; the others are neither."""


@dataclass(frozen=True, kw_only=True)
class CertificateRow:
    """One proposition: whether it pays, what is said of its judge, and on what that rests."""

    proposition: str
    pays: bool
    flag: Flag
    state: Said
    shown: Clauses | None
    certificate: Name | None


def certificate_rows(run: TrainingRun) -> tuple[CertificateRow, ...]:
    """List what the certificates say, first of the propositions that pay.

    Parameters
    ----------
    run : TrainingRun
        With or without a record of them.

    Returns
    -------
    tuple of CertificateRow
        Of every proposition; none where it was not recorded.
    """
    paying = _paying(run)
    rows = [_row(name, row, pays=name in paying) for name, row in (run.certificates or {}).items()]
    return tuple(sorted(rows, key=lambda row: not row.pays))


def certified_counts(run: TrainingRun) -> tuple[int, int]:
    """Count the propositions that pay: those with a valid certificate, and all of them."""
    paying = _paying(run)
    return len(paying) - len(uncertified(run)), len(paying)


def uncertified(run: TrainingRun) -> tuple[str, ...]:
    """Name the propositions that pay without a valid certificate.

    Parameters
    ----------
    run : TrainingRun
        Which.

    Returns
    -------
    tuple of str
        In the order of the rubric; none where nothing was recorded.
    """
    found = run.certificates
    if found is None:
        return ()
    return tuple(name for name in _paying(run) if name not in found or not found[name].is_valid)


def certified_sentence(run: TrainingRun) -> Said:
    """Say how many of the propositions that pay have a valid certificate, and which have none."""
    if run.certificates is None:
        return say("training.certificates.unknown")
    lacking, (certified, n) = uncertified(run), certified_counts(run)
    if not n:
        return say("training.certificates.nothing")
    propositions = Count(n, "paying")
    if not lacking:
        return say("training.certificates.all", propositions=propositions)
    names = Listing(tuple(map(Name, lacking)))
    if not certified:
        return say("training.certificates.none", propositions=propositions)
    return say("training.certificates.some", n=certified, propositions=propositions, list=names)


def _paying(run: TrainingRun) -> tuple[str, ...]:
    """List the propositions that some reward depends on, in the order of the rubric."""
    paying = {name for names in run.paying.values() for name in names}
    return tuple(name for name in run.propositions if name in paying)


def _row(name: str, found: PropositionCertificate, *, pays: bool) -> CertificateRow:
    mark = found.certificate
    return CertificateRow(
        proposition=name,
        pays=pays,
        flag=_FLAGS.get(found.state, "still"),
        state=say(f"training.certificate.{found.state}"),
        shown=Clauses(tuple(map(_shown, found.examinations))) if found.examinations else None,
        certificate=None if mark is None else Name(mark, _MARK_WIDTH),
    )


def _shown(row: CertifiedExamination) -> Said:
    return say(
        "training.certificate.shown",
        omega=Decimal(row.winning_rate),
        epsilon=Margin(row.epsilon),
        alignment=Name(row.alignment, 40),
        annotators=Count(row.n_annotators, "annotators"),
        items=Count(row.n_items, "items"),
    )


_LONG = 90
_JUDGED = ("final_answer", "with_reasoning", "whole_turn")


def described(run: TrainingRun) -> tuple[tuple[str, Any], ...]:
    """List what is known of the reward and of the training.

    Parameters
    ----------
    run : TrainingRun
        Which.

    Returns
    -------
    tuple of (str, object)
        The key of a word, and what is said.
    """
    rows = [
        ("training.what.reward", _name(run.reward_name)),
        ("training.what.hash", _name(run.reward_hash)),
        ("training.what.rubric", _name(run.rubric)),
        ("training.what.judge", _name(run.judge)),
        ("training.what.answered", _answered(run)),
        ("training.what.fingerprint", _name(run.fingerprint)),
        ("training.what.threshold", _threshold(run.threshold)),
        ("training.what.judged", _judged(run.judged)),
        ("training.what.certificates", _certificates(run)),
        ("training.what.behaviors", _names(run.behaviors)),
        ("training.what.centered", say("training.what.centered.yes") if run.is_centered else None),
        ("training.what.framework", _name(run.framework)),
        ("training.what.created", _name(run.created)),
        ("training.what.writers", Count(run.n_writers) if run.n_writers > 1 else None),
        ("training.what.reference", _described_reference(run.reference_run, run)),
        ("training.what.versions", _versions(run)),
    ]
    return tuple((key, said) for key, said in rows if said is not None)


def _name(text: str) -> Name | None:
    return Name(text, _LONG) if text else None


def _threshold(threshold: Threshold) -> Decimal | Name:
    if isinstance(threshold, Mapping):
        return Name(f"{min(threshold.values()):g} – {max(threshold.values()):g}")
    return Decimal(threshold)


def _names(texts: tuple[str, ...]) -> Listing | None:
    return Listing(tuple(Name(text) for text in texts)) if texts else None


def _judged(word: str) -> Said | Name | None:
    return say(f"training.judged.{word}") if word in _JUDGED else _name(word)


def _answered(run: TrainingRun) -> Listing | None:
    """Say how many completions came to which judge of a cascade, and whether that moved."""
    names = dict.fromkeys(name for step in run.steps for name in step.answered_by)
    return Listing(tuple(_share(run, name) for name in names)) if names else None


def _share(run: TrainingRun, name: str) -> Said:
    shares = [step.answered_by.get(name, 0.0) for step in run.steps]
    told = sum(step.n * share for step, share in zip(run.steps, shares, strict=True))
    move = move_of("share", shares)
    ends = {"start": Percent(move.start), "end": Percent(move.end)} if len(shares) > 1 else {}
    key = "training.what.answered.moved" if ends else "training.what.answered.share"
    return say(key, name=Name(name), share=Percent(told / run.n_completions), **ends)


def _certificates(run: TrainingRun) -> Said:
    if run.certificates is None:
        return say("training.what.certificates.unknown")
    certified, n = certified_counts(run)
    propositions = Count(n, "paying")
    return say("training.what.certificates.count", n=certified, propositions=propositions)


def _described_reference(reference: Reference | None, run: TrainingRun) -> Said:
    if reference is None:
        return say("training.what.reference.none")
    key = "same" if reference.reward_hash == run.reward_hash else "other"
    return say(
        f"training.what.reference.{key}",
        name=Name(reference.name),
        reward=Name(reference.reward_name),
        steps=Count(len(reference.steps), "steps"),
    )


def _versions(run: TrainingRun) -> Listing | None:
    return _names(tuple(f"{name} {version}" for name, version in run.versions.items()))


MOST_PARTS = 10
MOST_RATES = 100
MOST_CLASSES = 100
MOST_STEPS = 200


@dataclass(frozen=True, kw_only=True)
class PartRow:
    """Means over consecutive steps, and the share missing of all; nan where undefined."""

    first: int
    last: int
    n: int
    n_missing: int
    reward: float
    sd: float
    rule: float
    base: float
    missing: float
    length: float
    correlation: float
    reference: float


@dataclass(frozen=True, kw_only=True)
class RateRow:
    """One proposition: where it began and is, where the reference was then, whether it pays."""

    move: Move
    reference: float
    pays: bool


@dataclass(frozen=True, kw_only=True)
class ClassRow:
    """One class of a behavior: where its share began, where it is."""

    behavior: str
    move: Move


def part_rows(run: TrainingRun) -> tuple[PartRow, ...]:
    """Cut the run into ten parts of equally many steps, the last one perhaps shorter.

    Parameters
    ----------
    run : TrainingRun
        Which.

    Returns
    -------
    tuple of PartRow
        One per part; of a short run one per step.
    """
    size = math.ceil(len(run.steps) / MOST_PARTS)
    steps = run.steps
    return tuple(_part(steps[at : at + size], run) for at in range(0, len(steps), size))


def _part(steps: Sequence[TrainingStep], run: TrainingRun) -> PartRow:
    first, last = steps[0].step, steps[-1].step
    n, n_missing = sum(step.n for step in steps), sum(step.n_missing for step in steps)
    return PartRow(
        first=first,
        last=last,
        n=n,
        n_missing=n_missing,
        reward=mean_of([step.reward_mean for step in steps]),
        sd=mean_of([step.reward_sd for step in steps]),
        rule=mean_of([step.rule_mean for step in steps]),
        base=mean_of([step.base_mean for step in steps]),
        missing=n_missing / n if n else math.nan,  # as the counts beside it say
        length=mean_of([step.length_mean for step in steps]),
        correlation=mean_of([step.length_reward_correlation for step in steps]),
        reference=reference_reward(run, first=first, last=last),
    )


def reference_reward(run: TrainingRun, *, first: float, last: float) -> float:
    """Give the mean reward of the reference run at some steps.

    Parameters
    ----------
    run : TrainingRun
        With or without a reference.
    first, last : float
        Of the steps.

    Returns
    -------
    float
        nan where there is none, or another reward paid in it: that has another scale.
    """
    found = run.reference_run
    if found is None or found.reward_hash != run.reward_hash:
        return math.nan
    return mean_of([step.reward_mean for step in found.steps if first <= step.step <= last])


def rate_rows(run: TrainingRun, columns: StepColumns) -> tuple[RateRow, ...]:
    """Sort the propositions as their figure does: with alarms first, then by how far they went.

    Parameters
    ----------
    run : TrainingRun
        Which.
    columns : StepColumns
        All of its steps.

    Returns
    -------
    tuple of RateRow
        Of every proposition.
    """
    first = {alarm.subject for alarm in run.alarms}
    paying = {name for names in run.paying.values() for name in names}
    last = columns.steps[-edge_size(len(columns.steps)) :]
    before = [step for step in run.reference or () if min(last) <= step.step <= max(last)]
    return tuple(
        RateRow(
            move=move,
            reference=mean_of([step.proposition_rates.get(move.name, math.nan) for step in before]),
            pays=move.name in paying,
        )
        for move in moves_of(columns.rates, first=first)
    )


def class_rows(columns: StepColumns) -> tuple[ClassRow, ...]:
    """List the classes of every behavior in their own order.

    Parameters
    ----------
    columns : StepColumns
        All steps of a run.

    Returns
    -------
    tuple of ClassRow
        Of every behavior and class.
    """
    return tuple(
        ClassRow(behavior=behavior, move=move_of(name, values))
        for behavior, shares in columns.classes.items()
        for name, values in shares.items()
    )


def shown_steps(run: TrainingRun) -> tuple[TrainingStep, ...]:
    """Give the steps of the long table: of many the first and the last hundred.

    Parameters
    ----------
    run : TrainingRun
        Which.

    Returns
    -------
    tuple of TrainingStep
        In their order.
    """
    if len(run.steps) <= MOST_STEPS:
        return run.steps
    half = MOST_STEPS // 2
    return (*run.steps[:half], *run.steps[-half:])


MOST_DROPPED = 200


@dataclass(frozen=True, kw_only=True)
class TrainingView:
    """A training run, ready to be shown."""

    run: TrainingRun
    source: Argument
    story: Story
    alarms: tuple[AlarmRow, ...]
    advice: tuple[tuple[Said, Said], ...]
    described: tuple[tuple[str, Any], ...]
    certified: Said
    certificates: tuple[CertificateRow, ...]
    n_certificates: int
    edge: Count | Said
    steps_per_point: int
    has_base: bool
    parts: tuple[PartRow, ...]
    rates: tuple[RateRow, ...]
    n_rates: int
    classes: tuple[ClassRow, ...]
    n_classes: int
    steps: tuple[TrainingStep, ...]
    dropped: tuple[str, ...]


def training_view(run: TrainingRun, sheet: TrainingSheet, *, source: Argument) -> TrainingView:
    """Compute what is shown of a run.

    Parameters
    ----------
    run : TrainingRun
        With at least one step.
    sheet : TrainingSheet
        Its columns.
    source : Argument
        Its folder, for commands.

    Returns
    -------
    TrainingView
        Sentences and rows.
    """
    columns = sheet.whole
    rates, classes = rate_rows(run, columns), class_rows(columns)
    certificates = certificate_rows(run)
    return TrainingView(
        run=run,
        source=source,
        story=story_of(run, columns),
        alarms=alarm_rows(run),
        advice=advice_of(run.alarms, source=source),
        described=described(run),
        certified=certified_sentence(run),
        certificates=certificates[:MOST_CERTIFICATES],
        n_certificates=len(certificates),
        edge=edge_of(len(run.steps)),
        steps_per_point=sheet.steps_per_point,
        has_base=columns.has_base,
        parts=part_rows(run),
        rates=rates[:MOST_RATES],
        n_rates=len(rates),
        classes=classes[:MOST_CLASSES],
        n_classes=len(classes),
        steps=shown_steps(run),
        dropped=run.dropped[:MOST_DROPPED],
    )
