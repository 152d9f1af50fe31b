"""What the reader of one behavior's weights should know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.rewards.fitting.undetermined import Undetermined
    from voirdire.rewards.fitting.weight_problem import WeightProblem
    from voirdire.rewards.solving.problem import RankingSolution

__all__ = ["behavior_notes", "few_for_folds"]

FEW_PROMPTS = 20
"""Percentiles over fewer prompts are ends of an interval in name only."""

_FAR_APART = 10.0
_CERTIFIED = 1e-6
_MOST_NAMED = 6


def behavior_notes(
    problem: WeightProblem,
    solution: RankingSolution,
    *,
    separable: str,
    left_open: Undetermined,
    settings: FitSettings,
    l2: float,
    penalty: float,
) -> Iterator[str]:
    """Give notes on a fit, the weightiest first.

    Parameters
    ----------
    problem : WeightProblem
        What was fitted.
    solution : RankingSolution
        What came of it.
    separable : {"complete", "quasi", "none"}
        Whether weights rank every comparison right.
    left_open : Undetermined
        What no comparison tells.
    settings : FitSettings
        How it was fitted.
    l2 : float
        λ that was used.
    penalty : float
        What a veto takes off.

    Yields
    ------
    str
        One sentence each.
    """
    if problem.choice.vetoes:
        yield _veto(problem, penalty)
    yield from _separable(separable, l2=l2, settings=settings)
    if left_open.features:
        yield (
            f"no comparison tells anything of {_named(left_open.features)}: "
            f"{'its weight is' if len(left_open.features) == 1 else 'their weights are'} 0"
        )
    n_prompts = problem.data.n_prompts
    if n_prompts < FEW_PROMPTS and settings.n_resamples:
        yield (
            f"{_counted(n_prompts, 'prompt')}: intervals over so few are too narrow; collect "
            f"comparisons of at least {FEW_PROMPTS}"
        )
    yield from _scales(problem)
    if solution.gap > _CERTIFIED * max(1.0, solution.objective):
        yield (
            f"the solver stopped {solution.gap:.1e} above its bound: the objective is not proved "
            "to be the least"
        )


def few_for_folds(n_prompts: int, *, n_folds: int, l2: float | None) -> str:
    """Say that λ was not chosen by cross-validation, and the one that was taken instead."""
    return (
        f"{_counted(n_prompts, 'prompt')}: too few to choose λ by cross-validation in {n_folds} "
        f"folds; it is {l2:g}"
    )


def _separable(separable: str, *, l2: float, settings: FitSettings) -> Iterator[str]:
    if separable == "none":
        return
    said = (
        "some weights rank every comparison right: how large the weights are"
        if separable == "complete"
        else "some weights by themselves rank comparisons right and none wrong: how large these are"
    )
    if l2 > 0 or settings.loss == "hinge":
        yield f"{said} is said by margin and λ, not by the data"


def _veto(problem: WeightProblem, penalty: float) -> str:
    """Say what a veto takes off, how many have it, and how often labels say otherwise."""
    data = problem.data
    beyond = "no weights make up for"
    if data.base.any():
        beyond = "neither weights nor the base rewards of the fit make up for"
    said = (
        f"veto of {_named(problem.choice.vetoes)}: it takes {penalty:.3g} off, which {beyond}; "
        f"{int(data.is_vetoed.sum()):,} of {data.items.size:,} completions have it"
    )
    against = int((data.ranked(np.zeros(data.n_pairs)) < 0).sum())
    return said + (f", the better one in {_counted(against, 'comparison')}" if against else "")


def _scales(problem: WeightProblem) -> Iterator[str]:
    """Compare what base reward and features put between the sides of a comparison."""
    base = float(np.abs(problem.data.base_gain).mean())
    margin = float(problem.data.margins.mean())
    if base > _FAR_APART * margin:
        yield (
            f"base rewards differ by {base:.3g} on average, {_times(base / margin)} times the "
            "margin: give a margin in their scale, or rescale them"
        )
    elif 0 < base < margin / _FAR_APART:
        yield (
            f"base rewards differ by {base:.3g} on average, the margin is {_times(margin / base)} "
            "times as much: beside these weights they count for little"
        )


def _times(factor: float) -> str:
    return f"{factor:,.0f}" if factor < 1e6 else f"{factor:.1e}"


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
