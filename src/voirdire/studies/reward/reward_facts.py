"""What a report says of the reward that was examined."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.rewards.against_demands import paid_against_demands
from voirdire.rewards.certification import certified, paying_propositions
from voirdire.rewards.prompt_hash import prompt_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from voirdire.records import Item
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.model import RewardModel

__all__ = ["HeldOut", "held_out", "held_out_items", "reward_facts"]

_HASHES = "prompt_hashes"


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """Whether the examined prompts were used in the fit.

    Attributes
    ----------
    is_held_out : bool
        Whether it is known that none was.
    n_prompts : int
        Examined prompts.
    n_seen : int
        How many of them were used in the fit, as far as it is known.
    is_known : bool
        Whether the reward says which prompts it was fitted on.
    """

    is_held_out: bool
    n_prompts: int
    n_seen: int
    is_known: bool


def held_out(reward: RewardModel, data: ComparisonData) -> HeldOut:
    """Tell whether a fit has seen the prompts that it is examined on.

    Parameters
    ----------
    reward : RewardModel
        Its settings name the prompts of the fit by their hashes.
    data : ComparisonData
        The comparisons of the examination.

    Returns
    -------
    HeldOut
        A reward of weights that were given by hand has seen none.
    """
    firsts = np.unique(data.prompts, return_index=True)[1]
    items = [data.items[place] for place in firsts.tolist()]
    return held_out_items(reward, items, data_hash=data.data_hash)


def held_out_items(reward: RewardModel, items: Iterable[Item], *, data_hash: str = "") -> HeldOut:
    """Tell whether a fit has seen the prompts of items.

    Parameters
    ----------
    reward : RewardModel
        Its settings name the prompts of the fit by their hashes.
    items : iterable of Item
        At least one of each prompt.
    data_hash : str, optional
        Of the comparisons that they come from, where they come from some.

    Returns
    -------
    HeldOut
        A reward of weights that were given by hand has seen none.
    """
    hashes = {prompt_hash(item) for item in items}
    seen = reward.settings.get(_HASHES)
    if isinstance(seen, list | tuple | set | frozenset):
        n_seen = len(hashes & set(seen))
        return HeldOut(is_held_out=n_seen == 0, n_prompts=len(hashes), n_seen=n_seen, is_known=True)
    if not reward.data_hash:  # given by hand
        return HeldOut(is_held_out=True, n_prompts=len(hashes), n_seen=0, is_known=True)
    is_same = bool(data_hash) and data_hash == reward.data_hash
    return HeldOut(
        is_held_out=False,
        n_prompts=len(hashes),
        n_seen=len(hashes) if is_same else 0,
        is_known=is_same,
    )


def reward_facts(reward: RewardModel) -> dict[str, Any]:
    """Collect what identifies a reward, its weights, and what its certificates say.

    Parameters
    ----------
    reward : RewardModel
        What was examined.

    Returns
    -------
    dict
        Plain values: `name`, `rubric`, `judge`, `orientation`, `data_hash`, `content_hash`,
        `created`, `versions`, `settings` (with the number of the fit's prompts instead of their
        hashes), and by behavior `weights` and `fit`; `against_demands`, the propositions whose
        unwanted state is paid for; by proposition that pays `certificates`.
    """
    statuses = certified(reward)
    return {
        "name": reward.name,
        "rubric": {
            "name": reward.rubric.name,
            "version": reward.rubric.version,
            "hash": reward.rubric.content_hash,
        },
        "judge": {
            "name": reward.judge.name,
            "fingerprint": reward.judge.fingerprint,
            "threshold": reward.judge.threshold,
            "judged": reward.judge.judged,
        },
        "orientation": reward.orientation,
        "data_hash": reward.data_hash,
        "content_hash": reward.content_hash,
        "created": reward.created,
        "versions": dict(reward.versions),
        "settings": _settings(reward),
        "weights": {name: dict(row.weights) for name, row in reward.behaviors.items()},
        "fit": {name: _figures(row.figures) for name, row in reward.behaviors.items()},
        "against_demands": [asdict(row) for row in paid_against_demands(reward)],
        "certificates": {
            name: {"state": statuses[name].state, "reason": statuses[name].reason}
            for name in paying_propositions(reward)
        },
    }


def _settings(reward: RewardModel) -> dict[str, Any]:
    settings = {name: value for name, value in reward.settings.items() if name != _HASHES}
    hashes = reward.settings.get(_HASHES)
    return settings if hashes is None else settings | {"n_prompts": len(hashes)}


def _figures(figures: Any) -> dict[str, Any]:
    """Leave out the weights: they stand beside it."""
    return {name: value for name, value in dict(figures).items() if name != "weights"}
