"""Rewards as JSON: examinations, written and read through their record, and fits."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.records.plain import without_nan
from voirdire.reporting.json_reading import decode_object, read_record
from voirdire.rewards.against_demands import find_paid_against_demands
from voirdire.rewards.fitting.fit import list_fit_figures
from voirdire.studies.reward.result import (
    REWARD_EXAMINATION_SCHEMA,
    RewardExamination,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.rewards.fitting.fit import RewardFit

__all__ = [
    "MOST_BYTES",
    "reward_examination_as_dict",
    "reward_examination_from_json",
    "reward_examination_to_json",
    "reward_fit_as_dict",
    "reward_fit_to_json",
]

REWARD_FIT_SCHEMA = "voirdire.reward_fit/1"
MOST_BYTES = 64 * 2**20
"""Longest JSON that is read: a thousand times a usual one."""
_MADE_BY = "Make one with `voirdire examine-reward --json`"


def reward_examination_to_json(examination: RewardExamination) -> str:
    """Write the examination of a reward as indented JSON; an undefined figure is null.

    Parameters
    ----------
    examination : RewardExamination
        What was found.

    Returns
    -------
    str
        One object: the fields of `RewardExamination` under their names.
    """
    # by way of a dict: msgspec leaves out what a record that it has read has by default
    written = msgspec.json.encode(reward_examination_as_dict(examination))
    return msgspec.json.format(written, indent=2).decode()


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
    return asdict(examination)


def reward_examination_from_json(
    content: str | bytes | Mapping[str, Any], *, source: str = "reward.json"
) -> RewardExamination:
    """Read what `reward_examination_to_json` wrote.

    Parameters
    ----------
    content : str, bytes or mapping
        The JSON, as text, as UTF-8, or decoded; null and nan are alike. Keys that are missing have
        their defaults, and keys that this version does not know are left aside.
    source : str, optional
        What errors call it.

    Returns
    -------
    RewardExamination
        The record; nan where the JSON has null.

    Raises
    ------
    InputError
        If it is no such JSON, longer than 64 MiB, or a value is of a wrong type or out of range;
        the message names the place.

    Examples
    --------
    >>> found = reward_examination_from_json(
    ...     '{"schema": "voirdire.reward_examination/1", "reward": {"name": "by hand"},'
    ...     ' "n_items": 0, "n_prompts": 0, "n_comparisons": 0, "is_held_out": true}'
    ... )
    >>> found.reward["name"], found.error_rates
    ('by hand', ())
    """
    wanted = "what `voirdire examine-reward --json` prints"
    plain = decode_object(
        content,
        source=source,
        most_bytes=MOST_BYTES,
        wanted=wanted,
        made_by=_MADE_BY,
    )
    schema = plain.get("schema")
    if schema != REWARD_EXAMINATION_SCHEMA:
        what = "no `schema`" if schema is None else f"schema {shorten(schema, width=60)!r}"
        msg = f"{source}: must be {wanted}, with the schema {REWARD_EXAMINATION_SCHEMA!r}"
        raise InputError(f"{msg}, got {what}. {_MADE_BY}.")
    return read_record(RewardExamination, plain, source=source, made_by=_MADE_BY)


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
    figures = {
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
                **list_fit_figures(row),
                **{name: getattr(model.behaviors[row.behavior], name) for name in scales},
            }
            for row in fit.behaviors
        ],
        "against_demands": [asdict(row) for row in find_paid_against_demands(model)],
        "notes": list(fit.notes),
        "dropped": [asdict(row) for row in fit.dropped],
        "settings": {
            name: value for name, value in model.settings.items() if name != "prompt_hashes"
        },
    }
    plain: dict[str, Any] = without_nan(figures)
    return plain
