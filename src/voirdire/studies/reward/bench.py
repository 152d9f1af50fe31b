"""Accuracy on a benchmark of chosen and rejected responses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire.errors import NoDataError
from voirdire.rewards.comparisons.reading import read_comparisons
from voirdire.rewards.settings import ComparisonLayout
from voirdire.stats.results import make_caution
from voirdire.studies.reward.ranking import PromptResamples, compute_mean, find_errors
from voirdire.studies.reward.responses import (
    Part,
    find_seen_prompts,
    judge_responses,
    rate_items,
)
from voirdire.studies.reward.result import BenchSubset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.studies.reward.responses import ExaminationRequest, RatedItems


def check_bench(bench: Any, request: ExaminationRequest, verdicts: Any) -> Part:
    """Compare the rewards of chosen and rejected responses.

    Which weights apply is a matter of the row's behavior: its own, else that of the request, else
    the one that the verdicts name. A pair without one cannot be compared and counts as missing.
    Verdicts are about the items ``<row>:chosen`` and ``<row>:rejected``.
    """
    reward, settings = request.reward, request.settings
    layout = ComparisonLayout(behavior=settings.behavior)
    data = read_comparisons(
        bench, layout=layout, judged=reward.judge.judged, criteria=reward.rubric.of_item
    )
    items, pairs = data.items, np.column_stack([data.better, data.worse])
    if not pairs.size:
        msg = (
            f"`bench` must have rows with `chosen` and `rejected`, got {len(items)} items of "
            f"{data.source} without. Write a prompt and two responses into each row."
        )
        raise NoDataError(msg)
    judged = judge_responses(items, request, verdicts)
    judged_behaviors = dict(zip(judged.items, judged.behaviors, strict=True))
    items = tuple(
        msgspec.structs.replace(item, behavior=item.behavior or judged_behaviors.get(item.id))
        for item in items
    )
    rated = rate_items(replace(data, items=items), request, judged)
    is_complete = rated.is_rated[pairs[:, 0]] & rated.is_rated[pairs[:, 1]]
    resamples = PromptResamples(rated.n_prompts, request.settings)
    subsets = _estimate_subsets(rated, pairs[is_complete], resamples)
    compared = (items[place] for place in pairs[is_complete, 0].tolist())
    n_prompts, n_seen, _ = find_seen_prompts(reward, compared)
    notes = []
    if n_seen:
        notes.append(make_caution("bench_seen_prompts", n_seen=n_seen, n_prompts=n_prompts))
    if reward.uses_base and not rated.has_base:
        notes.append(make_caution("bench_base_missing"))
    if not is_complete.all():  # what the accuracy would be if each missing pair was wrong
        total = next(row for row in subsets if row.subset is None and row.signal == "total")
        n_right = total.accuracy.value * is_complete.sum() if is_complete.any() else 0.0
        n_without = sum(items[x].behavior is None for x in pairs[~is_complete, 0].tolist())
        why = f" ({n_without:,} have no behavior, so that no weights apply)" if n_without else ""
        missing = make_caution(
            "bench_missing",
            {"why": why},
            n_missing=int((~is_complete).sum()),
            n_pairs=int(is_complete.size),
            n_without_behavior=n_without,
            worst_case=float(n_right / is_complete.size),
        )
        notes.append(missing)
    return Part(
        figures={"bench": tuple(subsets)},
        notes=notes,
        dropped=(*data.dropped, *rated.dropped),
        settings={},
    )


def _estimate_subsets(
    rated: RatedItems, pairs: NDArray[np.int64], resamples: PromptResamples
) -> list[BenchSubset]:
    """Compute accuracies of all pairs, the mean over subsets where there are several, and each."""
    chosen, rejected = pairs.T
    subset_of = [rated.items[place].metadata.get("subset") for place in rejected.tolist()]
    subset_of = [None if name is None else str(name) for name in subset_of]
    names = sorted({name for name in subset_of if name is not None})
    rows = [np.ones(len(pairs), dtype=bool)]
    rows += [np.array([x == name for x in subset_of], dtype=bool) for name in names]
    subsets: list[BenchSubset] = []
    for signal, rewards in rated.signals.items():
        errors, is_tie = find_errors(rewards[chosen], rewards[rejected])
        columns = [(rated.prompts[chosen[kept]], 1.0 - errors[kept]) for kept in rows]
        shares = [compute_mean(is_tie[kept]) for kept in rows]
        figures = [*zip([None, *names], resamples.estimate_means(columns), shares, strict=True)]
        if len(names) > 1:
            average = resamples.estimate_average(columns[1:])
            figures.append(("*", average, float(np.mean(shares[1:]))))
        subsets += [
            BenchSubset(subset=name, signal=signal, accuracy=rate, tie_share=share)
            for name, rate, share in figures
        ]
    places = {None: 0, "*": 1}
    return sorted(subsets, key=lambda row: (places.get(row.subset, 2), row.subset or ""))
