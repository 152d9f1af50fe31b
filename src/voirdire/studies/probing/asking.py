"""Chooses the versions of items and the prompts that a judge is asked with."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire._messages import closest, shorten
from voirdire.errors import InputError, NoDataError
from voirdire.judging import CascadeJudge, JuryJudge, LlmJudge
from voirdire.judging.answering import judge_by_plan
from voirdire.judging.binding import BoundCascade, BoundJudge, BoundJury, plan_judging
from voirdire.judging.items import read_items_in_memory
from voirdire.probes import Probe, neutral_probe, probes
from voirdire.stats.cautions import list_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire._types import Language, Mode
    from voirdire.judging import CallSummary, JudgingProgress
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.jury import JudgeLike
    from voirdire.judging.settings import StoredReplies
    from voirdire.records import Dropped, Item, Verdicts
    from voirdire.rubrics import Rubric
    from voirdire.studies.probing.settings import ProbeSettings

__all__ = [
    "Asker",
    "Layout",
    "Pairing",
    "Request",
    "change_plan",
    "get_public_judge",
    "lay_out",
    "replan",
]

OTHER_FAMILIES = ("position", "order", "prompt")
"""Families of probes that do not change single items."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """Items to judge by one plan; `name` is ``"items"`` for the unchanged judge."""

    name: str
    plan: JudgingPlan
    items: tuple[Item, ...] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """Two versions of some items, by their ids, in the order of the items.

    Attributes
    ----------
    places : tuple of int
        Places of the items with both versions.
    before, after : tuple of str
        Ids of the control and of the changed version.
    versions : tuple of Item
        The changed versions, and the controls that are not the items themselves.
    """

    places: tuple[int, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    versions: tuple[Item, ...] = field(repr=False)


def pair_up(probe: Probe, items: Sequence[Item]) -> Pairing:
    """Make both versions of every item that a probe can change."""
    rows: list[tuple[int, Item, Item]] = []
    versions: list[Item] = []
    for place, item in enumerate(items):
        changed = probe.change(item)
        plain = item if probe.control is None else probe.control(item)
        if changed is None or plain is None:
            continue
        rows.append((place, plain, changed))
        versions += [changed] if plain is item else [plain, changed]
    return Pairing(
        places=tuple(place for place, _, _ in rows),
        before=tuple(plain.id for _, plain, _ in rows),
        after=tuple(changed.id for _, _, changed in rows),
        versions=tuple(versions),
    )


# Other plans for the same items ---------------------------------------------------------------


def get_public_judge(judge: Any) -> JudgeLike:
    """Return the public judge object of a plan's judge."""
    if isinstance(judge, BoundCascade):
        return judge.cascade
    if isinstance(judge, BoundJury):
        # its judges may be names, which are loaded now
        judges: tuple[Any, ...] = tuple(get_public_judge(row.judge) for row in judge.members)
        return replace(judge.jury, judges=judges)
    public: JudgeLike = judge.judge if isinstance(judge, BoundJudge) else judge
    return public


def change_models(judge: JudgeLike, change: Callable[[LlmJudge], LlmJudge]) -> JudgeLike:
    """Change every language model in a judge; keep other judges."""
    if isinstance(judge, LlmJudge):
        return change(judge)
    if isinstance(judge, CascadeJudge):
        return replace(judge, then=change(judge.then))
    if isinstance(judge, JuryJudge):
        judges = [change_models(member, change) for member in judge.judges]
        return replace(judge, judges=tuple(judges))  # type: ignore[arg-type]  # no jury in a jury
    return judge


def replan(
    plan: JudgingPlan, *, judge: JudgeLike | None = None, rubric: Rubric | None = None
) -> JudgingPlan:
    """Make the same plan with another judge or rubric."""
    return plan_judging(
        get_public_judge(plan.judge) if judge is None else judge,
        plan.rubric if rubric is None else rubric,
        threshold=plan.threshold,
        judged=plan.judged,
    )


def change_plan(plan: JudgingPlan, change: Callable[[LlmJudge], LlmJudge]) -> JudgingPlan:
    """Make the same plan with every language model changed."""
    judge = get_public_judge(plan.judge)
    changed = change_models(judge, change)
    return plan if changed == judge else replan(plan, judge=changed)


def repeat_plan(plan: JudgingPlan, run: int) -> JudgingPlan:
    """Make the same plan with another seed, which has separate replies in the store."""
    return change_plan(plan, lambda judge: replace(judge, seed=judge.seed + 7_919 * run))


def make_single_order_plan(plan: JudgingPlan) -> JudgingPlan:
    """Make a plan that shows every pair in one order."""
    return change_plan(plan, lambda judge: replace(judge, both_orders=False))


def swap_responses(item: Item) -> Item:
    """Swap the two responses of an item."""
    return msgspec.structs.replace(
        item,
        id=f"{item.id}+position/swapped",
        response=item.other or "",
        other=item.response,
        cluster=item.cluster or item.id,
    )


_REWORDED = {
    "en": "Read the response once more, and decide on what it says alone. {text}",
    "zh": "请再读一遍回复，只根据其内容判断。{text}",
}


def make_order_plans(plan: JudgingPlan) -> Iterator[tuple[str, str, JudgingPlan]]:
    """Return plans with the questions, and with the options of choices, in three other orders."""
    judge, rubric = get_public_judge(plan.judge), plan.rubric
    if not isinstance(judge, LlmJudge):
        return
    n_questions = len(rubric.questions) if judge.mode == "joint" else 1
    for number, (order,) in enumerate(_draw_orders([n_questions]), start=1):
        shuffled = replace(rubric, questions=tuple(rubric.questions[k] for k in order))
        what = "the questions are asked in another order"
        yield f"order/questions_{number}", what, replan(plan, rubric=shuffled)
    n_options = [len(row.labels) for row in rubric.questions]
    for number, orders in enumerate(_draw_orders(n_options), start=1):
        questions = []
        for row, order in zip(rubric.questions, orders, strict=True):
            labels = list(row.labels.items())
            questions.append(replace(row, labels=dict(labels[k] for k in order)))
        shuffled = replace(rubric, questions=tuple(questions))
        what = "the options of choices stand in another order"
        yield f"order/options_{number}", what, replan(plan, rubric=shuffled)


def _draw_orders(sizes: Sequence[int]) -> list[list[list[int]]]:
    """Draw three other orders of lists of these sizes, or as many as there are."""
    orders = [[list(range(size)) for size in sizes]]
    draws = np.random.default_rng(0)
    while len(orders) < min(4, math.prod(map(math.factorial, sizes))):
        drawn = [draws.permutation(size).tolist() for size in sizes]
        if drawn not in orders:
            orders.append(drawn)
    return orders[1:]


def make_prompt_plans(plan: JudgingPlan) -> Iterator[tuple[str, str, JudgingPlan]]:
    """Return plans with other prompts for the same questions, with names and descriptions."""
    judge, rubric = get_public_judge(plan.judge), plan.rubric
    if not isinstance(judge, LlmJudge):
        return
    other: Mode = "single" if judge.mode == "joint" else "joint"
    if len(rubric.questions) > 1:
        what = "each question has a call of its own"
        what = what if other == "single" else "all questions are asked in one call"
        yield f"prompt/{other}", what, replan(plan, judge=replace(judge, mode=other))
    if any(row.yes_examples or row.no_examples for row in rubric.questions):
        n_shown = judge.shown_examples
        number, word = (1, "with_example") if n_shown == 0 else (0, "without_examples")
        what = "an example of yes and of no is shown" if number else "no examples are shown"
        yield f"prompt/{word}", what, replan(plan, judge=replace(judge, n_examples=number))
    language: Language = "zh" if judge.language == "en" else "en"
    if all(language in row.text for row in rubric.questions):
        what = f"the prompt is in {'Chinese' if language == 'zh' else 'English'}"
        yield f"prompt/{language}", what, replan(plan, judge=replace(judge, language=language))
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
    yield "prompt/reworded", "the questions are reworded", replan(plan, rubric=reworded)


def sample_items(items: Sequence[Item], most: int | None, seed: int) -> tuple[Item, ...]:
    """Draw some of the items, in their order."""
    if most is None or len(items) <= most:
        return tuple(items)
    drawn = np.random.default_rng(seed).choice(len(items), most, replace=False)
    return tuple(items[place] for place in sorted(drawn.tolist()))


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """All items and plans of a study of probes, made before any call.

    Attributes
    ----------
    plan : JudgingPlan
        The unchanged judge.
    items : tuple of Item
        The unchanged items.
    dropped : tuple of Dropped
        Rows that are not items.
    probes : tuple of (Probe, Pairing)
        Changes that fit at least one item.
    neutral : Pairing
        Items with two different neutral lines, to measure the floor of flips.
    prompts : tuple of (str, str, JudgingPlan)
        Other orders and prompts: probe, description, plan.
    single_order : JudgingPlan or None
        The judge that is shown pairs in one order, where that is probed.
    """

    plan: JudgingPlan
    settings: ProbeSettings
    items: tuple[Item, ...]
    dropped: tuple[Dropped, ...] = ()
    probes: tuple[tuple[Probe, Pairing], ...]
    neutral: Pairing
    prompts: tuple[tuple[str, str, JudgingPlan], ...] = ()
    single_order: JudgingPlan | None = None
    notes: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the unchanged items."""
        return tuple(item.id for item in self.items)

    @property
    def versions(self) -> tuple[Item, ...]:
        """All changed versions and controls."""
        pairings = [pairing for _, pairing in self.probes]
        return tuple(item for each in (*pairings, self.neutral) for item in each.versions)

    @property
    def swapped_pairs(self) -> tuple[Item, ...]:
        """The pairs in swapped order."""
        return tuple(swap_responses(item) for item in self.items)

    @property
    def questions(self) -> tuple[str, ...]:
        """Ids of the questions."""
        return tuple(row.id for row in self.plan.rubric.questions)

    @cached_property
    def units(self) -> NDArray[np.intp]:
        """The independent unit of each item, as a number."""
        names = [item.cluster or item.id for item in self.items]
        return np.unique(names, return_inverse=True)[1]

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        """The requests of the study."""
        items = {item.id: item for item in (*self.items, *self.versions)}
        repeats = range(1, self.settings.n_runs)
        requests = [Request(name="items", plan=self.plan, items=tuple(items.values()))]
        requests += [
            Request(name=f"repeat {run}", plan=repeat_plan(self.plan, run), items=self.items)
            for run in repeats
        ]
        if self.single_order is not None:
            both = (*self.items, *self.swapped_pairs)
            requests.append(Request(name="position", plan=self.single_order, items=both))
        requests += [
            Request(name=name, plan=plan, items=self.items) for name, _, plan in self.prompts
        ]
        return tuple(requests)


def lay_out(items: Any, plan: JudgingPlan, settings: ProbeSettings) -> Layout:
    """Make the layout of a study of probes."""
    is_pair = plan.asks_about_pairs
    all_items, dropped = read_items_in_memory(items, plan.reading(settings))
    all_items = [item for item in all_items if not is_pair or item.other is not None]
    items = sample_items(all_items, settings.n_items, settings.seed)
    if len(items) < 2:
        why = f" The first was set aside: {dropped[0].reason}." if dropped else ""
        msg = f"`items` must hold at least two items that can be judged, got {len(items)}.{why}"
        raise NoDataError(msg)
    chosen, families = _choose_probes(settings)
    paired = [(probe, pair_up(probe, items)) for probe in chosen]
    layout = Layout(
        plan=plan,
        settings=settings,
        items=items,
        dropped=dropped,
        probes=tuple((probe, pairing) for probe, pairing in paired if pairing.places),
        neutral=pair_up(neutral_probe(), items),
        prompts=(
            *(make_order_plans(plan) if "order" in families else ()),
            *(make_prompt_plans(plan) if "prompt" in families else ()),
        ),
        single_order=make_single_order_plan(plan) if is_pair and "position" in families else None,
        notes=tuple(
            f"{probe.id}: no item can be changed that way"
            for probe, pairing in paired
            if not pairing.places
        ),
    )
    _check_ids(layout)
    if not (layout.probes or layout.prompts or layout.single_order):
        msg = "`only` and `without` must leave at least one probe, got none"
        why = f": {layout.notes[0]}." if layout.notes else ". Name other families."
        raise InputError(f"{msg}{why}")
    return layout


def _check_ids(layout: Layout) -> None:
    """Refuse items with the ids of versions, such as those of an earlier study."""
    ids = set(layout.ids)
    for version in layout.versions:
        if version.id in ids:
            msg = (
                f"`items` must not have ids of versions of items, got {shorten(version.id)!r}."
                " Probe the originals, or change the items' ids."
            )
            raise InputError(msg)
        ids.add(version.id)


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


# Asking ---------------------------------------------------------------------------------------


class Asker:
    """Judges the requests one after another, within one cost limit per judge."""

    def __init__(
        self,
        replies: StoredReplies,
        progress: Callable[[str, JudgingProgress], None] | None,
    ) -> None:
        self._replies = replies
        self._progress = progress
        self._spent: Counter[str] = Counter()
        self.calls: list[CallSummary] = []
        self.n_judged = 0

    def ask(self, name: str, plan: JudgingPlan, items: Sequence[Item]) -> Verdicts:
        """Judge items; `name` is shown in the progress."""
        judge, progress = plan.judge.name, self._progress
        verdicts = judge_by_plan(
            items,
            _reduce_limits(plan, self._spent[judge]),
            replies=self._replies,
            progress=None if progress is None else partial(progress, name),
        )
        self.n_judged += len(items)
        if verdicts.calls is not None:
            self.calls.append(verdicts.calls)
            self._spent[judge] += verdicts.calls.cost or 0.0  # type: ignore[assignment]  # dollars
        return verdicts


def _reduce_limits(plan: JudgingPlan, spent: float) -> JudgingPlan:
    """Subtract the money spent from the cost limits."""
    if not spent:
        return plan

    def reduce_limit(judge: LlmJudge) -> LlmJudge:
        if judge.max_cost is None:
            return judge
        # a limit must be above 0; the first call then exceeds it
        return replace(judge, max_cost=max(judge.max_cost - spent, 1e-9))

    return change_plan(plan, reduce_limit)
