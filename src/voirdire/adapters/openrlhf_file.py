"""Defines the reward function of a file that OpenRLHF loads; it reads environment variables.

``python -c "import voirdire.adapters.openrlhf_file as file; print(file.__file__)"`` prints where.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.adapters.openrlhf import make_reward_func
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.adapters.openrlhf import OpenRlhfReward

__all__ = ["reward_func_of_environment"]

_TEXTS = ("judge", "store", "behavior", "record", "reference")
_NUMBERS = ("missing_reward", "base_mean", "deadline_s")


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
    names = {name: f"VOIRDIRE_{name.upper()}" for name in ("reward", *_TEXTS, *_NUMBERS)}
    settings: dict[str, Any] = {
        name: _number(variable, given[variable]) if name in _NUMBERS else given[variable]
        for name, variable in names.items()
        if given.get(variable)
    }
    if "reward" not in settings:
        msg = "The environment variable VOIRDIRE_REWARD must name a reward file, but it is not set."
        raise InputError(f"{msg} Set it for the workers too: `ray job submit --runtime-env-json`.")
    return make_reward_func(**settings, end_tokens=given.get("VOIRDIRE_END_TOKENS", "").split())


@cache
def _reward_of_process() -> OpenRlhfReward:
    return reward_func_of_environment()


def __getattr__(name: str) -> Any:
    """Make `reward_func` when OpenRLHF takes it, so that mistakes are told before training."""
    if name != "reward_func":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return _reward_of_process()


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        msg = f"The environment variable {name} must be a number, got {shorten(text)!r}."
        raise InputError(msg) from None
