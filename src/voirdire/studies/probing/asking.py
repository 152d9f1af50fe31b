"""Chooses the versions of items and the prompts that a judge is asked with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire._validation import shorten
from voirdire.documents import did_you_mean
from voirdire.errors import InputError, NoDataError
from voirdire.judging import CascadeJudge, JuryJudge, LlmJudge
from voirdire.judging.answering import judge_by_plan
from voirdire.judging.given_items import read_items_in_memory
from voirdire.judging.plan import asks_a_model, is_cascade, is_jury, plan_judging
from voirdire.probes import degradations, neutral_probe, probes
from voirdire.stats.cautions import list_names

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire._types import Language, Mode
    from voirdire.judging import CallSummary, JudgingProgress
    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.judging.plan import JudgingPlan
    from voirdire.judging.settings import StoredReplies
    from voirdire.probes import Degradation, Probe
    from voirdire.records import Dropped, Item, Verdicts
    from voirdire.rubrics import Rubric
    from voirdire.studies.probing.settings import ProbeSettings

__all__ = [
    "Asker",
    "Layout",
    "Pairing",
    "Request",
    "change_models",
    "get_public_judge",
    "lay_out",
    "replan",
]

OTHER_FAMILIES = ("position", "language", "prompt", "degradation")
"""Families of probes that do not change single items."""

ONE_BY_ONE = "attack"
"""A family that is run only where it is named: steering attacks by kind."""


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
    """

    places: tuple[int, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


NOTHING = Pairing()


def pair_up(
    probe: Probe | Degradation, items: Sequence[Item], *, pairs: bool = False
) -> tuple[Pairing, tuple[Item, ...]]:
    """Make both versions of every item that a probe can change.

    With `pairs` the changed response is B of a pair with the original.
    """
    control = getattr(probe, "control", None)
    places: list[int] = []
    before: list[str] = []
    after: list[str] = []
    made: list[Item] = []
    for place, item in enumerate(items):
        changed = probe.change(item)
        plain = item if control is None else control(item)
        if changed is None or plain is None:
            continue
        if pairs:
            changed = msgspec.structs.replace(
                changed, response=item.response, other=changed.response
            )
        places.append(place)
        before.append(plain.id)
        after.append(changed.id)
        made += [changed] if plain is item else [plain, changed]
    return Pairing(places=tuple(places), before=tuple(before), after=tuple(after)), tuple(made)


# Other plans for the same items ---------------------------------------------------------------


def get_public_judge(judge: Any) -> JudgeLike:
    """Return the public judge object of a plan's judge."""
    if is_cascade(judge):
        return judge.cascade
    if is_jury(judge):
        # its judges may be names, which are loaded now
        judges: tuple[Any, ...] = tuple(get_public_judge(row.judge) for row in judge.members)
        return replace(judge.jury, judges=judges)
    found: JudgeLike = judge.judge if asks_a_model(judge) else judge
    return found


def change_models(judge: JudgeLike, change: Callable[[LlmJudge], LlmJudge]) -> JudgeLike:
    """Change every language model in a judge; keep other judges."""
    if isinstance(judge, LlmJudge):
        return change(judge)
    if isinstance(judge, CascadeJudge):
        return replace(judge, then=change(judge.then))
    if isinstance(judge, JuryJudge):
        judges = [change_models(row, change) for row in judge.judges]
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


def repeat_plan(plan: JudgingPlan, run: int) -> JudgingPlan:
    """Make the same plan with another seed, which has separate replies in the store."""
    asked = get_public_judge(plan.judge)
    again = change_models(asked, lambda judge: replace(judge, seed=judge.seed + 7_919 * run))
    return plan if again is asked else replan(plan, judge=again)


def single_order_plan(plan: JudgingPlan) -> JudgingPlan:
    """Make a plan that shows every pair in one order."""
    asked = get_public_judge(plan.judge)
    return replan(plan, judge=change_models(asked, lambda judge: replace(judge, both_orders=False)))


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


def prompt_plans(plan: JudgingPlan) -> Iterator[tuple[str, str, JudgingPlan]]:
    """Return plans with other prompts for the same questions, with names and descriptions."""
    judge = get_public_judge(plan.judge)
    if not isinstance(judge, LlmJudge):
        return
    rubric = plan.rubric
    if judge.mode == "joint" and len(rubric.questions) > 1:
        reversed_rubric = replace(rubric, questions=tuple(reversed(rubric.questions)))
        yield (
            "reversed",
            "the questions are asked in reversed order",
            replan(plan, rubric=reversed_rubric),
        )
    other: Mode = "single" if judge.mode == "joint" else "joint"
    one_question = getattr(judge.chat_model, "asks_one_question", False)
    if len(rubric.questions) > 1 and not (other == "joint" and one_question):
        what = "each question has a call of its own"
        what = what if other == "single" else "all questions are asked in one call"
        yield other, what, replan(plan, judge=replace(judge, mode=other))
    if any(row.yes_examples or row.no_examples for row in rubric.questions):
        shown = judge.shown_examples
        number, word = (1, "with_example") if shown == 0 else (0, "without_examples")
        what = "an example of yes and of no is shown" if number else "no examples are shown"
        yield word, what, replan(plan, judge=replace(judge, n_examples=number))
    language: Language = "zh" if judge.language == "en" else "en"
    if all(language in row.text for row in rubric.questions):
        what = f"the prompt is in {'Chinese' if language == 'zh' else 'English'}"
        yield language, what, replan(plan, judge=replace(judge, language=language))
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
    yield "reworded", "the questions are reworded", replan(plan, rubric=reworded)


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
    probes, worse : tuple of (Probe or Degradation, Pairing)
        Changes that fit at least one item.
    versions : tuple of Item
        All changed versions and controls, and translations.
    translated : Pairing
        Items with their translations.
    neutral : Pairing
        Items with two different neutral lines, to measure the floor of flips.
    prompts : tuple of (str, str, JudgingPlan)
        Other prompts: name, description, plan.
    single_order : JudgingPlan or None
        The judge that is shown pairs in one order, where that is probed.
    """

    plan: JudgingPlan
    settings: ProbeSettings
    items: tuple[Item, ...]
    dropped: tuple[Dropped, ...] = ()
    probes: tuple[tuple[Probe, Pairing], ...] = ()
    worse: tuple[tuple[Degradation, Pairing], ...] = ()
    versions: tuple[Item, ...] = ()
    translated: Pairing = NOTHING
    neutral: Pairing = NOTHING
    prompts: tuple[tuple[str, str, JudgingPlan], ...] = ()
    single_order: JudgingPlan | None = None
    notes: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the unchanged items."""
        return tuple(item.id for item in self.items)

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
        made = {item.id: item for item in (*self.items, *self.versions)}
        repeats = range(1, self.settings.n_runs)
        found = [Request(name="items", plan=self.plan, items=tuple(made.values()))]
        found += [
            Request(name=f"repeat {run}", plan=repeat_plan(self.plan, run), items=self.items)
            for run in repeats
        ]
        if self.single_order is not None:
            both = (*self.items, *self.swapped_pairs)
            found.append(Request(name="position", plan=self.single_order, items=both))
        found += [
            Request(name=f"prompt/{name}", plan=plan, items=self.items)
            for name, _, plan in self.prompts
        ]
        return tuple(found)

    def extend(
        self, more: Sequence[Probe], prompts: Sequence[tuple[str, str, JudgingPlan]]
    ) -> Layout:
        """Return a layout with more probes and prompts."""
        made = [(row, *pair_up(row, self.items)) for row in more]
        versions = (item for _, _, items in made for item in items)
        return replace(
            self,
            probes=(*self.probes, *((row, pair) for row, pair, _ in made if pair.places)),
            versions=(*self.versions, *versions),
            prompts=(*self.prompts, *prompts),
        )

    def only(self, names: Container[str], plan: JudgingPlan) -> Layout:
        """Return the layout for some probes and another judge."""
        probes = tuple(row for row in self.probes if row[0].id in names)
        pairs = (self.neutral, *(pair for _, pair in probes))
        kept = {name for pair in pairs for name in (*pair.before, *pair.after)}
        translated = self.translated if "language/translated" in names else NOTHING
        kept |= set(translated.after)
        return replace(
            self,
            plan=plan,
            probes=probes,
            worse=(),
            versions=tuple(item for item in self.versions if item.id in kept),
            translated=translated,
            prompts=(),
            single_order=single_order_plan(plan) if "position/first" in names else None,
        )


def lay_out(
    items: Any,
    plan: JudgingPlan,
    settings: ProbeSettings,
    *,
    own_probes: Sequence[Probe] = (),
) -> Layout:
    """Make the layout of a study of probes."""
    is_pair = plan.asks_about_pairs
    found, dropped = read_items_in_memory(items, plan.reading(settings))
    found = [item for item in found if not is_pair or item.other is not None]
    originals, translations = _split_translations(found, settings.translation_of)
    drawn = sample_items(originals, settings.n_items, settings.seed)
    if len(drawn) < 2:
        why = f" The first was set aside: {dropped[0].reason}." if dropped else ""
        msg = f"`items` must hold at least two items that can be judged, got {len(drawn)}.{why}"
        raise NoDataError(msg)
    chosen, families = _choose_probes(settings, own_probes)
    made = [(row, *pair_up(row, drawn)) for row in chosen]
    worse = [(row, *pair_up(row, drawn, pairs=is_pair)) for row in degradations()]
    worse = worse if "degradation" in families else []
    pairs = [
        (place, item.id, translations[item.id])
        for place, item in enumerate(drawn)
        if item.id in translations and "language" in families
    ]
    places, before, other = zip(*pairs, strict=True) if pairs else ((), (), ())
    neutral, plain = pair_up(neutral_probe(), drawn)
    unfit = [row.id for row, pairing, _ in made if not pairing.places]
    versions = [*(versions for _, _, versions in (*made, *worse)), other, plain]
    _check_ids(drawn, [item for each in versions for item in each])
    laid_out = Layout(
        plan=plan,
        settings=settings,
        items=drawn,
        dropped=dropped,
        probes=tuple((row, pairing) for row, pairing, _ in made if pairing.places),
        worse=tuple((row, pairing) for row, pairing, _ in worse if pairing.places),
        versions=tuple(item for each in versions for item in each),
        neutral=neutral,
        translated=Pairing(places=places, before=before, after=tuple(x.id for x in other)),
        prompts=tuple(prompt_plans(plan)) if "prompt" in families else (),
        single_order=single_order_plan(plan) if is_pair and "position" in families else None,
        notes=tuple(f"{name}: no item can be changed that way" for name in unfit),
    )
    if not (
        laid_out.probes
        or laid_out.worse
        or laid_out.translated.places
        or laid_out.prompts
        or laid_out.single_order
    ):
        msg = "`only` and `without` must leave at least one probe, got none"
        why = f": {laid_out.notes[0]}." if laid_out.notes else ". Name other families."
        raise InputError(f"{msg}{why}")
    return laid_out


def _check_ids(items: Sequence[Item], versions: Sequence[Item]) -> None:
    """Refuse items with the ids of versions, such as those of an earlier study."""
    seen = {item.id for item in items}
    for version in versions:
        if version.id in seen:
            msg = (
                f"`items` must not have ids of versions of items, got {shorten(version.id)!r}."
                " Probe the originals, or change the items' ids."
            )
            raise InputError(msg)
        seen.add(version.id)


def _choose_probes(
    settings: ProbeSettings, own_probes: Sequence[Probe]
) -> tuple[list[Probe], frozenset[str]]:
    """Return the chosen probes, and the chosen families without changes of single items."""
    known = (*probes(), *own_probes)
    words = {*OTHER_FAMILIES, *(word for row in known for word in (row.id, row.family))}
    for word in (*settings.only, *settings.without):
        if word not in words:
            families = list_names(
                sorted({*OTHER_FAMILIES, *(row.family for row in known)}), most=30
            )
            msg = (
                f"`only` and `without` must name families or probes, got {shorten(word)!r}."
                f"{did_you_mean(word, sorted(words))} Families are {families}."
            )
            raise InputError(msg)

    def is_wanted(*names: str) -> bool:
        named = not {*settings.only}.isdisjoint(names)
        named = named or (not settings.only and ONE_BY_ONE not in names)
        return named and {*settings.without}.isdisjoint(names)

    chosen = [row for row in known if row in own_probes or is_wanted(row.id, row.family)]
    return chosen, frozenset(word for word in OTHER_FAMILIES if is_wanted(word))


def _split_translations(
    items: Sequence[Item], column: str | None
) -> tuple[list[Item], dict[str, Item]]:
    """Return translated items by the id of their original, and the other items."""
    if column is None:
        return list(items), {}
    named = {item.id: item.metadata.get(column) for item in items}
    found = {str(named[item.id]): item for item in items if named[item.id] not in (None, "")}
    if not found:
        msg = f"`translation_of` must be a column of the items, got {shorten(column)!r} in none."
        raise InputError(msg)
    originals = [item for item in items if named[item.id] in (None, "")]
    if not {item.id for item in originals} & found.keys():
        msg = (
            f"`translation_of` must name ids of other items, got {shorten(next(iter(found)))!r}, "
            "which no item has."
        )
        raise InputError(msg)
    return originals, found


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
        found = judge_by_plan(
            items,
            _reduce_limits(plan, self._spent[judge]),
            replies=self._replies,
            progress=None if progress is None else partial(progress, name),
        )
        self.n_judged += len(items)
        if found.calls is not None:
            self.calls.append(found.calls)
            self._spent[judge] += found.calls.cost or 0.0  # type: ignore[assignment]  # dollars
        return found


def _reduce_limits(plan: JudgingPlan, spent: float) -> JudgingPlan:
    """Subtract the money spent from the cost limits."""
    if not spent:
        return plan

    def reduce_limit(judge: LlmJudge) -> LlmJudge:
        most = judge.limits.max_cost
        if most is None:
            return judge
        left = max(most - spent, 1e-9)  # a limit must be above 0; the first call then exceeds it
        return replace(judge, limits=replace(judge.limits, max_cost=left))

    return replan(plan, judge=change_models(get_public_judge(plan.judge), reduce_limit))
