"""How a live judge behaves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from voirdire._validation import check_count
from voirdire.errors import InputError

__all__ = ["LiveSettings", "check_drain", "check_seconds"]


@dataclass(frozen=True, kw_only=True)
class LiveSettings:
    """How long, how much and how many.

    Attributes
    ----------
    deadline_s : float
        Seconds after which a request is answered with what there is, above 0.
    remembered : int
        Items whose verdicts are kept in memory, at least 0.
    most_waiting : int
        Items that may wait for the judge; those beyond it fail at once, at least 1.
    batch_size : int
        Items that a judge in process is asked about together, at least 1.
    rest_s : float
        Seconds for which nothing is called after the judge was found out of order, above 0;
        doubled up to a minute while it stays so.
    retry_failures : bool
        Whether a call that is stored as failed is made again.

    Raises
    ------
    InputError
        If one of them is out of its range.
    """

    deadline_s: float = 60.0
    remembered: int = 100_000
    most_waiting: int = 20_000
    batch_size: int = 256
    rest_s: float = 1.0
    retry_failures: bool = False

    def __post_init__(self) -> None:
        for name in ("deadline_s", "rest_s"):
            check_seconds(name, getattr(self, name))
        for name in ("most_waiting", "batch_size"):
            check_count(name, getattr(self, name), minimum=1)
        check_count("remembered", self.remembered, minimum=0)


def check_seconds(name: str, value: Any) -> float:
    """Return a number of seconds, or raise an `InputError`."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and math.isfinite(value) and value > 0):
        msg = f"`{name}` must be a finite number of seconds above 0, got {value!r}."
        raise InputError(msg)
    return float(value)


def check_drain(value: Any) -> float:
    """Return seconds to wait for what is on its way, or raise an `InputError`."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and math.isfinite(value) and value >= 0):
        msg = f"`drain_s` must be a finite number of seconds of at least 0, got {value!r}."
        raise InputError(msg)
    return float(value)
