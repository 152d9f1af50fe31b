"""What happened, in one paragraph: the alarms first, then what moved from start to end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from voirdire.reporting.page_frame.speech import (
    Clauses,
    Count,
    Decimal,
    Listing,
    Name,
    Said,
    Share,
    say,
)
from voirdire.reporting.plots.training_moves import edge_size, move_of, moves_of
from voirdire.reporting.plots.training_sheet import mean_of
from voirdire.reporting.training_page.alarms import alarm_sentence
from voirdire.reporting.training_page.certificates import certified_counts
from voirdire.reporting.training_page.tables import reference_reward

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.reporting.plots.training_moves import Move
    from voirdire.reporting.plots.training_sheet import StepColumns
    from voirdire.rewards.training.run import TrainingRun

__all__ = ["Story", "edge_of", "missing_share", "story_of"]

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
