"""The third part of the demonstration: a reward from the verdicts on the bundled responses."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from voirdire.cli.demo_folder import (
    CERTIFICATE,
    COMPARISONS,
    REWARD,
    REWARD_EXAMINATION,
    REWARDS,
    VERDICTS,
)
from voirdire.cli.demo_responses import RUBRIC
from voirdire.cli.written_files import write_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from voirdire.rewards.fitting.result import RewardFit
    from voirdire.studies.reward.result import RewardExamination

__all__ = ["NAME", "RESAMPLES", "DemoReward", "MeanReward", "reward_responses"]

NAME = "demo"
RESAMPLES = 100
"""Of the fit: half of what `voirdire fit` takes, since nobody should wait for a demonstration."""


@dataclass(frozen=True, kw_only=True)
class MeanReward:
    """What the responses of one behavior and label get on average.

    Attributes
    ----------
    base, total : float
        By the base reward alone, and by the whole reward.
    n_items : int
        Responses.
    """

    base: float
    total: float
    n_items: int


@dataclass(frozen=True, kw_only=True)
class DemoReward:
    """How the weights came about, what the responses get, and what the examination says.

    Attributes
    ----------
    fit : RewardFit
        The reward with the record of its fit.
    means : mapping of tuple of str to MeanReward
        By behavior and label.
    examination : RewardExamination
        On the comparisons of the fit: there are no others.
    """

    fit: RewardFit
    means: Mapping[tuple[str, str], MeanReward]
    examination: RewardExamination


def reward_responses(folder: Path) -> DemoReward:
    """Compare, fit, score and examine from the files in the folder, and write what comes of it."""
    from voirdire.errors import UncertifiedWarning
    from voirdire.reporting.reward_json import reward_examination_to_json
    from voirdire.rewards.fitting.fit import fit_reward
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.rewards.scoring.score_file import score_file
    from voirdire.studies.reward.examine import examine_reward

    comparisons, verdicts = folder / COMPARISONS, folder / VERDICTS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)  # the tables and the page say it
        fit = fit_reward(
            comparisons,
            rubric=RUBRIC,
            verdicts=verdicts,
            settings=FitSettings(n_resamples=RESAMPLES),
            certificates=[folder / CERTIFICATE],
            name=NAME,
        )
    fit.model.save(folder / REWARD)
    score_file(comparisons, folder / REWARDS, reward=fit.model, verdicts=verdicts)
    found = examine_reward(fit.model, comparisons, verdicts=verdicts)
    found = replace(found, settings={**found.settings, "simulated": True})
    write_text(folder / REWARD_EXAMINATION, reward_examination_to_json(found) + "\n")
    return DemoReward(fit=fit, means=_means(folder), examination=found)


def _means(folder: Path) -> dict[tuple[str, str], MeanReward]:
    """Average the rewards in the file over the responses of each behavior and label."""
    import polars as pl

    labels = pl.read_ndjson(folder / COMPARISONS).select(item="id", label="label")
    rewards = pl.read_ndjson(folder / REWARDS)
    table = (
        rewards.join(labels, on="item")
        .group_by("behavior", "label", maintain_order=True)
        .agg(pl.col("base_reward").mean(), pl.col("reward").mean(), pl.len())
    )
    return {
        (behavior, label): MeanReward(base=base, total=total, n_items=n_items)
        for behavior, label, base, total, n_items in table.iter_rows()
    }
