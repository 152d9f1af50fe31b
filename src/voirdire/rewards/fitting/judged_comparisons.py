"""Comparisons with the verdicts on their completions: everything that a fit starts from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NoReturn

import msgspec
import numpy as np

from voirdire._messages import shorten
from voirdire.documents import did_you_mean
from voirdire.errors import CyclicComparisonsWarning, InputError, NoDataError
from voirdire.records import Dropped
from voirdire.records.verdicts import NO_VERDICT
from voirdire.rewards.comparisons.data import drop_unknown_labels, hash_prompt, labelled_by_class
from voirdire.rewards.comparisons.order import LabelOrder, default_order
from voirdire.rewards.comparisons.pairs import count_cyclic, pairs_of
from voirdire.rewards.features import compute_features, compute_vetoes
from voirdire.rewards.fitting.settings import EVERY_OTHER
from voirdire.rewards.fitting.weight_problem import WeightProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from voirdire.judging import JudgingProgress
    from voirdire.records import Verdicts
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.comparisons.pairs import PairSet
    from voirdire.rewards.fitting.settings import FeatureChoice, FitSettings
    from voirdire.rewards.settings import ComparisonSettings
    from voirdire.rewards.verdict_source import VerdictSource
    from voirdire.rubrics import Rubric

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
    items, drops = [], []
    for item in data.items:
        behavior = only if item.behavior is None else item.behavior
        if behavior not in known:
            names = ", ".join(map(repr, known))
            reason = f"it has no `behavior`; rubric {rubric.name!r} knows {names}"
            value = None if behavior is None else shorten(behavior)
            if behavior is not None:
                reason = (
                    f"its behavior is none of rubric {rubric.name!r}, got {value!r}."
                    f"{did_you_mean(behavior, known)}".removesuffix(".")
                )
            drop = Dropped(reason=reason, source=data.source, item=item.id, value=value)
            drops.append(drop)
            behavior = None
        is_same = behavior == item.behavior
        items.append(item if is_same else msgspec.structs.replace(item, behavior=behavior))
    return replace(data, items=tuple(items), dropped=(*data.dropped, *drops))


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


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedComparisons:
    """Comparisons, with the verdicts on their completions.

    `data` holds the completions with the labels that count; `orders`, `pairs` and `n_cyclic_pairs`
    (comparisons that go in cycles) are by behavior.
    """

    data: ComparisonData = field(repr=False)
    orders: Mapping[str, LabelOrder]
    pairs: Mapping[str, PairSet] = field(repr=False)
    verdicts: Verdicts
    n_cyclic_pairs: Mapping[str, int]
    notes: tuple[str, ...]


def judge_comparisons(
    data: ComparisonData,
    source: VerdictSource,
    *,
    reading: ComparisonSettings,
    settings: FitSettings,
    progress: Callable[[int, int], None] | None,
) -> JudgedComparisons:
    """List the comparisons, and judge the completions in them and no others.

    Cycles are found before anything is judged. With `from_classes`, pairs that the file declares
    are left out.
    """
    rubric, from_classes = source.rubric, reading.from_classes
    data, notes = assign_behaviors(data, rubric), []
    if from_classes and data.better.size:
        n, none = data.better.size, np.zeros(0, dtype=np.int64)
        data = replace(data, better=none, worse=none, margins=np.zeros(0))
        notes.append(f"labels are the classes of the verdicts: {n:,} declared pairs are left out")
    orders = settle_orders(
        data,
        rubric,
        settings.orders,
        behaviors=[row.id for row in rubric.behaviors],
        from_classes=from_classes,
    )
    _check_margins(settings, orders)
    pairs: Mapping[str, PairSet] = {}
    if from_classes:  # the verdicts decide which one is better: others of its prompt are needed
        has_behavior = np.array([behavior is not None for behavior in data.behaviors], dtype=bool)
        counts = np.bincount(data.prompts[has_behavior], minlength=data.prompts.max() + 1)
        places = np.flatnonzero(has_behavior & (counts[data.prompts] > 1))
    else:
        data = drop_unknown_labels(data, orders)
        pairs = _list_pairs(data, orders, settings, reading.contradictions)
        if opposed := sum(own.n_contradictory for own in pairs.values()):
            done = {"keep": "are kept", "drop": "are left out"}[reading.contradictions]
            notes.append(f"{opposed:,} comparisons contradict others and {done}")
        ends = [side for row in pairs.values() for side in (row.better, row.worse)]
        places = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *ends]))
    if not places.size:
        refuse_no_comparisons(data, notes=tuple(list_fit_notes(data, rubric, {})))
    _refuse_lacking_worst(data, pairs)
    n_cyclic_pairs = _count_cycles(data, pairs)
    compared = [data.items[place] for place in places.tolist()]
    if n_empty := sum(not item.response.strip() for item in compared):
        note = f"{n_empty:,} of {places.size:,} completions have an empty response; declare "
        notes.append(f"{note}missing=[''] if there is none")

    def tell(state: JudgingProgress) -> None:
        if progress is not None:
            progress(state.n_items, len(compared))

    verdicts = source.collect(compared, replies=reading.replies, progress=tell)
    if from_classes:
        data = labelled_by_class(data, verdicts, rubric=rubric)
        data = replace(data, dropped=(*data.dropped, *_list_unclassified(data, verdicts, places)))
        pairs = _list_pairs(data, orders, settings, reading.contradictions)
    return JudgedComparisons(
        data=data,
        orders=orders,
        pairs=pairs,
        verdicts=verdicts,
        n_cyclic_pairs=n_cyclic_pairs,
        notes=tuple(notes),
    )


def _check_margins(settings: FitSettings, orders: Mapping[str, LabelOrder]) -> None:
    labels = list(dict.fromkeys(label for order in orders.values() for label in order.labels))
    for label in settings.margins:
        if label not in labels:
            msg = (
                f"`margins` must name labels of the orders, got {shorten(label)!r}."
                f"{did_you_mean(label, labels)}"
            )
            raise InputError(msg)


def _list_pairs(
    data: ComparisonData,
    orders: Mapping[str, LabelOrder],
    settings: FitSettings,
    contradictions: Literal["keep", "drop"],
) -> dict[str, PairSet]:
    """List the comparisons of each behavior that has some."""
    found = {
        behavior: pairs_of(
            data,
            behavior=behavior,
            order=order,
            margin=settings.margin,
            margins={x: settings.margins[x] for x in order.labels if x in settings.margins},
            contradictions=contradictions,
        )
        for behavior, order in orders.items()
    }
    return {behavior: pairs for behavior, pairs in found.items() if pairs.n_pairs}


def _count_cycles(data: ComparisonData, pairs: Mapping[str, PairSet]) -> dict[str, int]:
    """Count the comparisons that go in cycles, and warn of them before anything is paid for."""
    if not data.better.size:  # an order of labels has none
        return {}
    n_cyclic_pairs = {behavior: count_cyclic(own) for behavior, own in pairs.items()}
    for behavior, n_cyclic in n_cyclic_pairs.items():
        if n_cyclic:
            msg = (
                f"{data.source}, behavior {shorten(behavior)}: {n_cyclic:,} comparisons go in "
                "cycles, and no weights rank all of a cycle right"
            )
            warnings.warn(msg, CyclicComparisonsWarning, stacklevel=4)
    return n_cyclic_pairs


def _refuse_lacking_worst(data: ComparisonData, pairs: Mapping[str, PairSet]) -> None:
    """Refuse a behavior of which no completion has the worst label of its recipe.

    Completions that a model wrote say what that is: the model may have declined to write any.
    """
    for behavior, own in pairs.items():
        places = np.unique(np.concatenate([own.better, own.worse])).tolist()
        named = (data.items[place].metadata.get(WORST_LABEL) for place in places)
        worst = {str(label) for label in named if label is not None}
        for label in sorted(worst - {data.labels[place] for place in places}):
            msg = (
                f"{data.source}: behavior {behavior!r} must have completions of the label "
                f"{shorten(label)!r}, the worst of its recipe, got none: the reward would not "
                "learn what is worst. Have them written by another model, add your own, or leave "
                f"out the column `{WORST_LABEL}` to fit without them."
            )
            raise InputError(msg)


def _list_unclassified(
    data: ComparisonData, verdicts: Verdicts, places: NDArray[np.int64]
) -> Iterator[Dropped]:
    for place in places.tolist():
        if data.labels[place] is None:
            item = data.items[place].id
            why = verdicts.missing.get(item, NO_VERDICT)
            words = "no class is known to hold" if why == NO_VERDICT else why
            yield Dropped(
                reason=f"it has no completion class: {words}", source=data.source, item=item
            )


def make_problem(
    compared: JudgedComparisons,
    *,
    rubric: Rubric,
    choice: FeatureChoice,
    settings: FitSettings,
    use_base: bool,
) -> WeightProblem:
    """Join comparisons, verdicts and base rewards of one behavior; separate those of test prompts.

    Pairs of which a completion has no verdict, or no base reward where it is used, are left out;
    these completions are listed in `dropped`. Folds and resamples draw prompts by number, so that
    prompts are ordered by their hashes: the order of the rows, on which the data hash does not
    depend, does not change the figures.
    """
    behavior, data, judged = choice.features.behavior, compared.data, compared.verdicts
    pairs = compared.pairs[behavior]
    _, firsts, numbers = np.unique(pairs.prompts, return_index=True, return_inverse=True)
    hashes = [hash_prompt(data.items[place]) for place in pairs.better[firsts].tolist()]
    prompts = np.argsort(np.argsort(np.array(hashes), kind="stable"))[numbers]
    rank = np.argsort(prompts, kind="stable")
    better, worse = pairs.better[rank], pairs.worse[rank]
    used, places = np.unique(np.concatenate([better, worse]), return_inverse=True)
    names = [data.items[place].id for place in used.tolist()]
    probabilities, columns = judged.take(names).probabilities, judged.questions
    features = compute_features(
        choice.features, rubric, probabilities=probabilities, columns=columns
    )
    vetoed = compute_vetoes(
        choice.vetoes,
        probabilities=probabilities,
        propositions=columns,
        threshold=judged.threshold,
    )
    base = data.base_rewards[used] if use_base else np.zeros(used.size)
    is_judged = np.isfinite(np.column_stack([features, vetoed]))
    lacks_verdict: NDArray[np.bool_] = ~np.all(is_judged, axis=1)
    is_usable = np.isfinite(base) & ~lacks_verdict
    dropped = []
    for row in np.flatnonzero(~is_usable).tolist():
        reason = "it has no base reward, and others have one (`--no-base` fits without)"
        if lacks_verdict[row]:
            why = judged.missing.get(names[row], NO_VERDICT)
            words = "there is none" if why == NO_VERDICT else why
            reason = f"its features cannot be computed, since a verdict is missing: {words}"
        dropped.append(Dropped(reason=reason, source=data.source, item=names[row]))
    whole = WeightProblem(
        items=used,
        features=features,
        base=base,
        is_vetoed=vetoed == 1,
        better=places[: pairs.n_pairs],
        worse=places[pairs.n_pairs :],
        prompts=prompts[rank],
        margins=pairs.margins[rank],
        choice=choice,
        settings=settings,
        dropped=tuple(dropped),
        n_cyclic_pairs=compared.n_cyclic_pairs.get(behavior, 0),
    )
    whole = whole.select_pairs(is_usable[whole.better] & is_usable[whole.worse])
    splits = [data.splits[place] == "test" for place in whole.items.tolist()]
    in_test = np.array(splits, dtype=bool)[whole.better]
    if not in_test.any():
        return whole
    return replace(whole.select_pairs(~in_test), test=whole.select_pairs(in_test))


def list_fit_notes(
    data: ComparisonData,
    rubric: Rubric,
    parts: Mapping[str, WeightProblem],
) -> Iterator[str]:
    """Note which behaviors get no weights, and why."""
    for row in rubric.behaviors:
        part = parts.get(row.id)
        if part is not None and part.n_pairs:
            continue
        places = [place for place, own in enumerate(data.behaviors) if own == row.id]
        labels = {data.labels[place] for place in places} - {None}
        why = "no prompt has two completions of which one is better"
        if part is not None and part.test is not None and part.test.n_pairs:
            why = "all of its comparisons are marked test"
        elif part is not None:
            why = "none of its comparisons has all verdicts and base rewards"
        elif not places:
            why = "no completion is of it"
        elif not labels:
            why = "none of its completions has a label or is in a pair"
        elif len(labels) == 1:
            why = f"all of its completions have the label {shorten(next(iter(labels)))!r}"
        yield f"behavior {row.id} gets no weights: {why}"


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
