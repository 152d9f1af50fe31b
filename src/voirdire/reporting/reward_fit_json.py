"""A fit as one JSON object: every figure, under the names of its attributes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from voirdire.records.plain import without_nan
from voirdire.rewards.against_demands import paid_against_demands
from voirdire.rewards.fitting.fit import fit_figures

if TYPE_CHECKING:
    from voirdire.rewards.fitting.fit import RewardFit

__all__ = ["reward_fit_as_dict", "reward_fit_to_json"]

REWARD_FIT_SCHEMA = "voirdire.reward_fit/1"


def reward_fit_to_json(fit: RewardFit) -> str:
    """Write a fit as indented JSON; an undefined figure is null.

    Parameters
    ----------
    fit : RewardFit
        What was found.

    Returns
    -------
    str
        One object with the keys of `reward_fit_as_dict`.
    """
    return json.dumps(reward_fit_as_dict(fit), indent=2, ensure_ascii=False, allow_nan=False)


def reward_fit_as_dict(fit: RewardFit) -> dict[str, Any]:
    """Give every figure of a fit as plain JSON values; an undefined one is None.

    Parameters
    ----------
    fit : RewardFit
        What was found.

    Returns
    -------
    dict
        `schema`, `reward` (whose it is), `behaviors` with the attributes of `BehaviorFit`, the
        scales of the rule rewards beside them, `against_demands` (what pays against the rubric),
        `notes`, `dropped` and `settings`.
    """
    model = fit.model
    scales = ("mean", "standard_deviation", "mean_ideal")
    found = {
        "schema": REWARD_FIT_SCHEMA,
        "reward": {
            "name": model.name,
            "content_hash": model.content_hash,
            "rubric": model.rubric.name,
            "rubric_version": model.rubric.version,
            "rubric_hash": model.rubric.content_hash,
            "judge": model.judge.name,
            "fingerprint": model.judge.fingerprint,
            "data_hash": model.data_hash,
        },
        "behaviors": [
            {
                "behavior": row.behavior,
                **fit_figures(row),
                **{name: getattr(model.behaviors[row.behavior], name) for name in scales},
            }
            for row in fit.behaviors
        ],
        "against_demands": [asdict(row) for row in paid_against_demands(model)],
        "notes": list(fit.notes),
        "dropped": [asdict(row) for row in fit.dropped],
        "settings": {
            name: value for name, value in model.settings.items() if name != "prompt_hashes"
        },
    }
    plain: dict[str, Any] = without_nan(found)
    return plain
