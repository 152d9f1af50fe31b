"""Chooses the versions of items and the prompts that a judge is asked with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire._messages import closest, shorten
from voirdire.errors import InputError, NoDataError
from voirdire.judging import CascadeJudge, JuryJudge, LlmJudge
from voirdire.judging.binding import BoundCascade, BoundJudge, BoundJury, plan_judging
from voirdire.judging.items import read_items_in_memory
from voirdire.probes import Probe, neutral_probe, probes
from voirdire.stats.cautions import list_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire._types import Language, Mode
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Dropped, Item
    from voirdire.rubrics import Rubric
    from voirdire.studies.probing.settings import ProbeSettings

__all__ = ["Layout", "Request", "Trial", "change_plan", "lay_out", "limit_cost"]

OTHER_FAMILIES = ("position", "order", "prompt")
"""Families of probes that do not change single items."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """Items to judge by one plan; `name` is ``"items"`` for the unchanged judge."""

    name: str
    plan: JudgingPlan
    items: tuple[Item, ...] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """Two askings about some items that a fair judge answers alike.

    Attributes
    ----------
    probe, family, summary : str
        What is tried.
    requests : pair of str
        Names of the requests with the answers before and after.
    ids : pair of sequence of str
        Ids of the versions in them, in the order of the items.
    places : sequence of int
        Places of these items.
    touches, aim
        As of a `Probe`.
    is_swapped : bool
        Whether A and B are exchanged before.
    """

    probe: str
    family: str
    summary: str
    requests: tuple[str, str] = ("items", "items")
    ids: tuple[Sequence[str], Sequence[str]]
    places: Sequence[int]
    touches: frozenset[str] = frozenset()
    aim: bool | None = None
    is_swapped: bool = False


def _try_probe(probe: Probe, items: Sequence[Item]) -> tuple[Trial, list[Item]]:
    """Make both versions of every item that a probe can change."""
    places: list[int] = []
    pairs: list[tuple[str, str]] = []
    versions: list[Item] = []
    for place, item in enumerate(items):
        changed = probe.change(item)
        plain = item if probe.control is None else probe.control(item)
        if changed is None or plain is None:
            continue
        places.append(place)
        pairs.append((plain.id, changed.id))
        versions += [changed] if plain is item else [plain, changed]
    trial = Trial(
        probe=probe.id,
        family=probe.family,
        summary=probe.summary,
        ids=([plain for plain, _ in pairs], [changed for _, changed in pairs]),
        places=places,
        touches=probe.touches,
        aim=probe.aim,
    )
    return trial, versions


# Other plans for the same items ---------------------------------------------------------------


def _public_judge(judge: Any) -> JudgeLike:
    """Return the public judge object of a plan's judge."""
    if isinstance(judge, BoundCascade):
        return judge.cascade
    if isinstance(judge, BoundJury):
        # its judges may be names, which are loaded now
        judges: tuple[Any, ...] = tuple(_public_judge(row.judge) for row in judge.members)
        return replace(judge.jury, judges=judges)
    public: JudgeLike = judge.judge if isinstance(judge, BoundJudge) else judge
    return public


def _change_models(judge: JudgeLike, change: Callable[[LlmJudge], LlmJudge]) -> JudgeLike:
    """Change every language model in a judge; keep other judges."""
    if isinstance(judge, LlmJudge):
        return change(judge)
    if isinstance(judge, CascadeJudge):
        return replace(judge, then=change(judge.then))
    if isinstance(judge, JuryJudge):
        judges = [_change_models(member, change) for member in judge.judges]
        return replace(judge, judges=tuple(judges))  # type: ignore[arg-type]  # no jury in a jury
    return judge


def _replan(
    plan: JudgingPlan, *, judge: JudgeLike | None = None, rubric: Rubric | None = None
) -> JudgingPlan:
    """Make the same plan with another judge or rubric."""
    return plan_judging(
        _public_judge(plan.judge) if judge is None else judge,
        plan.rubric if rubric is None else rubric,
        threshold=plan.threshold,
        judged=plan.judged,
    )


def change_plan(plan: JudgingPlan, change: Callable[[LlmJudge], LlmJudge]) -> JudgingPlan:
    """Make the same plan with every language model changed."""
    judge = _public_judge(plan.judge)
    changed = _change_models(judge, change)
    return plan if changed == judge else _replan(plan, judge=changed)


_REWORDED = {
    "en": "Read the response once more, and decide on what it says alone. {text}",
    "zh": "请再读一遍回复，只根据其内容判断。{text}",
}


def _make_order_plans(plan: JudgingPlan) -> Iterator[tuple[str, str, JudgingPlan]]:
    """Return plans with the questions, and with the options of choices, in three other orders."""
    judge, rubric = _public_judge(plan.judge), plan.rubric
    if not isinstance(judge, LlmJudge):
        return
    n_questions = len(rubric.questions) if judge.mode == "joint" else 1
    for number, (order,) in enumerate(_draw_orders([n_questions]), start=1):
        shuffled = replace(rubric, questions=tuple(rubric.questions[k] for k in order))
        what = "the questions are asked in another order"
        yield f"order/questions_{number}", what, _replan(plan, rubric=shuffled)
    n_options = [len(row.labels) for row in rubric.questions]
    for number, orders in enumerate(_draw_orders(n_options), start=1):
        questions = []
        for row, order in zip(rubric.questions, orders, strict=True):
            labels = list(row.labels.items())
            questions.append(replace(row, labels=dict(labels[k] for k in order)))
        shuffled = replace(rubric, questions=tuple(questions))
        what = "the options of choices stand in another order"
        yield f"order/options_{number}", what, _replan(plan, rubric=shuffled)


def _draw_orders(sizes: Sequence[int]) -> list[list[list[int]]]:
    """Draw three other orders of lists of these sizes, or as many as there are."""
    orders = [[list(range(size)) for size in sizes]]
    draws = np.random.default_rng(0)
    while len(orders) < min(4, math.prod(map(math.factorial, sizes))):
        drawn = [draws.permutation(size).tolist() for size in sizes]
        if drawn not in orders:
            orders.append(drawn)
    return orders[1:]


def _make_prompt_plans(plan: JudgingPlan) -> Iterator[tuple[str, str, JudgingPlan]]:
    """Return plans with other prompts for the same questions, with names and descriptions."""
    judge, rubric = _public_judge(plan.judge), plan.rubric
    if not isinstance(judge, LlmJudge):
        return
    other: Mode = "single" if judge.mode == "joint" else "joint"
    if len(rubric.questions) > 1:
        what = "each question has a call of its own"
        what = what if other == "single" else "all questions are asked in one call"
        yield f"prompt/{other}", what, _replan(plan, judge=replace(judge, mode=other))
    if any(row.yes_examples or row.no_examples for row in rubric.questions):
        n_shown = judge.shown_examples
        number, word = (1, "with_example") if n_shown == 0 else (0, "without_examples")
        what = "an example of yes and of no is shown" if number else "no examples are shown"
        yield f"prompt/{word}", what, _replan(plan, judge=replace(judge, n_examples=number))
    language: Language = "zh" if judge.language == "en" else "en"
    if all(language in row.text for row in rubric.questions):
        what = f"the prompt is in {'Chinese' if language == 'zh' else 'English'}"
        yield f"prompt/{language}", what, _replan(plan, judge=replace(judge, language=language))
    reworded = replace(
        rubric,
        questions=tuple(
            replace(
                row,
                text={code: _REWORDED[code].format(text=text) for code, text in row.text.items()},
            )
            for row in rubric.questions
        ),
    )
    yield "prompt/reworded", "the questions are reworded", _replan(plan, rubric=reworded)


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """All items, plans and trials of a study of probes, made before any call.

    `neutral` compares two different neutral lines, to measure the floor of flips; `units` has the
    independent unit of each item.
    """

    plan: JudgingPlan
    settings: ProbeSettings
    items: tuple[Item, ...]
    dropped: tuple[Dropped, ...]
    trials: tuple[Trial, ...]
    neutral: Trial
    requests: tuple[Request, ...]
    notes: tuple[str, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the unchanged items."""
        return tuple(item.id for item in self.items)

    @cached_property
    def units(self) -> NDArray[np.intp]:
        """The independent unit of each item, as a number."""
        names = [item.cluster or item.id for item in self.items]
        return np.unique(names, return_inverse=True)[1]


def lay_out(items: Any, plan: JudgingPlan, settings: ProbeSettings) -> Layout:
    """Make the layout of a study of probes."""
    items, dropped = _draw_items(items, plan, settings)
    ids, everything = [item.id for item in items], range(len(items))
    chosen, families = _choose_probes(settings)
    neutral, lines = _try_probe(neutral_probe(), items)
    tried = [_try_probe(probe, items) for probe in chosen]
    trials = [trial for trial, _ in tried if trial.places]
    notes = [
        f"{trial.probe}: no item can be changed that way" for trial, _ in tried if not trial.places
    ]
    versions = [version for _, each in (*tried, (neutral, lines)) for version in each]
    _check_ids(ids, versions)
    usual = {item.id: item for item in (*items, *versions)}
    requests = [Request(name="items", plan=plan, items=tuple(usual.values()))]
    for run in range(1, settings.n_runs):

        def reseed(judge: LlmJudge, run: int = run) -> LlmJudge:  # has separate stored replies
            return replace(judge, seed=judge.seed + 7_919 * run)

        again = change_plan(plan, reseed)
        requests.append(Request(name=f"repeat {run}", plan=again, items=items))
    if plan.asks_about_pairs and "position" in families:
        swapped = [
            msgspec.structs.replace(
                item,
                id=f"{item.id}+position/swapped",
                response=item.other or "",
                other=item.response,
                cluster=item.cluster or item.id,
            )
            for item in items
        ]
        single = change_plan(plan, lambda judge: replace(judge, both_orders=False))
        requests.append(Request(name="position", plan=single, items=(*items, *swapped)))
        trials.append(
            Trial(
                probe="position/first",
                family="position",
                summary="a response is shown first instead of second",
                requests=("position", "position"),
                ids=([item.id for item in swapped], ids),
                places=everything,
                is_swapped=True,
            )
        )
    makers = (("order", _make_order_plans), ("prompt", _make_prompt_plans))
    for family, make_plans in makers:
        for name, summary, other in make_plans(plan) if family in families else ():
            requests.append(Request(name=name, plan=other, items=items))
            trials.append(
                Trial(
                    probe=name,
                    family=family,
                    summary=summary,
                    requests=("items", name),
                    ids=(ids, ids),
                    places=everything,
                )
            )
    if not trials:
        msg = "`only` and `without` must leave at least one probe, got none"
        why = f": {notes[0]}." if notes else ". Name other families."
        raise InputError(f"{msg}{why}")
    return Layout(
        plan=plan,
        settings=settings,
        items=items,
        dropped=dropped,
        trials=tuple(trials),
        neutral=neutral,
        requests=tuple(requests),
        notes=tuple(notes),
    )


def _draw_items(
    source: Any, plan: JudgingPlan, settings: ProbeSettings
) -> tuple[tuple[Item, ...], tuple[Dropped, ...]]:
    """Read the items that can be judged, and draw some of them, in their order."""
    items, dropped = read_items_in_memory(source, plan.reading(settings))
    items = [item for item in items if not plan.asks_about_pairs or item.other is not None]
    if len(items) < 2:
        why = f" The first was set aside: {dropped[0].reason}." if dropped else ""
        msg = f"`items` must hold at least two items that can be judged, got {len(items)}.{why}"
        raise NoDataError(msg)
    most = settings.n_items
    if most is not None and len(items) > most:
        drawn = np.random.default_rng(settings.seed).choice(len(items), most, replace=False)
        items = [items[place] for place in sorted(drawn.tolist())]
    return tuple(items), dropped


def _check_ids(ids: Sequence[str], versions: Sequence[Item]) -> None:
    """Refuse items with the ids of versions, such as those of an earlier study."""
    known = set(ids)
    for version in versions:
        if version.id in known:
            msg = (
                f"`items` must not have ids of versions of items, got {shorten(version.id)!r}."
                " Probe the originals, or change the items' ids."
            )
            raise InputError(msg)
        known.add(version.id)


def _choose_probes(settings: ProbeSettings) -> tuple[list[Probe], frozenset[str]]:
    """Return the chosen probes, and the chosen families without changes of single items."""
    all_probes = probes()
    words = {*OTHER_FAMILIES, *(word for row in all_probes for word in (row.id, row.family))}
    for word in (*settings.only, *settings.without):
        if word not in words:
            families = list_names(
                sorted({*OTHER_FAMILIES, *(row.family for row in all_probes)}), most=30
            )
            near = closest(word, sorted(words))
            meant = "" if near is None else f" Perhaps {near!r} is meant."
            msg = f"probes must be chosen by a family or a name, got {shorten(word)!r}.{meant}"
            raise InputError(f"{msg} Families are {families}.")

    def is_wanted(*names: str) -> bool:
        is_named = not settings.only or not {*settings.only}.isdisjoint(names)
        return is_named and {*settings.without}.isdisjoint(names)

    chosen = [row for row in all_probes if is_wanted(row.id, row.family)]
    return chosen, frozenset(word for word in OTHER_FAMILIES if is_wanted(word))


def limit_cost(plan: JudgingPlan, spent: float) -> JudgingPlan:
    """Subtract the money spent from the cost limits of a plan."""

    def reduce_limit(judge: LlmJudge) -> LlmJudge:
        if judge.max_cost is None:
            return judge
        # a limit must be above 0; the first call then exceeds it
        return replace(judge, max_cost=max(judge.max_cost - spent, 1e-9))

    return change_plan(plan, reduce_limit) if spent else plan
