"""The behaviors of a fit, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from voirdire.rewards.comparisons.pairs import PreferenceCycles
from voirdire.rewards.fitting.behavior_data import behavior_data
from voirdire.rewards.fitting.behavior_fitting import fit_behavior, n_solves
from voirdire.rewards.fitting.compared import is_test
from voirdire.rewards.fitting.result import FitProgress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voirdire.records import Dropped
    from voirdire.rewards.fitting.behavior_data import BehaviorData
    from voirdire.rewards.fitting.behavior_fitting import FittedBehavior
    from voirdire.rewards.fitting.feature_choice import FeatureChoice
    from voirdire.rewards.fitting.judged_comparisons import JudgedComparisons
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.rubrics import Rubric

__all__ = ["BehaviorPart", "behavior_parts", "fit_parts"]


@dataclass(frozen=True, kw_only=True, eq=False)
class BehaviorPart:
    """What one behavior is fitted on, and looked at on.

    Attributes
    ----------
    train : BehaviorData
        What it is fitted on; may be without a comparison.
    test : BehaviorData or None
        What is marked to be kept out of the fit, where something is.
    dropped : tuple of Dropped
        Completions that could not be used.
    cycles : PreferenceCycles
        Comparisons that go in cycles.
    """

    train: BehaviorData
    test: BehaviorData | None
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    cycles: PreferenceCycles = field(default_factory=PreferenceCycles)


def behavior_parts(
    compared: JudgedComparisons,
    *,
    rubric: Rubric,
    choices: Mapping[str, FeatureChoice],
    use_base: bool,
) -> dict[str, BehaviorPart]:
    """Bring comparisons and verdicts of each behavior together, test prompts apart.

    Parameters
    ----------
    compared : JudgedComparisons
        What is compared, with verdicts.
    rubric : Rubric
        With the behaviors.
    choices : mapping of str to FeatureChoice
        Their features.
    use_base : bool
        Whether base rewards are part of the differences.

    Returns
    -------
    dict of str to BehaviorPart
        By behavior.
    """
    found = {}
    for behavior, pairs in compared.pairs.items():
        whole = behavior_data(
            compared.data,
            compared.told,
            pairs=pairs,
            rubric=rubric,
            choice=choices[behavior],
            use_base=use_base,
        )
        marked = is_test(compared.data, whole.items)[whole.better]
        found[behavior] = BehaviorPart(
            train=whole.of_pairs(~marked) if marked.any() else whole,
            test=whole.of_pairs(marked) if marked.any() else None,
            dropped=whole.dropped,
            cycles=compared.cycles.get(behavior, PreferenceCycles()),
        )
    return found


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
