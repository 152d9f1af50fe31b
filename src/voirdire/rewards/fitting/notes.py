"""Writes the notes for the reader of a fit: on each behavior, and on the whole fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import NoDataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from voirdire.records import Dropped
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.fitting.behavior_fitting import FittedBehavior
    from voirdire.rewards.fitting.judged_comparisons import BehaviorData
    from voirdire.rewards.fitting.weight_problem import WeightProblem
    from voirdire.rubrics import Rubric

__all__ = [
    "list_behavior_notes",
    "list_fit_notes",
    "note_few_prompts",
    "note_loose_weights",
    "refuse_no_comparisons",
]

FEW_PROMPTS = 20
"""Percentiles over fewer prompts are ends of an interval in name only."""
_FAR_APART = 10.0
_MOST_NAMED = 6


# Of one behavior ----------------------------------------------------------------------------------


def list_behavior_notes(
    problem: WeightProblem,
    *,
    is_separable: bool,
    undetermined: Sequence[str],
    penalty: float,
) -> Iterator[str]:
    """Write notes on the fit of a behavior, the most important first."""
    data = problem.data
    if vetoes := problem.choice.vetoes:
        limit = "no weights make up for"
        if data.base.any():
            limit = "neither weights nor the base rewards of the fit make up for"
        n_against = int((data.apply_vetoes(np.zeros(data.n_pairs)) < 0).sum())
        yield (
            f"veto of {_list_first(vetoes)}: it takes {penalty:.3g} off, which {limit}; "
            f"{int(data.is_vetoed.sum()):,} of {data.items.size:,} completions have it"
            + (f", the better one in {_count(n_against, 'comparison')}" if n_against else "")
        )
    if is_separable:
        yield (
            "there are weights that rank every comparison right: the size of the fitted ones "
            "follows from margin and λ, not from the data"
        )
    if undetermined:
        yield (
            f"no comparison depends on {_list_first(undetermined)}: "
            f"{'its weight is' if len(undetermined) == 1 else 'their weights are'} 0"
        )
    n_prompts = data.n_prompts
    if n_prompts == 1 and problem.settings.n_resamples:
        yield f"1 prompt: no interval is defined; collect comparisons of at least {FEW_PROMPTS}"
    elif n_prompts < FEW_PROMPTS and problem.settings.n_resamples:
        yield (
            f"{_count(n_prompts, 'prompt')}: intervals over so few are too narrow; collect "
            f"comparisons of at least {FEW_PROMPTS}"
        )
    base, margin = float(np.abs(data.base_gain).mean()), float(data.margins.mean())
    if base > _FAR_APART * margin:
        yield (
            f"base rewards differ by {base:.3g} on average, {base / margin:,.0f} times the margin: "
            "give a margin in their scale, or rescale them"
        )


def note_few_prompts(n_prompts: int, *, n_folds: int, l2: float | None) -> str:
    """Note that λ was not chosen by cross-validation, and which λ was taken instead."""
    return (
        f"{_count(n_prompts, 'prompt')}: too few to choose λ by cross-validation in {n_folds} "
        f"folds; it is {l2:g}"
    )


def _list_first(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


# Of the whole fit ---------------------------------------------------------------------------------


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


def note_loose_weights(fitted: Iterable[FittedBehavior]) -> tuple[str, ...]:
    """Note in which behaviors no comparison tells all weights apart."""
    names = [row.record.behavior for row in fitted if row.is_loose]
    if not names:
        return ()
    note = (
        "too few completions differ in their verdicts: some weights can be shifted against each "
        f"other in ways that no comparison tells apart, in {_list_first(names)}"
    )
    return (note,)


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
