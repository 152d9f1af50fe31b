"""Comparisons with rewards on both sides, and the part of an examination that is about them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire._validation import shorten
from voirdire.documents import did_you_mean
from voirdire.errors import InputError, NoDataError
from voirdire.rewards.certification import certified, list_paying_propositions
from voirdire.rewards.comparisons.data import (
    drop_unknown_labels,
    labelled_by_class,
    select_completions,
)
from voirdire.rewards.comparisons.order import LabelOrder, default_order
from voirdire.rewards.comparisons.pairs import pairs_of
from voirdire.rewards.comparisons.reading import comparisons_of
from voirdire.rewards.fitting.judged_comparisons import assign_behaviors
from voirdire.studies.reward.degenerate import check_degenerate, notes_on_degenerate
from voirdire.studies.reward.drives import feature_drives
from voirdire.studies.reward.notes import note, notes_on_drives, notes_on_errors, notes_on_scales
from voirdire.studies.reward.ranking import (
    behavior_scales,
    error_rates,
    label_histograms,
    misranked_pairs,
    near_ideal,
    prompts_without_best,
)
from voirdire.studies.reward.refusals import refusal_errors, refusal_expression
from voirdire.studies.reward.resampling import PromptResamples
from voirdire.studies.reward.responses import Part, find_held_out, judge_responses, rate_items

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Verdicts
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.model import RewardModel
    from voirdire.studies.reward.responses import ExaminationRequest, RatedItems
    from voirdire.studies.reward.result import RewardNote

__all__ = ["BehaviorComparisons", "RatedComparisons", "examine_comparisons"]

FEW_PROMPTS = 30
"""Below so many prompts an interval from resampling them is too narrow."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BehaviorComparisons:
    """Comparisons of one behavior, both sides with a reward.

    Attributes
    ----------
    rows : ndarray of int, shape (n_rows,)
        Places of its items with a reward, ascending.
    better, worse, prompts : ndarray of int, shape (n_pairs,)
        Places of the items of each comparison, and their prompt; sorted by prompt.
    is_best : ndarray of bool, shape (n_pairs,)
        Whether the better side is one of the best of its prompt: worse than nothing.
    """

    behavior: str
    order: LabelOrder
    rows: NDArray[np.int64] = field(repr=False)
    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)
    prompts: NDArray[np.int64] = field(repr=False)
    is_best: NDArray[np.bool_] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class RatedComparisons:
    """Rated completions with their labels and comparisons.

    Attributes
    ----------
    labels : ndarray of object, shape (n_items,)
        None where there is none.
    is_labelled_by_people : bool
        Whether the labels are not the judge's own classes.
    behaviors : tuple of BehaviorComparisons
        Those with weights and completions, in the order of the rubric.
    """

    reward: RewardModel = field(repr=False)
    rated: RatedItems = field(repr=False)
    labels: NDArray[np.object_] = field(repr=False)
    is_labelled_by_people: bool
    behaviors: tuple[BehaviorComparisons, ...]


def examine_comparisons(source: Any, request: ExaminationRequest, verdicts: Any) -> Part:
    """Examine a reward on comparisons: all figures but those of the policy and the benchmark.

    Where some completions are of the split ``"test"``, only those count. Where nothing says which
    are better, the classes of the verdicts do.
    """
    reward = request.reward
    read = comparisons_of(source, layout=request.settings, judged=reward.judge.judged)
    read = assign_behaviors(
        _settle_labels(read, from_classes=request.settings.from_classes), reward.rubric
    )
    is_test = np.array([split == "test" for split in read.splits], dtype=bool)
    notes = []
    if is_test.any() and not is_test.all():
        notes.append(note("train_left_out", n=int((~is_test).sum())))
        read = select_completions(read, is_test)
    items = [
        item if item.behavior == behavior else msgspec.structs.replace(item, behavior=behavior)
        for item, behavior in zip(read.items, read.behaviors, strict=True)
    ]
    judged = judge_responses(items, request, verdicts)
    by_people = _says_what_is_better(read)
    if not by_people:
        read = labelled_by_class(read, judged, rubric=reward.rubric)
        notes.append(note("labels_from_classes"))
    orders = _settle_orders(reward, read, asked=request.settings.orders)
    data = drop_unknown_labels(read, orders)
    comparisons = _rate_completions(data, judged, reward, orders, is_labelled_by_people=by_people)
    resamples = PromptResamples(comparisons.rated.n_prompts, request.settings)
    seen = find_held_out(
        reward, _find_first_of_prompts(data, comparisons), data_hash=data.data_hash
    )
    figures: dict[str, Any] = {
        "n_items": int(comparisons.rated.is_rated.sum()),
        "n_prompts": int(np.unique(comparisons.rated.prompts[comparisons.rated.is_rated]).size),
        "n_comparisons": sum(row.better.size for row in comparisons.behaviors),
        "is_held_out": seen.is_held_out,
        "error_rates": error_rates(comparisons, resamples),
        "histograms": label_histograms(comparisons, n_bins=request.settings.n_bins),
        "near_ideal": near_ideal(comparisons, resamples),
        "misranked": misranked_pairs(comparisons, texts=request.settings.texts),
        "refusals": refusal_errors(comparisons, resamples),
        "drives": feature_drives(comparisons),
        "scales": behavior_scales(comparisons),
    }
    if not seen.is_known:
        notes.append(note("held_out_unknown"))
    notes += [
        *seen.notes("seen_prompts"),
        *_note_judge(reward, judged),
        *_note_comparisons(comparisons),
        *notes_on_errors(figures["error_rates"]),
        *notes_on_drives(figures["drives"], _find_uncertified(reward)),
        *notes_on_scales(figures["scales"]),
    ]
    if refusal_expression(reward.rubric) is None and not figures["refusals"]:
        notes.append(note("no_refusals"))
    if request.settings.n_degenerate:
        checks = check_degenerate(
            comparisons, request, judged=judged, is_stored=verdicts is not None
        )
        notes += notes_on_degenerate(checks, texts=request.settings.texts)
        figures["degenerate"] = tuple(
            check if request.settings.texts else replace(check, examples=())
            for check in checks or ()
        )
    return Part(
        figures=figures,
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


def _settle_orders(
    reward: RewardModel,
    data: ComparisonData,
    *,
    asked: Mapping[str, str | Mapping[str, Sequence[str]]],
) -> dict[str, LabelOrder]:
    """Settle which labels are better than which: as asked, else as in the fit, else as declared."""
    of_fit = reward.settings.get("orders") or {}
    known = [row.id for row in reward.rubric.behaviors]
    for behavior in asked:
        if behavior not in (*known, "*"):
            msg = (
                f"`orders` must name behaviors of rubric {reward.rubric.name!r} or '*', got "
                f"{shorten(behavior)!r}.{did_you_mean(behavior, known)}"
            )
            raise InputError(msg)
    found = {}
    for behavior in reward.behaviors:
        own = of_fit.get(behavior, of_fit.get("*"))
        spec = asked.get(behavior, asked.get("*", own))
        if spec is not None:
            found[behavior] = LabelOrder.of(spec)
            continue
        pairs = zip(data.behaviors, data.labels, strict=True)
        labels = {label for name, label in pairs if name == behavior and label is not None}
        try:
            found[behavior] = default_order(reward.rubric, behavior, labels=labels)
        except InputError:
            if labels:
                raise
            found[behavior] = LabelOrder.of("unlabelled")
    return found


def _rate_completions(
    data: ComparisonData,
    judged: Verdicts,
    reward: RewardModel,
    orders: Mapping[str, LabelOrder],
    *,
    is_labelled_by_people: bool,
) -> RatedComparisons:
    """Rate completions, and keep the comparisons of which both sides have a reward."""
    rated = rate_items(data, reward, judged)
    is_rated = rated.is_rated
    behaviors = []
    for behavior, features in rated.features.items():
        pairs = pairs_of(data, behavior=behavior, order=orders[behavior])
        kept = is_rated[pairs.better] & is_rated[pairs.worse]
        better, worse = pairs.better[kept], pairs.worse[kept]
        behaviors.append(
            BehaviorComparisons(
                behavior=behavior,
                order=orders[behavior],
                rows=features.rows[is_rated[features.rows]],
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
        behaviors=tuple(behaviors),
    )


def _find_first_of_prompts(data: ComparisonData, comparisons: RatedComparisons) -> list[Any]:
    """Give one item of each prompt with comparisons; of every prompt where there are none."""
    prompts, firsts = np.unique(data.prompts, return_index=True)
    compared = np.concatenate([prompts[:0], *(row.prompts for row in comparisons.behaviors)])
    if compared.size:
        firsts = firsts[np.isin(prompts, compared)]
    return [data.items[place] for place in firsts.tolist()]


def _find_uncertified(reward: RewardModel) -> list[str]:
    statuses = certified(reward)
    return [name for name in list_paying_propositions(reward) if not statuses[name].is_valid]


def _note_judge(reward: RewardModel, judged: Verdicts) -> list[RewardNote]:
    """Say where the verdicts are not those of the reward's own judge."""
    own = reward.judge
    if not own.fingerprint or not judged.fingerprint or own.fingerprint == judged.fingerprint:
        return []
    return [
        note(
            "other_judge",
            words={"own": own.name},
            judge=judged.judge,
            fingerprint=judged.fingerprint,
            expected=own.fingerprint,
        )
    ]


def _note_comparisons(comparisons: RatedComparisons) -> list[RewardNote]:
    """Say what is missing in the comparisons."""
    found = []
    reward, rated = comparisons.reward, comparisons.rated
    silent = [row.behavior for row in comparisons.behaviors if not row.better.size]
    silent += [name for name in reward.behaviors if name not in rated.features]
    if silent:
        found.append(note("no_comparisons", behaviors=tuple(silent)))
    few = {row.behavior: len(set(row.prompts.tolist())) for row in comparisons.behaviors}
    few = {name: n for name, n in few.items() if 0 < n < FEW_PROMPTS}
    if few:
        found.append(note("few_prompts", prompts=few, least=FEW_PROMPTS))
    if not any(label is not None for label in comparisons.labels):
        found.append(note("no_labels"))
    if reward.uses_base and not rated.has_base:
        found.append(note("base_missing"))
    if rated.has_base and reward.data_hash and not reward.uses_base:
        found.append(note("base_not_in_fit"))
    if without := set(prompts_without_best(comparisons)):
        first: dict[int, str] = {}  # a prompt is named by its first completion
        for prompt, item in zip(rated.prompts.tolist(), rated.items, strict=True):
            if prompt in without:
                first.setdefault(prompt, shorten(item.group or item.id, width=40))
        found.append(note("without_best", n=len(without), prompts=tuple(first.values())))
    return found
