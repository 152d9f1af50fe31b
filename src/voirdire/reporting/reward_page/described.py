"""What the reward is: its rubric, its judge, how it was fitted; each where the JSON says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.reporting.page_frame.speech import Count, Listing, Name, Said, say
from voirdire.reporting.reward_page.signals import behaviors_of
from voirdire.reporting.reward_page.verdicts import certified_counts

if TYPE_CHECKING:
    from voirdire.reporting.reward_page.content import RewardReport

__all__ = ["described", "judge_name", "reward_name", "rubric_name"]

_LONG = 90
_ORIENTATIONS = ("plain", "rule", "demanded")
_LOSSES = ("hinge", "logistic")


def reward_name(report: RewardReport) -> Name:
    """Name the reward."""
    return Name(_text(report.reward.get("name")) or "–")


def rubric_name(report: RewardReport) -> Said | Name:
    """Name the rubric with its version."""
    rubric = report.reward.get("rubric")
    name = _of(rubric, "name") or "–"
    version = _of(rubric, "version") if isinstance(rubric, dict) else ""
    version = version or _text(report.reward.get("rubric_version"))
    if not version:
        return Name(name)
    return say("reward.what.rubric.versioned", name=Name(name), version=Name(version))


def judge_name(report: RewardReport) -> Name:
    """Name the judge."""
    return Name(_of(report.reward.get("judge"), "name") or "–")


def described(report: RewardReport) -> tuple[tuple[str, Any], ...]:
    """List what is known of the reward: the key of a word, and what is said."""
    reward = report.reward
    judge = reward.get("judge")
    fingerprint = _of(judge, "fingerprint") if isinstance(judge, dict) else ""
    rows = [
        ("reward.what.name", reward_name(report)),
        ("reward.what.rubric", rubric_name(report)),
        ("reward.what.judge", judge_name(report)),
        ("reward.what.fingerprint", _name(fingerprint or _text(reward.get("fingerprint")))),
        ("reward.what.orientation", _orientation(reward)),
        ("reward.what.fit", _fit(reward)),
        ("reward.what.behaviors", _behaviors(report)),
        ("reward.what.certified", _certified(report)),
        ("reward.what.data", _name(_text(reward.get("data_hash")))),
        ("reward.what.hash", _name(_text(reward.get("content_hash")))),
        ("reward.what.created", _name(_text(reward.get("created")))),
    ]
    return tuple((key, said) for key, said in rows if said is not None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _of(value: Any, key: str) -> str:
    """Read a name that stands there by itself or in an object."""
    return _text(value.get(key)) if isinstance(value, dict) else _text(value)


def _name(text: str) -> Name | None:
    return Name(text, _LONG) if text else None


def _orientation(reward: dict[str, Any]) -> Said | None:
    found = reward.get("orientation")
    return say(f"reward.what.orientation.{found}") if found in _ORIENTATIONS else None


def _fit(reward: dict[str, Any]) -> Said | None:
    settings = reward.get("settings")
    loss = settings.get("loss") if isinstance(settings, dict) else None
    if loss in _LOSSES:
        return say(f"reward.what.fit.{loss}")
    return None if _text(reward.get("data_hash")) else say("reward.what.fit.given")


def _behaviors(report: RewardReport) -> Listing | None:
    names = behaviors_of(report)
    return Listing(tuple(Name(name) for name in names)) if names else None


def _certified(report: RewardReport) -> Said | None:
    certified, all_of_them = certified_counts(report)
    if not all_of_them:
        return None
    features = Count(all_of_them, "features")
    return say("reward.what.certified.count", n=certified, features=features)
