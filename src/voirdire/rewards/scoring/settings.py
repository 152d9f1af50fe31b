"""What is told when the items of a file are given their rewards."""

from __future__ import annotations

from dataclasses import dataclass

from voirdire.judging.settings import RunFields, RunSettings

__all__ = ["ScoringFields", "ScoringSettings"]


@dataclass(frozen=True, kw_only=True)
class ScoringSettings(RunSettings):
    """How the items of a file are given their rewards.

    Attributes
    ----------
    base : str or None
        Column of the base reward, which is added, or a file of reward-model scores in the layout
        of the authors of rule-based rewards. Default: base_reward, where the reward was fitted
        beside one.
    explain : bool
        Add a column per feature: what it adds to the reward.
    center : bool
        Take off the mean that each behavior's rule rewards had in the fit, so that behaviors
        compare.
    other_judge : bool
        Take another judge than the weights were fitted on; certificates say nothing of that one.

    Raises
    ------
    InputError
        If a field of `voirdire.io.ItemLayout` or `workers` breaks its rule.
    """

    base: str | None = None
    explain: bool = False
    center: bool = False
    other_judge: bool = False


class ScoringFields(RunFields, total=False):
    """The fields of `ScoringSettings` as keywords, for type checkers."""

    base: str | None
    explain: bool
    center: bool
    other_judge: bool
