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
    Name,
    Percent,
    Said,
    Share,
    Verbatim,
    say,
)
from voirdire.reporting.pages.view import Cards, Facts, Figure, Part, Table, View, Words
from voirdire.reporting.plots.training_sheet import compute_edge_size, compute_move

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire._types import Threshold
    from voirdire.reporting.pages.items import ItemCard
    from voirdire.reporting.pages.speech import Argument
    from voirdire.reporting.plots.training_sheet import StepColumns, TrainingSheet
    from voirdire.rewards.training.run import Alarm, TrainingRun

__all__ = ["certified_counts", "training_view", "uncertified"]

State: TypeAlias = Literal["passed", "failed", "no_evidence"]

_WINDOW = 10
"""Steps over which most alarms look; before that, silence says nothing."""
_MOST_NAMED = 3
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

    `source` is its folder in commands; `cards` are the completions with the lowest and the highest
    rewards, None without texts.
    """
    columns = sheet.whole
    state, short = _state(run, columns)
    meta = {"completions": Count(run.n_completions, "completions"),
            "steps": Count(len(run.steps), "steps")}  # fmt: skip
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
        bullets=(_reward(columns), (_alarms(run), *_missing(run), *_say_uncertified(run))),
        cautions=_warnings(run, source),
        parts=tuple(_list_parts(run, sheet, source, cards)),
        glossary=("step", "reward", "proposition", "class", "group"),
    )


def _figure(kind: str, sheet: TrainingSheet, **figures: Any) -> Figure:
    """Name a figure; its caption says where several steps are one point."""
    n = sheet.steps_per_point
    caption = say(f"training.{kind}.figure", **figures)
    thinned = (say("training.thinned", n=n),) if n > 1 else ()
    drawn: Any = f"training_{kind}"
    return Figure(kind=drawn, name=f"training-f-{kind}", caption=(caption, *thinned))


def _list_parts(
    run: TrainingRun, sheet: TrainingSheet, source: Argument, cards: Sequence[ItemCard] | None
) -> Iterator[Part]:
    """Show completions, alarms, figures, what paid, and what could not be read."""
    if cards is None:
        hint = Words((say("training.ends.texts", run=source),), "note")
        yield Part(name="training.ends", blocks=(hint,))
    elif cards:
        yield Part(name="training.ends", blocks=(Words(("training.ends.lead",)), Cards(cards)))
    if run.alarms:
        columns: dict[str, Any] = {
            "training.column.step": lambda alarm: Count(alarm.step),
            "training.column.alarm": lambda alarm: say(f"training.alarm.{alarm.kind}"),
            "training.column.said": _say_alarm,
        }
        title = say("training.alarms.fold", alarms=Count(len(run.alarms), "alarms"))
        table = Table.of("training.alarms.caption", run.alarms, columns, n_texts=3, most=100,
                         style="alarms", label="training.alarms.label")  # fmt: skip
        yield Part(name="training.alarms", title=title, blocks=(table,))
    size = compute_edge_size(len(run.steps))
    edge = say("training.edge.one") if size == 1 else Count(size, "steps")
    for name in ("propositions", "classes", "length", "missing"):
        blocks = (Words((f"training.{name}.lead",)), _figure(name, sheet, edge=edge))
        yield Part(name=f"training.{name}", blocks=blocks)
    yield Part(name="training.what", blocks=(Facts(_describe_reward(run)),))
    if run.dropped:
        n, lines = len(run.dropped), run.dropped[:_MOST_DROPPED]
        cut = Words((say("training.dropped.cut", shown=len(lines)),), "note")
        title = say("training.dropped.fold", pieces=Count(n, "pieces"))
        shown = Words([*map(Verbatim, lines)], "list")
        blocks_of_dropped = (shown, *((cut,) if len(lines) < n else ()))
        yield Part(name="training.dropped", title=title, blocks=blocks_of_dropped)


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


def _reward(columns: StepColumns) -> tuple[Said, ...]:
    move, size = compute_move("reward", columns.figures["reward_mean"]), len(columns.steps)
    if not _has_rewards(columns):
        return (say("training.story.reward.none"),)
    if size == 1:
        return (say("training.story.reward.one", end=Decimal(move.end)),)
    n_edge = compute_edge_size(size)
    figures: dict[str, Any] = {
        "edge": say("training.edge.one") if n_edge == 1 else Count(n_edge, "steps"),
        "start": Decimal(move.start),
        "end": Decimal(move.end),
    }
    if not math.isfinite(move.change):
        return (say("training.story.reward.partly", **figures),)
    key = "rose" if move.change > 0 else "fell"
    shown = "same" if round(move.start, 2) == round(move.end, 2) else key
    return (say(f"training.story.reward.{shown}", **figures),)


def _missing(run: TrainingRun) -> tuple[Said, ...]:
    if not run.n_completions:
        return ()
    share = sum(step.n_missing for step in run.steps) / run.n_completions
    return (say(f"training.story.missing{'' if share else '.none'}", share=Share(share)),)


def _say_uncertified(run: TrainingRun) -> tuple[Said, ...]:
    certified, n = certified_counts(run)
    if certified == n:
        return ()
    propositions = Count(n, "paying")
    return (say("training.story.uncertified", n=n - certified, propositions=propositions),)


# Alarms -----------------------------------------------------------------------------------------


def _say_alarm(alarm: Alarm) -> Said:
    """Say an alarm in words, with its figure and what it was held against."""
    values = {"value": alarm.value, "was": alarm.reference}
    figures = {
        name: Decimal(value, 0) if alarm.kind == "length" else Percent(value)
        for name, value in values.items()
    }
    return say(f"training.alarm.{alarm.kind}.said", **figures)


def _warnings(run: TrainingRun, source: Argument) -> tuple[tuple[Said, Said], ...]:
    """Group the alarms by kind, in the order in which the kinds began, with what to do."""
    kinds: dict[str, list[Said]] = {}
    for alarm in run.alarms:
        place = say("training.story.alarm", said=_say_alarm(alarm), step=Count(alarm.step))
        kinds.setdefault(alarm.kind, []).append(place)
    warnings = []
    for kind, named in kinds.items():
        n_more = len(named) - _MOST_NAMED
        others = (say("training.story.alarm.more", n=Count(n_more)),) if n_more > 0 else ()
        listed = Clauses((*named[:_MOST_NAMED], *others))
        said = say("training.warned", kind=say(f"training.alarm.{kind}"), list=listed)
        warnings.append((said, say(f"training.alarm.{kind}.do", run=source)))
    return tuple(warnings)


# What paid --------------------------------------------------------------------------------------

_LONG = 90


def certified_counts(run: TrainingRun) -> tuple[int, int]:
    """Count the propositions that pay: those with a valid certificate, and all of them."""
    n_paying = len(_list_paying(run))
    return n_paying - len(uncertified(run)), n_paying


def uncertified(run: TrainingRun) -> tuple[str, ...]:
    """Name the propositions that pay without a valid certificate.

    The certificate of a label of a choice, ``question=label``, is about its question.
    """
    valid = {name for name, state in run.certificates.items() if state == "passed"}
    return tuple(name for name in _list_paying(run) if name.partition("=")[0] not in valid)


def _list_paying(run: TrainingRun) -> tuple[str, ...]:
    """List the propositions that some reward depends on, in the order of the rubric."""
    paying = {name for names in run.paying.values() for name in names}
    return tuple(name for name in run.propositions if name in paying)


def _describe_reward(run: TrainingRun) -> tuple[tuple[str, Any], ...]:
    """List what is known of the reward and of the training: the key of a word, and what is said."""
    certified, n = certified_counts(run)
    propositions = Count(n, "paying")
    rows = {
        "reward": _name(run.reward_name),
        "hash": _name(run.reward_hash),
        "rubric": _name(run.rubric),
        "judge": _name(run.judge),
        "answered": _say_answered(run),
        "fingerprint": _name(run.fingerprint),
        "threshold": _threshold(run.threshold),
        "certificates": say(
            "training.what.certificates.count", n=certified, propositions=propositions
        ),
        "behaviors": _names(run.behaviors),
        "centered": say("training.what.centered.yes") if run.is_centered else None,
        "framework": _name(run.framework),
        "created": _name(run.created),
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


def _say_answered(run: TrainingRun) -> Listing | None:
    """Say what share of the completions came to which judge of a cascade."""
    totals: dict[str, float] = {}
    for step in run.steps:
        for name, share in step.answered_by.items():
            totals[name] = totals.get(name, 0.0) + step.n * share
    shares = {name: Percent(n / run.n_completions) for name, n in totals.items()}
    said = (say("training.what.answered.share", name=Name(x), share=y) for x, y in shares.items())
    return Listing(tuple(said)) if totals else None
