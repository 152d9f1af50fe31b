"""Fit the weights of one behavior, and estimate how good they are."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire._messages import list_names
from voirdire.errors import InputError
from voirdire.rewards.features import VETO, compute_veto_penalty
from voirdire.rewards.fitting.judged_comparisons import FitProgress
from voirdire.rewards.fitting.weight_problem import (
    L2_GRID,
    UNDEFINED,
    CrossValidation,
    Estimate,
    WeightProblem,
    compute_errors,
    cross_validate,
    estimate_error_rate,
    resample_weights,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.rewards.fitting.judged_comparisons import BehaviorData
    from voirdire.rewards.fitting.settings import FeatureChoice, FitSettings

__all__ = ["BehaviorFit", "FittedBehavior", "FittedWeight", "fit_behaviors"]

FEW_PROMPTS = 20
"""Percentiles over fewer prompts are ends of an interval in name only."""

_FAR_APART = 10.0
_MOST_NAMED = 6


def fit_behaviors(
    parts: Mapping[str, BehaviorData],
    *,
    choices: Mapping[str, FeatureChoice],
    settings: FitSettings,
    has_base: bool,
    progress: Callable[[FitProgress], None] | None,
) -> Sequence[FittedBehavior]:
    """Fit the weights of all behaviors that have comparisons."""
    problems = {
        name: WeightProblem(data=part, choice=choices[name], settings=settings)
        for name, part in parts.items()
        if part.n_pairs
    }
    total = sum(_count_solves(problem) for problem in problems.values())
    n_done = 0

    def report() -> None:
        nonlocal n_done
        n_done += 1
        if progress is not None:
            progress(FitProgress(doing="fitting", n_done=n_done, n_total=total))

    return [
        _fit_behavior(problem, has_base=has_base, report=report) for problem in problems.values()
    ]


@dataclass(frozen=True, kw_only=True)
class BehaviorFit:
    """How the weights of one behavior came about.

    Attributes
    ----------
    behavior : str
        Its id.
    n_prompts, n_items, n_pairs : int
        What it was fitted on: at least 1 pair.
    n_test_prompts : int
        Prompts that are marked `test`: no weight was fitted on them, and `error_rate` is of them.
        Where it is 0, each prompt of the fit was held out once, unless there is only one.
    l2 : float
        λ that was used, at least 0.
    l2_path : mapping of float to float
        Held-out loss for each λ that was tried; empty where λ was given.
    objective, bound : float
        The value at these weights, and a lower bound of it for any weights.
    weights : tuple of FittedWeight
        In the order of the features.
    error_rate : Estimate
        Share of comparisons that the reward ranks the wrong way, a tie counting half: held out by
        prompt.
    error_rate_fitted : float
        The same on the comparisons that it was fitted on: too low.
    error_rate_base : Estimate
        The same by the base reward alone; nan where there is none.
    is_separable : bool
        Whether some weights rank every comparison right; without λ the size of the weights then
        says nothing.
    n_cyclic_pairs : int
        Comparisons that go in cycles, of all that were given for this behavior: also of prompts
        that are marked `test`, and of completions that were then dropped.
    notes : tuple of str
        What the reader should know.
    """

    behavior: str
    n_prompts: int
    n_items: int
    n_pairs: int
    n_test_prompts: int = 0
    l2: float
    l2_path: Mapping[float, float] = field(default_factory=dict, repr=False)
    objective: float
    bound: float
    weights: tuple[FittedWeight, ...] = field(repr=False)
    error_rate: Estimate
    error_rate_fitted: float
    error_rate_base: Estimate
    is_separable: bool
    n_cyclic_pairs: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FittedWeight:
    """The weight of one feature.

    Attributes
    ----------
    feature : str
        Its name.
    weight : Estimate
        With the interval of the bootstrap over prompts.
    origin : {"fitted", "fixed", "ignored", "undetermined", "veto"}
        Undetermined: no comparison depends on it. Veto: the penalty of the feature ``"(veto)"``,
        which all other weights together cannot make up for.
    """

    feature: str
    weight: Estimate
    origin: str


_L2_OF_FEW = 0.01
_ROUNDING = 1e-7
"""Coordinates of directions below this are rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedBehavior:
    """The weights of one behavior with their record.

    Attributes
    ----------
    record : BehaviorFit
        How they came about.
    weights : ndarray of float, shape (n_features,)
        All of them, without that of the veto.
    choice : FeatureChoice
        Its features.
    is_loose : bool
        Whether some weights can be shifted against each other without changing any difference,
        beyond the gauge of the class features.
    data : BehaviorData
        What they were fitted on.
    """

    record: BehaviorFit
    weights: NDArray[np.float64] = field(repr=False)
    choice: FeatureChoice
    is_loose: bool
    data: BehaviorData = field(repr=False)


def _count_solves(problem: WeightProblem) -> int:
    """Count the problems that `_fit_behavior` solves: what a progress bar counts."""
    return 1 + len(_list_l2s(problem)) * _count_folds(problem) + problem.settings.n_resamples


def _fit_behavior(
    problem: WeightProblem, *, has_base: bool, report: Callable[[], None]
) -> FittedBehavior:
    """Fit the weights of one behavior; `report` is called after each problem that is solved."""
    data, choice, n_folds, l2s = (
        problem.data,
        problem.choice,
        _count_folds(problem),
        _list_l2s(problem),
    )
    validation = None
    if n_folds:
        validation = cross_validate(problem, l2s=l2s, n_folds=n_folds, report=report)
    l2, l2_path = l2s[0], {}
    notes = []
    if validation is not None and len(l2s) > 1:
        l2, l2_path = validation.l2, validation.losses
    elif problem.settings.l2 is None:
        notes.append(_note_few_prompts(data.n_prompts, n_folds=problem.settings.n_folds, l2=l2))
    try:
        weights, solution = problem.solve(l2)
    except InputError as error:
        msg = f"behavior {data.behavior!r}: {error}"
        raise InputError(msg) from error
    report()
    low, high = resample_weights(problem, weights=weights, l2=l2, report=report)
    is_separable, undetermined, is_loose = _find_limits(problem)
    held_out, base_alone = _estimate_error_rates(problem, weights=weights, validation=validation)
    penalty = _compute_penalty(problem, weights)
    notes += _list_notes(
        problem, is_separable=is_separable, undetermined=undetermined, penalty=penalty
    )
    record = BehaviorFit(
        behavior=data.behavior,
        n_prompts=data.n_prompts,
        n_items=int(data.items.size),
        n_pairs=data.n_pairs,
        n_test_prompts=0 if data.test is None else data.test.n_prompts,
        l2=l2,
        l2_path=l2_path,
        objective=solution.objective,
        bound=solution.bound,
        weights=_list_weights(
            choice, weights, low=low, high=high, undetermined=undetermined, penalty=penalty
        ),
        error_rate=held_out,
        error_rate_fitted=float(
            problem.weight @ compute_errors(data.apply_vetoes(problem.compute_gain(weights)))
        ),
        error_rate_base=base_alone if has_base else UNDEFINED,
        is_separable=is_separable,
        n_cyclic_pairs=data.n_cyclic_pairs,
        notes=tuple(notes),
    )
    return FittedBehavior(
        record=record, weights=weights, choice=choice, is_loose=is_loose, data=data
    )


def _count_folds(problem: WeightProblem) -> int:
    """Count the folds that the prompts allow; 0 where no prompt can, or need, be held out."""
    n_prompts = problem.data.n_prompts
    if n_prompts < 2 or (problem.data.test is not None and len(_list_l2s(problem)) == 1):
        return 0
    return min(problem.settings.n_folds, n_prompts)


def _list_l2s(problem: WeightProblem) -> tuple[float, ...]:
    """List the values of λ to try."""
    if problem.settings.l2 is not None:
        return (float(problem.settings.l2),)
    is_few = problem.data.n_prompts < 2 * problem.settings.n_folds
    return (_L2_OF_FEW,) if is_few else L2_GRID


def _find_limits(problem: WeightProblem) -> tuple[bool, list[str], bool]:
    """Find whether comparisons are separable, and which weights they do not determine.

    The latter are the features on which no comparison depends, and whether others can be shifted
    against each other, beyond the gauge, which is always undetermined.
    """
    from voirdire.rewards.solving.identifiability import find_idle_directions, is_separable

    if not problem.is_fitted:
        return False, [], False
    ranking = problem.make_ranking(0.0)
    idle = find_idle_directions(ranking)
    is_constant = np.linalg.norm(idle, axis=1) > 1.0 - _ROUNDING
    names = np.array(problem.choice.features.names, dtype=object)[problem.choice.is_fitted]
    n_gauge, n_idle = (
        _count_directions(rows[:, ~is_constant]) for rows in (problem.choice.list_gauge(), idle.T)
    )
    return is_separable(ranking), names[is_constant].tolist(), n_idle > n_gauge


def _count_directions(rows: NDArray[np.float64]) -> int:
    return int(np.linalg.matrix_rank(rows, tol=_ROUNDING)) if rows.size else 0


def _estimate_error_rates(
    problem: WeightProblem, *, weights: NDArray[np.float64], validation: CrossValidation | None
) -> tuple[Estimate, Estimate]:
    """Estimate the held-out error rate of the reward, and that of the base reward alone."""
    held_out, gain = problem, None if validation is None else validation.gain
    if problem.data.test is not None:
        held_out = replace(problem, data=problem.data.test)
        gain = held_out.compute_gain(weights)
    base = estimate_error_rate(held_out, held_out.data.base_gain)
    if gain is None:
        return UNDEFINED, base
    return estimate_error_rate(held_out, held_out.data.apply_vetoes(gain)), base


def _compute_penalty(problem: WeightProblem, weights: NDArray[np.float64]) -> float:
    """Compute the penalty of a veto, which these weights and base rewards cannot make up for."""
    choice, data = problem.choice, problem.data
    if not choice.vetoes:
        return 0.0
    base = data.base if data.test is None else np.concatenate([data.base, data.test.base])
    features = replace(choice.features, vetoes=choice.vetoes)
    by_feature = dict(zip(choice.features.names, weights.tolist(), strict=True))
    return compute_veto_penalty(features, by_feature, base_range=float(np.ptp(base)))


def _list_weights(
    choice: FeatureChoice,
    weights: NDArray[np.float64],
    *,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    undetermined: Sequence[str],
    penalty: float,
) -> tuple[FittedWeight, ...]:
    rows = []
    for place, name in enumerate(choice.features.names):
        origin = "fitted"
        if not choice.is_fitted[place]:
            origin = "ignored" if name in choice.ignored else "fixed"
        elif name in undetermined:
            origin = "undetermined"
        ends = (low[place], high[place]) if origin == "fitted" else (np.nan, np.nan)
        estimate = Estimate(
            value=float(weights[place]) + 0.0,  # never -0
            low=float(ends[0]),
            high=float(ends[1]),
        )
        rows.append(FittedWeight(feature=name, weight=estimate, origin=origin))
    if choice.vetoes:
        veto = replace(UNDEFINED, value=-penalty)
        place = len(choice.features.asked)
        rows.insert(place, FittedWeight(feature=VETO, weight=veto, origin="veto"))
    return tuple(rows)


def _list_notes(
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
            f"veto of {list_names(vetoes, most=_MOST_NAMED)}: it takes {penalty:.3g} off, "
            f"which {limit}; "
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
            f"no comparison depends on {list_names(undetermined, most=_MOST_NAMED)}: "
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


def _note_few_prompts(n_prompts: int, *, n_folds: int, l2: float | None) -> str:
    """Note that λ was not chosen by cross-validation, and which λ was taken instead."""
    return (
        f"{_count(n_prompts, 'prompt')}: too few to choose λ by cross-validation in {n_folds} "
        f"folds; it is {l2:g}"
    )


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
