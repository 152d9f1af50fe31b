"""Comparisons with rewards on both sides, and the part of an examination that is about them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import InputError, NoDataError
from voirdire.rewards.certification import certified, list_paying_propositions
from voirdire.rewards.comparisons.data import (
    drop_unknown_labels,
    labelled_by_class,
    select_completions,
)
from voirdire.rewards.comparisons.pairs import pairs_of
from voirdire.rewards.comparisons.reading import read_comparisons
from voirdire.rewards.fitting.judged_comparisons import assign_behaviors, settle_orders
from voirdire.stats.results import make_caution
from voirdire.studies.reward.drives import describe_drives
from voirdire.studies.reward.nonsense import describe_guards, search_nonsense
from voirdire.studies.reward.notes import note_drives, note_errors, note_nonsense
from voirdire.studies.reward.ranking import PromptResamples, compute_error_rates, list_errors
from voirdire.studies.reward.refusals import count_refusal_errors, find_refusal_expression
from voirdire.studies.reward.responses import (
    BehaviorComparisons,
    Part,
    RatedComparisons,
    find_seen_prompts,
    judge_responses,
    rate_items,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from voirdire.records import Verdicts
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.comparisons.order import LabelOrder
    from voirdire.stats import Caution
    from voirdire.studies.reward.responses import ExaminationRequest


FEW_PROMPTS = 30
"""Below so many prompts an interval from resampling them is too narrow."""


def examine_comparisons(source: Any, request: ExaminationRequest, verdicts: Any) -> Part:
    """Examine a reward on comparisons: all figures but those of the benchmark.

    Where some completions are of the split ``"test"``, only those count. Where nothing says which
    are better, the classes of the verdicts do.
    """
    reward, from_classes = request.reward, request.settings.from_classes
    if reward.criteria is not None:
        if from_classes:
            msg = "`from_classes` must be left out for a reward by criteria, which have no classes."
            raise InputError(msg)
        from_classes = False
    read = read_comparisons(
        source,
        layout=request.settings,
        judged=reward.judge.judged,
        criteria=reward.rubric.of_item,
    )
    read = assign_behaviors(_settle_labels(read, from_classes=from_classes), reward.behavior_rubric)
    is_test = np.array([split == "test" for split in read.splits], dtype=bool)
    notes = []
    if is_test.any() and not is_test.all():
        notes.append(make_caution("train_left_out", n=int((~is_test).sum())))
        read = select_completions(read, is_test)
    judged = judge_responses(read.items, request, verdicts)
    is_labelled = _says_what_is_better(read)
    if not is_labelled:
        read = labelled_by_class(read, judged, rubric=reward.rubric)
        notes.append(make_caution("labels_from_classes"))
    asked_orders = request.settings.orders
    fit_orders = {} if "*" in asked_orders else reward.settings.get("orders") or {}
    orders = settle_orders(
        read, reward.behavior_rubric, {**fit_orders, **asked_orders}, behaviors=reward.behaviors
    )
    data = drop_unknown_labels(read, orders)
    comparisons = _rate_completions(
        data, judged, request, orders, is_labelled_by_people=is_labelled
    )
    resamples = PromptResamples(comparisons.rated.n_prompts, request.settings)
    # an item of each prompt with comparisons; of every prompt where there are none
    prompts, firsts = np.unique(data.prompts, return_index=True)
    compared = np.concatenate([prompts[:0], *(row.prompts for row in comparisons.behaviors)])
    firsts = firsts[np.isin(prompts, compared)] if compared.size else firsts
    n_prompts, n_seen, is_known = find_seen_prompts(
        reward, [data.items[place] for place in firsts.tolist()], data_hash=data.data_hash
    )
    refusals, columns = count_refusal_errors(comparisons, resamples)
    figures: dict[str, Any] = {
        "n_items": int(comparisons.rated.is_rated.sum()),
        "n_prompts": int(np.unique(comparisons.rated.prompts[comparisons.rated.is_rated]).size),
        "n_comparisons": sum(row.better.size for row in comparisons.behaviors),
        "is_held_out": is_known and not n_seen,
        "error_rates": compute_error_rates(comparisons, resamples),
        "refusals": refusals,
        "drives": describe_drives(comparisons),
        "guards": describe_guards(comparisons, resamples),
    }
    if not is_known:
        notes.append(make_caution("held_out_unknown"))
    if n_seen:
        notes.append(make_caution("seen_prompts", n_seen=n_seen, n_prompts=n_prompts))
    statuses = certified(reward)
    uncertified = [x for x in list_paying_propositions(reward) if not statuses[x].is_valid]
    notes += [
        *_note_comparisons(comparisons, judged),
        *note_errors(figures["error_rates"]),
        *note_drives(figures["drives"], uncertified),
    ]
    if find_refusal_expression(reward.rubric) is None and not figures["refusals"]:
        notes.append(make_caution("no_refusals"))
    if request.settings.n_nonsense:
        found, searched, more = search_nonsense(
            comparisons, request, judged, is_stored=verdicts is not None
        )
        figures |= found
        columns |= searched
        notes += more
    notes += note_nonsense(figures.get("nonsense", ()), figures["guards"])
    columns["error_rate"] = list_errors(comparisons)
    groups = (item.group or item.id for item in data.items)
    names = dict(zip(data.prompts.tolist(), groups, strict=True))
    return Part(
        figures=figures,
        columns={
            name: ([names[number] for number in numbers.tolist()], values)
            for name, (numbers, values) in columns.items()
        },
        notes=notes,
        dropped=(*data.dropped, *comparisons.rated.dropped),
        settings={
            "comparisons": data.source,
            "data_hash": data.data_hash,
            "judge": judged.judge,
            "orders": {row.behavior: str(row.order) for row in comparisons.behaviors},
        },
    )


def _says_what_is_better(data: ComparisonData) -> bool:
    return bool(data.better.size) or any(label is not None for label in data.labels)


def _settle_labels(data: ComparisonData, *, from_classes: bool | None) -> ComparisonData:
    """Leave labels out for the classes of the verdicts; refuse to take these where nobody asked."""
    if from_classes:
        return replace(data, labels=(None,) * len(data.items))
    if from_classes is None or _says_what_is_better(data):
        return data
    msg = (
        f"{data.source}: must say which completions are better, got no label, no pair and no "
        "ranked list. Name the column with columns={'label': ...}, or take the classes of the "
        "judge's verdicts with `from_classes=True`."
    )
    raise NoDataError(msg)


def _rate_completions(
    data: ComparisonData,
    judged: Verdicts,
    request: ExaminationRequest,
    orders: Mapping[str, LabelOrder],
    *,
    is_labelled_by_people: bool,
) -> RatedComparisons:
    """Rate completions, and keep the comparisons of which both sides have a reward."""
    reward, rated = request.reward, rate_items(data, request, judged)
    is_rated, asked = rated.is_rated, np.array(data.behaviors, dtype=object)
    behaviors = []
    features = rated.scores.features
    for behavior in (row.id for row in reward.behavior_rubric.behaviors if row.id in features):
        values = features[behavior]
        own = np.flatnonzero(asked == behavior)
        pairs = pairs_of(
            data,
            behavior=behavior,
            order=orders[behavior],
            contradictions=request.settings.contradictions,
        )
        kept = is_rated[pairs.better] & is_rated[pairs.worse]
        better, worse = pairs.better[kept], pairs.worse[kept]
        behaviors.append(
            BehaviorComparisons(
                behavior=behavior,
                order=orders[behavior],
                names=reward.feature_set(behavior).names,
                weights=reward.weight_vector(behavior),
                rows=own[is_rated[own]],
                values=values[is_rated[own]],
                better=better,
                worse=worse,
                prompts=pairs.prompts[kept],
                is_best=~np.isin(better, worse),
            )
        )
    return RatedComparisons(
        reward=reward,
        rated=rated,
        labels=np.array(data.labels, dtype=object),
        is_labelled_by_people=is_labelled_by_people,
        has_unused_base=not rated.has_base and bool(np.isfinite(data.base_rewards).any()),
        behaviors=tuple(behaviors),
    )


def _note_comparisons(comparisons: RatedComparisons, judged: Verdicts) -> Iterator[Caution]:
    """Say what is missing in the comparisons, and whose verdicts are not of the reward's judge."""
    reward, rated, expected = comparisons.reward, comparisons.rated, comparisons.reward.judge
    if judged.fingerprint and expected.fingerprint not in ("", judged.fingerprint):
        found = {"judge": judged.judge, "fingerprint": judged.fingerprint}
        words = {"own": expected.name}
        yield make_caution("other_judge", words, **found, expected=expected.fingerprint)
    uncompared = [row.behavior for row in comparisons.behaviors if not row.better.size]
    uncompared += [name for name in reward.behaviors if name not in rated.scores.features]
    if uncompared:
        yield make_caution("no_comparisons", behaviors=tuple(uncompared))
    n_prompts = {row.behavior: len(set(row.prompts.tolist())) for row in comparisons.behaviors}
    n_prompts = {name: n for name, n in n_prompts.items() if 0 < n < FEW_PROMPTS}
    if n_prompts:
        shown = {"prompts": [f"{name} ({n})" for name, n in n_prompts.items()]}
        yield make_caution("few_prompts", shown, prompts=n_prompts, least=FEW_PROMPTS)
    if reward.uses_base and not rated.has_base:
        yield make_caution("base_missing")
    if comparisons.has_unused_base:
        yield make_caution("base_not_in_fit")
    if rated.n_not_behind:
        yield make_caution("behind_refusals_not_judged", n=rated.n_not_behind)
