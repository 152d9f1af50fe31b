"""A reward as its file has it: plain values with their hash, written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire.documents import content_digest, write_json
from voirdire.errors import InputError
from voirdire.records.thresholds import threshold_from_cell
from voirdire.rewards.certificate_file import certificate_document
from voirdire.rubrics import rubric_to_yaml

if TYPE_CHECKING:
    from voirdire.rewards.model import RewardModel

__all__ = [
    "REWARD_SCHEMA",
    "SCHEMA_SIGN",
    "hash_reward",
    "is_hash_of",
    "is_reward_file",
    "reward_document",
    "write_reward",
]

REWARD_SCHEMA = "voirdire.reward/1"

SCHEMA_SIGN = REWARD_SCHEMA.partition("/")[0]
"""What the schema of a reward of any version begins with."""

_HEAD_BYTES = 2_048


def write_reward(model: RewardModel, path: str | Path) -> None:
    """Write a reward, never over anything but a reward."""
    target = Path(path)
    if target.exists() and not is_reward_file(target):
        msg = (
            f"`path` must be free or hold a reward, got {str(target)!r}, which holds something "
            "else. Name another file."
        )
        raise InputError(msg)
    write_json(target, reward_document(model))


def is_reward_file(path: Path) -> bool:
    """Tell by its first bytes whether a file is empty or a reward, of whatever version."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return not head or (head.lstrip().startswith(b"{") and f'"{SCHEMA_SIGN}/'.encode() in head)


def reward_document(model: RewardModel) -> dict[str, Any]:
    """Give a reward as plain values, as its file has them."""
    rubric = model.rubric
    return {
        "schema": REWARD_SCHEMA,
        "name": model.name,
        "created": model.created,
        "versions": dict(model.versions),
        "content_hash": model.content_hash,
        **_content(model),
        "rubric": {
            "name": rubric.name,
            "version": rubric.version,
            "content_hash": rubric.content_hash,
            "source": rubric.source,
            "text": rubric_to_yaml(rubric),
        },
    }


def hash_reward(model: RewardModel) -> str:
    """``sha256:`` and 64 digits over everything but the time, the versions and itself.

    Of the rubric and of certificates their own hashes count: where a rubric was read from, and when
    an examination was made, is no part of what a reward is.
    """
    marks = [certificate.content_hash for certificate in model.certificates]
    whole = {"schema": REWARD_SCHEMA, "name": model.name, **_content(model)}
    return content_digest(whole | {"rubric": model.rubric.content_hash, "certificates": marks})


def is_hash_of(content_hash: object, model: RewardModel) -> bool:
    """Tell whether this is the hash of a reward, as it is made now or was made before.

    Files, runs and servers of earlier versions say the one that was made before.
    """
    return content_hash in (model.content_hash, _earlier_hash(model))


def _earlier_hash(model: RewardModel) -> str:
    """Hash a reward with the time of each certificate; without certificates it is the same."""
    whole = {"schema": REWARD_SCHEMA, "name": model.name, **_content(model)}
    return content_digest(whole | {"rubric": model.rubric.content_hash})


def _content(model: RewardModel) -> dict[str, Any]:
    judge = model.judge
    return {
        "orientation": model.orientation,
        "judge": {
            "name": judge.name,
            "fingerprint": judge.fingerprint,
            "threshold": threshold_from_cell(judge.threshold),
            "judged": judge.judged,
            "made_by": dict(judge.made_by),
        },
        "behaviors": {
            name: {
                "weights": {feature: float(weight) for feature, weight in row.weights.items()},
                "mean": float(row.mean),
                "standard_deviation": float(row.standard_deviation),
                "mean_ideal": float(row.mean_ideal),
                "figures": dict(row.figures),
                **({"veto": list(row.vetoes)} if row.vetoes else {}),
                **({"caps": dict(row.caps)} if row.caps else {}),
            }
            for name, row in model.behaviors.items()
        },
        "settings": dict(model.settings),
        "data_hash": model.data_hash,
        "certificates": [certificate_document(row) for row in model.certificates],
    }
