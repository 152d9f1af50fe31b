"""The examination of a reward as one JSON object: every figure, under the names of its fields."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from voirdire.records.plain import without_nan

if TYPE_CHECKING:
    from voirdire.studies.reward.result import RewardExamination

__all__ = [
    "REWARD_EXAMINATION_SCHEMA",
    "reward_examination_as_dict",
    "reward_examination_to_json",
]

REWARD_EXAMINATION_SCHEMA = "voirdire.reward_examination/1"


def reward_examination_to_json(examination: RewardExamination) -> str:
    """Write the examination of a reward as indented JSON; an undefined figure is null.

    Parameters
    ----------
    examination : RewardExamination
        What was found.

    Returns
    -------
    str
        One object: `schema`, then the fields of `RewardExamination` under their names.
    """
    content = without_nan(reward_examination_as_dict(examination))
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


def reward_examination_as_dict(examination: RewardExamination) -> dict[str, Any]:
    """Give every figure of the examination of a reward; nan stays nan.

    Parameters
    ----------
    examination : RewardExamination
        What was found.

    Returns
    -------
    dict
        What `reward_examination_to_json` writes, before undefined figures become null.
    """
    return {"schema": REWARD_EXAMINATION_SCHEMA} | asdict(examination)
