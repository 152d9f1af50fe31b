"""Comparisons with the verdicts on their completions: everything that a fit starts from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NoReturn

import numpy as np

from voirdire._messages import shorten
from voirdire.documents import did_you_mean
from voirdire.errors import CyclicComparisonsWarning, InputError, NoDataError
from voirdire.records import Dropped
from voirdire.records.verdicts import NO_VERDICT
from voirdire.rewards.comparisons.data import drop_unknown_labels, labelled_by_class
from voirdire.rewards.comparisons.order import LabelOrder, default_order
from voirdire.rewards.comparisons.pairs import count_cyclic, pairs_of
from voirdire.rewards.comparisons.prompts import hash_prompt
from voirdire.rewards.features import compute_features, compute_vetoes
from voirdire.rewards.fitting.settings import EVERY_OTHER
from voirdire.stats.cautions import list_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from voirdire.judging import JudgingProgress
    from voirdire.records import Verdicts
    from voirdire.rewards.comparisons.data import ComparisonData, Completions
    from voirdire.rewards.comparisons.pairs import PairSet
    from voirdire.rewards.fitting.settings import FeatureChoice, FitSettings
    from voirdire.rewards.settings import ComparisonSettings
    from voirdire.rewards.verdict_source import VerdictSource
    from voirdire.rubrics import Rubric

__all__ = [
    "BehaviorData",
    "FitProgress",
    "JudgedComparisons",
    "assign_behaviors",
    "judge_comparisons",
    "list_fit_notes",
    "make_behavior_data",
    "refuse_no_comparisons",
    "settle_orders",
]


@dataclass(frozen=True, kw_only=True)
class FitProgress:
    """How far a fit is.

    Attributes
    ----------
    doing : {"judging", "fitting"}
        What is being done.
    n_done, n_total : int
        Completions that are judged, or problems that are solved: the fits themselves, those of
        cross-validation and those of resamples.
    """

    doing: Literal["judging", "fitting"]
    n_done: int
    n_total: int


_UNLABELLED = "unlabelled"
WORST_LABEL = "worst_label"
"""The column by which completions that a model wrote name the worst label of their recipe."""
_TRUE_OR_FALSE, _DESIRED_FIRST = {"true", "false"}, "true, True > false, False"


def assign_behaviors(data: ComparisonData, rubric: Rubric) -> ComparisonData:
    """Give every completion a behavior of the rubric, or set it aside.

    Where the rubric has one behavior only, completions without a behavior get that one.
    """
    known = [row.id for row in rubric.behaviors]
    only = known[0] if len(known) == 1 else None
    behaviors = [only if name is None else name for name in data.behaviors]
    drops = []
    for place, behavior in enumerate(behaviors):
        if behavior in known:
            continue
        reason = (
            f"it has no `behavior`; rubric {rubric.name!r} knows {list_names(known)}"
            if behavior is None
            else f"its behavior is none of rubric {rubric.name!r}, got {shorten(behavior)!r}."
            f"{did_you_mean(behavior, known)}".removesuffix(".")
        )
        drops.append(
            Dropped(
                reason=reason,
                source=data.source,
                item=data.items[place].id,
                value=None if behavior is None else shorten(behavior),
            )
        )
        behaviors[place] = None
    return replace(
        data,
        items=replace(data.items, behaviors=tuple(behaviors)),
        dropped=(*data.dropped, *drops),
    )


def settle_orders(
    data: ComparisonData,
    rubric: Rubric,
    asked_orders: Mapping[str, str],
    *,
    behaviors: Collection[str],
    from_classes: bool = False,
) -> dict[str, LabelOrder]:
    """Choose the order of the labels of each behavior.

    An `InputError` names an order for what does not exist, and classes that have labels but no
    order.
    """
    known = [row.id for row in rubric.behaviors]
    words = {label.lower() for label in data.labels if label is not None}
    if words and words <= _TRUE_OR_FALSE and not from_classes:  # whether each one is desired
        asked_orders = {EVERY_OTHER: _DESIRED_FIRST, **asked_orders}
    for behavior in asked_orders:
        if behavior not in (*known, EVERY_OTHER):
            msg = (
                f"`orders` must name behaviors of rubric {rubric.name!r} or '*', got "
                f"{shorten(behavior)!r}.{did_you_mean(behavior, known)}"
            )
            raise InputError(msg)
    labelled = {
        name
        for name, label in zip(data.behaviors, data.labels, strict=True)
        if from_classes or label is not None
    }
    orders = {}
    for row in rubric.behaviors:
        if row.id not in behaviors:
            continue
        classes = [one.name for one in row.classes]
        spec = asked_orders.get(row.id, asked_orders.get(EVERY_OTHER))
        if spec is not None:
            orders[row.id] = LabelOrder.of(spec, known=classes if from_classes else None)
            continue
        try:
            orders[row.id] = default_order(rubric, row.id)
        except InputError:
            if row.id in labelled:
                raise
            orders[row.id] = LabelOrder.of(_UNLABELLED)  # pairs are declared, or there are none
    return orders


def list_behavior_pairs(
    data: ComparisonData,
    orders: Mapping[str, LabelOrder],
    settings: FitSettings,
    contradictions: Literal["keep", "drop"],
) -> dict[str, PairSet]:
    """List the comparisons of each behavior that has some.

    An `InputError` names comparisons that are in two splits.
    """
    pairs_by_behavior = {}
    for behavior, order in orders.items():
        pairs = pairs_of(
            data,
            behavior=behavior,
            order=order,
            margin=settings.margin,
            margins={x: settings.margins[x] for x in order.labels if x in settings.margins},
            contradictions=contradictions,
        )
        if pairs.n_pairs:
            _check_splits(data, pairs)
            pairs_by_behavior[behavior] = pairs
    return pairs_by_behavior


def find_compared_places(
    data: ComparisonData, pairs: Mapping[str, PairSet], *, from_classes: bool
) -> NDArray[np.int64]:
    """Find the completions that have to be judged, so that no others are paid for.

    With `from_classes` the verdicts decide which one is better: then all completions are needed
    whose prompt has another one.
    """
    if not from_classes:
        ends = [side for row in pairs.values() for side in (row.better, row.worse)]
        return np.unique(np.concatenate(ends)) if ends else np.zeros(0, dtype=np.int64)
    has_behavior = np.array([behavior is not None for behavior in data.behaviors], dtype=bool)
    counts = np.bincount(data.prompts[has_behavior], minlength=len(data.prompt_names) or 1)
    return np.flatnonzero(has_behavior & (counts[data.prompts] > 1))


def find_test_places(data: ComparisonData, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which completions are marked to be kept out of the fit."""
    if not data.splits:
        return np.zeros(places.size, dtype=bool)
    return np.array([data.splits[place] == "test" for place in places], dtype=bool)


def _check_splits(data: ComparisonData, pairs: PairSet) -> None:
    is_split = find_test_places(data, pairs.better) != find_test_places(data, pairs.worse)
    if is_split.any():
        prompt = data.prompt_names[int(pairs.prompts[is_split][0])]
        msg = (
            f"{data.source}: a prompt must be in one split, got {shorten(prompt)!r} in two. An "
            "error rate on prompts of the fit would be too low. Split by prompt."
        )
        raise InputError(msg)


def _check_margins(settings: FitSettings, orders: Mapping[str, LabelOrder]) -> None:
    labels = list(dict.fromkeys(label for order in orders.values() for label in order.labels))
    for label in settings.margins:
        if label not in labels:
            msg = (
                f"`margins` must name labels of the orders, got {shorten(label)!r}."
                f"{did_you_mean(label, labels)}"
            )
            raise InputError(msg)


@dataclass(frozen=True, kw_only=True, eq=False)
class BehaviorData:
    """The comparisons of one behavior as arrays.

    Attributes
    ----------
    behavior : str
        Its id.
    items : ndarray of int, shape (n_items,)
        Places in the `ComparisonData` of the completions that are compared.
    features : ndarray of float, shape (n_items, n_features)
        Of these completions, all features of the behavior; finite.
    base : ndarray of float, shape (n_items,)
        Their base rewards; 0 where none is used.
    better, worse : ndarray of int, shape (n_pairs,)
        Rows of `features`.
    prompts : ndarray of int, shape (n_pairs,)
        The prompt of each pair, numbered from 0, ascending.
    margins : ndarray of float, shape (n_pairs,)
        How much higher the better one's reward is to be.
    is_vetoed : ndarray of bool, shape (n_items,)
        Which completions lie below all others whatever the weights are.
    dropped : tuple of Dropped
        Completions that were in a pair and could not be used.
    n_cyclic_pairs : int
        Comparisons that go in cycles, of all that were given.
    test : BehaviorData or None
        What is marked to be kept out of the fit, where something is.
    """

    behavior: str
    items: NDArray[np.int64] = field(repr=False)
    features: NDArray[np.float64] = field(repr=False)
    base: NDArray[np.float64] = field(repr=False)
    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)
    prompts: NDArray[np.int64] = field(repr=False)
    margins: NDArray[np.float64] = field(repr=False)
    is_vetoed: NDArray[np.bool_] = field(repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    n_cyclic_pairs: int = 0
    test: BehaviorData | None = field(default=None, repr=False)

    @property
    def n_pairs(self) -> int:
        """How many comparisons."""
        return int(self.better.size)

    @property
    def n_prompts(self) -> int:
        """How many prompts these belong to."""
        return int(self.prompts[-1]) + 1 if self.prompts.size else 0

    @property
    def base_gain(self) -> NDArray[np.float64]:
        """How much higher the base reward of the better one is than that of the worse one."""
        return self.base[self.better] - self.base[self.worse]

    def apply_vetoes(self, gain: NDArray[np.float64]) -> NDArray[np.float64]:
        """Make the gain of a comparison infinite where only one of its sides is vetoed."""
        better, worse = self.is_vetoed[self.better], self.is_vetoed[self.worse]
        return np.where(better == worse, gain, np.where(worse, np.inf, -np.inf))

    def select_pairs(self, kept: NDArray[np.bool_]) -> BehaviorData:
        """Take some of the pairs, with the completions and prompts that are in them."""
        better, worse = self.better[kept], self.worse[kept]
        used, places = np.unique(np.concatenate([better, worse]), return_inverse=True)
        return replace(
            self,
            items=self.items[used],
            features=self.features[used],
            base=self.base[used],
            better=places[: better.size],
            worse=places[better.size :],
            prompts=np.unique(self.prompts[kept], return_inverse=True)[1],
            margins=self.margins[kept],
            is_vetoed=self.is_vetoed[used],
        )


def _join_behavior(
    compared: JudgedComparisons, *, rubric: Rubric, choice: FeatureChoice, use_base: bool
) -> BehaviorData:
    """Join comparisons, verdicts and base rewards of one behavior.

    Pairs of which a completion has no verdict, or no base reward where it is used, are left out;
    these completions are listed in `dropped`.
    """
    behavior, data, judged = choice.features.behavior, compared.data, compared.verdicts
    pairs = compared.pairs[behavior]
    rank, prompts = _order_by_prompt_hash(data, pairs)
    better, worse = pairs.better[rank], pairs.worse[rank]
    used, places = np.unique(np.concatenate([better, worse]), return_inverse=True)
    probabilities = judged.take([data.items.id_at(place) for place in used]).probabilities
    features = compute_features(
        choice.features, rubric, probabilities=probabilities, columns=judged.questions
    )
    vetoed = compute_vetoes(
        choice.vetoes,
        probabilities=probabilities,
        propositions=judged.questions,
        threshold=judged.threshold,
    )
    base = data.base_rewards[used] if use_base else np.zeros(used.size)
    lacks_verdict = ~np.all(np.isfinite(np.column_stack([features, vetoed])), axis=1)
    lacks_base = ~np.isfinite(base)
    whole = BehaviorData(
        behavior=behavior,
        items=used,
        features=features,
        base=base,
        better=places[: pairs.n_pairs],
        worse=places[pairs.n_pairs :],
        prompts=prompts,
        margins=pairs.margins[rank],
        is_vetoed=vetoed == 1,
        dropped=tuple(
            _list_dropped(
                data, judged, places=used, lacks_verdict=lacks_verdict, lacks_base=lacks_base
            )
        ),
        n_cyclic_pairs=compared.n_cyclic_pairs.get(behavior, 0),
    )
    is_usable = ~(lacks_verdict | lacks_base)
    return whole.select_pairs(is_usable[whole.better] & is_usable[whole.worse])


def _order_by_prompt_hash(
    data: ComparisonData, pairs: PairSet
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order pairs by the hashes of their prompts, and number these anew.

    Folds and resamples draw prompts by number, and the order of the rows, on which the data hash
    does not depend, must not change the figures.
    """
    _, firsts, numbers = np.unique(pairs.prompts, return_index=True, return_inverse=True)
    hashes = [hash_prompt(data.items[place]) for place in pairs.better[firsts].tolist()]
    order = sorted(range(len(hashes)), key=hashes.__getitem__)
    renumbered = np.empty(len(order), dtype=np.int64)
    renumbered[order] = np.arange(len(order))
    prompts = renumbered[numbers]
    rank = np.argsort(prompts, kind="stable")
    return rank, prompts[rank]


def _list_dropped(
    data: ComparisonData,
    judged: Verdicts,
    *,
    places: NDArray[np.int64],
    lacks_verdict: NDArray[np.bool_],
    lacks_base: NDArray[np.bool_],
) -> Iterator[Dropped]:
    for row in np.flatnonzero(lacks_verdict | lacks_base):
        item = data.items[places[row]].id
        if lacks_verdict[row]:
            why = judged.missing.get(item, NO_VERDICT)
            words = "there is none" if why == NO_VERDICT else why
            reason = f"its features cannot be computed, since a verdict is missing: {words}"
        else:
            reason = "it has no base reward, and others have one (`--no-base` fits without)"
        yield Dropped(reason=reason, source=data.source, item=item)


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedComparisons:
    """Comparisons, with the verdicts on their completions.

    Attributes
    ----------
    data : ComparisonData
        The completions with the labels that count.
    orders : mapping of str to LabelOrder
        Which labels are better, by behavior.
    pairs : mapping of str to PairSet
        The comparisons, by behavior.
    verdicts : Verdicts
        The verdicts.
    n_cyclic_pairs : mapping of str to int
        Comparisons that go in cycles, by behavior.
    notes : tuple of str
        What the reader should know.
    """

    data: ComparisonData = field(repr=False)
    orders: Mapping[str, LabelOrder]
    pairs: Mapping[str, PairSet] = field(repr=False)
    verdicts: Verdicts
    n_cyclic_pairs: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def judge_comparisons(
    data: ComparisonData,
    source: VerdictSource,
    *,
    reading: ComparisonSettings,
    settings: FitSettings,
    progress: Callable[[FitProgress], None] | None,
) -> JudgedComparisons:
    """List the comparisons, and judge the completions in them and no others.

    Cycles are found before anything is judged. With `from_classes`, pairs that the file declares
    are left out.
    """
    rubric, from_classes = source.rubric, reading.from_classes
    data = assign_behaviors(data, rubric)
    notes: tuple[str, ...] = ()
    if from_classes:
        data, notes = _drop_declared_pairs(data)
    orders = settle_orders(
        data,
        rubric,
        settings.orders,
        behaviors=[row.id for row in rubric.behaviors],
        from_classes=from_classes,
    )
    _check_margins(settings, orders)
    pairs: Mapping[str, PairSet] = {}
    if not from_classes:
        data = drop_unknown_labels(data, orders)
        pairs = list_behavior_pairs(data, orders, settings, reading.contradictions)
        opposed = sum(own.n_contradictory for own in pairs.values())
        if opposed:
            done = {"keep": "are kept", "drop": "are left out"}[reading.contradictions]
            notes = (*notes, f"{opposed:,} comparisons contradict others and {done}")
    places = find_compared_places(data, pairs, from_classes=from_classes)
    if not places.size:
        refuse_no_comparisons(data, notes=tuple(list_fit_notes(data, rubric, {})))
    n_cyclic_pairs: dict[str, int] = {}
    if data.better.size:  # an order of labels has no cycles
        n_cyclic_pairs = {behavior: count_cyclic(own) for behavior, own in pairs.items()}
    for behavior, n_cyclic in n_cyclic_pairs.items():
        if n_cyclic:  # said before anything is paid for
            msg = (
                f"{data.source}, behavior {shorten(behavior)}: {n_cyclic:,} comparisons go in "
                "cycles, and no weights rank all of a cycle right"
            )
            warnings.warn(msg, CyclicComparisonsWarning, stacklevel=3)
    compared = data.items.select(places)
    _refuse_lacking_worst(compared, data, places, from_classes=from_classes)
    if n_empty := sum(not item.response.strip() for item in compared):
        note = f"{n_empty:,} of {places.size:,} completions have an empty response; declare "
        notes = (*notes, f"{note}missing=[''] if there is none")
    verdicts = source.collect(
        compared,
        replies=reading.replies,
        progress=_report_judging(places.size, progress),
    )
    if from_classes:
        data = labelled_by_class(data, verdicts, rubric=rubric)
        data = replace(data, dropped=(*data.dropped, *_list_unclassified(data, verdicts, places)))
        pairs = list_behavior_pairs(data, orders, settings, reading.contradictions)
    return JudgedComparisons(
        data=data,
        orders=orders,
        pairs=pairs,
        verdicts=verdicts,
        n_cyclic_pairs=n_cyclic_pairs,
        notes=notes,
    )


def _refuse_lacking_worst(
    compared: Completions,
    data: ComparisonData,
    places: NDArray[np.int64],
    *,
    from_classes: bool,
) -> None:
    """Refuse a behavior of which no completion has the worst label of its recipe.

    Completions that a model wrote say what that is: the model may have declined to write any.
    """
    worst = {
        (item.behavior, str(name))
        for item in compared
        if not from_classes and (name := item.metadata.get(WORST_LABEL)) is not None
    }
    for behavior, label in sorted(worst - {(data.behaviors[k], data.labels[k]) for k in places}):
        msg = (
            f"{data.source}: behavior {behavior!r} must have completions of the label "
            f"{shorten(label)!r}, the worst of its recipe, got none: the reward would not learn "
            f"what is worst. Have them written by another model, add your own, or leave out the "
            f"column `{WORST_LABEL}` to fit without them."
        )
        raise InputError(msg)


def _report_judging(
    n_total: int, progress: Callable[[FitProgress], None] | None
) -> Callable[[JudgingProgress], None] | None:
    if progress is None:
        return None
    return lambda state: progress(
        FitProgress(doing="judging", n_done=state.n_items, n_total=n_total)
    )


def _drop_declared_pairs(data: ComparisonData) -> tuple[ComparisonData, tuple[str, ...]]:
    if not data.better.size:
        return data, ()
    none = np.zeros(0, dtype=np.int64)
    undeclared = replace(data, better=none, worse=none, margins=np.zeros(0))
    note = (
        f"labels are the classes of the verdicts: {data.better.size:,} declared pairs are left out"
    )
    return undeclared, (note,)


def _list_unclassified(
    data: ComparisonData, verdicts: Verdicts, places: NDArray[np.int64]
) -> Iterator[Dropped]:
    for place in places:
        if data.labels[place] is None:
            item = data.items[place].id
            why = verdicts.missing.get(item, NO_VERDICT)
            words = "no class is known to hold" if why == NO_VERDICT else why
            yield Dropped(
                reason=f"it has no completion class: {words}", source=data.source, item=item
            )


def make_behavior_data(
    compared: JudgedComparisons,
    *,
    rubric: Rubric,
    choices: Mapping[str, FeatureChoice],
    use_base: bool,
) -> dict[str, BehaviorData]:
    """Join comparisons and verdicts of each behavior, and separate those of test prompts."""
    parts = {}
    for behavior in compared.pairs:
        whole = _join_behavior(compared, rubric=rubric, choice=choices[behavior], use_base=use_base)
        in_test = find_test_places(compared.data, whole.items)[whole.better]
        if in_test.any():
            whole = replace(whole.select_pairs(~in_test), test=whole.select_pairs(in_test))
        parts[behavior] = whole
    return parts


def list_fit_notes(
    data: ComparisonData,
    rubric: Rubric,
    parts: Mapping[str, BehaviorData],
) -> Iterator[str]:
    """Note which behaviors get no weights, and why."""
    for row in rubric.behaviors:
        part = parts.get(row.id)
        if part is not None and part.n_pairs:
            continue
        if part is not None:
            why = (
                "all of its comparisons are marked test"
                if part.test is not None and part.test.n_pairs
                else "none of its comparisons has all verdicts and base rewards"
            )
        else:
            why = _explain_no_pairs(data, row.id)
        yield f"behavior {row.id} gets no weights: {why}"


def _explain_no_pairs(data: ComparisonData, behavior: str) -> str:
    places = [place for place, own in enumerate(data.behaviors) if own == behavior]
    if not places:
        return "no completion is of it"
    labels = {data.labels[place] for place in places} - {None}
    if not labels:
        return "none of its completions has a label or is in a pair"
    if len(labels) == 1:
        return f"all of its completions have the label {shorten(next(iter(labels)))!r}"
    return "no prompt has two completions of which one is better"


def refuse_no_comparisons(
    data: ComparisonData, *, dropped: tuple[Dropped, ...] = (), notes: tuple[str, ...] = ()
) -> NoReturn:
    """Refuse data without comparisons, and name the first row that was set aside."""
    first = (*data.dropped, *dropped)[:1]
    why = "".join(
        f" The first of {len(data.dropped) + len(dropped):,} set aside, {row.place()}"
        f"{'' if row.item is None else f', {shorten(row.item)!r}'}: {row.reason}."
        for row in first
    )
    note = f" {notes[0][0].upper()}{notes[0][1:]}." if notes and not first else ""
    msg = (
        f"{data.source}: must hold at least one comparison, got none.{why}{note} A comparison "
        "is of two completions of one prompt; labels, or a pair, say which one is better."
    )
    raise NoDataError(msg)
