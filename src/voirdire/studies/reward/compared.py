"""The part of an examination that is about comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.rewards.certification import certified, paying_propositions
from voirdire.rewards.comparisons.data import drop_unknown_labels
from voirdire.studies.reward.comparison_notes import (
    about_comparisons,
    about_drives,
    about_errors,
    about_held_out,
    about_judge,
    about_scales,
    about_without_best,
)
from voirdire.studies.reward.degenerate import about_degenerate, check_degenerate
from voirdire.studies.reward.drives import feature_drives
from voirdire.studies.reward.error_rates import error_rates
from voirdire.studies.reward.examined import Examined, examined_behaviors, orders_for
from voirdire.studies.reward.examined_data import (
    examined_data,
    items_to_judge,
    with_class_labels,
)
from voirdire.studies.reward.given_responses import judge_responses
from voirdire.studies.reward.histograms import label_histograms
from voirdire.studies.reward.near_ideal import near_ideal
from voirdire.studies.reward.notes import note
from voirdire.studies.reward.rated_items import rate_items
from voirdire.studies.reward.refusals import refusal_errors
from voirdire.studies.reward.request import Part
from voirdire.studies.reward.resampling import PromptResamples
from voirdire.studies.reward.reward_facts import held_out
from voirdire.studies.reward.router import check_router, routed_behaviors
from voirdire.studies.reward.scales import behavior_scales
from voirdire.studies.reward.use_notes import about_router

if TYPE_CHECKING:
    from voirdire.records import Verdicts
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.studies.reward.request import ExaminationRequest
    from voirdire.studies.reward.result import RewardNote, RouterCheck

__all__ = ["examine_comparisons"]


def examine_comparisons(comparisons: Any, request: ExaminationRequest, *, verdicts: Any) -> Part:
    """Examine a reward on comparisons.

    Parameters
    ----------
    comparisons : object
        What `comparisons_of` takes.
    request : ExaminationRequest
        What was asked for.
    verdicts : object or None
        Stored verdicts; None judges now.

    Returns
    -------
    Part
        All figures but those of the policy and the benchmark.

    Raises
    ------
    InputError
        If comparisons or verdicts cannot be read, or contradict each other.
    """
    reward = request.reward
    read = examined_data(comparisons, reward, behavior=request.behavior)
    judged = judge_responses(
        items_to_judge(read.data),
        reward,
        verdicts=verdicts,
        judge=request.judge,
        store=request.store,
        judging=request.judging,
    ).judged
    given = read.data
    read = with_class_labels(read, judged, reward=reward)
    orders = orders_for(reward, read.data, orders=request.orders)
    data = drop_unknown_labels(read.data, orders)
    by_people = read.data is given
    examined = _examined(data, judged, request, orders, is_labelled_by_people=by_people)
    resamples = PromptResamples(examined.rated.n_prompts, **request.resampling)
    figures, notes = _figures(examined, judged, resamples, n_bins=request.n_bins)
    seen = held_out(reward, data)
    if request.n_degenerate:
        degenerate = check_degenerate(
            examined, request, judged=judged, is_stored=verdicts is not None
        )
        figures["degenerate"] = degenerate or ()
        notes += about_degenerate(degenerate)
    rated = examined.rated.is_rated
    return Part(
        figures={
            "n_items": int(rated.sum()),
            "n_prompts": int(np.unique(examined.rated.prompts[rated]).size),
            "n_comparisons": examined.n_comparisons,
            "is_held_out": seen.is_held_out,
            **figures,
        },
        notes=(*read.notes, *about_held_out(seen), *about_judge(reward, judged), *notes),
        dropped=(*data.dropped, *examined.rated.dropped),
        sources={
            "comparisons": data.source,
            "data_hash": data.data_hash,
            "judge": judged.judge,
            "orders": {row.behavior: str(row.order) for row in examined.behaviors},
        },
    )


def _examined(
    data: ComparisonData,
    judged: Verdicts,
    request: ExaminationRequest,
    orders: Any,
    *,
    is_labelled_by_people: bool,
) -> Examined:
    rated = rate_items(
        data.items,
        request.reward,
        judged=judged,
        prompts=data.prompts,
        behaviors=data.behaviors,
        base_rewards=data.base_rewards,
        source=data.source,
    )
    return Examined(
        reward=request.reward,
        rated=rated,
        labels=np.array(data.labels, dtype=object),
        is_labelled_by_people=is_labelled_by_people,
        behaviors=examined_behaviors(data, rated, orders=orders),
    )


def _figures(
    examined: Examined, judged: Verdicts, resamples: PromptResamples, *, n_bins: int
) -> tuple[dict[str, Any], list[RewardNote]]:
    rates = error_rates(examined, resamples)
    drawn = label_histograms(examined, n_bins=n_bins)
    refusals = refusal_errors(examined, resamples)
    drives = feature_drives(examined)
    scales = behavior_scales(examined)
    router = _router(examined, judged, resamples)
    figures = {
        "error_rates": rates,
        "histograms": drawn.histograms,
        "near_ideal": near_ideal(examined, resamples),
        "refusals": refusals.errors,
        "drives": drives,
        "scales": scales,
        "router": router,
    }
    notes = [
        *about_comparisons(examined),
        *about_without_best(examined, drawn.without_best),
        *about_errors(rates),
        *about_drives(drives, _uncertified(examined)),
        *about_scales(scales),
        *about_router(router),
    ]
    if refusals.expression is None and not refusals.errors:
        notes.append(
            note(
                "no_refusals",
                "The rubric has neither `safe_refusal` nor `inability_to_comply`, and no label "
                "names a refusal: refusals are not counted.",
            )
        )
    return figures, notes


def _router(examined: Examined, judged: Verdicts, resamples: PromptResamples) -> RouterCheck | None:
    told = dict(zip(judged.items, judged.behaviors, strict=True))
    rated = examined.rated
    routing = routed_behaviors(rated.items, rated.behaviors, judged_behaviors=told)
    return None if routing is None else check_router(examined, routing, resamples=resamples)


def _uncertified(examined: Examined) -> list[str]:
    statuses = certified(examined.reward)
    return [name for name in paying_propositions(examined.reward) if not statuses[name].is_valid]
