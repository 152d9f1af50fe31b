"""Defines the settings of a reward server."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from voirdire._validation import check_choice, check_count, check_positive
from voirdire.errors import InputError
from voirdire.rewards.training.run import AlarmKind

_SHORTEST_TOKEN = 16
_TOKEN = re.compile(r"[!-~]+")  # what a header can carry: visible ASCII, no spaces


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Who may ask, how much, and how long.

    Attributes
    ----------
    token : str or None
        What clients must send to be answered, at least 16 visible ASCII characters; None answers
        everybody who reaches the server by a name of this machine. Never shown.
    max_body : int
        Bytes that a request may have, at least 1; four such bodies may be held at once.
    queue : int
        Items that all requests together may hold, at least 1; beyond them requests are refused
        until some are done.
    limit_concurrency : int
        Connections at once, at least 1; those beyond are answered 503.
    behavior : str or None
        Of items that have none.
    missing_reward : float or None
        What the route of OpenRLHF gives where there is no reward; see `MissingRewards`.
    end_tokens : tuple of str
        Special tokens at the end of what OpenRLHF sends, beside the known ones.
    record : str, path or None
        A folder for figures and completions, as of a training run; each worker writes its own.
    stop_on : tuple of str
        Kinds of alarms after which a training run gets no more rewards; see
        `voirdire.rewards.Alarm`.
    drain_s : float
        Seconds that requests under way get when the server is to end, above 0.
    body_s : float
        Seconds in which a body must arrive, above 0.
    workers : int
        Processes that share the port and the store, at least 1; each holds so many connections,
        items and verdicts in memory by itself, and keeps the judge's limits by itself.

    Raises
    ------
    InputError
        If one of them is out of its range.
    """

    token: str | None = field(default=None, repr=False)
    max_body: int = 16 * 1024 * 1024
    queue: int = 20_000
    limit_concurrency: int = 4_096
    behavior: str | None = None
    missing_reward: float | None = None
    end_tokens: tuple[str, ...] = ()
    record: str | Path | None = None
    stop_on: tuple[AlarmKind, ...] = ()
    drain_s: float = 30.0
    body_s: float = 30.0
    workers: int = 1

    def __post_init__(self) -> None:
        for name in ("max_body", "queue", "limit_concurrency", "workers"):
            check_count(name, getattr(self, name), minimum=1)
        for name in ("drain_s", "body_s"):
            check_positive(name, getattr(self, name))
        for kind in self.stop_on:
            check_choice("stop_on", kind, AlarmKind)
        token = self.token
        if token is not None and not (len(token) >= _SHORTEST_TOKEN and _TOKEN.fullmatch(token)):
            msg = (
                f"`token` must hold at least {_SHORTEST_TOKEN} visible ASCII characters without "
                f"spaces, got one of {len(token)}. Make one with `openssl rand -hex 32`."
            )
            raise InputError(msg)
