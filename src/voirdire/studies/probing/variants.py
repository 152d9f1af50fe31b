"""Plans a study of probes: the versions of items, and the prompts that a judge is asked with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire._messages import closest, shorten
from voirdire.errors import InputError, NoDataError
from voirdire.judging import LlmJudge
from voirdire.judging.binding import (
    BoundCascade,
    BoundJudge,
    BoundJury,
    check_behavior,
    plan_judging,
)
from voirdire.judging.items import read_items_in_memory
from voirdire.probes import Probe, neutral_probe, probes
from voirdire.stats.cautions import list_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire._types import Language
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Dropped, Item
    from voirdire.rubrics import Rubric
    from voirdire.studies.probing.settings import ProbeSettings

_OTHER_FAMILIES = ("position", "order", "prompt")
"""Families of probes that do not change single items."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """Items to judge by one plan; `name` is ``"items"`` for the unchanged judge."""

    name: str
    plan: JudgingPlan
    items: Sequence[Item] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """Two askings about some items that a fair judge answers alike.

    Attributes
    ----------
    probe : Probe
        What is tried.
    requests : pair of str
        Names of the requests with the answers before and after.
    ids : pair of sequence of str
        Ids of the versions in them, in the order of the items.
    places : sequence of int
        Places of these items.
    is_swapped : bool
        Whether A and B are exchanged before.
    """

    probe: Probe
    requests: tuple[str, str] = ("items", "items")
    ids: tuple[Sequence[str], Sequence[str]]
    places: Sequence[int]
    is_swapped: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """All items, plans and trials of a study of probes, made before any call.

    `neutral` compares two different neutral lines, to measure the floor of flips; `units` has the
    independent unit of each item.
    """

    plan: JudgingPlan
    settings: ProbeSettings
    items: Sequence[Item]
    dropped: tuple[Dropped, ...]
    trials: Sequence[Trial]
    neutral: Trial
    requests: Sequence[Request]
    notes: Sequence[str]

    @property
    def ids(self) -> list[str]:
        """Ids of the unchanged items."""
        return [item.id for item in self.items]

    @cached_property
    def units(self) -> NDArray[np.intp]:
        """The independent unit of each item, as a number."""
        names = [item.cluster or item.id for item in self.items]
        return np.unique(names, return_inverse=True)[1]


def lay_out(
    source: Any, judge: JudgeLike, rubric: Rubric | str | Path, settings: ProbeSettings
) -> Layout:
    """Make the layout of a study of probes."""
    given = plan_judging(
        judge, rubric, threshold=settings.threshold, judged=settings.judged, whole=False
    )
    check_behavior(settings.behavior, given.rubric)
    plan = change_plan(given, lambda judge: replace(judge, calibration=None))
    items, dropped = _draw_items(source, plan, settings)
    chosen, families = _choose_probes(settings)
    neutral, lines = _try_probe(neutral_probe(), items)
    tried = [_try_probe(probe, items) for probe in chosen]
    known = {item.id: item for item in items}
    for version in chain(*(versions for _, versions in tried), lines):
        if version.id in known:  # such as those of an earlier study
            msg = (
                f"`items` must not have ids of versions of items, got {shorten(version.id)!r}."
                " Probe the originals, or change the items' ids."
            )
            raise InputError(msg)
        known[version.id] = version
    requests = [Request(name="items", plan=plan, items=list(known.values()))]
    for run in range(1, settings.n_runs):

        def reseed(judge: LlmJudge, run: int = run) -> LlmJudge:  # has separate stored replies
            return replace(judge, seed=judge.seed + 7_919 * run)

        again = change_plan(plan, reseed)
        requests.append(Request(name=f"repeat {run}", plan=again, items=items))
    others = list(_try_others(plan, items, families))
    trials = [*(x for x, _ in tried if x.places), *(trial for trial, _ in others)]
    notes = [f"{x.probe.id}: no item can be changed that way" for x, _ in tried if not x.places]
    if not trials:
        msg = "`only` and `without` must leave at least one probe, got none"
        why = f": {notes[0]}." if notes else ". Name other families."
        raise InputError(f"{msg}{why}")
    if plan is not given:
        notes.append("the judge's calibration is left out: it was fitted for one way of asking")
    return Layout(
        plan=plan,
        settings=settings,
        items=items,
        dropped=dropped,
        trials=trials,
        neutral=neutral,
        requests=[*requests, *(request for _, request in others)],
        notes=notes,
    )


def _draw_items(
    source: Any, plan: JudgingPlan, settings: ProbeSettings
) -> tuple[list[Item], tuple[Dropped, ...]]:
    """Read the items that can be judged, and draw some of them, in their order."""
    read, dropped = read_items_in_memory(source, plan.reading(settings))
    items = [item for item in read if not plan.asks_about_pairs or item.other is not None]
    if len(items) < 2:
        why = f" The first was set aside: {dropped[0].reason}." if dropped else ""
        msg = f"`items` must hold at least two items that can be judged, got {len(items)}.{why}"
        raise NoDataError(msg)
    most = settings.n_items
    if most is not None and len(items) > most:
        drawn = np.random.default_rng(settings.seed).choice(len(items), most, replace=False)
        items = [items[place] for place in sorted(drawn.tolist())]
    return items, dropped


def _choose_probes(settings: ProbeSettings) -> tuple[list[Probe], list[str]]:
    """Return the chosen probes, and the chosen families without changes of single items."""
    all_probes = probes()
    families = {*_OTHER_FAMILIES, *(row.family for row in all_probes)}
    words = families | {row.id for row in all_probes}
    for word in (*settings.only, *settings.without):
        if word not in words:
            near = closest(word, sorted(words))
            meant = "" if near is None else f" Perhaps {near!r} is meant."
            msg = f"probes must be chosen by a family or a name, got {shorten(word)!r}.{meant}"
            raise InputError(f"{msg} Families are {list_names(sorted(families), most=30)}.")

    def is_wanted(*names: str) -> bool:
        is_named = not settings.only or not {*settings.only}.isdisjoint(names)
        return is_named and {*settings.without}.isdisjoint(names)

    chosen = [row for row in all_probes if is_wanted(row.id, row.family)]
    return chosen, [word for word in _OTHER_FAMILIES if is_wanted(word)]


def _try_probe(probe: Probe, items: Sequence[Item]) -> tuple[Trial, list[Item]]:
    """Make both versions of every item that a probe can change."""
    rows: list[tuple[int, str, str]] = []
    versions: list[Item] = []
    for place, item in enumerate(items):
        changed = probe.change(item)
        plain = item if probe.control is None else probe.control(item)
        if changed is None or plain is None:
            continue
        rows.append((place, plain.id, changed.id))
        versions += [changed] if plain is item else [plain, changed]
    places, before, after = zip(*rows, strict=True) if rows else ((), (), ())
    return Trial(probe=probe, ids=(before, after), places=places), versions


# Other plans for the same items ---------------------------------------------------------------


def _change_judge(judge: Any, change: Callable[[LlmJudge], LlmJudge]) -> JudgeLike:
    """Return the judge of a plan as users make it, with every language model in it changed."""
    if isinstance(judge, BoundCascade):
        return replace(judge.cascade, then=change(judge.cascade.then))
    if isinstance(judge, BoundJury):  # whose judges may be names
        judges: Any = tuple(_change_judge(row.judge, change) for row in judge.members)
        return replace(judge.jury, judges=judges)
    return change(judge.judge) if isinstance(judge, BoundJudge) else judge


def _replan(plan: JudgingPlan, judge: JudgeLike, rubric: Rubric) -> JudgingPlan:
    return plan_judging(judge, rubric, threshold=plan.threshold, judged=plan.judged)


def change_plan(plan: JudgingPlan, change: Callable[[LlmJudge], LlmJudge]) -> JudgingPlan:
    """Make the same plan with every language model changed."""
    judge, changed = _change_judge(plan.judge, lambda x: x), _change_judge(plan.judge, change)
    return plan if changed == judge else _replan(plan, changed, plan.rubric)


def reduce_cost(plan: JudgingPlan, spent: float) -> JudgingPlan:
    """Make the same plan with what is left of the money that its language models may spend."""

    def reduce_limit(judge: LlmJudge) -> LlmJudge:
        if judge.max_cost is None:
            return judge
        # a limit must be above 0; the first call then exceeds it
        return replace(judge, max_cost=max(judge.max_cost - spent, 1e-9))

    return change_plan(plan, reduce_limit) if spent else plan


def _try_others(
    plan: JudgingPlan, items: Sequence[Item], families: Sequence[str]
) -> Iterator[tuple[Trial, Request]]:
    """Show pairs in the other order, and ask about the same items by other prompts."""
    if plan.asks_about_pairs and "position" in families:
        what = "a response is shown first instead of second"
        position = Probe(
            id="position/first",
            family="position",
            summary=what,
            change=lambda item: item,
            control=_swap_responses,
        )
        trial, versions = _try_probe(position, items)
        single = change_plan(plan, lambda judge: replace(judge, both_orders=False))
        yield (
            replace(trial, requests=("position", "position"), is_swapped=True),
            Request(name="position", plan=single, items=versions),
        )
    ids = [item.id for item in items]
    judge = _change_judge(plan.judge, lambda x: x)
    varied: list[Iterator[tuple[str, str, LlmJudge, Rubric]]] = []
    if isinstance(judge, LlmJudge):
        varied += [_vary_order(judge, plan.rubric)] * ("order" in families)
        varied += [_vary_prompt(judge, plan.rubric)] * ("prompt" in families)
    for name, summary, other, rubric in chain(*varied):
        family = name.partition("/")[0]
        trial = Trial(
            probe=Probe(id=name, family=family, summary=summary, change=lambda item: item),
            requests=("items", name),
            ids=(ids, ids),
            places=range(len(ids)),
        )
        yield trial, Request(name=name, plan=_replan(plan, other, rubric), items=items)


def _swap_responses(item: Item) -> Item:
    return msgspec.structs.replace(
        item,
        id=f"{item.id}+position/swapped",
        response=item.other or "",
        other=item.response,
        cluster=item.cluster or item.id,
    )


def _vary_order(judge: LlmJudge, rubric: Rubric) -> Iterator[tuple[str, str, LlmJudge, Rubric]]:
    """Put the questions, and the options of choices, in three other orders."""
    asked = rubric.questions
    what = "the questions are asked in another order"
    n_together = len(asked) if judge.mode == "joint" else 1
    for number, (order,) in enumerate(_draw_orders([n_together]), start=1):
        questions = tuple(asked[k] for k in order)
        yield f"order/questions_{number}", what, judge, replace(rubric, questions=questions)
    what = "the options of choices stand in another order"
    options = [list(row.labels.items()) for row in asked]
    for number, orders in enumerate(_draw_orders([*map(len, options)]), start=1):
        questions = tuple(
            replace(row, labels=dict(labels[k] for k in order))
            for row, labels, order in zip(asked, options, orders, strict=True)
        )
        yield f"order/options_{number}", what, judge, replace(rubric, questions=questions)


def _draw_orders(sizes: Sequence[int]) -> list[list[list[int]]]:
    """Draw three other orders of lists of these sizes, or as many as there are."""
    orders = [[list(range(size)) for size in sizes]]
    draws = np.random.default_rng(0)
    while len(orders) < min(4, math.prod(map(math.factorial, sizes))):
        drawn = [draws.permutation(size).tolist() for size in sizes]
        if drawn not in orders:
            orders.append(drawn)
    return orders[1:]


_REWORDED = {
    "en": "Read the response once more, and decide on what it says alone. {text}",
    "zh": "请再读一遍回复，只根据其内容判断。{text}",
}


def _vary_prompt(judge: LlmJudge, rubric: Rubric) -> Iterator[tuple[str, str, LlmJudge, Rubric]]:
    """Ask the same questions by other prompts, with names and descriptions."""
    questions = rubric.questions
    if len(questions) > 1 and judge.mode == "joint":
        what = "each question has a call of its own"
        yield "prompt/single", what, replace(judge, mode="single"), rubric
    elif len(questions) > 1:
        what = "all questions are asked in one call"
        yield "prompt/joint", what, replace(judge, mode="joint"), rubric
    if any(row.yes_examples or row.no_examples for row in questions):
        number, word = (0, "without_examples") if judge.shown_examples else (1, "with_example")
        what = "an example of yes and of no is shown" if number else "no examples are shown"
        yield f"prompt/{word}", what, replace(judge, n_examples=number), rubric
    language: Language = "zh" if judge.language == "en" else "en"
    if all(language in row.text for row in questions):
        what = f"the prompt is in {'Chinese' if language == 'zh' else 'English'}"
        yield f"prompt/{language}", what, replace(judge, language=language), rubric
    texts = [
        {code: _REWORDED[code].format(text=text) for code, text in row.text.items()}
        for row in questions
    ]
    reworded = tuple(replace(row, text=text) for row, text in zip(questions, texts, strict=True))
    what = "the questions are reworded"
    yield "prompt/reworded", what, judge, replace(rubric, questions=reworded)
