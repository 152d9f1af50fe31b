"""A file that OpenRLHF loads by its path; its settings are environment variables.

``python -c "import voirdire.adapters.openrlhf_file as file; print(file.__file__)"`` prints where.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.adapters.openrlhf import make_reward_func
from voirdire.errors import InputError
from voirdire.judging.live.settings import LiveSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.adapters.openrlhf import OpenRlhfReward

__all__ = ["reward_func_of_environment"]


def reward_func_of_environment(environment: Mapping[str, str] | None = None) -> OpenRlhfReward:
    """Make a ``reward_func`` of environment variables.

    Parameters
    ----------
    environment : mapping of str to str, optional
        By default the process's own. ``VOIRDIRE_REWARD``, a file or an address, must be there;
        there may be ``VOIRDIRE_JUDGE``, ``VOIRDIRE_STORE``, ``VOIRDIRE_BEHAVIOR``,
        ``VOIRDIRE_MISSING_REWARD``, ``VOIRDIRE_BASE_MEAN``, ``VOIRDIRE_DEADLINE_S``,
        ``VOIRDIRE_RECORD``, ``VOIRDIRE_REFERENCE``, and ``VOIRDIRE_END_TOKENS`` with white space
        between them.

    Returns
    -------
    OpenRlhfReward
        As `make_reward_func` makes it.

    Raises
    ------
    InputError
        If one is missing or breaks a rule.
    """
    given = os.environ if environment is None else environment
    reward = given.get("VOIRDIRE_REWARD")
    if not reward:
        msg = "The environment variable VOIRDIRE_REWARD must name a reward file, but it is not set."
        raise InputError(f"{msg} Set it for the workers too: `ray job submit --runtime-env-json`.")
    deadline_s = _number(given, "VOIRDIRE_DEADLINE_S")
    return make_reward_func(
        reward,
        missing_reward=_number(given, "VOIRDIRE_MISSING_REWARD"),
        base_mean=_number(given, "VOIRDIRE_BASE_MEAN") or 0.0,
        end_tokens=given.get("VOIRDIRE_END_TOKENS", "").split(),
        judge=given.get("VOIRDIRE_JUDGE") or None,
        store=given.get("VOIRDIRE_STORE") or None,
        behavior=given.get("VOIRDIRE_BEHAVIOR") or None,
        settings=None if deadline_s is None else LiveSettings(deadline_s=deadline_s),
        record=given.get("VOIRDIRE_RECORD") or None,
        reference=given.get("VOIRDIRE_REFERENCE") or None,
    )


_made: list[OpenRlhfReward] = []


def __getattr__(name: str) -> Any:
    """Make `reward_func` when OpenRLHF takes it, so that mistakes are told before training."""
    if name != "reward_func":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    if not _made:
        _made.append(reward_func_of_environment())
    return _made[0]


def _number(environment: Mapping[str, str], name: str) -> float | None:
    text = environment.get(name)
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        msg = f"The environment variable {name} must be a number, got {shorten(text)!r}."
        raise InputError(msg) from None
