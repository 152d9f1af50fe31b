"""Settings of runs that score the items of a file, or the completions of a run."""

from __future__ import annotations

from dataclasses import dataclass

from voirdire.judging.settings import ReplySettings, RunSettings

__all__ = ["ReplaySettings", "ScoringSettings"]


@dataclass(frozen=True, kw_only=True)
class ScoringSettings(RunSettings):
    """How the items of a file are scored.

    Attributes
    ----------
    base : str or None
        Column of the base reward, which is added. Default: base_reward, where the reward was
        fitted beside one.
    explain : bool
        Add a column per feature: what it adds to the reward.
    center : bool
        Take off the mean that each behavior's rule rewards had in the fit, so that behaviors
        compare.
    other_judge : bool
        Allow another judge than the weights were fitted on; certificates do not hold for it.

    Raises
    ------
    InputError
        If a field of `voirdire.io.ItemLayout` or `workers` breaks its rule.
    """

    base: str | None = None
    explain: bool = False
    center: bool = False
    other_judge: bool = False


@dataclass(frozen=True, kw_only=True)
class ReplaySettings(ReplySettings):
    """How the completions of a training run are given another reward.

    Attributes
    ----------
    other_judge : bool
        Take another judge than the weights were fitted on; certificates say nothing of that one.
    store : str, path, False or None
        Where replies are stored: a file, or postgresql://... Default: voirdire-replies.sqlite in
        the run's folder.
    """

    other_judge: bool = False
