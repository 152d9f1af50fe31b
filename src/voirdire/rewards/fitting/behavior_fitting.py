"""Fit the weights of one behavior, and find out how good they are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire.errors import InputError
from voirdire.rewards.comparisons.pairs import PreferenceCycles
from voirdire.rewards.fitting.judged_comparisons import FitProgress
from voirdire.rewards.fitting.notes import Undetermined, behavior_notes, few_for_folds, undetermined
from voirdire.rewards.fitting.weight_problem import (
    L2_GRID,
    CrossValidation,
    Estimate,
    Resampling,
    WeightProblem,
    cross_validate,
    error_rate,
    generator,
    pair_weights,
    prompt_folds,
    resampled_weights,
    wrongness,
)
from voirdire.rewards.vetoes import VETO, veto_penalty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.rewards.fitting.judged_comparisons import BehaviorData, BehaviorPart
    from voirdire.rewards.fitting.settings import FeatureChoice, FitSettings
    from voirdire.rewards.solving.problem import RankingSolution

__all__ = ["BehaviorFit", "FittedBehavior", "FittedWeight", "fit_behavior", "fit_parts", "n_solves"]


def fit_parts(
    parts: Mapping[str, BehaviorPart],
    *,
    choices: Mapping[str, FeatureChoice],
    settings: FitSettings,
    has_base: bool,
    progress: Callable[[FitProgress], None] | None,
) -> Sequence[FittedBehavior]:
    """Fit the behaviors that have something to be fitted on.

    Parameters
    ----------
    parts : mapping of str to BehaviorPart
        By behavior.
    choices : mapping of str to FeatureChoice
        Their features.
    settings : FitSettings
        How.
    has_base : bool
        Whether base rewards are part of the differences.
    progress : callable or None
        Told after every problem that is solved.

    Returns
    -------
    sequence of FittedBehavior
        In the order of `parts`.
    """
    fitted = {name: part for name, part in parts.items() if part.train.n_pairs}
    total = sum(
        n_solves(part.train, settings, has_test=part.test is not None) for part in fitted.values()
    )
    n_done = 0

    def tell() -> None:
        nonlocal n_done
        n_done += 1
        if progress is not None:
            progress(FitProgress(doing="fitting", n_done=n_done, n_total=total))

    return [
        fit_behavior(
            part.train,
            test=part.test,
            choice=choices[name],
            settings=settings,
            has_base=has_base,
            cycles=part.cycles,
            tell=tell,
        )
        for name, part in fitted.items()
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
    l2 : float
        λ that was used, at least 0.
    l2_path : mapping of float to float
        Held-out loss for each λ that was tried; empty where λ was given.
    objective, bound : float
        What the weights reach, and what none can go below.
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
    loose : tuple of str
        Directions of weights that no comparison tells anything of, beyond the gauge of the class
        features, in words.
    cycles : PreferenceCycles
        Comparisons that go in cycles, of all that were given for this behavior: also of prompts
        that are marked `test`, and of completions that were then dropped.
    notes : tuple of str
        What the reader should know.
    """

    behavior: str
    n_prompts: int
    n_items: int
    n_pairs: int
    l2: float
    l2_path: Mapping[float, float] = field(default_factory=dict, repr=False)
    objective: float
    bound: float
    weights: tuple[FittedWeight, ...] = field(repr=False)
    error_rate: Estimate
    error_rate_fitted: float
    error_rate_base: Estimate
    is_separable: bool
    loose: tuple[str, ...] = ()
    cycles: PreferenceCycles = field(default_factory=PreferenceCycles)
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
        Undetermined: no comparison tells anything of it. Veto: what the feature ``"(veto)"``
        takes off, more than all weights make up for.
    """

    feature: str
    weight: Estimate
    origin: str


_L2_OF_FEW = 0.01


_NOTHING = Estimate(value=float("nan"), low=float("nan"), high=float("nan"))


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
    left_open : Undetermined
        What no comparison tells.
    data : BehaviorData
        What they were fitted on.
    """

    record: BehaviorFit
    weights: NDArray[np.float64] = field(repr=False)
    choice: FeatureChoice
    left_open: Undetermined = field(default_factory=Undetermined, repr=False)
    data: BehaviorData = field(repr=False)


def n_solves(data: BehaviorData, settings: FitSettings, *, has_test: bool) -> int:
    """Count the problems that `fit_behavior` solves: what a progress bar counts."""
    n_parts = len(_l2s(data, settings)) * _n_folds(data, settings, has_test=has_test)
    return 1 + n_parts + settings.n_resamples


def fit_behavior(
    data: BehaviorData,
    *,
    test: BehaviorData | None,
    choice: FeatureChoice,
    settings: FitSettings,
    has_base: bool,
    cycles: PreferenceCycles,
    tell: Callable[[], None],
) -> FittedBehavior:
    """Fit the weights of one behavior.

    Parameters
    ----------
    data : BehaviorData
        What they are fitted on: at least one comparison.
    test : BehaviorData or None
        Comparisons of other prompts that the error rate is taken on; None takes it on `data` by
        cross-validation.
    choice : FeatureChoice
        Which weights are fitted.
    settings : FitSettings
        How.
    has_base : bool
        Whether base rewards are part of the differences.
    cycles : PreferenceCycles
        Comparisons that go in cycles.
    tell : callable
        Called after each of `n_solves` problems.

    Returns
    -------
    FittedBehavior
        Weights and record.
    """
    problem = _problem(data, choice=choice, settings=settings)
    has_test = test is not None
    crossed = _crossed(problem, settings=settings, has_test=has_test, tell=tell)
    l2, l2_path, notes = _chosen_l2(problem, crossed, settings)
    weights, solution = _solved(problem, l2)
    tell()
    resampling = _resampling(data, settings)
    low, high = resampled_weights(problem, weights=weights, l2=l2, resampling=resampling, tell=tell)
    separable, left_open = _looked_into(problem)
    held_out, base_alone = _error_rates(
        problem, weights=weights, test=test, crossed=crossed, settings=settings
    )
    penalty = _penalty(choice, weights, data=data, test=test)
    notes += behavior_notes(
        problem,
        solution,
        separable=separable,
        left_open=left_open,
        settings=settings,
        l2=l2,
        penalty=penalty,
    )
    record = BehaviorFit(
        behavior=data.behavior,
        n_prompts=data.n_prompts,
        n_items=int(data.items.size),
        n_pairs=data.n_pairs,
        l2=l2,
        l2_path=l2_path,
        objective=solution.objective,
        bound=solution.bound,
        weights=_fitted_weights(
            choice, weights, low=low, high=high, left_open=left_open, penalty=penalty
        ),
        error_rate=held_out,
        error_rate_fitted=float(problem.weight @ wrongness(data.ranked(problem.gain(weights)))),
        error_rate_base=base_alone if has_base else _NOTHING,
        is_separable=separable == "complete",
        loose=left_open.sentences,
        cycles=cycles,
        notes=tuple(notes),
    )
    return FittedBehavior(
        record=record, weights=weights, choice=choice, left_open=left_open, data=data
    )


def _problem(data: BehaviorData, *, choice: FeatureChoice, settings: FitSettings) -> WeightProblem:
    return WeightProblem(
        data=data,
        choice=choice,
        weight=pair_weights(data.prompts, equal_prompts=settings.equal_prompts),
        loss=settings.loss,
    )


def _resampling(data: BehaviorData, settings: FitSettings) -> Resampling:
    return Resampling(
        n_resamples=settings.n_resamples,
        confidence_level=settings.confidence_level,
        seed=settings.seed,
        behavior=data.behavior,
    )


def _n_folds(data: BehaviorData, settings: FitSettings, *, has_test: bool) -> int:
    """How many folds there are prompts for; 0 where nothing can, or need, be held out."""
    if has_test and len(_l2s(data, settings)) == 1:
        return 0
    return min(settings.n_folds, data.n_prompts) if data.n_prompts > 1 else 0


def _l2s(data: BehaviorData, settings: FitSettings) -> tuple[float, ...]:
    """Give the values of λ that are tried."""
    if settings.l2 is not None:
        return (float(settings.l2),)
    return (_L2_OF_FEW,) if data.n_prompts < 2 * settings.n_folds else L2_GRID


def _crossed(
    problem: WeightProblem,
    *,
    settings: FitSettings,
    has_test: bool,
    tell: Callable[[], None],
) -> CrossValidation | None:
    n_folds = _n_folds(problem.data, settings, has_test=has_test)
    if not n_folds:
        return None
    rng = generator(settings.seed, f"{problem.data.behavior} folds")
    return cross_validate(
        problem,
        l2s=_l2s(problem.data, settings),
        folds=prompt_folds(problem.data.n_prompts, n_folds=n_folds, rng=rng),
        tell=tell,
    )


def _chosen_l2(
    problem: WeightProblem, crossed: CrossValidation | None, settings: FitSettings
) -> tuple[float, dict[float, float], list[str]]:
    tried = _l2s(problem.data, settings)
    if settings.l2 is not None:
        return tried[0], {}, []
    if len(tried) == 1 or crossed is None:
        few = few_for_folds(problem.data.n_prompts, n_folds=settings.n_folds, l2=tried[0])
        return tried[0], {}, [few]
    return crossed.l2, crossed.losses, []


def _solved(problem: WeightProblem, l2: float) -> tuple[NDArray[np.float64], RankingSolution]:
    try:
        return problem.solve(l2)
    except InputError as error:
        msg = f"behavior {problem.data.behavior!r}: {error}"
        raise InputError(msg) from error


def _looked_into(problem: WeightProblem) -> tuple[str, Undetermined]:
    """Find out what the comparisons do not say."""
    from voirdire.rewards.solving.identifiability import find_loose_directions, find_separation

    if not problem.is_fitted:
        return "none", Undetermined()
    ranking = problem.ranking(0.0)
    gauge = problem.choice.gauge()
    names = np.array(problem.choice.features.names, dtype=object)[problem.choice.is_fitted]
    loose = find_loose_directions(ranking, gauge=gauge)
    return find_separation(ranking), undetermined(loose, gauge=gauge, names=names.tolist())


def _error_rates(
    problem: WeightProblem,
    *,
    weights: NDArray[np.float64],
    test: BehaviorData | None,
    crossed: CrossValidation | None,
    settings: FitSettings,
) -> tuple[Estimate, Estimate]:
    """Give the error rates of the reward, held out, and of the base reward alone."""
    seen = problem
    gain = None if crossed is None else crossed.gain
    if test is not None:
        seen = _problem(test, choice=problem.choice, settings=settings)
        gain = seen.gain(weights)
    rows, weight = seen.data.prompts, seen.weight
    ways = _resampling(problem.data, settings)
    base = error_rate(seen.data.base_gain, prompts=rows, weight=weight, resampling=ways)
    if gain is None:
        return _NOTHING, base
    ranked = seen.data.ranked(gain)
    return error_rate(ranked, prompts=rows, weight=weight, resampling=ways), base


def _penalty(
    choice: FeatureChoice,
    weights: NDArray[np.float64],
    *,
    data: BehaviorData,
    test: BehaviorData | None,
) -> float:
    """Give what a veto takes off: more than these weights, and these base rewards, make up for."""
    base = data.base if test is None else np.concatenate([data.base, test.base])
    if not choice.vetoes:
        return 0.0
    features = replace(choice.features, vetoes=choice.vetoes)
    named = dict(zip(choice.features.names, weights.tolist(), strict=True))
    return veto_penalty(features, named, base_range=float(np.ptp(base)))


def _fitted_weights(
    choice: FeatureChoice,
    weights: NDArray[np.float64],
    *,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    left_open: Undetermined,
    penalty: float,
) -> tuple[FittedWeight, ...]:
    found = []
    for place, name in enumerate(choice.features.names):
        origin = "fitted"
        if not choice.is_fitted[place]:
            origin = "ignored" if name in choice.ignored else "fixed"
        elif name in left_open.features:
            origin = "undetermined"
        ends = (low[place], high[place]) if origin == "fitted" else (np.nan, np.nan)
        estimate = Estimate(
            value=float(weights[place]) + 0.0,  # never -0
            low=float(ends[0]),
            high=float(ends[1]),
        )
        found.append(FittedWeight(feature=name, weight=estimate, origin=origin))
    if choice.vetoes:
        nowhere = float("nan")
        veto = Estimate(value=-penalty, low=nowhere, high=nowhere)
        place = len(choice.features.asked)
        found.insert(place, FittedWeight(feature=VETO, weight=veto, origin="veto"))
    return tuple(found)
