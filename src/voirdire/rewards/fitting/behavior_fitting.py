"""Fit the weights of one behavior, and estimate how good they are."""

from __future__ import annotations

import warnings
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire._messages import list_names
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.rewards.features import VETO, compute_veto_penalty
from voirdire.rewards.fitting.weight_problem import (
    L2_GRID,
    UNDEFINED,
    Estimate,
    compute_errors,
    cross_validate,
    estimate_error_rate,
    resample_weights,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.rewards.fitting.weight_problem import WeightProblem

__all__ = ["BehaviorFit", "FittedBehavior", "FittedWeight", "count_solves", "fit_behavior"]

FEW_PROMPTS = 20
"""Percentiles over fewer prompts are ends of an interval in name only."""

_FAR_APART = 10.0
_MOST_NAMED = 6
_L2_OF_FEW = 0.01
_ROUNDING = 1e-7
"""Coordinates of directions below this are rounding."""


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


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedBehavior:
    """The weights of one behavior, all but that of the veto, with their record.

    `is_loose` tells whether some weights can be shifted against each other without changing any
    difference, beyond the gauge of the class features.
    """

    record: BehaviorFit
    weights: NDArray[np.float64] = field(repr=False)
    is_loose: bool
    problem: WeightProblem = field(repr=False)

    @property
    def rule_rewards(self) -> NDArray[np.float64]:
        """The rule rewards of the completions of the fit."""
        veto = sum(row.weight.value for row in self.record.weights if row.feature == VETO)
        return self.problem.features @ self.weights + self.problem.is_vetoed * veto


def count_solves(problem: WeightProblem) -> int:
    """Count the problems that `fit_behavior` solves: what a progress bar counts."""
    l2s, n_folds = _choose_search(problem)
    return 1 + len(l2s) * n_folds + problem.settings.n_resamples


def fit_behavior(
    problem: WeightProblem, *, has_base: bool, report: Callable[[], None]
) -> FittedBehavior:
    """Fit the weights of one behavior; `report` is called after each problem that is solved."""
    settings, (l2s, n_folds) = problem.settings, _choose_search(problem)
    l2, l2_path, gain = l2s[0], {}, None
    if n_folds:
        best, losses, gain = cross_validate(problem, l2s=l2s, n_folds=n_folds, report=report)
        if len(l2s) > 1:
            l2, l2_path = best, losses
    notes = []
    if settings.l2 is None and not l2_path:
        notes.append(
            f"{_count(problem.n_prompts, 'prompt')}: too few to choose λ by cross-validation in "
            f"{settings.n_folds} folds; it is {l2:g}"
        )
    try:
        weights, solution = problem.solve(l2)
    except InputError as error:
        msg = f"behavior {problem.behavior!r}: {error}"
        raise InputError(msg) from error
    report()
    low, high = resample_weights(problem, weights=weights, l2=l2, report=report)
    is_separable, undetermined, is_loose = _find_limits(problem)
    held_out = problem
    if problem.test is not None:
        held_out, gain = problem.test, problem.test.compute_gain(weights)
    base_alone = estimate_error_rate(held_out, held_out.base_gain) if has_base else UNDEFINED
    error_rate = UNDEFINED
    if gain is not None:
        error_rate = estimate_error_rate(held_out, held_out.apply_vetoes(gain))
    rows = _list_weights(problem, weights, low=low, high=high, undetermined=undetermined)
    fitted_errors = compute_errors(problem.apply_vetoes(problem.compute_gain(weights)))
    notes += _list_notes(problem, is_separable=is_separable, undetermined=undetermined, rows=rows)
    record = BehaviorFit(
        behavior=problem.behavior,
        n_prompts=problem.n_prompts,
        n_items=int(problem.items.size),
        n_pairs=problem.n_pairs,
        n_test_prompts=0 if problem.test is None else problem.test.n_prompts,
        l2=l2,
        l2_path=l2_path,
        objective=solution.objective,
        bound=solution.bound,
        weights=tuple(rows),
        error_rate=error_rate,
        error_rate_fitted=float(problem.weight @ fitted_errors),
        error_rate_base=base_alone,
        is_separable=is_separable,
        n_cyclic_pairs=problem.n_cyclic_pairs,
        notes=tuple(notes),
    )
    return FittedBehavior(record=record, weights=weights, is_loose=is_loose, problem=problem)


def _choose_search(problem: WeightProblem) -> tuple[tuple[float, ...], int]:
    """Choose the values of λ to try, and the folds; 0 where no prompt can, or need, be held out."""
    settings, n_prompts = problem.settings, problem.n_prompts
    if settings.l2 is not None:
        l2s: tuple[float, ...] = (float(settings.l2),)
    else:
        l2s = (_L2_OF_FEW,) if n_prompts < 2 * settings.n_folds else L2_GRID
    if n_prompts < 2 or (problem.test is not None and len(l2s) == 1):
        return l2s, 0
    return l2s, min(settings.n_folds, n_prompts)


def _find_limits(problem: WeightProblem) -> tuple[bool, list[str], bool]:
    """Find whether comparisons are separable, and which weights they do not determine.

    The latter are the features on which no comparison depends, and whether others can be shifted
    against each other, beyond the gauge, which is always undetermined. Without λ and base rewards
    separable comparisons have no loss; else one of them at least has the loss of its whole margin.
    """
    from voirdire.rewards.solving.problem import find_idle_directions
    from voirdire.rewards.solving.solve import solve

    if not problem.is_fitted:
        return False, [], False
    ranking = problem.make_ranking(0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        best = solve(replace(ranking, gap=np.ones(ranking.gap.size)))
    is_separable = best.objective < ranking.weight.min() / 2
    idle = find_idle_directions(ranking)
    is_constant = np.linalg.norm(idle, axis=1) > 1.0 - _ROUNDING
    names = np.array(problem.choice.features.names, dtype=object)[problem.choice.is_fitted]
    parts = [rows[:, ~is_constant] for rows in (problem.choice.list_gauge(), idle.T)]
    n_gauge, n_idle = (np.linalg.matrix_rank(x, tol=_ROUNDING) if x.size else 0 for x in parts)
    return bool(is_separable), names[is_constant].tolist(), bool(n_idle > n_gauge)


def _list_weights(
    problem: WeightProblem,
    weights: NDArray[np.float64],
    *,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    undetermined: Sequence[str],
) -> list[FittedWeight]:
    """List all weights with their intervals; that of a veto is one that no others make up for."""
    choice, rows = problem.choice, []
    names, values = choice.features.names, (weights + 0.0).tolist()  # never -0
    for place, name in enumerate(names):
        origin, estimate = "fitted", replace(UNDEFINED, value=values[place])
        if not choice.is_fitted[place]:
            origin = "ignored" if name in choice.ignored else "fixed"
        elif name in undetermined:
            origin = "undetermined"
        else:
            estimate = replace(estimate, low=float(low[place]), high=float(high[place]))
        rows.append(FittedWeight(feature=name, weight=estimate, origin=origin))
    if choice.vetoes:
        test = problem.test
        base = problem.base if test is None else np.concatenate([problem.base, test.base])
        penalty = compute_veto_penalty(
            replace(choice.features, vetoes=choice.vetoes),
            dict(zip(names, values, strict=True)),
            base_range=float(np.ptp(base)),
        )
        veto = FittedWeight(feature=VETO, weight=replace(UNDEFINED, value=-penalty), origin="veto")
        rows.insert(len(choice.features.asked), veto)
    return rows


def _list_notes(
    problem: WeightProblem,
    *,
    is_separable: bool,
    undetermined: Sequence[str],
    rows: Sequence[FittedWeight],
) -> Iterator[str]:
    """Write notes on the fit of a behavior, the most important first."""
    if vetoes := problem.choice.vetoes:
        limit = "no weights make up for"
        if problem.base.any():
            limit = "neither weights nor the base rewards of the fit make up for"
        penalty = -next(row.weight.value for row in rows if row.feature == VETO)
        n_against = int((problem.apply_vetoes(np.zeros(problem.n_pairs)) < 0).sum())
        yield (
            f"veto of {list_names(vetoes, most=_MOST_NAMED)}: it takes {penalty:.3g} off, "
            f"which {limit}; "
            f"{int(problem.is_vetoed.sum()):,} of {problem.items.size:,} completions have it"
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
    n_prompts = problem.n_prompts
    if n_prompts == 1 and problem.settings.n_resamples:
        yield f"1 prompt: no interval is defined; collect comparisons of at least {FEW_PROMPTS}"
    elif n_prompts < FEW_PROMPTS and problem.settings.n_resamples:
        yield (
            f"{_count(n_prompts, 'prompt')}: intervals over so few are too narrow; collect "
            f"comparisons of at least {FEW_PROMPTS}"
        )
    base, margin = float(np.abs(problem.base_gain).mean()), float(problem.margins.mean())
    if base > _FAR_APART * margin:
        yield (
            f"base rewards differ by {base:.3g} on average, {base / margin:,.0f} times the margin: "
            "give a margin in their scale, or rescale them"
        )


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
