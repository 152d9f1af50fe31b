"""What the reader should know of comparisons, error rates, features and scales."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.studies.reward.notes import counted, listed, note

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from voirdire.records import Verdicts
    from voirdire.rewards.model import RewardModel
    from voirdire.studies.reward.examined import Examined
    from voirdire.studies.reward.result import (
        BehaviorScale,
        ErrorRate,
        FeatureDrive,
        RewardNote,
    )
    from voirdire.studies.reward.reward_facts import HeldOut

__all__ = [
    "FEW_PROMPTS",
    "about_comparisons",
    "about_drives",
    "about_errors",
    "about_held_out",
    "about_judge",
    "about_scales",
    "about_without_best",
]

FEW_PROMPTS = 30
"""Below so many prompts an interval from resampling them is too narrow."""


def about_held_out(found: HeldOut) -> list[RewardNote]:
    """Say where the figures rest on prompts that the weights were fitted on."""
    if found.n_seen:
        return [
            note(
                "seen_prompts",
                f"{found.n_seen:,} of {counted(found.n_prompts, 'prompt')} were used in the fit: "
                "on these the reward is not tested, and errs less often than on others. Examine it "
                "on other prompts.",
                n_seen=found.n_seen,
                n_prompts=found.n_prompts,
            )
        ]
    if not found.is_known:
        return [
            note(
                "held_out_unknown",
                "The reward does not say which prompts it was fitted on: the error rates are too "
                "low if these are among them.",
            )
        ]
    return []


def about_judge(reward: RewardModel, judged: Verdicts) -> list[RewardNote]:
    """Say where the verdicts are not those of the reward's own judge."""
    own = reward.judge
    if not own.fingerprint or not judged.fingerprint or own.fingerprint == judged.fingerprint:
        return []
    return [
        note(
            "other_judge",
            f"The verdicts are by {shorten(judged.judge)!r} or with other settings than those of "
            f"the reward's judge {shorten(own.name)!r}: the figures are about the weights under "
            "that judge, and certificates say nothing of it.",
            judge=judged.judge,
            fingerprint=judged.fingerprint,
            expected=own.fingerprint,
        )
    ]


def about_comparisons(examined: Examined) -> list[RewardNote]:
    """Say what is missing in the comparisons."""
    found = []
    reward, rated = examined.reward, examined.rated
    silent = [row.behavior for row in examined.behaviors if not row.better.size]
    silent += [name for name in reward.behaviors if name not in rated.features]
    if silent:
        names = ", ".join(silent)
        found.append(
            note("no_comparisons", f"No comparison is about {names}.", behaviors=tuple(silent))
        )
    few = {row.behavior: len(set(row.prompts.tolist())) for row in examined.behaviors}
    few = {name: n for name, n in few.items() if 0 < n < FEW_PROMPTS}
    if few:
        shown = ", ".join(f"{name} ({n})" for name, n in few.items())
        found.append(
            note(
                "few_prompts",
                f"Fewer than {FEW_PROMPTS} prompts have comparisons of {shown}: intervals from "
                "resampling so few are too narrow.",
                prompts=few,
                least=FEW_PROMPTS,
            )
        )
    if not any(label is not None for label in examined.labels):
        found.append(
            note("no_labels", "No completion has a label: there are no histograms by label.")
        )
    if reward.uses_base and not rated.has_base:
        found.append(
            note(
                "base_missing",
                "The reward was fitted beside a base reward, and these completions have none: what "
                "is examined here is the rules alone.",
            )
        )
    if rated.has_base and reward.data_hash and not reward.uses_base:
        found.append(
            note(
                "base_not_in_fit",
                "The completions have a base reward that the fit did not know of: the weights do "
                "not allow for it.",
            )
        )
    return found


def about_without_best(examined: Examined, prompts: Sequence[int]) -> list[RewardNote]:
    """Name the prompts that are in no histogram, by their first completion."""
    if not prompts:
        return []
    wanted = set(prompts)
    first: dict[int, str] = {}
    for prompt, item in zip(examined.rated.prompts.tolist(), examined.rated.items, strict=True):
        if prompt in wanted:
            first.setdefault(prompt, shorten(item.group or item.id, width=40))
    return [
        note(
            "without_best",
            f"{counted(len(prompts), 'prompt has', 'prompts have')} labels but no completion with "
            f"the best one, and no place in the histograms: {listed(list(first.values()))}.",
            n=len(prompts),
            prompts=tuple(first.values()),
        )
    ]


def about_errors(rates: Sequence[ErrorRate]) -> list[RewardNote]:
    """Say where the reward ranks no better than its base, or than a coin."""
    values = {(row.behavior, row.signal): row.rate.value for row in rates if row.against == "all"}
    worse = {
        behavior: (value, values[behavior, "base"])
        for (behavior, signal), value in values.items()
        if signal == "total" and value > values.get((behavior, "base"), 2.0)
    }
    found = []
    if worse:
        found.append(
            note(
                "worse_than_base",
                f"Base and rules together err more often than the base alone: {_places(worse)}.",
                behaviors=tuple(name or "all" for name in worse),
            )
        )
    totals = {name: value for (name, signal), value in values.items() if signal == "total"}
    chance = [name for name, value in totals.items() if value >= 0.5]
    if chance:
        found.append(
            note(
                "no_better_than_chance",
                f"The reward ranks no better than a coin: {_places(chance)}.",
                behaviors=tuple(name or "all" for name in chance),
            )
        )
    return found


def about_drives(drives: Sequence[FeatureDrive], uncertified: Sequence[str]) -> list[RewardNote]:
    """Name features that pay against a demand, that do nothing, and that nobody vouches for."""
    against = [_feature(row) for row in drives if row.is_contradictory]
    dead = [_feature(row) for row in drives if row.is_dead]
    found = []
    if against:
        found.append(
            note(
                "contradictory_features",
                f"{counted(len(against), 'weight pays', 'weights pay')} against what the behavior "
                f"demands: {listed(against)}. Other features may make up for it; a sign constraint "
                "in the fit rules it out.",
                n=len(against),
                features=tuple(against),
            )
        )
    if uncertified:
        found.append(
            note(
                "uncertified",
                f"No valid certificate vouches for {counted(len(uncertified), 'proposition')} that "
                f"the reward pays for: {listed(uncertified)}.",
                n=len(uncertified),
                propositions=tuple(uncertified),
            )
        )
    if dead:
        found.append(
            note(
                "dead_features",
                f"{counted(len(dead), 'feature does', 'features do')} as good as nothing to "
                f"rankings: {listed(dead)}.",
                n=len(dead),
                features=tuple(dead),
            )
        )
    return found


def about_scales(scales: Sequence[BehaviorScale]) -> list[RewardNote]:
    """Say where the same reward means different things under different behaviors."""
    spread = max((row.standard_deviation for row in scales), default=0.0)
    origins = {row.behavior: row.mean for row in scales}
    apart = max(origins.values()) - min(origins.values()) if len(origins) > 1 else 0.0
    if apart <= spread or apart == 0.0:
        return []
    return [
        note(
            "scales_differ",
            f"Mean rule rewards of behaviors lie up to {apart:.3g} apart, more than rewards vary "
            "within any of them: compare rewards within a behavior only, or centre them.",
            apart=apart,
            spread=spread,
        )
    ]


def _places(behaviors: Iterable[str | None]) -> str:
    return ", ".join("all behaviors together" if name is None else name for name in behaviors)


def _feature(row: FeatureDrive) -> str:
    """Name a feature as settings of a fit do; a class names its behavior itself."""
    is_class = row.feature.startswith(f"{row.behavior}.")
    return row.feature if is_class else f"{row.behavior}:{row.feature}"
