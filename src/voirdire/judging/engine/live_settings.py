"""Defines the settings of a live judge."""

from __future__ import annotations

from dataclasses import dataclass

from voirdire._validation import check_count, check_positive

__all__ = ["LiveSettings"]


@dataclass(frozen=True, kw_only=True)
class LiveSettings:
    """Deadlines, sizes and pauses of a live judge.

    Attributes
    ----------
    deadline_s : float
        Seconds after which a request is answered with the verdicts that there are, above 0.
    remembered : int
        Items whose verdicts are kept in memory, at least 0.
    most_waiting : int
        Items that may wait for the judge, at least 1; further ones fail at once.
    batch_size : int
        Items that a judge in process is asked about together, at least 1.
    rest_s : float
        Seconds without calls after the judge failed, above 0; doubled up to a minute while it keeps
        failing.
    retry_failures : bool
        Whether a call with a stored failure is made again.

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
            check_positive(name, getattr(self, name))
        for name in ("most_waiting", "batch_size"):
            check_count(name, getattr(self, name), minimum=1)
        check_count("remembered", self.remembered, minimum=0)
