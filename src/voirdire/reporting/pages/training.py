"""What is said of a training run: its page, and what a sample of it prints."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, get_args

import polars as pl

from voirdire._messages import shorten
from voirdire.errors import NoDataError
from voirdire.records.items import SCORE, is_share
from voirdire.reporting.pages.items import ItemCard, ItemText
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
    one_line,
    say,
)
from voirdire.reporting.pages.view import Cards, Column, Lines, Part, Series, Table, View, Words
from voirdire.rewards.training.completion_rows import TEXTS, make_item, write_prompt
from voirdire.rewards.training.nonsense import NonsenseKind
from voirdire.rewards.training.run_reading import read_completion_frames

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from voirdire.rewards.training.run import Alarm, TrainingRun
    from voirdire.rewards.training.sample import TrainingSample


_EDGE = 10
"""Steps at either end whose means are compared; most alarms look over as many."""
_MOST_POINTS = 200
"""Points of a line: of more steps each point is the mean of as many as needed."""
_MOST_LINES = 8
_MOST_BEHAVIORS = 4
_MOST_NAMED = 3
_MOST_ENDS = 20
_MOST_DROPPED = 200
_ITEM = (*TEXTS, "behavior")


def training_view(run: TrainingRun, *, source: str | None = None, texts: bool = False) -> View:
    """Say what happened in a training; `source` is what commands call its folder."""
    if not run.steps:
        msg = f"`run` must hold at least one step, got none in {shorten(str(run.folder))!r}."
        raise NoDataError(msg)
    folder = argument_of(str(run.folder) if source is None else source)
    return View(
        name="training",
        meta=say("training.meta", name=run.name, framework=run.framework,
                 completions=run.n_completions, steps=len(run.steps)),
        lead=tuple(_say_story(run)),
        todo=(_next_step(run, folder),),
        blocks=(_reward_lines(run),),
        cautions=tuple(_list_warnings(run, folder)),
        parts=tuple(_list_parts(run, folder, texts=texts)),
        settings=_list_settings(run),
        glossary=("proposition", "group"),
    )  # fmt: skip


# What happened ------------------------------------------------------------------------------------


def _say_story(run: TrainingRun) -> Iterator[Said]:
    """Say which alarms began, how the reward moved, what is missing, and what nobody vouches for.

    The certificate of a label of a choice, ``question=label``, is about its question.
    """
    n_alarms, n_steps = len(run.alarms), Count(len(run.steps), "steps")
    if n_alarms:
        places = Listing(tuple(dict.fromkeys(alarm.step for alarm in run.alarms)))
        yield say("training.alarms", alarms=n_alarms, steps=places)
    else:
        yield say("training.quiet" if len(run.steps) >= _EDGE else "training.few", steps=n_steps)
    rewards = [step.reward_mean for step in run.steps]
    if any(map(math.isfinite, rewards)):
        start, end = map(Decimal, _edges(rewards))
        yield say("training.rewards", start=start, end=end, edge=_edge(run))
    else:
        yield say("training.rewards.none")
    if run.gaps:
        lost = [Verbatim(f"{a + 1}–{b - 1}") for a, b in run.gaps[:_MOST_NAMED]]
        yield say("training.gaps", steps=lost)
    if n_missing := sum(step.n_missing for step in run.steps):
        yield say("training.missing", share=Share(n_missing / run.n_completions))
    paid = {name for names in run.paying.values() for name in names}
    valid = {name for name, state in run.certificates.items() if state == "passed"}
    lacking = [name for name in dict.fromkeys((*run.propositions, *paid)) if name in paid]
    lacking = [name for name in lacking if name.partition("=")[0] not in valid]
    if lacking:
        named = Listing(tuple(map(Name, lacking)), most=5)
        yield say("training.uncertified", n=len(lacking), of=Count(len(paid), "paying"),
                  propositions=named)  # fmt: skip


def _next_step(run: TrainingRun, folder: Argument) -> Said:
    kinds = {alarm.kind for alarm in run.alarms}
    if not any(math.isfinite(step.reward_mean) for step in run.steps):
        return say("training.next.mend")
    key = "score" if kinds == {"missing"} else "label" if kinds else "quiet"
    if key != "score" and run.propositions[:1] == (SCORE,):
        key = "second"
    return say(f"training.next.{key}", run=folder)


def _list_warnings(run: TrainingRun, folder: Argument) -> Iterator[tuple[Clauses, Said]]:
    """Group the alarms by kind, in the order in which the kinds began, with what to do."""
    kinds: dict[str, list[Said]] = {}
    for alarm in run.alarms:
        place = say("training.alarm", said=_say_alarm(alarm), step=alarm.step)
        kinds.setdefault(alarm.kind, []).append(place)
    for kind, places in kinds.items():
        n_more = len(places) - _MOST_NAMED
        more = (say("training.alarm.more", n=n_more),) if n_more > 0 else ()
        named = Clauses((*places[:_MOST_NAMED], *more))
        yield named, say(f"training.alarm.{kind}.do", run=folder)


def _say_alarm(alarm: Alarm) -> Said:
    """Say an alarm in words, with its figure and what it was held against."""
    kind: Any = {"length": partial(Decimal, digits=0), "margin": Decimal}.get(alarm.kind, Percent)
    name = f"training.alarm.{alarm.kind}"
    if alarm.kind == "nonsense" and not math.isfinite(alarm.reference):
        name = "training.alarm.nonsense.early"
    return say(name, value=kind(alarm.value), was=kind(alarm.reference))


# Lines over the steps -----------------------------------------------------------------------------


def _mean(values: Sequence[float]) -> float:
    """Average the finite values; nan without any."""
    defined = [value for value in values if math.isfinite(value)]
    return math.fsum(defined) / len(defined) if defined else math.nan


def _edge(run: TrainingRun) -> Count:
    return Count(_edge_size(run.steps), "steps")


def _edge_size(steps: Sequence[Any]) -> int:
    """Compute how many steps make a beginning or an end: 10, or half of a shorter run."""
    return max(1, min(_EDGE, len(steps) // 2))


def _edges(values: Sequence[float]) -> tuple[float, float]:
    """Average the first and the last values, over what is defined."""
    size = _edge_size(values)
    return _mean(values[:size]), _mean(values[-size:])


def _thin_out(values: Sequence[float]) -> list[float]:
    """Replace as many consecutive values by their mean as leave at most 200."""
    size = math.ceil(len(values) / _MOST_POINTS)
    return [_mean(values[at : at + size]) for at in range(0, len(values), size)]


def _lines(
    run: TrainingRun, kind: str, curves: Iterable[tuple[Any, Sequence[float]]], **more: Any
) -> Lines:
    """Lay out lines over the steps; the caption says where several steps are one point."""
    steps = _thin_out([float(step.step) for step in run.steps])
    caption, n = say(f"training.{kind}.caption", edge=_edge(run)), -(-len(run.steps) // len(steps))
    series = [
        Series(name=name, points=tuple(zip(steps, _thin_out(values), strict=True)))
        for name, values in curves
    ]
    return Lines(
        caption=caption if n == 1 else say("training.thinned", caption=caption, n=n),
        series=tuple(series),
        x_title="column.step",
        **{"name": kind, "y_title": f"training.{kind}.axis"} | more,
    )


def _reward_lines(run: TrainingRun) -> Lines:
    """Draw the mean reward with its spread, its parts where there is a base, and the alarms."""
    has_base = any(math.isfinite(step.base_mean) and step.base_mean for step in run.steps)
    names = ("reward", "rule", "base") if has_base else ("reward",)
    curves = [(f"training.mean.{name}", [getattr(step, f"{name}_mean") for step in run.steps])
              for name in names]  # fmt: skip
    lines = _lines(run, "reward", curves)
    rewards, *parts = lines.series
    spread = _thin_out([step.reward_sd for step in run.steps])
    ends = ((mean - sd, mean + sd) for (_, mean), sd in zip(rewards.points, spread, strict=True))
    began = {alarm.step for alarm in run.alarms}
    alarms = tuple((step.step, step.reward_mean) for step in run.steps if step.step in began)
    marks = Series(name="training.alarm.began", points=alarms, is_dots=True,
                   states=("failed",) * len(alarms))  # fmt: skip
    rewards = replace(rewards, ends=tuple(ends))
    return replace(lines, series=(rewards, *parts, *((marks,) if alarms else ())))


def _list_curves(run: TrainingRun) -> Iterator[tuple[str, tuple[Lines, ...]]]:
    """Give the lines of each part of the page under the name of the part."""

    def collect(rows: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: [row.get(name, math.nan) for row in rows] for name in names}

    def change(values: Sequence[float]) -> float:
        start, end = _edges(values)
        return round(abs(end - start), 12) if math.isfinite(end - start) else -math.inf

    rates = collect([step.proposition_rates for step in run.steps])
    moved = sorted(rates.items(), key=lambda row: -change(row[1]))[:_MOST_LINES]
    named = []
    for name, values in moved:
        start, end = map(Decimal, _edges(values))
        named.append((say("training.moved", name=name, start=start, end=end), values))
    shares: dict[str, Any] = {"y_scale": (0.0, 1.0)}
    if named:
        bounds = shares if all(is_share(name) for name in rates) else {}
        yield "propositions", (_lines(run, "propositions", named, **bounds),)
    behaviors = [*dict.fromkeys(name for step in run.steps for name in step.class_shares)]
    classes = []
    for number, behavior in enumerate(behaviors[:_MOST_BEHAVIORS]):
        columns = collect([step.class_shares.get(behavior, {}) for step in run.steps])
        curves = [(Name(name, 40), values) for name, values in columns.items()][:_MOST_LINES]
        title = say("training.classes.axis", behavior=behavior)
        look = {"name": f"classes-{number}", "y_title": title, **shares}
        classes.append(_lines(run, "classes", curves, **look))
    if classes:
        yield "classes", tuple(classes)
    unit, lengths = f"training.length.{run.length_unit}", [step.length_mean for step in run.steps]
    yield "length", (_lines(run, "length", [(unit, lengths)], y_title=unit),)
    guards = {name: [getattr(step, f"{name}_share") for step in run.steps]
              for name in ("gated", "capped")}  # fmt: skip
    if any(any(values) for values in guards.values()):
        drawn = [(f"training.guards.{name}", values) for name, values in guards.items()]
        yield "guards", (_lines(run, "guards", drawn, **shares),)
    missing = [step.missing_share for step in run.steps]
    top = max([0.02, *filter(math.isfinite, missing)])
    shares["y_scale"] = (0.0, top)
    yield "missing", (_lines(run, "missing", [("training.missing.axis", missing)], **shares),)


# The parts of the page ----------------------------------------------------------------------------


def _list_parts(run: TrainingRun, folder: Argument, *, texts: bool) -> Iterator[Part]:
    ends: list[Any] = [Words((say("training.ends.texts", run=folder),), "note")]
    if texts:
        ends = [
            block
            for end, cards in _make_end_cards(run).items()
            for block in (Words((f"training.ends.{end}",), "heading"), Cards(cards))
        ]
    yield Part(name="training.ends", blocks=ends, shown_in="page")
    kinds = {alarm.kind for alarm in run.alarms}
    for name, lines in _list_curves(run):
        is_open = name in kinds or (name == "guards" and bool(kinds & {"gated", "capped"}))
        yield Part(name=f"training.{name}", blocks=lines, is_open=is_open, shown_in="page")
    if run.alarms:
        columns: list[Column] = ["step", ("alarm", _say_alarm)]
        table = Table.of("training.alarms.caption", run.alarms, columns, most=100)
        yield Part(name="training.alarms", blocks=(table,), shown_in="details")
    if run.dropped:
        listed = (Words([*map(Verbatim, run.dropped[:_MOST_DROPPED])], "list"),)
        title = say("training.dropped", pieces=len(run.dropped))
        yield Part(name="training.dropped", title=title, blocks=listed)


def _make_end_cards(run: TrainingRun) -> dict[str, list[ItemCard]]:
    """Read the different completions with the highest rewards, and those with the lowest."""
    columns = ("item", "name", "step", *_ITEM, "reward", "nonsense", "n_tokens",
               "n_characters")  # fmt: skip
    ends = {"highest": pl.DataFrame(), "lowest": pl.DataFrame()}
    for frame in read_completion_frames(run, columns=columns):
        rewarded = frame.filter(pl.col("reward").is_not_null())
        for end, rows in ends.items():
            ends[end] = (
                pl.concat([rows, rewarded], how="diagonal")
                .sort("reward", "step", "item", descending=[end == "highest", False, False])
                .unique(list(_ITEM), keep="first", maintain_order=True)
                .head(_MOST_ENDS)
            )
    return {
        end: [_make_card(row, run) for row in rows.iter_rows(named=True)]
        for end, rows in ends.items()
    }


def _make_card(row: Mapping[str, Any], run: TrainingRun) -> ItemCard:
    item = make_item(row, name=row["item"], judged=run.judged)
    texts = {} if item is None else {"prompt": write_prompt(item), "response": item.response}
    reward, unit = Decimal(row["reward"]), run.length_unit
    figures: list[tuple[Any, Any, None]] = [
        ("training.mean.reward", reward, None),
        (f"training.length.{unit}", Count(row[f"n_{unit}"]), None),
        ("column.item", Name(row["name"] or row["item"]), None),
    ]
    if row["nonsense"] in get_args(NonsenseKind):
        figures.append(("training.nonsense", f"training.nonsense.{row['nonsense']}", None))
    return ItemCard(
        title=item.response if item is not None and item.response.strip() else row["item"],
        summary=(say("training.ends.paid", step=row["step"], reward=reward),),
        texts=[ItemText(heading=f"items.{key}", text=text) for key, text in texts.items() if text],
        rows=figures,
        tags={"column.behavior": one_line(row["behavior"], width=60)} if row["behavior"] else {},
    )


def _list_settings(run: TrainingRun) -> dict[str, Any]:
    """List what paid, who answered, and what share of the completions came to which judge."""
    totals: dict[str, float] = {}
    for step in run.steps:
        for name, share in step.answered_by.items():
            totals[name] = totals.get(name, 0.0) + step.n * share
    names = ("reward_name", "reward_hash", "rubric", "judge", "fingerprint", "threshold",
             "behaviors", "is_centered", "framework", "created", "versions")  # fmt: skip
    known = {name: getattr(run, name) for name in names}
    shares = {name: f"{n / run.n_completions:.0%}" for name, n in totals.items()}
    return known | {"behaviors": [*run.behaviors], "certificates": dict(run.certificates)} | (
        {"answered_by": shares} if shares else {}
    )  # fmt: skip


# A sample -----------------------------------------------------------------------------------------


def sample_view(sample: TrainingSample) -> View:
    """Say what was drawn of a run, and what comes next."""
    rows = [(name, *counts.values()) for name, counts in sample.strata.items()]
    heads = ("stratum", "different", "drawn")
    columns: list[Column] = [(head, itemgetter(place)) for place, head in enumerate(heads)]
    return View(
        name="sample",
        meta=say("sample.meta", n=sample.n_items, seed=sample.seed,
                 completions=sample.n_completions),
        blocks=(Table.of(None, rows, columns, label="sample.title"),),
        todo=(
            say("sample.label", sheets=[*map(argument_of, sample.sheets)], n=sample.n_labels),
            say("sample.keep", verdicts=argument_of(sample.verdicts),
                place=argument_of(sample.key)),
            "sample.examine",
            say("command", text=Argument(sample.command)),
        ),
    )  # fmt: skip
